//! A cache in a file of its own: what it belongs to, and a payload.
//!
//! Layout, little-endian: 8 bytes, the kind of cache; 4 bytes, the version; [tagged sections](tesson_core::sections); 8 bytes,
//! the XXH3 of all before. The sections are 1, what the cache belongs to, which comes first, and 2, the payload.
//!
//! Version 1 had no tags: what it belongs to; 8 bytes, the size of the payload; 8 bytes, its XXH3; the payload. It is read.
//! A cache that does not fit, or has a section that is neither known nor optional, is made anew.

use std::io::{self, Read, Write};
use std::path::Path;

use tesson_core::sections;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::atomic_file::{AtomicFile, Existing};
use crate::store::open_regular;

const VERSION: u32 = 2;

const BELONGS_TO: u8 = 1;
const PAYLOAD: u8 = 2;

/// Bytes that a cache may have beside its payload.
const BESIDE_PAYLOAD: u64 = 64 << 10;

/// The kind of a cache, and the data that it belongs to.
pub(crate) struct Binding {
    pub(crate) kind: &'static [u8; 8],
    pub(crate) belongs_to: Vec<u8>,
}

impl Binding {
    /// The beginning of a cache of a version.
    fn head(&self, version: u32) -> Vec<u8> {
        let mut head = [&self.kind[..], &version.to_le_bytes()].concat();
        match version {
            1 => head.extend_from_slice(&self.belongs_to),
            _ => sections::put(BELONGS_TO, &self.belongs_to, &mut head),
        }
        head
    }
}

/// The largest payload that an index of so many bytes of data can have. Indexes are far smaller; a file that declares
/// more is none, and is not read.
pub(crate) fn most_bytes(data: u64) -> u64 {
    data.saturating_mul(16).saturating_add(64 << 10)
}

/// The payload of a cache that is complete, belongs to what is expected, and has at most so many bytes. Anything else is
/// not read beyond the head; anything but a regular file is not even opened.
pub(crate) fn read(path: &Path, binding: &Binding, most: u64) -> Option<Vec<u8>> {
    let (mut file, meta) = open_regular(path).ok()?;
    if meta.len() > most.saturating_add(BESIDE_PAYLOAD) {
        return None;
    }
    let mut begin = [0; 12];
    file.read_exact(&mut begin).ok()?;
    let version = u32::from_le_bytes(*begin.last_chunk()?);
    let head = binding.head(version);
    let mut found = begin.to_vec();
    let left = (head.len() - begin.len()) as u64;
    Read::by_ref(&mut file).take(left).read_to_end(&mut found).ok()?;
    if version == 0 || found != head {
        return None;
    }
    let mut rest = Vec::with_capacity(usize::try_from(meta.len()).ok()?.saturating_sub(head.len()));
    file.take(meta.len()).read_to_end(&mut rest).ok()?;
    if version == 1 { payload_of_version_1(rest) } else { payload_of_sections(&head, rest) }
}

fn payload_of_version_1(mut rest: Vec<u8>) -> Option<Vec<u8>> {
    let (size, payload) = rest.split_first_chunk::<8>()?;
    let (sum, payload) = payload.split_first_chunk::<8>()?;
    let fits = u64::from_le_bytes(*size) == payload.len() as u64 && *sum == xxh3_64(payload).to_le_bytes();
    rest.drain(..16);
    fits.then_some(rest)
}

fn payload_of_sections(head: &[u8], mut rest: Vec<u8>) -> Option<Vec<u8>> {
    let (mut body, sum) = rest.split_last_chunk::<8>()?;
    if *sum != sum_of([head, body]).to_le_bytes() {
        return None;
    }
    let mut payload = None;
    while !body.is_empty() {
        let (tag, section) = sections::take(&mut body)?;
        match tag {
            PAYLOAD => {
                let end = rest.len() - 8 - body.len();
                payload = Some(end - section.len()..end);
            }
            _ if sections::is_optional(tag) => {}
            _ => return None,
        }
    }
    let payload = payload?;
    rest.truncate(payload.end);
    rest.drain(..payload.start);
    Some(rest)
}

fn sum_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = Xxh3::new();
    parts.into_iter().for_each(|part| hash.update(part));
    hash.digest()
}

/// Writes a cache: to a temporary file that replaces the old one when it is complete.
///
/// # Errors
/// Those of the file system.
pub(crate) fn write(path: &Path, binding: &Binding, payload: &[u8]) -> io::Result<()> {
    let mut head = binding.head(VERSION);
    sections::put_head(PAYLOAD, payload.len(), &mut head);
    let (guard, mut file) = AtomicFile::create(path)?;
    file.write_all(&head)?;
    file.write_all(payload)?;
    file.write_all(&sum_of([&head[..], payload]).to_le_bytes())?;
    guard.commit(Existing::Replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        Binding { kind: b"TESSTEST", belongs_to: b"the corpus".to_vec() }
    }

    fn read_bytes(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let path = std::env::temp_dir().join(format!("tesson-cache-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let found = read(&path, &binding(), 100);
        std::fs::remove_file(&path).unwrap();
        found
    }

    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// As versions wrote them: each is read for ever, or made anew by its version.
    #[test]
    fn caches_of_every_version_are_read_and_the_present_one_is_written() {
        let (v1, v2) = (&include_bytes!("golden/cache-v1")[..], &include_bytes!("golden/cache-v2")[..]);
        assert_eq!(read_bytes("v1", v1).as_deref(), Some(&b"the payload"[..]));
        assert_eq!(read_bytes("v2", v2).as_deref(), Some(&b"the payload"[..]));
        let path = std::env::temp_dir().join(format!("tesson-cache-{}-written", std::process::id()));
        write(&path, &binding(), b"the payload").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), v2);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_section_that_is_not_known_makes_the_cache_anew_unless_it_is_optional() {
        let mut bytes = binding().head(7);
        sections::put(PAYLOAD, b"the payload", &mut bytes);
        let with = |tag: u8| {
            let mut bytes = bytes.clone();
            sections::put(tag, b"more", &mut bytes);
            sealed(bytes)
        };
        assert_eq!(read_bytes("optional", &with(0x80)).as_deref(), Some(&b"the payload"[..]));
        assert_eq!(read_bytes("required", &with(3)), None);
        assert_eq!(read_bytes("no-version", &sealed(binding().head(0))), None);
        assert_eq!(read_bytes("no-payload", &sealed(binding().head(2))), None);
    }
}
