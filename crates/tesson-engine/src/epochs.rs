//! Epochs: batches of a source that end with their sweep, of which none is empty.
//!
//! Most sources give such batches by themselves, and a batch is handed out as it comes. Where examples may be left out, because
//! they are invalid or excluded or fill no batch, only the next step tells whether a batch is the last of its epoch, and whether
//! a rank without examples has to repeat some: there one step is read ahead, and the state stays that of what was handed out.

use std::collections::VecDeque;

use tesson_core::Error;
use tesson_plan::{BatchShare, Demand, Limit, ResumeState};

use crate::minibatch::Minibatch;
use crate::refusal::EngineRefusal;
use crate::source::Source;

/// The batches of a source, epoch by epoch.
///
/// The source is lent to each call, and is moved by nothing else; or [`Epochs::moved`] has to be told.
#[derive(Debug)]
pub struct Epochs {
    demand: Demand,
    /// True if only the next step tells whether a batch is the last one.
    looks_ahead: bool,
    /// Steps that were read and not handed out.
    ahead: VecDeque<Step>,
    /// True if the data end after them.
    data_end: bool,
    /// The batch that was handed out last, where a step without examples may follow.
    last: Option<Minibatch>,
    /// The state after the batch that was handed out last; `None`: the source's.
    after: Option<ResumeState>,
    /// Where [`Epochs::put_back`] goes.
    before: Option<(ResumeState, Counts)>,
    counts: Counts,
    iteration: u64,
}

/// A step that all ranks make.
#[derive(Debug)]
struct Step {
    minibatch: Minibatch,
    epoch: u64,
    /// True if the epoch ends with it.
    ends: bool,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.minibatch.n_sequences() == 0
    }
}

/// The counts of an epoch, as far as they are known without the corpus.
#[derive(Copy, Clone, Debug, Default)]
struct Counts {
    epoch: u64,
    is_over: bool,
    batches: u64,
    examples: u64,
    repeated: u64,
    /// Examples of all ranks that were handed out, each once.
    of_all_ranks: u64,
    /// Numbers in the order of the epoch: of the first example that was planned, and of the one that comes next; `None` at the end
    /// of the epoch.
    begin: u64,
    end: Option<u64>,
}

/// The outcome of an epoch, or of the part of it that was read since a state was restored.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochReport {
    /// The number of the epoch, from 0.
    pub epoch: u64,
    /// Batches of this rank.
    pub batches: u64,
    /// Examples in them.
    pub examples: u64,
    /// Those of them that another rank has too, or this rank had before: every rank has some in every step.
    pub repeated: u64,
    /// Examples that no rank got because they did not fill a batch; of truncated ones, those that no rank got to the end.
    pub dropped: u64,
    /// Examples that no rank got because they are invalid and forgiven, or excluded by their keys.
    pub left_out: u64,
    /// True if the epoch was read to its end.
    pub is_over: bool,
}

impl Epochs {
    /// The epochs of a source whose minibatches end with their sweep, for calls of this demand.
    pub fn new(source: &Source, demand: Demand) -> Epochs {
        let mut epochs = Epochs {
            demand,
            looks_ahead: source.shares_a_timeline() && !source.is_truncated() && source.may_leave_out(),
            ahead: VecDeque::new(),
            data_end: false,
            last: None,
            after: None,
            before: None,
            counts: Counts::default(),
            iteration: 0,
        };
        epochs.moved(source);
        epochs
    }

    /// Forgets what was read ahead, after the source was moved to another place.
    pub fn moved(&mut self, source: &Source) {
        self.ahead.clear();
        (self.data_end, self.last, self.after, self.before) = (false, None, None, None);
        self.begin_counts(source);
    }

    /// The state after the batch that was handed out last.
    pub fn state<'a>(&'a self, source: &'a Source) -> &'a ResumeState {
        self.after.as_ref().unwrap_or_else(|| source.state())
    }

    /// The number, from 0, of the epoch that the next batch belongs to.
    pub fn epoch(&self, source: &Source) -> u64 {
        self.state(source).sweep()
    }

    /// The number of batches of the epoch that the next batch belongs to.
    ///
    /// # Errors
    /// Those of [`Source::steps_of_sweep`].
    pub fn steps(&self, source: &mut Source) -> Result<u64, Error> {
        source.steps_of_sweep(self.epoch(source), self.demand)
    }

    /// The number of batches that come before the next one, from the start of the data on, as [`Source::which`] counts them.
    ///
    /// # Errors
    /// Those of [`Source::which`].
    pub fn step(&self, source: &mut Source) -> Result<u64, Error> {
        let state = self.state(source).clone();
        source.steps_before(&state, self.demand)
    }

    /// Begins an iteration over the rest of the present epoch, or over the next one if that is over. Returns its number: there
    /// is one iteration at a time, the [latest](Epochs::is_latest).
    ///
    /// # Errors
    /// All epochs that the source has are over.
    pub fn begin(&mut self, source: &Source) -> Result<u64, Error> {
        let epoch = self.epoch(source);
        match source.limit() {
            Limit::Sweeps(epochs) if epoch >= epochs => {
                return Err(EngineRefusal::EpochsRead { epochs }.into());
            }
            _ => {}
        }
        if self.counts.is_over {
            self.begin_counts(source);
        }
        self.iteration += 1;
        Ok(self.iteration)
    }

    /// True of the iteration that was begun last.
    pub fn is_latest(&self, iteration: u64) -> bool {
        self.iteration == iteration
    }

    fn begin_counts(&mut self, source: &Source) {
        let cursor = self.state(source).cursor;
        self.counts = Counts {
            epoch: self.epoch(source),
            begin: cursor.sequence,
            end: Some(cursor.sequence),
            ..Counts::default()
        };
    }

    /// The next batch of the epoch; `None` at its end, until [`Epochs::begin`] begins another. Its
    /// [`sweep_end`](Minibatch::sweep_end) says whether it is the last one, and its state is what the epoch continues from.
    ///
    /// # Errors
    /// Those of [`Source::next_interruptible`], whose errors lose nothing here either; and a rank that has nothing to repeat in a step
    /// that others have examples for.
    pub fn next(
        &mut self,
        source: &mut Source,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        while !self.counts.is_over && !self.is_decided() {
            self.read(source, interrupted)?;
        }
        let before = (self.state(source).clone(), self.counts);
        let epoch = self.counts.epoch;
        let Some(front) = self.ahead.front().filter(|front| !self.counts.is_over && front.epoch == epoch)
        else {
            self.end(source)?;
            return Ok(None);
        };
        let ends = front.ends;
        let is_last = ends || self.looks_ahead && self.ahead.get(1).is_none_or(|next| next.epoch > epoch);
        let mut after = front.minibatch.resume.clone();
        let end = (!ends).then_some(after.cursor.sequence);
        if is_last && !ends {
            after = source.state_at_sweep(epoch + 1, &after)?;
        }
        let again = if front.is_empty() { Some(self.to_repeat()?) } else { None };
        let Some(Step { minibatch, .. }) = self.ahead.pop_front() else { return Ok(None) };
        let (share, is_repeated) = (minibatch.share, again.is_some());
        let mut minibatch = again.unwrap_or(minibatch);
        (minibatch.sweep_end, minibatch.resume) = (is_last, after.clone());
        self.count(&minibatch, share, is_repeated);
        (self.counts.end, self.counts.is_over) = (end, is_last);
        self.last = (self.looks_ahead && self.demand.workers > 1).then(|| minibatch.copied());
        (self.after, self.before) = (Some(after), Some(before));
        Ok(Some(minibatch))
    }

    /// Ends the epoch where no batch of it is left.
    fn end(&mut self, source: &mut Source) -> Result<(), Error> {
        if !std::mem::replace(&mut self.counts.is_over, true) && self.looks_ahead {
            let before = self.state(source).clone();
            self.after = Some(source.state_at_sweep(self.counts.epoch + 1, &before)?);
        }
        Ok(())
    }

    /// The examples of a step that has none on this rank: those before it, or after it where an epoch begins so.
    fn to_repeat(&self) -> Result<Minibatch, Error> {
        let later = || self.ahead.iter().take_while(|step| step.epoch == self.counts.epoch);
        let found =
            self.last.as_ref().or_else(|| later().map(|step| &step.minibatch).find(|m| m.n_sequences() > 0));
        let Demand { rank, workers, .. } = self.demand;
        let nothing = || EngineRefusal::NothingToRepeat { rank, workers, epoch: self.counts.epoch };
        Ok(found.ok_or_else(nothing)?.copied())
    }

    fn count(&mut self, minibatch: &Minibatch, share: Option<BatchShare>, is_repeated: bool) {
        let n = minibatch.n_begun() as u64;
        let is_repeated = is_repeated || share.is_some_and(|share| self.demand.rank >= share.owners);
        self.counts.batches += 1;
        self.counts.examples += n;
        self.counts.repeated += if is_repeated { n } else { 0 };
        self.counts.of_all_ranks += share.map_or(n, |share| share.sequences);
    }

    /// Puts the batch back that was handed out last: the next call gives it again. For callers that an interrupt has kept from
    /// using it.
    ///
    /// # Errors
    /// Those of [`Source::restore`].
    pub fn put_back(&mut self, source: &mut Source) -> Result<(), Error> {
        let Some((before, counts)) = self.before.take() else { return Ok(()) };
        let is_simple =
            self.ahead.is_empty() && self.after.take().is_some_and(|after| source.put_back(&after));
        if !is_simple {
            source.restore(&before)?;
        }
        self.ahead.clear();
        (self.data_end, self.last, self.after, self.counts) = (false, None, None, counts);
        Ok(())
    }

    /// The outcome of the present epoch so far, or of the last one if no other has begun.
    ///
    /// # Errors
    /// Those of [`Source::indexed`].
    pub fn report(&self, source: &mut Source) -> Result<EpochReport, Error> {
        let Counts { epoch, is_over, batches, examples, repeated, of_all_ranks, begin, end } = self.counts;
        let (mut dropped, mut left_out) = (0, 0);
        if source.shares_a_timeline() && !source.is_truncated() {
            let n = source.num_sequences()?;
            let end = end.unwrap_or(n);
            left_out = (end - begin).saturating_sub(of_all_ranks);
            dropped = if is_over { n - end } else { 0 };
        }
        if is_over {
            dropped += source.cut_short();
        }
        Ok(EpochReport { epoch, batches, examples, repeated, dropped, left_out, is_over })
    }

    /// True if it is known which batch comes next, and whether it is the last of its epoch.
    fn is_decided(&self) -> bool {
        let mut ahead = self.ahead.iter();
        let Some(front) = ahead.next() else { return self.data_end };
        if front.epoch > self.counts.epoch || self.data_end || !self.looks_ahead {
            return true;
        }
        let is_end_known = front.ends || self.ahead.len() > 1;
        // What a step without examples repeats comes later if nothing came before.
        let has_examples = |step: &Step| !step.is_empty() || step.ends || step.epoch > front.epoch;
        is_end_known && (!front.is_empty() || self.last.is_some() || self.ahead.iter().any(has_examples))
    }

    /// Reads one step more.
    fn read(&mut self, source: &mut Source, interrupted: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let Some(minibatch) = source.next_interruptible(self.demand, interrupted)? else {
            self.data_end = true;
            return Ok(());
        };
        if !self.looks_ahead {
            let is_local = !source.shares_a_timeline();
            let ends = if is_local { minibatch.sweeps_ended() > 0 } else { minibatch.sweep_end };
            if minibatch.n_sequences() > 0 {
                self.ahead.push_back(Step { minibatch, epoch: self.counts.epoch, ends });
            } else if ends {
                // A rank on its own timeline, or of truncated sequences, may have nothing in a step.
                self.counts.is_over = true;
            }
            return Ok(());
        }
        let at = minibatch.resume.cursor;
        // What an earlier epoch drops is said to end with the next minibatch; where this one ends says which it is of.
        let ends = at.sequence == 0;
        let epoch = at.sweep.saturating_sub(u64::from(ends));
        let is_empty = match minibatch.share {
            Some(share) => share.most == 0,
            None => minibatch.n_sequences() == 0,
        };
        if !is_empty {
            self.ahead.push_back(Step { minibatch, epoch, ends });
        } else if let Some(last) = self.ahead.back_mut().filter(|last| ends && last.epoch == epoch) {
            // All examples after it are left out.
            last.ends = true;
            last.minibatch.resume = minibatch.resume;
        } else if ends && self.ahead.is_empty() && epoch == self.counts.epoch {
            // All that were left of the epoch are left out.
            (self.after, self.counts.end) = (Some(minibatch.resume), None);
            self.counts.is_over = true;
        }
        Ok(())
    }
}
