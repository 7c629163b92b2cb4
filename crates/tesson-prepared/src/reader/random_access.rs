//! Examples by their places, in the split or in a traversal.

use std::ops::Range;

use tesson_core::{Error, UsageError};
use tesson_tfds::fault::TfdsFault;

use super::errors::error_in;
use super::{ExampleBatch, OnDamage, Reader};
use crate::file_runs::Parts;
use crate::images::{Occasion, Positions};
use crate::loader::{LoadStop, RecordId};
use crate::order::SeekTarget;
use crate::stretches::LoadedStretch;

impl Reader {
    /// Appends the examples at these places of the split, files in the order of the plan.
    ///
    /// # Errors
    /// A place that does not exist, or in a file that is compressed as a whole; a record that cannot be read or decoded, after
    /// those before it.
    pub fn read_at(&mut self, places: &[u64], examples: &mut ExampleBatch) -> Result<(), Error> {
        self.check_usable()?;
        let numbers = places.iter().map(|place| self.number_at(*place));
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
        self.check_places(&numbers)?;
        let start = examples.len();
        examples.numbers.extend(numbers);
        examples.positions.resize(examples.numbers.len(), 0);
        self.load_known(start, examples, OnDamage::Fail)
    }

    /// Refuses places in files that are compressed as a whole: those are streams, and each place would cost all before
    /// it (spec/tfds.md §2).
    fn check_places(&self, numbers: &[u64]) -> Result<(), Error> {
        let mut files: Vec<usize> = numbers.iter().map(|number| RecordId::of(*number).file).collect();
        files.dedup();
        for file in files {
            if !self.loader.random_access(file)? {
                return Err(error_in(self.loader.path(file), TfdsFault::Compressed).into());
            }
        }
        Ok(())
    }

    /// Loads records that are known to be there, those of the examples from `start` on; side by side if that is worth it.
    pub(super) fn load_known(
        &mut self,
        mut start: usize,
        examples: &mut ExampleBatch,
        on_damage: OnDamage,
    ) -> Result<(), Error> {
        let (numbers, positions) = (&examples.numbers[start..], &examples.positions[start..]);
        let pieces = self.prefetcher.share_out(numbers, positions, self.order.pass(), &self.loader);
        for len in pieces {
            let Some(LoadedStretch { mut batch, stop, .. }) = self.prefetcher.take_piece() else { break };
            let (loaded, end) = (start + batch.rows(), start + len);
            if examples.batch.rows() == 0 {
                std::mem::swap(&mut examples.batch, &mut batch);
            } else {
                examples.batch.append(&batch, 0..batch.rows());
            }
            self.prefetcher.keep(batch);
            let here =
                stop.map_or(Ok(end), |stop| self.load_on(loaded..end, Some(stop), examples, on_damage));
            if here.is_err() {
                self.prefetcher.discard();
            }
            start = here?;
        }
        self.load_on(start..examples.numbers.len(), None, examples, on_damage)?;
        self.prefetcher.learn(&examples.batch);
        Ok(())
    }

    /// Loads some of the examples by itself, the first of which could not be loaded if there is a `stop` already. Returns where
    /// they end: earlier if some are left out.
    fn load_on(
        &mut self,
        Range { mut start, mut end }: Range<usize>,
        mut stop: Option<LoadStop>,
        examples: &mut ExampleBatch,
        on_damage: OnDamage,
    ) -> Result<usize, Error> {
        loop {
            let stop = match stop.take() {
                Some(stop) => stop,
                None => {
                    let (numbers, parts) = (&examples.numbers[start..end], &mut Parts::default());
                    let positions = Positions::Each(&examples.positions[start..end]);
                    let occasion = Occasion { pass: self.order.pass(), positions };
                    match self.loader.load(numbers, occasion, parts, &mut examples.batch, usize::MAX) {
                        Ok(()) => return Ok(end),
                        Err((done, stop)) => {
                            start += done;
                            stop
                        }
                    }
                }
            };
            let bad = RecordId::of(examples.numbers[start]);
            let error = match stop {
                LoadStop::Full => continue,
                LoadStop::Failed(error) | LoadStop::Cut(error) => error,
                LoadStop::Short { records } => self.absent(bad, records).into(),
            };
            if let (Error::Data(error), OnDamage::Skip) = (&error, on_damage) {
                self.leave_out(error);
                examples.numbers.remove(start);
                examples.positions.remove(start);
                end -= 1;
                continue;
            }
            examples.numbers.truncate(start);
            examples.positions.truncate(start);
            return Err(self.with_id(error, bad));
        }
    }

    /// The example at a place of a traversal, both counted from 0, appended. `interrupted` is asked every few milliseconds of the
    /// way there.
    ///
    /// # Errors
    /// A place that does not exist, an interruption, and as [`Reader::read_at`].
    pub fn read_nth(
        &mut self,
        traversal: u64,
        place: u64,
        examples: &mut ExampleBatch,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.check_usable()?;
        let goal = SeekTarget { traversal: Some(traversal), place, with_next: true };
        let probe = self.prefetcher.probe(&self.loader);
        let number = self.order.find(goal, probe, interrupted).map(|(_, number)| number);
        let absent = || UsageError::new(format!("there is no example {place}"));
        let number = number.map_err(|astray| self.led_astray(astray))?.ok_or_else(absent)?;
        self.check_places(&[number])?;
        let start = examples.len();
        examples.numbers.push(number);
        examples.positions.push(0);
        self.load_known(start, examples, OnDamage::Fail)
    }

    fn number_at(&self, place: u64) -> Result<u64, Error> {
        let mut left = place;
        for (file, of) in self.plan().files.iter().enumerate() {
            if left < of.take {
                return Ok(RecordId { file, record: of.skip + left }.number());
            }
            left -= of.take;
        }
        let what = format!("place {place} is not below the {} examples of the split", self.split_len());
        Err(UsageError::new(what).into())
    }
}
