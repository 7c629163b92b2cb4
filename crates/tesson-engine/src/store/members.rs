//! Members of archives as resources: `zip://ARCHIVE@/MEMBER`.
//!
//! Lists of images name members without the scheme, and [`NamedFiles`](crate::named_files) reads those; this is for members
//! that a configuration names by themselves.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Resource, Store};
use crate::archive::Archive;

/// The scheme of members.
pub(super) const SCHEME: &str = "zip";

/// The text between the name of an archive and that of its member.
const WITHIN: &str = "@/";

/// Bytes that the directory of an archive may take.
const DIRECTORY: u64 = 64 << 20;

/// Archives whose directories are kept, so that many members of a few archives are opened fast.
const KEPT: usize = 8;

/// The members of archives that lie in another store.
#[derive(Clone)]
pub(super) struct MemberStore {
    archives: Arc<dyn Store>,
    /// Those that were opened last, the very last one at the end.
    open: Arc<Mutex<Vec<OpenArchive>>>,
}

/// An archive whose directory is kept.
struct OpenArchive {
    name: PathBuf,
    archive: Arc<Archive>,
}

impl MemberStore {
    pub(super) fn new(archives: Arc<dyn Store>) -> MemberStore {
        MemberStore { archives, open: Arc::default() }
    }

    fn archive(&self, path: &Path) -> io::Result<Arc<Archive>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.iter().find(|known| known.name == path) {
            return Ok(Arc::clone(&known.archive));
        }
        let archive = Arc::new(Archive::open(self.archives.open(path)?.into(), DIRECTORY)?);
        if open.len() == KEPT {
            open.remove(0);
        }
        open.push(OpenArchive { name: path.into(), archive: Arc::clone(&archive) });
        Ok(archive)
    }
}

/// The names of an archive and of its member.
fn parts(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.to_str().and_then(|name| name.strip_prefix(SCHEME)?.strip_prefix("://"));
    let parts = name.and_then(|name| name.split_once(WITHIN)).filter(|(_, member)| !member.is_empty());
    parts.map(|(archive, member)| (Path::new(archive), member)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "expected the name of a member as `zip://ARCHIVE@/MEMBER`",
        )
    })
}

impl Store for MemberStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let (archive, name) = parts(path)?;
        let archive = self.archive(archive)?;
        let size = archive.size(name)?;
        Ok(Box::new(Member { archive, name: name.into(), size }))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        let (archive, _) = parts(path).ok()?;
        self.archives.entry(archive).is_err().then(|| self.archives.remedy(archive, error))?
    }
}

/// An open member.
struct Member {
    archive: Arc<Archive>,
    name: Box<str>,
    size: u64,
}

impl Resource for Member {
    fn size(&self) -> u64 {
        self.size
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX));
        self.archive.read(&self.name, offset, &mut into[..n]).map(|()| n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rawzip::ZipArchiveWriter;

    use super::*;
    use crate::store::{MemoryStore, Stores, read_whole};

    #[test]
    fn a_member_is_read_by_its_url_and_a_missing_one_is_an_error() {
        let mut writer = ZipArchiveWriter::new(Vec::new());
        let (mut entry, config) = writer.new_file("in/a.ctf").start().unwrap();
        let mut data = config.wrap(&mut entry);
        data.write_all(b"|x 1\n").unwrap();
        let (_, descriptor) = data.finish().unwrap();
        entry.finish(descriptor).unwrap();
        let stores = Stores::new(Arc::new(MemoryStore::new().with("a.zip", writer.finish().unwrap())));
        let read = |name: &str| read_whole(&stores, Path::new(name)).map_err(|e| e.to_string());
        assert_eq!(read("zip://a.zip@/in/a.ctf").unwrap(), b"|x 1\n");
        let missing = read("zip://a.zip@/in/b.ctf").unwrap_err();
        assert!(missing.contains("the archive has no member of this name"), "{missing}");
        let missing = read("zip://b.zip@/in/a.ctf").unwrap_err();
        assert!(missing.contains("did you mean `a.zip`?"), "{missing}");
        assert!(read("zip://a.zip").unwrap_err().contains("expected the name of a member"));
    }
}
