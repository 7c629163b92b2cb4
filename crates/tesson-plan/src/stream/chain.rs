//! The layers of a stream, each on top of the one before it, as tf.data's iterators are (§8.1, §8.4).

use std::fmt;

use tesson_core::UsageError;

use super::buffer::Buffer;
use super::files::Files;
use super::interleave::Interleave;
use super::passes::{Facts, sum};
use super::ring::{Ring, Way};
use super::{Seeding, Span, StreamOp, StreamSpec};
use crate::Demand;

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
enum Stop {
    End,
    Failed(CountMismatch),
    /// Somebody does not want to wait any longer on the way to a place.
    Interrupted,
    /// A ring is not of this stream.
    Foreign,
}

/// Why a place is not come to.
pub(super) enum Stray {
    /// The traversal ends before it.
    Beyond,
    /// What buffers should hold is not of this stream and place.
    Rings,
    Interrupted,
}

/// A layer of a traversal: what it is, and where it stands.
#[derive(Clone, Debug)]
enum Layer {
    Files { files: Files, interleave: Interleave },
    Count { expected: u64, found: u64 },
    Shuffle { size: u64, seeding: Seeding, source: usize, buffer: Buffer, input: Input },
    Repeat { repeat: Repeat, below: Facts },
    Skip { n: i64, left: u64 },
    Take { n: u64, left: u64 },
    Shard { count: u64, index: u64, before: u64 },
}

/// Where the input of a shuffle stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Input {
    /// Begins with the first example that is asked for.
    Waits,
    Flows,
    Ended,
}

/// Where a repeat stands.
#[derive(Clone, Debug)]
struct Repeat {
    /// Passes to give; `None`: there is no end.
    times: Option<u64>,
    /// It stands directly on a shuffle.
    fused: bool,
    /// Passes that have ended.
    ended: u64,
    /// Nothing of the current pass has been given.
    fresh: bool,
    /// There are no more passes.
    over: bool,
}

/// A stream of record numbers, traversed from its beginning as often as one likes.
#[derive(Clone, Debug)]
pub struct Stream {
    layers: Vec<Layer>,
    facts: Facts,
    /// Passes begun by each shuffle, the files' first; and what they were when this traversal began.
    passes: Box<[u64]>,
    started: Box<[u64]>,
    delivered: u64,
    stopped: Option<Stop>,
}

impl Stream {
    /// A stream at the beginning of its first traversal.
    ///
    /// # Errors
    /// A share that is none of its shares; no files.
    pub fn new(spec: StreamSpec) -> Result<Stream, UsageError> {
        if spec.files.is_empty() {
            return Err(UsageError("the split corresponds to no data".into()));
        }
        let is_shuffle = |op: &&StreamOp| matches!(op, StreamOp::Shuffle { .. });
        let n_sources = 1 + spec.ops.iter().filter(is_shuffle).count();
        let files = Files::new(spec.files, spec.shuffle_files, spec.repeat_files);
        let mut facts = Facts::of_files(files.n_examples(), n_sources);
        let interleave = Interleave::new(spec.cycle.get(), spec.block.get());
        // Repeated files are never as many as the plan counts; nothing could be read of them (§9).
        let expected = spec.expected.filter(|_| !files.repeats());
        let mut layers = vec![Layer::Files { files, interleave }];
        if let Some(expected) = expected {
            layers.push(Layer::Count { expected, found: 0 });
            facts = facts.counted(expected);
        }
        let mut source = 0;
        for op in spec.ops.into_iter().filter(|op| !op.is_idle()) {
            source += usize::from(is_shuffle(&&op));
            let fused = matches!(layers.last(), Some(Layer::Shuffle { .. }));
            layers.push(Layer::of(op, source, fused, &facts)?);
            facts = facts.then(op, source, fused);
        }
        let none: Box<[u64]> = vec![0; n_sources].into();
        let mut stream =
            Stream { layers, facts, passes: none.clone(), started: none, delivered: 0, stopped: None };
        stream.begin();
        Ok(stream)
    }

    /// Begins a traversal, which is the next pass of everything in it.
    pub fn begin(&mut self) {
        self.started.clone_from(&self.passes);
        begin(&mut self.layers, &mut self.passes);
        self.delivered = 0;
        self.stopped = None;
    }

    /// Begins a traversal where shuffles have begun these numbers of passes before it; one number for each shuffle.
    pub(super) fn begin_at(&mut self, passes: &[u64]) {
        self.passes.copy_from_slice(passes);
        self.begin();
    }

    /// Begins the traversal of a number, from 0, as if all before it had been read to their ends.
    ///
    /// # Errors
    /// The traversals before it have no end.
    pub fn begin_traversal(&mut self, n: u64) -> Result<(), UsageError> {
        self.begin_traversal_with(n, &mut || true).map(|_| ())
    }

    /// The same, if `go_on` agrees, which is asked every few milliseconds where the traversals before have to be followed.
    /// Whether it has; the stream is at some other place if not.
    ///
    /// # Errors
    /// As [`Stream::begin_traversal`].
    pub fn begin_traversal_with(
        &mut self,
        n: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, UsageError> {
        let none: Box<[u64]> = vec![0; self.passes.len()].into();
        if n == 0 {
            self.begin_at(&none);
            return Ok(true);
        }
        if let Some(whole) = &self.facts.whole {
            let passes = sum(&none, whole, n);
            self.begin_at(&passes);
            return Ok(true);
        }
        let len = self
            .len()
            .ok_or_else(|| UsageError(format!("traversal {n} never begins, those before it have no end")))?;
        self.begin_at(&none);
        let mut way = Way::new(Vec::new(), go_on);
        for _ in 0..n {
            // A count that is wrong ends every traversal at the same place.
            self.skip_along(len.saturating_add(1), &mut way);
            if self.stopped == Some(Stop::Interrupted) {
                return Ok(false);
            }
            self.begin();
        }
        Ok(true)
    }

    /// Examples of a traversal, if it has an end.
    #[allow(clippy::len_without_is_empty, reason = "a stream is not a container")]
    pub fn len(&self) -> Option<u64> {
        self.facts.len
    }

    /// Examples given in this traversal.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Passes begun by each shuffle before this traversal; the first number is the files'.
    pub fn started(&self) -> &[u64] {
        &self.started
    }

    /// Whether the traversal has been read to its end, which was seen.
    pub fn has_ended(&self) -> bool {
        self.stopped.is_some()
    }

    /// The number of the next record; `None` at the end, again and again until the next traversal.
    ///
    /// # Errors
    /// The files do not give as many examples as expected. The stream stays failed.
    #[allow(clippy::should_implement_trait, reason = "a stream can fail and be traversed again")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<u64>, CountMismatch> {
        if let Some(stop) = self.stopped {
            return stop.answer().map(|()| None);
        }
        match next(&mut self.layers, &mut self.passes) {
            Ok(record) => {
                self.delivered += 1;
                Ok(Some(record))
            }
            Err(stop) => {
                self.stopped = Some(stop);
                stop.answer().map(|()| None)
            }
        }
    }

    /// The numbers of the next records, as many as follow each other in one file and in the order, from 1 to `most`; `None`
    /// at the end.
    ///
    /// # Errors
    /// As [`Stream::next`].
    #[inline]
    pub fn next_run(&mut self, most: u64) -> Result<Option<Span>, CountMismatch> {
        let run = match &mut self.layers[..] {
            _ if self.stopped.is_some() => None,
            [Layer::Files { files, interleave }] => interleave.run(most, files, &mut self.passes[0]),
            [Layer::Files { files, interleave }, Layer::Count { expected, found }] => {
                let counted = most.min(*expected - *found);
                let run =
                    if counted > 0 { interleave.run(counted, files, &mut self.passes[0]) } else { None };
                *found += run.map_or(0, |run| run.len);
                run
            }
            _ => None,
        };
        match run {
            Some(run) => {
                self.delivered += run.len;
                Ok(Some(run))
            }
            // Other orders go record by record; and what comes at the end is said in one place.
            None => Ok(self.next()?.map(|first| Span { first, len: 1 })),
        }
    }

    /// Appends the numbers of the next `n` records; fewer at the end.
    ///
    /// # Errors
    /// As [`Stream::next`], behind the records that come before it.
    pub fn fill(&mut self, n: usize, into: &mut Vec<u64>) -> Result<(), CountMismatch> {
        for _ in 0..n {
            match self.next()? {
                Some(record) => into.push(record),
                None => break,
            }
        }
        Ok(())
    }

    /// Goes past the next minibatch, of `demand.samples` examples over all workers, and appends the share of the demand's
    /// rank: every `workers`-th example from `rank` on (§12.5). Returns how many examples the minibatch has; 0 at the end.
    ///
    /// The order is that of one worker, and all ranks stand at the same place behind it, so a run may go on with any
    /// number of them.
    ///
    /// # Errors
    /// As [`Stream::next`]; the share of what comes before is appended.
    pub fn fill_share(&mut self, demand: Demand, into: &mut Vec<u64>) -> Result<u64, CountMismatch> {
        let mut n = 0;
        // The rank's place in the round of workers, without a division for each example.
        let mut turn = 0;
        while n < demand.samples {
            let Some(record) = self.next()? else { break };
            if turn == demand.rank {
                into.push(record);
            }
            n += 1;
            turn = if turn + 1 == demand.workers { 0 } else { turn + 1 };
        }
        Ok(n)
    }

    /// Goes past `n` examples and says how many there were; fewer at the end. Without shuffle of examples that takes a
    /// time that depends on the number of files only; a shuffle costs a draw for each example of its pass.
    ///
    /// # Errors
    /// As [`Stream::next`].
    pub fn skip(&mut self, n: u64) -> Result<u64, CountMismatch> {
        if n == 0 {
            return Ok(0);
        }
        if let Some(stop) = self.stopped {
            return stop.answer().map(|()| 0);
        }
        let skipped = self.skip_along(n, &mut Way::new(Vec::new(), &mut || true));
        self.stopped.map_or(Ok(()), Stop::answer).map(|()| skipped)
    }

    fn skip_along(&mut self, n: u64, way: &mut Way<'_>) -> u64 {
        let (skipped, stop) = skip(&mut self.layers, &mut self.passes, n, way);
        self.delivered += skipped;
        self.stopped = stop;
        skipped
    }

    /// What the buffers of shuffles hold, in bytes: with them, going to where the stream stands costs no draws. They are of
    /// no use to anybody else.
    pub fn rings(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // What lies below a shuffle that waits has not begun: it stands where the traversal before left it.
        let waits = |layer: &Layer| matches!(layer, Layer::Shuffle { input: Input::Waits, .. });
        let begun = self.layers.iter().rposition(waits).map_or(0, |at| at + 1);
        for layer in &self.layers[begun..] {
            let Layer::Shuffle { source, buffer, input, .. } = layer else { continue };
            let pass = self.passes[*source].wrapping_sub(1);
            let (drawn, ended) = (buffer.drawn(), *input == Input::Ended);
            Ring { source: *source, pass, drawn, ended, items: buffer.items().collect() }.write(&mut bytes);
        }
        bytes
    }

    /// Goes to a place of the traversal before which shuffles had begun these numbers of passes, by [`Stream::rings`] of
    /// that place or none. A stream that gets nowhere is left at some other place.
    pub(super) fn go_along(
        &mut self,
        started: &[u64],
        place: u64,
        rings: &[u8],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stray> {
        let files = match &self.layers[0] {
            Layer::Files { files, .. } => files.spans(),
            _ => &[],
        };
        let rings = Ring::read_all(rings, files).ok_or(Stray::Rings)?;
        let mut way = Way::new(rings, go_on);
        self.begin_at(started);
        self.skip_along(place, &mut way);
        match self.stopped {
            Some(Stop::Interrupted) => Err(Stray::Interrupted),
            Some(Stop::Foreign) => Err(Stray::Rings),
            _ if self.delivered != place => Err(Stray::Beyond),
            _ if !way.rings.is_empty() => Err(Stray::Rings),
            _ => Ok(()),
        }
    }

    /// Bytes of memory that the buffers hold.
    pub fn bytes(&self) -> usize {
        let of = |layer: &Layer| match layer {
            Layer::Shuffle { buffer, .. } => buffer.bytes(),
            _ => 0,
        };
        self.layers.iter().map(of).sum()
    }
}

impl Stop {
    fn answer(self) -> Result<(), CountMismatch> {
        match self {
            Stop::End | Stop::Interrupted | Stop::Foreign => Ok(()),
            Stop::Failed(mismatch) => Err(mismatch),
        }
    }
}

impl Layer {
    fn of(op: StreamOp, source: usize, fused: bool, below: &Facts) -> Result<Layer, UsageError> {
        Ok(match op {
            StreamOp::Shuffle { buffer, seeding } => Layer::Shuffle {
                size: buffer.get(),
                seeding,
                source,
                buffer: Buffer::new(buffer.get(), seeding.words(0)),
                input: Input::Waits,
            },
            StreamOp::Repeat(n) => Layer::Repeat {
                repeat: Repeat { times: u64::try_from(n).ok(), fused, ended: 0, fresh: true, over: false },
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
        })
    }
}

const TOP: &str = "there is always a layer: the files";

/// Begins a traversal of the uppermost layer (§8.4: which passes begin with it).
fn begin(layers: &mut [Layer], passes: &mut [u64]) {
    let (top, below) = layers.split_last_mut().expect(TOP);
    match top {
        Layer::Files { files, interleave } => {
            interleave.begin();
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
fn next(layers: &mut [Layer], passes: &mut [u64]) -> Result<u64, Stop> {
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
fn skip(layers: &mut [Layer], passes: &mut [u64], n: u64, way: &mut Way<'_>) -> (u64, Option<Stop>) {
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
        // It begins what is begun by looking for more.
        match next(below, passes) {
            Err(Stop::End) => *input = Input::Ended,
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
