//! A split as a deserializer: each example is a sequence, features are streams.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the streams, and the index: a chunk is a run of records of a file |
//! | `corpus` | the records of a chunk, how they are read, and their keys |
//! | `fill` | appends decoded rows to the columns of a chunk, with their faults |
//! | `column`, `numbers` | conversion of a feature's values to those of a stream |
//! | `lengths` | the number of samples in each example, if examples differ |
//! | `key` | the keys by which examples are joined |
//!
//! Streams have samples of a fixed size. A feature with an unknown first dimension, or in a sequence, becomes as many
//! samples as it has rows or items; one that is unknown in both ways is refused. The order is the engine's.

mod column;
mod corpus;
mod fill;
mod key;
mod lengths;
mod numbers;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::identity::{Identity, List, Maybe, Quoted};
use tesson_core::{
    CompactLengths, ConfigError, Defects, Deserializer, DeserializerFacts, Element, Error, Fetch, Index,
    IndexCache, Indexed, Parallelism, ResourceId, Shape, StreamInfo, StreamMismatch, StreamingDecoder,
};
use tesson_plan::{Span, Stream, StreamSpec};

use crate::features::{Coding, DType, Feature, Leaf, Schema, Selection, shape_text};
use crate::ids::Ids;
use crate::info::Dataset;
use crate::records;
use crate::refusal::StreamRefusal;
use crate::split::FileInstruction;
use corpus::{Loading, Records, Slice};
use key::{KeyFeature, KeyOf};
use lengths::Lengths;

/// Records of a chunk, at most.
const CHUNK_RECORDS: u64 = 1024;

/// A stream, and the feature that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOf {
    /// The stream's name.
    pub name: String,
    /// The feature's path, such as `image` or `objects/id`.
    pub feature: String,
    /// The feature is the number of a class, and becomes a sparse sample with a 1 there.
    pub one_hot: bool,
    /// The number of classes, where the dataset does not say it.
    pub dim: Option<u64>,
    /// The shape of all samples, where the dataset does not say it.
    pub shape: Option<Vec<u64>>,
    /// True if the feature is an image and its file is delivered, for a transform to decode.
    pub encoded: bool,
    /// The type of its values, if it is not that of all streams. Images may be of 8 bits.
    pub element: Option<Element>,
}

impl StreamOf {
    /// A feature under its own path, as it is.
    pub fn feature(path: &str) -> StreamOf {
        StreamOf {
            name: path.to_owned(),
            feature: path.to_owned(),
            one_hot: false,
            dim: None,
            shape: None,
            encoded: false,
            element: None,
        }
    }

    /// Writes everything that decides what the stream delivers.
    fn write(&self, identity: Identity) -> Identity {
        identity
            .word(Quoted(&self.name))
            .word(Quoted(&self.feature))
            .field("one_hot", self.one_hot)
            .word(Maybe(self.dim))
            .word(Maybe(self.shape.as_deref().map(List)))
            .flag("encoded", self.encoded)
            .flag("uint8", self.element == Some(Element::U8))
            .part()
    }
}

/// The options of a deserializer of a split.
pub struct TfdsOptions {
    /// The streams; empty for every feature that can be one, under its own path.
    pub streams: Vec<StreamOf>,
    /// The type of all values.
    pub element: Element,
    /// The path of the feature that is the key; by default keys are numbers of examples in their split, or `tfds_id`s.
    pub key: Option<String>,
    /// Keys are numbers.
    pub numeric_keys: bool,
    /// Damaged records that are left out before reading fails; by default those that the reader's budget forgives.
    pub max_errors: Option<u64>,
    /// Decoded chunks are kept in memory.
    pub keep: bool,
    /// The folder of index caches, by default that of the dataset.
    pub index_folder: Option<PathBuf>,
    /// Counted lengths are kept there, and taken from there the next time.
    pub cache_index: bool,
    /// True if streams have the types and shapes of their features, false if all values are floats.
    pub keep_types: bool,
    /// True if the sequences are in the order in which TFDS reads them, with files in turns; false if they are as stored.
    pub in_tfds_order: bool,
}

/// The name in configurations.
pub const NAME: &str = "TFDSDeserializer";

/// Reads a split.
pub struct TfdsDeserializer {
    facts: DeserializerFacts,
    records: Arc<Records>,
    lengths: Option<Lengths>,
}

impl TfdsDeserializer {
    /// A deserializer of a split.
    ///
    /// # Errors
    /// An unknown feature, one that is no stream or no key, and files that cannot be read.
    pub fn new(
        dataset: &Dataset,
        plan: &[FileInstruction],
        features: &Feature,
        options: &TfdsOptions,
    ) -> Result<TfdsDeserializer, ConfigError> {
        let streams = match &options.streams[..] {
            [] => all_streams(&Schema::new(features, &Selection::default())?, options.keep_types),
            streams => streams.to_vec(),
        };
        if streams.is_empty() {
            return Err(ConfigError::refused("input", &StreamRefusal::NoStreams));
        }
        let wanted = streams.iter().map(|stream| &stream.feature).chain(&options.key).cloned().collect();
        for stream in streams.iter().filter(|stream| stream.encoded) {
            image_channels(features, stream)?;
        }
        let raw = streams.iter().filter(|stream| stream.encoded).map(|stream| stream.feature.clone());
        let selection = Selection { features: Some(wanted), raw: raw.collect() };
        let schema = Arc::new(Schema::new(features, &selection)?);
        let typed = if options.keep_types { None } else { Some(options.element) };
        let columns = streams.iter().map(|stream| column::Stream::new(stream, &schema, typed));
        let columns: Vec<column::Stream> = columns.collect::<Result<_, _>>()?;
        let info = |(stream, column): (&StreamOf, &column::Stream)| {
            if stream.encoded {
                return StreamInfo::encoded(&stream.name, stream.element.unwrap_or(options.element));
            }
            let shape = Shape::new(column.shape.clone());
            StreamInfo::dense(&stream.name, shape, column.element).with_sparse(stream.one_hot)
        };
        let infos = streams.iter().zip(&columns).map(info).collect();
        let numeric = options.numeric_keys;
        let keys = match &options.key {
            Some(path) => KeyOf::Feature(KeyFeature::new(path, features, &schema, numeric)?),
            None if numeric => KeyOf::Number,
            None => KeyOf::Id,
        };
        let Layout { paths, slices, identity: of_files } = lay_out(dataset, plan, options.in_tfds_order);
        let files = (0..paths.len()).map(|i| records::open(dataset.file_format, ResourceId(i as u32)));
        let lengths = Lengths::new(&columns, features)?;
        let records = Records {
            files: files.collect::<Result<_, _>>()?,
            paths: paths.iter().map(|path| Arc::from(path.as_path())).collect(),
            keys,
            numeric_keys: numeric,
            ids: Ids::new(dataset, plan),
            slices,
            schema,
            streams: columns,
            format: dataset.file_format,
        };
        let identity = streams.iter().fold(Identity::of("TFDSDeserializer"), |text, s| s.write(text));
        let identity = identity
            .field("key", Maybe(options.key.as_deref().map(Quoted)))
            .field("numeric", numeric)
            .flag("typed", options.keep_types)
            .flag("tfds-order", options.in_tfds_order)
            .word(of_files.text());
        let mut facts = DeserializerFacts::new(NAME, paths, infos, identity.text());
        facts.max_errors = options.max_errors;
        facts.keep_in_memory = options.keep;
        facts.index_folder =
            Some(options.index_folder.clone().unwrap_or_else(|| dataset.directories[0].clone().into()));
        // Without counted lengths the dataset's description is the index.
        if lengths.is_some() {
            facts.index_cache = IndexCache::enabled(options.cache_index);
        }
        Ok(TfdsDeserializer { facts, records: Arc::new(records), lengths })
    }
}

/// The channels of the image that a stream delivers encoded; `None` where the dataset leaves them open.
///
/// # Errors
/// A feature that is not one image of 8-bit values.
pub fn image_channels(features: &Feature, stream: &StreamOf) -> Result<Option<usize>, ConfigError> {
    let leaves = features.leaves();
    let leaf = leaves.iter().find(|(path, _)| *path == stream.feature).map(|(_, leaf)| leaf);
    match leaf {
        Some(Leaf { coding: Coding::Image, dtype: DType::UInt8, shape, .. }) if shape.len() == 3 => {
            Ok(shape[2])
        }
        Some(leaf) => {
            let (feature, dtype) = (stream.feature.clone(), leaf.dtype.name());
            let refusal = StreamRefusal::NotOneImage { feature, dtype, shape: shape_text(&leaf.shape) };
            Err(ConfigError::refused(format!("input.{}.transforms", stream.name), &refusal))
        }
        // The schema's error suggests the nearest name.
        None => Ok(None),
    }
}

/// Every feature that can be a stream, under its own path.
fn all_streams(schema: &Schema, keeps_types: bool) -> Vec<StreamOf> {
    let can_be = schema.columns.iter().filter(|column| column::can_be_one(column, keeps_types));
    can_be.map(|column| StreamOf::feature(&column.path)).collect()
}

/// The files of a plan, and the runs of records that are its chunks.
struct Layout {
    paths: Vec<PathBuf>,
    slices: Vec<Slice>,
    identity: Identity,
}

fn lay_out(dataset: &Dataset, plan: &[FileInstruction], in_tfds_order: bool) -> Layout {
    let info = &dataset.info;
    let mut layout = Layout {
        paths: Vec::new(),
        slices: Vec::new(),
        identity: Identity::of(&*info.name)
            .word(info.version)
            .word(Maybe(info.config.as_deref().map(Quoted))),
    };
    let mut known: Vec<(u64, u32)> = Vec::new();
    // The slices of each file, in its order.
    let mut resources = Vec::with_capacity(plan.len());
    for file in plan {
        let shard = file.shard(dataset);
        let resource = match known.binary_search_by_key(&shard.first, |(first, _)| *first) {
            Ok(at) => known[at].1,
            Err(at) => {
                let resource = layout.paths.len() as u32;
                known.insert(at, (shard.first, resource));
                layout.paths.push(Path::new(&dataset.directories[shard.directory]).join(&shard.file));
                resource
            }
        };
        layout.identity = layout.identity.line().word(&shard.file).word(file.skip).word(file.take);
        resources.push(resource);
    }
    let mut push = |file: usize, skip: u64, take: u64| {
        let (instruction, resource) = (&plan[file], resources[file]);
        let (shard, split) = (instruction.shard(dataset), dataset.splits[instruction.split].first());
        let (mut first, end) = (instruction.skip + skip, instruction.skip + skip + take);
        while first < end {
            let n = (end - first).min(CHUNK_RECORDS) as u32;
            let record = shard.first + first;
            let of = instruction.examples_in_shard;
            layout.slices.push(Slice { resource, first, n, of, record, number: record - split });
            first += u64::from(n);
        }
    };
    if in_tfds_order && plan.len() > 1 && !info.disable_shuffling {
        in_turns(plan, push);
    } else {
        (0..plan.len()).for_each(|file| push(file, 0, plan[file].take));
    }
    layout
}

/// The records of a plan in the order of TFDS' default: 16 files in turns, 16 records at a time. `push` takes the number of a file,
/// and how many of its records are skipped and follow.
fn in_turns(plan: &[FileInstruction], mut push: impl FnMut(usize, u64, u64)) {
    const SIXTEEN: NonZeroU64 = NonZeroU64::new(16).expect("it is not 0");
    // Records are numbered within the plan: it may have a file twice.
    let mut firsts = Vec::with_capacity(plan.len());
    let mut files = Vec::with_capacity(plan.len());
    let mut first = 0;
    for file in plan {
        firsts.push(first);
        files.push(Span { first, len: file.take });
        first += file.take;
    }
    let spec = StreamSpec {
        files,
        shuffle_files: None,
        repeat_files: false,
        cycle: SIXTEEN,
        block: SIXTEEN,
        expected: None,
        ops: Vec::new(),
    };
    let mut order = Stream::new(spec).expect("a plan of several files is not empty");
    while let Ok(Some(run)) = order.next_run(u64::MAX) {
        let file = firsts.partition_point(|first| *first <= run.first) - 1;
        push(file, run.first - firsts[file], run.len);
    }
}

impl Deserializer for TfdsDeserializer {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, _fetch: &dyn Fetch) -> Result<(), Error> {
        Ok(())
    }

    // The dataset says how many records each file holds; one that holds fewer is found when they are loaded.
    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        _defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let records = &self.records;
        let counted =
            self.lengths.as_ref().map(|lengths| lengths.count(records, fetch, parallelism)).transpose()?;
        let constant = lengths::constant(&records.streams);
        let same =
            || records.slices.iter().map(|slice| CompactLengths::constant(constant, slice.n)).collect();
        let sizes = (0..records.files.len()).map(|i| fetch.size(ResourceId(i as u32)));
        let sizes = sizes.collect::<Result<_, _>>()?;
        Ok(self.indexed(counted.unwrap_or_else(same), sizes))
    }

    fn restore(&self, saved: &[u8]) -> Option<Indexed> {
        let (lengths, sizes) = lengths::restore(saved, &self.records)?;
        Some(self.indexed(lengths, sizes))
    }

    // The dataset declares its features itself.
    fn mismatches(&self, _fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

impl TfdsDeserializer {
    /// The index of chunks of these lengths, in files of these sizes.
    fn indexed(&self, lengths: Vec<CompactLengths>, sizes: Vec<u64>) -> Indexed {
        let mut index = Index::new();
        for (slice, lengths) in self.records.slices.iter().zip(lengths) {
            let bytes = slice.bytes(sizes[slice.resource as usize]);
            index.push(lengths, bytes.end - bytes.start);
        }
        index.seal();
        let index = Arc::new(index);
        let corpus = Loading::new(Arc::clone(&self.records), Arc::clone(&index), sizes);
        Indexed { index, corpus: Arc::new(corpus) }
    }
}
