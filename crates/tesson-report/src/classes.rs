//! Counting classes: of sparse samples with one entry, of whole numbers, and of texts.

use std::collections::BTreeMap;

use tesson::{SampleValue, SampleValues, Samples, StreamBatch, StreamInfo};

use crate::figures::{ClassCount, Classes, FileClasses};

/// Different numbers beyond which they are no classes, unless they have names or are declared.
const MOST_NUMBERS: usize = 100;

/// Different texts beyond which they are no classes.
const MOST_TEXTS: usize = 200;

/// Classes that are listed, and files.
const LISTED: usize = 30;
const MOST_FILES: usize = 12;

/// A class, as it stands in the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Number(i64),
    Text(String),
}

/// Counts of classes so far.
pub(crate) struct ClassTally {
    names: Vec<String>,
    /// Columns of a sparse stream: the number of classes that it can have.
    declared: Option<u64>,
    most: usize,
    counts: BTreeMap<Class, u64>,
    by_file: BTreeMap<(u32, Class), u64>,
    /// True once values have turned out to be no classes.
    are_none: bool,
}

impl ClassTally {
    pub(crate) fn new(info: &StreamInfo) -> ClassTally {
        let names = info.classes.to_vec();
        let has_names = !names.is_empty();
        let declared =
            if has_names { Some(names.len() as u64) } else { info.sparse.then_some(info.shape.len() as u64) };
        let most = match info.element.is_string() {
            true => MOST_TEXTS,
            false if has_names || info.sparse => 1 << 20,
            false => MOST_NUMBERS,
        };
        let are_none = !info.sparse && info.shape.len() != 1;
        ClassTally { names, declared, most, counts: BTreeMap::new(), by_file: BTreeMap::new(), are_none }
    }

    pub(crate) fn add(&mut self, batch: &StreamBatch, file_of: &dyn Fn(usize) -> Option<u32>) {
        if self.are_none {
            return;
        }
        let mut sample = 0;
        for (sequence, &length) in batch.lengths().iter().enumerate() {
            let file = file_of(sequence);
            for _ in 0..length {
                let Some(class) = class(batch, sample) else { return self.refuse() };
                sample += 1;
                if let Some(file) = file {
                    *self.by_file.entry((file, class.clone())).or_default() += 1;
                }
                *self.counts.entry(class).or_default() += 1;
                if self.counts.len() > self.most {
                    return self.refuse();
                }
            }
        }
    }

    fn refuse(&mut self) {
        self.are_none = true;
        (self.counts, self.by_file) = Default::default();
    }

    /// The class of each sequence, if each has one sample.
    pub(crate) fn of_sequences(&self, batch: &StreamBatch) -> Option<Vec<i64>> {
        if self.are_none || batch.lengths().iter().any(|&n| n != 1) {
            return None;
        }
        let number = |sample| match class(batch, sample)? {
            Class::Number(n) => Some(n),
            Class::Text(text) => {
                let place = self.counts.keys().position(|k| *k == Class::Text(text.clone()))?;
                Some(place as i64)
            }
        };
        (0..batch.n_samples()).map(number).collect()
    }

    /// The classes; `None` if the values are none.
    pub(crate) fn end(self, file_names: &BTreeMap<u32, String>) -> Option<Classes> {
        let n: u64 = self.counts.values().sum();
        // Numbers that hardly repeat are measurements or names.
        let repeat = self.counts.len() as u64 * 2 <= n || self.declared.is_some();
        if self.are_none
            || self.counts.is_empty()
            || !repeat
            || self.counts.len() < 2 && self.declared.is_none()
        {
            return None;
        }
        let mut found: Vec<(&Class, u64)> = self.counts.iter().map(|(class, &n)| (class, n)).collect();
        found.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
        let once = found.iter().filter(|(_, n)| *n == 1).count() as u64;
        let occurring = found.len() as u64;
        found.truncate(LISTED);
        let in_file = |(&file, name): (&u32, &String)| {
            let of = |class: &Class| self.by_file.get(&(file, class.clone())).copied().unwrap_or(0);
            FileClasses { file: name.clone(), counts: found.iter().map(|(class, _)| of(class)).collect() }
        };
        let by_file: Vec<_> = file_names.iter().take(MOST_FILES).map(in_file).collect();
        Some(Classes {
            occurring,
            declared: self.declared,
            once,
            by_file: if by_file.len() > 1 { by_file } else { Vec::new() },
            found: found.iter().map(|&(class, n)| ClassCount { name: self.name(class), n }).collect(),
        })
    }

    fn name(&self, class: &Class) -> String {
        match class {
            Class::Text(text) => text.clone(),
            Class::Number(n) => {
                let name = usize::try_from(*n).ok().and_then(|n| self.names.get(n));
                name.map_or_else(|| n.to_string(), Clone::clone)
            }
        }
    }
}

/// The class of a sample: the one entry of a sparse sample, a whole number, or a text.
fn class(batch: &StreamBatch, sample: usize) -> Option<Class> {
    match batch.samples() {
        Samples::Sparse { indptr, indices, .. } => {
            match &indices[indptr[sample] as usize..indptr[sample + 1] as usize] {
                [one] => Some(Class::Number((*one).into())),
                _ => None,
            }
        }
        Samples::Dense { values } => class_of_value(values, sample),
        Samples::Ragged { values, .. } => {
            let (_, range) = batch.ragged_sample(sample)?;
            if range.len() == 1 { class_of_value(values, range.start) } else { None }
        }
    }
}

fn class_of_value(values: &SampleValues, i: usize) -> Option<Class> {
    match values.value(i) {
        SampleValue::Text(text) => Some(Class::Text(text.to_owned())),
        SampleValue::Bytes(_) => None,
        SampleValue::Bool(b) => Some(Class::Number(b.into())),
        SampleValue::Whole(n) => i64::try_from(n).ok().map(Class::Number),
        other => {
            let value = other.rounded();
            (value.fract() == 0.0 && value.abs() < 1e9).then_some(Class::Number(value as i64))
        }
    }
}

/// The name of class `number` of a stream.
pub(crate) fn class_name(info: &StreamInfo, number: i64) -> String {
    let name = usize::try_from(number).ok().and_then(|n| info.classes.get(n).cloned());
    name.unwrap_or_else(|| number.to_string())
}
