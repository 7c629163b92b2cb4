//! Labels of a map on their way to numbers of classes.

use std::collections::HashMap;

use super::fault::ImageMapFault;
use crate::images::{lossy, parse_label};

/// The labels that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelKind {
    /// Numbers, as CNTK reads them: those that a text begins with, unless it is to be a number alone.
    Numbers { strict: bool },
    /// Numbers, or else names. A map has labels of one kind.
    NumbersOrNames,
    /// Names.
    Names,
}

/// The number of a class, or of a name among those that have been met.
pub(super) type Label = u32;

/// The labels so far.
pub(super) struct Labels {
    kind: LabelKind,
    /// Classes; 0 where that is to be found out.
    dim: u64,
    /// The largest number.
    largest: u64,
    /// The line of the first number.
    first_number: Option<u32>,
    names: HashMap<Box<str>, Label>,
    /// All classes in their order, where a file lists them.
    listed: Option<Vec<String>>,
    /// The line of the first name.
    first_name: Option<u32>,
    /// True if a label with more than a number has been logged.
    warned: bool,
}

impl Labels {
    pub(super) fn new(kind: LabelKind, dim: u64) -> Labels {
        Labels {
            kind,
            dim,
            largest: 0,
            first_number: None,
            names: HashMap::new(),
            listed: None,
            first_name: None,
            warned: false,
        }
    }

    /// Labels that are limited to these classes, in this order.
    pub(super) fn with_listed(mut self, classes: Vec<String>) -> Labels {
        if self.dim == 0 {
            self.dim = classes.len() as u64;
        }
        self.names = (0..).zip(&classes).map(|(number, name)| (name.as_str().into(), number)).collect();
        self.listed = Some(classes);
        self
    }

    /// The label of the picture at `path`, which `line` lists.
    pub(super) fn push(
        &mut self,
        text: &[u8],
        path: &str,
        map: &str,
        line: u32,
    ) -> Result<Label, ImageMapFault> {
        match self.kind {
            LabelKind::Numbers { strict } => self.number(text, path, strict, map, line),
            LabelKind::Names => self.name(text, path),
            LabelKind::NumbersOrNames => {
                let text = text.trim_ascii();
                if text.is_empty() {
                    return Err(ImageMapFault::EmptyLabel { path: path.into() });
                }
                let is_number = matches!(parse_label(text), Some((_, false)));
                let (own, other) = if is_number {
                    (&mut self.first_number, self.first_name)
                } else {
                    (&mut self.first_name, self.first_number)
                };
                if let Some(first) = other {
                    return Err(ImageMapFault::MixedLabels { found: lossy(text), first });
                }
                own.get_or_insert(line);
                if is_number { self.number(text, path, true, map, line) } else { self.name(text, path) }
            }
        }
    }

    fn number(
        &mut self,
        text: &[u8],
        path: &str,
        strict: bool,
        map: &str,
        line: u32,
    ) -> Result<Label, ImageMapFault> {
        let (label, has_more) =
            parse_label(text).ok_or_else(|| ImageMapFault::BadLabel { found: lossy(text) })?;
        let dim = if self.dim == 0 { crate::images::MAX_DIM } else { self.dim };
        if label >= dim {
            return Err(ImageMapFault::LabelOutOfRange { path: path.into(), label, dim });
        }
        if has_more {
            if strict {
                return Err(ImageMapFault::TrailingText { found: lossy(text) });
            }
            if !std::mem::replace(&mut self.warned, true) {
                tracing::warn!(
                    "{map}:{line}: the label is `{}`, read as {label}; further ones are not logged",
                    lossy(text)
                );
            }
        }
        self.largest = self.largest.max(label);
        Ok(label as Label)
    }

    /// Numbers a name for now.
    fn name(&mut self, text: &[u8], path: &str) -> Result<Label, ImageMapFault> {
        let name = std::str::from_utf8(text).map_err(|_| ImageMapFault::NotUtf8 { found: lossy(text) })?;
        if let Some(&label) = self.names.get(name) {
            return Ok(label);
        }
        if self.listed.is_some() {
            return Err(ImageMapFault::UnknownClass { path: path.into(), found: name.into() });
        }
        let label = self.names.len() as Label;
        self.names.insert(name.into(), label);
        Ok(label)
    }

    /// How many names have been met.
    pub(super) fn n_names(&self) -> usize {
        self.names.len()
    }

    /// Adds a class that may have no picture.
    pub(super) fn declare(&mut self, name: &str) {
        if self.listed.is_some() {
            return;
        }
        let next = self.names.len() as Label;
        self.names.entry(name.into()).or_insert(next);
    }

    /// How many classes there are, their names by number, and the number of the class of each label that [`Labels::push`] has
    /// returned; neither names nor numbers where labels are numbers.
    pub(super) fn finish(self) -> Result<Classes, ImageMapFault> {
        if self.names.is_empty() {
            let n = if self.dim == 0 { self.largest + 1 } else { self.dim };
            return Ok(Classes { n, names: Vec::new(), numbers: Vec::new() });
        }
        let found = self.names.len() as u64;
        if self.dim != 0 && found > self.dim {
            return Err(ImageMapFault::TooManyClasses { found, dim: self.dim });
        }
        if let Some(names) = self.listed {
            return Ok(Classes { n: self.dim, names, numbers: Vec::new() });
        }
        let mut names: Vec<(Box<str>, Label)> = self.names.into_iter().collect();
        names.sort_unstable();
        let mut numbers = vec![0; names.len()];
        (0..).zip(&names).for_each(|(number, (_, label))| numbers[*label as usize] = number);
        let n = if self.dim == 0 { found } else { self.dim };
        Ok(Classes { n, names: names.into_iter().map(|(name, _)| name.into()).collect(), numbers })
    }
}

/// The classes of a map.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// How many there are.
    pub(super) n: u64,
    /// Their names, sorted by their bytes unless a file lists them; none where labels are numbers.
    pub(super) names: Vec<String>,
    /// The number of each label; none where labels are numbers.
    pub(super) numbers: Vec<Label>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(labels: &[&str], dim: u64) -> Result<(u64, Vec<String>, Vec<Label>), ImageMapFault> {
        let mut column = Labels::new(LabelKind::NumbersOrNames, dim);
        let pushed: Vec<Label> = (1..)
            .zip(labels)
            .map(|(line, text)| column.push(text.as_bytes(), "p", "map", line))
            .collect::<Result<_, _>>()?;
        let Classes { n, names, numbers } = column.finish()?;
        let number = |label: Label| numbers.get(label as usize).copied().unwrap_or(label);
        Ok((n, names, pushed.into_iter().map(number).collect()))
    }

    #[test]
    fn names_are_numbered_in_their_order() {
        let names = ["ant", "cat", "dog"].map(str::to_owned).to_vec();
        assert_eq!(classes(&["dog", "ant", "dog", " cat"], 0), Ok((3, names.clone(), vec![2, 0, 2, 1])));
        assert_eq!(classes(&["dog", "ant", "cat"], 10), Ok((10, names, vec![2, 0, 1])));
        let too_many = ImageMapFault::TooManyClasses { found: 3, dim: 2 };
        assert_eq!(classes(&["dog", "ant", "cat"], 2), Err(too_many));
    }

    #[test]
    fn a_list_numbers_the_classes_and_has_all_of_them() {
        let listed = || ["dog", "cat", "ant"].map(str::to_owned).to_vec();
        let mut column = Labels::new(LabelKind::Names, 0).with_listed(listed());
        assert_eq!([b"cat", b"dog"].map(|name| column.push(name, "p", "map", 1)), [Ok(1), Ok(0)]);
        column.declare("eel");
        let unknown = ImageMapFault::UnknownClass { path: "p".into(), found: "eel".into() };
        assert_eq!(column.push(b"eel", "p", "map", 1), Err(unknown));
        assert_eq!(column.finish(), Ok(Classes { n: 3, names: listed(), numbers: Vec::new() }));
        let mut numbers = Labels::new(LabelKind::Numbers { strict: true }, 0).with_listed(listed());
        assert_eq!(numbers.push(b"2", "p", "map", 1), Ok(2));
        let beyond = ImageMapFault::LabelOutOfRange { path: "p".into(), label: 3, dim: 3 };
        assert_eq!(numbers.push(b"3", "p", "map", 1), Err(beyond));
    }

    #[test]
    fn numbers_stay_numbers_and_are_not_mixed_with_names() {
        assert_eq!(classes(&["7", "0"], 0), Ok((8, vec![], vec![7, 0])));
        let mixed = |found: &str| Err(ImageMapFault::MixedLabels { found: found.into(), first: 1 });
        assert_eq!(classes(&[" "], 0), Err(ImageMapFault::EmptyLabel { path: "p".into() }));
        assert_eq!(classes(&["7", "cat"], 0), mixed("cat"));
        assert_eq!(classes(&["3cat", "7"], 0), mixed("7"));
    }
}
