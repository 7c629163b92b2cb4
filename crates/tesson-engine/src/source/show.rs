//! Sequences by their key: as they would be delivered, and when.

use std::path::Path;
use std::sync::Arc;

use tesson_core::{DataError, Error, Indexed, SequenceId};
use tesson_plan::{BatchPlan, Demand, Limit, PlanSpec, Planner};

use super::Source;
use crate::deliver::Pipeline;
use crate::minibatch::Minibatch;

/// The sequences of a key.
#[derive(Debug)]
pub struct ShownKey {
    /// The first of them, in the order of the data.
    pub sequences: Vec<Shown>,
    /// How many there are.
    pub occurrences: u64,
}

/// A sequence, where it lies, and when it comes.
#[derive(Debug)]
pub struct Shown {
    /// A minibatch of this sequence alone, transformed as in its sweep.
    pub minibatch: Minibatch,
    /// Its chunk and its number there.
    pub planned: SequenceId,
    /// The file that it begins in (of the first deserializer), and the byte; none for what is in no file.
    pub place: Option<(Arc<Path>, u64)>,
    /// Its number in the sweep, and the position in samples at which it begins. None where ranks have timelines of their own.
    pub when: Option<(u64, u64)>,
    /// The faults of the sequence.
    pub faults: Vec<DataError>,
}

impl Source {
    /// The sequences with a key, the first `most` of them, as they would be delivered in a sweep; none if there is no such
    /// key. Keys are compared as texts. Where the source stands does not change.
    ///
    /// Looks through all keys, and through the order from the start of the sweep.
    ///
    /// # Errors
    /// Unreadable storage, and what a transform answers.
    pub fn show(&mut self, key: &str, sweep: u64, most: usize) -> Result<ShownKey, Error> {
        self.check_process()?;
        self.check_draws("no sequence can be shown by itself")?;
        let indexed = self.indexed()?.clone();
        let (found, occurrences) = self.find_key(&indexed, key, most)?;
        if found.is_empty() {
            return Ok(ShownKey { sequences: Vec::new(), occurrences });
        }
        if self.pipeline.as_ref().is_some_and(|pipeline| pipeline.is_growing()) {
            self.switch_to_index()?;
            // The pipeline is another one: it has to be aimed.
            self.position.lose_aim();
        }
        let when = self.when(&indexed, &found, sweep)?;
        let show = |(planned, when): (SequenceId, Option<(u64, u64)>)| -> Result<Shown, Error> {
            let packed = self.pipeline.as_ref().ok_or(Error::Cancelled)?.single(planned, sweep, None)?;
            let (resource, span) = indexed.corpus.span(planned);
            let file = self.resources.path(resource);
            Ok(Shown {
                planned,
                place: file.map(|name| (name, span.start)),
                when,
                faults: packed.charges.into_iter().map(|charge| charge.error).collect(),
                minibatch: Minibatch {
                    arrays: packed.arrays,
                    files: self.pipeline.as_ref().map(Pipeline::files),
                    share: None,
                    sweep_end: false,
                    sweeps_ended: 0,
                    resume: self.position.state().clone(),
                },
            })
        };
        let sequences = found.into_iter().zip(when).map(show).collect::<Result<_, _>>()?;
        Ok(ShownKey { sequences, occurrences })
    }

    /// The number of each sequence in a sweep, and its position.
    fn when(
        &self,
        indexed: &Indexed,
        wanted: &[SequenceId],
        sweep: u64,
    ) -> Result<Vec<Option<(u64, u64)>>, Error> {
        let mut when = vec![None; wanted.len()];
        if self.plan.order.is_local() {
            return Ok(when);
        }
        let index = &indexed.index;
        let spec =
            PlanSpec { limit: Limit::Endless, epoch_size: None, equal_steps: None, ..self.plan.clone() };
        let mut planner = Planner::new(spec);
        let demand = Demand { samples: 1, workers: 1, rank: 0 };
        planner.seek(index, sweep.saturating_mul(index.n_samples()), Some(demand))?;
        let mut plan = BatchPlan::default();
        let mut before = planner.cursor();
        while before.sweep == sweep && when.contains(&None) {
            planner.next_batch(index, demand, &mut plan)?;
            for (i, own) in plan.own.iter().enumerate() {
                if let Some(number) = wanted.iter().position(|planned| planned == own) {
                    when[number] = Some((before.sequence + i as u64, before.position));
                }
            }
            before = plan.after;
        }
        Ok(when)
    }
}
