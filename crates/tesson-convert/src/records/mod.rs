//! Tools for files of records: reading, checking, indexing and converting them.
//!
//! | file | subject |
//! |---|---|
//! | `kind` | the format of a file |
//! | `file` | an open file |
//! | `check` | every checksum of a file |
//! | `convert` | conversion to another format |
//!
//! TFDS datasets consist of such files; the contents of the records are not interpreted here.

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
