//! Orders that are worked out sweep by sweep, and how minibatches are cut from them (spec/engine.md §6.2).
//!
//! Advice for the next editor: `cut_rounds` and `round` are `read` and `round` of the specification, with its rules
//! of forced sequences and of minibatches that cross a sweep end. The loop over sequences is generic, so that nothing
//! is called through a vtable for each of them. Differences from the text: limits in sequences, consumed sequences of
//! merged states (which belong to no share and take no room), buckets, and endings other than CNTK's. Without merged
//! states a round always moves the cursor; with them it may pass a whole sweep without a sequence, which must end the
//! loop.

use tesson_core::{Index, SequenceId};

use super::{CutResult, Next, Order, OrderMemory, SequenceStart, SequenceVisitor};
use crate::Result;
use crate::cut::{Candidate, Cut, Fill, Filling, fit_of_length};
use crate::share::Share;
use crate::size::{Room, Size};
use crate::{BatchPlan, Cursor};

/// An order that is worked out sweep by sweep, on the timeline of all ranks.
pub(super) trait SweepOrder: OrderMemory + Sized {
    /// Makes a sweep current.
    fn enter(&mut self, index: &Index, sweep: u64);

    /// Works the current sweep out as far as sequence `from`, which it has.
    fn prepare(&mut self, index: &Index, from: u64);

    /// The prepared sequences of the current sweep that begin with number `from`; at least one.
    fn prepared(&self, from: u64) -> &[Next];

    /// The sequence of the current sweep with this number.
    fn sequence(&mut self, index: &Index, number: u64) -> SequenceId {
        self.prepare(index, number);
        self.prepared(number)[0].planned
    }

    /// [`Order::can_deal`], where all sequences have one length: true if [`SweepOrder::sequence`] is as fast for any.
    fn finds_any(&self) -> bool {
        false
    }

    /// The size of the bucket that begins with sequence number `sequence`, which is prepared; `None` if none begins there.
    #[inline]
    fn bucket_at(&self, _sequence: u64) -> Option<Size> {
        None
    }

    /// [`Order::find`].
    fn find(&mut self, index: &Index, at: &Cursor, sample: u64) -> SequenceStart {
        self.rewind(index, at);
        find(self, index, at.sweep, sample)
    }
}

impl<O: SweepOrder> Order for O {
    fn cut(&mut self, cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> CutResult {
        Ok(Some(cut_rounds(self, cut, at, out)))
    }

    fn can_deal(&self, index: &Index) -> bool {
        self.finds_any() && index.common_length().is_some_and(|length| length > 0)
    }

    fn visit(&mut self, index: &Index, from: &Cursor, each: SequenceVisitor<'_>) {
        visit(self, index, from, each);
    }

    fn find(&mut self, index: &Index, at: &Cursor, sample: u64) -> Result<SequenceStart> {
        Ok(SweepOrder::find(self, index, at, sample))
    }
}

/// [`Order::visit`].
fn visit<O: SweepOrder>(order: &mut O, index: &Index, from: &Cursor, each: SequenceVisitor<'_>) {
    order.enter(index, from.sweep);
    let mut sequence = from.sequence;
    while sequence < index.n_sequences() {
        order.prepare(index, sequence);
        let run = order.prepared(sequence);
        sequence += run.len() as u64;
        if !each(run) {
            return;
        }
    }
}

/// The first sequence of a sweep that starts at or after a sample.
pub(super) fn find<O: SweepOrder>(order: &mut O, index: &Index, sweep: u64, sample: u64) -> SequenceStart {
    let (mut number, mut start) = (0, 0);
    visit(order, index, &Cursor { sweep, ..Cursor::default() }, &mut |run| {
        let before = run.iter().take_while(|next| {
            let is_before = start < sample;
            start += if is_before { u64::from(next.length) } else { 0 };
            is_before
        });
        number += before.count() as u64;
        start < sample
    });
    SequenceStart { number, sample: start }
}

/// Cuts a minibatch in rounds, each within one sweep.
fn cut_rounds<O: SweepOrder>(order: &mut O, cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> Fill {
    let mut left = cut.room;
    let mut fill = Fill::Nothing;
    loop {
        let forced = !out.sweep_end;
        let before = *at;
        let sequences = out.n_planned();
        let Some(filling) = round(order, cut, left, forced, at, out) else { break };
        fill = filling.fill();
        if !forced && *at == before {
            break;
        }
        // A whole sweep without a sequence to deliver: all of it was consumed before the states were merged.
        if at.sweep > before.sweep && before.sequence == 0 && out.n_planned() == sequences {
            break;
        }
        if !cut.spec.cross_sweep_ends || !out.sweep_end || out.data_end || fill != Fill::HasRoom {
            break;
        }
        left = left.minus(filling.taken);
    }
    fill
}

/// One round: up to the end of a sweep or of the room. Before any sweep end at least one own sequence is taken
/// (`forced`). `None`: the data end before it.
fn round<O: SweepOrder>(
    order: &mut O,
    cut: &Cut<'_>,
    room: Room,
    forced: bool,
    at: &mut Cursor,
    out: &mut BatchPlan,
) -> Option<Filling> {
    let (samples, n) = (cut.index.n_samples(), cut.index.n_sequences());
    let end = cut.end.unwrap_or(u64::MAX);
    if at.position >= end {
        out.data_end = true;
        out.sweep_end |= at.position >= samples && at.position.is_multiple_of(samples);
        return None;
    }
    let mut filling = Filling::of(room, forced);
    order.enter(cut.index, at.sweep);
    out.begin_sweep(at.sweep);
    let (mut position, mut sequence) = (at.position, at.sequence);
    let dealt = cut.dealt.zip(cut.index.common_length());
    'sweep: while sequence < n {
        if let Some((share, length)) = dealt {
            let left = end.saturating_sub(position);
            let (run, samples) = cut.run(n - sequence, left, &mut filling, out, fit_of_length(length));
            out.deal_run(share, run, |i| order.sequence(cut.index, sequence + i));
            position += samples;
            sequence += run;
            if sequence == n {
                break;
            }
            let candidate = Candidate {
                planned: order.sequence(cut.index, sequence),
                length: length.into(),
                own: true,
                consumed: false,
                left: left - samples,
            };
            if !cut.put(candidate, &mut filling, out) {
                break;
            }
            position += u64::from(length);
            sequence += 1;
            continue;
        }
        order.prepare(cut.index, sequence);
        for &Next { planned, home, length } in order.prepared(sequence) {
            let length = u64::from(length);
            let consumed = cut.consumed.is_some_and(|c| c.holds(position, home));
            // A bucket that would have to be divided begins the next minibatch. Only for a share of everything: a
            // rank does not know the size of its part of a bucket.
            if !filling.forced
                && let Some(bucket) = order.bucket_at(sequence).filter(|_| cut.share == Share::ALL)
                && !bucket.fits_into(room.own, filling.taken.own)
            {
                break 'sweep;
            }
            let own = !consumed && cut.share.owns(home);
            let candidate = Candidate { planned, length, own, consumed, left: end.saturating_sub(position) };
            if !cut.put(candidate, &mut filling, out) {
                break 'sweep;
            }
            position += length;
            sequence += 1;
        }
    }
    out.data_end |= position >= end;
    at.position = position;
    at.sequence = sequence;
    if sequence == n {
        out.sweep_end = true;
        *at = Cursor { position, sweep: at.sweep + 1, ..Cursor::default() };
    }
    Some(filling)
}
