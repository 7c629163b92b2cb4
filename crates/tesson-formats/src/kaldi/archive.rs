//! The entries of an archive, one after the other: a key, a blank, an object.

use tesson_core::{DataErrorKind, Error, Fetch, ResourceId};

use super::fault::KaldiFault;

/// The first bytes of a binary object.
pub(crate) const BINARY: &[u8] = b"\0B";

/// Bytes that are read at once where all of an archive is gone through.
const READ: u64 = 1 << 20;

/// The longest key.
const LONGEST_KEY: usize = 4096;

/// An archive that is gone through.
pub(crate) struct Archive<'a> {
    fetch: &'a dyn Fetch,
    file: ResourceId,
    size: u64,
    at: u64,
    bytes: Vec<u8>,
    /// Where the bytes begin in the file.
    start: u64,
    /// Bytes that are read at once.
    read: u64,
}

/// Why an archive cannot be gone through.
pub(crate) enum ArchiveError {
    /// It is damaged at a byte.
    Fault(DataErrorKind, u64),
    /// It cannot be read.
    Store(Error),
}

impl From<Error> for ArchiveError {
    fn from(error: Error) -> ArchiveError {
        ArchiveError::Store(error)
    }
}

impl ArchiveError {
    /// The error, where `error` makes one of a fault at a byte.
    pub(crate) fn located(self, error: impl Fn(DataErrorKind, u64) -> Error) -> Error {
        match self {
            ArchiveError::Fault(fault, offset) => error(fault, offset),
            ArchiveError::Store(error) => error,
        }
    }
}

impl<'a> Archive<'a> {
    pub(crate) fn new(file: ResourceId, fetch: &'a dyn Fetch) -> Result<Archive<'a>, Error> {
        let size = fetch.size(file)?;
        Ok(Archive { fetch, file, size, at: 0, bytes: Vec::new(), start: 0, read: READ })
    }

    /// An archive of which this many bytes are read at once.
    pub(crate) fn reading(self, read: u64) -> Archive<'a> {
        Archive { read, ..self }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Where the next byte lies.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Goes on at a byte.
    pub(crate) fn skip_to(&mut self, at: u64) {
        self.at = at;
    }

    /// The next bytes, `n` or as many as there are.
    pub(crate) fn peek(&mut self, n: usize) -> Result<&[u8], Error> {
        let end = (self.at + n as u64).min(self.size);
        if self.at < self.start || end > self.start + self.bytes.len() as u64 {
            let to = end.max(self.at + self.read).min(self.size);
            self.fetch.read_over(self.file, self.at..to, &mut self.bytes)?;
            self.start = self.at;
            self.fetch.progress(to - self.at);
        }
        let from = (self.at - self.start) as usize;
        Ok(&self.bytes[from..from + (end - self.at) as usize])
    }

    /// The next key, and goes on behind the blank after it; `None` at the end.
    pub(crate) fn key(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        loop {
            let at = self.at;
            let Some(&first) = self.peek(1)?.first() else { return Ok(None) };
            if first.is_ascii_whitespace() {
                self.at = at + 1;
                continue;
            }
            let bytes = self.peek(LONGEST_KEY)?;
            let n = bytes.iter().position(|&byte| matches!(byte, b' ' | b'\t' | b'\n'));
            let Some(n) = n.filter(|&n| !bytes[..n].contains(&0)) else {
                let found = crate::images::lossy(&bytes[..bytes.len().min(20)]);
                return Err(ArchiveError::Fault(KaldiFault::NoKey { found }.into(), at));
            };
            let key = bytes[..n].to_vec();
            // An object without numbers may end the line at once.
            self.at = at + n as u64 + u64::from(bytes[n] != b'\n');
            return Ok(Some(key));
        }
    }

    /// The rest of the line, with its end if it has one.
    pub(crate) fn line(&mut self) -> Result<&[u8], ArchiveError> {
        let most = crate::lines::most_read(self.fetch);
        let mut wanted = self.read;
        loop {
            let at = self.at;
            let (size, bytes) = (self.size, self.peek(wanted as usize)?);
            let found = bytes.iter().position(|&byte| byte == b'\n');
            let is_end = at + bytes.len() as u64 == size;
            if let Some(n) = found.map(|feed| feed + 1).or(is_end.then_some(bytes.len())) {
                return Ok(&self.peek(n)?[..n]);
            }
            if wanted >= most {
                let (found, limit) = (wanted, self.fetch.largest());
                return Err(ArchiveError::Fault(DataErrorKind::SequenceBeyondMemory { found, limit }, at));
            }
            wanted = (wanted * 2).min(most);
        }
    }
}
