//! Folders of the local file system, listed.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tesson_core::Listing;
use tesson_core::store::FolderName;

/// The names in a folder, sorted by their bytes. Those that are no UTF-8 have characters that stand for what they have instead.
pub(super) fn names(folder: &Path) -> io::Result<Vec<FolderName>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.push(FolderName { name, is_folder: entry.path().is_dir() });
    }
    names.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    Ok(names)
}

/// The files in a folder and in those below it, each folder's names sorted by their bytes. Links are followed.
pub(super) fn list(folder: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut above = vec![fs::canonicalize(folder)?];
    list_below(folder, Path::new(""), &mut above, &mut listing)?;
    Ok(listing)
}

/// `above` holds the folders that this one is in, to tell a link to one of them.
fn list_below(
    folder: &Path,
    inside: &Path,
    above: &mut Vec<PathBuf>,
    listing: &mut Listing,
) -> io::Result<()> {
    let in_folder = |path: &Path, e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    // A folder may have millions of names: they lie end to end.
    let (mut names, mut spans) = (String::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(|e| in_folder(folder, e))? {
        let file = entry?.file_name();
        let Some(file) = file.to_str() else { return Err(no_name(&inside.join(file))) };
        let begin = u32::try_from(names.len()).map_err(io::Error::other)?;
        names.push_str(file);
        spans.push((begin, file.len() as u32));
    }
    let name_of = |(begin, len): (u32, u32)| &names[begin as usize..][..len as usize];
    spans.sort_unstable_by(|a, b| name_of(*a).cmp(name_of(*b)));
    for file in spans.into_iter().map(name_of) {
        let (path, inside) = (folder.join(file), inside.join(file));
        // A link to nothing is a file that cannot be opened.
        if !path.is_dir() {
            listing.push(&name(&inside)?);
            continue;
        }
        let real = fs::canonicalize(&path).map_err(|e| in_folder(&path, e))?;
        if above.contains(&real) {
            let what = format!("{} is a link to {}, which it lies in", path.display(), real.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        listing.push(&format!("{}/", name(&inside)?));
        above.push(real);
        list_below(&path, &inside, above, listing)?;
        above.pop();
    }
    Ok(())
}

/// A path in a listing: its parts with `/` between them.
pub(super) fn name(path: &Path) -> io::Result<String> {
    let part = |component: Component<'_>| component.as_os_str().to_str().map(str::to_owned);
    let name = path.components().map(part).collect::<Option<Vec<_>>>().map(|parts| parts.join("/"));
    name.filter(|name| !name.contains('\n')).ok_or_else(|| no_name(path))
}

/// The error of a path that a listing cannot have.
fn no_name(path: &Path) -> io::Error {
    let what = format!("found the name `{}`, expected UTF-8 without line feeds", path.display());
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{FileStore, MemoryStore, Store};

    #[test]
    fn folders_are_listed_alike_on_disk_and_in_memory() {
        let root = std::env::temp_dir().join(format!("tesson-listing-{}", std::process::id()));
        let names = ["b/2.jpg", "b/10.jpg", "b-c/x", "a.txt", "b/in/y"];
        let mut memory = MemoryStore::new().with("elsewhere", *b"");
        for name in names {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
            memory = memory.with(root.join(name), *b"");
        }
        let expected = ["a.txt", "b/", "b/10.jpg", "b/2.jpg", "b/in/", "b/in/y", "b-c/", "b-c/x"];
        for store in [&FileStore as &dyn Store, &memory] {
            let bytes = store.list(&root).unwrap().into_bytes();
            assert_eq!(Listing::names(&bytes).unwrap().collect::<Vec<_>>(), expected);
            assert_eq!(store.open(&root).err().unwrap().kind(), io::ErrorKind::IsADirectory);
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&root, root.join("b/loop")).unwrap();
            let error = FileStore.list(&root).unwrap_err().to_string();
            assert!(error.contains("is a link to"), "{error}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
