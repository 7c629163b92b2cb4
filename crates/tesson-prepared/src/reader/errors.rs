//! Errors of a reader: which example or file they are about, and what was found there.

use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Error, Key, Location};
use tesson_plan::CountMismatch;

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
        let expected = |file: usize| self.plan().files[file].examples_in_shard;
        let wrong = self.order.lengths.known.iter().filter(|(file, found)| expected(**file) != **found);
        let named: Vec<String> = wrong
            .map(|(file, found)| format!("{}: {}", self.prefixes[*file], of_file(*found, expected(*file))))
            .collect();
        let dot = if named.is_empty() { "" } else { "; " };
        let what = format!("{mismatch}{dot}{}", named.join(", "));
        self.error_in(Path::new(&self.dataset.directories[0]), what).into()
    }

    /// A record that its file, which has so many, ends before.
    pub(super) fn absent(&self, id: RecordId, records: u64) -> DataError {
        let expected = self.plan().files[id.file].examples_in_shard;
        let what = format!("record {} is not there: {}", id.record, of_file(records, expected));
        self.error_in(self.loader.path(id.file), what)
    }

    pub(super) fn error_in(&self, file: &Path, what: String) -> DataError {
        let at = Location { file: file.into(), offset: 0, line: None };
        DataError::new(DataErrorKind::Malformed { what }, at)
    }
}

fn of_file(found: u64, expected: u64) -> String {
    format!("the file holds {found} records, dataset_info.json says {expected}")
}
