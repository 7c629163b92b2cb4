//! The shuffle of examples, in a buffer (spec/tfds.md §8.5).
//!
//! Advice for the next editor: a shuffle begins its own pass with the traversal, and its input only with the first
//! example (spec/tfds.md §8.4). What is below it then still stands where the traversal before ended, which `passes`, `buffers` and
//! states must not mistake for the present one. A pass is drawn again from its start to reach a position; a saved
//! buffer shortens that and is no second kind of state: one that is not reached, does not fit or disagrees with the
//! input is refused.

use std::num::NonZeroU64;

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop, sum};
use crate::stream::Seeding;
use crate::stream::buffer::Buffer;
use crate::stream::buffer_state::BufferState;
use crate::stream::element_order::{count, flag};

/// A shuffle: delivers the examples of a buffer in random order, and fills the buffer from below.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Shuffle {
    size: u64,
    seeding: Seeding,
    /// The number of the shuffle in the stream; that of the files is 0.
    source: usize,
    buffer: Buffer,
    input: Input,
}

/// The state of a shuffle's input.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Input {
    /// The input begins with the first example that is requested.
    NotBegun,
    Flows,
    Ended,
}

impl Shuffle {
    pub(super) fn new(size: NonZeroU64, seeding: Seeding, source: usize) -> Shuffle {
        let buffer = Buffer::new(size.get(), seeding.words(0));
        Shuffle { size: size.get(), seeding, source, buffer, input: Input::NotBegun }
    }

    /// True if the layers below have begun in this traversal. If not, they are where the traversal before left them.
    pub(in crate::stream) fn has_begun(&self) -> bool {
        self.input != Input::NotBegun
    }

    /// True if each pass has another order.
    pub(in crate::stream) fn reshuffles(&self) -> bool {
        self.seeding.reshuffle && self.size > 1
    }

    /// The state of the buffer.
    pub(in crate::stream) fn state(&self, passes: &[u64]) -> BufferState {
        BufferState {
            source: self.source,
            pass: passes[self.source].wrapping_sub(1),
            drawn: self.buffer.drawn(),
            ended: self.input == Input::Ended,
            items: self.buffer.items().collect(),
        }
    }

    /// Bytes of memory that the buffer holds.
    pub(in crate::stream) fn bytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// The numbers of the items in the buffer.
    pub(in crate::stream) fn held(&self) -> Vec<u64> {
        self.buffer.items().collect()
    }

    /// The position of a pass over elements.
    pub(in crate::stream) fn position(&self, pass: u64) -> Value {
        let (drawn, held) = (self.buffer.drawn(), self.buffer.items().len() as u64);
        let (has_begun, has_ended) = (self.has_begun(), self.input == Input::Ended);
        json!({"pass": pass, "pushed": drawn + held, "drawn": drawn, "has_begun": has_begun, "has_ended": has_ended})
    }

    /// Goes to a position of a pass over elements. Returns the number of the pass, and how many elements were pushed.
    pub(in crate::stream) fn go_to(
        &mut self,
        position: &Map<String, Value>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(u64, u64), ResumeError> {
        let pass = count(position, "pass")?;
        let (has_begun, has_ended) = (flag(position, "has_begun")?, flag(position, "has_ended")?);
        let (pushed, drawn) = (count(position, "pushed")?, count(position, "drawn")?);
        let error = |source: &str| {
            let drawn = format_args!("{drawn} of {pushed} elements drawn");
            ResumeError::new("the position in a shuffle", drawn, source)
        };
        let mut buffer = Buffer::new(self.size, self.seeding.words(pass));
        let mut next = 0;
        let mut fill = |buffer: &mut Buffer| {
            while next < pushed && buffer.has_room() {
                buffer.push(next);
                next += 1;
            }
            next
        };
        while buffer.drawn() < drawn {
            fill(&mut buffer);
            if buffer.draw().is_none() {
                return Err(error("more drawn than pushed"));
            }
            if buffer.drawn().is_multiple_of(SkipControl::INTERVAL) && interrupted() {
                return Err(error("interrupted on the way"));
            }
        }
        if fill(&mut buffer) != pushed {
            return Err(error("a buffer that holds fewer"));
        }
        self.buffer = buffer;
        self.input = match (has_begun, has_ended) {
            (false, false) if pushed == 0 => Input::NotBegun,
            (true, false) => Input::Flows,
            (true, true) => Input::Ended,
            _ => return Err(error("an input that has not begun")),
        };
        Ok((pass, pushed))
    }

    #[cold]
    fn begin_input(&mut self, below: &mut Below<'_>) {
        below.begin();
        self.input = Input::Flows;
    }

    /// Fills the buffer from the input.
    #[inline(always)]
    fn fill(&mut self, below: &mut Below<'_>) -> Result<(), Stop> {
        if self.input == Input::NotBegun {
            self.begin_input(below);
        }
        while self.input == Input::Flows && self.buffer.has_room() {
            match below.next() {
                Ok(record) => self.buffer.push(record),
                Err(Stop::End) => self.input = Input::Ended,
                Err(failed) => return Err(failed),
            }
        }
        Ok(())
    }

    /// Skips the input to the position at which the state of a buffer was saved.
    fn skip_input_to(
        &mut self,
        kept: &BufferState,
        below: &mut Below<'_>,
        control: &mut SkipControl<'_>,
    ) -> Result<(), Stop> {
        if self.input == Input::NotBegun {
            self.begin_input(below);
        }
        let taken = self.buffer.drawn() + self.buffer.items().len() as u64;
        let more =
            kept.taken().checked_sub(taken).filter(|_| kept.fits(self.size)).ok_or(Stop::WrongBuffer)?;
        if self.input == Input::Ended {
            return if more == 0 && kept.ended { Ok(()) } else { Err(Stop::WrongBuffer) };
        }
        match below.skip(more, control) {
            (_, Some(Stop::Interrupted)) => return Err(Stop::Interrupted),
            (found, None) if found == more => {}
            _ => return Err(Stop::WrongBuffer),
        }
        if kept.ended {
            // Looking for one more example begins the passes that reading to the end begins, and may reach the saved
            // state of another buffer.
            match below.skip(1, control) {
                (0, Some(Stop::End)) => self.input = Input::Ended,
                (_, Some(Stop::Interrupted)) => return Err(Stop::Interrupted),
                _ => return Err(Stop::WrongBuffer),
            }
        }
        Ok(())
    }
}

impl Operator for Shuffle {
    fn begin(&mut self, below: Below<'_>) {
        let pass = &mut below.passes[self.source];
        self.buffer = Buffer::new(self.size, self.seeding.words(*pass));
        self.input = Input::NotBegun;
        *pass = pass.wrapping_add(1);
    }

    #[inline(always)]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        self.fill(&mut below)?;
        self.buffer.draw().ok_or(Stop::End)
    }

    /// Draws, except up to a position for which the state of the buffer was saved.
    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let mut skipped = 0;
        let pass = below.passes[self.source].wrapping_sub(1);
        if let Some(kept) = control.take_kept(self.source, pass, self.buffer.drawn(), n) {
            skipped = kept.drawn - self.buffer.drawn();
            if let Err(stop) = self.skip_input_to(&kept, &mut below, control) {
                return (0, Some(stop));
            }
            self.buffer = Buffer::after(self.size, self.seeding.words(pass), kept.drawn, kept.items);
        }
        while skipped < n {
            if control.is_interrupted(1) {
                return (skipped, Some(Stop::Interrupted));
            }
            if let Err(stop) = self.next(below.reborrow()) {
                return (skipped, Some(stop));
            }
            skipped += 1;
        }
        (n, None)
    }

    fn facts(&self, below: &Facts) -> Facts {
        let mut own = below.no_passes();
        own[self.source] = 1;
        let whole = below.whole.as_ref().map(|whole| sum(whole, &own, 1));
        Facts { whole, at_begin: own, ..below.clone() }
    }
}
