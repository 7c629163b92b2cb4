//! Where records lie: every so many bytes one record whose place is known.
//!
//! A place is kept for a record that begins 4 KiB or more behind the last one kept. So records of any size are found by
//! looking at no more than 4 KiB of the file and the record itself, at 16 bytes for so much of it: 0.4 % of small
//! records, less of large ones.

use tesson_core::varint::{put, take};

use crate::record::{Fault, RecordSpan};

use super::scan::HEAD;

/// A record and where it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) record: u64,
    pub(super) offset: u64,
}

/// Bytes from one anchor to the next, at least.
const SPACING: u64 = 4 << 10;

/// How a file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// With the last record.
    Whole,
    /// With something that is no record.
    Damaged(Fault),
}

impl Finish {
    /// The fault at the end of the file.
    pub(super) fn into_fault(self) -> Option<Fault> {
        match self {
            Finish::Whole => None,
            Finish::Damaged(fault) => Some(fault),
        }
    }
}

/// The known places of a file's records. All lengths up to the frontier have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Ascending; the first is the file's first record.
    anchors: Vec<Anchor>,
    /// The first record that nothing is known of.
    frontier: Anchor,
    /// The fault or the end of file at the frontier, once it was reached.
    finish: Option<Finish>,
}

impl Places {
    /// Nothing is known yet.
    pub(super) fn new() -> Places {
        Places { anchors: vec![Anchor::default()], frontier: Anchor::default(), finish: None }
    }

    /// The first record that nothing is known of.
    pub(super) fn frontier(&self) -> Anchor {
        self.frontier
    }

    /// The last known place at or before a record.
    pub(super) fn before(&self, record: u64) -> Anchor {
        if record >= self.frontier.record {
            return self.frontier;
        }
        let behind = self.anchors.partition_point(|anchor| anchor.record <= record);
        self.anchors[behind - 1]
    }

    /// The first known place at or behind a record.
    pub(super) fn behind(&self, record: u64) -> Option<Anchor> {
        let at = self.anchors.partition_point(|anchor| anchor.record < record);
        let frontier = (self.frontier.record >= record).then_some(self.frontier);
        self.anchors.get(at).copied().or(frontier)
    }

    /// How many bytes a record takes, about, by those known; 0 before any is.
    pub(super) fn bytes_each(&self) -> u64 {
        self.frontier.offset.checked_div(self.frontier.record).unwrap_or(0)
    }

    /// Number of records, and what is wrong behind them, once the end is known.
    pub(super) fn finished(&self) -> Option<(u64, Option<&Fault>)> {
        let fault = match self.finish.as_ref()? {
            Finish::Whole => None,
            Finish::Damaged(fault) => Some(fault),
        };
        Some((self.frontier.record, fault))
    }

    /// Learns that consecutive records from `first` on begin at these offsets, and where the next one does. Returns how
    /// many bytes nothing was known of before.
    pub(super) fn learn(&mut self, first: u64, offsets: impl Iterator<Item = u64>, next: Anchor) -> u64 {
        if first > self.frontier.record || next.record <= self.frontier.record {
            return 0;
        }
        let known = (self.frontier.record - first) as usize;
        let mut last = self.anchors.last().map_or(0, |anchor| anchor.offset);
        for (record, offset) in (self.frontier.record..).zip(offsets.skip(known)) {
            if offset - last >= SPACING {
                self.anchors.push(Anchor { record, offset });
                last = offset;
            }
        }
        let before = std::mem::replace(&mut self.frontier, next);
        next.offset.saturating_sub(before.offset)
    }

    /// Learns the records of a block that stands at `shift` in the file.
    pub(super) fn learn_block(&mut self, first: u64, places: &[RecordSpan], shift: i64, next: Anchor) {
        let offset = |place: &RecordSpan| (shift + i64::from(place.start)) as u64 - HEAD as u64;
        self.learn(first, places.iter().map(offset), next);
    }

    /// Learns what stands behind the last of so many records.
    pub(super) fn end(&mut self, records: u64, finish: Finish) {
        if records == self.frontier.record {
            self.finish = Some(finish);
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.anchors.capacity() * size_of::<Anchor>()
    }

    /// Number of records, the file's size, then the anchors behind the first as distances, all of variable length.
    /// Only of a file that ends well.
    pub(super) fn save(&self) -> Option<Vec<u8>> {
        if self.finish != Some(Finish::Whole) {
            return None;
        }
        let mut saved = Vec::new();
        put(self.frontier.record, &mut saved);
        put(self.frontier.offset, &mut saved);
        for pair in self.anchors.windows(2) {
            put(pair[1].record - pair[0].record, &mut saved);
            put(pair[1].offset - pair[0].offset, &mut saved);
        }
        Some(saved)
    }

    /// Restores what [`Places::save`] gave for a file of `size` bytes; `None` if it cannot be that.
    pub(super) fn restore(mut saved: &[u8], size: u64) -> Option<Places> {
        let frontier = Anchor { record: take(&mut saved)?, offset: take(&mut saved)? };
        if frontier.offset != size {
            return None;
        }
        let mut anchors = vec![Anchor::default()];
        let mut last = Anchor::default();
        while !saved.is_empty() {
            let (records, bytes) = (take(&mut saved)?, take(&mut saved)?);
            let offset = last.offset.checked_add(bytes)?;
            last = Anchor { record: last.record.checked_add(records)?, offset };
            if records == 0 || bytes < SPACING || last.record >= frontier.record || offset >= size {
                return None;
            }
            anchors.push(last);
        }
        Some(Places { anchors, frontier, finish: Some(Finish::Whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(sizes: &[u64]) -> Places {
        let mut places = Places::new();
        let mut offsets = vec![0];
        sizes.iter().for_each(|size| offsets.push(offsets[offsets.len() - 1] + size));
        let next = Anchor { record: sizes.len() as u64, offset: offsets[sizes.len()] };
        places.learn(0, offsets[..sizes.len()].iter().copied(), next);
        places
    }

    #[test]
    fn a_place_is_kept_every_four_kibibytes() {
        let places = learned(&[100; 100]);
        let kept: Vec<u64> = places.anchors.iter().map(|anchor| anchor.record).collect();
        assert_eq!(kept, [0, 41, 82]);
        assert_eq!(places.before(40), Anchor::default());
        assert_eq!(places.before(50), Anchor { record: 41, offset: 4100 });
        assert_eq!(places.before(200), Anchor { record: 100, offset: 10_000 });
        assert_eq!(places.behind(42), Some(Anchor { record: 82, offset: 8200 }));
        assert_eq!(places.behind(100), Some(Anchor { record: 100, offset: 10_000 }));
        assert_eq!(places.behind(101), None);
    }

    #[test]
    fn what_was_known_already_changes_nothing() {
        let mut places = learned(&[5000; 4]);
        let before = places.clone();
        places.learn(1, [5000, 10_000].into_iter(), Anchor { record: 3, offset: 15_000 });
        places.learn(9, [90_000].into_iter(), Anchor { record: 10, offset: 95_000 });
        assert_eq!(places, before);
        places.learn(3, [15_000, 20_000].into_iter(), Anchor { record: 5, offset: 25_000 });
        assert_eq!(places, learned(&[5000; 5]));
    }

    #[test]
    fn what_is_saved_comes_back_and_what_cannot_be_is_refused() {
        let mut places = learned(&[7000, 3, 9000, 70_000, 1]);
        assert_eq!(places.save(), None, "the end is not known");
        places.end(5, Finish::Whole);
        let saved = places.save().expect("the end is known");
        assert_eq!(Places::restore(&saved, 86_004), Some(places));
        assert_eq!(Places::restore(&saved, 86_005), None);
        for cut in 0..saved.len() {
            // A cut between two anchors leaves fewer of them, which are right.
            if let Some(fewer) = Places::restore(&saved[..cut], 86_004) {
                assert_eq!(fewer.frontier, Anchor { record: 5, offset: 86_004 });
            }
        }
        assert_eq!(Places::restore(&[0xFF; 30], 86_004), None);
    }
}
