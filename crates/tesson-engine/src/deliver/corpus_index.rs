//! The two sources of minibatches: an indexed corpus, or one whose index grows while it is read in order.

use std::sync::Arc;

use tesson_core::{ChunkAccess, Corpus, Index};

use super::batch_files::RunResources;
use crate::block::BlockTable;

/// A corpus with its complete index, divided into blocks.
#[derive(Clone)]
pub(crate) struct IndexedBlocks {
    pub(crate) index: Arc<Index>,
    pub(crate) corpus: Arc<dyn Corpus>,
    pub(crate) table: Arc<BlockTable>,
}

impl IndexedBlocks {
    /// True if fetching a few sequences reads less than loading their blocks.
    pub(super) fn reads_rows(&self) -> bool {
        self.corpus.facts().access != ChunkAccess::WholeOnly && !self.table.has_large_whole()
    }
}

/// The index that the corpus is read by.
#[derive(Clone)]
pub(crate) enum CorpusIndex {
    /// An index is complete.
    Indexed(IndexedBlocks),
    /// The index grows with what is decoded, in order.
    Growing(RunResources),
}

impl CorpusIndex {
    /// The blocks, where an index is complete.
    pub(super) fn blocks(&self) -> Option<&IndexedBlocks> {
        match self {
            CorpusIndex::Indexed(blocks) => Some(blocks),
            CorpusIndex::Growing(_) => None,
        }
    }

    /// The blocks of a corpus that is read by them.
    pub(super) fn indexed(&self) -> &IndexedBlocks {
        self.blocks().expect("growing corpora are read in runs")
    }

    /// Storage bytes and sequences, 0 where the index still grows.
    pub(super) fn size(&self) -> CorpusSize {
        let Some(IndexedBlocks { index, table, .. }) = self.blocks() else { return CorpusSize::default() };
        let storage = index.chunk_ids().map(|c| index.chunk(c).bytes).sum();
        let (n_sequences, n_chunks) = (index.n_sequences(), index.n_chunks());
        CorpusSize { storage, n_sequences, n_chunks, n_blocks: table.len() }
    }
}

/// How large an indexed corpus is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CorpusSize {
    /// Storage bytes.
    pub(super) storage: u64,
    pub(super) n_sequences: u64,
    pub(super) n_chunks: usize,
    pub(super) n_blocks: usize,
}

impl CorpusSize {
    /// Storage bytes of a sequence, on the average.
    pub(super) fn of_sequence(self) -> u64 {
        self.storage / self.n_sequences.max(1)
    }

    /// Storage bytes of a chunk, on the average.
    pub(super) fn of_chunk(self) -> u64 {
        self.storage / self.n_chunks.max(1) as u64
    }

    /// Storage bytes of a block, on the average.
    pub(super) fn of_block(self) -> u64 {
        self.storage / self.n_blocks.max(1) as u64
    }
}
