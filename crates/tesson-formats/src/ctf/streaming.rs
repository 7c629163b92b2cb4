//! Reading in order without an index: where to cut the file, and decoding what was cut.

use std::ops::Range;

use tesson_core::{ByteRun, Chunk, DataErrorKind, Error, Fetch, Scratch, StreamingDecoder};

use super::fault::CtfFault;
use super::parse::{AnyDecoder, NoSequences};
use super::rows::{Keying, RowId, RowRules};
use super::scan::{beyond_memory, most_read, too_large};
use super::{Ctf, FILE, Rules, located};

/// Bytes in which a boundary is looked for at first: pieces are cut one after the other, so that little should be read
/// for it. Tests have small files.
const FIRST_WINDOW: u64 = if cfg!(test) { 8 } else { 8 << 10 };

impl StreamingDecoder for Ctf {
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error> {
        cut(&self.rules, after, target, fetch, scratch)
    }

    fn reads_itself(&self) -> bool {
        false
    }

    fn decode(
        &self,
        piece: ByteRun,
        bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        decode(&self.rules, piece, bytes, fetch, scratch, out)?;
        // As the index pass says it; of a longer file only that can know.
        if out.n_sequences == 0 && piece.bytes == fetch.size(FILE)? {
            return Err(located(&self.rules, DataErrorKind::NoSequences, 0, 0));
        }
        Ok(())
    }
}

fn cut(
    rules: &Rules,
    after: Option<ByteRun>,
    target: u64,
    fetch: &dyn Fetch,
    scratch: &mut Vec<u8>,
) -> Result<Option<ByteRun>, Error> {
    let size = fetch.size(FILE)?;
    let offset = after.map_or(0, |piece| piece.offset + piece.bytes);
    if offset >= size {
        return Ok(None);
    }
    // The first piece begins with what comes before the first row.
    let start = offset.max(rules.prologue.start).min(size);
    let most = most_read(fetch);
    let mut wanted = target.clamp(1, most);
    loop {
        let end = start.saturating_add(wanted).min(size);
        let boundary =
            if end == size { Some(size) } else { last_start(&rules.rows, start..end, fetch, scratch)? };
        if let Some(boundary) = boundary {
            return Ok(Some(ByteRun { resource: FILE, offset, bytes: boundary - offset }));
        }
        if wanted == most {
            return Err(located(rules, too_large(wanted, fetch), start, 0));
        }
        // Twice as much each time: what is looked at again adds up to no more than what is read.
        wanted = wanted.saturating_mul(2).min(most);
    }
}

/// Where the last sequence begins that begins in this part of the file, behind its first byte, which begins a row.
///
/// Looks for it from the end on, no farther than it must.
fn last_start(
    rules: &RowRules,
    part: Range<u64>,
    fetch: &dyn Fetch,
    scratch: &mut Vec<u8>,
) -> Result<Option<u64>, Error> {
    let mut window = FIRST_WINDOW;
    loop {
        let from = part.start.max(part.end.saturating_sub(window));
        fetch.read_over(FILE, from..part.end, scratch)?;
        // Elsewhere than at the beginning the first byte may be amidst a row.
        let row = if from == part.start {
            Some(0)
        } else {
            scratch.iter().position(|&b| b == b'\n').map(|feed| feed + 1)
        };
        if let Some(boundary) = row.and_then(|row| Some(row + boundary(rules, &scratch[row..])?)) {
            return Ok(Some(from + boundary as u64));
        }
        if from == part.start {
            return Ok(None);
        }
        window = window.saturating_mul(4);
    }
}

/// Where the last sequence that begins behind the first byte, which begins a row, begins.
fn boundary(rules: &RowRules, bytes: &[u8]) -> Option<usize> {
    if rules.keying == Keying::Lines {
        return bytes.iter().rposition(|&b| b == b'\n').map(|feed| feed + 1);
    }
    // Backwards over the rows: the start of the last one whose id differs from the nearest id before it. An id that
    // runs into the end of the buffer is not known yet.
    let mut later: Option<(RowId<'_>, usize)> = None;
    let mut end = bytes.len();
    while end > 0 {
        let start = bytes[..end - 1].iter().rposition(|&b| b == b'\n').map_or(0, |feed| feed + 1);
        let id = rules.id(&bytes[start..]).0;
        if matches!(id, RowId::Number(_) | RowId::Text(_)) {
            match later {
                Some((next, at)) if next != id => return Some(at),
                _ => later = Some((id, start)),
            }
        }
        end = start;
    }
    None
}

fn decode(
    rules: &Rules,
    piece: ByteRun,
    bytes: &[u8],
    fetch: &dyn Fetch,
    scratch: &mut Scratch,
    out: &mut Chunk,
) -> Result<(), Error> {
    let skipped = rules.prologue.start.saturating_sub(piece.offset);
    let line = if piece.offset == 0 { rules.prologue.line } else { 0 };
    let mut decoder = AnyDecoder::new(rules, scratch, out);
    let rows = &bytes[(skipped as usize).min(bytes.len())..];
    let decoded = decoder.slice(rows, piece.offset + skipped, line);
    decoder.finish(scratch, out);
    decoded.map_err(|e| {
        let (kind, offset) = match e {
            NoSequences::Overflow { found, offset } => (CtfFault::IdOverflow { found }.into(), offset),
            NoSequences::TooLarge { found, offset } => (beyond_memory(found, fetch), offset),
            // Never shown: the piece is read by an index, in smaller parts.
            NoSequences::Outgrown => {
                scratch.outgrown = true;
                (beyond_memory(bytes.len() as u64, fetch), piece.offset)
            }
            NoSequences::NoId => {
                let what = "no sequence begins where one began when the file was cut".into();
                (DataErrorKind::Changed { what }, piece.offset)
            }
        };
        let before = &bytes[..(offset - piece.offset) as usize];
        let line = before.iter().filter(|&&b| b == b'\n').count() as u64;
        located(rules, kind, offset, line)
    })
}
