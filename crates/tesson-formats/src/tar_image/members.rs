//! The members of an archive, one after the other, found by the crate `tar`: of their data nothing is read but names and classes.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use tar::{Archive, Entries, Entry};
use tesson_core::{Error, Fetch, ResourceId};

use super::fault::TarImageFault;
use crate::images::lossy;
use crate::near::NearBytes;

/// Bytes of a block; headers are one, and data fill whole ones.
const BLOCK: u64 = 512;

/// The longest name of a member, in bytes.
const LONGEST_NAME: u64 = 64 << 10;

/// Bytes that may describe a member beside its header, such as attributes and a long name: they are read as a whole.
const DESCRIPTION: u64 = 1 << 20;

/// Bytes that are read with a header: classes are small, and so lie beside the headers around them.
const READ: u64 = 4 << 10;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path in the archive.
    pub name: String,
    /// Where its header begins.
    pub begin: u64,
    /// Where its data lie; those of a sparse file are only parts of it.
    pub data: Range<u64>,
    /// True if the archive has only parts of its data.
    pub is_sparse: bool,
}

/// The reason why a walk ends before the archive does.
#[derive(Debug)]
pub enum Stop {
    /// A fault and its byte.
    Fault(u64, TarImageFault),
    /// An error of storage.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// The bytes of an archive, as the crate reads them: it seeks to each header, and reads from there what describes a member.
#[expect(missing_debug_implementations, reason = "what it reads from cannot be shown")]
pub struct Input<'a> {
    fetch: &'a dyn Fetch,
    near: RefCell<NearBytes>,
    size: u64,
    /// Where reading began after the last seek.
    begin: Cell<u64>,
    position: Cell<u64>,
}

impl<'a> Input<'a> {
    /// The bytes of a file.
    ///
    /// # Errors
    /// Unreadable storage.
    pub fn new(fetch: &'a dyn Fetch, file: ResourceId) -> Result<Input<'a>, Error> {
        let near = RefCell::new(NearBytes::new(file, Vec::new()));
        Ok(Input { fetch, near, size: fetch.size(file)?, begin: Cell::new(0), position: Cell::new(0) })
    }

    /// Calls `use_bytes` with those of a range within the archive.
    ///
    /// # Errors
    /// Unreadable storage.
    pub fn with<T>(&self, range: Range<u64>, use_bytes: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let ahead = (range.start + READ).min(self.size).max(range.end);
        let mut near = self.near.borrow_mut();
        near.get(range.clone(), [range.end, ahead].into_iter(), self.fetch).map(use_bytes)
    }

    /// Converts an error of the crate: to one of storage that it passed on, or to a fault of what was read last.
    fn stop(&self, error: io::Error) -> Stop {
        match error.downcast::<Error>() {
            Ok(error) => Stop::Error(error),
            Err(error) => {
                let why = lossy(error.to_string().as_bytes());
                Stop::Fault(self.begin.get(), TarImageFault::BadHeader { why })
            }
        }
    }
}

impl Read for &Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let position = self.position.get();
        if position - self.begin.get() > BLOCK + DESCRIPTION {
            let what = format!("what describes the member has more than {DESCRIPTION} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let end = self.size.min(position.saturating_add((into.len() as u64).min(READ)));
        if position >= end {
            return Ok(0);
        }
        let copy = |bytes: &[u8]| into[..bytes.len()].copy_from_slice(bytes);
        self.with(position..end, copy).map_err(io::Error::other)?;
        self.position.set(end);
        Ok((end - position) as usize)
    }
}

impl Seek for &Input<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.get().checked_add_signed(by),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
        };
        let position = position.ok_or(io::ErrorKind::InvalidInput)?;
        self.begin.set(position);
        self.position.set(position);
        Ok(position)
    }
}

/// An archive that is read from its beginning.
pub type Tar<'a> = Archive<&'a Input<'a>>;

/// A walk over an archive.
#[expect(missing_debug_implementations, reason = "what it reads from cannot be shown")]
pub struct Members<'a> {
    input: &'a Input<'a>,
    entries: Entries<'a, &'a Input<'a>>,
}

impl<'a> Members<'a> {
    /// Begins a walk.
    ///
    /// # Errors
    /// Unreadable storage, and a file that is no archive.
    pub fn new(input: &'a Input<'a>, archive: &'a mut Tar<'a>) -> Result<Members<'a>, Stop> {
        let first = input.with(0..input.size.min(BLOCK), compression)?;
        if let Some(form) = first {
            return Err(Stop::Fault(0, TarImageFault::Compressed { form }));
        }
        let entries = archive.entries_with_seek().map_err(|e| input.stop(e))?;
        Ok(Members { input, entries })
    }

    /// The next file.
    ///
    /// # Errors
    /// Unreadable storage, and a damaged archive.
    #[expect(clippy::should_implement_trait, reason = "a walk that has stopped is over")]
    pub fn next(&mut self) -> Result<Option<Member>, Stop> {
        while let Some(entry) = self.entries.next() {
            let member = self.member(entry.map_err(|e| self.input.stop(e))?)?;
            if member.is_some() {
                return Ok(member);
            }
        }
        Ok(None)
    }

    /// The file that an entry is, unless it is something else, such as a folder.
    fn member(&self, mut entry: Entry<'_, &Input<'_>>) -> Result<Option<Member>, Stop> {
        let (begin, kind) = (entry.raw_header_position(), entry.header().entry_type());
        let stop = |fault| Stop::Fault(begin, fault);
        if kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() {
            let why = "it describes the next member, and has no mark of GNU's or POSIX's form".into();
            return Err(stop(TarImageFault::BadHeader { why }));
        }
        let attributes = Attributes::of(&mut entry).map_err(|e| self.input.stop(e))?;
        let name = attributes.sparse_name.unwrap_or_else(|| entry.path_bytes().into_owned());
        let is_sparse = attributes.is_sparse || kind.is_gnu_sparse();
        // A sparse file has less in the archive than its size says.
        let stored = if kind.is_gnu_sparse() { entry.header().entry_size() } else { Ok(entry.size()) };
        let (start, size) = (entry.raw_file_position(), stored.map_err(|e| self.input.stop(e))?);
        let left = self.input.size.saturating_sub(start);
        if size > left {
            return Err(stop(TarImageFault::Truncated { member: lossy(&name), needs: size, left }));
        }
        if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) {
            return Ok(None);
        }
        if name.len() as u64 > LONGEST_NAME {
            let (what, bytes, most) = ("the name", name.len() as u64, LONGEST_NAME);
            return Err(stop(TarImageFault::TooLarge { what, bytes, most }));
        }
        if attributes.are_damaged {
            let why = "its attributes are damaged and may hold its name".into();
            return Err(stop(TarImageFault::BadHeader { why }));
        }
        Ok(Some(Member { name: lossy(&name), begin, data: start..start + size, is_sparse }))
    }
}

/// The attributes of a member (POSIX) that the crate does not read.
#[derive(Default)]
struct Attributes {
    is_sparse: bool,
    /// The name of a sparse file, which has a made-up one in its header.
    sparse_name: Option<Vec<u8>>,
    /// They cannot be read to their end, and the name is not in what can be.
    are_damaged: bool,
}

impl Attributes {
    fn of(entry: &mut Entry<'_, &Input<'_>>) -> io::Result<Attributes> {
        let (mut found, mut has_name) = (Attributes::default(), false);
        for attribute in entry.pax_extensions()?.into_iter().flatten() {
            let Ok(attribute) = attribute else {
                found.are_damaged = true;
                continue;
            };
            found.is_sparse |= attribute.key_bytes().starts_with(b"GNU.sparse.");
            match attribute.key_bytes() {
                b"GNU.sparse.name" => found.sparse_name = Some(attribute.value_bytes().to_vec()),
                b"path" => has_name = true,
                _ => {}
            }
        }
        found.are_damaged &= !has_name;
        Ok(found)
    }
}

/// The key of a member's sample, and its extension in small letters: what precedes and follows the first `.` of its file name.
pub fn split(name: &str) -> Option<(String, String)> {
    let file = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = file + name[file..].find('.')?;
    (dot > file).then(|| (name[..dot].to_owned(), name[dot + 1..].to_ascii_lowercase()))
}

/// The form of compression that a file begins with.
fn compression(block: &[u8]) -> Option<&'static str> {
    const FORMS: [(&[u8], &str); 4] = [
        (b"\x1f\x8b", "gzip twice"),
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ];
    FORMS.iter().find(|(magic, _)| block.starts_with(magic)).map(|(_, form)| *form)
}
