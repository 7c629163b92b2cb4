//! The operators of a stream, one a file, each on top of the ones before it, as tf.data's iterators are
//! (spec/tfds.md §8.1, §8.4).
//!
//! To add an operator, write its file, a variant of [`Layer`] and of [`StreamOp`], and a line in each `match` here.

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

/// Why an operator gives no example. As wide as a record, so that a result of either is returned in registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Stop {
    End,
    /// The files do not give as many examples as expected.
    WrongCount,
    /// The caller does not want to wait any longer for a skip.
    Interrupted,
    /// The state of a buffer is not of this stream and position.
    WrongBuffer,
    /// The caller has to answer for the elements that it holds, and then to call again.
    Waits,
}

/// How many records were passed over, and why not more.
pub(super) type Skipped = (u64, Option<Stop>);

/// An operator in one traversal. It pulls from the operators below it.
trait Operator {
    /// Begins a traversal (spec/tfds.md §8.4: which passes begin with it).
    fn begin(&mut self, below: Below<'_>);

    /// The next record.
    fn next(&mut self, below: Below<'_>) -> Result<u64, Stop>;

    /// Passes over `n` records, at least one.
    fn skip(&mut self, n: u64, below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped;

    /// How long a traversal is and which passes it begins, on top of an operator of which that is known.
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
    /// The layer of an operation; `None` for one that only stands between others.
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

    /// How long a traversal is and which passes it begins, on top of a layer of which that is known.
    pub(super) fn facts(&self, below: &Facts) -> Facts {
        each!(self, operator => operator.facts(below))
    }
}

/// The layers below an operator, and the passes begun by each shuffle, the files' first.
pub(super) struct Below<'a> {
    pub(super) layers: &'a mut [Layer],
    pub(super) passes: &'a mut [u64],
}

// Every layer calls these for each example, so they hand on the two slices, in registers: a `Below` that is borrowed as a whole
// would be written to memory each time.
impl Below<'_> {
    /// The same layers for a shorter time.
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

    /// Passes over `n` records of the uppermost layer.
    #[inline]
    pub(super) fn skip(&mut self, n: u64, control: &mut SkipControl<'_>) -> Skipped {
        if n == 0 { (0, None) } else { skip(self.layers, self.passes, n, control) }
    }

    /// Passes over what is left to be left out. An end within is the end.
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
