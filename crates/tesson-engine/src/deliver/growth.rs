//! Reading in order while the index grows: byte runs are cut one after the other, decoded side by side, and appended to
//! the index in their order.
//!
//! For the next editor: cutting is sequential, since a run begins where the one before ends, and is meant to be
//! cheap; decoding is parallel. The index grows only by runs without a gap before them, so the planner sees the same
//! index whatever the threads do. It also sees the same error: the first in the order of the data, after all that
//! precedes it. Line numbers are added late, as a run does not know how many lines precede it until those runs are
//! decoded.

use tesson_core::{ByteRun, Chunk, CompactLengths, Error};

use super::batch_files::RunResources;
use crate::block::BlockId;
use crate::executor::Reorder;

/// The byte runs of a corpus, as far as they are known. Byte run `k` is block `k` and chunk `k`.
pub(super) struct Growth {
    /// `None` while a thread cuts the next byte run.
    cutter: Option<Cut>,
    runs: Vec<PlacedRun>,
    resources: RunResources,
    /// The end of the data has been seen: there are no more byte runs.
    ended: bool,
    /// Additions of decoded byte runs to the index; taken in the order of the data.
    decoded: Reorder<Grown>,
    /// The line that the next byte run begins at.
    line: u64,
    /// Index entries that no planner has taken yet.
    fresh: Vec<Grown>,
    /// Pieces being cut or decoded for the first time.
    under_way: usize,
    /// The byte run that ended growing, and why.
    failed: Option<FailedRun>,
    /// The planner has asked for more.
    wanted: bool,
    /// The byte run the planner stands in.
    reached: BlockId,
    /// The data read for one minibatch leave no memory for finding out where it ends.
    outgrown: bool,
    /// A byte run makes more than there is memory for: only by an index can it be divided.
    too_wide: bool,
}

/// A byte run, and the line it begins at, which is known once those before it are decoded.
#[derive(Clone, Copy)]
pub(super) struct PlacedRun {
    pub(super) run: ByteRun,
    pub(super) line: u64,
}

struct FailedRun {
    at: BlockId,
    error: Error,
}

/// The right to cut: only one thread has it at a time.
pub(super) struct Cut {
    /// The last byte run that was cut.
    pub(super) after: Option<ByteRun>,
}

/// The addition of one decoded byte run to the index.
pub(super) struct Grown {
    pub(super) lengths: CompactLengths,
    pub(super) bytes: u64,
    n_lines: u64,
}

impl Grown {
    pub(super) fn of(run: ByteRun, chunk: &Chunk) -> Grown {
        Grown { lengths: CompactLengths::new(&chunk.lengths), bytes: run.bytes, n_lines: chunk.n_lines }
    }
}

impl Growth {
    /// No byte runs yet. The resource of each one that is cut is added to `resources`.
    pub(super) fn new(resources: RunResources) -> Growth {
        Growth {
            cutter: Some(Cut { after: None }),
            runs: Vec::new(),
            resources,
            ended: false,
            decoded: Reorder::default(),
            line: 0,
            fresh: Vec::new(),
            under_way: 0,
            failed: None,
            wanted: true,
            reached: BlockId(0),
            outgrown: false,
            too_wide: false,
        }
    }

    /// True if all byte runs are known and have been decoded once.
    pub(super) fn is_sealed(&self) -> bool {
        self.ended && self.committed() == self.runs.len()
    }

    /// True if the planner would find something new.
    pub(super) fn has_news(&self) -> bool {
        !self.fresh.is_empty() || self.is_sealed() || self.stopped().is_some()
    }

    /// Why the index can grow no further, once everything before the fault is in the index.
    pub(super) fn stopped(&self) -> Option<Error> {
        let is_next = |failed: &&FailedRun| failed.at.index() == self.committed() && self.fresh.is_empty();
        let failed = self.failed.as_ref().filter(is_next)?;
        Some(match failed.error.clone() {
            // The byte run was cut or decoded before the line it begins at was known.
            Error::Data(e) => Error::Data(e.lines_down(self.line_of_next())),
            other => other,
        })
    }

    /// Storage bytes of the last byte run.
    pub(super) fn last_run_bytes(&self) -> usize {
        self.runs.last().map_or(0, |last| last.run.bytes as usize)
    }

    /// True if another byte run may be cut: no more than one per thread is being cut or decoded, and the planner is
    /// near.
    pub(super) fn may_cut(&self, threads: usize) -> bool {
        // Enough that no thread waits for the planner, and little enough that decoded runs, which stay in memory
        // until the planner has passed them, do not fill it.
        let ahead = 1 + 2 * threads as u64;
        let near = self.runs.len() as u64 <= u64::from(self.reached.0) + ahead;
        let is_over = self.ended || self.failed.is_some();
        !self.outgrown
            && !is_over
            && self.under_way <= threads
            && (near || self.wanted)
            && self.cutter.is_some()
    }

    /// Takes the right to cut.
    pub(super) fn start_cut(&mut self) -> Option<Cut> {
        let cut = self.cutter.take()?;
        self.under_way += 1;
        Some(cut)
    }

    /// Gives the right to cut back with what was cut; returns the byte run's number.
    pub(super) fn end_cut(&mut self, cut: Result<Option<ByteRun>, Error>) -> Option<BlockId> {
        let number = BlockId(self.runs.len() as u32);
        match cut {
            Ok(Some(run)) => {
                self.runs.push(PlacedRun { run, line: 0 });
                self.resources.push(run.resource);
                self.cutter = Some(Cut { after: Some(run) });
                return Some(number);
            }
            Ok(None) => self.ended = true,
            Err(e) => self.fail(number, e),
        }
        self.under_way -= 1;
        None
    }

    /// A byte run is decoded for the first time.
    pub(super) fn arrive(&mut self, number: BlockId, decoded: Result<Grown, Error>) {
        self.under_way -= 1;
        match decoded {
            Ok(grown) => self.decoded.put(number.0.into(), grown),
            Err(e) => self.fail(number, e),
        }
        loop {
            let (at, line) = (self.committed(), self.line_of_next());
            let Some(grown) = self.decoded.take() else { return };
            self.runs[at].line = line;
            self.line = line + grown.n_lines;
            self.fresh.push(grown);
        }
    }

    /// Number of byte runs that the index may hold: they and all before them are decoded.
    fn committed(&self) -> usize {
        self.decoded.next() as usize
    }

    /// The line that the next byte run of the index begins at; every resource has lines of its own.
    fn line_of_next(&self) -> u64 {
        let at = self.committed();
        let resource = |at: usize| self.runs.get(at).map(|placed| placed.run.resource);
        match at.checked_sub(1).map(resource) {
            Some(before) if resource(at).is_some_and(|own| before != Some(own)) => 0,
            _ => self.line,
        }
    }

    fn fail(&mut self, at: BlockId, error: Error) {
        // The first in the order of the data counts, whichever thread found it first.
        if self.failed.as_ref().is_none_or(|failed| at < failed.at) {
            self.failed = Some(FailedRun { at, error });
        }
    }

    /// Index entries since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<Grown> {
        std::mem::take(&mut self.fresh)
    }

    /// A byte run.
    pub(super) fn run(&self, number: BlockId) -> PlacedRun {
        self.runs[number.index()]
    }

    /// The planner stands in a byte run.
    pub(super) fn reach(&mut self, run: BlockId) {
        self.reached = run;
    }

    /// True if the planner has asked for more than the index holds.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    pub(super) fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// True if the planner has asked for more and nothing has arrived yet.
    pub(super) fn waits(&self) -> bool {
        self.wanted && !self.has_news()
    }

    /// True if a worker would find something to cut or decode for the planner.
    pub(super) fn is_behind(&self) -> bool {
        self.wanted && !self.is_sealed()
    }

    /// Records that the data read for one minibatch fill the memory.
    pub(super) fn outgrow(&mut self) {
        self.outgrown = true;
    }

    /// A byte run makes more than there is memory for.
    pub(super) fn outgrow_in_a_run(&mut self) {
        (self.outgrown, self.too_wide) = (true, true);
    }

    /// True if reading on needs an index, once everything planned before has been delivered.
    pub(super) fn is_outgrown(&self) -> bool {
        self.outgrown
    }

    /// The plan starts anew somewhere.
    pub(super) fn rewind(&mut self) {
        self.reached = BlockId(0);
        self.outgrown = self.too_wide;
        // First comes what can be planned of the runs that are known.
        self.wanted = false;
    }
}
