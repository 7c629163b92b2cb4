//! In which order the files of a plan are opened (§8.5, §8.6).

use super::buffer::Buffer;
use super::{Seeding, Span};

/// The files of one traversal: one after the other, or shuffled, once or for ever.
#[derive(Clone, Debug)]
pub(super) struct Files {
    spans: Vec<Span>,
    seeding: Option<Seeding>,
    repeat: bool,
    /// The next file of this round, and, if they are shuffled, the shuffle of the round.
    next: usize,
    shuffled: Option<Buffer>,
}

impl Files {
    pub(super) fn new(spans: Vec<Span>, seeding: Option<Seeding>, repeat: bool) -> Files {
        // Rounds without an example would follow each other for ever.
        let repeat = repeat && spans.iter().any(|s| s.len > 0);
        Files { spans, seeding, repeat, next: 0, shuffled: None }
    }

    /// Begins a round; `passes` counts them.
    pub(super) fn begin(&mut self, passes: &mut u64) {
        self.next = 0;
        self.shuffled = self.seeding.map(|seeding| {
            let n = self.spans.len() as u64;
            let mut buffer = Buffer::new(n.max(1), seeding.words(*passes));
            (0..n).for_each(|file| buffer.push(file));
            buffer
        });
        *passes = passes.wrapping_add(1);
    }

    /// The next file; endless if the files are repeated.
    pub(super) fn next(&mut self, passes: &mut u64) -> Option<Span> {
        if let Some(span) = self.next_of_round() {
            return Some(span);
        }
        if !self.repeat {
            return None;
        }
        self.begin(passes);
        self.next_of_round()
    }

    fn next_of_round(&mut self) -> Option<Span> {
        let file = match &mut self.shuffled {
            Some(buffer) => buffer.draw()? as usize,
            None => self.next,
        };
        self.next += 1;
        self.spans.get(file).copied()
    }

    /// Examples of a traversal; `None`: there is no end.
    pub(super) fn n_examples(&self) -> Option<u64> {
        (!self.repeat).then(|| self.spans.iter().map(|s| s.len).sum())
    }

    /// The stretches that are read.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether each round has an order of its own.
    pub(super) fn reshuffles(&self) -> bool {
        self.spans.len() > 1 && self.seeding.is_some_and(|seeding| seeding.reshuffle)
    }

    pub(super) fn repeats(&self) -> bool {
        self.repeat
    }
}
