//! Truncated reading (§9.3): the pipeline delivers whole sequences, one at a time; rows take pieces of equal length.
//!
//! Rows are filled by parsed lengths, which only decoded sequences have, so this happens where minibatches are handed
//! out, in plan order. What waits in the rows is part of the state after a minibatch, by number and sweep; a restored
//! source fetches it anew, transforms it as before and cuts it where the data end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tesson_core::identity::Identity;
use tesson_core::{Error, Index, StreamInfo, UsageError};
use tesson_plan::{
    BatchSlot, Cursor, Demand, EqualSteps, PendingSequence, PlanSpec, Planned, Rows, RowsShape, RowsState,
    Segment, Sharing, Steps,
};

use super::Source;
use super::equal_steps::StepProgress;
use crate::arrays::Arrays;
use crate::deliver::{Packed, Taken};
use crate::minibatch::Minibatch;
use crate::pack::{self, Pools, Whole};

/// How sequences are cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncationSpec {
    /// Samples of a row in one minibatch, at least 1.
    pub length: u64,
    /// Samples that a row of one sequence only repeats (§9.4), fewer than `length`.
    pub right_splice: u64,
    /// Whether sparse streams stay sparse; in the reference they come out dense.
    pub keep_sparse: bool,
}

/// What a row takes in a state and in memory at least.
const ROW_BYTES: u64 = 256;

/// The rows of a source, and what they are for.
pub(super) struct Truncated {
    spec: TruncationSpec,
    /// Whether minibatches at the end of the data are left out in which a row is not full.
    drops_last: bool,
    /// What the last call asked for.
    pub(super) demand: Option<Demand>,
    pub(super) rows: Rows<Arc<Whole>>,
    /// Under equal steps: the progress through them.
    pub(super) progress: Option<StepProgress>,
    /// The plan has come to its end: nothing more is fetched.
    over: bool,
    /// The position after the sequences that have been fetched.
    pub(super) fetched: Cursor,
    /// Faults charged so far, those of sequences fetched since the last minibatch included.
    faults: u64,
    /// Bytes of sequences fetched since they were last counted.
    bytes: u64,
    pools: Pools,
}

impl TruncationSpec {
    /// Writes what changes values.
    pub(super) fn write(&self, identity: Identity) -> Identity {
        identity
            .field("truncationLength", self.length)
            .field("rightSplice", self.right_splice)
            .field("keepSparse", self.keep_sparse)
    }

    /// A stream as truncated minibatches have it.
    pub(super) fn deliver(&self, stream: &Arc<StreamInfo>) -> Arc<StreamInfo> {
        match stream.sparse && !self.keep_sparse {
            true => Arc::new(StreamInfo::clone(stream).with_sparse(false)),
            false => stream.clone(),
        }
    }
}

impl Truncated {
    /// `equal_steps`: whether each rank has as many steps, although ranks have sequences of their own.
    pub(super) fn new(
        spec: TruncationSpec,
        (n_streams, memory_limit): (usize, u64),
        drops_last: bool,
        equal_steps: bool,
    ) -> Truncated {
        Truncated {
            spec,
            drops_last,
            demand: None,
            rows: Rows::new(0, 1, 0),
            progress: equal_steps.then(StepProgress::default),
            over: false,
            fetched: Cursor::default(),
            faults: 0,
            bytes: 0,
            pools: Pools::new(n_streams, usize::try_from(memory_limit).unwrap_or(usize::MAX)),
        }
    }

    /// Whether rows make no minibatch any more, if nothing is fetched for them.
    fn ends_with<T: Clone>(&self, rows: &Rows<T>, share: &Share) -> bool {
        let lacks = |workers: u64| !rows.serve(workers as usize);
        rows.is_empty() || self.drops_last && !rows.are_full() || share.serves_all.is_some_and(lacks)
    }

    /// Whether there is no further minibatch, as far as is known.
    fn is_over(&self, share: &Share) -> bool {
        self.progress.is_none() && self.over && self.ends_with(&self.rows, share)
    }

    /// The position after what has been fetched, with the running steps.
    fn after(&self) -> Cursor {
        let steps = self.progress.as_ref().map_or(Steps::default(), |progress| progress.steps);
        Cursor { steps, ..self.fetched }
    }

    /// The row that is to be given another sequence, if there is any for it.
    fn wants(&self) -> Option<usize> {
        let may_take = match &self.progress {
            Some(progress) => !progress.idle && progress.steps.hold(self.fetched),
            None => true,
        };
        self.rows.hungry().filter(|_| may_take && !self.over)
    }

    /// What was asked for is to be worked out again.
    pub(super) fn reset(&mut self) {
        self.demand = None;
    }
}

/// How many rows there are, and whose.
pub(super) struct Share {
    /// Rows that this worker fills.
    filled: u64,
    /// What it fetches.
    pub(super) fetch: Demand,
    /// Of the filled rows it delivers every `workers`-th, from `rank` on.
    workers: u64,
    rank: u64,
    /// The number of workers, if the data end where one of them has nothing.
    serves_all: Option<u64>,
}

impl Share {
    /// Leaves the segments of other workers' rows out, and numbers the own rows.
    fn keep_own<T>(&self, pieces: &mut Vec<Segment<T>>) {
        let (workers, rank) = (self.workers as u32, self.rank as u32);
        pieces.retain(|piece| piece.row % workers == rank);
        pieces.iter_mut().for_each(|piece| piece.row /= workers);
    }
}

/// A truncated minibatch that nothing has been read for.
#[derive(Debug, Default)]
pub struct TruncatedPlan {
    /// The segments, row by row.
    pub segments: Vec<Segment<Planned>>,
    /// Whether a sweep ends with one of them.
    pub sweep_end: bool,
}

impl Source {
    /// The next truncated minibatch.
    pub(super) fn next_truncated(
        &mut self,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        let share = self.share_of_rows(demand)?;
        if self.truncated().demand != Some(demand) || self.demand.is_none() {
            self.retarget_rows(demand, &share)?;
        }
        if self.has_equal_steps() && !self.begin_steps(demand, &share)? {
            self.ended = true;
            return Ok(None);
        }
        while let Some(row) = self.truncated().wants() {
            let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
            match pipeline.take(interrupted) {
                Ok(Taken::Made(packed)) => self.fill(row, packed)?,
                Ok(Taken::End) => self.truncated_mut().over = true,
                Ok(Taken::Outgrown) => unreachable!("sequences are counted before they are truncated"),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(e) => return Err(self.failed.insert(e).clone()),
            }
        }
        if self.truncated().is_over(&share) {
            self.ended = true;
            return Ok(None);
        }
        let repeats = self.has_equal_steps() && self.plan.equal_steps == Some(EqualSteps::Repeat);
        if repeats && self.truncated().rows.is_empty() {
            self.repeat(&share)?;
        }
        self.hand_out(&share).map(Some)
    }

    /// Minibatches of a plan, if every sequence is as long as the index says.
    pub(super) fn truncated_steps(
        &self,
        plan: PlanSpec,
        index: &Index,
        demand: Demand,
    ) -> Result<u64, Error> {
        let mut steps = 0;
        self.for_each_rows(plan, index, demand, |_| {
            steps += 1;
            true
        })?;
        Ok(steps)
    }

    /// Shows which segments of which sequences truncated minibatches hold, from the start, without reading data: as if every
    /// sequence were as long as the index says. One that is shorter, for its faults, moves what follows it. `each` says
    /// whether to go on.
    ///
    /// # Errors
    /// As [`Source::plan`], and a source that does not truncate.
    pub fn plan_truncated(
        &mut self,
        demand: Demand,
        each: impl FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        let index = self.indexed()?.index.clone();
        if self.truncated.is_none() {
            return Err(UsageError::new(
                "whole sequences are read, there are no segments to be planned".into(),
            )
            .into());
        }
        self.for_each_rows(self.plan.clone(), &index, demand, each)
    }

    fn for_each_rows(
        &self,
        plan: PlanSpec,
        index: &Index,
        demand: Demand,
        mut each: impl FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        demand.validate()?;
        let share = self.share_of_rows(demand)?;
        if self.has_equal_steps() {
            return self.for_each_step(plan, index, demand, &share, each);
        }
        let mut rows = self.empty_rows(&share);
        let mut planned = TruncatedPlan::default();
        let mut give = |rows: &mut Rows<Planned>| {
            planned.segments.clear();
            planned.sweep_end = rows.take(&mut planned.segments);
            share.keep_own(&mut planned.segments);
            each(&planned)
        };
        let mut goes_on = true;
        super::plan::for_each_plan(plan, index, share.fetch, |fetched| {
            for &planned in &fetched.own {
                let counted = index.lengths(planned.chunk as usize).get(planned.sequence as usize);
                let length = fetched.keep_of_last.map_or(counted, |keep| keep.min(counted));
                // One sequence a plan, and a row that is full gives way to the next one before it is asked for.
                while goes_on && rows.hungry().is_none() {
                    goes_on = give(&mut rows);
                }
                let Some(row) = rows.hungry() else { return false };
                // No state is made of them.
                let waits =
                    PendingSequence { sequence: 0, sweep_end: fetched.sweep_end, sweep: 0, keep: None };
                rows.push(row, planned, waits, length);
            }
            if fetched.own.is_empty() && fetched.sweep_end {
                rows.sweep_ended();
            }
            goes_on
        })?;
        while goes_on && !self.truncated().ends_with(&rows, &share) {
            goes_on = give(&mut rows);
        }
        Ok(())
    }

    pub(super) fn truncated(&self) -> &Truncated {
        self.truncated.as_ref().expect("asked in truncated reading only")
    }

    pub(super) fn truncated_mut(&mut self) -> &mut Truncated {
        self.truncated.as_mut().expect("asked in truncated reading only")
    }

    /// The rows of all workers.
    pub(super) fn rows_shape(&self, demand: Demand) -> RowsShape {
        let spec = self.truncated().spec;
        // A row holds a sequence at a time.
        let n = (demand.samples / spec.length).min(self.plan.most_sequences.unwrap_or(u64::MAX)).max(1);
        let length = u32::try_from(spec.length).unwrap_or(u32::MAX);
        RowsShape { n, length, right_splice: spec.right_splice as u32 }
    }

    /// The rows that this worker fills, empty.
    pub(super) fn empty_rows<T: Clone>(&self, share: &Share) -> Rows<T> {
        let spec = self.truncated().spec;
        let length = u32::try_from(spec.length).unwrap_or(u32::MAX);
        Rows::new(share.filled as usize, length, spec.right_splice as u32)
    }

    fn share_of_rows(&self, demand: Demand) -> Result<Share, UsageError> {
        let Demand { samples, workers, rank } = demand;
        let length = self.truncated().spec.length;
        let shape = self.rows_shape(demand);
        let all = shape.n;
        if workers > all {
            return Err(UsageError::new(format!(
                "{workers} workers share the rows of a minibatch, of which a size of {samples} samples in pieces of {length} has {all}; choose a larger size or fewer workers"
            )));
        }
        let share = match self.plan.sharing {
            Sharing::Chunk => Share {
                filled: shape.share(workers, rank),
                fetch: Demand { samples: 1, workers, rank },
                workers: 1,
                rank: 0,
                serves_all: None,
            },
            Sharing::Position => Share {
                filled: all,
                fetch: Demand { samples: 1, workers: 1, rank: 0 },
                workers,
                rank,
                serves_all: (self.plan.equal_steps == Some(EqualSteps::Drop)).then_some(workers),
            },
        };
        // Those of all ranks are filled where their steps are counted.
        let filled = if self.has_equal_steps() { all } else { share.filled };
        if filled > self.memory_limit / ROW_BYTES {
            return Err(UsageError::new(format!(
                "a minibatch of {samples} samples in pieces of {length} has {all} rows, for which memory is too small; choose a smaller size or a larger `memoryLimit`"
            )));
        }
        Ok(share)
    }

    /// Makes the pipeline deliver sequences from after the last minibatch handed out, and fills the rows with what waited
    /// there.
    fn retarget_rows(&mut self, demand: Demand, share: &Share) -> Result<(), Error> {
        let saved = self.state.rows.clone().unwrap_or_default();
        let n = saved.rows.len() as u64;
        if !saved.is_empty() && n != share.filled {
            return Err(UsageError::new(format!(
                "sequences that are not finished wait in {n} rows, the call asks for {}; keep the size and the workers until the data end, or restore a state in which nothing waits",
                share.filled
            ))
            .into());
        }
        if self.has_equal_steps() {
            self.retarget_steps(demand, share)?;
        } else {
            self.retarget_indexed(share.fetch)?;
        }
        let mut rows = self.empty_rows(share);
        self.fetch_again(&saved, &mut rows)?;
        let fetched = Cursor { steps: Steps::default(), ..self.state.cursor };
        let faults = self.state.faults;
        let truncated = self.truncated_mut();
        truncated.rows = rows;
        (truncated.demand, truncated.over) = (Some(demand), false);
        (truncated.fetched, truncated.faults, truncated.bytes) = (fetched, faults, 0);
        Ok(())
    }

    /// Fetches what a state says of the rows.
    fn fetch_again(&mut self, saved: &RowsState, rows: &mut Rows<Arc<Whole>>) -> Result<(), Error> {
        let index = self.indexed()?.index.clone();
        let pipeline = self.pipeline.as_ref().ok_or(Error::Cancelled)?;
        // Where nothing waits there may have been another number of rows.
        for (number, row) in saved.rows.iter().enumerate().filter(|(_, row)| !row.waiting.is_empty()) {
            for &waits in &row.waiting {
                let n = index.n_sequences();
                if waits.sequence >= n {
                    let what =
                        format!("the state's rows hold sequence {}, the corpus has {n}", waits.sequence);
                    return Err(UsageError::new(what).into());
                }
                let chunk = index.chunk_of_sequence(waits.sequence);
                let sequence = waits.sequence - index.chunk(chunk).first_sequence;
                let planned = Planned { chunk: chunk as u32, sequence: sequence as u32 };
                let packed = pipeline.single(planned, waits.sweep, waits.keep)?;
                let length = length_of(&packed);
                rows.push(number, whole(packed), waits, length);
            }
            if !rows.set_cursor(number, row.cursor) {
                let what = format!(
                    "row {number} of the state stands at sample {} of a shorter sequence",
                    row.cursor
                );
                return Err(UsageError::new(what).into());
            }
        }
        Ok(())
    }

    /// Puts what was fetched into a row; its faults are charged here.
    fn fill(&mut self, row: usize, mut packed: Packed) -> Result<(), Error> {
        let faults = self.charge(&packed.charges, packed.passed, self.truncated().faults)?;
        let (data_end, sweep_end, after) = (packed.data_end, packed.sweep_end, packed.after);
        let refused = packed.refused.take();
        let waits = packed.first.map(|first| self.waits(first, &packed)).transpose()?;
        let truncated = self.truncated_mut();
        (truncated.faults, truncated.fetched, truncated.over) = (faults, after, data_end);
        match waits.filter(|_| !packed.arrays.keys.is_empty() && refused.is_none()) {
            Some(waits) => self.put(row, packed, waits)?,
            None if sweep_end => truncated.rows.sweep_ended(),
            None => {}
        }
        refused.map_or(Ok(()), Err)
    }

    /// Puts a sequence into a row, if memory allows.
    pub(super) fn put(&mut self, row: usize, packed: Packed, waits: PendingSequence) -> Result<(), Error> {
        let limit = self.memory_limit / 2;
        let truncated = self.truncated_mut();
        let length = length_of(&packed);
        let whole = whole(packed);
        truncated.bytes += whole.bytes() as u64;
        truncated.rows.push(row, whole, waits, length);
        if truncated.bytes > limit {
            truncated.bytes = truncated.rows.held().map(|whole| whole.bytes() as u64).sum();
            if truncated.bytes > limit {
                let what = format!(
                    "the sequences that wait in {} rows take {} bytes; choose a smaller size, or a `memoryLimit` of more than twice as much",
                    truncated.rows.len(),
                    truncated.bytes
                );
                return Err(self.failed.insert(UsageError::new(what).into()).clone());
            }
        }
        Ok(())
    }

    /// What a state says of a sequence that has been fetched.
    fn waits(
        &mut self,
        BatchSlot { planned, sweep, .. }: BatchSlot,
        packed: &Packed,
    ) -> Result<PendingSequence, Error> {
        let first = self.indexed()?.index.chunk(planned.chunk as usize).first_sequence;
        let sequence = first + u64::from(planned.sequence);
        Ok(PendingSequence { sequence, sweep_end: packed.sweep_end, sweep, keep: packed.keep_of_last })
    }

    /// Packs the next minibatch out of the rows.
    fn hand_out(&mut self, share: &Share) -> Result<Minibatch, Error> {
        let (streams, memory_limit) = (self.streams.clone(), self.memory_limit);
        let truncated = self.truncated_mut();
        let mut pieces: Vec<Segment<Arc<Whole>>> = Vec::new();
        let mut sweep_end = truncated.rows.take(&mut pieces);
        share.keep_own(&mut pieces);
        let n_samples = pieces.iter().map(|p| u64::from(p.samples.1 - p.samples.0)).sum();
        let bytes = pack::dense_bytes(&streams, n_samples);
        if bytes > memory_limit / 2 {
            let what = format!(
                "the minibatch takes {bytes} bytes, half of `memoryLimit` is {}; choose a smaller size, or `keepSparse` for sparse streams",
                memory_limit / 2
            );
            return Err(self.failed.insert(UsageError::new(what).into()).clone());
        }
        let own = (share.filled + share.workers - 1 - share.rank) / share.workers;
        let steps = u32::try_from(truncated.spec.length).unwrap_or(u32::MAX);
        let batches = pack::pack_segments(&streams, &pieces, (steps, own as u32), &truncated.pools);
        let keys = pack::segment_keys(&pieces);
        if self.has_equal_steps() {
            sweep_end = self.step_is_given(share);
        } else {
            self.ended = self.truncated().is_over(share);
        }
        let truncated = self.truncated();
        let (after, faults, state) = (truncated.after(), truncated.faults, truncated.rows.state());
        self.counters
            .samples
            .fetch_add(batches.first().map_or(0, |s| s.n_samples() as u64), Ordering::Relaxed);
        self.counters.minibatches.fetch_add(1, Ordering::Relaxed);
        self.counters.sequences.fetch_add(pieces.len() as u64, Ordering::Relaxed);
        let consumed = self.state.consumed.take().filter(|c| c.is_ahead_of(after));
        self.state = self.state_at(after, faults);
        self.state.consumed = consumed;
        self.state.rows = Some(Arc::new(state));
        Ok(Minibatch { arrays: Arrays::new(batches, keys), sweep_end, resume: self.state.clone() })
    }
}

/// Samples of a sequence that has been fetched.
pub(super) fn length_of(packed: &Packed) -> u32 {
    packed.arrays.streams.iter().map(|s| s.n_samples() as u32).max().unwrap_or(0)
}

fn whole(packed: Packed) -> Arc<Whole> {
    let (streams, keys) = packed.arrays.into_parts();
    Arc::new(Whole { streams, keys })
}
