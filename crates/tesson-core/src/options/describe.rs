//! Descriptions of options from their table alone: every option that has a value, typed.

use crate::{
    ConfigError, ConfigErrorKind, OptionDefault, OptionKind, Options, ReaderDefaults, Registry, Section,
    Value,
};

/// Describes options from their table: those that are set or have a default, typed, in the order of the table. This
/// is a part of a format's `describe`, or all of it.
///
/// # Errors
/// Values that are not of their option's kind, and required options that are missing.
pub fn describe_from_table(
    options: &Options<'_>,
    _setting: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    options.described(registry)
}

impl Options<'_> {
    /// The options with their resolved values; see [`describe_from_table`].
    ///
    /// # Errors
    /// Values that are not of their option's kind, and required options that are missing.
    pub fn described(&self, registry: &Registry) -> Result<Section, ConfigError> {
        let mut section = Section::default();
        for spec in self.table().0 {
            if let Some(value) = self.described_option(spec.name, registry)? {
                section.push(spec.name, value);
            }
        }
        Ok(section)
    }

    /// The resolved value of one option: the one that was set or the default, typed by the kind in its table, if
    /// there is one.
    ///
    /// # Errors
    /// The errors of [`Options::described`].
    pub fn described_option(&self, name: &str, registry: &Registry) -> Result<Option<Value>, ConfigError> {
        let spec = self.spec(name);
        if spec.default == OptionDefault::Absent && self.given(name).is_none() {
            return Ok(None);
        }
        Ok(match spec.kind {
            OptionKind::Bool => Some(Value::Bool(self.bool(name)?)),
            OptionKind::Whole => self.whole_if_given(name)?.map(|n| Value::Whole(n.into())),
            OptionKind::Integer => self.integer_if_given(name)?.map(|n| Value::Whole(n.into())),
            OptionKind::Real => self.real_if_given(name)?.map(Value::Real),
            OptionKind::Numbers => {
                self.numbers_if_given(name)?.map(|n| Value::List(n.into_iter().map(Value::Real).collect()))
            }
            OptionKind::Text | OptionKind::Path | OptionKind::Bytes => {
                self.text_if_given(name)?.map(Value::Text)
            }
            OptionKind::Texts => self
                .texts_if_given(name)?
                .map(|texts| Value::List(texts.into_iter().map(Value::Text).collect())),
            OptionKind::Files => Some(self.described_files(name)?),
            OptionKind::OneOf(_) => self.text_if_given(name)?.map(|t| Value::Text(t.to_ascii_lowercase())),
            OptionKind::SomeOf(_) => self.items_if_given(name)?.map(Value::List),
            OptionKind::Paths => self.items_if_given(name)?.map(Value::List),
            OptionKind::Sections(_) | OptionKind::Streams(_) => {
                let sections = self.sections(name)?.into_iter();
                let described = sections.map(|(n, o)| Ok((n, Value::Section(o.described(registry)?))));
                Some(Value::Section(described.collect::<Result<_, ConfigError>>()?))
            }
            OptionKind::Transforms => Some(Value::List(self.transforms(name, registry)?)),
            OptionKind::Object | OptionKind::Keys => self.given(name).cloned(),
            OptionKind::Formats | OptionKind::Unused => None,
        })
    }

    /// The file names as they were written: one, or a list.
    ///
    /// # Errors
    /// The errors of [`Options::files`].
    pub fn described_files(&self, name: &str) -> Result<Value, ConfigError> {
        let mut files: Vec<Value> =
            self.files(name)?.iter().map(|file| Value::Text(file.to_string_lossy().into_owned())).collect();
        match files.len() {
            1 => Ok(files.remove(0)),
            _ => Ok(Value::List(files)),
        }
    }

    /// The transforms of a list, described.
    ///
    /// # Errors
    /// A value that is not a list of sections, an unknown type, and the errors of its options.
    pub fn transforms(&self, name: &str, registry: &Registry) -> Result<Vec<Value>, ConfigError> {
        let items = match self.given(name) {
            Some(Value::List(items)) => items.as_slice(),
            Some(one @ Value::Section(_)) => std::slice::from_ref(one),
            Some(other) => {
                return Err(self.wrong_type(name, other, "a list of sections"));
            }
            None => &[],
        };
        let path = |i: usize| format!("{}[{i}]", self.path(name));
        items.iter().enumerate().map(|(i, item)| transform(item, &path(i), registry)).collect()
    }
}

fn transform(value: &Value, path: &str, registry: &Registry) -> Result<Value, ConfigError> {
    let Value::Section(section) = value else {
        return Err(ConfigError::wrong_type(path, value, "a section"));
    };
    let (kind, options) = split_type(section, path)?;
    let format = registry.find_transform(kind, &format!("{path}.type"))?;
    let mut described = (format.describe)(&Options::new(format.options, &options, path)?)?;
    described.0.insert(0, ("type".into(), Value::Text(format.name.into())));
    Ok(Value::Section(described))
}

/// The `type` of a section, and its options without that and without `module`, which names a plug-in of the reference:
/// formats are built in here.
///
/// # Errors
/// A missing type, or one that is no text.
pub fn split_type<'a>(section: &'a Section, path: &str) -> Result<(&'a str, Section), ConfigError> {
    let type_path = format!("{path}.type");
    let name = match section.get("type") {
        Some(Value::Text(name)) => name,
        Some(other) => return Err(ConfigError::wrong_type(type_path, other, "a name")),
        None => {
            let expected = ", expected a type such as `CNTKTextFormatDeserializer`";
            return Err(ConfigError::refused(type_path, &ConfigErrorKind::MissingOption { expected }));
        }
    };
    let own = |name: &str| !["type", "module"].iter().any(|n| n.eq_ignore_ascii_case(name));
    let options = section.0.iter().filter(|(name, _)| own(name)).cloned().collect();
    Ok((name, Section(options)))
}
