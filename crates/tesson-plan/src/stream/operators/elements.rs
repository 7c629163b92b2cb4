//! Elements that the caller of an [`ElementOrder`](crate::stream::ElementOrder) holds, as the lowest layer.

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};

/// The request for which the layer waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(in crate::stream) enum ElementsWanted {
    #[default]
    Next,
    Skip(u64),
}

/// An input that the caller supplies: each call returns [`Stop::Waits`] and finds the caller's answer when it is
/// repeated.
#[derive(Clone, Debug, Default)]
pub(in crate::stream) struct Elements {
    /// The number of passes that the caller has to begin.
    pub(in crate::stream) to_begin: u64,
    /// The request that waits for an answer.
    pub(in crate::stream) wanted: ElementsWanted,
    /// The caller's answer: the number of elements delivered or skipped, or the end.
    pub(in crate::stream) answer: Option<Result<u64, Stop>>,
    /// The number of elements delivered or skipped in all passes.
    seen: u64,
}

impl Elements {
    /// An input that has delivered `seen` elements.
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
