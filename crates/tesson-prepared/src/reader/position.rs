//! Where a reader stands: traversals, states, and going to either.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tesson_core::{Error, ResumeError, UsageError};
use tesson_plan::{Stream, StreamState};

use super::{ExampleBatch, Reader};
use crate::order::SeekTarget;

/// Where a reader stands, for another one in its place.
pub(crate) struct Standing {
    state: StreamState,
    lengths: BTreeMap<usize, u64>,
    cut: Option<Error>,
    failed: Option<Error>,
    skipped: u64,
}

impl Reader {
    /// Where the reader stands.
    pub(crate) fn standing(&self) -> Standing {
        let state = self.state();
        let lengths = self.order.lengths.found(&state).into_iter().collect();
        Standing { state, lengths, cut: self.cut(), failed: self.failed.clone(), skipped: self.skipped }
    }

    /// Takes the place of a reader that stands there. The order follows with [`Reader::move_to_standing`].
    pub(crate) fn stand_at(&mut self, at: Standing) {
        let mut stream = self.order.with(&at.lengths).expect("the same order was made before");
        stream.begin_after(&at.state.started).expect("it has as many shuffles");
        self.adopt_stream(at.lengths, stream);
        (self.delivered, self.ended) = (at.state.delivered, at.state.ended);
        (self.cut, self.failed, self.skipped) = (at.cut, at.failed, at.skipped);
    }

    /// Moves the order to where the reader stands.
    pub(crate) fn move_to_standing(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        let failed = self.failed.take();
        let moved = self.restore_with(&self.state(), interrupted);
        self.failed = failed;
        moved
    }

    /// Begins the next traversal: the next pass of every shuffle in it.
    pub fn begin(&mut self) {
        // Shuffles have begun no more passes than those that examples were given of.
        let begun =
            self.discard_prefetch().map_err(Error::from).and_then(|()| self.order.begin(&self.state()));
        debug_assert!(begun.is_ok(), "the reader has been there");
        self.stands_at_order();
        (self.failed, self.cut) = (None, None);
    }

    /// Begins the traversal before which shuffles have begun these numbers of passes, the files' first.
    ///
    /// # Errors
    /// Another number of shuffles.
    pub fn begin_after(&mut self, passes: &[u64]) -> Result<(), UsageError> {
        self.order.begin_after(&self.state(), passes)?;
        self.prefetcher.discard();
        (self.taken, self.failed, self.cut) = (None, None, None);
        self.stands_at_order();
        Ok(())
    }

    /// Passes that each shuffle had begun where a state of this reader was taken, the files' first: those that the next
    /// traversal comes after. `interrupted` is asked every few milliseconds of a long way.
    ///
    /// # Errors
    /// A state of something else; an interruption.
    pub fn passes_at(
        &self,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        self.order.stream.passes_at(state, interrupted)
    }

    /// Returns how many examples long ways to positions have passed so far, to another thread too.
    pub fn passed(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let passed = Arc::clone(&self.order.passed);
        move || passed.load(Ordering::Relaxed)
    }

    /// The state after all that the reader has given.
    pub fn state(&self) -> StreamState {
        let started = self.order.stream.started().to_vec();
        StreamState { started, delivered: self.delivered, ended: self.ended }
    }

    /// The state after the example of a row, of those that it has given in this traversal.
    pub fn state_after(&self, examples: &ExampleBatch, row: usize) -> StreamState {
        StreamState { delivered: examples.positions[row], ended: false, ..self.state() }
    }

    /// Goes to where a state was taken, of this reader or another of the same plan.
    ///
    /// # Errors
    /// A state of something else.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &mut || false)
    }

    /// Restores a state as [`Reader::restore`]. `interrupted` is asked every few milliseconds of a long way; if it says so, the
    /// reader stays where it stood.
    ///
    /// # Errors
    /// Those of [`Reader::restore`]; an interruption.
    pub fn restore_with(
        &mut self,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        // Until it is there, what was planned and loaded ahead holds.
        self.order.restore(&self.state(), state, interrupted)?;
        self.prefetcher.discard();
        self.taken = None;
        self.failed = None;
        self.stands_at_order();
        Ok(())
    }

    /// Moves to a stream that already stands at its position, where files have these lengths.
    pub(crate) fn adopt_stream(&mut self, lengths: BTreeMap<usize, u64>, stream: Stream) {
        self.prefetcher.discard();
        self.taken = None;
        self.failed = None;
        self.order.adopt_stream(lengths, stream);
        self.stands_at_order();
    }

    /// Goes to a place that it may never have been at.
    pub(crate) fn seek_to(
        &mut self,
        goal: SeekTarget,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let probe = self.prefetcher.probe(&self.loader);
        let gone = self.order.seek(goal, probe, interrupted);
        gone.map_err(|astray| self.led_astray(astray))?;
        self.prefetcher.discard();
        (self.taken, self.failed, self.cut) = (None, None, None);
        self.stands_at_order();
        Ok(())
    }
}
