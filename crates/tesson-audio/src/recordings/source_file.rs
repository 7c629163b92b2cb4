//! A listed file, read as far as a decoder asks for it.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use tesson_core::{Error, Fetch, ResourceId};

/// A file as decoders read it.
pub(super) struct SourceFile<'a> {
    fetch: &'a dyn Fetch,
    resource: ResourceId,
    size: u64,
    at: u64,
    buffer: Vec<u8>,
    /// The error that stopped a read; a decoder passes on only its text.
    error: &'a Mutex<Option<Error>>,
}

impl<'a> SourceFile<'a> {
    pub(super) fn new(
        fetch: &'a dyn Fetch,
        resource: ResourceId,
        size: u64,
        error: &'a Mutex<Option<Error>>,
    ) -> SourceFile<'a> {
        SourceFile { fetch, resource, size, at: 0, buffer: Vec::new(), error }
    }
}

impl Read for SourceFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = (self.size.saturating_sub(self.at)).min(into.len() as u64);
        if let Err(e) = self.fetch.read_over(self.resource, self.at..self.at + n, &mut self.buffer) {
            let what = e.to_string();
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            return Err(io::Error::other(what));
        }
        into[..n as usize].copy_from_slice(&self.buffer);
        self.at += n;
        Ok(n as usize)
    }
}

impl Seek for SourceFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(from) => self.size.checked_add_signed(from),
            SeekFrom::Current(from) => self.at.checked_add_signed(from),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
