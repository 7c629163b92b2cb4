//! A stream: its layers, traversed any number of times.
//!
//! The layers are a stack; a call on the top one pulls from those below (`operators/mod.rs`). Passes are counted
//! here, for each shuffle, and not in the layers: they survive a traversal, a state records them, and `facts`
//! computes those of whole traversals without reading (`passes.rs`). After an error the stream stays stopped, so that
//! the same call fails again, as in TFDS.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tesson_core::ResumeError;

use super::buffer_state::{BufferState, SkipControl};
use super::files::{Files, Taken};
use super::interleave::Interleave;
use super::operators::{Below, Count, CountMismatch, Layer, Source, Stop};
use super::passes::{Facts, sum};
use super::{Span, StreamOp, StreamSpec, StreamState};
use crate::{Demand, PlanRefusal};

/// A stream of record numbers, traversed from its beginning any number of times.
#[derive(Clone, Debug)]
pub struct Stream {
    layers: Vec<Layer>,
    facts: Facts,
    /// The passes begun by each shuffle, first that of the files: now, and when this traversal began.
    passes: Box<[u64]>,
    started: Box<[u64]>,
    delivered: u64,
    stopped: Option<Stop>,
    /// Set by [`Stream::follow_passes`].
    follows: bool,
    /// Set by [`Stream::count_passed`].
    passed: Arc<AtomicU64>,
}

impl Stream {
    /// A stream at the beginning of its first traversal.
    ///
    /// # Errors
    /// [`PlanRefusal`] without files, and for a share that is not below the number of shares.
    pub fn new(spec: StreamSpec) -> Result<Stream, PlanRefusal> {
        if spec.files.is_empty() {
            return Err(PlanRefusal::NoData);
        }
        let n_shuffles = 1 + spec.ops.iter().filter(|op| op.is_shuffle()).count();
        let files = Files::new(spec.files, spec.shuffle_files, spec.repeat_files);
        // TFDS compares repeated files with the count, too, and so always fails after one round (spec/tfds.md §8.11).
        // Here such a stream is not counted.
        let expected = spec.expected.filter(|_| !files.repeats());
        let none: Box<[u64]> = vec![0; n_shuffles].into();
        let mut stream = Stream {
            layers: Vec::new(),
            facts: Facts::of_files(files.n_examples(), n_shuffles),
            passes: none.clone(),
            started: none,
            delivered: 0,
            stopped: None,
            follows: false,
            passed: Arc::default(),
        };
        let interleave = Interleave::new(spec.cycle.get(), spec.block.get());
        stream.push(Layer::Source(Source::new(files, interleave)));
        expected.into_iter().for_each(|expected| stream.push(Layer::Count(Count::new(expected))));
        stream.push_operations(&spec.ops)?;
        stream.begin();
        Ok(stream)
    }

    fn push_operations(&mut self, ops: &[StreamOp]) -> Result<(), PlanRefusal> {
        let mut shuffle = 0;
        for (i, op) in ops.iter().enumerate().filter(|(_, op)| !op.is_idle()) {
            shuffle += usize::from(op.is_shuffle());
            let is_on_shuffle = StreamOp::last_is_shuffle(&ops[..i]);
            if let Some(layer) = Layer::of(*op, shuffle, is_on_shuffle, &self.facts)? {
                self.push(layer);
            }
        }
        Ok(())
    }

    fn push(&mut self, layer: Layer) {
        self.facts = layer.facts(&self.facts);
        self.layers.push(layer);
    }

    /// All layers, as seen by their caller.
    #[inline]
    fn top(&mut self) -> Below<'_> {
        Below { layers: &mut self.layers, passes: &mut self.passes }
    }

    /// The lowest layer: the files.
    fn source(&mut self) -> &mut Source {
        match self.layers.first_mut() {
            Some(Layer::Source(source)) => source,
            _ => unreachable!("the lowest layer is the files"),
        }
    }

    /// Begins a traversal, which is the next pass of everything in it.
    pub fn begin(&mut self) {
        self.started.clone_from(&self.passes);
        self.top().begin();
        self.delivered = 0;
        self.stopped = None;
    }

    /// Begins a traversal before which each shuffle has begun this number of passes; the first number is that of the
    /// files.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the numbers are not as many as the shuffles.
    pub fn begin_after(&mut self, passes: &[u64]) -> Result<(), PlanRefusal> {
        if passes.len() != self.passes.len() {
            let (found, expected) = (passes.len(), self.passes.len());
            return Err(PlanRefusal::ShufflePasses { found, expected });
        }
        self.begin_at(passes);
        Ok(())
    }

    /// Begins a traversal after these passes; there are as many numbers as shuffles.
    fn begin_at(&mut self, passes: &[u64]) {
        self.passes.copy_from_slice(passes);
        self.begin();
    }

    /// The passes that each shuffle has begun so far, including those of this traversal; the first number is that of
    /// the files.
    pub fn passes(&self) -> &[u64] {
        &self.passes
    }

    /// True if traversals differ in their order, because something is shuffled again in each pass.
    pub fn reshuffles(&self) -> bool {
        let anew = |layer: &Layer| match layer {
            Layer::Source(source) => source.files().reshuffles(),
            Layer::Shuffle(shuffle) => shuffle.reshuffles(),
            _ => false,
        };
        self.layers.iter().any(anew)
    }

    /// Sets the counter to which long skips add, every few milliseconds, how many examples they have passed. A clone of the
    /// stream adds to the same one.
    pub fn count_passed(&mut self, passed: Arc<AtomicU64>) {
        self.passed = passed;
    }

    /// Begins traversal number `n`, counted from 0, as if all before it had been read to their ends.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the traversals before it have no end.
    pub fn begin_traversal(&mut self, n: u64) -> Result<(), PlanRefusal> {
        self.begin_traversal_with(n, &mut || false).map(|_| ())
    }

    /// Begins traversal number `n` like [`Stream::begin_traversal`], and calls `interrupted` every few milliseconds
    /// if the traversals before it have to be followed. Returns `false` if `interrupted` returned true; the stream is
    /// then at some other position.
    ///
    /// # Errors
    /// The errors of [`Stream::begin_traversal`].
    pub fn begin_traversal_with(
        &mut self,
        n: u64,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<bool, PlanRefusal> {
        let none: Box<[u64]> = vec![0; self.passes.len()].into();
        // Where it is not known which passes a whole traversal begins, all those before are followed. Otherwise one
        // of them is followed if lengths are uncertain, because it takes every file on which the order depends.
        let followed = match self.facts.whole {
            Some(_) => n.min(self.follows.into()),
            None => n,
        };
        self.begin_at(&none);
        if followed > 0 {
            let len = self.len().ok_or(PlanRefusal::NeverBegins { traversal: n })?;
            let passed = Arc::clone(&self.passed);
            let mut control = SkipControl::new(Vec::new(), interrupted).counted(&passed);
            for _ in 0..followed {
                // A wrong count ends every traversal at the same position.
                self.skip_along(len.saturating_add(1), &mut control);
                if self.stopped == Some(Stop::Interrupted) {
                    return Ok(false);
                }
                self.begin();
            }
        }
        if let Some(whole) = &self.facts.whole {
            let passes = sum(&self.started, whole, n - followed);
            self.begin_at(&passes);
        }
        Ok(true)
    }

    /// Sets whether the lengths of files are uncertain. `true`: repeats follow the first pass of every traversal even
    /// where they could skip whole passes, and so does [`Stream::begin_traversal`], so that [`Stream::taken`] lists
    /// every file on which the order depends. `false`: lengths are certain, and whole passes are skipped.
    pub fn follow_passes(&mut self, follows: bool) {
        self.follows = follows;
        for layer in &mut self.layers {
            if let Layer::Repeat(repeat) = layer {
                repeat.follow(follows);
            }
        }
    }

    /// The files, by their numbers in the specification, from which more has been taken since the last call, and
    /// those that are open. The order so far depends on no other file, and on no more of these than was taken.
    pub fn taken(&mut self) -> Vec<(usize, Taken)> {
        self.source().taken()
    }

    /// The number of examples in a traversal; `None` if it has no end.
    #[allow(clippy::len_without_is_empty, reason = "a stream is not a container")]
    pub fn len(&self) -> Option<u64> {
        self.facts.len
    }

    /// The number of examples delivered in this traversal.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The passes begun by each shuffle before this traversal; the first number is that of the files.
    pub fn started(&self) -> &[u64] {
        &self.started
    }

    /// True if a call has reached the end of the traversal.
    pub fn has_ended(&self) -> bool {
        self.stopped.is_some()
    }

    /// The number of the next record; `None` at the end, at every call until the next traversal.
    ///
    /// # Errors
    /// [`CountMismatch`] if the files do not supply as many examples as expected. Later calls fail, too.
    #[allow(clippy::should_implement_trait, reason = "a stream can fail and be traversed again")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<u64>, CountMismatch> {
        if self.stopped.is_none() {
            match self.top().next() {
                Ok(record) => {
                    self.delivered += 1;
                    return Ok(Some(record));
                }
                Err(stop) => self.stopped = Some(stop),
            }
        }
        self.check_count().map(|()| None)
    }

    /// Fails if the stream has stopped at a wrong count.
    #[cold]
    fn check_count(&self) -> Result<(), CountMismatch> {
        match &self.layers[..] {
            [_, Layer::Count(count), ..] if self.stopped == Some(Stop::WrongCount) => Err(count.mismatch()),
            _ => Ok(()),
        }
    }

    /// The numbers of the next records: 1 to `most`, as many as are consecutive both in one file and in the order.
    /// `None` at the end.
    ///
    /// # Errors
    /// The errors of [`Stream::next`].
    #[inline]
    pub fn next_run(&mut self, most: u64) -> Result<Option<Span>, CountMismatch> {
        match self.run_of_files(most) {
            Some(run) => Ok(Some(run)),
            None => Ok(self.next()?.map(|first| Span { first, len: 1 })),
        }
    }

    /// The next run of records of one file, if the files are read without operations. `None` at the end, which
    /// [`Stream::next`] reports, and with operations, which deliver record by record.
    #[inline]
    fn run_of_files(&mut self, most: u64) -> Option<Span> {
        let run = match &mut self.layers[..] {
            _ if self.stopped.is_some() => None,
            [Layer::Source(source)] => source.run(most, &mut self.passes),
            [Layer::Source(source), Layer::Count(count)] => {
                let most = most.min(count.left());
                let run = if most > 0 { source.run(most, &mut self.passes) } else { None };
                count.add(run.map_or(0, |run| run.len));
                run
            }
            _ => None,
        };
        self.delivered += run.map_or(0, |run| run.len);
        run
    }

    /// Appends the numbers of the next `n` records; fewer at the end.
    ///
    /// # Errors
    /// The errors of [`Stream::next`], after the records before the fault.
    pub fn fill(&mut self, n: usize, into: &mut Vec<u64>) -> Result<(), CountMismatch> {
        let mut left = n as u64;
        while left > 0
            && let Some(run) = self.run_of_files(left)
        {
            into.extend(run.first..run.first + run.len);
            left -= run.len;
        }
        for _ in 0..left {
            match self.next()? {
                Some(record) => into.push(record),
                None => break,
            }
        }
        Ok(())
    }

    /// Takes the next minibatch, of `demand.samples` examples over all workers, and appends the share of the demand's
    /// rank: every `workers`-th example from `rank` on (spec/tfds.md §12.5). Returns the number of examples in the
    /// minibatch; 0 at the end.
    ///
    /// The order is that of one worker, and all ranks are at the same position after it, so a run may be resumed with any
    /// number of them.
    ///
    /// # Errors
    /// The errors of [`Stream::next`]; the share of the examples before the fault is appended.
    pub fn fill_share(&mut self, demand: Demand, into: &mut Vec<u64>) -> Result<u64, CountMismatch> {
        let mut n = 0;
        // The number of the example modulo the workers, without a division for each.
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

    /// Skips `n` examples and returns how many there were, fewer at the end. Without a shuffle of examples the time
    /// depends only on the number of files; a shuffle costs a draw for each example of its pass.
    ///
    /// # Errors
    /// The errors of [`Stream::next`].
    pub fn skip(&mut self, n: u64) -> Result<u64, CountMismatch> {
        if n == 0 {
            return Ok(0);
        }
        let skipped = match self.stopped {
            Some(_) => 0,
            None => self.skip_along(n, &mut SkipControl::new(Vec::new(), &mut || false)),
        };
        self.check_count().map(|()| skipped)
    }

    fn skip_along(&mut self, n: u64, control: &mut SkipControl<'_>) -> u64 {
        let (skipped, stop) = self.top().skip(n, control);
        self.delivered += skipped;
        self.stopped = stop;
        skipped
    }

    /// The state at the present position.
    pub fn state(&self) -> StreamState {
        StreamState { started: self.started().to_vec(), delivered: self.delivered(), ended: self.has_ended() }
    }

    /// Goes to the position of a state of this stream. Nothing is read for it; the buffer of a shuffle is found from
    /// its random words (spec/tfds.md §12.3).
    ///
    /// # Errors
    /// [`ResumeError`] if the state belongs to a stream with other operations, lies after the end, or claims an end
    /// where there is none.
    pub fn restore(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        self.restore_with(state, &[], &mut || false)
    }

    /// The passes that each shuffle had begun when a state of this stream was taken, first that of the files; the
    /// next traversal begins after them. The stream itself does not move; `interrupted` is called every few
    /// milliseconds of a long skip.
    ///
    /// # Errors
    /// The errors of [`Stream::restore`], and [`ResumeError`] if `interrupted` has returned `true`.
    pub fn passes_at(
        &self,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u64>, ResumeError> {
        let mut there = self.clone();
        there.follow_passes(false);
        // If nothing is traversed twice, the first example has begun all passes that the others need.
        let delivered =
            if there.facts.once && !state.ended { state.delivered.min(1) } else { state.delivered };
        there.restore_with(&StreamState { delivered, ..state.clone() }, &[], interrupted)?;
        Ok(there.passes().to_vec())
    }

    /// Restores a state with the contents that the buffers had there ([`Stream::buffers`]; no bytes if they were not
    /// saved), which takes no draw. `interrupted` is called every few milliseconds of a long skip. On failure the
    /// stream does not move.
    ///
    /// # Errors
    /// The errors of [`Stream::restore`], and [`ResumeError`] for buffers of another position or if `interrupted` has
    /// returned `true`.
    pub fn restore_with(
        &mut self,
        state: &StreamState,
        buffers: &[u8],
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        if state.started.len() != self.started().len() {
            let n = |shuffles: usize| format!("{shuffles} shuffles");
            return Err(ResumeError::new("the stream", n(state.started.len()), n(self.started().len())));
        }
        let mut there = self.clone();
        there.seek(&state.started, state.delivered, buffers, interrupted)?;
        // A count mismatch is accepted as the end: it was already reported before the state was taken.
        if state.ended && matches!(there.next(), Ok(Some(_))) {
            let end = format!("{}, the end", state.delivered);
            return Err(ResumeError::new("the position", end, "not the end"));
        }
        *self = there;
        Ok(())
    }

    /// The contents of the buffers of shuffles, as opaque bytes: with them, restoring the present position costs no
    /// draws.
    pub fn buffers(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // The layers below a shuffle that has not begun are still where the traversal before left them.
        let waits = |layer: &Layer| matches!(layer, Layer::Shuffle(shuffle) if !shuffle.has_begun());
        let begun = self.layers.iter().rposition(waits).map_or(0, |at| at + 1);
        for layer in &self.layers[begun..] {
            if let Layer::Shuffle(shuffle) = layer {
                shuffle.state(&self.passes).write(&mut bytes);
            }
        }
        bytes
    }

    /// Goes to a position of the traversal before which each shuffle had begun this number of passes, with the
    /// [`Stream::buffers`] of that position or without any bytes. On failure the stream is left at some other
    /// position.
    fn seek(
        &mut self,
        started: &[u64],
        position: u64,
        buffers: &[u8],
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        let wrong_buffers = || {
            ResumeError::unreadable(
                "`buffers`",
                format_args!("{} bytes", buffers.len()),
                "those of this position",
            )
        };
        let files = self.source().files().spans();
        let kept = BufferState::read_all(buffers, files).ok_or_else(wrong_buffers)?;
        let passed = Arc::clone(&self.passed);
        let mut control = SkipControl::new(kept, interrupted).counted(&passed);
        self.begin_at(started);
        self.skip_along(position, &mut control);
        match self.stopped {
            Some(Stop::Interrupted) => {
                Err(ResumeError::new("the way to the position", position, "interrupted on it"))
            }
            Some(Stop::WrongBuffer) => Err(wrong_buffers()),
            _ if self.delivered != position => {
                Err(ResumeError::new("the position", position, format_args!("at most {}", self.delivered)))
            }
            _ if !control.kept.is_empty() => Err(wrong_buffers()),
            _ => Ok(()),
        }
    }

    /// Forgets what was taken before, so that [`Stream::taken`] starts again.
    pub fn forget_taken(&mut self) {
        self.source().forget_taken();
    }

    /// Bytes of memory held by the buffers.
    pub fn bytes(&self) -> usize {
        let of = |layer: &Layer| match layer {
            Layer::Shuffle(shuffle) => shuffle.bytes(),
            _ => 0,
        };
        self.layers.iter().map(of).sum()
    }
}
