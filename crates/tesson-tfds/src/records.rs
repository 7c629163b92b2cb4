//! The files of records that shards are, by format (§1.6).

use tesson_core::{ConfigError, ResourceId};
use tesson_formats::array_record::ArrayRecordFile;
use tesson_formats::record::RecordFile;
use tesson_formats::tfrecord::TfRecordFile;

use crate::info::FileFormat;

/// A reader of the shard that a resource is.
///
/// # Errors
/// A format that is not read, and what to do about it.
pub fn open(format: FileFormat, resource: ResourceId) -> Result<Box<dyn RecordFile>, ConfigError> {
    match format {
        FileFormat::TfRecord => Ok(Box::new(TfRecordFile::new(resource))),
        FileFormat::ArrayRecord => Ok(Box::new(ArrayRecordFile::new(resource))),
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => Ok(Box::new(tesson_formats::parquet::ParquetFile::new(resource))),
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet => {
            let what = "parquet files are read only if tesson is built with its feature `parquet`";
            Err(ConfigError::new("file_format", what))
        }
        FileFormat::Riegeli => {
            let what = "riegeli files are not read; prepare the dataset as tfrecord or array_record";
            Err(ConfigError::new("file_format", what))
        }
    }
}
