//! Reading in order without an index: whole chunks, one after the other, each with its lengths in front.

use std::ops::Range;

use tesson_core::{ByteRun, Chunk, ChunkId, Element, Error, Fetch, Keys, Scratch, StreamingDecoder};

use super::decode::Decoder;
use super::value::Real;
use super::window::Window;
use super::{Cbf, FILE, Rules};

/// The largest chunk that is a piece, and how many of them a read could be: each worker holds one, and its columns.
pub(super) const LARGEST: u64 = 16 << 20;
pub(super) const AT_ONCE: u64 = 32;

impl StreamingDecoder for Cbf {
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        _scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error> {
        let first = after.map_or(0, |piece| chunks_of(&self.rules, piece).end);
        Ok(piece(&self.rules, first, target.min(fetch.largest())))
    }

    fn reads_itself(&self) -> bool {
        true
    }

    fn decode(
        &self,
        piece: ByteRun,
        _bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        match self.rules.element {
            Element::F64 => decode::<f64>(&self.rules, piece, fetch, scratch, out),
            _ => decode::<f32>(&self.rules, piece, fetch, scratch, out),
        }
    }
}

/// The chunks from `first` on that lie one behind the other and have no more than `target` bytes together, or the first
/// alone.
fn piece(rules: &Rules, first: usize, target: u64) -> Option<ByteRun> {
    let mut chunks = rules.chunks[first..].iter().filter(|chunk| chunk.n_sequences > 0);
    let start = chunks.next()?;
    let mut end = start.end;
    for chunk in chunks {
        if chunk.offset != end || chunk.end - start.offset > target {
            break;
        }
        end = chunk.end;
    }
    Some(ByteRun { resource: FILE, offset: start.offset, bytes: end - start.offset })
}

/// The chunks of a piece, empty ones around them included.
fn chunks_of(rules: &Rules, piece: ByteRun) -> Range<usize> {
    let first = rules.chunk_at(piece.offset);
    let end = piece.offset + piece.bytes;
    let n = rules.chunks[first..]
        .iter()
        .take_while(|c| c.n_sequences == 0 || (piece.offset..end).contains(&c.offset))
        .count();
    first..first + n
}

fn decode<E: Real>(
    rules: &Rules,
    piece: ByteRun,
    fetch: &dyn Fetch,
    scratch: &mut Scratch,
    out: &mut Chunk,
) -> Result<(), Error> {
    let chunks = chunks_of(rules, piece);
    let mut bytes = std::mem::take(&mut scratch.bytes);
    let mut decoder = Decoder::<E>::new(rules, scratch, out);
    let mut window = Window::new(fetch, &mut bytes);
    window.go(piece.offset..piece.offset + piece.bytes);
    let numbers = chunks.clone().filter(|&c| rules.chunks[c].n_sequences > 0);
    let done = numbers.map(ChunkId::at).try_for_each(|number| decoder.chunk(number, &mut window));
    scratch.bytes = bytes;
    decoder.finish(Keys::Consecutive(rules.chunks[chunks.start].first_sequence), scratch, out);
    done
}
