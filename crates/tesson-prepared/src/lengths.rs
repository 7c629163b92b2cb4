//! How many records the files of an order hold: the declared number, until the order depends on it.
//!
//! A reader of all records sees where files end, and needs none of this. An order that skips records, buffers them or
//! distributes them among workers depends on counts that have not been verified. So the number of records it has taken of
//! each file is compared with the file before any example is delivered that depends on it: with the index of an ArrayRecord
//! file, or along the headers of a TFRecord file, no further than the order has come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use tesson_core::Error;
use tesson_plan::{Stream, StreamState, Taken};
use tesson_tfds::reading::Plan;

use crate::OnDamage;
use crate::block_cache::BlockCache;
use crate::loader::RecordId;

/// Records beyond those that an order has taken that are looked for at once, so that it is not done for each stretch.
const BEYOND: u64 = 1 << 10;

/// The content after the last whole record of a file.
#[derive(Clone, Debug)]
enum Tail {
    Nothing,
    /// A few bytes, less than a record's head.
    Cut(Error),
    Damage(Error),
}

/// The known content of a file, as far as it has been read.
#[derive(Clone, Debug)]
enum Holds {
    /// So many records, or more.
    AtLeast(u64),
    /// So many records and no more.
    Ends { records: u64, tail: Tail },
}

/// Why an order is not right that was made with what is known.
pub(super) enum LengthMismatch {
    /// Files hold another number of records.
    Lengths(Vec<(usize, u64)>),
    /// It goes beyond what can be read of a file.
    Failed(Error, RecordId),
}

/// Who looks into files.
#[derive(Clone, Copy)]
pub(super) struct ShardProbe<'a> {
    pub(super) cache: &'a BlockCache,
    /// Files that are looked into at the same time, at most.
    pub(super) threads: usize,
}

/// How many records files hold, and what that is known from.
pub(super) struct Lengths {
    plan: Arc<Plan>,
    on_damage: OnDamage,
    /// True if every file is read to its end, whatever the dataset declares (spec/tfds.md §8.2).
    to_the_end: bool,
    /// By place in the plan, where it has been seen; it may be another number than the dataset says.
    pub(super) known: BTreeMap<usize, u64>,
    /// Those of them that are needed after so many examples of this traversal, and were seen earlier: states before do not
    /// hold them, so that a state does not depend on how far ahead the order was made.
    foreseen: BTreeMap<usize, u64>,
    holds: BTreeMap<usize, Holds>,
    /// Files that the order has gone through and that end with less than a record.
    cuts: BTreeMap<usize, Error>,
}

impl Lengths {
    pub(super) fn new(plan: Arc<Plan>, on_damage: OnDamage, to_the_end: bool) -> Lengths {
        let (known, foreseen) = (BTreeMap::new(), BTreeMap::new());
        let (holds, cuts) = (BTreeMap::new(), BTreeMap::new());
        Lengths { plan, on_damage, to_the_end, known, foreseen, holds, cuts }
    }

    fn fails(&self) -> bool {
        self.on_damage == OnDamage::Fail
    }

    /// How many records an order takes a file to hold.
    pub(super) fn of(&self, file: usize) -> u64 {
        self.known.get(&file).map_or(self.plan.files[file].examples_in_shard, |n| *n)
    }

    /// Compares what an order has taken of files since it was asked last with what they hold. `probes_tail`: what follows a
    /// file's last record counts when that is taken, not only when the order has come to the end.
    pub(super) fn check(
        &mut self,
        probes_tail: bool,
        order: &mut Stream,
        probe: ShardProbe<'_>,
    ) -> Result<(), LengthMismatch> {
        let taken: Vec<(usize, Taken)> =
            order.taken().into_iter().map(|(place, taken)| (self.plan.own[place], taken)).collect();
        self.ask(probes_tail, &taken, probe)?;
        let (mut other, mut failed) = (Vec::new(), None);
        for (file, taken) in taken {
            match self.compare(probes_tail, file, taken) {
                Err(LengthMismatch::Lengths(lengths)) => other.extend(lengths),
                Err(unexpected) => failed = failed.or(Some(unexpected)),
                Ok(()) => {}
            }
        }
        match failed {
            _ if !other.is_empty() => Err(LengthMismatch::Lengths(other)),
            Some(unexpected) => Err(unexpected),
            None => Ok(()),
        }
    }

    fn compare(&mut self, probes_tail: bool, file: usize, taken: Taken) -> Result<(), LengthMismatch> {
        let Some(Holds::Ends { records, tail }) = self.holds.get(&file) else { return Ok(()) };
        let wanted = self.plan.files[file].skip + taken.records;
        let to_its_end = self.to_its_end(probes_tail, file, taken);
        let holds = match tail {
            Tail::Damage(error) if self.fails() => {
                // Damage counts as a record, which no order gets beyond.
                if wanted > *records && (taken.records > 0 || taken.ended) {
                    let at = RecordId { file, record: *records };
                    return Err(LengthMismatch::Failed(error.clone(), at));
                }
                records + 1
            }
            // A file that ends earlier than it should, and with a few bytes, has been cut.
            Tail::Cut(error) if self.fails() && wanted > *records && (taken.records > 0 || taken.ended) => {
                return Err(LengthMismatch::Failed(error.clone(), RecordId { file, record: *records }));
            }
            _ => *records,
        };
        let is_other = self.of(file) != holds;
        if (wanted > holds && taken.records > 0) || (to_its_end && is_other) {
            return Err(LengthMismatch::Lengths(vec![(file, holds)]));
        }
        if let (Tail::Cut(error), true, true) = (tail, to_its_end, self.fails()) {
            self.cuts.insert(file, error.clone());
        }
        Ok(())
    }

    /// True if the exact end of a file matters.
    fn to_its_end(&self, probes_tail: bool, file: usize, taken: Taken) -> bool {
        let is_last = probes_tail && self.plan.files[file].skip + taken.records == self.of(file);
        self.to_the_end && (taken.ended || is_last)
    }

    /// Looks into the files of which not enough is known.
    fn ask(
        &mut self,
        probes_tail: bool,
        taken: &[(usize, Taken)],
        probe: ShardProbe<'_>,
    ) -> Result<(), LengthMismatch> {
        let question = |(file, taken): &(usize, Taken)| {
            let wanted = self.plan.files[*file].skip + taken.records;
            let to_its_end = self.to_its_end(probes_tail, *file, *taken);
            match self.holds.get(file) {
                Some(Holds::Ends { .. }) => return None,
                Some(Holds::AtLeast(n)) if wanted <= *n && !to_its_end => return None,
                _ => {}
            }
            let beyond = self.of(*file).min(wanted + BEYOND).max(wanted);
            Some((*file, if to_its_end { None } else { Some(beyond) }))
        };
        let questions: Vec<(usize, Option<u64>)> = taken.iter().filter_map(question).collect();
        let mut failed = None;
        for ((file, _), answer) in questions.iter().zip(probe.all(&questions)) {
            match answer {
                Ok(holds) => self.see(*file, holds),
                Err(error) => failed = failed.or(Some((error, RecordId { file: *file, record: 0 }))),
            }
        }
        failed.map_or(Ok(()), |(error, at)| Err(LengthMismatch::Failed(error, at)))
    }

    /// Takes it for granted that files hold what an order has taken of them: a state says so.
    pub(super) fn trust(&mut self, order: &mut Stream) {
        for (place, taken) in order.taken() {
            let file = self.plan.own[place];
            let holds = if taken.ended && self.to_the_end {
                Holds::Ends { records: self.of(file), tail: Tail::Nothing }
            } else {
                Holds::AtLeast(self.plan.files[file].skip + taken.records)
            };
            self.see(file, holds);
        }
    }

    /// Takes note of what a file holds, unless more is known of it: it may be open twice in an order.
    fn see(&mut self, file: usize, holds: Holds) {
        let knows_more = match (self.holds.get(&file), &holds) {
            (Some(Holds::Ends { .. }), _) => true,
            (Some(Holds::AtLeast(known)), Holds::AtLeast(n)) => known >= n,
            (Some(Holds::AtLeast(_)), Holds::Ends { .. }) | (None, _) => false,
        };
        if !knows_more {
            self.holds.insert(file, holds);
        }
    }

    /// Looks how many records all files hold that an order reads, and learns it.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub(super) fn count_all(&mut self, probe: ShardProbe<'_>) -> Result<(), Error> {
        let is_unknown = |file: &&usize| !matches!(self.holds.get(file), Some(Holds::Ends { .. }));
        let questions: Vec<(usize, Option<u64>)> =
            self.plan.own.iter().filter(is_unknown).map(|file| (*file, None)).collect();
        for ((file, _), answer) in questions.iter().zip(probe.all(&questions)) {
            self.holds.insert(*file, answer?);
        }
        for file in &self.plan.own {
            let Some(Holds::Ends { records, tail }) = self.holds.get(file) else { continue };
            let damaged = matches!(tail, Tail::Damage(_)) && self.fails();
            self.known.insert(*file, records + u64::from(damaged));
        }
        Ok(())
    }

    /// Learns what files hold, which an order needs after so many examples, or at once.
    pub(super) fn learn(&mut self, lengths: Vec<(usize, u64)>, after: Option<u64>) {
        for (file, records) in lengths {
            let is_news = self.known.insert(file, records) != Some(records);
            match after {
                Some(after) if is_news => drop(self.foreseen.insert(file, after)),
                Some(_) => {}
                None => drop(self.foreseen.remove(&file)),
            }
        }
    }

    /// Files that hold another number of records than declared, as far as a position in the traversal depends on it.
    pub(super) fn found(&self, state: &StreamState) -> Vec<(usize, u64)> {
        let is_other = |(file, n): &(&usize, &u64)| self.plan.files[**file].examples_in_shard != **n;
        let is_needed =
            |(file, _): &(&usize, &u64)| self.foreseen.get(file).is_none_or(|at| depends_on(state, *at));
        self.known.iter().filter(is_other).filter(is_needed).map(|(file, n)| (*file, *n)).collect()
    }

    /// Leaves a traversal at a place, and forgets what that does not depend on. Whether there was anything.
    pub(super) fn leave(&mut self, state: &StreamState) -> bool {
        let before = self.known.len();
        for (file, at) in std::mem::take(&mut self.foreseen) {
            if !depends_on(state, at) {
                self.known.remove(&file);
            }
        }
        self.cuts.clear();
        // What was taken for granted is not, for another traversal. Files do not have to be read again for it.
        if self.on_damage != OnDamage::StopShard {
            self.holds.clear();
        }
        self.known.len() != before
    }

    /// Forgets which files end with less than a record: the order is made anew.
    pub(super) fn forget_cuts(&mut self) {
        self.cuts.clear();
    }

    /// The error of the first file that the order has gone through and that ends inside a record.
    pub(super) fn cut(&self) -> Option<(&Error, RecordId)> {
        let (file, error) = self.cuts.first_key_value()?;
        let records = self.known.get(file).copied().or(match self.holds.get(file) {
            Some(Holds::Ends { records, .. }) => Some(*records),
            _ => None,
        });
        Some((error, RecordId { file: *file, record: records.unwrap_or(0) }))
    }

    /// Ends a file where it is damaged, whatever it holds after that.
    pub(super) fn stop(&mut self, file: usize, records: u64, after: Option<u64>) {
        self.learn(vec![(file, records)], after);
        self.holds.insert(file, Holds::Ends { records, tail: Tail::Nothing });
    }

    /// Takes the lengths that a state holds in the place of all others.
    pub(super) fn restore(&mut self, known: BTreeMap<usize, u64>) {
        *self = Lengths::new(Arc::clone(&self.plan), self.on_damage, self.to_the_end);
        match self.on_damage {
            OnDamage::StopShard => {
                known.into_iter().for_each(|(file, records)| self.stop(file, records, None))
            }
            OnDamage::Fail | OnDamage::Skip => self.known = known,
        }
    }
}

/// True if a position depends on what is needed after `at` examples: for another example, or for the end.
fn depends_on(state: &StreamState, at: u64) -> bool {
    state.delivered > at || (state.ended && state.delivered == at)
}

impl ShardProbe<'_> {
    /// Looks whether files hold so many records, or how many they hold; several files at a time.
    fn all(self, questions: &[(usize, Option<u64>)]) -> Vec<Result<Holds, Error>> {
        let ask = |(file, at_least): &(usize, Option<u64>)| self.one(*file, *at_least);
        let threads = self.threads.min(questions.len());
        if threads < 2 {
            return questions.iter().map(ask).collect();
        }
        let (next, span) = (AtomicUsize::new(0), tracing::Span::current());
        let answers: Vec<Mutex<Option<Result<Holds, Error>>>> =
            questions.iter().map(|_| Mutex::default()).collect();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(question) = questions.get(at) else { return };
                *answers[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(ask(question));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Without another thread, those that there are do the work.
                if Builder::new().spawn_scoped(scope, || span.in_scope(work)).is_err() {
                    break;
                }
            }
            work();
        });
        let answer = |cell: Mutex<Option<_>>| cell.into_inner().unwrap_or_else(PoisonError::into_inner);
        answers.into_iter().map(|cell| answer(cell).expect("every question has been answered")).collect()
    }

    fn one(self, file: usize, at_least: Option<u64>) -> Result<Holds, Error> {
        let shards = self.cache.shards();
        let shard = shards.file(self.cache.shard(file));
        if let Some(records) = at_least
            && shard.records.reaches(records, shards)? == Some(true)
        {
            return Ok(Holds::AtLeast(records));
        }
        let (records, fault) = shard.records.count(shards)?;
        let tail = match fault {
            None => Tail::Nothing,
            Some(fault) => {
                let error = fault.in_file(shard.path()).into();
                if shard.is_cut(&fault.problem) { Tail::Cut(error) } else { Tail::Damage(error) }
            }
        };
        Ok(Holds::Ends { records, tail })
    }
}
