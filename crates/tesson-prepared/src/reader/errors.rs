//! Errors of a reader: which example or file they are about, and what was found there.

use std::path::Path;

use tesson_core::{DataError, Error, Key, Location};
use tesson_plan::CountMismatch;
use tesson_tfds::fault::TfdsFault;

use super::Reader;
use crate::loader::RecordId;
use crate::order::SeekError;

impl Reader {
    pub(super) fn led_astray(&self, astray: SeekError) -> Error {
        match astray {
            SeekError::Count(mismatch) => self.count_error(mismatch),
            SeekError::Record(error, at) => self.with_id(error, at),
            SeekError::Other(error) => error,
        }
    }

    pub(super) fn with_id(&self, error: Error, id: RecordId) -> Error {
        match error {
            Error::Data(error) => {
                let stream = error.stream().map(str::to_owned);
                error.within(stream, Some(Key::Text(self.id_of(id)))).into()
            }
            other => other,
        }
    }

    /// The files do not hold what the dataset says: which ones, and how many records they have.
    pub(super) fn count_error(&self, mismatch: CountMismatch) -> Error {
        let declared = |file: usize| self.plan().files[file].examples_in_shard;
        let wrong = self.order.lengths.known.iter().filter(|(file, found)| declared(**file) != **found);
        let wrong = wrong.map(|(file, found)| {
            let (name, declared) = (&self.prefixes[*file], declared(*file));
            format!("{found} records instead of {declared} in {name}")
        });
        let wrong = wrong.collect::<Vec<_>>().join(", ");
        let what = if wrong.is_empty() { mismatch.to_string() } else { format!("{mismatch} ({wrong})") };
        error_in(Path::new(&self.dataset.directories[0]), TfdsFault::ExampleCount { what }).into()
    }

    /// A record that its file, which has so many, ends before.
    pub(super) fn absent(&self, id: RecordId, records: u64) -> DataError {
        let expected = self.plan().files[id.file].examples_in_shard;
        let fault = TfdsFault::AbsentRecord { record: id.record, found: records, expected };
        error_in(self.loader.path(id.file), fault)
    }
}

pub(super) fn error_in(file: &Path, fault: TfdsFault) -> DataError {
    DataError::new(fault, Location { file: file.into(), offset: 0, line: None })
}
