//! The lowest layer of a stream of records: the files in their order, interleaved.

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};
use crate::stream::files::Files;
use crate::stream::interleave::Interleave;
use crate::stream::{Span, Taken};

/// The files and their interleave.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Source {
    files: Files,
    interleave: Interleave,
}

/// The number of examples that are skipped between two tests for an interrupt.
const STRIDE: u64 = 1 << 24;

impl Source {
    pub(in crate::stream) fn new(files: Files, interleave: Interleave) -> Source {
        Source { files, interleave }
    }

    /// The next records that are consecutive in a file and in the order, up to `most`, which is at least 1.
    #[inline]
    pub(in crate::stream) fn run(&mut self, most: u64, passes: &mut [u64]) -> Option<Span> {
        self.interleave.run(most, &mut self.files, &mut passes[0])
    }

    /// The amounts taken of each file that was left since the last call, and of those that are open.
    pub(in crate::stream) fn taken(&mut self) -> Vec<(usize, Taken)> {
        let mut taken = self.files.news();
        let of = |(file, left): (usize, Span)| {
            (file, Taken { records: left.first - self.files.spans()[file].first, ended: false })
        };
        taken.extend(self.interleave.open_files().map(of));
        taken
    }

    /// Forgets what has been taken.
    pub(in crate::stream) fn forget_taken(&mut self) {
        self.files.forget_taken();
    }

    pub(in crate::stream) fn files(&self) -> &Files {
        &self.files
    }
}

impl Operator for Source {
    fn begin(&mut self, below: Below<'_>) {
        self.interleave.begin(&mut self.files);
        self.files.begin(&mut below.passes[0]);
    }

    #[inline]
    fn next(&mut self, below: Below<'_>) -> Result<u64, Stop> {
        self.interleave.next(&mut self.files, &mut below.passes[0]).ok_or(Stop::End)
    }

    fn skip(&mut self, n: u64, below: Below<'_>, control: &mut SkipControl<'_>) -> Skipped {
        let mut skipped = 0;
        while skipped < n {
            // Repeated files are passed one by one, which may take long.
            let stride = (n - skipped).min(STRIDE);
            let found = self.interleave.skip(stride, &mut self.files, &mut below.passes[0]);
            skipped += found;
            if found < stride {
                return (skipped, Some(Stop::End));
            }
            if stride == STRIDE && control.is_interrupted(SkipControl::INTERVAL) {
                return (skipped, Some(Stop::Interrupted));
            }
        }
        (n, None)
    }

    fn facts(&self, below: &Facts) -> Facts {
        below.clone()
    }
}
