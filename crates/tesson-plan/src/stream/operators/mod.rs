//! The operators of a stream, one in each file, stacked as tf.data's iterators are (spec/tfds.md §8.1, §8.4).
//!
//! To add an operator, write its file, a variant of [`Layer`] and of [`StreamOp`], and a line in each `match` here.
//! An operator answers four questions, which must agree: `begin` (which passes begin), `next`, `skip` (the same as
//! that many calls of `next`, cheaper) and `facts` (the length and the passes of a whole traversal, from those
//! below).

mod count;
mod elements;
mod repeat;
mod shard;
mod shuffle;
mod skip;
mod source;
mod take;

use super::StreamOp;
use super::buffer_state::SkipControl;
use super::passes::{Facts, sum};
use crate::Result;

pub(super) use count::Count;
pub use count::CountMismatch;
pub(super) use elements::{Elements, ElementsWanted};
pub(super) use repeat::Repeat;
pub(super) use shuffle::Shuffle;
pub(super) use source::Source;

use shard::Shard;
use skip::Skip;
use take::Take;

/// The reason why an operator supplies no example. As wide as a record, so that a result of either is returned in
/// registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Stop {
    End,
    /// The files do not supply as many examples as expected.
    WrongCount,
    /// The caller has interrupted a skip.
    Interrupted,
    /// The saved state of a buffer does not belong to this stream and position.
    WrongBuffer,
    /// The caller must answer for the elements that it holds and then call again.
    Waits,
}

/// The number of records that were skipped, and why not more were.
pub(super) type Skipped = (u64, Option<Stop>);

/// An operator in one traversal, which pulls from the operators below it.
trait Operator {
    /// Begins a traversal; spec/tfds.md §8.4 says which passes begin with it.
    fn begin(&mut self, below: Below<'_>);

    /// The next record.
    fn next(&mut self, below: Below<'_>) -> Result<u64, Stop>;

    /// Skips `n` records, at least one.
    fn skip(&mut self, n: u64, below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped;

    /// The length of a traversal and the passes that it begins, given those of the operator below.
    fn facts(&self, below: &Facts) -> Facts;
}

/// An operator of a stream.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    Source(Source),
    Elements(Elements),
    Count(Count),
    Shuffle(Shuffle),
    Repeat(Repeat),
    Skip(Skip),
    Take(Take),
    Shard(Shard),
}

/// Calls a method of the operator in a layer.
macro_rules! each {
    ($layer:expr, $operator:ident => $call:expr) => {
        match $layer {
            Layer::Source($operator) => $call,
            Layer::Elements($operator) => $call,
            Layer::Count($operator) => $call,
            Layer::Shuffle($operator) => $call,
            Layer::Repeat($operator) => $call,
            Layer::Skip($operator) => $call,
            Layer::Take($operator) => $call,
            Layer::Shard($operator) => $call,
        }
    };
}

impl Layer {
    /// The layer of an operation; `None` for one that only separates its neighbours.
    pub(super) fn of(op: StreamOp, source: usize, fused: bool, below: &Facts) -> Result<Option<Layer>> {
        Ok(Some(match op {
            StreamOp::Shuffle { buffer, seeding } => Layer::Shuffle(Shuffle::new(buffer, seeding, source)),
            StreamOp::Repeat(n) => Layer::Repeat(Repeat::new(n, fused, below)),
            StreamOp::Skip(n) => Layer::Skip(Skip::new(n)),
            StreamOp::Take(n) => Layer::Take(Take::new(n)),
            StreamOp::Shard { count, index } => Layer::Shard(Shard::new(count, index)?),
            StreamOp::Prefetch => return Ok(None),
        }))
    }

    /// The length of a traversal and the passes that it begins, given those of the layer below.
    pub(super) fn facts(&self, below: &Facts) -> Facts {
        each!(self, operator => operator.facts(below))
    }
}

/// The layers below an operator, and the passes begun by each shuffle, first that of the files.
pub(super) struct Below<'a> {
    pub(super) layers: &'a mut [Layer],
    pub(super) passes: &'a mut [u64],
}

// Every layer calls these for each example, so they pass the two slices on in registers; a `Below` borrowed as a
// whole would be written to memory each time. For the same reason layers are an enum and not boxed traits.
impl Below<'_> {
    /// Reborrows the layers and the passes.
    #[inline]
    fn reborrow(&mut self) -> Below<'_> {
        Below { layers: self.layers, passes: self.passes }
    }

    /// Begins a traversal of the uppermost layer.
    #[inline]
    pub(super) fn begin(&mut self) {
        begin(self.layers, self.passes);
    }

    /// The next record of the uppermost layer.
    #[inline]
    pub(super) fn next(&mut self) -> Result<u64, Stop> {
        next(self.layers, self.passes)
    }

    /// Skips `n` records of the uppermost layer.
    #[inline]
    pub(super) fn skip(&mut self, n: u64, control: &mut SkipControl<'_>) -> Skipped {
        if n == 0 { (0, None) } else { skip(self.layers, self.passes, n, control) }
    }

    /// Skips the `left` records that remain to be left out. If the input ends before, that is the end.
    #[inline]
    fn leave_out(&mut self, left: &mut u64) -> Result<(), Stop> {
        if *left == 0 { Ok(()) } else { leave_out(self.layers, self.passes, left) }
    }
}

fn begin(layers: &mut [Layer], passes: &mut [u64]) {
    let (top, layers) = layers.split_last_mut().expect(TOP);
    each!(top, operator => operator.begin(Below { layers, passes }));
}

fn next(layers: &mut [Layer], passes: &mut [u64]) -> Result<u64, Stop> {
    let (top, layers) = layers.split_last_mut().expect(TOP);
    each!(top, operator => operator.next(Below { layers, passes }))
}

fn skip(layers: &mut [Layer], passes: &mut [u64], n: u64, control: &mut SkipControl<'_>) -> Skipped {
    let (top, layers) = layers.split_last_mut().expect(TOP);
    each!(top, operator => operator.skip(n, Below { layers, passes }, control))
}

#[inline(never)]
fn leave_out(layers: &mut [Layer], passes: &mut [u64], left: &mut u64) -> Result<(), Stop> {
    let (skipped, stop) = skip(layers, passes, *left, &mut SkipControl::new(Vec::new(), &mut || false));
    *left -= skipped;
    stop.map_or(Ok(()), Err)
}

const TOP: &str = "there is always a layer: the files, or elements";
