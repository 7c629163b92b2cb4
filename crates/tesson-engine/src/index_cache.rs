//! Index caches: `<input>.tesson-index` beside the input.
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

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{Deserializer, Indexed};
use xxhash_rust::xxh3::xxh3_64;

use crate::fingerprint;
use crate::store::Resource;

const MAGIC: &[u8; 8] = b"TESSIDX\0";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 8 + 16 + 8 + 8 + 8;

/// A name and the open file.
type File = (Arc<Path>, Box<dyn Resource>);

/// Where the cache of an input lies.
pub fn path(input: &Path) -> PathBuf {
    let mut name = input.as_os_str().to_owned();
    name.push(".tesson-index");
    name.into()
}

/// The header that a cache of this corpus must have, up to the payload's size.
fn header(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Vec<u8> {
    let modified = files.iter().filter_map(|(_, f)| f.modified_ns()).max().unwrap_or(0);
    let mut h = MAGIC.to_vec();
    h.extend(VERSION.to_le_bytes());
    h.extend(corpus.to_le_bytes());
    h.extend(modified.to_le_bytes());
    h.extend(fingerprint::text(&deserializer.identity()).to_le_bytes());
    h
}

/// The cached index, if there is one that fits.
pub(crate) fn read(deserializer: &dyn Deserializer, files: &[File], corpus: u64) -> Option<Indexed> {
    let file = path(&files.first()?.0);
    let all = fs::read(&file).ok()?;
    let wanted = header(deserializer, files, corpus);
    let head = all.get(..HEADER)?;
    let (size, sum) = head[wanted.len()..].split_at(8);
    let payload = &all[HEADER..];
    let fits = head.starts_with(&wanted)
        && size == (payload.len() as u64).to_le_bytes()
        && sum == xxh3_64(payload).to_le_bytes();
    let indexed = fits.then(|| deserializer.restore(payload)).flatten();
    if indexed.is_none() {
        tracing::info!(file = %file.display(), "index cache does not fit the input or the options, it is made anew");
    }
    indexed
}

/// Writes the cache: to a temporary file that replaces the old one when it is whole.
///
/// # Errors
/// What the file system answers.
pub(crate) fn write(
    deserializer: &dyn Deserializer,
    files: &[File],
    corpus: u64,
    indexed: &Indexed,
) -> io::Result<PathBuf> {
    let Some((input, _)) = files.first() else {
        return Err(io::Error::other("there is no file beside which a cache could lie"));
    };
    let mut payload = Vec::new();
    indexed.corpus.save(&indexed.index, &mut payload);
    let mut head = header(deserializer, files, corpus);
    head.extend((payload.len() as u64).to_le_bytes());
    head.extend(xxh3_64(&payload).to_le_bytes());
    let target = path(input);
    let mut temporary = target.clone().into_os_string();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = fs::File::create(&temporary)
        .and_then(|mut f| f.write_all(&head).and_then(|()| f.write_all(&payload)))
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(&temporary);
    }
    written.map(|()| target)
}
