//! Data named by types, for programs: what a source reads, without a text of JSON.
//!
//! ```
//! use tesson::config::{self, Limit};
//! use tesson::data::{Ctf, Images, step};
//!
//! # fn main() -> Result<(), tesson::Error> {
//! let mut config = config::of(Ctf::new("labels.ctf").sparse("labels", 10).set("maxErrors", 3))?;
//! config.minibatches.limit = Limit::Sweeps(1);
//! // A second deserializer is joined to the first one by key.
//! let small = step("Scale", [("width", 28.into()), ("height", 28.into()), ("channels", 1.into())]);
//! config.deserializers.push(Images::new("train.map").images("features", [small]).into());
//! # Ok(())
//! # }
//! ```
//!
//! Each type has the options that its data need as methods, and `set` for all others, which the manual of options lists. Names of
//! files are UTF-8, as configurations are, and may be URLs of any store. What options mean is found out when the source is opened,
//! by the tables that configurations of text are checked by.

use tesson_config::DeserializerConfig;
use tesson_core::{Format, Section, Value};

/// Data in any format, also one of a program's own.
#[derive(Clone)]
pub struct Data {
    format: &'static Format,
    options: Section,
    /// The section of each stream.
    streams: Section,
}

impl Data {
    /// Data in a format.
    pub fn new(format: &'static Format) -> Data {
        Data { format, options: Section::default(), streams: Section::default() }
    }

    /// Sets an option.
    #[must_use]
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Data {
        self.options.push(option, value.into());
        self
    }

    /// Adds a stream with these options.
    #[must_use]
    pub fn stream<'a>(mut self, name: &str, options: impl IntoIterator<Item = (&'a str, Value)>) -> Data {
        self.streams.push(name, Value::Section(options.into_iter().collect()));
        self
    }
}

impl From<Data> for DeserializerConfig {
    fn from(data: Data) -> DeserializerConfig {
        let Data { format, mut options, streams } = data;
        if !streams.0.is_empty() {
            options.push("input", Value::Section(streams));
        }
        DeserializerConfig { format, options, path: String::new() }
    }
}

/// A transform as streams list it: its `type` and its options.
pub fn step<'a>(kind: &str, options: impl IntoIterator<Item = (&'a str, Value)>) -> Section {
    [("type", Value::from(kind))].into_iter().chain(options).collect()
}

/// Conversions of a type of data to what it stands for.
macro_rules! conversions {
    ($($name:ident),*) => {
        $(impl From<$name> for Data {
            fn from(data: $name) -> Data {
                data.0
            }
        }

        impl From<$name> for DeserializerConfig {
            fn from(data: $name) -> DeserializerConfig {
                data.0.into()
            }
        })*
    };
}

conversions!(Ctf, Cbf, Images, Tfds);

/// Files in CNTK's text format.
#[derive(Clone)]
pub struct Ctf(Data);

impl Ctf {
    /// A file, or those that a pattern such as `train-*.ctf` matches.
    pub fn new(file: impl Into<String>) -> Ctf {
        Ctf(Data::new(&tesson_formats::ctf::FORMAT).set("file", file.into()))
    }

    /// Adds a stream of dense samples of `dim` values. Its name in the file is its own, unless
    /// [`Ctf::stream`] says another.
    #[must_use]
    pub fn dense(self, name: &str, dim: u64) -> Ctf {
        self.stream(name, [("format", "dense".into()), ("dim", dim.into())])
    }

    /// Adds a stream of sparse samples, whose indices are below `dim`.
    #[must_use]
    pub fn sparse(self, name: &str, dim: u64) -> Ctf {
        self.stream(name, [("format", "sparse".into()), ("dim", dim.into())])
    }

    /// Adds a stream with these options.
    #[must_use]
    pub fn stream<'a>(self, name: &str, options: impl IntoIterator<Item = (&'a str, Value)>) -> Ctf {
        Ctf(self.0.stream(name, options))
    }

    /// Sets an option.
    #[must_use]
    pub fn set(self, option: &str, value: impl Into<Value>) -> Ctf {
        Ctf(self.0.set(option, value))
    }
}

/// Files in CNTK's binary format, which know their streams.
#[derive(Clone)]
pub struct Cbf(Data);

impl Cbf {
    /// A file, or those that a pattern matches.
    pub fn new(file: impl Into<String>) -> Cbf {
        Cbf(Data::new(&tesson_formats::cbf::FORMAT).set("file", file.into()))
    }

    /// Sets an option.
    #[must_use]
    pub fn set(self, option: &str, value: impl Into<Value>) -> Cbf {
        Cbf(self.0.set(option, value))
    }
}

/// Images that a map lists, or that lie in a folder for each class.
#[derive(Clone)]
pub struct Images(Data);

impl Images {
    /// The images of a map, or of a folder.
    pub fn new(map: impl Into<String>) -> Images {
        Images(Data::new(&tesson_formats::image_map::FORMAT).set("file", map.into()))
    }

    /// Adds the stream of images, transformed in these steps.
    #[must_use]
    pub fn images(self, name: &str, steps: impl IntoIterator<Item = Section>) -> Images {
        let steps = Value::List(steps.into_iter().map(Value::Section).collect());
        Images(self.0.stream(name, [("transforms", steps)]))
    }

    /// Adds the stream of labels of `classes` classes.
    #[must_use]
    pub fn labels(self, name: &str, classes: u64) -> Images {
        Images(self.0.stream(name, [("labelDim", classes.into())]))
    }

    /// Sets an option.
    #[must_use]
    pub fn set(self, option: &str, value: impl Into<Value>) -> Images {
        Images(self.0.set(option, value))
    }
}

/// A split of a dataset prepared by TensorFlow Datasets.
#[derive(Clone)]
pub struct Tfds(Data);

impl Tfds {
    /// The dataset of a version directory.
    pub fn new(directory: impl Into<String>) -> Tfds {
        Tfds(Data::new(&tesson_prepared::FORMAT).set("directory", directory.into()))
    }

    /// The dataset of a name such as `mnist`, in the data directory of TFDS.
    pub fn named(name: impl Into<String>) -> Tfds {
        Tfds(Data::new(&tesson_prepared::FORMAT).set("name", name.into()))
    }

    /// Chooses a split, such as `train[10%:]`; without it all examples are read.
    #[must_use]
    pub fn split(self, split: &str) -> Tfds {
        self.set("split", split)
    }

    /// Adds the stream of a feature of numbers under the feature's path. Without any stream all features of numbers are
    /// read.
    #[must_use]
    pub fn dense(self, feature: &str) -> Tfds {
        Tfds(self.0.stream(feature, []))
    }

    /// Adds the stream of a feature that is the number of a class, as sparse samples.
    #[must_use]
    pub fn sparse(self, feature: &str) -> Tfds {
        Tfds(self.0.stream(feature, [("format", "sparse".into())]))
    }

    /// Sets an option.
    #[must_use]
    pub fn set(self, option: &str, value: impl Into<Value>) -> Tfds {
        Tfds(self.0.set(option, value))
    }
}
