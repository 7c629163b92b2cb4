//! Parts of a chunk on their way to the output.
//!
//! A chunk can be written only once it is whole: its records stand behind a prefix as long as it has sequences. It is
//! written while the next one is made: as many bytes of it as come in for that one. So little more than one chunk is held,
//! and writing goes on evenly beside decoding.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use super::encode::Spares;
use super::records::Records;

/// Records of one column that go into one chunk.
pub(super) struct Part {
    pub(super) records: Arc<Records>,
    pub(super) bytes: Range<usize>,
}

/// The output, and what waits to be written to it.
pub(super) struct ChunkQueue<W> {
    pub(super) out: W,
    /// The finished chunk, as far as it has not been written: parts and the columns that they are of.
    waiting: VecDeque<(usize, Part)>,
    spares: Arc<Spares>,
}

impl<W: Write> ChunkQueue<W> {
    /// Written records' memory goes to `spares`.
    pub(super) fn new(out: W, spares: Arc<Spares>) -> ChunkQueue<W> {
        ChunkQueue { out, waiting: VecDeque::new(), spares }
    }

    /// Puts a part of a column behind those that wait.
    pub(super) fn put(&mut self, column: usize, part: Part) {
        self.waiting.push_back((column, part));
    }

    /// Writes waiting parts until they have had so many bytes, or nothing waits.
    pub(super) fn write(&mut self, bytes: u64) -> io::Result<()> {
        let mut written = 0;
        while written < bytes {
            let Some((column, Part { records, bytes })) = self.waiting.pop_front() else { break };
            self.out.write_all(&records.bytes()[bytes.clone()])?;
            written += bytes.len() as u64;
            // Parts of several chunks may share their records: the last one gives the memory back.
            if let Some(records) = Arc::into_inner(records) {
                self.spares.give(column, records);
            }
        }
        Ok(())
    }

    /// Writes all that waits.
    pub(super) fn write_all(&mut self) -> io::Result<()> {
        self.write(u64::MAX)
    }
}
