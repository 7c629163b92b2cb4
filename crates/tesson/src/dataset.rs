//! Datasets: descriptions of data, by types, that loaders read.

use std::fmt;
use std::marker::PhantomData;

use tesson_config::{DeserializerConfig, SourceConfig};
use tesson_core::{Format, Section, Value};

use crate::{LoaderBuilder, Shuffle};

/// A description of data, from which loaders read; `F` says in which format. Nothing is opened before a loader is.
///
/// Each format has the options that its data need as methods, and [`set`](Dataset::set) for all others, which the manual of
/// options lists. Names of files are UTF-8, patterns such as `part-*.ctf`, lists, or URLs of any store.
///
/// ```
/// let labels = tesson::read_ctf("labels.ctf").sparse("labels", 10);
/// let data = tesson::read_ctf("features.ctf").dense("features", 64).join(labels);
/// let loader = data.loader().batch_size(32);
/// ```
#[must_use = "a dataset only describes data, call `loader`"]
pub struct Dataset<F> {
    parts: Vec<DeserializerConfig>,
    format: PhantomData<F>,
}

/// Formats of datasets, as types.
pub mod formats {
    /// CNTK's text format.
    pub enum Ctf {}
    /// CNTK's binary format.
    pub enum Cbf {}
    /// Images.
    pub enum Images {}
    /// Features of HTK.
    pub enum Htk {}
    /// Labels of HTK.
    pub enum Mlf {}
    /// A dataset prepared by TensorFlow Datasets.
    pub enum Tfds {}
    /// Files whose rows are examples.
    pub enum Table {}
    /// A format of a program's own.
    pub enum Custom {}
    /// Several datasets, joined by key.
    pub enum Joined {}
}

use formats::{Cbf, Ctf, Custom, Htk, Images, Joined, Mlf, Table, Tfds};

/// Files in CNTK's text format, such as `|features 0.5 1 |labels 3:1`.
pub fn read_ctf(files: impl Into<Value>) -> Dataset<Ctf> {
    read_format(&tesson_formats::ctf::FORMAT).set("file", files).of_format()
}

/// Files in CNTK's binary format, which know their streams.
pub fn read_cbf(files: impl Into<Value>) -> Dataset<Cbf> {
    read_format(&tesson_formats::cbf::FORMAT).set("file", files).of_format()
}

/// Images that a map lists, or that lie in a folder for each class: red, green, blue, and turned as their files say. Options are
/// `channelOrder` and `exifOrientation`.
pub fn read_images(map: impl Into<Value>) -> Dataset<Images> {
    let images = read_format(&tesson_formats::image_map::FORMAT).set("file", map);
    images.set("channelOrder", "rgb").set("exifOrientation", "apply").of_format()
}

/// Features of HTK that script files list.
pub fn read_htk(scripts: impl Into<Value>) -> Dataset<Htk> {
    read_format(&tesson_formats::htk::FORMAT).set("scpFile", scripts).of_format()
}

/// Labels of HTK's master label files, a class for each frame.
pub fn read_mlf(files: impl Into<Value>) -> Dataset<Mlf> {
    read_format(&tesson_formats::mlf::FORMAT).set("mlfFile", files).of_format()
}

/// A dataset prepared by TensorFlow Datasets: the folder of its version, such as `datasets/mnist/3.0.1`.
pub fn read_tfds(folder: impl Into<Value>) -> Dataset<Tfds> {
    read_format(&tesson_prepared::FORMAT).set("directory", folder).of_format()
}

/// Files whose rows are examples and whose columns are streams of the types that they have: NumPy's arrays, and with the features
/// `parquet` and `arrow` Parquet, Arrow's files and streams, and Feather.
///
/// ```
/// let data = tesson::read_table("train-*.parquet").column("label").column_as("image", "pixels").shape("image", [28, 28]);
/// let loader = data.loader().batch_size(32);
/// ```
pub fn read_table(files: impl Into<Value>) -> Dataset<Table> {
    read_format(&tesson_tables::FORMAT).set("file", files).of_format()
}

/// ARFF files, which Weka reads: the attributes that the header declares are the streams.
pub fn read_arff(files: impl Into<Value>) -> Dataset<Table> {
    read_table(files).set("format", "arff")
}

/// Files of labels and sparse features, as libsvm and svmlight write them: the streams `labels` and `features`. Options are `numFeatures`
/// and `zeroBased`.
pub fn read_libsvm(files: impl Into<Value>) -> Dataset<Table> {
    read_table(files).set("format", "libsvm")
}

/// Files of Vowpal Wabbit: the streams `label`, `importance`, `base`, `tag`, `names`, `values` and `features`, which are sparse. Options are
/// `bits` and `hash`.
pub fn read_vw(files: impl Into<Value>) -> Dataset<Table> {
    read_table(files).set("format", "vw")
}

/// TFRecord files of `tf.train.Example`s without a description: features of the first records are the streams.
pub fn read_tfrecords(files: impl Into<Value>) -> Dataset<Table> {
    read_table(files).set("format", "tfrecord")
}

/// ArrayRecord files without a description: features of the first records, if those are `tf.train.Example`s, or else the stream `record`
/// of byte strings.
pub fn read_array_records(files: impl Into<Value>) -> Dataset<Table> {
    read_table(files).set("format", "array_record")
}

/// Files of token numbers as windows of `length`: the stream `tokens`, and `labels`, which are the tokens after them. Other options are
/// `stride` and `tokenType`.
pub fn read_tokens(files: impl Into<Value>, length: u64) -> Dataset<Table> {
    read_table(files).set("format", "tokens").set("length", length)
}

/// Data in a format of a program's own.
pub fn read_format(format: &'static Format) -> Dataset<Custom> {
    let part = DeserializerConfig { format, options: Section::default(), path: String::new() };
    Dataset { parts: vec![part], format: PhantomData }
}

impl<F> Dataset<F> {
    /// This dataset as one of another format.
    fn of_format<G>(self) -> Dataset<G> {
        Dataset { parts: self.parts, format: PhantomData }
    }

    /// The options of the dataset that was described last.
    fn options(&mut self) -> &mut Section {
        &mut self.parts.last_mut().expect("a dataset has a part").options
    }

    /// Sets an option that the manual lists, of the dataset that was joined last.
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Dataset<F> {
        let options = self.options();
        options.0.retain(|(name, _)| name != option);
        options.push(option, value.into());
        self
    }

    /// Adds a stream, or options to one that there is.
    fn stream<'a>(mut self, name: &str, options: impl IntoIterator<Item = (&'a str, Value)>) -> Dataset<F> {
        let streams = entry(self.options(), "input");
        entry(streams, name).0.extend(options.into_iter().collect::<Section>().0);
        self
    }

    /// The examples of both datasets with equal keys as one, in the order of this one.
    pub fn join<G>(mut self, other: Dataset<G>) -> Dataset<Joined> {
        self.parts.extend(other.parts);
        self.of_format()
    }

    /// A loader of batches.
    pub fn loader(self) -> LoaderBuilder {
        // A configuration's default is CNTK's, a window.
        LoaderBuilder::new(SourceConfig::new(self.parts, &crate::registry())).shuffle(Shuffle::Off)
    }
}

/// The section of this name, which is added where there is none.
fn entry<'a>(section: &'a mut Section, name: &str) -> &'a mut Section {
    let found =
        section.0.iter().position(|(other, value)| other == name && matches!(value, Value::Section(_)));
    let at = found.unwrap_or_else(|| {
        section.push(name, Section::default().into());
        section.0.len() - 1
    });
    let Value::Section(entry) = &mut section.0[at].1 else { unreachable!("a section was found or added") };
    entry
}

impl Dataset<Ctf> {
    /// Adds a stream of dense samples of `dim` values.
    pub fn dense(self, name: &str, dim: u64) -> Dataset<Ctf> {
        self.stream(name, [("format", "dense".into()), ("dim", dim.into())])
    }

    /// Adds a stream of sparse samples, whose columns are below `dim`.
    pub fn sparse(self, name: &str, dim: u64) -> Dataset<Ctf> {
        self.stream(name, [("format", "sparse".into()), ("dim", dim.into())])
    }

    /// Says that a stream has another name in the file.
    pub fn field(self, name: &str, field: &str) -> Dataset<Ctf> {
        self.stream(name, [("alias", field.into())])
    }
}

impl Dataset<Images> {
    /// Adds the stream of images, transformed in these [steps](step).
    pub fn images(self, name: &str, steps: impl IntoIterator<Item = Section>) -> Dataset<Images> {
        let steps = Value::List(steps.into_iter().map(Value::Section).collect());
        self.stream(name, [("transforms", steps)])
    }

    /// Adds the stream of labels, of so many classes.
    pub fn labels(self, name: &str, classes: u64) -> Dataset<Images> {
        self.stream(name, [("labelDim", classes.into())])
    }
}

impl Dataset<Htk> {
    /// Names the stream of frames, of `dim` values each.
    pub fn features(self, name: &str, dim: u64) -> Dataset<Htk> {
        self.stream(name, [("dim", dim.into())])
    }

    /// Joins to each frame so many before and after it.
    pub fn context(self, before: u64, after: u64) -> Dataset<Htk> {
        self.set("contextWindow", format!("{before}:{after}"))
    }
}

impl Dataset<Mlf> {
    /// Names the stream of labels, of so many classes.
    pub fn labels(self, name: &str, classes: u64) -> Dataset<Mlf> {
        self.stream(name, [("dim", classes.into())])
    }

    /// Names the classes, which a file lists one on each line.
    pub fn states(self, file: impl Into<Value>) -> Dataset<Mlf> {
        self.set("labelMappingFile", file)
    }
}

impl Dataset<Tfds> {
    /// Chooses a split, such as `train[10%:]`; without it all examples are read.
    pub fn split(self, split: &str) -> Dataset<Tfds> {
        self.set("split", split)
    }

    /// Adds the stream of a feature of numbers under the feature's path. Without any stream all features of numbers are
    /// read.
    pub fn dense(self, feature: &str) -> Dataset<Tfds> {
        self.stream(feature, [])
    }

    /// Adds the stream of a feature that is the number of a class, as sparse samples.
    pub fn sparse(self, feature: &str) -> Dataset<Tfds> {
        self.stream(feature, [("format", "sparse".into())])
    }
}

impl Dataset<Table> {
    /// Adds a stream of the column of this name. Without any stream all columns are read.
    pub fn column(self, name: &str) -> Dataset<Table> {
        self.stream(name, [])
    }

    /// Adds a stream of a column with another name.
    pub fn column_as(self, name: &str, column: &str) -> Dataset<Table> {
        self.stream(name, [("column", column.into())])
    }

    /// Sets the shape of a stream's samples, also of a column of lists that all have as many values.
    pub fn shape(self, name: &str, dims: impl IntoIterator<Item = u64>) -> Dataset<Table> {
        let dims = dims.into_iter().map(Value::from).collect();
        self.stream(name, [("shape", Value::List(dims))])
    }

    /// Sets the column of whole numbers that joins rows with those of other datasets; by default their numbers do.
    pub fn key_column(self, name: &str) -> Dataset<Table> {
        self.set("keyColumn", name)
    }
}

impl Dataset<Custom> {
    /// Adds a stream with these options.
    pub fn stream_of<'a>(
        self,
        name: &str,
        options: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Dataset<Custom> {
        self.stream(name, options)
    }
}

/// A transform as streams list it: its `type` and its options.
///
/// ```
/// use tesson::step;
///
/// let small = step("Scale", [("width", 28.into()), ("height", 28.into()), ("channels", 1.into())]);
/// let data = tesson::read_images("train.map").images("features", [small]).labels("labels", 10);
/// ```
pub fn step<'a>(kind: &str, options: impl IntoIterator<Item = (&'a str, Value)>) -> Section {
    [("type", Value::from(kind))].into_iter().chain(options).collect()
}

impl<F> Clone for Dataset<F> {
    fn clone(&self) -> Dataset<F> {
        Dataset { parts: self.parts.clone(), format: PhantomData }
    }
}

impl<F> fmt::Debug for Dataset<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset").field("parts", &self.parts).finish()
    }
}
