//! The source: what a training loop calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_config::{DeserializerConfig, SourceConfig, StoreKind};
use tesson_core::{Chunk, DataError, Element, Error, Indexed, LeftOut, Options, StreamInfo, StreamMismatch};
use tesson_engine as engine;
use tesson_engine::file_patterns::expand;
use tesson_engine::store::{MmapStore, Store, Stores, read_whole};
use tesson_engine::{
    Canceller, Checked, KeyDelivery, Minibatch, PlannedStep, RunCalls, Severity,
    ShownKey, Stats, StatsReader, TruncatedPlan,
};
use tesson_plan::{BatchPlan, Demand, JoinReport, PlanSpec, ResumeState};

use crate::convert;

/// Reads a corpus in minibatches.
///
/// ```
/// # fn main() -> Result<(), tesson::Error> {
/// # let file = std::env::temp_dir().join(format!("tesson-doc-source-{}.ctf", std::process::id()));
/// # std::fs::write(&file, "|x 1 2\n|x 3 4\n|x 5 6\n").expect("a temporary file");
/// let config = tesson::config::from_json(&format!(
///     r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {file:?},
///         "input": {{"x": {{"dim": 2, "format": "dense"}}}}}}], "randomize": false, "maxSweeps": 1}}"#
/// ))?;
/// let mut source = tesson::Source::open(&config)?;
/// while let Some(minibatch) = source.next_minibatch(2)? {
///     let x = minibatch.stream("x").expect("the configuration names it");
///     let tesson::Samples::Dense { values: tesson::SampleValues::F32(values) } = x.samples() else { unreachable!() };
///     println!("{} samples: {values:?}", x.n_samples());
/// }
/// # std::fs::remove_file(&file).expect("the file is ours");
/// # Ok(())
/// # }
/// ```
pub struct Source(pub(crate) engine::Source);

/// Opening.
impl Source {
    /// Opens what a configuration describes.
    ///
    /// # Errors
    /// Options that cannot be opened, unreadable files, data that are not the format's.
    pub fn open(config: &SourceConfig) -> Result<Source, Error> {
        Source::open_with(config, &Canceller::new())
    }

    /// Opens what a configuration describes. `canceller` ends the call from another thread, and is the source's from then
    /// on.
    ///
    /// # Errors
    /// As [`Source::open`], and [`Error::Cancelled`].
    pub fn open_with(config: &SourceConfig, canceller: &Canceller) -> Result<Source, Error> {
        open_files(config, canceller, engine::Purpose::Minibatches)
    }

    /// Opens what a configuration describes, with files from a store of the caller's choice.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_in(config: &SourceConfig, store: &dyn Store) -> Result<Source, Error> {
        assemble(config, store, &Canceller::new(), engine::Purpose::Minibatches).map(Source)
    }

    /// Opens what a configuration describes, for a [check](Source::check): the check lists what keeps the data from being
    /// indexed.
    ///
    /// # Errors
    /// Options that cannot be opened, and unreadable files.
    pub fn open_to_check(config: &SourceConfig) -> Result<Source, Error> {
        open_files(config, &Canceller::new(), engine::Purpose::Check)
    }

    /// Opens what a configuration describes for a check, with files from a store.
    ///
    /// # Errors
    /// As [`Source::open_to_check`].
    pub fn open_to_check_in(config: &SourceConfig, store: &dyn Store) -> Result<Source, Error> {
        assemble(config, store, &Canceller::new(), engine::Purpose::Check).map(Source)
    }

    /// Opens what a configuration describes, to be [converted](Source::into_sequences): labels, too, without what they are
    /// labels of.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_to_convert(config: &SourceConfig) -> Result<Source, Error> {
        open_files(config, &Canceller::new(), engine::Purpose::Conversion)
    }

    /// Opens a source and restores a state.
    ///
    /// # Errors
    /// As [`Source::open`], and [`ResumeError`](crate::ResumeError) for a state of something else.
    pub fn resume(config: &SourceConfig, state: &ResumeState) -> Result<Source, Error> {
        let mut source = Source::open(config)?;
        source.restore(state)?;
        Ok(source)
    }
}

/// Minibatches and states.
impl Source {
    /// The next minibatch of `samples` samples, for a single worker; `None` at the end of the data.
    ///
    /// # Errors
    /// As [`Source::next`].
    pub fn next_minibatch(&mut self, samples: u64) -> Result<Option<Minibatch>, Error> {
        self.0.next_minibatch(samples)
    }

    /// The next minibatch; `None` at the end of the data.
    ///
    /// # Errors
    /// Faults of data and storage are repeated by every call until a state is restored or [`Source::skip_failed`] is
    /// called. A demand that can never be met ([`UsageError`](crate::UsageError)) changes nothing.
    pub fn next(&mut self, demand: Demand) -> Result<Option<Minibatch>, Error> {
        self.0.next(demand)
    }

    /// The next minibatch, as [`Source::next`]; ends with [`Error::Cancelled`] when `interrupted`, asked every few
    /// hundredths of a second, answers yes. Nothing is lost: the next call waits for the same minibatch.
    ///
    /// # Errors
    /// As [`Source::next`]. Where random draws are CNTK's, an interrupted call has to be repeated before one of another size or
    /// rank: its minibatch may have drawn already.
    pub fn next_interruptible(
        &mut self,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        self.0.next_interruptible(demand, interrupted)
    }

    /// Puts the minibatch back that was handed out last, after which `after` is the state
    /// ([`Minibatch::resume`](crate::Minibatch::resume)): the source is as it was before, and the next call gives it again. For
    /// callers that an interrupt, or an error of their own, has kept from using it.
    ///
    /// Returns whether that was possible: not where another minibatch was handed out since, nor where random draws are CNTK's,
    /// which go on. Its faults are charged, and written to the quarantine, again.
    pub fn put_back(&mut self, after: &ResumeState) -> bool {
        self.0.put_back(after)
    }

    /// Leaves out a minibatch that failed; the next one is that after it.
    pub fn skip_failed(&mut self) {
        self.0.skip_failed();
    }

    /// The state after the last minibatch handed out.
    pub fn state(&self) -> &ResumeState {
        self.0.state()
    }

    /// Resumes from a state of this source, or of another one on the same corpus with the same options.
    ///
    /// # Errors
    /// [`ResumeError`](crate::ResumeError) for a state of another corpus, order or version; the source is then as it was.
    pub fn restore(&mut self, state: &ResumeState) -> Result<(), Error> {
        self.0.restore(state)
    }

    /// Resumes as [`Source::restore`]; ends with [`Error::Cancelled`] when `interrupted`, asked every few hundredths of a
    /// second while an index is made, answers yes; the source is then as it was.
    ///
    /// # Errors
    /// As [`Source::restore`].
    pub fn restore_interruptible(
        &mut self,
        state: &ResumeState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.0.restore_interruptible(state, interrupted)
    }

    /// Makes sure that states of this source can be restored: with [CNTK's random draws](crate::Augmentation::Cntk) none can.
    ///
    /// # Errors
    /// A source with these draws.
    pub fn check_resumable(&self) -> Result<(), Error> {
        self.0.check_resumable()
    }

    /// Ends all threads and closes all files. Minibatches already handed out stay valid.
    pub fn close(&mut self) {
        self.0.close();
    }
}

/// Facts, counters and cancelling.
impl Source {
    /// The streams, in the order of the configuration.
    pub fn streams(&self) -> &[Arc<StreamInfo>] {
        self.0.streams()
    }

    /// The files that it reads, as the configuration names them.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.files()
    }

    /// Whether all ranks count on one timeline: each on its own where the only deserializer is not composable.
    pub fn shares_a_timeline(&self) -> bool {
        self.0.shares_a_timeline()
    }

    /// The time from one sample to the next, in units of 100 ns, where the first deserializer's samples are frames of
    /// recordings.
    pub fn frame_period(&self) -> Option<u32> {
        self.0.frame_period()
    }

    /// Whether the data never end.
    pub fn is_endless(&self) -> bool {
        self.0.is_endless()
    }

    /// Whether minibatches hold pieces of sequences, because they are truncated.
    pub fn is_truncated(&self) -> bool {
        self.0.is_truncated()
    }

    /// Checks the number of workers before the first minibatch is asked for, and warns if some of them get no data.
    ///
    /// # Errors
    /// A rank that is not below the number of workers, and what indexing answers.
    pub fn check_share(&mut self, workers: u64, rank: u64) -> Result<(), Error> {
        self.0.check_share(workers, rank)
    }

    /// The counters: bytes read, sequences decoded, minibatches delivered and the like.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Reads the counters while another thread uses the source.
    pub fn stats_reader(&self) -> StatsReader {
        self.0.stats_reader()
    }

    /// Ends a blocked call from another thread.
    pub fn canceller(&self) -> Canceller {
        self.0.canceller()
    }
}

/// The index and the plan.
impl Source {
    /// The index of the whole corpus, made now if it was not needed before.
    ///
    /// # Errors
    /// As for opening.
    pub fn indexed(&mut self) -> Result<&Indexed, Error> {
        self.0.indexed()
    }

    /// Number of sequences in the corpus.
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn num_sequences(&mut self) -> Result<u64, Error> {
        self.0.num_sequences()
    }

    /// Number of samples in one sweep (counted lengths).
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn num_samples_per_sweep(&mut self) -> Result<u64, Error> {
        self.0.num_samples_per_sweep()
    }

    /// Number of minibatches that one worker gets of the first sweep. Truncated ones are counted as if all sequences were
    /// as long as the index says.
    ///
    /// # Errors
    /// As [`Source::indexed`], and a demand that can never be met.
    pub fn steps_per_sweep(&mut self, demand: Demand) -> Result<u64, Error> {
        self.0.steps_per_sweep(demand)
    }

    /// How many minibatches every sweep of endless data has, where that is one number and known without planning.
    pub fn steps_of_every_sweep(&self, demand: Demand) -> Option<u64> {
        self.0.steps_of_every_sweep(demand)
    }

    /// How many minibatches are left from here to the end of the data, or of the sweep if the data have no end. `None` where
    /// that is not known: the index has not been made, or what rows of truncated minibatches hold is found out by reading.
    ///
    /// # Errors
    /// A demand that can never be met.
    pub fn steps_left(&self, demand: Demand) -> Result<Option<u64>, Error> {
        self.0.steps_left(demand)
    }

    /// Which sequences could not be joined; `None` for a single deserializer.
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn join_report(&mut self) -> Result<Option<&JoinReport>, Error> {
        self.0.join_report()
    }

    /// What each deserializer leaves out of its data, in their order.
    ///
    /// # Errors
    /// As [`Source::indexed`].
    pub fn left_out(&mut self) -> Result<Vec<Vec<LeftOut>>, Error> {
        self.0.left_out()
    }

    /// Indexes the corpus and writes an index cache for each deserializer whose format has none of its own;
    /// returns where they are.
    ///
    /// # Errors
    /// As [`Source::indexed`], and what the file system answers.
    pub fn write_index_cache(&mut self) -> Result<Vec<PathBuf>, Error> {
        self.0.write_index_cache()
    }

    /// Plans minibatches from the start, without reading data: whole sequences, of which truncated minibatches are made
    /// ([`Source::plan_truncated`]). `each` says whether to continue.
    ///
    /// # Errors
    /// As [`Source::indexed`], and a demand that can never be met.
    pub fn plan(&mut self, demand: Demand, each: impl FnMut(&BatchPlan) -> bool) -> Result<(), Error> {
        self.0.plan(demand, each)
    }

    /// Plans as [`Source::plan`], after a change of the plan: which minibatches other options would give.
    ///
    /// # Errors
    /// As [`Source::plan`].
    pub fn plan_with(
        &mut self,
        change: impl FnOnce(&mut PlanSpec),
        demand: Demand,
        each: impl FnMut(&BatchPlan) -> bool,
    ) -> Result<(), Error> {
        self.0.plan_with(change, demand, each)
    }

    /// Plans truncated minibatches from the start, without reading data: as if every sequence were as long as the index
    /// says. One that is shorter, for its faults, moves those after it. `each` says whether to continue.
    ///
    /// # Errors
    /// As [`Source::plan`], and a source that does not truncate.
    pub fn plan_truncated(
        &mut self,
        demand: Demand,
        each: impl FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        self.0.plan_truncated(demand, each)
    }
}

/// Which and where: minibatches by their number.
impl Source {
    /// Which sequences minibatch number `step` of a run holds, counted from 0 at the start of the data, with their keys and
    /// places. Neither reads data nor changes the position of the source; keys are read where the index does not hold them.
    ///
    /// Takes one division if all sequences have one length and all minibatches the same size, without buckets, epochs and
    /// equal steps, for a single worker or sharing by position. Otherwise plans the minibatches before it: about 50 ns a
    /// sequence, for each rank where they share by chunk. Truncated minibatches are planned as if all sequences were as
    /// long as the index says.
    ///
    /// # Errors
    /// A step beyond the end of the data, calls that can never be met, and as [`Source::indexed`].
    pub fn which(&mut self, step: u64, calls: RunCalls<'_>) -> Result<PlannedStep, Error> {
        self.0.which(step, calls)
    }

    /// The minibatches in which the sequences of a key come in a sweep, in the order of their steps; none if the data end
    /// before. Keys are compared as texts. The position of the source does not change; keys are read where the index does
    /// not hold them.
    ///
    /// Goes through the order of the sweep, and through those before it where [`Source::which`] plans them.
    ///
    /// # Errors
    /// A key that no sequence has, and as [`Source::which`].
    pub fn where_is(
        &mut self,
        key: &str,
        sweep: u64,
        calls: RunCalls<'_>,
    ) -> Result<Vec<KeyDelivery>, Error> {
        self.0.where_is(key, sweep, calls)
    }

    /// Goes to where minibatch number `step` of a run begins. The next call delivers it, and the state is that of a run that
    /// has delivered all before it, but for their faults: those of what is skipped are not charged, and those charged so
    /// far stay. From a merged state on, what ranks had delivered beyond its position is left out still, unless the step lies
    /// before that.
    ///
    /// Costs as much as [`Source::which`].
    ///
    /// # Errors
    /// As [`Source::which`]; truncated minibatches, whose state holds what only reading finds out; and several workers that
    /// share by chunk where `calls` names no rank. The source is then as it was.
    pub fn skip_to(&mut self, step: u64, calls: RunCalls<'_>) -> Result<(), Error> {
        self.0.skip_to(step, calls)
    }
}

/// Looking at the data.
impl Source {
    /// Decodes every sequence once and reports every fault with its severity, in the order of the data.
    ///
    /// # Errors
    /// As [`Source::indexed`], and unreadable storage.
    pub fn check(&mut self, each: &mut dyn FnMut(&DataError, Severity)) -> Result<Checked, Error> {
        self.0.check(each)
    }

    /// Streams that the data do not have as they are declared, where their format can tell; their numbers are those of the
    /// deserializers' streams, one after the other. Reads all of the data where a stream occurs nowhere.
    ///
    /// # Errors
    /// Unreadable storage.
    pub fn mismatches(&self) -> Result<Vec<StreamMismatch>, Error> {
        self.0.mismatches()
    }

    /// The sequences with a key, the first `most` of them, as they would be delivered in a sweep; none if there is no such
    /// key. Keys are compared as texts. The position of the source does not change.
    ///
    /// Looks through all keys, and through the order from the start of the sweep.
    ///
    /// # Errors
    /// Unreadable storage, and what a transform answers.
    pub fn show(&mut self, key: &str, sweep: u64, most: usize) -> Result<ShownKey, Error> {
        self.0.show(key, sweep, most)
    }

    /// Whether minibatches would hold exactly the sequences of the corpus, once, as they are stored, and none has been
    /// asked for yet: then there is [`Source::pass`].
    pub fn is_one_pass(&self) -> bool {
        self.0.is_one_pass()
    }

    /// Decodes the whole corpus in parallel. `make` is called with each chunk on the thread that has decoded it, sequences
    /// that are left out included; `take` gets the results on this thread, in order. The source is at its end then.
    ///
    /// Where chunks begin and end depends on threads and memory. One with a fault beyond the budget is not given.
    ///
    /// # Errors
    /// As [`Source::next`]; a source that is not [of one pass](Source::is_one_pass); and what `take` answers.
    ///
    /// # Panics
    /// If `make` does.
    pub fn pass<T: Send, E: From<Error>>(
        &mut self,
        make: impl Fn(&Chunk) -> T + Sync,
        take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.pass(make, take)
    }

    /// The sequences of a source that reads its data once, in order, for [`convert::write`]. `element` says in which type
    /// each stream is written.
    pub fn into_sequences(self, element: impl Fn(&StreamInfo) -> Element) -> convert::Corpus {
        convert::Corpus::new(self.0, element)
    }
}

/// Opens a source with the files of the configuration's store.
fn open_files(
    config: &SourceConfig,
    canceller: &Canceller,
    purpose: engine::Purpose,
) -> Result<Source, Error> {
    let store = match config.store {
        StoreKind::File => Stores::local(),
        StoreKind::Mmap => Stores::new(Arc::new(MmapStore)),
    };
    assemble(config, &store, canceller, purpose).map(Source)
}

/// The engine's source of a configuration, with files from a store, after patterns have been replaced by the names that match.
fn assemble(
    config: &SourceConfig,
    store: &dyn Store,
    canceller: &Canceller,
    purpose: engine::Purpose,
) -> Result<engine::Source, Error> {
    engine::kernels_from_environment()?;
    let mut config = config.clone();
    for d in &mut config.deserializers {
        expand(store, &mut d.options, d.format.options, &d.path)?;
    }
    config.check()?;
    let defaults = config.reader_defaults();
    let open = |d: &DeserializerConfig| {
        let options = Options::new(d.format.options, &d.options, d.path.clone())?;
        (d.format.open)(&options, &defaults).map_err(|e| d.located(e))
    };
    let spec = engine::SourceSpec {
        deserializers: config.deserializers.iter().map(open).collect::<Result<_, _>>()?,
        join: config.join,
        plan: config.plan_spec(),
        exclude_keys: config.exclude_keys.resolve(|path| Ok(read_whole(store, path)?))?,
        transforms: engine::StreamTransforms {
            streams: config.open_transforms(store)?,
            seed: config.order.seed,
            augmentation: config.augmentation,
        },
        frame_mode: config.defaults.frame_mode,
        truncation: config.truncation,
        element: config.defaults.precision,
        runtime: config.runtime,
        faults: config.faults.clone(),
        purpose,
    };
    engine::Source::open_with(spec, store, canceller).map_err(|e| match e {
        Error::Config(e) => config.located(e).into(),
        other => other,
    })
}
