//! Labels of a map on their way to numbers of classes.

use std::sync::Arc;

use tesson_core::TextSet;

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

/// Bytes of a name as a text of its own, about: those of a class that has no long one, and where they lie.
pub(super) const NAME_BYTES: usize = size_of::<String>() + 32;

/// The labels so far.
pub(super) struct Labels {
    kind: LabelKind,
    /// Classes; 0 where that is to be found out.
    dim: u64,
    /// The largest number.
    largest: u64,
    /// The line of the first number.
    first_number: Option<u32>,
    /// The names that have been met, or all classes in their order, where a file lists them.
    names: TextSet,
    are_listed: bool,
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
            names: TextSet::default(),
            are_listed: false,
            first_name: None,
            warned: false,
        }
    }

    /// Labels that are limited to these classes, in this order.
    pub(super) fn with_listed(mut self, classes: TextSet) -> Labels {
        if self.dim == 0 {
            self.dim = classes.len() as u64;
        }
        self.names = classes;
        self.are_listed = true;
        self
    }

    /// The label of the image at `path`, which `line` lists.
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
        if !self.are_listed {
            let (Ok(label) | Err(label)) = self.names.insert(text);
            return Ok(label);
        }
        self.names
            .find(text)
            .ok_or_else(|| ImageMapFault::UnknownClass { path: path.into(), found: name.into() })
    }

    /// Bytes of memory that names take, those included that the stream is given.
    pub(super) fn bytes(&self) -> usize {
        self.names.bytes() + self.names.len() * NAME_BYTES
    }

    /// Adds a class that may have no image.
    pub(super) fn declare(&mut self, name: &str) {
        if !self.are_listed {
            let (Ok(_) | Err(_)) = self.names.insert(name.as_bytes());
        }
    }

    /// How many classes there are, their names by number, and the number of the class of each label that [`Labels::push`] has
    /// returned; neither names nor numbers where labels are numbers.
    pub(super) fn finish(self) -> Result<Classes, ImageMapFault> {
        if self.names.is_empty() {
            let n = if self.dim == 0 { self.largest + 1 } else { self.dim };
            return Ok(Classes { n, names: Arc::default(), numbers: Vec::new() });
        }
        let found = self.names.len() as u64;
        if self.dim != 0 && found > self.dim {
            return Err(ImageMapFault::TooManyClasses { found, dim: self.dim });
        }
        let mut labels: Vec<Label> = (0..self.names.len() as Label).collect();
        let name = |label: &Label| String::from_utf8_lossy(self.names.get(*label)).into_owned();
        if self.are_listed {
            return Ok(Classes {
                n: self.dim,
                names: labels.iter().map(name).collect(),
                numbers: Vec::new(),
            });
        }
        labels.sort_unstable_by_key(|&label| self.names.get(label));
        let mut numbers = vec![0; labels.len()];
        (0..).zip(&labels).for_each(|(number, label)| numbers[*label as usize] = number);
        let n = if self.dim == 0 { found } else { self.dim };
        Ok(Classes { n, names: labels.iter().map(name).collect(), numbers })
    }
}

/// The classes of a map.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// How many there are.
    pub(super) n: u64,
    /// Their names, sorted by their bytes unless a file lists them; none where labels are numbers.
    pub(super) names: Arc<[String]>,
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
        Ok((n, names.to_vec(), pushed.into_iter().map(number).collect()))
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
        let set = || {
            let mut set = TextSet::default();
            listed().iter().for_each(|name| assert!(set.insert(name.as_bytes()).is_ok()));
            set
        };
        let mut column = Labels::new(LabelKind::Names, 0).with_listed(set());
        assert_eq!([b"cat", b"dog"].map(|name| column.push(name, "p", "map", 1)), [Ok(1), Ok(0)]);
        column.declare("eel");
        let unknown = ImageMapFault::UnknownClass { path: "p".into(), found: "eel".into() };
        assert_eq!(column.push(b"eel", "p", "map", 1), Err(unknown));
        assert_eq!(column.finish(), Ok(Classes { n: 3, names: listed().into(), numbers: Vec::new() }));
        let mut numbers = Labels::new(LabelKind::Numbers { strict: true }, 0).with_listed(set());
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
