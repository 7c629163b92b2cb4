//! `TFDSDeserializer` in configurations: a split of a prepared dataset among other deserializers.

use std::path::PathBuf;
use std::slice;

use tesson_core::store::Store;
use tesson_core::{
    ConfigError, Defects, Deserializer, DeserializerFacts, Element, Error, Fetch, Format, Indexed,
    OptionKind, OptionSet, Options, Parallelism, ReaderDefaults, Section, Sections, StreamMismatch,
    StreamingDecoder, UsageError, Value, Words, format_of, options,
};
use tesson_tfds::deserializer::{NAME, StreamOf, TfdsDeserializer, TfdsOptions, image_channels};
use tesson_tfds::features::Feature;
use tesson_tfds::info::Dataset;
use tesson_tfds::split::{Selection, file_instructions};

use crate::indexed_shard::index_folder;
use crate::refusal::PreparedRefusal;
use crate::{features_of, find, open};

/// The registry's entry.
pub static FORMAT: Format = format_of::<SplitOptions>(
    NAME,
    "A split of a dataset prepared by TensorFlow Datasets; each example is a sequence.",
    |options, defaults| Ok(Box::new(Unread::new(options, defaults)?)),
)
.with_decoder(decoders);

/// True for sparse samples: a feature that is the number of a class becomes one.
static FORMATS: Words<bool, 2> = Words::new([("dense", false), ("sparse", true)]);

static ORDERS: Words<bool, 2> = Words::new([("stored", false), ("tfds", true)]);

static ELEMENTS: Words<Element, 1> = Words::new([("uint8", Element::U8)]);

options! {
    /// One entry of `input`.
    #[derive(Debug)]
    struct Input(options, reader: ReaderDefaults) {
        let name: String = options.entry().to_owned();
        feature: String = "feature" | "alias", optional
            => "Path of the feature, such as `objects/id`, if it differs from the section's name."
            [read options.text_if_given("feature")?.unwrap_or_else(|| options.entry().to_owned())];
        one_hot: bool = "format" in FORMATS, "dense"
            => "`sparse` turns a feature that is the number of a class into a sparse sample with a 1 there; -1 means no class.";
        dim: Option<u64> = "dim", optional
            => "Number of classes of a sparse stream, if the dataset does not declare it.";
        shape: Option<Vec<u64>> = "shape": OptionKind::Numbers, optional
            => "Shape of every sample, such as `28:28:3`, if the dataset leaves it open; examples of another shape are errors."
            [read shape(options)?];
        element: Option<Element> = "dtype" in ELEMENTS, optional
            => "For a stream with `transforms`: `uint8` delivers 8-bit values, if no transform makes floats; by default values \
             have the reader's type.";
        encoded: bool = "transforms": OptionKind::Transforms, optional
            => "Transforms of each image, in this order, if the feature is one image of 8-bit values, of any size; images are \
             decoded as TensorFlow Datasets does, red first, unless the first transform is a decoder."
            [read options.given("transforms").is_some()];
        check check_element;
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Debug)]
    struct SplitOptions(options, reader: ReaderDefaults) {
        directory: Option<PathBuf> = "directory", optional
            => "The version directory, with dataset_info.json and features.json in it.";
        name: Option<String> = "name", optional
            => "Name of the dataset, such as `mnist` or `ds/config:1.*.*`, in place of its directory.";
        _ = "dataDir": OptionKind::Path, optional
            => "Folder in which the name is looked for; by default `TFDS_DATA_DIR`, else `~/tensorflow_datasets`.";
        split: String = "split", "all"
            => "The examples to read: `train`, `train[10%:]+test`, `all`.";
        inputs: Sections<Input> = "input", optional
            => "One section for each stream; without it, every feature of numbers of a known shape is a stream, named by its \
             path."
            [describe if given];
        key: Option<String> = "key", optional
            => "Path of the feature that joins examples with other deserializers; by default the example's number in its split, \
             or its `tfds_id` if keys are texts.";
        max_errors: Option<u64> = "maxErrors", optional
            => "Number of damaged records to tolerate before reading fails; by default the reader's `maxErrors`.";
        keep: bool = "keepDataInMemory", "false"
            => "Keep decoded chunks in memory after their last use in a sweep.";
        cache_index: bool = "cacheIndex", optional
            => "If examples differ in length, keep the counted lengths beside the data, or in the folder that `TESSON_INDEX_DIR` \
             names; by default as the reader's `cacheIndex`."
            [otherwise reader.cache_index];
        keep_types: bool = "keepTypes", "false"
            => "Deliver features in their types and shapes, such as `int64` and `uint8`; by default all values have the reader's type."
            [describe if given];
        in_tfds_order: bool = "order" in ORDERS, "stored"
            => "The order without shuffling: `stored`, file after file, or `tfds`, that of TensorFlow Datasets, which reads 16 files in \
             turns, 16 examples at a time."
            [describe if given];
    }
}

/// Refuses a type of values where no transform makes them.
fn check_element(input: &Input, options: &Options<'_>) -> Result<(), ConfigError> {
    if input.encoded || input.element.is_none() {
        return Ok(());
    }
    let refusal = PreparedRefusal::TypeWithoutTransforms { stream: input.name.clone() };
    Err(ConfigError::refused(options.path("dtype"), &refusal))
}

impl From<Input> for StreamOf {
    fn from(input: Input) -> StreamOf {
        let Input { name, feature, one_hot, dim, shape, encoded, element } = input;
        StreamOf { name, feature, one_hot, dim, shape, encoded, element }
    }
}

impl Unread {
    fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Unread, ConfigError> {
        let read = SplitOptions::read(options, defaults)?;
        let directory = match (read.directory, read.name) {
            (Some(directory), None) => Directory::Given(directory),
            (None, Some(name)) => {
                let data_dir = options.text_if_given("dataDir")?;
                Directory::Named(name, data_dir.map_or_else(crate::default_data_dir, PathBuf::from))
            }
            _ => {
                let refusal = PreparedRefusal::DirectoryOrName;
                return Err(ConfigError::refused(options.path("directory"), &refusal));
            }
        };
        let here = |mut error: ConfigError| {
            error.path = options.path(&error.path);
            error
        };
        Ok(Unread {
            directory,
            split: Selection::parse(&read.split).map_err(here)?,
            options: TfdsOptions {
                streams: read.inputs.0.into_iter().map(StreamOf::from).collect(),
                element: defaults.element,
                key: read.key,
                numeric_keys: defaults.numeric_keys,
                max_errors: read.max_errors,
                keep: read.keep,
                index_folder: index_folder(),
                cache_index: read.cache_index,
                keep_types: read.keep_types,
                in_tfds_order: read.in_tfds_order,
            },
            section: options.path("").trim_end_matches('.').to_owned(),
            dataset: None,
            unknown: DeserializerFacts::new(NAME, Vec::new(), Vec::new(), ""),
        })
    }
}

/// The types of transforms that decode images.
const DECODERS: [&str; 2] = ["Decode", "DecodeImage"];

/// The transforms that decode images for those that streams list: with the channels of the feature, as TensorFlow Datasets
/// decodes them, unless the list begins with a decoder.
fn decoders(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    store: &dyn Store,
) -> Result<Vec<(String, Section)>, ConfigError> {
    let sections = options.sections("input")?;
    let decoded = sections.iter().filter_map(|(name, section)| Some((*name, section.given("transforms")?)));
    let decoded: Vec<&str> =
        decoded.filter(|(_, given)| !begins_with_decoder(given)).map(|(name, _)| name).collect();
    if decoded.is_empty() {
        return Ok(Vec::new());
    }
    let unread = Unread::new(options, defaults)?;
    let (_, features) = unread.described(store).map_err(|error| unread.located(error))?;
    let streams = unread.options.streams.iter().filter(|stream| decoded.contains(&stream.name.as_str()));
    let decoder = |stream: &StreamOf| {
        let section = decoder_of(&features, stream).map_err(|error| unread.located(error.into()))?;
        Ok((stream.name.clone(), section))
    };
    streams.map(decoder).collect()
}

/// The transform that decodes the images of a stream as TensorFlow Datasets does.
fn decoder_of(features: &Feature, stream: &StreamOf) -> Result<Section, ConfigError> {
    let channels = image_channels(features, stream)?.unwrap_or(0);
    Ok(Section::from_iter([
        ("type", Value::Text("DecodeImage".into())),
        ("channels", Value::Whole(channels as i128)),
    ]))
}

/// The transform that decodes the images of a feature before those that a list names, unless that begins with a decoder.
///
/// # Errors
/// A feature that is not one image of 8-bit values.
pub fn image_decoder(
    features: &Feature,
    feature: &str,
    transforms: &Value,
) -> Result<Option<Section>, ConfigError> {
    let section = decoder_of(features, &StreamOf::feature(feature)).map_err(|mut error| {
        error.path = format!("transforms.{feature}");
        error
    })?;
    Ok((!begins_with_decoder(transforms)).then_some(section))
}

fn begins_with_decoder(transforms: &Value) -> bool {
    let first = if let Value::List(list) = transforms { list.first() } else { Some(transforms) };
    let Some(Value::Section(section)) = first else { return false };
    matches!(section.get("type"), Some(Value::Text(name)) if DECODERS.contains(&name.as_str()))
}

/// Where the dataset is.
enum Directory {
    Given(PathBuf),
    /// A name, and the folder that it is looked for in.
    Named(String, PathBuf),
}

/// A split whose dataset is looked for when the source is opened, not when the configuration is resolved.
struct Unread {
    directory: Directory,
    split: Selection,
    options: TfdsOptions,
    /// The section of the configuration.
    section: String,
    /// The dataset as the store has it, once that has been asked.
    dataset: Option<Result<TfdsDeserializer, Error>>,
    /// The facts of a dataset that cannot be opened, until [`Deserializer::prepare`] returns why.
    unknown: DeserializerFacts,
}

impl Unread {
    /// The dataset, which has been located.
    fn opened(&self) -> Result<&TfdsDeserializer, Error> {
        let not_located = || UsageError::new("the dataset is asked for before it is located".into());
        self.dataset.as_ref().ok_or_else(not_located)?.as_ref().map_err(Clone::clone)
    }

    /// The dataset and its features.
    fn described(&self, store: &dyn Store) -> Result<(Dataset, Feature), Error> {
        let directory = match &self.directory {
            Directory::Given(directory) => directory.clone(),
            Directory::Named(name, data_dir) => find(store, name, slice::from_ref(data_dir))?,
        };
        let dataset = open(store, directory)?;
        let features = features_of(store, &dataset)?;
        Ok((dataset, features))
    }

    fn open(&self, store: &dyn Store) -> Result<TfdsDeserializer, Error> {
        let read = || {
            let (dataset, features) = self.described(store)?;
            let plan = file_instructions(&self.split.resolve(&dataset)?, &dataset)?;
            Ok(TfdsDeserializer::new(&dataset, &plan, &features, &self.options)?)
        };
        read().map_err(|error| self.located(error).into())
    }

    /// An error as one of the configuration's section.
    fn located(&self, error: Error) -> ConfigError {
        let mut error = match error {
            Error::Config(error) => error,
            other => {
                let refusal = PreparedRefusal::NotOpened { what: other.to_string() };
                ConfigError::refused("directory", &refusal)
            }
        };
        let separator = if self.section.is_empty() { "" } else { "." };
        error.path = format!("{}{separator}{}", self.section, error.path);
        error
    }
}

impl Deserializer for Unread {
    fn locate(&mut self, store: &dyn Store) {
        self.dataset = Some(self.open(store));
    }

    fn facts(&self) -> &DeserializerFacts {
        self.opened().map_or(&self.unknown, TfdsDeserializer::facts)
    }

    fn prepare(&mut self, _fetch: &dyn Fetch) -> Result<(), Error> {
        self.opened().map(drop)
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        self.opened()?.index(fetch, parallelism, defects)
    }

    fn restore(&self, saved: &[u8]) -> Option<Indexed> {
        self.opened().ok()?.restore(saved)
    }

    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        self.opened()?.mismatches(fetch)
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

/// Whole numbers from 1.
fn shape(section: &Options<'_>) -> Result<Option<Vec<u64>>, ConfigError> {
    let Some(dims) = section.numbers_if_given("shape")? else { return Ok(None) };
    let dim = |d: f64| ((1.0..=f64::from(u32::MAX)).contains(&d) && d.fract() == 0.0).then_some(d as u64);
    let dims: Option<Vec<u64>> = dims.into_iter().map(dim).collect();
    dims.map(Some).ok_or_else(|| ConfigError::refused(section.path("shape"), &PreparedRefusal::Shape))
}
