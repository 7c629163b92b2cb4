//! The options of tables.

use std::path::PathBuf;

use tesson_core::identity::{Identity, List, Maybe, Quoted};
use tesson_core::{
    ConfigError, Element, OptionKind, OptionSet as _, OptionSpec, Options, ReaderDefaults, Sections, Shape,
    Value, Words, options,
};

use crate::csv::CsvOptions;
use crate::fault::TableRefusal;
use crate::libsvm::LibsvmOptions;
use crate::nulls::NullRule;
use crate::tokens::TokenOptions;
use crate::vw::VwOptions;

const FILE: OptionSpec = OptionSpec::required(
    "file",
    OptionKind::Files,
    "The file, relative to the working directory; a pattern such as `part-*` or `part-{00..15}`, or a list, joins several files \
     to one corpus, in this order (files of `*` by name).",
);

const CACHE_INDEX: OptionSpec = OptionSpec::optional(
    "cacheIndex",
    OptionKind::Bool,
    "For `arff`, `csv`, `jsonl`, `libsvm` and `vw` that are not compressed: keep the index in a file beside the first one, for the next time; by \
     default as the reader's `cacheIndex`.",
);

/// The formats by name. `auto` finds out.
static FORMATS: Words<Option<&'static str>, 14> = Words::new([
    ("auto", None),
    ("arff", Some("arff")),
    ("array_record", Some("array_record")),
    ("arrow", Some("arrow")),
    ("csv", Some("csv")),
    ("jsonl", Some("jsonl")),
    ("libsvm", Some("libsvm")),
    ("mds", Some("mds")),
    ("npy", Some("npy")),
    ("parquet", Some("parquet")),
    ("tfrecord", Some("tfrecord")),
    ("tokens", Some("tokens")),
    ("vw", Some("vw")),
    ("webdataset", Some("webdataset")),
]);

static ELEMENTS: Words<Element, 14> = Words::new([
    ("bool", Element::Bool),
    ("int8", Element::I8),
    ("int16", Element::I16),
    ("int32", Element::I32),
    ("int64", Element::I64),
    ("uint8", Element::U8),
    ("uint16", Element::U16),
    ("uint32", Element::U32),
    ("uint64", Element::U64),
    ("float16", Element::F16),
    ("float32", Element::F32),
    ("float64", Element::F64),
    ("str", Element::Text),
    ("bytes", Element::Bytes),
]);

/// The examples in a file of NumPy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayLayout {
    /// One for each item of the first dimension.
    Rows,
    /// One of one sample.
    Example,
    /// One with a sample for each item of the first dimension.
    Sequence,
}

static ARRAYS: Words<ArrayLayout, 3> = Words::new([
    ("rows", ArrayLayout::Rows),
    ("example", ArrayLayout::Example),
    ("sequence", ArrayLayout::Sequence),
]);

options! {
    /// One entry of `input`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct TableStream(options, reader: ReaderDefaults) {
        pub(crate) let name: String = options.entry().to_owned()
            => [identity with |stream, text| text.word(Quoted(&stream.name))];
        pub(crate) column: String = "column" | "alias", optional
            => "Name of the column, if it differs from the section's."
            [read options.text_if_given("column")?.unwrap_or_else(|| options.entry().to_owned())]
            [describe as |stream| Value::Text(stream.column.clone())]
            [identity with |stream, text| text.word(Quoted(&stream.column))];
        pub(crate) element: Option<Element> = "dtype" in ELEMENTS, optional
            => "Type of the values, by default that of the column. A value that is no such number is a fault; those of a column of \
             whole numbers are rounded to floating-point ones."
            [describe if given]
            [identity with |stream, text| text.field("dtype", Maybe(stream.element.map(Element::name)))];
        pub(crate) shape: Option<Vec<u64>> = "shape" | "dim": OptionKind::Numbers, optional
            => "Shape of a sample, such as `28:28`, if it differs from that of the column; a column of lists of this many values has \
             one sample in each row then, unless it is `ragged`."
            [read shape(options)?]
            [describe if given]
            [identity with |stream, text| text.field("shape", Maybe(stream.shape.as_deref().map(List)))];
        pub(crate) ragged: Option<bool> = "ragged", optional
            => "Read rows as any number of samples; by default columns of lists without a `shape` are."
            [describe if given]
            [identity with |stream, text| text.field("ragged", Maybe(stream.ragged))];
        pub(crate) defines_size: bool = "definesMBSize", "false"
            => "Count samples of this stream only."
            [identity flag "defines"];
        /// True if the stream has transforms: then its samples may be encoded images.
        pub(crate) has_transforms: bool = "transforms": OptionKind::Transforms, optional
            => "The transforms of the stream's samples, in the order in which they run, when minibatches are made."
            [read options.given("transforms").is_some()];
        check check_column;
    }
}

impl TableStream {
    /// A column under its own name, as it is.
    pub(crate) fn column(name: &str) -> TableStream {
        TableStream {
            name: name.to_owned(),
            column: name.to_owned(),
            element: None,
            shape: None,
            ragged: None,
            defines_size: false,
            has_transforms: false,
        }
    }

    /// The shape of a sample that was asked for.
    pub(crate) fn given_shape(&self) -> Option<Shape> {
        let dims = self.shape.as_ref()?;
        Some(Shape::new(dims.iter().map(|&dim| dim as usize).collect::<Vec<_>>()))
    }
}

fn check_column(stream: &TableStream, options: &Options<'_>) -> Result<(), ConfigError> {
    if !stream.column.is_empty() {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("column"), &TableRefusal::NoColumn))
}

/// Values of a sample, at most: their number is a number of 32 bits.
const MOST_VALUES: u64 = 1 << 31;

fn shape(options: &Options<'_>) -> Result<Option<Vec<u64>>, ConfigError> {
    let Some(dims) = options.numbers_if_given("shape")? else { return Ok(None) };
    let whole = |dim: &f64| dim.fract() == 0.0 && (1.0..=MOST_VALUES as f64).contains(dim);
    let size = dims.iter().product::<f64>();
    if !dims.iter().all(whole) || size > MOST_VALUES as f64 {
        let found = dims.iter().map(f64::to_string).collect::<Vec<_>>().join(":");
        let expected = "whole numbers from 1, such as `28:28`";
        return Err(ConfigError::out_of_range(options.path("shape"), format!("`{found}`"), expected));
    }
    Ok(Some(dims.iter().map(|&dim| dim as u64).collect()))
}

options! {
    /// The options of chunks and of their index.
    #[derive(Clone, Debug)]
    pub(crate) struct ChunkOptions(options, reader: ReaderDefaults) {
        pub(crate) bytes: u64 = "chunkSizeInBytes", "33554432"
            => "Largest size of a chunk, the unit of randomization, in bytes of memory."
            [read options.whole_within("chunkSizeInBytes", 1..=1 << 40)?]
            [identity "chunk"];
        pub(crate) keep: bool = "keepDataInMemory", "false"
            => "Keep decoded chunks in memory after their last use in a sweep.";
        pub(crate) cache_index: bool = CACHE_INDEX
            [otherwise reader.cache_index];
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(crate) struct TableOptions(options, reader: ReaderDefaults) {
        pub(crate) files: Vec<PathBuf> = FILE;
        pub(crate) format: Option<&'static str> = "format" in FORMATS, "auto"
            => "The format of the files; by default their names' ends tell it, then their beginnings.";
        pub(crate) columns: Option<Vec<String>> = "columns", optional
            => "Names of the columns to read, each as a stream of its name; by default all, or those that `input` names."
            [identity with |table, text| match &table.columns {
                Some(columns) => columns.iter().fold(text.word("columns"), |text, name| text.word(Quoted(name))),
                None => text,
            }];
        pub(crate) inputs: Sections<TableStream> = "input", optional
            => "One section for each stream that is to differ from its column."
            [describe if given]
            [identity with |table, text| {
                table.inputs.iter().fold(text, |text, stream| stream.identify(text).part())
            }];
        pub(crate) key: Option<String> = "keyColumn", optional
            => "The column of the keys that join rows with other deserializers; by default a row's number in the corpus."
            [identity with |table, text| text.field("key", Maybe(table.key.as_deref().map(Quoted)))];
        pub(crate) nulls: NullRule = "nulls": OptionKind::Text, "refuse"
            => "What a missing value is: a fault (`refuse`), `nan`, this number, or a reason to leave its row out (`skip`). With `nan` or \
             a number, missing lists are empty."
            [read NullRule::read(options, "nulls")?]
            [describe as |table| Value::Text(table.nulls.name())]
            [identity with |table, text| text.field("nulls", table.nulls.name())];
        ..pub(crate) chunks: ChunkOptions;
        pub(crate) max_errors: Option<u64> = "maxErrors", optional
            => "Number of faulty rows to tolerate before reading fails; by default the reader's `maxErrors`.";
        pub(crate) arrays: ArrayLayout = "eachFile" in ARRAYS, "rows"
            => "For `npy`: the examples of a file. They are the items of the first dimension (`rows`), or the file is one, as one sample \
             (`example`) or with a sample for each item of the first dimension (`sequence`)."
            [identity with |table, text| match table.arrays {
                ArrayLayout::Rows => text,
                ArrayLayout::Example => text.field("each", "example"),
                ArrayLayout::Sequence => text.field("each", "sequence"),
            }];
        ..pub(crate) csv: CsvOptions;
        ..pub(crate) libsvm: LibsvmOptions;
        ..pub(crate) vw: VwOptions;
        ..pub(crate) tokens: TokenOptions;
        pub(crate) let numeric_keys: bool = reader.numeric_keys => [identity flag "numbers"];
        let frame_mode: bool = reader.frame_mode;
        check check_frame_mode;
        check check_streams;
    }
}

impl TableOptions {
    /// Everything in the options that changes sequences, keys or values.
    pub(crate) fn identity(&self) -> Identity {
        self.identify(Identity::new("table", 1))
    }

    /// The type that all streams of a column ask for, if they do.
    pub(crate) fn declared(&self, column: &str) -> Option<Element> {
        let mut asked =
            self.inputs.iter().filter(|stream| stream.column == column).map(|stream| stream.element);
        let first = asked.next()??;
        asked.all(|other| other == Some(first)).then_some(first)
    }

    /// The streams that are asked for; `None` for all columns.
    pub(crate) fn streams(&self) -> Option<Vec<TableStream>> {
        let given = |name: &String| self.inputs.iter().find(|stream| stream.name == *name);
        let listed = |name: &String| given(name).cloned().unwrap_or_else(|| TableStream::column(name));
        match &self.columns {
            None if self.inputs.is_empty() => None,
            None => Some(self.inputs.0.clone()),
            Some(columns) => {
                let others = self.inputs.iter().filter(|stream| !columns.contains(&stream.name)).cloned();
                Some(columns.iter().map(listed).chain(others).collect())
            }
        }
    }
}

fn check_streams(table: &TableOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if table.streams().is_none_or(|streams| !streams.is_empty()) {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("columns"), &TableRefusal::NoStreams))
}

fn check_frame_mode(table: &TableOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if !table.frame_mode {
        return Ok(());
    }
    Err(ConfigError::refused(options.path("file"), &TableRefusal::FrameMode))
}
