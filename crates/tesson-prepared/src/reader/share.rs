//! One worker's share of the examples.

use tesson_core::{Error, UsageError};

use super::{ExampleBatch, OnDamage, Reader};
use crate::stretches::{Stretch, StretchEnd};

/// Examples of all workers that are planned between two looks at the canceller.
const AT_ONCE: usize = 1 << 16;

impl Reader {
    /// Appends one worker's share of the next `n` examples of all workers: those at places `i` with `i mod workers = rank`
    /// (spec/tfds.md §12.5). Every worker goes through the same order and reads its own records alone. Returns how many
    /// examples all workers together get: fewer than `n` at the end. A damaged record that is left out counts there,
    /// since only its own worker sees it.
    ///
    /// # Errors
    /// Those of [`Reader::read`]; files that end where they are damaged, which one worker alone would know of.
    pub fn read_share(
        &mut self,
        n: usize,
        workers: usize,
        rank: usize,
        examples: &mut ExampleBatch,
    ) -> Result<usize, Error> {
        self.check()?;
        if self.order.on_damage == OnDamage::StopShard && workers > 1 {
            let what = "`stop_shard` is for one worker: the others do not see where a file is damaged; `skip` leaves out \
                damaged records alone";
            return Err(UsageError::new(what.into()).into());
        }
        self.discard_prefetch()?;
        if workers > 1 {
            self.order.is_shared();
        }
        let result = self.share(n, workers, rank, examples);
        self.end_call(&result);
        result
    }

    fn share(
        &mut self,
        n: usize,
        workers: usize,
        rank: usize,
        examples: &mut ExampleBatch,
    ) -> Result<usize, Error> {
        let (start, mut all, mut failed) = (examples.len(), 0, None);
        while all < n {
            self.canceller.check()?;
            let Stretch { numbers, over, last, .. } =
                self.order.stretch((n - all).min(AT_ONCE), self.prefetcher.probe(&self.loader));
            // Of each stretch those whose place in all of them is the rank's.
            let first = (rank + workers - all % workers) % workers;
            examples.numbers.extend(numbers.iter().skip(first).step_by(workers));
            examples.positions.extend((over + 1..=over + numbers.len() as u64).skip(first).step_by(workers));
            all += numbers.len();
            self.stands_at_order();
            failed = match last {
                StretchEnd::More => continue,
                StretchEnd::End if all == 0 => self.cut(),
                StretchEnd::End => None,
                StretchEnd::Wrong(mismatch) => Some(self.count_error(mismatch)),
                StretchEnd::Failed(error, at) => Some(self.with_id(error, at)),
            };
            break;
        }
        self.load_known(start, examples, self.order.on_damage)?;
        failed.map_or(Ok(all), Err)
    }
}
