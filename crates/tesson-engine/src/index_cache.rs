//! Index caches: `<input>.tesson-index` beside the input, or `<identity>.tesson-index` in a folder that the deserializer names.
//!
//! A cache is bound to the corpus (sizes, modification time in nanoseconds, a hash of both ends of the file) and to
//! all options that change the index. One that does not fit is ignored and written anew; writing is best effort.
//!
//! Layout, little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `TESSIDX\0` |
//! | 4 | version |
//! | 8 | hash of the corpus |
//! | 16 | modification time, nanoseconds since 1970; 0 where unknown |
//! | 8 | hash of the options |
//! | 8 | size of the payload |
//! | 8 | XXH3 of the payload |
//! | … | payload: the format's own |

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{Deserializer, Indexed};

use crate::store::Resource;
use crate::{cache_file, fingerprint};

const MAGIC: &[u8; 8] = b"TESSIDX\0";
const VERSION: u32 = 1;

/// A name and the open file.
type File = (Arc<Path>, Box<dyn Resource>);

/// Where the cache of an input lies.
pub fn path(input: &Path) -> PathBuf {
    let mut name = input.as_os_str().to_owned();
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

/// The header that a cache of this corpus must have, up to the payload's size.
fn header(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Vec<u8> {
    let modified = files.iter().filter_map(|(_, f)| f.modified_ns()).max().unwrap_or(0);
    let mut h = MAGIC.to_vec();
    h.extend(VERSION.to_le_bytes());
    h.extend(corpus.to_le_bytes());
    h.extend(modified.to_le_bytes());
    h.extend(fingerprint::text(&deserializer.facts().identity).to_le_bytes());
    h
}

/// The cached index, if there is one that fits.
pub(crate) fn read(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Option<Indexed> {
    let file = place(deserializer, files)?;
    if !file.exists() {
        return None;
    }
    let most = cache_file::most_bytes(files.iter().map(|(_, f)| f.size()).sum());
    let payload = cache_file::read(&file, &header(deserializer, files, corpus), most);
    let indexed = payload.and_then(|payload| deserializer.restore(&payload));
    if indexed.is_none() {
        tracing::info!(file = %file.display(), "index cache does not fit the input or the options, it is made anew");
    }
    indexed
}

/// Writes the cache.
///
/// # Errors
/// What the file system answers.
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
        std::fs::create_dir_all(folder)?;
    }
    cache_file::write(&target, &header(deserializer, files, corpus), &payload)?;
    Ok(target)
}
