//! Files of records (TFRecord, ArrayRecord): read, checked, indexed, converted from one format to another.

pub use tesson_convert::records::{
    ArrayRecordOptions, ArrayRecordWriter, CheckedRecords, Compression, ConvertedRecords, End, Fault,
    Problem, RecordFile, RecordForm, RecordKind, RecordSpan, Records, RecordsFile, TfRecordWriter, Want,
    check, convert, record_index, verify,
};
