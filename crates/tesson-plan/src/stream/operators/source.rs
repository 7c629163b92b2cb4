//! The files, in their order, read in turns.

use super::{Below, Facts, Operator, SkipControl, Skipped, Stop};
use crate::stream::files::Files;
use crate::stream::interleave::Interleave;
use crate::stream::{Span, Taken};

/// The files and what interleaves them: the lowest layer.
#[derive(Clone, Debug)]
pub(in crate::stream) struct Source {
    files: Files,
    interleave: Interleave,
}

/// Examples of files that are skipped at once.
const STRIDE: u64 = 1 << 24;

impl Source {
    pub(in crate::stream) fn new(files: Files, interleave: Interleave) -> Source {
        Source { files, interleave }
    }

    /// The next records that follow each other in a file and in the order, as many as `most`, at least 1.
    #[inline]
    pub(in crate::stream) fn run(&mut self, most: u64, passes: &mut [u64]) -> Option<Span> {
        self.interleave.run(most, &mut self.files, &mut passes[0])
    }

    /// What has been taken of each file since this was asked last, and of those that are open.
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
            // Where files are repeated, each of them is passed: that may take long.
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
