//! The source: what a training loop calls.

mod budget;
mod corpus;
mod faults;
mod identity;
mod keys;
mod open;
mod pass;
mod pipeline;
mod plan;
mod position;
mod runtime;
mod show;
mod steps;
mod truncated;

use std::path::Path;
use std::sync::Arc;

use tesson_core::{Error, Index, OptionName, OptionSetting, ResumeError, StreamInfo};
use tesson_memory::process_memory::ProcessMemory;
use tesson_plan::{
    Bucketing, Cursor, Demand, EqualSteps, JoinRules, Limit, PlanRefusal, PlanSpec, Planner, ResumeState,
    Share, Sharing,
};

use crate::deliver::{Packed, Pipeline, Taken};
use crate::executor::{Canceller, ProcessGuard};
use crate::fetch::Resources;
use crate::join::{IndexedSource, Parts};
use crate::minibatch::Minibatch;
use crate::refusal::EngineRefusal;
use crate::stats::{Counters, Stats};
use crate::transform::{DRAWS_VERSION, Transforms};
pub use budget::DEFAULT_MEMORY_LIMIT;
use faults::FaultLedger;
pub use open::{Purpose, SourceSpec};
use position::Position;
use runtime::Runtime;
pub use show::{Shown, ShownKey};
pub use steps::{KeyDelivery, PlannedStep, RunCalls, StepSequence};
use truncated::Truncated;

const SHARING_POSITION: OptionSetting = OptionName::set_to("sharing", "\"position\"");
pub use truncated::{SweepSequence, TruncatedPlan};

/// Reads a corpus in minibatches.
pub struct Source {
    corpus: SourceCorpus,
    streams: SourceStreams,
    plan: PlanSpec,
    frame_mode: bool,
    runtime: Runtime,
    faults: FaultLedger,
    position: Position,
    /// The hash of options in states of releases whose transforms drew other random numbers.
    former_options: Option<u64>,
    resources: Arc<Resources>,
    counters: Arc<Counters>,
    process_memory: Arc<ProcessMemory>,
    canceller: Canceller,
    /// The slots of truncated reading; a call that works on them takes them out.
    truncated: Option<Box<Truncated>>,
    pipeline: Option<Pipeline>,
    process: ProcessGuard,
}

/// The data that a source reads, and the rules for joining them.
struct SourceCorpus {
    parts: Parts,
    join: JoinRules,
    /// Sequences with these keys are left out; which ones is known when the corpus is indexed.
    exclude_keys: Vec<String>,
    /// All parts with their indexes, once that was asked for.
    joint: Option<IndexedSource>,
}

/// The streams of a source, and what is done with their samples.
struct SourceStreams {
    /// The streams as they are stored.
    stored: Vec<Arc<StreamInfo>>,
    /// The streams as they are handed out: transformed.
    delivered: Vec<Arc<StreamInfo>>,
    transforms: Arc<Transforms>,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.close();
    }
}

/// Reads a source's counters, also while another thread uses the source.
#[derive(Clone)]
pub struct StatsReader(Arc<Counters>);

impl StatsReader {
    pub(crate) fn new(counters: Arc<Counters>) -> StatsReader {
        StatsReader(counters)
    }

    /// The counters at this moment.
    pub fn read(&self) -> Stats {
        self.0.read()
    }
}

impl Source {
    /// The streams, in the order of the configuration.
    pub fn streams(&self) -> &[Arc<StreamInfo>] {
        &self.streams.delivered
    }

    /// The files that it reads, as the configuration names them.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.resources.files().iter().map(|(name, _)| &**name)
    }

    /// True if all ranks count on one timeline. They do not if the only deserializer is not composable: then each
    /// counts on its own.
    pub fn shares_a_timeline(&self) -> bool {
        !self.plan.order.is_local()
    }

    /// The time from one sample to the next, in units of 100 ns, where the first deserializer's samples are frames of
    /// recordings.
    pub fn frame_period(&self) -> Option<u32> {
        self.corpus.parts.primary().facts().frame_period
    }

    /// The counters at this moment.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Something that reads the counters while another thread uses the source.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader(self.counters.clone())
    }

    /// Something that ends a blocked call from another thread.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// The state after the last minibatch handed out.
    pub fn state(&self) -> &ResumeState {
        self.position.state()
    }

    /// The next minibatch of `samples` samples, for a single worker; `None` at the end of the data.
    ///
    /// # Errors
    /// Those of [`Source::next`].
    pub fn next_minibatch(&mut self, samples: u64) -> Result<Option<Minibatch>, Error> {
        self.next(Demand { samples, workers: 1, rank: 0 })
    }

    /// The next minibatch; `None` at the end of the data.
    ///
    /// # Errors
    /// Faults of data and storage are repeated by every call until a state is restored or [`Source::skip_failed`] is
    /// called. A demand that can never be met ([`Error::Usage`]) changes nothing.
    pub fn next(&mut self, demand: Demand) -> Result<Option<Minibatch>, Error> {
        self.next_interruptible(demand, &mut || false)
    }

    /// Like [`Source::next`], but ends with [`Error::Cancelled`] when `interrupted`, which is called every few
    /// hundredths of a second, returns true. Nothing is lost: the next call waits for the same minibatch.
    ///
    /// # Errors
    /// Those of [`Source::next`]. Where random draws are CNTK's, an interrupted call has to be repeated before one of another size or
    /// rank: its minibatch may have drawn already.
    pub fn next_interruptible(
        &mut self,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        self.check_process()?;
        demand.validate()?;
        if !self.position.may_continue()? {
            return Ok(None);
        }
        if self.position.was_interrupted_otherwise(demand) {
            self.check_draws("an interrupted call has to be repeated before one of another size or rank")?;
        }
        let sweeps = self.local_sweeps();
        let mut next = match self.truncated.take() {
            Some(mut truncated) => {
                let next = truncated.next(self, demand, interrupted);
                self.truncated = Some(truncated);
                next
            }
            None => self.next_whole(demand, interrupted),
        };
        self.position.note_interruption(matches!(next, Err(Error::Cancelled)).then_some(demand));
        if self.position.may_continue().is_err()
            && let Some(pipeline) = &mut self.pipeline
        {
            // The caller may never ask again, and an error that is kept keeps the source.
            pipeline.dismiss_workers();
        }
        if let Ok(Some(minibatch)) = &mut next {
            let ended = self.local_sweeps().zip(sweeps).map(|(after, before)| after.saturating_sub(before));
            minibatch.sweeps_ended = ended.unwrap_or(minibatch.sweep_end.into());
        }
        next
    }

    /// Puts the minibatch back that was handed out last, after which `after` is the state: the source is as it was before,
    /// and the next call gives it again. For callers that an interrupt, or an error of their own, has kept from using it.
    ///
    /// Returns whether that was possible: not where another minibatch was handed out since, nor where random draws are
    /// CNTK's, which go on. Its faults are charged, and written to the quarantine, again.
    pub fn put_back(&mut self, after: &ResumeState) -> bool {
        !self.streams.transforms.draw_in_order() && self.position.put_back(after)
    }

    /// The next minibatch of whole sequences.
    fn next_whole(
        &mut self,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        loop {
            if self.position.demand() != Some(demand) {
                self.retarget(demand, interrupted)?;
            }
            let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
            return match pipeline.take(interrupted) {
                Ok(Taken::Made(packed)) => self.deliver(packed),
                Ok(Taken::End) => {
                    self.position.end();
                    Ok(None)
                }
                Ok(Taken::Outgrown) => {
                    self.stop_growing(interrupted)?;
                    continue;
                }
                Err(Error::Cancelled) => Err(Error::Cancelled),
                Err(Error::Usage(e)) => {
                    // Another size may do: it begins where this one would have.
                    self.position.lose_aim();
                    Err(e.into())
                }
                Err(e) => Err(self.position.fail(e)),
            };
        }
    }

    /// Resumes after a minibatch that failed, leaving it out.
    pub fn skip_failed(&mut self) {
        self.position.forget_failure();
    }

    /// Refuses a state of a release whose transforms drew other random numbers.
    fn check_draws_version(&self, state: &ResumeState) -> Result<(), ResumeError> {
        let options = state.fingerprint.as_ref().map(|fingerprint| fingerprint.options);
        match self.former_options {
            Some(former) if options == Some(former) => {
                let what = "the version of the random numbers of transforms";
                Err(ResumeError::other_version(what, DRAWS_VERSION - 1, DRAWS_VERSION))
            }
            _ => Ok(()),
        }
    }

    /// Resumes from a state of this source, or of another one on the same corpus with the same options.
    ///
    /// # Errors
    /// [`tesson_core::ResumeError`] for a state of another corpus, order or version; the source is then as it was.
    pub fn restore(&mut self, state: &ResumeState) -> Result<(), Error> {
        self.restore_interruptible(state, &mut || false)
    }

    /// Like [`Source::restore`], but ends with [`Error::Cancelled`] when `interrupted`, which is called every few
    /// hundredths of a second while an index is made, returns true. The source is then as it was.
    ///
    /// # Errors
    /// Those of [`Source::restore`].
    pub fn restore_interruptible(
        &mut self,
        state: &ResumeState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.check_process()?;
        self.check_resumable()?;
        self.check_draws_version(state)?;
        state.check(self.position.fingerprint())?;
        self.position.lose_aim();
        let cursor = self.seek(None, interrupted, |planner, index| planner.restore(index, state, None))?;
        self.position.restore(state, cursor);
        if let Some(truncated) = &mut self.truncated {
            truncated.restore(state, &mut self.position);
        }
        Ok(())
    }

    /// Makes sure that states of this source can be restored.
    ///
    /// # Errors
    /// CNTK's random draws, which no state holds.
    pub fn check_resumable(&self) -> Result<(), Error> {
        self.check_draws("no state can be saved or restored")
    }

    fn check_draws(&self, what: &'static str) -> Result<(), Error> {
        if self.streams.transforms.draw_in_order() {
            Err(EngineRefusal::DrawsOfHistory { what }.into())
        } else {
            Ok(())
        }
    }

    /// Ends all threads and closes all files. Minibatches already handed out stay valid.
    pub fn close(&mut self) {
        self.canceller.cancel();
        self.process.end(self.pipeline.take());
    }

    fn check_process(&self) -> Result<(), Error> {
        Ok(self.process.check("the source")?)
    }

    /// Makes the pipeline work for a demand, after the last minibatch handed out.
    fn retarget(&mut self, demand: Demand, interrupted: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        self.position.check_share(demand)?;
        if self.counts_by_rank(demand) && self.corpus.joint.is_none() {
            self.stop_growing(interrupted)?;
        }
        let from = self.position.begins_at().clone();
        // If the demand is refused nothing is under way, and the next call retargets again.
        self.position.lose_aim();
        let started = self.counters.read().minibatches > 0 || from.cursor != Cursor::default();
        let cursor = self.seek(Some(demand), interrupted, |planner, index| {
            if started { planner.restore(index, &from, Some(demand)) } else { planner.start(index, demand) }
        })?;
        self.warn_if_without_data(demand);
        self.warn_of_other_buckets(demand);
        self.position.aim(demand, cursor);
        if self.is_without_data(demand) {
            // It stands at the end, which is that of this rank alone.
            self.position.stand_at(cursor);
        }
        Ok(())
    }

    /// Moves the planner with `to`, after completing the index if the position is past what has been read so far. Prefetching
    /// starts there for `demand`.
    fn seek(
        &mut self,
        demand: Option<Demand>,
        interrupted: &mut dyn FnMut() -> bool,
        to: impl Fn(&mut Planner, &Index) -> Result<Option<Cursor>, PlanRefusal>,
    ) -> Result<Cursor, Error> {
        if let Some(cursor) = self.restart(demand, &to)? {
            return Ok(cursor);
        }
        self.stop_growing(interrupted)?;
        Ok(self.restart(demand, &to)?.expect("a complete index needs no more"))
    }

    fn restart(
        &mut self,
        demand: Option<Demand>,
        to: impl Fn(&mut Planner, &Index) -> Result<Option<Cursor>, PlanRefusal>,
    ) -> Result<Option<Cursor>, Error> {
        let pipeline = self.pipeline.as_mut().ok_or(Error::Cancelled)?;
        pipeline.restart(demand, |planner, index| to(planner, index).map_err(Error::from))
    }

    /// Says so if minibatches are not those that buckets are made for.
    fn warn_of_other_buckets(&self, demand: Demand) {
        match self.plan.bucketing {
            Some(Bucketing { samples, .. }) if samples != demand.samples => tracing::warn!(
                "minibatches of {} samples are made of buckets of {samples}; most padding is saved where both are the same",
                demand.samples
            ),
            _ => {}
        }
    }

    /// Checks the number of workers before the first minibatch is asked for, and warns if some of them get no data.
    ///
    /// # Errors
    /// A rank that is not below the number of workers, and what indexing answers.
    pub fn check_share(&mut self, share: Share) -> Result<(), Error> {
        let demand = share.demand(Demand::ANY_SAMPLES);
        demand.validate()?;
        self.warn_if_without_data(demand);
        Ok(())
    }

    /// True if the data never end.
    pub fn is_endless(&self) -> bool {
        self.plan.limit == Limit::Endless
    }

    /// Where the data end.
    pub(crate) fn limit(&self) -> Limit {
        self.plan.limit
    }

    /// True if sequences of the corpus may be in no minibatch.
    pub(crate) fn may_leave_out(&self) -> bool {
        self.forgives()
            || !self.corpus.exclude_keys.is_empty()
            || self.plan.ending.drop_last
            || self.plan.equal_steps == Some(EqualSteps::Drop)
    }

    /// The state at the beginning of a sweep, where nothing between it and another state is delivered.
    pub(crate) fn state_at_sweep(&mut self, sweep: u64, state: &ResumeState) -> Result<ResumeState, Error> {
        let position = self.num_samples_per_sweep()?.saturating_mul(sweep);
        Ok(ResumeState { cursor: Cursor { position, sweep, ..Cursor::default() }, ..state.clone() })
    }

    /// True if minibatches hold segments of sequences.
    pub fn is_truncated(&self) -> bool {
        self.truncated.is_some()
    }

    /// On the local timeline of a single worker: how many sweeps the minibatches handed out complete. There the
    /// `sweep_end` of a minibatch that fills up exactly comes with the next one (spec/engine.md §8).
    /// `None` for all other orders and for several workers.
    fn local_sweeps(&self) -> Option<u64> {
        let alone =
            self.plan.order.is_local() && self.position.demand().is_none_or(|demand| demand.workers == 1);
        let index = &self.corpus.joint.as_ref().filter(|_| alone)?.indexed.index;
        self.position.cursor().position.checked_div(index.n_samples())
    }

    /// Says so if ranks get nothing because there are fewer chunks than workers. Every rank says it: those that have data
    /// would wait for the others.
    fn warn_if_without_data(&self, demand: Demand) {
        let n_chunks = self.chunks_to_share();
        if demand.workers > n_chunks {
            let last = demand.workers - 1;
            let ranks = if last == n_chunks {
                format!("rank {last} of {} gets no data", demand.workers)
            } else {
                format!("ranks {n_chunks} to {last} of {} get no data", demand.workers)
            };
            let smaller = self.corpus.parts.primary().facts().smaller_chunks;
            let or_smaller = smaller.map(|remedy| format!(", or {}", remedy())).unwrap_or_default();
            tracing::warn!(
                "{ranks}, and a job whose ranks wait for each other hangs: workers share whole chunks and there are {n_chunks}; set {SHARING_POSITION}{or_smaller}"
            );
        }
    }

    /// True if the rank gets no data.
    fn is_without_data(&self, demand: Demand) -> bool {
        self.plan.equal_steps.is_none() && demand.rank >= self.chunks_to_share()
    }

    /// Chunks of which each rank has some, where they are shared so and known.
    fn chunks_to_share(&self) -> u64 {
        let by_chunk = self.plan.sharing == Sharing::Chunk && self.plan.order.shares_chunks();
        let index = self.corpus.joint.as_ref().map(|joint| &joint.indexed.index);
        index.filter(|_| by_chunk).map_or(u64::MAX, |index| index.n_chunks() as u64)
    }

    /// Hands a minibatch out: here, and only here, faults are counted, in plan order.
    fn deliver(&mut self, packed: Packed) -> Result<Option<Minibatch>, Error> {
        let faults = self.charge(&packed.charges, packed.passed, self.position.faults())?;
        if let Some(refused) = packed.refused {
            return Err(refused);
        }
        let n_sequences = packed.arrays.keys.len() as u64;
        let n_samples = packed.arrays.streams.iter().map(|s| s.n_samples()).max().unwrap_or(0) as u64;
        self.counters.count_minibatch(n_samples, n_sequences);
        self.position.advance(packed.after, faults);
        if packed.data_end {
            self.position.end();
            if packed.is_empty {
                return Ok(None);
            }
        }
        Ok(Some(Minibatch {
            arrays: packed.arrays,
            files: self.pipeline.as_ref().map(Pipeline::files),
            share: packed.share,
            sweep_end: packed.sweep_end,
            sweeps_ended: 0,
            resume: self.position.state().clone(),
        }))
    }
}
