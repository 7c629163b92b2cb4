//! The files of records that shards are, by format (spec/tfds.md §1.6).

use tesson_core::{ConfigError, ResourceId};
use tesson_formats::array_record::ArrayRecordFile;
use tesson_formats::record::{Problem, RecordFile};
use tesson_formats::tfrecord::TfRecordFile;

use crate::info::FileFormat;
use crate::refusal::DatasetRefusal;

/// Bytes in front of a TFRecord's data.
const HEAD: u64 = 12;

/// True if the reference treats a file as ended there: it does so with TFRecords if fewer bytes are left than the
/// head of a record. A format with a table of its records is damaged if one of them is missing.
pub fn is_cut(format: FileFormat, problem: &Problem) -> bool {
    format == FileFormat::TfRecord && matches!(problem, Problem::Truncated { left, .. } if *left < HEAD)
}

/// Opens the shard in a resource.
///
/// # Errors
/// [`ConfigError`] for a format that is not supported, with the remedy.
pub fn open(format: FileFormat, resource: ResourceId) -> Result<Box<dyn RecordFile>, ConfigError> {
    match format {
        FileFormat::TfRecord => Ok(Box::new(TfRecordFile::new(resource))),
        FileFormat::ArrayRecord => Ok(Box::new(ArrayRecordFile::new(resource))),
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => Ok(Box::new(tesson_formats::parquet::ParquetFile::new(resource))),
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet => Err(ConfigError::refused("file_format", &DatasetRefusal::NoParquet)),
        FileFormat::Riegeli => Err(ConfigError::refused("file_format", &DatasetRefusal::RiegeliFile)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_records_head_ends_tfrecords_alone() {
        let few = Problem::Truncated { needed: 16, left: HEAD - 1 };
        let more = Problem::Truncated { needed: 16, left: HEAD };
        for format in [FileFormat::TfRecord, FileFormat::ArrayRecord, FileFormat::Parquet] {
            assert_eq!(is_cut(format, &few), format == FileFormat::TfRecord, "{format}");
            assert!(!is_cut(format, &more), "{format}");
        }
    }
}
