//! What the planner hands out: positions, planned sequences, and minibatches of them.

/// A position in the data, and what comes next there.
///
/// On local timelines (§8) position and sweep are those of this rank alone.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    /// Samples since the start, over all ranks and sweeps.
    pub position: u64,
    /// The sweep.
    pub sweep: u64,
    /// Number, in the sweep's order, of the sequence that comes next. On local timelines: of the next entry of the window.
    pub sequence: u64,
    /// On local timelines: where the window was begun.
    pub window: WindowStart,
}

/// Where a window of a local timeline (§8) was begun, before it was filled.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowStart {
    /// As stored the chunk, else the place in the order of the chunks.
    pub place: u64,
    /// The sweep whose order of chunks it is; 0 as stored.
    pub sweep: u64,
}

impl Cursor {
    /// A position whose sequence nobody has looked up: that of a rank without data.
    pub(crate) fn unplaced(position: u64) -> Cursor {
        Cursor { position, sweep: u64::MAX, sequence: u64::MAX, ..Cursor::default() }
    }

    /// Whether the sequence of this position has still to be looked up.
    pub(crate) fn is_unplaced(self) -> bool {
        self.sequence == u64::MAX
    }
}

/// A sequence, by its place in the corpus.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The chunk.
    pub chunk: u32,
    /// Number of the sequence within the chunk.
    pub sequence: u32,
}

/// A sequence's place in a minibatch of all ranks together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number in the minibatch, own and foreign sequences counted alike, in plan order.
    pub number: u64,
    /// Which sequence it is.
    pub planned: Planned,
    /// The sweep that brought it; a minibatch may cross sweep ends.
    pub sweep: u64,
}

/// One minibatch: which sequences, in which order, and the position after it.
#[derive(Debug, Default)]
pub struct BatchPlan {
    /// The sequences to deliver, in order.
    pub own: Vec<Planned>,
    /// Under [`Sharing::Position`](crate::Sharing::Position): those of the same minibatch that other ranks deliver,
    /// in order. Their faults are charged on every rank, so that all states are the same.
    pub foreign: Vec<Planned>,
    /// Whether the minibatch touched the end of a sweep.
    pub sweep_end: bool,
    /// Whether the data end here. See [`BatchPlan::is_end`].
    pub data_end: bool,
    /// The position after the minibatch.
    pub after: Cursor,
    /// Samples to keep of the last of the own sequences, where the data end inside it.
    pub keep_of_last: Option<u32>,
    /// Whether more would have fit.
    pub(crate) has_room: bool,
    /// Whether it was given up because it would have held too many sequences.
    pub(crate) too_large: bool,
    /// Where sweeps begin: their number, and the number of their first sequence in the minibatch.
    sweeps: Vec<(u64, u64)>,
    /// How the minibatch was dealt out: workers and rank, or (1, 0).
    dealt: (u64, u64),
}

impl BatchPlan {
    /// Whether this is no minibatch but the end itself. A minibatch without own sequences is not, as long as other
    /// ranks have theirs in it.
    pub fn is_end(&self) -> bool {
        self.data_end && self.own.is_empty() && self.foreign.is_empty()
    }

    /// The own sequences with their places.
    pub fn own_places(&self) -> impl Iterator<Item = Place> + '_ {
        let (workers, rank) = self.dealt;
        self.own.iter().zip(0..).map(move |(&planned, i)| self.place(i * workers + rank, planned))
    }

    /// The foreign sequences with their places.
    pub fn foreign_places(&self) -> impl Iterator<Item = Place> + '_ {
        let (workers, rank) = self.dealt;
        self.foreign.iter().zip(0..).map(move |(&planned, i): (_, u64)| {
            let (deal, other) = (i / (workers - 1), i % (workers - 1));
            self.place(deal * workers + other + u64::from(other >= rank), planned)
        })
    }

    fn place(&self, number: u64, planned: Planned) -> Place {
        let run = self.sweeps.partition_point(|&(_, first)| first <= number);
        let sweep = self.sweeps[..run].last().map_or(0, |&(sweep, _)| sweep);
        Place { number, planned, sweep }
    }

    /// Makes the plan empty, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.sweeps.clear();
        self.dealt = (1, 0);
        self.sweep_end = false;
        self.data_end = false;
        self.too_large = false;
        self.keep_of_last = None;
        self.has_room = false;
    }

    /// Makes the plan the end itself.
    pub(crate) fn drop_all(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.sweep_end = false;
        self.keep_of_last = None;
    }

    /// Says that what is added from now on belongs to this sweep.
    pub(crate) fn begin_sweep(&mut self, sweep: u64) {
        self.sweeps.push((sweep, self.own.len() as u64));
    }

    /// Keeps every `workers`-th sequence, from number `rank` on, and makes the others foreign.
    pub(crate) fn deal(&mut self, workers: u64, rank: u64) {
        if workers == 1 {
            return;
        }
        self.dealt = (workers, rank);
        let last = self.own.len().wrapping_sub(1) as u64;
        self.keep_of_last = self.keep_of_last.filter(|_| last % workers == rank);
        let (mut turn, mut kept) = (0, 0);
        for i in 0..self.own.len() {
            let planned = self.own[i];
            if turn == rank {
                self.own[kept] = planned;
                kept += 1;
            } else {
                self.foreign.push(planned);
            }
            turn = if turn + 1 == workers { 0 } else { turn + 1 };
        }
        self.own.truncate(kept);
    }
}
