//! The order in which the sequences are stored, sweep after sweep: CNTK's plain randomizer (spec/engine.md §7).
//!
//! Sequence `n` of every sweep is sequence `n` of the corpus. Ranks share by a running number, counted across sweep
//! ends. A minibatch is one run across sweep ends that stops when its room is full. It needs no more of the index
//! than it reads.
//!
//! Advice for the next editor: this is the only order that plans while the index grows, so it must not treat the
//! samples or sequences known so far as all of them, and it moves the cursor only when a minibatch is complete. The
//! running number follows from sweep and sequence, so shares survive a resume and a change of size; the reference
//! restarts them there (spec/engine.md §16, defect 3).

use std::ops::Range;

use tesson_core::{ChunkId, CompactLengths, Index, SequenceId};

use super::{
    CutResult, Definition, Next, Order, OrderInfo, OrderMemory, OrderSpec, SequenceStart, SequenceVisitor,
    SharedUnit,
};
use crate::Result;
use crate::cut::{Candidate, Cut, Fill, Filling, fit_of_length};
use crate::{BatchPlan, Cursor, Share};

/// [`OrderSpec::AsStored`].
pub(super) struct AsStored;

pub(super) static INFO: OrderInfo = OrderInfo {
    name: "as_stored",
    version: 1,
    code: 0,
    is_local: false,
    is_shuffled: false,
    plans_while_indexing: true,
    stops_when_full: true,
    shared_unit: SharedUnit::Sequences,
    redraws_shares: false,
    window_start: None,
    with: |_| Some(OrderSpec::AsStored),
};

impl Definition for AsStored {
    fn info(&self) -> &'static OrderInfo {
        &INFO
    }

    fn build(&self) -> Box<dyn Order> {
        Box::new(AsStored)
    }

    fn home(&self, index: &Index, planned: SequenceId, sweep: u64) -> u64 {
        let number = index.number_of(planned);
        running_number(index, sweep, number)
    }

    fn on_local_timeline(&self) -> Option<OrderSpec> {
        Some(OrderSpec::LocalPlain)
    }
}

/// The number of a sequence, counted across sweep ends since the start, so that shares do not change when a run is
/// resumed.
fn running_number(index: &Index, sweep: u64, sequence: u64) -> u64 {
    sweep.wrapping_mul(index.n_sequences()).wrapping_add(sequence)
}

impl Order for AsStored {
    fn cut(&mut self, cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> CutResult {
        if cut.end.is_some_and(|end| at.position >= end) {
            let samples = cut.index.n_samples();
            out.data_end = true;
            // While the index grows, the first sweep has not ended.
            out.sweep_end =
                cut.index.is_complete() && at.position >= samples && at.position.is_multiple_of(samples);
            return Ok(Some(Fill::Nothing));
        }
        if at.sequence == cut.index.n_sequences() {
            return Ok(None);
        }
        let mut cursor = *at;
        let Some(fill) = run(cut, &mut cursor, out) else { return Ok(None) };
        out.data_end |= cut.end.is_some_and(|end| cursor.position >= end);
        out.sweep_end = cursor.sweep != at.sweep;
        *at = cursor;
        Ok(Some(fill))
    }

    fn can_deal(&self, _: &Index) -> bool {
        true
    }

    fn visit(&mut self, index: &Index, from: &Cursor, each: SequenceVisitor<'_>) {
        let n = index.n_sequences();
        let mut walk = Walk::new(index, from.sequence);
        let mut sequence = from.sequence;
        let mut run = Vec::with_capacity(RUN as usize);
        while sequence < n {
            let end = n.min(sequence + RUN);
            run.clear();
            run.extend((sequence..end).map(|sequence| {
                let (planned, length) = walk.step();
                Next { planned, home: running_number(index, from.sweep, sequence), length }
            }));
            sequence = end;
            if !each(&run) {
                return;
            }
        }
    }

    fn find(&mut self, index: &Index, _: &Cursor, sample: u64) -> Result<SequenceStart> {
        let chunk = index.chunk_of_sample(sample);
        let span = index.chunk(chunk);
        let lengths = index.lengths(chunk);
        let (mut start, mut sequence) = (span.first_sample, 0);
        while start < sample {
            start += u64::from(lengths.get(sequence));
            sequence += 1;
        }
        Ok(SequenceStart { number: span.first_sequence + sequence as u64, sample: start })
    }
}

impl OrderMemory for AsStored {
    fn take_retired(&mut self, index: &Index, since: &Cursor, until: &Cursor, into: &mut Vec<ChunkId>) {
        let chunk_at = |cursor: &Cursor| {
            if cursor.sequence < index.n_sequences() {
                index.chunk_of_sequence(cursor.sequence).index()
            } else {
                index.n_chunks()
            }
        };
        let (from, to) = (chunk_at(since), chunk_at(until));
        let n = index.n_chunks();
        let chunks = |range: Range<usize>| range.map(ChunkId::at);
        match until.sweep.saturating_sub(since.sweep) {
            0 => into.extend(chunks(from..to)),
            1 => into.extend(chunks(from..n).chain(chunks(0..to))),
            _ => into.extend(chunks(0..n)),
        }
    }
}

/// The number of sequences in a visited run.
const RUN: u64 = 64;

/// Fills a minibatch. `None`: the index does not reach far enough.
fn run(cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> Option<Fill> {
    let n = cut.index.n_sequences();
    let mut walk = Walk::new(cut.index, at.sequence);
    let mut filling = Filling::of(cut.room, true);
    let mut number = running_number(cut.index, at.sweep, at.sequence);
    out.begin_sweep(at.sweep);
    while !filling.is_full() {
        if let Some(share) = cut.dealt {
            deal_run(cut, share, at, &mut walk, &mut filling, out);
            number = running_number(cut.index, at.sweep, at.sequence);
        }
        let (planned, length) = walk.step();
        let length = u64::from(length);
        let consumed = cut.consumed.is_some_and(|c| c.holds(at.position, number));
        let own = !consumed && cut.share.owns(number);
        let left = cut.end.map_or(u64::MAX, |end| end.saturating_sub(at.position));
        if !cut.put(Candidate { planned, length, own, consumed, left }, &mut filling, out) {
            break;
        }
        at.position += length;
        at.sequence += 1;
        number = number.wrapping_add(1);
        if at.sequence == n {
            if !cut.index.is_complete() {
                return None;
            }
            *at = Cursor { position: at.position, sweep: at.sweep + 1, ..Cursor::default() };
            if !cut.spec.cross_sweep_ends {
                break;
            }
            walk = Walk::new(cut.index, 0);
            out.begin_sweep(at.sweep);
        }
    }
    Some(filling.fill())
}

/// Takes sequences together, at least until one more comes in the sweep: of the rest of the sweep if all have one length, or else
/// of the chunk.
fn deal_run<'a>(
    cut: &Cut<'a>,
    share: Share,
    at: &mut Cursor,
    walk: &mut Walk<'a>,
    filling: &mut Filling,
    out: &mut BatchPlan,
) {
    let (index, first) = (cut.index, at.sequence);
    let n = index.n_sequences() - first - 1;
    let left = cut.end.map_or(u64::MAX, |end| end.saturating_sub(at.position));
    let (run, samples) = match index.common_length() {
        Some(length) => {
            let (run, samples) = cut.run(n, left, filling, out, fit_of_length(length));
            out.deal_run(share, run, |i| index.sequence(first + i));
            *walk = Walk::new(index, first + run);
            (run, samples)
        }
        None => {
            let lengths = walk.chunk_lengths();
            let SequenceId { chunk, sequence } = walk.at();
            let (run, samples) = cut.run(n, left, filling, out, |most, samples| {
                // Few sequences have no samples, so no more are looked at than there may be samples.
                let most = usize::try_from(most.min(samples)).unwrap_or(usize::MAX);
                let (n, samples) = lengths.prefix(sequence as usize, most, samples);
                (n as u64, samples)
            });
            out.deal_run(share, run, |i| SequenceId { chunk, sequence: sequence + i as u32 });
            walk.sequence += run as usize;
            (run, samples)
        }
    };
    at.position += samples;
    at.sequence += run;
}

/// An iterator over the sequences of an index in stored order, without end.
struct Walk<'a> {
    index: &'a Index,
    chunk: ChunkId,
    sequence: usize,
}

impl<'a> Walk<'a> {
    /// Begins with sequence number `sequence` of the corpus, which the index must have.
    fn new(index: &'a Index, sequence: u64) -> Walk<'a> {
        let SequenceId { chunk, sequence } = index.sequence(sequence);
        Walk { index, chunk, sequence: sequence as usize }
    }

    /// The lengths of the chunk with the next sequence; there must be one.
    #[inline]
    fn chunk_lengths(&mut self) -> &'a CompactLengths {
        let mut lengths = self.index.lengths(self.chunk);
        while self.sequence == lengths.len() {
            self.chunk.0 += 1;
            self.sequence = 0;
            lengths = self.index.lengths(self.chunk);
        }
        lengths
    }

    /// The next sequence, if its chunk was entered.
    #[inline]
    fn at(&self) -> SequenceId {
        SequenceId { chunk: self.chunk, sequence: self.sequence as u32 }
    }

    /// The next sequence and its counted length; there must be one.
    #[inline]
    fn step(&mut self) -> (SequenceId, u32) {
        let lengths = self.chunk_lengths();
        let planned = self.at();
        let length = lengths.get(self.sequence);
        self.sequence += 1;
        (planned, length)
    }
}
