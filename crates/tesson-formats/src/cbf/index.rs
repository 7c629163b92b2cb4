//! The index: the lengths in front of each chunk. Of what follows them nothing is read.

use tesson_core::{ChunkId, CompactLengths, DataError, Error, Fetch, Index, Parallelism};

use super::{FILE, Rules};

/// Bytes of lengths that are read at once.
const READ: u64 = 256 << 10;

/// Chunks that are indexed before the next ones are handed out.
const AT_ONCE: usize = 4096;

/// Reads all lengths, those of several chunks side by side. Those that do not add up to what the table says come back as
/// defects, in the order of the table.
pub(super) fn index(
    rules: &Rules,
    fetch: &dyn Fetch,
    parallelism: &dyn Parallelism,
) -> Result<(Index, Vec<DataError>), Error> {
    let (mut index, mut defects) = (Index::new(), Vec::new());
    for chunks in rules.chunks.chunks(AT_ONCE) {
        let first = index.n_chunks();
        let found = parallelism.map(chunks.len(), |i| lengths(rules, ChunkId::at(first + i), fetch));
        for (chunk, lengths) in chunks.iter().zip(found) {
            let (lengths, defect) = lengths?;
            index.push(lengths, chunk.bytes());
            defects.extend(defect);
        }
    }
    index.seal();
    Ok((index, defects))
}

/// The counted lengths of a chunk, and what is wrong with them.
type Lengths = (CompactLengths, Option<DataError>);

/// The counted lengths of a chunk's sequences.
fn lengths(rules: &Rules, number: ChunkId, fetch: &dyn Fetch) -> Result<Lengths, Error> {
    let chunk = &rules.chunks[number.index()];
    if chunk.n_sequences == 1 && !rules.checking {
        // The table says it. The reference's converter writes a chunk for each sequence (spec/cbf.md §5): millions of
        // small reads.
        return Ok((CompactLengths::constant(chunk.n_samples, 1), None));
    }
    let mut lengths: Vec<u32> = Vec::with_capacity(chunk.n_sequences as usize);
    let (mut at, end) = (chunk.offset, chunk.offset + chunk.prefix_bytes());
    let mut bytes = Vec::new();
    while at < end {
        let next = end.min(at + READ);
        fetch.read_over(FILE, at..next, &mut bytes)?;
        lengths.extend(bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)));
        fetch.progress(next - at);
        at = next;
    }
    Ok((CompactLengths::new(&lengths), rules.compare_lengths(number, &lengths).err()))
}
