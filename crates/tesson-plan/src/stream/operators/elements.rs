//! Elements that the caller of an [`ElementOrder`](crate::stream::ElementOrder) holds, as the lowest layer.

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};

/// What the layer waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(in crate::stream) enum ElementsWanted {
    #[default]
    Next,
    Skip(u64),
}

/// An input that is answered for: each call waits, and finds its answer when it is made again.
#[derive(Clone, Debug, Default)]
pub(in crate::stream) struct Elements {
    /// Passes that have to begin.
    pub(in crate::stream) to_begin: u64,
    /// What is waited for.
    pub(in crate::stream) wanted: ElementsWanted,
    /// How many elements were given or passed over.
    pub(in crate::stream) answer: Option<Result<u64, Stop>>,
    /// Elements that have been given or passed over in all passes.
    seen: u64,
}

impl Elements {
    /// An input that has given so many elements.
    pub(in crate::stream) fn after(seen: u64) -> Elements {
        Elements { seen, ..Elements::default() }
    }
}

impl Operator for Elements {
    fn begin(&mut self, _: Below<'_>) {
        self.to_begin += 1;
    }

    fn next(&mut self, _: Below<'_>) -> Result<u64, Stop> {
        match self.answer.take() {
            Some(answer) => {
                answer?;
                self.seen += 1;
                Ok(self.seen - 1)
            }
            None => {
                self.wanted = ElementsWanted::Next;
                Err(Stop::Waits)
            }
        }
    }

    fn skip(&mut self, n: u64, _: Below<'_>, _: &mut SkipControl<'_>) -> Skipped {
        match self.answer.take() {
            Some(answer) => {
                let found = answer.unwrap_or(0).min(n);
                self.seen += found;
                (found, (found < n).then_some(Stop::End))
            }
            None => {
                self.wanted = ElementsWanted::Skip(n);
                (0, Some(Stop::Waits))
            }
        }
    }

    fn facts(&self, below: &Facts) -> Facts {
        below.clone()
    }
}
