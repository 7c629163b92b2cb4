//! The unpacked bytes of a file as a resource.

use std::ops::Range;
use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Error, Fetch, LOOKAHEAD, Location, ReadContext, ResourceId};

use super::UnpackError;

/// The bytes that a file unpacks to, at any position.
pub(crate) trait UnpackedBytes: Sync {
    /// Number of bytes.
    fn size(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    fn fill(&self, offset: u64, into: &mut [u8]) -> Result<(), UnpackError>;
}

/// An unpacked file as a resource, whatever the number of that.
pub(crate) struct Unpacked<'a, B> {
    /// The packed file, for errors.
    pub(crate) file: &'a Path,
    /// Where the packed bytes come from.
    pub(crate) fetch: &'a dyn Fetch,
    /// The unpacked bytes.
    pub(crate) bytes: B,
}

impl<B: UnpackedBytes> Fetch for Unpacked<'_, B> {
    fn size(&self, _: ResourceId) -> Result<u64, Error> {
        Ok(self.bytes.size())
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        self.fetch.is_embedded(resource)
    }

    fn read_after(
        &self,
        _: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let bytes = keep as u64 + (range.end - range.start);
        if bytes > self.fetch.largest().saturating_add(LOOKAHEAD) {
            let kind = DataErrorKind::SequenceBeyondMemory { found: bytes, limit: self.fetch.largest() };
            let at = Location { file: self.file.into(), offset: range.start, line: None };
            return Err(DataError::new(kind, at).into());
        }
        into.resize(bytes as usize, 0);
        self.bytes.fill(range.start, &mut into[keep..]).map_err(|error| match error {
            UnpackError::Error(error) => error,
            // All of it has been unpacked before.
            UnpackError::Damaged(offset, what) => {
                let at = Location { file: self.file.into(), offset, line: None };
                DataError::new(DataErrorKind::Changed { what }, at).into()
            }
        })
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self
    }
}

impl<B: Sync> ReadContext for Unpacked<'_, B> {
    fn largest(&self) -> u64 {
        self.fetch.largest()
    }

    // What the file has is counted when it is unpacked first.
    fn progress(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.fetch.cancelled()
    }
}
