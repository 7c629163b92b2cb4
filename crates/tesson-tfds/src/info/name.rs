//! Names of datasets: `name[/config][:version]` (spec/tfds.md §1.1).

use std::fmt;
use std::str::FromStr;

use tesson_core::ConfigError;

use super::VersionPattern;
use crate::refusal::DatasetRefusal;

/// The name of a dataset, which leads to a directory below a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetName {
    /// In snake case.
    pub name: String,
    /// The variant, if the name says which.
    pub config: Option<String>,
    /// The version, if the name says which; parts of it may be left open.
    pub version: Option<VersionPattern>,
}

impl FromStr for DatasetName {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<DatasetName, ConfigError> {
        let wrong = |refusal: DatasetRefusal| ConfigError::refused("name", &refusal);
        let (path, version) = match text.split_once(':') {
            None => (text, None),
            Some((path, version)) => {
                let Ok(pattern) = version.parse() else {
                    let has_config = path.contains('/') || version.contains(['/', ':']);
                    let (name, version, space) = (text.to_owned(), version.to_owned(), path.to_owned());
                    return Err(wrong(if has_config {
                        DatasetRefusal::BadVersion { name, version }
                    } else {
                        DatasetRefusal::Namespace { name, version, space }
                    }));
                };
                (path, Some(pattern))
            }
        };
        let (name, config) = match path.split_once('/') {
            None => (path, None),
            Some((name, config)) => (name, Some(config)),
        };
        if !is_name(name) {
            return Err(wrong(DatasetRefusal::BadName { found: text.to_owned() }));
        }
        if let Some(config) = config.filter(|config| !is_config(config)) {
            let (name, config) = (text.to_owned(), config.to_owned());
            return Err(wrong(DatasetRefusal::BadConfig { name, config }));
        }
        Ok(DatasetName { name: snake_case(name), config: config.map(str::to_owned), version })
    }
}

impl fmt::Display for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(config) = &self.config {
            write!(f, "/{config}")?;
        }
        self.version.map_or(Ok(()), |version| write!(f, ":{version}"))
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    text.starts_with(is_letter) && text.chars().all(is_word)
}

fn is_config(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| is_word(c) || "+-.".contains(c))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `ImageNet2012` → `image_net2012`: a `_` between any character and a capital with lower-case letters or digits
/// after it, then between a lower-case letter or digit and a capital.
fn snake_case(name: &str) -> String {
    let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut apart: Vec<char> = Vec::with_capacity(name.len() + 4);
    let chars: Vec<char> = name.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        let word_follows = chars.get(i + 1).is_some_and(char::is_ascii_uppercase)
            && chars.get(i + 2).is_some_and(|&c| is_small(c));
        apart.push(chars[i]);
        i += 1;
        if word_follows {
            apart.push('_');
            apart.push(chars[i]);
            i += 1;
            // The whole word belongs to this match: another one begins after it.
            while i < chars.len() && is_small(chars[i]) {
                apart.push(chars[i]);
                i += 1;
            }
        }
    }
    let mut snake = String::with_capacity(apart.len() + 4);
    for (i, &c) in apart.iter().enumerate() {
        if c.is_ascii_uppercase() && i > 0 && is_small(apart[i - 1]) {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_becomes_snake_case() {
        let cases = [
            ("Dc", "dc"),
            ("ImageNet2012", "image_net2012"),
            ("MyDS2", "my_d_s2"),
            ("mnist", "mnist"),
            ("HTTPServer", "http_server"),
            ("aBCd", "a_b_cd"),
        ];
        for (name, snake) in cases {
            assert_eq!(snake_case(name), snake, "{name}");
        }
    }

    #[test]
    fn names_have_a_config_and_a_version() {
        let name: DatasetName = "Ds/big+x.1:2.*.*".parse().unwrap();
        assert_eq!((name.name.as_str(), name.config.as_deref()), ("ds", Some("big+x.1")));
        assert_eq!(name.to_string(), "ds/big+x.1:2.*.*");
    }

    #[test]
    fn names_that_stand_for_no_files_are_refused() {
        for text in
            ["", "1ds", "d-s", "ds/", "ds/a/b", "ds:1.0", "ds:", "hub:ds", "ds/x=1", "ns:ds/cfg:1.0.0"]
        {
            assert!(text.parse::<DatasetName>().is_err(), "{text}");
        }
    }
}
