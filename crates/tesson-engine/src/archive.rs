//! Members of `zip` archives, stored or deflated: read at any position by any thread, from one open file.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipEntry, ZipLocator};
use xxhash_rust::xxh3::xxh3_64;

use crate::store::Resource;

/// Bytes that are read at once of an archive's directory.
const DIRECTORY_PART: usize = 64 << 10;

/// A deflated byte stands for no more than this many bytes, nearly: what declares more is refused before anything is
/// allocated.
const MOST_INFLATED: u64 = 1040;

/// An open archive and its directory.
pub(crate) struct Archive {
    archive: ZipArchive<Positioned>,
    /// In the order of the names' hashes.
    members: Vec<Member>,
}

/// A member, as the directory lists it. Its name is compared in front of its data, so that it need not be kept here too.
#[derive(Clone, Copy)]
struct Member {
    hash: u64,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// The archive's bytes.
struct Positioned(Arc<dyn Resource>);

impl ReaderAt for Positioned {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(offset, into) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
    }
}

impl Archive {
    /// Reads the directory of an archive.
    pub(crate) fn open(resource: Arc<dyn Resource>) -> io::Result<Archive> {
        let size = resource.size();
        let mut buffer = vec![0; DIRECTORY_PART];
        let located = ZipLocator::new().locate_in_reader(Positioned(resource), &mut buffer, size);
        let archive = located.map_err(|(_, e)| invalid(&format!("is no zip archive: {e}")))?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(|e| invalid(&e.to_string()))? {
            let hash = xxh3_64(entry.file_path().as_ref());
            members.push(Member { hash, place: entry.wayfinder(), method: entry.compression_method() });
        }
        members.sort_by_key(|member| member.hash);
        Ok(Archive { archive, members })
    }

    /// The size of a member, once it is unpacked.
    pub(crate) fn size(&self, name: &str) -> io::Result<u64> {
        Ok(self.find(name)?.place.uncompressed_size_hint())
    }

    /// Fills `into` with bytes of a member from `offset` on. The checksum is compared where the member's end is unpacked.
    pub(crate) fn read(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let member = self.find(name)?;
        let entry = self.archive.get_entry(member.place).map_err(|e| invalid(&e.to_string()))?;
        check_name(&entry, name)?;
        let is_part = offset > 0 || (into.len() as u64) < member.place.uncompressed_size_hint();
        match member.method {
            CompressionMethod::STORE if is_part => {
                self.archive.get_ref().read_exact_at(into, entry.compressed_data_range().0 + offset)
            }
            CompressionMethod::STORE => unpack(&entry, entry.reader(), offset, into),
            _ => unpack(&entry, DeflateDecoder::new(entry.reader()), offset, into),
        }
    }

    /// The only member of a name, if it is one that can be unpacked.
    fn find(&self, name: &str) -> io::Result<Member> {
        let hash = xxh3_64(name.as_bytes());
        let at = self.members.partition_point(|member| member.hash < hash);
        let member = match &self.members[at..] {
            [one, other, ..] if one.hash == hash && other.hash == hash => {
                return Err(invalid("is in the archive twice, under one name"));
            }
            [one, ..] if one.hash == hash => *one,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "the archive has no member of this name",
                ));
            }
        };
        let (packed, unpacked) = (member.place.compressed_size_hint(), member.place.uncompressed_size_hint());
        let most = match member.method {
            CompressionMethod::STORE => packed,
            CompressionMethod::DEFLATE => packed.saturating_mul(MOST_INFLATED),
            other => {
                let what = format!("is compressed by method {}, expected stored or deflated", other.as_u16());
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            }
        };
        if unpacked > most || packed > self.archive.get_ref().0.size() {
            let what = format!("declares {unpacked} bytes in {packed}, which cannot be");
            return Err(invalid(&what));
        }
        Ok(member)
    }
}

/// Unpacks a member from its beginning and keeps what follows the first `offset` bytes.
fn unpack(
    entry: &ZipEntry<'_, Positioned>,
    unpacked: impl Read,
    offset: u64,
    into: &mut [u8],
) -> io::Result<()> {
    let mut unpacked = entry.verifying_reader(unpacked);
    let skipped = io::copy(&mut (&mut unpacked).take(offset), &mut io::sink())?;
    if skipped < offset {
        return Err(invalid("is shorter than the archive's directory declares"));
    }
    unpacked.read_exact(into)
}

/// Whether the data begin with the name that the directory lists.
fn check_name(entry: &ZipEntry<'_, Positioned>, name: &str) -> io::Result<()> {
    let mut buffer = vec![0; name.len() + (1 << 16)];
    let header = entry.local_header(&mut buffer).map_err(|e| invalid(&e.to_string()))?;
    match header.file_path().as_ref() == name.as_bytes() {
        true => Ok(()),
        false => Err(invalid("has another name in front of its data than in the archive's directory")),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
