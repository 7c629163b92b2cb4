//! The faults of tables, and the refusals of options.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const BITS: OptionName = OptionName::new("bits");
const COLUMNS: OptionName = OptionName::new("columns");
const DELIMITER: OptionName = OptionName::new("delimiter");
const END_OF_TEXT: OptionName = OptionName::new("endOfText");
const TOKEN_TYPE: OptionName = OptionName::new("tokenType");
const LENGTH: OptionName = OptionName::new("length");
const DTYPE: OptionName = OptionName::new("dtype");
const FRAME_MODE_FALSE: OptionSetting = OptionName::set_to("frameMode", "false");
const FORMAT: OptionName = OptionName::new("format");
const KEY_COLUMN: OptionName = OptionName::new("keyColumn");
const MAX_ERRORS: OptionName = OptionName::new("maxErrors");
const NULLS: OptionName = OptionName::new("nulls");
const RAGGED: OptionName = OptionName::new("ragged");
const NUM_FEATURES: OptionName = OptionName::new("numFeatures");
const ZERO_BASED: OptionName = OptionName::new("zeroBased");
const SHAPE: OptionName = OptionName::new("shape");
const USE_NUMERIC_SEQUENCE_KEYS: OptionName = OptionName::new("useNumericSequenceKeys");

tesson_core::error_kinds! {
    /// A fault of a table.
    pub enum TableFault {
        /// The format of a file is not known.
        UnknownFormat { known: String = "npy, csv".into() }
            = "table.unknown-format": "neither the name nor the beginning of the file tells its format"; "set {FORMAT} to one of {known}"
            => "Set {FORMAT}.",
        /// The beginning of a file is not that of its format.
        BadHeader { format: &'static str = "npy", what: String = "found no `descr`".into() }
            = "table.bad-header": "the header of the {format} file is invalid: {what}"
            => "Check that the file is complete and of this format; write it again.",
        /// A file ends before its header says.
        Truncated { found: u64 = 100, expected: u64 = 128 }
            = "table.truncated": "the file has {found} bytes, its header declares {expected}"
            => "Copy or write the file again.",
        /// An array is stored column by column.
        FortranOrder { shape: String = "10x3".into() }
            = "table.fortran-order": "the array of shape {shape} is in Fortran order, expected C order"
            => "Save it with `numpy.save(file, numpy.ascontiguousarray(array))`.",
        /// An array has no rows.
        NoRows
            = "table.no-rows": "the array has no dimensions, expected the examples as its first one"
            => "Save an array whose first dimension counts the examples.",
        /// An array has a type that no stream can have.
        OtherType { found: String = "O".into() }
            = "table.other-type": "the type `{found}` cannot be read, expected numbers or bool"
            => "Save the array with a type of numbers; for Python objects write a table, such as Parquet.",
        /// A stream is named like no column.
        NoColumn { name: String = "lable".into(), columns: String = "`image`, `label`".into(), near: Option<String> = Some("label".into()) }
            = "table.no-column": "there is no column `{name}` among {columns}", (if let Some(near) = near => "did you mean `{near}`?")
            => "Correct the name.",
        /// A column has a type that no stream can have.
        ColumnType { column: String = "comment".into(), found: String = "map<text, int32>".into() }
            = "table.column-type": "column `{column}` has {found}, which cannot be a stream"; "name the columns to read as {COLUMNS}"
            => "Leave the column out with {COLUMNS}, or convert it.",
        /// A column cannot have keys.
        KeyType { column: String = "score".into(), found: String = "float32".into() }
            = "table.key-type": "column `{column}` has {found}, expected whole numbers or texts as keys"
            => "Choose another {KEY_COLUMN}.",
        /// Keys are texts where numbers are expected, or the other way around.
        KeyKind { column: String = "id".into(), found: &'static str = "texts", expected: &'static str = "false" }
            = "table.key-kind": "the keys in column `{column}` are {found}"; "set {USE_NUMERIC_SEQUENCE_KEYS} to {expected}"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS} as the message says.",
        /// A key is below 0.
        NegativeKey { row: u64 = 5, found: i64 = -1 }
            = "table.negative-key": "row {row} has the key {found}, expected a number from 0"
            => "Choose another {KEY_COLUMN}, or correct the key.",
        /// A shape does not fit the values of a column.
        ShapeMismatch { column: String = "x".into(), found: String = "float32 [784]".into(), shape: String = "28x27".into() }
            = "table.shape-mismatch": "column `{column}` has {found}, which cannot have the shape {shape}"
            => "Correct {SHAPE}.",
        /// A row has another number of values than its shape asks for.
        ValueCount { row: u64 = 7, found: u64 = 3, shape: String = "4".into() }
            = "table.value-count": ("row {row} has {}, expected {shape}", number_of(found, "value")); "set {RAGGED} where rows differ"
            => "Correct {SHAPE}, or set {RAGGED}.",
        /// A value does not fit the type that was asked for.
        DoesNotFit { row: u64 = 7, value: String = "300".into(), dtype: &'static str = "uint8" }
            = "table.does-not-fit": "row {row} has the value {value}, which is no {dtype}"
            => "Choose a {DTYPE} that holds all values, or leave it out.",
        /// Texts are no numbers, and numbers no texts.
        StringType { column: String = "name".into(), found: String = "texts".into(), dtype: &'static str = "int64" }
            = "table.string-type": "column `{column}` has {found}, which cannot become {dtype}"
            => "Leave {DTYPE} out, or convert the column.",
        /// Bytes that are to be a text are no UTF-8.
        NoText { row: u64 = 7, byte: u64 = 3 }
            = "table.no-text": "row {row} has bytes that are no UTF-8 from byte {byte} of the value on"
            => "Convert the column to UTF-8, or read it as bytes by {DTYPE}.",
        /// A row of text has another number of fields than there are columns.
        FieldCount { found: usize = 3, expected: usize = 4 }
            = "table.field-count": ("found {}, expected {expected}", number_of(found, "field"))
            => "Correct the row, or its quotes; set {DELIMITER} if another character separates the fields.",
        /// A field of text is no value of its column's type.
        BadValue { column: String = "age".into(), found: String = "old".into(), dtype: String = "int64".into() }
            = "table.bad-value": "column `{column}`: found `{found}`, expected {dtype}"
            => "Correct the value, declare a {DTYPE} that holds all values of the column, or forgive the row by {MAX_ERRORS}.",
        /// A field of text is in another encoding.
        NotUtf8 { column: String = "name".into(), found: String = "b\u{fffd}b".into() }
            = "table.not-utf-8": "column `{column}`: found `{found}`, which is no UTF-8"; "write the file in UTF-8, or read the column \
                by a {DTYPE} of `bytes`"
            => "Write the file in UTF-8, read the column by a {DTYPE} of `bytes`, or forgive the row by {MAX_ERRORS}.",
        /// A row of text has no value in a column of numbers.
        NoValue { column: String = "age".into() }
            = "table.no-value": "column `{column}` has no value"
            => "Fill the value in, say by {NULLS} what stands for it, or forgive the row by {MAX_ERRORS}.",
        /// A row of text is too long.
        LongRow { most: u64 = 1 << 28 }
            = "table.long-row": "a row has more than {most} bytes; is a quote never closed?"
            => "Close the quote, or divide the row.",
        /// The columns of a sample of a shard do not add up to its bytes.
        BadSample { row: u64 = 7, bytes: u64 = 12 }
            = "table.bad-sample": "sample {row} has {bytes} bytes, which its columns do not add up to"
            => "Write the shard again, or forgive the row by {MAX_ERRORS}.",
        /// A shard is compressed by a codec that is not read.
        CompressedShard { by: &'static str = "Brotli" }
            = "table.compressed-shard": "the shard is compressed by {by}, expected Zstandard, gzip or no compression"
            => "Decompress the shards, or write them with Zstandard.",
        /// A text is compressed, or in another encoding than UTF-8.
        OtherEncoding { found: &'static str = "UTF-16" }
            = "table.other-encoding": "the file is {found}, expected text in UTF-8"
            => "Convert or decompress the file.",
        /// A text has no rows to take the columns from.
        NoFirstRow
            = "table.no-rows-of-text": "the file has no row, expected one at least"
            => "Check the file.",
        /// A line of JSON is invalid.
        BadJson { what: String = "expected `,` or `}`".into(), column: usize = 17 }
            = "table.bad-json": "column {column}: {what}"
            => "Correct the line; each line has one object.",
        /// A file of records has no features.
        NoExamples { records: u64 = 0 }
            = "table.no-examples": "the first {records} records have no feature, expected examples as TensorFlow writes them"
            => "Check the file; records of another kind have to be converted first.",
        /// A word of a line is no pair.
        BadPair { found: String = "3;0.5".into() }
            = "table.bad-pair": "found `{found}`, expected a pair `index:value`"
            => "Correct the line.",
        /// The index of a pair is that of no column.
        IndexOutside { index: u64 = 0, first: u64 = 1, last: u64 = 10 }
            = "table.index-outside": "found the index {index}, expected one from {first} to {last}"; "{NUM_FEATURES} is the number of columns, {ZERO_BASED} says where indices begin"
            => "Give the number of columns with {NUM_FEATURES}, and {ZERO_BASED} if indices count from 0.",
        /// The pairs of a line are in no order.
        IndexOrder { index: u64 = 3, before: u64 = 7 }
            = "table.index-order": "the index {index} follows {before}, expected each once and ascending"
            => "Sort the pairs of each line.",
        /// A line is no row.
        BadLine { what: &'static str = "found a quote that is never closed, expected its end in the same line" }
            = "table.bad-line": "{what}"
            => "Correct the line, or forgive the row by {MAX_ERRORS}.",
        /// A sparse row names an attribute that there is not.
        AttributeNumber { index: u64 = 7, attributes: u64 = 5 }
            = "table.attribute-number": "found the attribute number {index}, expected one from 0 to below {attributes}"
            => "Correct the line, or forgive the row by {MAX_ERRORS}.",
        /// A row has a weight, and the first rows have none.
        LateWeight
            = "table.late-weight": "found a weight of the row, the first rows of the first file have none"; "name `weight` among {COLUMNS}"
            => "Name the column of weights among {COLUMNS}, so that all rows have one, 1 by default.",
        /// A word of a line is no feature.
        BadFeature { found: String = "price:1,5".into() }
            = "table.bad-feature": "found `{found}`, expected a feature as `name`, `name:0.5` or `name:text`, or a namespace as `name` or `name:0.5`"
            => "Correct the line, or forgive the row by {MAX_ERRORS}.",
        /// A feature is too large by the weight of its namespace.
        FeatureProduct { found: String = "price:1e300".into(), weight: f64 = 1e10 }
            = "table.feature-product": "found `{found}` in a namespace of weight {weight:e}, expected a product that float64 holds"
            => "Correct the value or the weight, or forgive the row by {MAX_ERRORS}.",
        /// The features of one column add up to too much.
        FeatureSum { column: u64 = 42, one: f64 = 1e308, other: f64 = 1.5e308 }
            = "table.feature-sum": "features of column {column} add up to {one:e} and {other:e}, expected a sum that float64 holds"; "set {BITS} higher if names share \
                the column by chance"
            => "Correct the values, set {BITS} higher so that fewer names share a column, or forgive the row by {MAX_ERRORS}.",
        /// A label is none of one number.
        OtherLabel { found: String = "1:0.5 2:1".into(), kind: &'static str = "the cost of a class or of an action" }
            = "table.other-label": "found the label `{found}`, {kind}, expected a number, and perhaps an importance and a base behind it"; "read \
                the column `label` by a {DTYPE} of `str`"
            => "Read the column of labels by a {DTYPE} of `str`, which has them as they are written.",
        /// Two streams have the same name.
        RepeatedStream { name: String = "x".into() }
            = "table.repeated-stream": "the column name `{name}` occurs twice"
            => "Rename one of the columns, or read the other ones by {COLUMNS}.",
        /// The files of one corpus have different columns.
        OtherColumns { file: String = "part-0.npy".into(), found: String = "`x` float64".into(), expected: String = "`x` float32".into() }
            = "table.other-columns": "found the columns {found}, {file} has {expected}; files that are one corpus have the same"
            => "Give files of equal columns, or read them by {COLUMNS}.",
        /// A file of tokens is not of whole tokens.
        TokenBytes { size: u64 = 5, dtype: &'static str = "uint16" }
            = "table.token-bytes": "the file has {size} bytes, which are no whole number of tokens of type {dtype}"; "set {TOKEN_TYPE}"
            => "Set {TOKEN_TYPE} to the type of the tokens, or copy the file again.",
        /// An array is no row of tokens.
        TokenArray { shape: String = "10x3".into() }
            = "table.token-array": "the array of shape {shape} is no row of tokens, expected one dimension of whole numbers"
            => "Save the tokens one after the other, as `array.ravel()`.",
        /// Nothing tells where documents end.
        NoDocuments
            = "table.no-documents": "nothing tells where documents end"; "set {LENGTH} or {END_OF_TEXT}"
            => "Set {LENGTH} for examples of equal length, or {END_OF_TEXT}; of Megatron's files, the index has to lie beside the tokens.",
        /// A document has more tokens than an example can have.
        LongDocument
            = "table.long-document": "the document has more than 2^32 tokens"
            => "Check {END_OF_TEXT} and {TOKEN_TYPE}.",
        /// An array has more samples than an example can have.
        LongSequence { items: u64 = 5_000_000_000 }
            = "table.long-sequence": "the array has {items} items, an example can have 2^32 samples"
            => "Cut the array into several files.",
        /// A folder has no files of a table.
        EmptyFolder { known: String = "npy, parquet".into() }
            = "table.empty-folder": "the folder has no file of a known format ({known})"
            => "Name the files by a pattern, such as `data/*.txt`.",
        /// A folder has files of several formats.
        MixedFolder { one: String = "a.npy".into(), other: String = "b.parquet".into() }
            = "table.mixed-folder": "the folder has files of several formats, such as {one} and {other}"; "set {FORMAT}"
            => "Set {FORMAT}, or name the files by a pattern.",
        /// A folder has several datasets.
        Splits { names: String = "train, test".into() }
            = "table.splits": "the folder has the datasets {names}, expected one"
            => "Name the folder of one of them.",
        /// A description of a folder cannot be read.
        BadState { what: String = "it has no `_data_files`".into() }
            = "table.bad-state": "state.json does not list files: {what}"
            => "Save the dataset again.",
        /// A value is missing.
        Null { column: String = "score".into(), row: u64 = 7 }
            = "table.null": "column `{column}` has no value in row {row}"
            => "Set {NULLS} to `skip`, `nan` or a value, or fill the column in.",
        /// Rows that are stored together cannot be decoded.
        Damaged { unit: String = "row group 3".into(), column: String = "x".into(), what: String = "EOF: unexpected end".into() }
            = "table.damaged": "column `{column}` of {unit} cannot be decoded: {what}"
            => "Copy or write the file again.",
        /// Rows that are stored together cannot be decoded.
        DamagedUnit { unit: String = "record batch 3".into(), what: String = "buffers do not match".into() }
            = "table.damaged-unit": "{unit} cannot be decoded: {what}"
            => "Copy or write the file again.",
        /// A value of true or false is neither.
        NotBool { row: u64 = 3, found: u8 = 7 }
            = "table.not-bool": "row {row} has the byte {found}, expected 0 or 1 for false and true"
            => "Write the column again, or forgive the row by {MAX_ERRORS}.",
        /// A time is missing.
        NoTime { row: u64 = 3 }
            = "table.no-time": "row {row} has no time (`NaT`)"
            => "Write the column again with a time there, or forgive the row by {MAX_ERRORS}.",
        /// No row is left.
        Empty { files: u64 = 1 }
            = "table.empty": ("found no row in {}, expected one at least", number_of(files, "file"))
            => "Check the files.",
    }
}

impl FormatFaults for TableFault {}

tesson_core::error_kinds! {
    /// Why options of tables are refused.
    pub enum TableRefusal {
        /// A stream has no column.
        NoColumn
            = "table.empty-column": "found an empty name, expected that of a column"
            => in manual "Name a column.",
        /// No stream is asked for.
        NoStreams
            = "table.no-streams": "the list of columns is empty, expected at least one"
            => in manual "Name a column, or leave the list out to read all of them.",
        /// Examples are to be windows and documents.
        WindowsAndDocuments
            = "table.windows-and-documents": "examples are windows or documents"; "leave out {END_OF_TEXT} or {LENGTH}"
            => "Leave out {END_OF_TEXT} or {LENGTH}.",
        /// There are no windows that could have a stride.
        StrideAlone
            = "table.stride-alone": "there are no windows"; "set {LENGTH}, too"
            => "Set {LENGTH}, too.",
        /// Rows are to be single frames.
        FrameMode
            = "table.frame-mode": "rows are sequences, which may have several samples"; "set {FRAME_MODE_FALSE}"
            => "Set {FRAME_MODE_FALSE}.",
    }
}
