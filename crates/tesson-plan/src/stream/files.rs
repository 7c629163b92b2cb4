//! The order in which the files of a plan are opened (spec/tfds.md §8.5, §8.6).
//!
//! For the next editor: what was taken of each file is recorded for readers that check declared lengths, and it
//! outlives rounds: the most that any pass took counts. `news` lists only changes, as there may be thousands of
//! files. A round that begins counts as a pass even if nothing is read of it, because the next shuffle's seeds depend
//! on the count.

use super::buffer::Buffer;
use super::{Seeding, Span};

/// The amount of a file that an order has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The number of records from the beginning of its span: the most that any pass has taken.
    pub records: u64,
    /// True if a pass has reached the end of the span.
    pub ended: bool,
}

/// The files of one traversal: one after the other or shuffled, once or without end.
#[derive(Clone, Debug)]
pub(super) struct Files {
    spans: Vec<Span>,
    /// The amount that passes have taken of each file when they left it, with a mark if that has changed since the
    /// last report; and the files with that mark.
    taken: Vec<(Taken, bool)>,
    news: Vec<usize>,
    seeding: Option<Seeding>,
    repeat: bool,
    /// The next file of this round, and, if they are shuffled, the shuffle of the round.
    next: usize,
    shuffled: Option<Buffer>,
}

impl Files {
    pub(super) fn new(spans: Vec<Span>, seeding: Option<Seeding>, repeat: bool) -> Files {
        // Empty rounds would follow each other without end.
        let repeat = repeat && spans.iter().any(|s| s.len > 0);
        let taken = vec![(Taken::default(), false); spans.len()];
        Files { spans, taken, news: Vec::new(), seeding, repeat, next: 0, shuffled: None }
    }

    /// Begins a round; `passes` counts them.
    pub(super) fn begin(&mut self, passes: &mut u64) {
        self.next = 0;
        self.shuffled = self.seeding.map(|seeding| {
            let n = self.spans.len() as u64;
            Buffer::after(n.max(1), seeding.words(*passes), 0, (0..n).collect())
        });
        *passes = passes.wrapping_add(1);
    }

    /// The number and the span of the next file; without end if the files are repeated.
    pub(super) fn next(&mut self, passes: &mut u64) -> Option<(usize, Span)> {
        if let Some(span) = self.next_of_round() {
            return Some(span);
        }
        if !self.repeat {
            return None;
        }
        self.begin(passes);
        self.next_of_round()
    }

    fn next_of_round(&mut self) -> Option<(usize, Span)> {
        let file = match &mut self.shuffled {
            Some(buffer) => buffer.draw()? as usize,
            None => self.next,
        };
        self.next += 1;
        self.spans.get(file).map(|span| (file, *span))
    }

    /// Records that a file is left, at its end or with `left` of it not taken.
    pub(super) fn leave(&mut self, file: usize, left: Span, ended: bool) {
        let records = left.first - self.spans[file].first;
        let (taken, is_news) = &mut self.taken[file];
        let now = Taken { records: taken.records.max(records), ended: taken.ended || ended };
        if now != *taken && !*is_news {
            *is_news = true;
            self.news.push(file);
        }
        *taken = now;
    }

    /// Forgets what has been taken.
    pub(super) fn forget_taken(&mut self) {
        self.taken.fill((Taken::default(), false));
        self.news.clear();
    }

    /// The files of which more has been taken since the last call.
    pub(super) fn news(&mut self) -> Vec<(usize, Taken)> {
        let news = std::mem::take(&mut self.news);
        let of = |file: usize| {
            let (taken, is_news) = &mut self.taken[file];
            *is_news = false;
            (file, *taken)
        };
        news.into_iter().map(of).collect()
    }

    /// The number of examples in a traversal; `None`: there is no end.
    pub(super) fn n_examples(&self) -> Option<u64> {
        (!self.repeat).then(|| self.spans.iter().map(|s| s.len).sum())
    }

    /// The spans that are read.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// True if each round has an order of its own.
    pub(super) fn reshuffles(&self) -> bool {
        self.spans.len() > 1 && self.seeding.is_some_and(|seeding| seeding.reshuffle)
    }

    pub(super) fn repeats(&self) -> bool {
        self.repeat
    }
}
