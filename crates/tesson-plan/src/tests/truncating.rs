//! Truncated slots (spec/engine.md §9.3, §9.4), against the text.

use proptest::prelude::*;

use crate::{PendingSequence, Segment, Slots, SlotsState};

/// A piece as place and samples.
type Place = (usize, u32, i64, i64, Vec<u32>);

/// spec/engine.md §9.3 and §9.4 for sequences of these lengths; every `sweep`-th one ends a sweep.
fn plainly(lengths: &[u32], n_slots: usize, t: u32, k: u32, sweep: usize) -> Vec<(Vec<Place>, bool)> {
    let mut slots: Vec<(Vec<usize>, u32)> = vec![(Vec::new(), 0); n_slots];
    let mut next = 0;
    let mut all = Vec::new();
    loop {
        for (held, cursor) in &mut slots {
            while t >= held.iter().map(|&s| lengths[s]).sum::<u32>() - *cursor && next < lengths.len() {
                held.push(next);
                next += 1;
            }
        }
        if slots.iter().all(|(held, _)| held.is_empty()) {
            return all;
        }
        let (mut places, mut end) = (Vec::<Place>::new(), false);
        for (r, (held, cursor)) in slots.iter_mut().enumerate() {
            let m = t.min(held.iter().map(|&s| lengths[s]).sum::<u32>() - *cursor);
            if m == 0 {
                continue;
            }
            let slot = r as u32;
            let mut switched = false;
            places.push((
                held[0],
                slot,
                -i64::from(*cursor),
                i64::from(lengths[held[0]]) - i64::from(*cursor),
                vec![],
            ));
            for at in 0..m {
                if *cursor == lengths[held[0]] {
                    end |= (held.remove(0) + 1) % sweep == 0;
                    (*cursor, switched) = (0, true);
                    places.push((held[0], slot, at.into(), i64::from(at + lengths[held[0]]), vec![]));
                }
                places.last_mut().unwrap().4.push(*cursor);
                *cursor += 1;
            }
            if m == t && !switched {
                *cursor -= k;
            }
            if *cursor == lengths[held[0]] {
                end |= (held.remove(0) + 1) % sweep == 0;
                *cursor = 0;
            }
        }
        all.push((places, end));
    }
}

fn place(piece: &Segment<usize>) -> Place {
    let (from, to) = piece.samples;
    (piece.sequence, piece.slot, piece.begin, piece.end, (from..to).collect())
}

fn pending(sequence: usize, sweep: usize) -> PendingSequence {
    PendingSequence {
        sequence: sequence as u64,
        sweep_end: (sequence + 1).is_multiple_of(sweep),
        sweep: (sequence / sweep) as u64,
        keep: None,
    }
}

/// Slots put back to what a state says.
fn restored(state: &SlotsState, lengths: &[u32], t: u32, k: u32) -> Slots<usize> {
    let mut slots = Slots::new(state.slots.len(), t, k);
    for (i, slot) in state.slots.iter().enumerate() {
        for &w in &slot.waiting {
            slots.push(i, w.sequence as usize, w, lengths[w.sequence as usize]);
        }
        assert!(slots.set_cursor(i, slot.cursor));
    }
    slots
}

proptest! {
    #[test]
    fn rows_deliver_the_segments_of_the_specification_and_resume_from_any_state(
        lengths in prop::collection::vec(1u32..14, 1..40),
        n_slots in 1usize..5, t in 1u32..7, k in 0u32..6, sweep in 1usize..9,
    ) {
        let k = k.min(t - 1);
        let mut slots = Slots::new(n_slots, t, k);
        let mut next = 0;
        for expected in plainly(&lengths, n_slots, t, k, sweep) {
            slots = restored(&slots.state(), &lengths, t, k);
            while let Some(slot) = slots.hungry().filter(|_| next < lengths.len()) {
                slots.push(slot, next, pending(next, sweep), lengths[next]);
                next += 1;
            }
            let mut pieces = Vec::new();
            let end = slots.take(&mut pieces);
            prop_assert_eq!((pieces.iter().map(place).collect::<Vec<_>>(), end), expected);
        }
        prop_assert!(slots.is_empty());
    }
}

#[test]
fn a_sequence_without_samples_leaves_its_end_of_a_sweep_to_the_next() {
    let mut slots = Slots::new(1, 2, 0);
    slots.push(0, 0, pending(0, 1), 0);
    slots.push(0, 1, pending(1, 3), 2);
    assert!(slots.take(&mut Vec::new()));
}

#[test]
fn slots_know_the_sweeps_that_they_hold() {
    let mut slots = Slots::new(2, 4, 0);
    assert!(!slots.holds_before(u64::MAX));
    slots.push(0, 5, pending(5, 2), 3);
    assert_eq!([1, 2, 3].map(|sweep| slots.holds_before(sweep)), [false, false, true]);
    slots.push(1, 3, pending(3, 2), 3);
    assert_eq!([1, 2, 3].map(|sweep| slots.holds_before(sweep)), [false, true, true]);
}

#[test]
fn a_cursor_beyond_its_sequence_is_refused() {
    let mut slots = Slots::new(1, 2, 0);
    assert!(!slots.set_cursor(0, 1));
    slots.push(0, 1, pending(1, 3), 2);
    assert!(!slots.set_cursor(0, 2));
    assert!(slots.set_cursor(0, 1));
}

#[test]
fn closed_slots_deliver_what_they_hold_and_leave() {
    let mut slots = Slots::new(1, 2, 0);
    slots.add_closed(3);
    for (slot, sequence, length) in [(0, 0, 5), (1, 1, 1), (2, 2, 3)] {
        slots.push(slot, sequence, pending(sequence, 9), length);
    }
    let take = |slots: &mut Slots<usize>| {
        let mut segments = Vec::new();
        slots.take(&mut segments);
        let samples = segments.iter().map(|segment| (segment.slot, segment.samples)).collect::<Vec<_>>();
        (samples, slots.len(), slots.hungry())
    };
    assert_eq!(take(&mut slots), (vec![(0, (0, 2)), (1, (0, 1)), (2, (0, 2))], 3, None));
    assert_eq!(take(&mut slots), (vec![(0, (2, 4)), (2, (2, 3))], 1, Some(0)));
    assert!(!slots.are_full() && !slots.is_empty());
}
