//! The layers of a stream, each on top of the one before it, as tf.data's iterators are (§8.1, §8.4).

use std::fmt;

use tesson_core::UsageError;

use super::buffer::Buffer;
use super::files::Files;
use super::interleave::Interleave;
use super::passes::Facts;
use super::ring::{Ring, Way};
use super::{Seeding, StreamOp};

/// The files do not give as many examples as the plan says (§8.11).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CountMismatch {
    /// Examples that were expected.
    pub expected: u64,
    /// Examples that there are; where there are more than expected, one more.
    pub found: u64,
}

impl fmt::Display for CountMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        match found > expected {
            true => write!(f, "the files hold more than the {expected} examples that the split counts"),
            false => write!(f, "the files hold {found} examples, the split counts {expected}"),
        }
    }
}

impl std::error::Error for CountMismatch {}

/// Why a layer gives no example.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    End,
    Failed(CountMismatch),
    /// Somebody does not want to wait any longer on the way to a place.
    Interrupted,
    /// A ring is not of this stream.
    Foreign,
}

impl Stop {
    pub(super) fn answer(self) -> Result<(), CountMismatch> {
        match self {
            Stop::End | Stop::Interrupted | Stop::Foreign => Ok(()),
            Stop::Failed(mismatch) => Err(mismatch),
        }
    }
}

/// A layer of a traversal: what it is, and where it stands.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    Files { files: Files, interleave: Interleave },
    Count { expected: u64, found: u64 },
    Shuffle { size: u64, seeding: Seeding, source: usize, buffer: Buffer, input: Input },
    Repeat { repeat: Repeat, below: Facts },
    Skip { n: i64, left: u64 },
    Take { n: u64, left: u64 },
    Shard { count: u64, index: u64, before: u64 },
}

impl Layer {
    /// The layer of an operation; `None` for one that only stands between others.
    pub(super) fn of(
        op: StreamOp,
        source: usize,
        fused: bool,
        below: &Facts,
    ) -> Result<Option<Layer>, UsageError> {
        Ok(Some(match op {
            StreamOp::Shuffle { buffer, seeding } => Layer::Shuffle {
                size: buffer.get(),
                seeding,
                source,
                buffer: Buffer::new(buffer.get(), seeding.words(0)),
                input: Input::Waits,
            },
            StreamOp::Repeat(n) => Layer::Repeat {
                repeat: Repeat {
                    times: u64::try_from(n).ok(),
                    fused,
                    follows: false,
                    ended: 0,
                    fresh: true,
                    over: false,
                },
                below: below.clone(),
            },
            StreamOp::Skip(n) => Layer::Skip { n, left: 0 },
            StreamOp::Take(n) => Layer::Take { n: u64::try_from(n).unwrap_or(u64::MAX), left: 0 },
            StreamOp::Shard { count, index } => {
                if index >= count.get() {
                    return Err(UsageError(format!(
                        "share {index} is none of the {count} shares 0 … {}",
                        count.get() - 1
                    )));
                }
                Layer::Shard { count: count.get(), index, before: index }
            }
            StreamOp::Prefetch => return Ok(None),
        }))
    }
}

/// Where the input of a shuffle stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Begins with the first example that is asked for.
    Waits,
    Flows,
    Ended,
}

/// Where a repeat stands.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    /// Passes to give; `None`: there is no end.
    times: Option<u64>,
    /// It stands directly on a shuffle.
    fused: bool,
    /// The first pass is followed, not skipped as a whole: lengths of files that are only declared are compared with the
    /// files as the pass reaches them.
    follows: bool,
    /// Passes that have ended.
    ended: u64,
    /// Nothing of the current pass has been given.
    fresh: bool,
    /// There are no more passes.
    over: bool,
}

const TOP: &str = "there is always a layer: the files";

/// Begins a traversal of the uppermost layer (§8.4: which passes begin with it).
pub(super) fn begin(layers: &mut [Layer], passes: &mut [u64]) {
    let (top, below) = layers.split_last_mut().expect(TOP);
    match top {
        Layer::Files { files, interleave } => {
            interleave.begin(files);
            files.begin(&mut passes[0]);
        }
        Layer::Count { found, .. } => {
            *found = 0;
            begin(below, passes);
        }
        Layer::Shuffle { size, seeding, source, buffer, input } => {
            *buffer = Buffer::new(*size, seeding.words(passes[*source]));
            *input = Input::Waits;
            passes[*source] = passes[*source].wrapping_add(1);
        }
        Layer::Repeat { repeat, .. } => {
            (repeat.ended, repeat.fresh, repeat.over) = (0, true, repeat.times == Some(0));
            if !repeat.over {
                begin(below, passes);
            }
        }
        Layer::Skip { n, left } => {
            *left = n.unsigned_abs();
            if *n >= 0 {
                begin(below, passes);
            }
        }
        Layer::Take { n, left } => {
            *left = *n;
            if *n > 0 {
                begin(below, passes);
            }
        }
        Layer::Shard { index, before, .. } => {
            *before = *index;
            begin(below, passes);
        }
    }
}

/// The next record of the uppermost layer.
pub(super) fn next(layers: &mut [Layer], passes: &mut [u64]) -> Result<u64, Stop> {
    let (top, below) = layers.split_last_mut().expect(TOP);
    match top {
        Layer::Files { files, interleave } => interleave.next(files, &mut passes[0]).ok_or(Stop::End),
        Layer::Count { expected, found } => {
            let answer = next(below, passes);
            *found += u64::from(answer.is_ok());
            let is_wrong = if answer.is_ok() { *found > *expected } else { *found != *expected };
            if is_wrong {
                return Err(Stop::Failed(CountMismatch { expected: *expected, found: *found }));
            }
            answer
        }
        Layer::Shuffle { buffer, input, .. } => {
            fill(buffer, input, below, passes)?;
            buffer.draw().ok_or(Stop::End)
        }
        Layer::Repeat { repeat, below: facts } => loop {
            if repeat.over {
                return Err(Stop::End);
            }
            match next(below, passes) {
                Err(Stop::End) => repeat.end_pass(facts, below, passes)?,
                answer => {
                    repeat.fresh = false;
                    return answer;
                }
            }
        },
        Layer::Skip { n: ..0, .. } => Err(Stop::End),
        Layer::Skip { left, .. } => {
            pass_over(left, below, passes)?;
            next(below, passes)
        }
        Layer::Take { left: 0, .. } => Err(Stop::End),
        Layer::Take { left, .. } => {
            let record = next(below, passes)?;
            *left -= 1;
            Ok(record)
        }
        Layer::Shard { count, before, .. } => {
            pass_over(before, below, passes)?;
            let record = next(below, passes)?;
            *before = *count - 1;
            Ok(record)
        }
    }
}

/// Examples of files that are gone past at once.
const PIECE: u64 = 1 << 24;

/// Goes past `n` records of the uppermost layer: how many there were, and why there were not more.
pub(super) fn skip(
    layers: &mut [Layer],
    passes: &mut [u64],
    n: u64,
    way: &mut Way<'_>,
) -> (u64, Option<Stop>) {
    if n == 0 {
        return (0, None);
    }
    let (top, below) = layers.split_last_mut().expect(TOP);
    match top {
        Layer::Files { files, interleave } => {
            let mut skipped = 0;
            while skipped < n {
                // Where files are repeated, each of them is gone past: that may take long.
                let piece = (n - skipped).min(PIECE);
                let found = interleave.skip(piece, files, &mut passes[0]);
                skipped += found;
                if found < piece {
                    return (skipped, Some(Stop::End));
                }
                if piece == PIECE && !way.goes_on(Way::PATIENCE) {
                    return (skipped, Some(Stop::Interrupted));
                }
            }
            (n, None)
        }
        Layer::Count { expected, found } => {
            let (skipped, stop) = skip(below, passes, n.min(*expected - *found), way);
            *found += skipped;
            match stop {
                None if skipped == n => (n, None),
                // One more, or the end: `next` knows what to make of it.
                _ => (skipped, next(layers, passes).err()),
            }
        }
        Layer::Repeat { repeat, below: facts } => {
            let mut skipped = repeat.skip_passes(n, facts, below, passes);
            while skipped < n {
                if repeat.over {
                    return (skipped, Some(Stop::End));
                }
                if !way.goes_on(1) {
                    return (skipped, Some(Stop::Interrupted));
                }
                let (more, stop) = skip(below, passes, n - skipped, way);
                skipped += more;
                repeat.fresh &= more == 0;
                let ended = match stop {
                    Some(Stop::End) => repeat.end_pass(facts, below, passes),
                    Some(failed) => Err(failed),
                    None => Ok(()),
                };
                if let Err(stop) = ended {
                    return (skipped, Some(stop));
                }
                skipped += repeat.skip_passes(n - skipped, facts, below, passes);
            }
            (n, None)
        }
        Layer::Skip { n: ..0, .. } => (0, Some(Stop::End)),
        Layer::Skip { left, .. } => {
            // In one go: a ring may be behind those that are left out.
            let (found, stop) = skip(below, passes, left.saturating_add(n), way);
            let out = found.min(*left);
            *left -= out;
            (found - out, stop)
        }
        Layer::Take { left, .. } => {
            let (skipped, stop) = skip(below, passes, n.min(*left), way);
            *left -= skipped;
            (skipped, stop.or((skipped < n).then_some(Stop::End)))
        }
        Layer::Shard { count, before, .. } => {
            let wanted = (n - 1).saturating_mul(*count).saturating_add(*before).saturating_add(1);
            let (found, stop) = skip(below, passes, wanted, way);
            let own = found.saturating_sub(*before).div_ceil(*count);
            *before = if own == n { *count - 1 } else { 0 };
            (own, stop)
        }
        Layer::Shuffle { size, seeding, source, buffer, input } => {
            let mut skipped = 0;
            let pass = passes[*source].wrapping_sub(1);
            if let Some(ring) = way.ring(*source, pass, buffer.drawn(), n) {
                let draws = ring.drawn - buffer.drawn();
                if let Err(stop) = take_in(&ring, *size, buffer, input, below, passes, way) {
                    return (0, Some(stop));
                }
                *buffer = Buffer::behind(*size, seeding.words(pass), ring.drawn, ring.items);
                skipped = draws;
            }
            while skipped < n {
                if !way.goes_on(1) {
                    return (skipped, Some(Stop::Interrupted));
                }
                if let Err(stop) = next(layers, passes) {
                    return (skipped, Some(stop));
                }
                skipped += 1;
            }
            (n, None)
        }
    }
}

/// Brings the input of a shuffle to where a ring was kept.
fn take_in(
    ring: &Ring,
    size: u64,
    buffer: &Buffer,
    input: &mut Input,
    below: &mut [Layer],
    passes: &mut [u64],
    way: &mut Way<'_>,
) -> Result<(), Stop> {
    if *input == Input::Waits {
        begin(below, passes);
        *input = Input::Flows;
    }
    let taken = buffer.drawn() + buffer.items().len() as u64;
    let more = ring.taken().checked_sub(taken).filter(|_| ring.fits(size)).ok_or(Stop::Foreign)?;
    if *input == Input::Ended {
        return if more == 0 && ring.ended { Ok(()) } else { Err(Stop::Foreign) };
    }
    match skip(below, passes, more, way) {
        (_, Some(Stop::Interrupted)) => return Err(Stop::Interrupted),
        (found, None) if found == more => {}
        _ => return Err(Stop::Foreign),
    }
    if ring.ended {
        // It begins what is begun by looking for more, and goes past what that passes over: a ring may be behind it.
        match skip(below, passes, 1, way) {
            (0, Some(Stop::End)) => *input = Input::Ended,
            (_, Some(Stop::Interrupted)) => return Err(Stop::Interrupted),
            _ => return Err(Stop::Foreign),
        }
    }
    Ok(())
}

/// Goes past what is left to be left out. An end within is the end.
fn pass_over(left: &mut u64, below: &mut [Layer], passes: &mut [u64]) -> Result<(), Stop> {
    let (skipped, stop) = skip(below, passes, *left, &mut Way::new(Vec::new(), &mut || true));
    *left -= skipped;
    stop.map_or(Ok(()), Err)
}

/// Takes in as much of the input as the buffer has room for.
#[inline]
fn fill(buffer: &mut Buffer, input: &mut Input, below: &mut [Layer], passes: &mut [u64]) -> Result<(), Stop> {
    if *input == Input::Waits {
        begin(below, passes);
        *input = Input::Flows;
    }
    while *input == Input::Flows && buffer.has_room() {
        match next(below, passes) {
            Ok(record) => buffer.push(record),
            Err(Stop::End) => *input = Input::Ended,
            Err(failed) => return Err(failed),
        }
    }
    Ok(())
}

impl Repeat {
    /// Whether to follow the first pass from now on.
    pub(super) fn follow(&mut self, follows: bool) {
        self.follows = follows;
    }

    /// The input has ended: the next pass begins, unless this is the end.
    fn end_pass(&mut self, facts: &Facts, below: &mut [Layer], passes: &mut [u64]) -> Result<(), Stop> {
        self.ended += 1;
        // Passes without an example would follow each other without end.
        self.over = self.times == Some(self.ended) || facts.len == Some(0);
        // tf.data begins the next pass before it looks whether it is wanted; but not in the one operation that it makes of
        // a shuffle and a repeat (§8.6).
        if !self.over || !self.fused {
            begin(below, passes);
            self.fresh = true;
        }
        if self.over { Err(Stop::End) } else { Ok(()) }
    }

    /// Goes past whole passes from the beginning of one, except for the last: its end may not be seen.
    fn skip_passes(&mut self, n: u64, facts: &Facts, below: &mut [Layer], passes: &mut [u64]) -> u64 {
        let (Some(len @ 1..), Some(whole), true) = (facts.len, &facts.whole, self.fresh) else { return 0 };
        if self.follows && self.ended == 0 {
            return 0;
        }
        let left = self.times.map_or(u64::MAX, |times| times - self.ended);
        let n_passes = (n.saturating_sub(1) / len).min(left.saturating_sub(1));
        if n_passes == 0 {
            return 0;
        }
        for ((passes, at_begin), whole) in passes.iter_mut().zip(&facts.at_begin).zip(whole) {
            *passes = passes.wrapping_sub(*at_begin).wrapping_add(whole.wrapping_mul(n_passes));
        }
        begin(below, passes);
        self.ended += n_passes;
        n_passes * len
    }
}
