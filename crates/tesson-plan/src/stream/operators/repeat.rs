//! The repeat: a number of passes, one after the other (spec/tfds.md §8.6).
//!
//! Advice for the next editor: a finite repeat begins one pass more than it delivers, unless it lies directly on a
//! shuffle, because tf.data fuses the two. Only the next traversal shows it, as a skipped pair of seeds; `end_pass`,
//! `skip_passes` and `facts` all count it. A skip never passes over the last pass as a whole, since its end may not
//! be seen, and then nothing more begins.

use serde_json::{Map, Value, json};
use tesson_core::ResumeError;

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop, sum};
use crate::stream::element_order::{count_to, flag};

/// A repeat.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Repeat {
    /// The number of passes to deliver; `None`: without end.
    times: Option<u64>,
    /// True if it lies directly on a shuffle.
    fused: bool,
    /// True if the first pass is followed and not skipped as a whole, so that the declared lengths of files can be
    /// compared with the files as the pass reaches them.
    follows: bool,
    /// Passes that have ended.
    ended: u64,
    /// True while the current pass has delivered nothing.
    fresh: bool,
    /// True if there are no more passes.
    over: bool,
    /// The length of a pass and the passes that it begins below.
    pass: Facts,
}

impl Repeat {
    /// Repeats the layers below `n` times, without end if `n` is negative.
    pub(super) fn new(n: i64, fused: bool, below: &Facts) -> Repeat {
        let times = u64::try_from(n).ok();
        Repeat { times, fused, follows: false, ended: 0, fresh: true, over: false, pass: below.clone() }
    }

    /// Sets whether the first pass is followed from now on.
    pub(in crate::stream) fn follow(&mut self, follows: bool) {
        self.follows = follows;
    }

    /// Records that no pass has an example.
    pub(in crate::stream) fn expect_nothing(&mut self) {
        self.pass.len = Some(0);
    }

    /// The position of a pass over elements.
    pub(in crate::stream) fn position(&self) -> Value {
        json!({"ended": self.ended, "is_fresh": self.fresh, "is_over": self.over})
    }

    /// Goes to a position of a pass over elements.
    pub(in crate::stream) fn go_to(&mut self, position: &Map<String, Value>) -> Result<(), ResumeError> {
        self.ended = count_to(position, "ended", self.times.unwrap_or(u64::MAX))?;
        (self.fresh, self.over) = (flag(position, "is_fresh")?, flag(position, "is_over")?);
        Ok(())
    }

    /// The input has ended: the next pass begins, unless this is the end.
    #[cold]
    fn end_pass(&mut self, below: &mut Below<'_>) -> Result<(), Stop> {
        self.ended += 1;
        // Empty passes would follow each other without end, so an endless repeat ends with the first of them.
        let is_empty = self.fresh && (self.times.is_none() || self.pass.len == Some(0));
        self.over = self.times == Some(self.ended) || is_empty;
        // tf.data begins the next pass before it tests whether there is one, but not in the operation that it makes
        // of a shuffle and a repeat (spec/tfds.md §8.6).
        if !self.over || !self.fused {
            below.begin();
            self.fresh = true;
        }
        if self.over { Err(Stop::End) } else { Ok(()) }
    }

    /// Skips whole passes, beginning at the start of one, but never the last: its end may not be seen.
    fn skip_passes(&mut self, n: u64, below: &mut Below<'_>) -> u64 {
        let (Some(len @ 1..), Some(whole), true) = (self.pass.len, &self.pass.whole, self.fresh) else {
            return 0;
        };
        if self.follows && self.ended == 0 {
            return 0;
        }
        let left = self.times.map_or(u64::MAX, |times| times - self.ended);
        let n_passes = (n.saturating_sub(1) / len).min(left.saturating_sub(1));
        if n_passes == 0 {
            return 0;
        }
        for ((passes, at_begin), whole) in below.passes.iter_mut().zip(&self.pass.at_begin).zip(whole) {
            *passes = passes.wrapping_sub(*at_begin).wrapping_add(whole.wrapping_mul(n_passes));
        }
        below.begin();
        self.ended += n_passes;
        n_passes * len
    }

    /// Skips at most `n` records, up to the end of the current pass, and begins the next.
    fn skip_within_pass(&mut self, n: u64, below: &mut Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let (skipped, stop) = below.skip(n, control);
        self.fresh &= skipped == 0;
        match stop {
            Some(Stop::End) => (skipped, self.end_pass(below).err()),
            stop => (skipped, stop),
        }
    }
}

impl Operator for Repeat {
    fn begin(&mut self, mut below: Below<'_>) {
        (self.ended, self.fresh, self.over) = (0, true, self.times == Some(0));
        if !self.over {
            below.begin();
        }
    }

    #[inline]
    fn next(&mut self, mut below: Below<'_>) -> Result<u64, Stop> {
        loop {
            if self.over {
                return Err(Stop::End);
            }
            match below.next() {
                Err(Stop::End) => self.end_pass(&mut below)?,
                answer => {
                    self.fresh &= answer.is_err();
                    return answer;
                }
            }
        }
    }

    fn skip(&mut self, n: u64, mut below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let mut skipped = self.skip_passes(n, &mut below);
        while skipped < n {
            if self.over {
                return (skipped, Some(Stop::End));
            }
            if control.is_interrupted(1) {
                return (skipped, Some(Stop::Interrupted));
            }
            let (more, stop) = self.skip_within_pass(n - skipped, &mut below, control);
            skipped += more;
            if stop.is_some() {
                return (skipped, stop);
            }
            skipped += self.skip_passes(n - skipped, &mut below);
        }
        (n, None)
    }

    fn facts(&self, below: &Facts) -> Facts {
        if self.times == Some(0) {
            return below.nothing();
        }
        let len = match (below.len, self.times) {
            (Some(0), _) => Some(0),
            (Some(len), Some(times)) => len.checked_mul(times),
            _ => None,
        };
        // No second pass follows an empty one.
        let n_passes = if len == Some(0) { Some(1) } else { self.times };
        let whole = match (n_passes, &below.whole) {
            (Some(times), Some(whole)) if len.is_some() => {
                let passes = sum(&below.no_passes(), whole, times);
                // The pass that is begun and never read.
                Some(if self.fused { passes } else { sum(&passes, &below.at_begin, 1) })
            }
            _ => None,
        };
        Facts { len, at_begin: below.at_begin.clone(), whole, once: false }
    }
}
