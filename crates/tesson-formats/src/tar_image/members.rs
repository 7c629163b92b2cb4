//! The members of an archive, one after the other: of their data nothing is read but names and classes.

use std::ops::Range;

use tesson_core::{Error, Fetch};

use super::fault::TarImageFault;
use super::header::{BLOCK, Header, Kind, attribute, until_zero};
use crate::near::NearBytes;
use crate::pictures::embedded::FILE;
use crate::pictures::lossy;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its first header begins.
    pub(super) begin: u64,
    /// Where its data lie.
    pub(super) data: Range<u64>,
}

/// The longest name that is read, in bytes.
const LONGEST_NAME: u64 = 64 << 10;

/// Bytes that are read with a header: classes are small, and so lie beside the headers around them.
const READ: u64 = 4 << 10;

/// A walk over an archive.
pub(super) struct Members<'a> {
    fetch: &'a dyn Fetch,
    near: NearBytes,
    size: u64,
    /// Where the next header begins.
    next: u64,
}

/// What ends a walk before the archive does: a fault and the byte it is at, or an error of storage.
pub(super) enum Stop {
    Fault(u64, TarImageFault),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl<'a> Members<'a> {
    pub(super) fn new(fetch: &'a dyn Fetch) -> Result<Members<'a>, Error> {
        let size = fetch.size(FILE)?;
        Ok(Members { fetch, near: NearBytes::new(FILE, Vec::new()), size, next: 0 })
    }

    /// Bytes of a range within the archive.
    pub(super) fn read(&mut self, range: Range<u64>) -> Result<&[u8], Error> {
        let ahead = (range.start + READ).min(self.size);
        self.near.get(range.clone(), [range.end, ahead.max(range.end)].into_iter(), self.fetch)
    }

    /// The next file.
    pub(super) fn next(&mut self) -> Result<Option<Member>, Stop> {
        let first = self.next;
        let (mut long_name, mut long_size) = (None, None);
        loop {
            let at = self.next;
            // Archives should end with blocks of zeros, but some just end.
            if at == self.size {
                return Ok(None);
            }
            let bad = |fault| Stop::Fault(at, fault);
            if self.size - at < BLOCK as u64 {
                let why = "the archive ends within it";
                return Err(bad(TarImageFault::BadHeader { why }));
            }
            let block: [u8; BLOCK] =
                self.read(at..at + BLOCK as u64)?.try_into().expect("as long as asked for");
            if at == 0
                && let Some(form) = compression(&block)
            {
                return Err(bad(TarImageFault::Compressed { form }));
            }
            let Some(header) = Header::parse(&block).map_err(bad)? else { return Ok(None) };
            let size =
                if header.kind == Kind::File { long_size.take().unwrap_or(header.size) } else { header.size };
            let begin = at + BLOCK as u64;
            let left = self.size - begin;
            if size > left {
                let member = lossy(&header.name);
                return Err(bad(TarImageFault::Truncated { member, needs: size, left }));
            }
            let data = begin..begin + size;
            self.next = (begin + size.next_multiple_of(BLOCK as u64)).min(self.size);
            if matches!(header.kind, Kind::LongName | Kind::Attributes) && size > LONGEST_NAME {
                let what = "a name";
                return Err(bad(TarImageFault::TooLarge { what, bytes: size, most: LONGEST_NAME }));
            }
            match header.kind {
                Kind::LongName => long_name = Some(until_zero(self.read(data)?).to_vec()),
                Kind::Attributes => {
                    let attributes = self.read(data)?;
                    long_name = attribute(attributes, "path").map(<[u8]>::to_vec).or(long_name);
                    let number = |text| std::str::from_utf8(text).ok()?.parse().ok();
                    long_size = attribute(attributes, "size").and_then(number).or(long_size);
                }
                Kind::File => {
                    let name = long_name.unwrap_or(header.name);
                    return Ok(Some(Member { name: lossy(&name), begin: first, data }));
                }
                Kind::Other => long_name = None,
            }
        }
    }

    /// How far the walk is.
    pub(super) fn position(&self) -> u64 {
        self.next
    }
}

/// The form of compression that a file begins with.
fn compression(block: &[u8; BLOCK]) -> Option<&'static str> {
    const FORMS: [(&[u8], &str); 4] =
        [(b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd")];
    FORMS.iter().find(|(magic, _)| block.starts_with(magic)).map(|(_, form)| *form)
}
