//! Indexes of files of records: `<file>.tesson-index` beside the file, or in a folder for caches.
//!
//! An index is bound to its file by size and modification time: reading both costs nothing, and a dataset may have a
//! thousand shards. One that does not fit is ignored.
//!
//! Layout: `cache_file`, of kind `TESSREC\0`. What it belongs to, little-endian: 8 bytes, the size of the file; 16 bytes, its
//! modification time, nanoseconds since 1970, or 0 where it is unknown. The payload is the format's own, beginning with the
//! number of records.

use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::atomic_file::create_folder;
use crate::cache_file::{self, Binding};
use crate::store::local_name;

const KIND: &[u8; 8] = b"TESSREC\0";

/// The size and time of a file of records when it was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970, where that is known.
    pub modified_ns: Option<u128>,
}

impl Stamp {
    fn binding(self) -> Binding {
        let mut belongs_to = self.size.to_le_bytes().to_vec();
        belongs_to.extend(self.modified_ns.unwrap_or(0).to_le_bytes());
        Binding { kind: KIND, belongs_to }
    }
}

/// Where the index of a file lies. In a folder for caches its name also has a hash of the file's whole path, which two
/// files of one name differ in.
pub fn path(file: &Path, cache_dir: Option<&Path>) -> PathBuf {
    let file = local_name(file);
    let mut name = file.as_os_str().to_owned();
    if let Some(folder) = cache_dir {
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.into());
        let hash = xxh3_64(whole.as_os_str().as_encoded_bytes());
        name = folder.join(file.file_name().unwrap_or_default()).into_os_string();
        name.push(format!("-{hash:016x}"));
    }
    name.push(".tesson-index");
    name.into()
}

/// The index of a file, if there is one that fits: beside the file, or in the folder for caches.
pub fn read(file: &Path, cache_dir: Option<&Path>, stamp: Stamp) -> Option<Vec<u8>> {
    let (binding, most) = (stamp.binding(), cache_file::most_bytes(stamp.size));
    let beside = cache_file::read(&path(file, None), &binding, most);
    beside.or_else(|| cache_file::read(&path(file, Some(cache_dir?)), &binding, most))
}

/// Writes the index of a file into the folder for caches, or beside the file if there is none; returns where it is.
///
/// # Errors
/// Those of the file system.
pub fn write(file: &Path, cache_dir: Option<&Path>, stamp: Stamp, payload: &[u8]) -> io::Result<PathBuf> {
    if let Some(folder) = cache_dir {
        create_folder(folder)?;
    }
    let target = path(file, cache_dir);
    cache_file::write(&target, &stamp.binding(), payload)?;
    Ok(target)
}
