//! The header and the chunk table of a file (spec/cbf.md §1), checked against the file's size.

use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, DataErrorKind, Error, Fetch, Location, StreamInfo, beginning_of, check_name};

use super::FILE;
use super::fault::CbfFault;
use super::record::Form;

/// The first eight bytes of a file, and of its header.
pub(super) const MAGIC: u64 = 0x636E_746B_5F62_696E;

/// The only version there is.
pub(super) const VERSION: u32 = 1;

/// Bytes in front of the first chunk: magic and version.
pub(super) const PREAMBLE: u64 = 12;

/// Bytes at the end of the file: the header's offset.
pub(super) const TRAILER: u64 = 8;

/// Streams that a file may have: faults name them by 16 bits.
pub(super) const MOST_STREAMS: u32 = u16::MAX as u32;

/// Bytes of the header and of the table that are read at once.
const READ: u64 = 64 << 10;

/// A stream as the file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) form: Form,
}

/// A chunk as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkPlace {
    /// Its first byte in the file.
    pub(super) offset: u64,
    /// Where it ends at the latest: the next chunk in the file, or the header, begins there.
    pub(super) end: u64,
    /// Sequences in the chunks before it in the table: the key of its first one (spec/cbf.md §2).
    pub(super) first_sequence: u64,
    pub(super) n_sequences: u32,
    pub(super) n_samples: u32,
}

impl ChunkPlace {
    /// Bytes of the lengths in front of the sequences.
    pub(super) fn prefix_bytes(&self) -> u64 {
        4 * u64::from(self.n_sequences)
    }

    /// Bytes of the chunk, unused ones behind it included.
    pub(super) fn bytes(&self) -> u64 {
        self.end - self.offset
    }
}

/// A file's header and chunk table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) streams: Vec<Declared>,
    /// In the order of the table.
    pub(super) chunks: Vec<ChunkPlace>,
    /// The chunks with sequences, in the order of the file.
    pub(super) by_offset: Vec<u32>,
}

impl Layout {
    /// Reads and checks the file's ends. Nothing of the chunks is read.
    ///
    /// # Errors
    /// Those that spec/cbf.md §3 lists for opening: [`CbfFault`] with its place, or a file without sequences.
    pub(super) fn read(file: &Arc<Path>, fetch: &dyn Fetch) -> Result<Layout, Error> {
        let mut reader = Reader { file, fetch, at: 0, end: fetch.size(FILE)?, bytes: Vec::new(), used: 0 };
        let size = reader.end;
        if size == 0 {
            return Err(reader.error(0, DataErrorKind::EmptyFile));
        }
        check_preamble(&mut reader)?;
        let header = header_offset(&mut reader, size)?;
        reader.go(header, size - TRAILER);
        if reader.u64("the header")? != MAGIC {
            return Err(reader.error(header, CbfFault::NoHeader));
        }
        let n_chunks = reader.u32("the number of chunks")?;
        let n_streams = reader.u32("the number of streams")?;
        let streams = streams(&mut reader, n_streams)?;
        let (chunks, by_offset) = table(&mut reader, n_chunks, header)?;
        Ok(Layout { streams, chunks, by_offset })
    }
}

fn check_preamble(reader: &mut Reader<'_>) -> Result<(), Error> {
    let found = reader.u64("the magic number")?;
    if found != MAGIC {
        let [first, ..] = found.to_le_bytes();
        return Err(reader.error(0, CbfFault::NoMagic { text: matches!(first, b'|' | b'0'..=b'9') }));
    }
    match reader.u32("the version")? {
        VERSION => Ok(()),
        found => Err(reader.error(8, CbfFault::UnknownVersion { found })),
    }
}

/// Where the header begins, from the last bytes of the file.
fn header_offset(reader: &mut Reader<'_>, size: u64) -> Result<u64, Error> {
    let trailer = size.saturating_sub(TRAILER);
    reader.go(trailer, size);
    let header = reader.u64("the header's offset")?;
    // A negative offset is a large one here.
    if header < PREAMBLE || header > trailer {
        return Err(reader.error(trailer, CbfFault::HeaderOffset { found: header as i64, most: trailer }));
    }
    Ok(header)
}

fn streams(reader: &mut Reader<'_>, n: u32) -> Result<Vec<Declared>, Error> {
    if n == 0 || n > MOST_STREAMS {
        return Err(reader.error(reader.at - 4, CbfFault::StreamCount { found: n }));
    }
    (0..n).map(|_| stream(reader)).collect()
}

fn stream(reader: &mut Reader<'_>) -> Result<Declared, Error> {
    let at = reader.at;
    let encoding = reader.u8("a stream's encoding")?;
    let name = reader.text("a stream's name")?;
    if check_name(&name).is_err() {
        let problem =
            format!("has a name of {} bytes, expected {} at most", name.len(), StreamInfo::LONGEST_NAME);
        return Err(reader.error(at, CbfFault::BadStream { name: beginning_of(&name), problem }));
    }
    let element = reader.u8("a stream's element type")?;
    let dim = reader.u32("a stream's dimension")?;
    let sparse = encoding == 1;
    let problem = if encoding > 1 {
        format!("has encoding {encoding}, expected 0 (dense) or 1 (sparse)")
    } else if element > 1 {
        format!("has element type {element}, expected 0 (float) or 1 (double)")
    } else if sparse && dim > i32::MAX as u32 {
        format!("is sparse with dim {dim}, at most {} is possible", i32::MAX)
    } else if !sparse && dim == 0 {
        "is dense with dim 0, expected at least 1".into()
    } else {
        return Ok(Declared { name, form: Form { sparse, double: element == 1, dim } });
    };
    Err(reader.error(at, CbfFault::BadStream { name, problem }))
}

fn table(reader: &mut Reader<'_>, n: u32, header: u64) -> Result<(Vec<ChunkPlace>, Vec<u32>), Error> {
    let (start, needed) = (reader.at, 16 * u64::from(n));
    if needed > reader.end - start {
        let left = reader.end - start;
        return Err(reader.error(start, CbfFault::TableTooLarge { chunks: n, needed, left }));
    }
    let mut chunks = Vec::with_capacity(n as usize);
    let (mut first_sequence, mut samples) = (0, 0);
    for chunk in 0..n {
        let at = reader.at;
        let offset = reader.u64("the chunk table")?;
        let (n_sequences, n_samples) = (reader.u32("the chunk table")?, reader.u32("the chunk table")?);
        if offset < PREAMBLE || offset > header {
            let fault = CbfFault::ChunkOffset { chunk, found: offset as i64, most: header };
            return Err(reader.error(at, fault));
        }
        chunks.push(ChunkPlace { offset, end: header, first_sequence, n_sequences, n_samples });
        first_sequence += u64::from(n_sequences);
        samples += u64::from(n_samples);
    }
    if first_sequence == 0 {
        return Err(reader.error(start, DataErrorKind::NoSequences));
    }
    if samples == 0 {
        return Err(reader.error(start, CbfFault::NoSamples { sequences: first_sequence }));
    }
    let by_offset = bound(reader, start, &mut chunks)?;
    Ok((chunks, by_offset))
}

/// Finds where each chunk ends: at the beginning of the next one in the file. Chunks may lie in any order, but not over
/// each other. Those without sequences take no room. Returns the others in the order of the file.
fn bound(reader: &Reader<'_>, table: u64, chunks: &mut [ChunkPlace]) -> Result<Vec<u32>, Error> {
    let mut order: Vec<u32> =
        (0..chunks.len() as u32).filter(|&c| chunks[c as usize].n_sequences > 0).collect();
    // Nothing is moved where the table is in order, as it nearly always is.
    order.sort_by_key(|&c| chunks[c as usize].offset);
    for pair in order.windows(2) {
        chunks[pair[0] as usize].end = chunks[pair[1] as usize].offset;
    }
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let at = table + 16 * number as u64;
        if chunk.n_sequences == 0 {
            chunk.end = chunk.offset;
        }
        if chunk.prefix_bytes() > chunk.bytes() {
            let (sequences, bytes) = (chunk.n_sequences, chunk.bytes());
            return Err(reader.error(at, CbfFault::ChunkTooSmall { chunk: number as u32, sequences, bytes }));
        }
        if chunk.n_sequences == 0 && chunk.n_samples != 0 {
            let fault = CbfFault::SamplesWithoutSequence { chunk: number as u32, samples: chunk.n_samples };
            return Err(reader.error(at, fault));
        }
    }
    Ok(order)
}

/// Reads numbers one after the other, bytes in larger pieces.
struct Reader<'a> {
    file: &'a Arc<Path>,
    fetch: &'a dyn Fetch,
    /// The next byte, and where the part that may be read ends.
    at: u64,
    end: u64,
    /// Bytes up to `at + (bytes.len() - used)` of the file.
    bytes: Vec<u8>,
    used: usize,
}

impl Reader<'_> {
    /// Goes on at `at`, and not beyond `end`.
    fn go(&mut self, at: u64, end: u64) {
        (self.at, self.end) = (at, end);
        self.bytes.clear();
        self.used = 0;
    }

    /// The next `n` bytes, which are part of `what`.
    fn take(&mut self, n: usize, what: &'static str) -> Result<&[u8], Error> {
        if n as u64 > self.end - self.at {
            return Err(self.error(self.at, CbfFault::EndsWithin { part: what }));
        }
        if self.bytes.len() - self.used < n {
            let more = READ.max(n as u64).min(self.end - self.at);
            self.bytes.clear();
            self.used = 0;
            self.fetch.read(FILE, self.at..self.at + more, &mut self.bytes)?;
        }
        self.at += n as u64;
        self.used += n;
        Ok(&self.bytes[self.used - n..self.used])
    }

    fn bytes<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        Ok(*self.take(N, what)?.first_chunk().expect("so many bytes were taken"))
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        self.bytes(what).map(|[byte]| byte)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        self.bytes(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        self.bytes(what).map(u64::from_le_bytes)
    }

    /// A text behind its length.
    fn text(&mut self, what: &'static str) -> Result<String, Error> {
        let n = self.u32(what)?;
        let at = self.at;
        let text = String::from_utf8(self.take(n as usize, what)?.to_vec());
        text.map_err(|_| self.error(at, CbfFault::NotUtf8 { part: what }))
    }

    fn error(&self, offset: u64, kind: impl Into<DataErrorKind>) -> Error {
        DataError::new(kind, Location { file: Arc::clone(self.file), offset, line: None }).into()
    }
}
