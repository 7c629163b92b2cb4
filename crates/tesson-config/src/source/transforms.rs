//! The transforms of streams: those that a configuration names, and objects that a program gives.

use std::fmt;
use std::sync::Arc;

use tesson_core::store::{Store, read_whole};
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, Options, ReadFile, Registry, Section, Transform,
    TransformFormat, Value, split_type,
};

use super::{DeserializerConfig, SourceConfig};

/// The transforms of each stream's samples, in order.
#[derive(Clone, Debug, Default)]
pub struct Transforms(pub Vec<(String, Vec<TransformConfig>)>);

/// Streams by name, each with its transforms in the order in which they run.
pub type OpenTransforms = Vec<(String, Vec<Arc<dyn Transform>>)>;

impl Transforms {
    /// A program's own transforms of one stream.
    pub fn of(stream: &str, transforms: impl IntoIterator<Item = Arc<dyn Transform>>) -> Transforms {
        let custom = transforms.into_iter().map(TransformConfig::Custom);
        Transforms(vec![(stream.to_owned(), custom.collect())])
    }
}

/// One transform of a stream.
#[derive(Clone)]
pub enum TransformConfig {
    /// A program's own.
    Custom(Arc<dyn Transform>),
    /// One that is named by its `type`, among its options.
    Named {
        /// The section.
        section: Section,
        /// Where the section stands in the configuration, for errors: `transforms.features[0]`.
        path: String,
    },
}

impl fmt::Debug for TransformConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransformConfig::Custom(transform) => f.write_str(transform.name()),
            TransformConfig::Named { section, .. } => section.fmt(f),
        }
    }
}

/// The transforms that the reader's own option lists.
///
/// # Errors
/// A value that is neither a section nor a transform.
pub(crate) fn lower(options: &Options<'_>) -> Result<Transforms, ConfigError> {
    let name = "transforms";
    let streams = match options.given(name) {
        None => return Ok(Transforms::default()),
        Some(Value::Section(streams)) => streams,
        Some(other) => return Err(ConfigError::wrong_type(name, other, "a section of streams")),
    };
    let all = streams
        .0
        .iter()
        .map(|(stream, value)| Ok((stream.to_string(), list(value, &format!("{name}.{stream}"))?)));
    Ok(Transforms(all.collect::<Result<_, ConfigError>>()?))
}

/// The transforms of a list, or the only one.
fn list(value: &Value, path: &str) -> Result<Vec<TransformConfig>, ConfigError> {
    let items = if let Value::List(items) = value { items.as_slice() } else { std::slice::from_ref(value) };
    let one = |(i, value): (usize, &Value)| match value {
        Value::Section(section) => {
            Ok(TransformConfig::Named { section: section.clone(), path: format!("{path}[{i}]") })
        }
        Value::Object(object) if object.get::<Arc<dyn Transform>>().is_some() => {
            let transform = object.get::<Arc<dyn Transform>>().expect("looked at above");
            Ok(TransformConfig::Custom(transform.clone()))
        }
        other => Err(ConfigError::wrong_type(path, other, "a transform or a list of them")),
    };
    items.iter().enumerate().map(one).collect()
}

impl SourceConfig {
    /// An error of a stream's transforms, at the section of the deserializer that lists them, unless the reader's option does.
    #[must_use]
    pub fn located(&self, mut e: ConfigError) -> ConfigError {
        let Some(stream) = e.path.strip_prefix("transforms.") else { return e };
        if self.transforms.0.iter().any(|(name, _)| name == stream) {
            return e;
        }
        let inner = |value: Option<&Value>, name: &str| match value {
            Some(Value::Section(section)) => section.get(name).cloned(),
            _ => None,
        };
        let lists = |d: &&DeserializerConfig| {
            let section = inner(d.options.get("input"), stream);
            inner(section.as_ref(), "transforms").is_some()
        };
        match self.deserializers.iter().find(lists) {
            Some(d) => {
                e.path = format!("{}.input.{stream}.transforms", d.path);
                d.located(e)
            }
            None => e,
        }
    }

    /// Makes the transforms of all streams: those that the streams' sections name, then those of the reader. Files are those of
    /// the store.
    ///
    /// # Errors
    /// Transforms that are unknown or not available yet, and what their options and files are refused for.
    pub fn open_transforms(&self, store: &dyn Store) -> Result<OpenTransforms, Error> {
        let read: &ReadFile<'_> = &|path| Ok(read_whole(store, path)?);
        let mut all = Vec::new();
        for deserializer in &self.deserializers {
            let (format, path) = (deserializer.format, deserializer.path.as_str());
            let options = Options::new(format.options, &deserializer.options, path)?;
            let decoders = format
                .decoder
                .map(|decoders| decoders(&options, &self.reader_defaults(), store))
                .transpose()?;
            let decoders = decoders.unwrap_or_default().into_iter().map(|(stream, section)| {
                (stream, vec![TransformConfig::Named { section, path: path.to_owned() }])
            });
            for (stream, given) in decoders.chain(named(&options)?) {
                let located = |e| match e {
                    Error::Config(e) => Error::Config(deserializer.located(e)),
                    other => other,
                };
                all.push((stream, open(&given, &self.registry, read).map_err(located)?));
            }
        }
        for (stream, given) in &self.transforms.0 {
            all.push((stream.clone(), open(given, &self.registry, read)?));
        }
        Ok(all)
    }
}

/// The transforms that the sections of a deserializer's streams name.
fn named(options: &Options<'_>) -> Result<Vec<(String, Vec<TransformConfig>)>, ConfigError> {
    let mut found = Vec::new();
    let sections =
        options.table().0.iter().filter_map(|spec| Some((spec.name, options.table().inner(spec.name)?)));
    for (name, table) in sections {
        let Some(spec) = table.0.iter().find(|spec| matches!(spec.kind, OptionKind::Transforms)) else {
            continue;
        };
        for (stream, options) in options.sections(name)? {
            if let Some(value) = options.given(spec.name) {
                found.push((stream.to_owned(), list(value, &options.path(spec.name))?));
            }
        }
    }
    Ok(found)
}

/// Makes the transforms of a list that is no part of a configuration, after those of `first`. Errors call the list `path`.
///
/// # Errors
/// Those of [`SourceConfig::open_transforms`].
pub fn open_list(
    first: Option<Section>,
    given: &Value,
    path: &str,
    registry: &Registry,
    read: &ReadFile<'_>,
) -> Result<Vec<Arc<dyn Transform>>, Error> {
    let first = first.map(|section| TransformConfig::Named { section, path: path.to_owned() });
    let all: Vec<_> = first.into_iter().chain(list(given, path)?).collect();
    open(&all, registry, read)
}

/// Makes the transforms of a list. Those that follow each other and are made by one function are one.
fn open(
    given: &[TransformConfig],
    registry: &Registry,
    read: &ReadFile<'_>,
) -> Result<Vec<Arc<dyn Transform>>, Error> {
    let found =
        given.iter().map(|transform| Found::new(transform, registry)).collect::<Result<Vec<_>, _>>()?;
    let made_together = |a: &Found<'_>, b: &Found<'_>| match (a.open(), b.open()) {
        (Some(OpenTransform::Chained(a)), Some(OpenTransform::Chained(b))) => std::ptr::fn_addr_eq(a, b),
        _ => false,
    };
    found.chunk_by(made_together).map(|group| Found::open_group(group, read)).collect()
}

/// A transform of a list, found in the registry.
enum Found<'a> {
    Custom(&'a Arc<dyn Transform>),
    Named { format: &'static TransformFormat, section: Section, path: &'a str },
}

impl<'a> Found<'a> {
    fn new(transform: &'a TransformConfig, registry: &Registry) -> Result<Found<'a>, ConfigError> {
        match transform {
            TransformConfig::Custom(custom) => Ok(Found::Custom(custom)),
            TransformConfig::Named { section, path } => {
                let (name, section) = split_type(section, path)?;
                let format = registry.find_transform(name, &format!("{path}.type"))?;
                Ok(Found::Named { format, section, path })
            }
        }
    }

    /// How it is made, if it is not made yet.
    fn open(&self) -> Option<OpenTransform> {
        match self {
            Found::Custom(_) => None,
            Found::Named { format, .. } => Some(format.open),
        }
    }

    /// Makes one transform of those that are made together.
    fn open_group(group: &[Found<'_>], read: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
        let mut links = Vec::new();
        for found in group {
            match found {
                Found::Custom(custom) => return Ok(Arc::clone(custom)),
                Found::Named { format, section, path } => {
                    links.push((*format, Options::new(format.options, section, *path)?));
                }
            }
        }
        let (format, options) = &links[0];
        match format.open {
            OpenTransform::Single(open) => open(options, read),
            OpenTransform::Chained(open) => open(&links, read),
        }
    }
}
