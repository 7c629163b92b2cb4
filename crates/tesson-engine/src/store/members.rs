//! Members of archives as resources: `zip://ARCHIVE@/MEMBER`. The archive is a folder, `zip://ARCHIVE@/`, and so is a folder in it.
//!
//! Lists of images name members without the scheme, and [`NamedFiles`](crate::named_files) reads those; this is for members
//! that a configuration names by themselves.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::Listing;

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

/// The names of an archive and of its member; that of the archive itself is empty.
fn parts(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.to_str().and_then(|name| name.strip_prefix(SCHEME)?.strip_prefix("://"));
    let parts = name.and_then(|name| name.split_once(WITHIN));
    parts.map(|(archive, member)| (Path::new(archive), member)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "expected the name of a member as `zip://ARCHIVE@/MEMBER`",
        )
    })
}

/// The folder that some systems add to archives, with what their own file system knows of each file.
const FORKS: &str = "__MACOSX/";

/// The names in a folder of an archive and in the folders below it, as [`Store::list`] orders them.
///
/// # Errors
/// A name that leads out of the archive, or has a line feed.
fn names_in(archive: &Archive, folder: &str) -> io::Result<Vec<String>> {
    let inside = folder.trim_matches('/');
    let mut names = BTreeSet::new();
    for name in archive.names()?.iter().filter(|name| !name.starts_with(FORKS)) {
        let below = if inside.is_empty() {
            Some(name.as_str())
        } else {
            name.strip_prefix(inside).and_then(|name| name.strip_prefix('/'))
        };
        let Some(below) = below.filter(|below| !below.is_empty()) else { continue };
        let own = below.strip_suffix('/').unwrap_or(below);
        let parts: Vec<String> = own.split('/').map(str::to_owned).collect();
        if parts.iter().any(|part| matches!(part.as_str(), "" | "." | "..")) || own.contains('\n') {
            let what = format!("has a member of the name `{}`, which is no path in it", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        // Directories of archives need not list folders.
        for n in 1..parts.len() {
            names.insert((parts[..n].to_vec(), true));
        }
        names.insert((parts, own.len() < below.len()));
    }
    Ok(names
        .into_iter()
        .map(|(parts, is_folder)| parts.join("/") + if is_folder { "/" } else { "" })
        .collect())
}

impl Store for MemberStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let (archive, name) = parts(path)?;
        let archive = self.archive(archive)?;
        match archive.size(name) {
            Ok(size) if !name.ends_with('/') => Ok(Box::new(Member { archive, name: name.into(), size })),
            Err(e) if e.kind() != io::ErrorKind::NotFound || names_in(&archive, name)?.is_empty() => Err(e),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        let (archive, name) = parts(folder)?;
        let names = names_in(&*self.archive(archive)?, name)?;
        let mut listing = Listing::default();
        names.iter().for_each(|name| listing.push(name));
        Ok(listing)
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

    /// An archive with these members, each of which holds its own name.
    fn archive(names: &[&str]) -> Vec<u8> {
        let mut writer = ZipArchiveWriter::new(Vec::new());
        for name in names {
            let (mut entry, config) = writer.new_file(name).start().unwrap();
            let mut data = config.wrap(&mut entry);
            data.write_all(name.as_bytes()).unwrap();
            let (_, descriptor) = data.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn an_archive_is_a_folder_and_so_are_those_in_it() {
        let names = ["dog/2.png", "cat/in/3.png", "cat.txt", "cat/1.png", "__MACOSX/cat/._1.png"];
        let stores = Stores::new(Arc::new(MemoryStore::new().with("a.zip", archive(&names))));
        let list = |name: &str| {
            let bytes = stores.list(Path::new(name)).unwrap().into_bytes();
            Listing::names(&bytes).unwrap().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            list("zip://a.zip@/"),
            ["cat/", "cat/1.png", "cat/in/", "cat/in/3.png", "cat.txt", "dog/", "dog/2.png"]
        );
        assert_eq!(list("zip://a.zip@/cat"), ["1.png", "in/", "in/3.png"]);
        for folder in ["zip://a.zip@/", "zip://a.zip@/cat", "zip://a.zip@/cat/"] {
            let error = stores.open(Path::new(folder)).err().map(|e| e.kind());
            assert_eq!(error, Some(io::ErrorKind::IsADirectory), "{folder}");
        }
        // What writes archives makes such names harmless, what reads them does not.
        let mut outside = archive(&["zz/x.png"]);
        for at in 0..outside.len() - 2 {
            if &outside[at..at + 3] == b"zz/" {
                outside[at..at + 2].copy_from_slice(b"..");
            }
        }
        let stores = Stores::new(Arc::new(MemoryStore::new().with("a.zip", outside)));
        let error = stores.list(Path::new("zip://a.zip@/")).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("which is no path in it"), "{error}");
    }

    #[test]
    fn a_member_is_read_by_its_url_and_a_missing_one_is_an_error() {
        let stores = Stores::new(Arc::new(MemoryStore::new().with("a.zip", archive(&["in/a.ctf"]))));
        let read = |name: &str| read_whole(&stores, Path::new(name)).map_err(|e| e.to_string());
        assert_eq!(read("zip://a.zip@/in/a.ctf").unwrap(), b"in/a.ctf");
        let missing = read("zip://a.zip@/in/b.ctf").unwrap_err();
        assert!(missing.contains("the archive has no member of this name"), "{missing}");
        let missing = read("zip://b.zip@/in/a.ctf").unwrap_err();
        assert!(missing.contains("did you mean `a.zip`?"), "{missing}");
        assert!(read("zip://a.zip").unwrap_err().contains("expected the name of a member"));
    }
}
