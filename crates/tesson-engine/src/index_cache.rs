//! Index caches: `<input>.tesson-index` beside the input, or `<identity>.tesson-index` in a folder that the deserializer names.
//!
//! A cache is bound to the corpus (sizes, modification time in nanoseconds, a hash of both ends of the file) and to
//! all options that change the index. One that does not fit is ignored and written anew; writing is best effort.
//!
//! Layout: `cache_file`, of kind `TESSIDX\0`. What it belongs to, little-endian: 8 bytes, the hash of the corpus; 16 bytes, the
//! modification time, nanoseconds since 1970, or 0 where it is unknown; 8 bytes, the hash of the options. The payload is the
//! format's own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{Deserializer, Indexed};

use crate::atomic_file::create_folder;
use crate::cache_file::{self, Binding};
use crate::fingerprint;
use crate::store::{Resource, local_entry, local_name};

const KIND: &[u8; 8] = b"TESSIDX\0";

/// A name and the open file.
type File = (Arc<Path>, Box<dyn Resource>);

/// Where the cache of an input lies.
pub fn path(input: &Path) -> PathBuf {
    let mut name = local_name(input).as_os_str().to_owned();
    name.push(".tesson-index");
    name.into()
}

/// Where the cache of a deserializer lies.
fn place(deserializer: &dyn Deserializer, files: &[File]) -> Option<PathBuf> {
    let identity = || format!("{:016x}", fingerprint::text(&deserializer.facts().identity));
    match &deserializer.facts().index_folder {
        Some(folder) => Some(path(&folder.join(identity()))),
        None => files.first().map(|(input, _)| path(input)),
    }
}

/// The binding of a cache to this corpus.
fn binding(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Binding {
    let modified = files.iter().filter_map(|(_, f)| f.modified_ns()).max().unwrap_or(0);
    let mut belongs_to = corpus.to_le_bytes().to_vec();
    belongs_to.extend(modified.to_le_bytes());
    belongs_to.extend(fingerprint::text(&deserializer.facts().identity).to_le_bytes());
    Binding { kind: KIND, belongs_to }
}

/// The cached index, if there is one that fits.
pub(crate) fn read(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Option<Indexed> {
    let file = place(deserializer, files)?;
    if local_entry(&file).is_err() {
        return None;
    }
    let most = cache_file::most_bytes(files.iter().map(|(_, f)| f.size()).sum());
    let payload = cache_file::read(&file, &binding(deserializer, files, corpus), most);
    let indexed = payload.and_then(|payload| deserializer.restore(&payload));
    if indexed.is_none() {
        tracing::info!(file = %file.display(), "index cache does not fit the input or the options, it is rebuilt");
    }
    indexed
}

/// Writes the cache.
///
/// # Errors
/// Those of the file system.
pub(crate) fn write(
    deserializer: &dyn Deserializer,
    files: &[File],
    corpus: u64,
    indexed: &Indexed,
) -> io::Result<PathBuf> {
    let Some(target) = place(deserializer, files) else {
        return Err(io::Error::other("there is no file beside which a cache could lie"));
    };
    let mut payload = Vec::new();
    indexed.corpus.save(&indexed.index, &mut payload);
    if let Some(folder) = &deserializer.facts().index_folder {
        create_folder(folder)?;
    }
    cache_file::write(&target, &binding(deserializer, files, corpus), &payload)?;
    Ok(target)
}
