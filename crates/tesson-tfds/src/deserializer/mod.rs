//! A split as a deserializer: each example is a sequence of one sample, features are streams.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | what is delivered, and the index: a chunk is a run of records of a file |
//! | `corpus` | records of a chunk to columns, with what is wrong with them |
//! | `column` | values of a feature to those of a stream |
//!
//! Streams have samples of a fixed size, so features of other sizes are refused. The order is the engine's.

mod column;
mod corpus;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{
    Coded, ConfigError, Deserializer, Element, Error, Fetch, Index, Indexed, Lanes, ResourceId, Shape,
    StreamInfo,
};
use tesson_formats::array_record::ArrayRecordFile;
use tesson_formats::record::RecordFile;
use tesson_formats::tfrecord::TfRecordFile;

use crate::features::{DType, Feature, Schema, Selection};
use crate::ids::Ids;
use crate::info::{Dataset, FileFormat};
use crate::split::FileInstruction;
use corpus::{Keys, Records, Slice};

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
}

/// What a deserializer of a split is made from.
pub struct TfdsSpec<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// What is read of which files.
    pub plan: &'a [FileInstruction],
    /// Its features.
    pub features: &'a Feature,
    /// The streams; empty for every feature that can be one, under its own path.
    pub streams: Vec<StreamOf>,
    /// The type of all values.
    pub element: Element,
    /// Keys are numbers of examples in their split, not `tfds_id`s.
    pub numeric_keys: bool,
    /// Damaged records that are left out before reading fails.
    pub max_errors: u64,
    /// Decoded chunks are kept in memory.
    pub keep: bool,
}

/// The name in configurations.
pub const NAME: &str = "TFDSDeserializer";

/// Reads a split.
pub struct TfdsDeserializer {
    resources: Vec<PathBuf>,
    streams: Vec<StreamInfo>,
    records: Arc<Records>,
    identity: String,
    max_errors: u64,
    keep: bool,
}

impl TfdsDeserializer {
    /// A deserializer of a split.
    ///
    /// # Errors
    /// An unknown feature, one that is no stream, and files that cannot be read.
    pub fn new(spec: TfdsSpec<'_>) -> Result<TfdsDeserializer, ConfigError> {
        let whole = Schema::new(spec.features, &Selection::default())?;
        let streams = if spec.streams.is_empty() { all_streams(&whole) } else { spec.streams };
        if streams.is_empty() {
            return Err(ConfigError::new("input", "no feature of the dataset has numbers of a fixed shape"));
        }
        let wanted = streams.iter().map(|stream| stream.feature.clone()).collect();
        let selection = Selection { features: Some(wanted), raw: Vec::new() };
        let schema = Arc::new(Schema::new(spec.features, &selection)?);
        let columns = streams.iter().map(|stream| column::Stream::new(stream, &schema));
        let columns: Vec<column::Stream> = columns.collect::<Result<_, _>>()?;
        let info = |(stream, column): (&StreamOf, &column::Stream)| StreamInfo {
            name: stream.name.clone(),
            shape: Shape::new(column.shape.clone()),
            element: spec.element,
            sparse: stream.one_hot,
        };
        let infos = streams.iter().zip(&columns).map(info).collect();
        let Layout { paths, slices, identity } = lay_out(spec.dataset, spec.plan);
        let files = (0..paths.len()).map(|i| open(spec.dataset.file_format, ResourceId(i as u32)));
        let records = Records {
            files: files.collect::<Result<_, _>>()?,
            paths: paths.iter().map(|path| Arc::from(path.as_path())).collect(),
            keys: if spec.numeric_keys {
                Keys::Numbers
            } else {
                Keys::Ids(Ids::new(spec.dataset, spec.plan))
            },
            slices,
            schema,
            streams: columns,
            element: spec.element,
        };
        Ok(TfdsDeserializer {
            resources: paths,
            streams: infos,
            records: Arc::new(records),
            identity: format!("{NAME} {streams:?} numeric={} {identity}", spec.numeric_keys),
            max_errors: spec.max_errors,
            keep: spec.keep,
        })
    }
}

/// Every feature that can be a stream, under its own path.
fn all_streams(schema: &Schema) -> Vec<StreamOf> {
    let can_be = schema.columns.iter().filter(|column| {
        let known = column.leaf.shape.iter().all(Option::is_some);
        known && column.levels.is_empty() && column::is_number(column.leaf.dtype)
    });
    let stream =
        |path: &String| StreamOf { name: path.clone(), feature: path.clone(), one_hot: false, dim: None };
    can_be.map(|column| stream(&column.path)).collect()
}

/// The files of a plan, and the runs of records that are its chunks.
struct Layout {
    paths: Vec<PathBuf>,
    slices: Vec<Slice>,
    identity: String,
}

fn lay_out(dataset: &Dataset, plan: &[FileInstruction]) -> Layout {
    let info = &dataset.info;
    let mut layout = Layout {
        paths: Vec::new(),
        slices: Vec::new(),
        identity: format!("{} {} {:?}", info.name, info.version, info.config),
    };
    let mut known: Vec<(u64, u32)> = Vec::new();
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
        layout.identity.push_str(&format!("\n{} {} {}", shard.file, file.skip, file.take));
        let split = dataset.splits[file.split].first();
        let mut first = file.skip;
        let end = file.skip + file.take;
        while first < end {
            let n = (end - first).min(CHUNK_RECORDS) as u32;
            let record = shard.first + first;
            let of = file.examples_in_shard;
            layout.slices.push(Slice { resource, first, n, of, record, number: record - split });
            first += u64::from(n);
        }
    }
    layout
}

fn open(format: FileFormat, resource: ResourceId) -> Result<Box<dyn RecordFile>, ConfigError> {
    match format {
        FileFormat::TfRecord => Ok(Box::new(TfRecordFile::new(resource))),
        FileFormat::ArrayRecord => Ok(Box::new(ArrayRecordFile::new(resource))),
        other => Err(ConfigError::new("directory", format!("{other} files are not read yet"))),
    }
}

impl Deserializer for TfdsDeserializer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn resources(&self) -> &[PathBuf] {
        &self.resources
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn max_errors(&self) -> u64 {
        self.max_errors
    }

    fn keep_in_memory(&self) -> bool {
        self.keep
    }

    fn can_cache_index(&self) -> bool {
        false
    }

    fn prepare(&mut self, _fetch: &dyn Fetch) -> Result<(), Error> {
        Ok(())
    }

    // The dataset says how many records each file holds; one that holds fewer is found when they are loaded.
    fn index(&self, fetch: &dyn Fetch, _lanes: &dyn Lanes) -> Result<Indexed, Error> {
        let mut index = Index::new();
        for slice in &self.records.slices {
            let bytes = slice.bytes(fetch.size(ResourceId(slice.resource)));
            index.push(Coded::constant(1, slice.n), bytes.end - bytes.start);
        }
        index.seal();
        let corpus = corpus::Indexed::new(Arc::clone(&self.records), fetch);
        Ok(Indexed { index: Arc::new(index), corpus: Arc::new(corpus) })
    }

    fn restore(&self, _saved: &[u8]) -> Option<Indexed> {
        None
    }
}

/// What a feature of this type would have to be.
fn not_a_stream(path: &str, shape: &str, dtype: DType) -> ConfigError {
    let what = format!(
        "`{path}` is {} of shape {shape}; a stream needs numbers of a fixed shape outside of sequences",
        dtype.name()
    );
    ConfigError::new("input", what)
}
