//! Files of records as files: read from one end to the other, checked, indexed, converted.
//!
//! | file | subject |
//! |---|---|
//! | `kind` | which format a file has |
//! | `file` | an open file |
//! | `check` | every checksum of a file |
//! | `convert` | from one format to another |
//!
//! What TFDS datasets are made of; what the records mean is another matter.

mod check;
mod convert;
mod file;
mod kind;

pub use check::{CheckedRecords, check};
pub use convert::{ConvertedRecords, RecordForm, RecordOutput, convert, undamaged, verify};
pub use file::RecordsFile;
pub use kind::RecordKind;
pub use tesson_engine::record_index;
pub use tesson_formats::array_record::write::{
    Compression, Options as ArrayRecordOptions, Writer as ArrayRecordWriter,
};
pub use tesson_formats::record::{End, Fault, Problem, RecordFile, RecordSpan, Records, Want};
pub use tesson_formats::tfrecord::write::Writer as TfRecordWriter;
