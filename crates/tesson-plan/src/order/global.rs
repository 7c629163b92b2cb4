//! Tesson's `global` order: a keyed permutation of all sequences of a sweep, without a table of them.
//!
//! Sequence `n` of sweep `w` is number `permutation(seed, w)(n)` of the corpus
//! ([`Permutation`](crate::rng::Permutation)); ranks share by chunk. Only a table of the chunks and a few sequences
//! are held, so any sequence of any sweep is found in a fraction of a microsecond (for a small corpus in a few),
//! however large the corpus. To reach full bandwidth, the storage needs random access by sequence.
//!
//! Version 2: up to 1,024 sequences are drawn into a table, and the first two are swapped under every other key.
//! Version 1 was uneven for few sequences (decision 23). A sort by hash was rejected because it needs a table, a
//! linear congruence because it is visibly not random.

use tesson_core::{ChunkId, Index, SequenceId};

use super::interval_table::IntervalTable;
use super::lookahead::Lookahead;
use super::sweep::{self, SweepOrder};
use super::{
    Definition, Next, Order, OrderInfo, OrderMemory, OrderSpec, Parameters, SequenceStart, SharedUnit,
};
use crate::Cursor;
use crate::rng::Permutation;

/// All sequences shuffled by a keyed permutation, in which any position is reached at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The seed; each sweep has its own permutation.
    pub seed: u64,
}

impl Global {
    /// The order of a sweep of any `n` things, as a function from a position below `n` to a thing. Its memory and
    /// time do not grow with `n`.
    pub fn of_sweep(self, n: u64, sweep: u64) -> impl Fn(u64) -> u64 + Send + Sync + 'static {
        let permutation = Permutation::new(n, self.seed, sweep);
        move |position| permutation.get(position)
    }
}

pub(super) static INFO: OrderInfo = OrderInfo {
    name: "global",
    version: 2,
    code: 3,
    is_local: false,
    is_shuffled: true,
    plans_while_indexing: false,
    stops_when_full: false,
    shared_unit: SharedUnit::Chunks,
    redraws_shares: false,
    window_start: None,
    with: |Parameters { seed, .. }| Some(OrderSpec::Global(Global { seed: seed? })),
};

impl Definition for Global {
    fn info(&self) -> &'static OrderInfo {
        &INFO
    }

    fn parameters(&self) -> Parameters {
        Parameters { seed: Some(self.seed), window: None }
    }

    fn build(&self) -> Box<dyn Order> {
        Box::new(GlobalOrder {
            seed: self.seed,
            sweep: 0,
            permutation: Permutation::new(1, self.seed, 0),
            chunks: None,
            n: 0,
            n_chunks: 0,
            lookahead: Lookahead::default(),
        })
    }

    fn home(&self, _: &Index, planned: SequenceId, _: u64) -> u64 {
        planned.chunk.into()
    }

    fn needs_all_chunks(&self, _: &Index) -> bool {
        true
    }
}

/// The order at work: the permutation of the current sweep, and the first sequences of chunks.
struct GlobalOrder {
    seed: u64,
    sweep: u64,
    permutation: Permutation,
    /// Worked out for the first sequences in a row: a few are found in the index as well.
    chunks: Option<ChunkTable>,
    n: u64,
    n_chunks: usize,
    lookahead: Lookahead,
}

/// Where chunks begin.
enum ChunkTable {
    /// So many that have as many sequences each.
    Alike { sequences: u64 },
    /// The first sequence of each; one more at the end.
    Any { firsts: Vec<u64>, table: IntervalTable },
}

impl ChunkTable {
    fn new(index: &Index) -> ChunkTable {
        let (n, n_sequences) = (index.n_chunks(), index.n_sequences());
        if let Some(chunk) = index.common_chunk() {
            return ChunkTable::Alike { sequences: chunk.n_sequences.into() };
        }
        let begins = index.chunk_ids().map(|c| index.chunk(c).first_sequence);
        let mut firsts = Vec::with_capacity(n + 1);
        firsts.extend(begins.chain([n_sequences]));
        let mut table = IntervalTable::default();
        table.rebuild(n, n_sequences, |c| firsts[c]);
        ChunkTable::Any { firsts, table }
    }

    /// The chunk that holds a sequence, and where in it.
    #[inline]
    fn find(&self, number: u64) -> SequenceId {
        match self {
            ChunkTable::Alike { sequences: 1, .. } => {
                SequenceId { chunk: ChunkId(number as u32), sequence: 0 }
            }
            ChunkTable::Alike { sequences, .. } => SequenceId {
                chunk: ChunkId((number / sequences) as u32),
                sequence: (number % sequences) as u32,
            },
            ChunkTable::Any { firsts, table } => {
                let chunk = table.find(number, |c| firsts[c]);
                SequenceId { chunk: ChunkId::at(chunk), sequence: (number - firsts[chunk]) as u32 }
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            ChunkTable::Alike { .. } => 0,
            ChunkTable::Any { firsts, table } => firsts.capacity() * size_of::<u64>() + table.bytes(),
        }
    }
}

impl SweepOrder for GlobalOrder {
    fn enter(&mut self, index: &Index, sweep: u64) {
        if (self.n, self.n_chunks) != (index.n_sequences(), index.n_chunks()) {
            // The corpus is seen for the first time.
            self.lookahead.clear();
            (self.n, self.n_chunks) = (index.n_sequences(), index.n_chunks());
            self.chunks = None;
        } else if sweep == self.sweep {
            return;
        }
        self.sweep = sweep;
        self.permutation = Permutation::new(self.n, self.seed, sweep);
    }

    fn prepare(&mut self, index: &Index, from: u64) {
        if self.lookahead.holds(self.sweep, from) {
            return;
        }
        let GlobalOrder { permutation, chunks, lookahead, sweep, n, .. } = self;
        let chunks = chunks.get_or_insert_with(|| ChunkTable::new(index));
        let find = |sequence| {
            let planned = chunks.find(permutation.get(sequence));
            (planned, planned.chunk.into())
        };
        lookahead.fill(index, *sweep, from..*n, find);
    }

    #[inline]
    fn prepared(&self, from: u64) -> &[Next] {
        self.lookahead.from(from)
    }

    fn sequence(&mut self, index: &Index, number: u64) -> SequenceId {
        let number = self.permutation.get(number);
        self.chunks.as_ref().map_or_else(|| index.sequence(number), |chunks| chunks.find(number))
    }

    fn finds_any(&self) -> bool {
        true
    }

    fn find(&mut self, index: &Index, at: &Cursor, sample: u64) -> SequenceStart {
        match index.common_length().map(u64::from) {
            Some(length) => {
                SequenceStart { number: sample.div_ceil(length), sample: sample.next_multiple_of(length) }
            }
            None => sweep::find(self, index, at.sweep, sample),
        }
    }
}

// Any chunk may be needed again until the sweep ends, so none retires.

impl OrderMemory for GlobalOrder {
    fn bytes(&self) -> usize {
        self.chunks.as_ref().map_or(0, ChunkTable::bytes) + self.permutation.bytes()
    }
}
