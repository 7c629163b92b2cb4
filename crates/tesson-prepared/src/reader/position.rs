//! Where a reader stands: traversals, states, and going to either.

use std::collections::BTreeMap;

use tesson_core::{Error, ResumeError, UsageError};
use tesson_plan::{Stream, StreamState};

use super::{ExampleBatch, Reader};
use crate::order::SeekTarget;

impl Reader {
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
    /// traversal comes after. `keep_going` is asked every few milliseconds of a long way.
    ///
    /// # Errors
    /// A state of something else; an interruption.
    pub fn passes_at(
        &self,
        state: &StreamState,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        self.order.stream.passes_at(state, keep_going)
    }

    /// The state after all that the reader has given.
    pub fn state(&self) -> StreamState {
        let started = self.order.stream.started().to_vec();
        StreamState { started, delivered: self.delivered, ended: self.ended }
    }

    /// The state after the example of a row, of those that it has given in this traversal.
    pub fn state_behind(&self, examples: &ExampleBatch, row: usize) -> StreamState {
        StreamState { delivered: examples.positions[row], ended: false, ..self.state() }
    }

    /// Goes to where a state was taken, of this reader or another of the same plan.
    ///
    /// # Errors
    /// A state of something else.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &mut || true)
    }

    /// Restores a state as [`Reader::restore`]. `keep_going` is asked every few milliseconds of a long way; if it says no, the
    /// reader stays where it stood.
    ///
    /// # Errors
    /// As [`Reader::restore`]; an interruption.
    pub fn restore_with(
        &mut self,
        state: &StreamState,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        // Until it is there, what was planned and loaded ahead holds.
        self.order.restore(&self.state(), state, keep_going)?;
        self.prefetcher.discard();
        self.taken = None;
        self.failed = None;
        self.stands_at_order();
        Ok(())
    }

    /// The same where files have these lengths, with the stream already there.
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
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let probe = self.prefetcher.probe(&self.loader);
        let gone = self.order.seek(goal, probe, keep_going);
        gone.map_err(|astray| self.led_astray(astray))?;
        self.prefetcher.discard();
        (self.taken, self.failed, self.cut) = (None, None, None);
        self.stands_at_order();
        Ok(())
    }
}
