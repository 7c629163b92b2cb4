//! The plan of what will come when, without reading data.

use tesson_core::{Error, Index};
use tesson_plan::{BatchPlan, Cursor, Demand, Limit, PlanSpec, Planner, Progress};

use super::Source;

impl Source {
    /// Number of minibatches that one worker gets of the first sweep. Truncated ones are counted as if all sequences were
    /// as long as the index says.
    ///
    /// # Errors
    /// Those of [`Source::indexed`], and a demand that can never be met.
    pub fn steps_per_sweep(&mut self, demand: Demand) -> Result<u64, Error> {
        let index = self.indexed()?.index.clone();
        let every = PlanSpec { limit: Limit::Endless, ..self.plan.clone() };
        if !every.cross_sweep_ends
            && !self.is_truncated()
            && let Some(steps) = Planner::new(every).steps_of_every_sweep(&index, demand)
        {
            return Ok(steps);
        }
        let plan = PlanSpec { limit: Limit::Sweeps(1), ..self.plan.clone() };
        let mut steps = 0;
        let mut count = || {
            steps += 1;
            true
        };
        match &self.truncated {
            Some(truncated) => {
                truncated.for_each_plan(self, plan, &index, Cursor::default(), demand, |_| count())?;
            }
            None => for_each_plan(plan, &index, Cursor::default(), demand, |_| count())?,
        }
        Ok(steps)
    }

    /// Number of minibatches that one worker gets of a sweep where minibatches end with their sweep. Only of truncated ones it is
    /// another for each sweep.
    ///
    /// # Errors
    /// Those of [`Source::steps_per_sweep`].
    pub fn steps_of_sweep(&mut self, sweep: u64, demand: Demand) -> Result<u64, Error> {
        let index = self.indexed()?.index.clone();
        let Some(truncated) = &self.truncated else { return self.steps_per_sweep(demand) };
        let plan = PlanSpec { limit: Limit::Sweeps(sweep + 1), ..self.plan.clone() };
        let position = index.n_samples().saturating_mul(sweep);
        let start = Cursor { position, sweep, ..Cursor::default() };
        let mut steps = 0;
        truncated.for_each_plan(self, plan, &index, start, demand, |_| {
            steps += 1;
            true
        })?;
        Ok(steps)
    }

    /// How many minibatches every sweep of endless data has, where that is one number and known without planning.
    pub fn steps_of_every_sweep(&self, demand: Demand) -> Option<u64> {
        let index = &self.corpus.joint.as_ref().filter(|_| !self.is_truncated())?.indexed.index;
        Planner::new(self.plan.clone()).steps_of_every_sweep(index, demand)
    }

    /// How many minibatches are left from here to the end of the data, or of the sweep if the data have no end. `None` where
    /// that is not known: the index has not been made, or what rows of truncated minibatches hold is found out by reading.
    ///
    /// Plans them, at about 50 ns a sequence.
    ///
    /// # Errors
    /// A demand that can never be met.
    pub fn steps_left(&self, demand: Demand) -> Result<Option<u64>, Error> {
        demand.validate()?;
        let Some(joint) = self.corpus.joint.as_ref().filter(|_| !self.is_truncated()) else {
            return Ok(None);
        };
        let index = &joint.indexed.index;
        let mut planner = Planner::new(self.plan.clone());
        planner.restore(index, self.position.state(), Some(demand))?;
        // See `Source::local_sweeps`.
        let alone = self.plan.order.is_local() && demand.workers == 1;
        let sweeps = |planner: &Planner| planner.cursor().position.checked_div(index.n_samples());
        let begun = sweeps(&planner);
        let (mut plan, mut steps) = (BatchPlan::default(), 0);
        loop {
            planner.next_batch(index, demand, &mut plan)?;
            if plan.is_end() {
                return Ok(Some(steps));
            }
            steps += 1;
            let sweep_end = if alone { sweeps(&planner) != begun } else { plan.sweep_end };
            if plan.data_end || self.is_endless() && sweep_end {
                return Ok(Some(steps));
            }
        }
    }

    /// Shows what comes when, from the start, without reading data: whole sequences, from which the slots of truncated reading are filled
    /// ([`Source::plan_truncated`]). `each` returns whether to continue.
    ///
    /// # Errors
    /// Those of [`Source::indexed`], and a demand that can never be met.
    pub fn plan(&mut self, demand: Demand, each: impl FnMut(&BatchPlan) -> bool) -> Result<(), Error> {
        self.plan_with(|_| (), demand, each)
    }

    /// Like [`Source::plan`], for a plan that `change` modifies first: what would come when.
    ///
    /// # Errors
    /// Those of [`Source::plan`].
    pub fn plan_with(
        &mut self,
        change: impl FnOnce(&mut PlanSpec),
        demand: Demand,
        each: impl FnMut(&BatchPlan) -> bool,
    ) -> Result<(), Error> {
        let index = self.indexed()?.index.clone();
        let mut plan = self.plan.clone();
        change(&mut plan);
        for_each_plan(plan, &index, Cursor::default(), demand, each)
    }
}

/// Calls `each` with the minibatches of a plan from the beginning of a sweep on.
pub(super) fn for_each_plan(
    spec: PlanSpec,
    index: &Index,
    start: Cursor,
    demand: Demand,
    mut each: impl FnMut(&BatchPlan) -> bool,
) -> Result<(), Error> {
    demand.validate()?;
    let mut planner = Planner::new(spec);
    planner.start(index, demand)?;
    if start.sweep > 0 {
        planner.resume(index, start, Some(demand))?;
    }
    let mut plan = BatchPlan::default();
    loop {
        let progress = planner.next_batch(index, demand, &mut plan)?;
        debug_assert!(matches!(progress, Progress::Planned), "a complete index needs no more");
        if plan.is_end() || !each(&plan) || plan.data_end {
            return Ok(());
        }
    }
}
