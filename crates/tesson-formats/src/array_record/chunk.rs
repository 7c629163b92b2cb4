//! A chunk: a header of 40 bytes, then the records' sizes and the records, compressed apart.

use tesson_core::varint;

use crate::record::{Problem, RecordSpan};

use super::block::{Cursor, hash};
use super::compression::Decompressor;

/// Bytes of a chunk's header.
pub(super) const HEADER: u64 = 40;

/// A chunk's header, its hash checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) data_size: u64,
    pub(super) data_hash: u64,
    pub(super) kind: u8,
    pub(super) n_records: u64,
    pub(super) decoded_size: u64,
}

impl Header {
    /// The header that a chunk of these data has, as bytes.
    pub(super) fn bytes(kind: u8, data: &[u8], n_records: u64, decoded_size: u64) -> [u8; HEADER as usize] {
        let mut bytes = [0; HEADER as usize];
        bytes[8..16].copy_from_slice(&(data.len() as u64).to_le_bytes());
        bytes[16..24].copy_from_slice(&hash(data).to_le_bytes());
        bytes[24..32].copy_from_slice(&(n_records << 8 | u64::from(kind)).to_le_bytes());
        bytes[32..].copy_from_slice(&decoded_size.to_le_bytes());
        let sum = hash(&bytes[8..]);
        bytes[..8].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8], chunk: u64) -> Result<Header, Problem> {
        let number =
            |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("a header has 40 bytes"));
        let (found, expected) = (hash(&bytes[8..]), number(0));
        if found != expected {
            return Err(Problem::Hash { of: "chunk header", found, expected, chunk });
        }
        Ok(Header {
            data_size: number(8),
            data_hash: number(16),
            kind: bytes[24],
            n_records: number(24) >> 8,
            decoded_size: number(32),
        })
    }
}

/// Memory for taking chunks apart.
#[derive(Debug, Default)]
pub(crate) struct ChunkScratch {
    gather: Vec<u8>,
    sizes: Vec<u8>,
    decompressor: Decompressor,
    /// Where the records of a chunk lie.
    pub(super) places: Vec<RecordSpan>,
}

/// A chunk in bytes of the file.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a> {
    /// The bytes, and the place in the file of the first.
    pub(super) bytes: &'a [u8],
    pub(super) base: u64,
    /// Where the chunk begins.
    pub(super) chunk: u64,
}

/// Appends the records of a simple chunk to `into`, which may then have `limit` bytes, and leaves their places in
/// [`ChunkScratch::places`]. A chunk that is damaged adds nothing.
pub(super) fn records(
    raw: Raw<'_>,
    limit: u64,
    chunk_scratch: &mut ChunkScratch,
    into: &mut Vec<u8>,
) -> Result<Header, Problem> {
    let before = into.len();
    chunk_scratch.places.clear();
    let appended = append(raw, limit, chunk_scratch, into);
    if appended.is_err() {
        into.truncate(before);
        chunk_scratch.places.clear();
    }
    appended
}

/// The header of the chunk at `chunk`.
pub(super) fn header(raw: Raw<'_>) -> Result<Header, Problem> {
    Header::parse(raw.cursor().take(HEADER, &mut Vec::new())?, raw.chunk)
}

impl<'a> Raw<'a> {
    fn cursor(self) -> Cursor<'a> {
        Cursor { raw: self.bytes, base: self.base, at: self.chunk, chunk: self.chunk }
    }
}

fn append(
    raw: Raw<'_>,
    limit: u64,
    chunk_scratch: &mut ChunkScratch,
    bytes: &mut Vec<u8>,
) -> Result<Header, Problem> {
    let ChunkScratch { gather, sizes, decompressor, places } = chunk_scratch;
    let (chunk, mut cursor) = (raw.chunk, raw.cursor());
    let header = Header::parse(cursor.take(HEADER, gather)?, chunk)?;
    match header.kind {
        b'r' => {}
        b't' => return Err(Problem::TransposedChunk),
        found => return Err(Problem::ChunkKind { found }),
    }
    if header.decoded_size > limit {
        return Err(Problem::TooLarge { found: header.decoded_size, limit });
    }
    let data = cursor.take(header.data_size, gather)?;
    let found = hash(data);
    if found != header.data_hash {
        return Err(Problem::Hash { of: "chunk data", found, expected: header.data_hash, chunk });
    }
    let begin = bytes.len();
    let malformed = |what| Problem::BadChunk { what, chunk };
    let (compression, size_part, values) =
        parts(data).ok_or_else(|| malformed("the chunk is shorter than its parts".into()))?;
    sizes.clear();
    decompressor.part(compression, size_part, limit, sizes).map_err(malformed)?;
    decompressor.part(compression, values, limit, bytes).map_err(malformed)?;
    let mut at = begin as u64;
    let mut sizes = &sizes[..];
    for _ in 0..header.n_records {
        let size =
            varint::take(&mut sizes).ok_or_else(|| malformed("there are fewer sizes than records".into()))?;
        if size > bytes.len() as u64 - at {
            return Err(malformed(format!("a record of {size} bytes reaches beyond the chunk's")));
        }
        places.push(RecordSpan { start: at as u32, size: size as u32 });
        at += size;
    }
    if !sizes.is_empty() || at != bytes.len() as u64 || at - begin as u64 != header.decoded_size {
        let what =
            format!("{} bytes of records are said, {} are there", header.decoded_size, at - begin as u64);
        return Err(malformed(what));
    }
    Ok(header)
}

/// Compression, sizes and values.
fn parts(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&compression, mut rest) = data.split_first()?;
    let size = varint::take(&mut rest)?;
    let (sizes, values) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    Some((compression, sizes, values))
}
