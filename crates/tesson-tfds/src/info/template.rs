//! Names of shard files (spec/tfds.md §1.5).

use std::fmt::{self, Write};
use std::path::{Component, Path};

/// The template of a split that names none.
const DEFAULT: &str = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";

const VARIABLES: &[&str] = &["DATASET", "SPLIT", "FILEFORMAT", "SHARD_INDEX", "NUM_SHARDS", "SHARD_X_OF_Y"];

/// The template of a split's file names: text with variables in braces. The names are paths below the dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(&'static str),
}

/// The values of a template's variables.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Names<'a> {
    pub dataset: &'a str,
    pub split: &'a str,
    pub suffix: &'a str,
    pub n_shards: usize,
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Variable(name) => write!(f, "{{{name}}}"),
        })
    }
}

impl Template {
    /// Parses a template; an empty text is the usual one.
    ///
    /// # Errors
    /// A sentence about an unknown variable or an unmatched brace.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut rest = if text.is_empty() { DEFAULT } else { text };
        let mut parts = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}').filter(|_| !before.contains('}')) else {
                return Err(format!("`{text}`: a brace stands alone"));
            };
            let Some(variable) = VARIABLES.iter().find(|v| **v == name) else {
                return Err(format!(
                    "`{text}`: unknown variable `{name}`, expected one of {}",
                    VARIABLES.join(", ")
                ));
            };
            parts.extend((!before.is_empty()).then(|| Part::Text(before.to_owned())));
            parts.push(Part::Variable(variable));
            rest = after;
        }
        if rest.contains('}') {
            return Err(format!("`{text}`: a brace stands alone"));
        }
        parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
        Ok(Template(parts))
    }

    /// Refuses names of files that are not below the dataset's folder; numbers of shards cannot lead out of it.
    pub(crate) fn check(&self, names: Names<'_>) -> Result<(), String> {
        let name = self.name(names, 0);
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if Path::new(&name).components().all(is_below) {
            Ok(())
        } else {
            Err(format!("found the file `{name}`, expected one below the dataset's folder, without `..`"))
        }
    }

    /// The file of a shard.
    pub(crate) fn name(&self, names: Names<'_>, shard: usize) -> String {
        let width = names.n_shards.to_string().len().max(5);
        let mut name = String::new();
        for part in &self.0 {
            let written = match part {
                Part::Text(text) => write!(name, "{text}"),
                Part::Variable("DATASET") => write!(name, "{}", names.dataset),
                Part::Variable("SPLIT") => write!(name, "{}", names.split),
                Part::Variable("FILEFORMAT") => write!(name, "{}", names.suffix),
                Part::Variable("SHARD_INDEX") => write!(name, "{shard:0width$}"),
                Part::Variable("NUM_SHARDS") => write!(name, "{:0width$}", names.n_shards),
                Part::Variable(_) => write!(name, "{shard:0width$}-of-{:0width$}", names.n_shards),
            };
            written.expect("text takes whatever is written");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, n_shards: usize, shard: usize, expected: &str) {
        let names = Names { dataset: "mnist", split: "train", suffix: "tfrecord", n_shards };
        assert_eq!(Template::parse(template).unwrap().name(names, shard), expected);
    }

    #[test]
    fn shards_have_numbers_of_five_digits_at_least() {
        check("", 10, 0, "mnist-train.tfrecord-00000-of-00010");
        check("", 1_000_000, 42, "mnist-train.tfrecord-0000042-of-1000000");
        check("{SPLIT}/{SHARD_INDEX}.{FILEFORMAT}", 2, 1, "train/00001.tfrecord");
        check("x{NUM_SHARDS}y", 2, 1, "x00002y");
    }

    #[test]
    fn templates_of_other_variables_are_refused() {
        for text in ["{DATASET}-{SHARD}", "a{", "a}b", "{}", "}{SPLIT}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}
