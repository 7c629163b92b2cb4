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

/// Members whose names may have one hash: with 64 bits, more of them are one name, unless somebody looked for them.
const SAME_HASH: usize = 8;

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

/// The directory of an archive has more bytes than may be kept of it.
pub(crate) fn too_large(most_bytes: u64) -> io::Error {
    invalid(&format!(
        "has a directory of more than {most_bytes} bytes, an eighth of `memoryLimit` for all archives; \
         choose a larger `memoryLimit`"
    ))
}

impl Archive {
    /// Reads the directory of an archive, of which so many bytes may be kept.
    pub(crate) fn open(resource: Arc<dyn Resource>, most_bytes: u64) -> io::Result<Archive> {
        let size = resource.size();
        let mut buffer = vec![0; DIRECTORY_PART];
        let located = ZipLocator::new().locate_in_reader(Positioned(resource), &mut buffer, size);
        let archive = located.map_err(|(_, e)| invalid(&format!("is no zip archive: {e}")))?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(|e| invalid(&e.to_string()))? {
            let hash = xxh3_64(entry.file_path().as_ref());
            let bytes = (size_of::<Member>() * (members.len() + 1)) as u64;
            if bytes > most_bytes {
                return Err(too_large(most_bytes));
            }
            members.push(Member { hash, place: entry.wayfinder(), method: entry.compression_method() });
        }
        members.sort_unstable_by_key(|member| member.hash);
        members.shrink_to_fit();
        Ok(Archive { archive, members })
    }

    /// The names of all members, in the order of the directory; those of folders end with `/`.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut buffer = vec![0; DIRECTORY_PART];
        let mut names = Vec::with_capacity(self.members.len());
        let mut entries = self.archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(|e| invalid(&e.to_string()))? {
            let path = entry.file_path();
            let name = std::str::from_utf8(path.as_ref())
                .map_err(|_| invalid("has a member with a name that is not UTF-8"))?;
            names.push(name.to_owned());
        }
        Ok(names)
    }

    /// Bytes of memory that the directory takes.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<Member>() * self.members.capacity()) as u64
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

    fn is_named(&self, member: &Member, name: &str) -> bool {
        self.archive.get_entry(member.place).is_ok_and(|entry| check_name(&entry, name).is_ok())
    }

    /// The only member of a name, if it is one that can be unpacked.
    fn find(&self, name: &str) -> io::Result<Member> {
        let hash = xxh3_64(name.as_bytes());
        let at = self.members.partition_point(|member| member.hash < hash);
        let end = at + self.members[at..].partition_point(|member| member.hash == hash);
        let member = match &self.members[at..end] {
            [one] => *one,
            many if many.len() > SAME_HASH => {
                return Err(invalid(&format!("is in the archive's directory {} times", many.len())));
            }
            // Names are read only where hashes are equal.
            several => {
                let mut named = several.iter().filter(|member| self.is_named(member, name));
                match (named.next(), named.next()) {
                    (Some(one), None) => *one,
                    (Some(_), Some(_)) => return Err(invalid("is in the archive twice, under one name")),
                    (None, _) => {
                        let what = "the archive has no member of this name";
                        return Err(io::Error::new(io::ErrorKind::NotFound, what));
                    }
                }
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

/// Checks that the member's local header holds the name that the directory lists.
fn check_name(entry: &ZipEntry<'_, Positioned>, name: &str) -> io::Result<()> {
    let mut buffer = vec![0; name.len() + (1 << 16)];
    let header = entry.local_header(&mut buffer).map_err(|e| invalid(&e.to_string()))?;
    if header.file_path().as_ref() == name.as_bytes() {
        Ok(())
    } else {
        Err(invalid("has another name in front of its data than in the archive's directory"))
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use rawzip::ZipArchiveWriter;

    use super::*;
    use crate::store::{MemoryStore, Store};

    /// An archive of members that hold their own names.
    fn archive(names: &[&str], most_bytes: u64) -> io::Result<Archive> {
        let mut writer = ZipArchiveWriter::new(Vec::new());
        for name in names {
            let (mut entry, config) = writer.new_file(*name).start().unwrap();
            let mut data = config.wrap(&mut entry);
            data.write_all(name.as_bytes()).unwrap();
            let (_, descriptor) = data.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        let store = MemoryStore::new().with("a.zip", writer.finish().unwrap());
        Archive::open(store.open(Path::new("a.zip"))?.into(), most_bytes)
    }

    #[test]
    fn members_whose_names_have_one_hash_are_told_apart_by_their_names() {
        let with_hash_of = |name: &str| {
            let mut archive = archive(&["a", "b", "b"], u64::MAX).unwrap();
            archive.members.iter_mut().for_each(|member| member.hash = xxh3_64(name.as_bytes()));
            archive
        };
        let mut read = [0];
        with_hash_of("a").read("a", 0, &mut read).unwrap();
        assert_eq!(read, *b"a");
        let twice = with_hash_of("b").size("b").unwrap_err();
        assert_eq!(twice.to_string(), "is in the archive twice, under one name");
        assert_eq!(with_hash_of("c").size("c").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Looking at the name of each would take a read a member, for every image.
    #[test]
    fn a_name_that_the_directory_lists_many_times_is_refused_at_once() {
        let of = |n| archive(&vec!["a"; n], u64::MAX).unwrap().size("a").unwrap_err().to_string();
        assert_eq!(of(SAME_HASH), "is in the archive twice, under one name");
        assert_eq!(of(SAME_HASH + 1), "is in the archive's directory 9 times");
    }

    #[test]
    fn a_directory_that_takes_too_much_memory_is_refused() {
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let bytes = archive(&names, u64::MAX).unwrap().bytes();
        assert_eq!(bytes, 100 * size_of::<Member>() as u64);
        archive(&names, bytes).unwrap();
        let e = archive(&names, bytes - 1).err().unwrap().to_string();
        assert!(e.starts_with(&format!("has a directory of more than {} bytes", bytes - 1)), "{e}");
    }
}
