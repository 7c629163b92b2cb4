//! Postscript and footer: where the chunks of a file are.

use tesson_core::{CompactLengths, Error, Fetch, ResourceId};

use crate::record::message::{Field, field, numbers};
use crate::record::{Fault, Problem, RecordSpan};

use super::SIGNATURE;
use super::block::{BLOCK, advance};
use super::chunk::{self, ChunkScratch, HEADER, Raw};

/// The magic number in the postscript's records, beside the footer's offset.
pub(super) const MAGIC: u64 = 0x7193_0E70_4FDA_E05E;

/// Chunks from one whole offset to the next; between them distances are kept.
const STRIDE: usize = 64;

/// Where the chunks of a file are, and how many records each has.
#[derive(Debug)]
pub(super) struct Index {
    /// The offset of every 64th chunk.
    offsets: Vec<u64>,
    /// From each chunk to the next, the last one to the footer.
    steps: CompactLengths,
    /// Records of each chunk but the last.
    pub(super) group: u64,
    pub(super) n_records: u64,
}

/// Bytes that are read at once before it is known how many are needed.
const FIRST_READ: u64 = 4 << 10;

impl Index {
    /// Reads a file's index; what is wrong with it is a fault of its first record.
    pub(super) fn read(
        resource: ResourceId,
        fetch: &dyn Fetch,
        chunk_scratch: &mut ChunkScratch,
    ) -> Result<Result<Index, Fault>, Error> {
        let fault = |offset, problem| Ok(Err(Fault { record: 0, offset, problem }));
        let size = fetch.size(resource)?;
        let mut raw = Vec::new();
        if let Err(problem) = check_size(size) {
            fetch.read(resource, 0..size.min(SIGNATURE.len() as u64), &mut raw)?;
            // A file of another kind is distinguished from one that was cut off.
            return fault(0, if raw.starts_with(&SIGNATURE) { problem } else { Problem::NoSignature });
        }
        fetch.read(resource, 0..SIGNATURE.len() as u64, &mut raw)?;
        if raw != SIGNATURE {
            return fault(0, Problem::NoSignature);
        }
        let postscript = size - BLOCK;
        let mut bytes = Vec::new();
        if let Err(problem) = simple_chunk(resource, postscript, size, fetch, chunk_scratch, &mut bytes)? {
            return fault(postscript, problem);
        }
        let footer = match footer_offset(&bytes, &chunk_scratch.places, postscript) {
            Ok(footer) => footer,
            Err(problem) => return fault(postscript, problem),
        };
        if let Err(problem) = simple_chunk(resource, footer, postscript, fetch, chunk_scratch, &mut bytes)? {
            return fault(footer, problem);
        }
        match Index::parse(&bytes, &chunk_scratch.places, footer) {
            Ok(index) => Ok(Ok(index)),
            Err(what) => {
                fault(footer, Problem::BadIndex { what: format!("the file's index is wrong: {what}") })
            }
        }
    }

    fn parse(bytes: &[u8], places: &[RecordSpan], footer: u64) -> Result<Index, String> {
        let message = |place: &RecordSpan| &bytes[place.start as usize..][..place.size as usize];
        let (head, entries) = places.split_first().ok_or("it has no records")?;
        let [version, n_chunks, n_records] = match field(&mut message(head)) {
            Some((1, Field::Bytes(metadata))) => numbers(metadata).ok_or("its head is no message")?,
            _ => return Err("its head is no message".into()),
        };
        if version != 1 {
            return Err(format!("its version is {version}, 1 is expected"));
        }
        if n_chunks != entries.len() as u64 {
            return Err(format!("the footer declares {n_chunks} chunks, the index lists {}", entries.len()));
        }
        let mut index =
            Index { offsets: Vec::new(), steps: CompactLengths::constant(0, 0), group: 1, n_records };
        let mut steps = Vec::with_capacity(entries.len());
        let (mut last, mut last_records, mut records) = (0, 0, 0_u64);
        for (n, place) in entries.iter().enumerate() {
            let [offset, _, in_chunk] = numbers(message(place)).ok_or("an entry is no message")?;
            if n == 0 {
                index.group = in_chunk;
            }
            let is_last = n + 1 == entries.len();
            if in_chunk == 0 || in_chunk > index.group || (!is_last && in_chunk != index.group) {
                return Err(format!("chunk {n} has {in_chunk} records, {} are expected", index.group));
            }
            if offset <= last || offset < SIGNATURE.len() as u64 || offset >= footer {
                return Err(format!("chunk {n} is at byte {offset}, the one before it at {last}"));
            }
            if n > 0 {
                steps.push(step(offset - last, last_records)?);
            }
            if n.is_multiple_of(STRIDE) {
                index.offsets.push(offset);
            }
            (last, last_records) = (offset, in_chunk);
            records = records.saturating_add(in_chunk);
        }
        if records != n_records {
            return Err(format!("the footer declares {n_records} records, its chunks have {records}"));
        }
        if !entries.is_empty() {
            steps.push(step(footer - last, last_records)?);
        }
        index.steps = CompactLengths::new(&steps);
        Ok(index)
    }

    /// Number of chunks.
    pub(super) fn n_chunks(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Where a chunk lies, up to the next.
    pub(super) fn span(&self, chunk: u64) -> (u64, u64) {
        let chunk = chunk as usize;
        let begin = chunk / STRIDE * STRIDE;
        let from = self.offsets[chunk / STRIDE] + self.steps.sum(begin..chunk);
        (from, from + u64::from(self.steps.get(chunk)))
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.offsets.capacity() * 8 + self.steps.bytes()
    }
}

/// The bytes from a chunk to the next. Each of its records has a byte of the file to itself (spec/tfds.md §3.1, "Chunk
/// end"), so the declared number can be checked before they are read.
fn step(bytes: u64, records: u64) -> Result<u32, String> {
    if records > bytes {
        return Err(format!("a chunk of {bytes} bytes declares {records} records"));
    }
    u32::try_from(bytes).map_err(|_| format!("a chunk takes {bytes} bytes, less than 4 GiB is expected"))
}

fn check_size(size: u64) -> Result<(), Problem> {
    if size >= 2 * BLOCK && size.is_multiple_of(BLOCK) {
        return Ok(());
    }
    Err(Problem::CutOff { size })
}

/// The place of the footer, of which all records of the postscript say the same.
fn footer_offset(bytes: &[u8], places: &[RecordSpan], postscript: u64) -> Result<u64, Problem> {
    let bad = |what| Err(Problem::BadIndex { what });
    let mut said = places.iter().map(|place| numbers(&bytes[place.start as usize..][..place.size as usize]));
    let first = said.next().flatten();
    let Some([footer, MAGIC]) = first else {
        return Err(Problem::NoPostscript);
    };
    if said.any(|other| other != first) {
        return bad("the file's last records differ, the same one several times is expected".into());
    }
    if footer < SIGNATURE.len() as u64 || footer >= postscript {
        return bad(format!("the index is declared at byte {footer} of the {postscript} before its end"));
    }
    Ok(footer)
}

/// Reads the records of a chunk that ends before `end`; their places are in [`ChunkScratch::places`].
fn simple_chunk(
    resource: ResourceId,
    chunk: u64,
    end: u64,
    fetch: &dyn Fetch,
    chunk_scratch: &mut ChunkScratch,
    into: &mut Vec<u8>,
) -> Result<Result<(), Problem>, Error> {
    let limit = fetch.largest().min(u64::from(u32::MAX));
    let mut bytes = Vec::new();
    let first = end.min(chunk + FIRST_READ);
    fetch.read(resource, chunk..first, &mut bytes)?;
    let header = match chunk::header(Raw { bytes: &bytes, base: chunk, chunk }) {
        Ok(header) => header,
        Err(problem) => return Ok(Err(problem)),
    };
    if header.data_size > end {
        return Ok(Err(Problem::Truncated { needed: header.data_size, left: end - chunk }));
    }
    let needed = advance(chunk, HEADER + header.data_size);
    if needed > end {
        return Ok(Err(Problem::Truncated { needed: needed - chunk, left: end - chunk }));
    }
    if needed - chunk > limit {
        return Ok(Err(Problem::TooLarge { found: needed - chunk, limit }));
    }
    if needed > first {
        fetch.read(resource, first..needed, &mut bytes)?;
    }
    into.clear();
    Ok(chunk::records(Raw { bytes: &bytes, base: chunk, chunk }, limit, chunk_scratch, into).map(|_| ()))
}
