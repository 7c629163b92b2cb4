//! Charging faults: in plan order, where minibatches are handed out, and nowhere else.

use std::sync::atomic::Ordering;

use tesson_core::{DataError, DataErrorKind, Error, FaultRules};
use tesson_plan::{Demand, Sharing};

use super::Source;
use crate::fault::Charge;
use crate::report::Report;

/// The faults that a source forgives.
pub(super) struct FaultLedger {
    /// Share of the sequences that may be faulty.
    pub(super) share: f64,
    /// Where those that are forgiven are written to.
    pub(super) report: Option<Report>,
}

impl FaultLedger {
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn open(rules: &FaultRules) -> Result<FaultLedger, Error> {
        let report = rules.report.as_deref().map(Report::open).transpose()?;
        Ok(FaultLedger { share: rules.share, report })
    }
}

impl Source {
    /// True if only the whole index tells whether this rank visits a sequence for the first time.
    pub(super) fn counts_by_rank(&self, demand: Demand) -> bool {
        demand.workers > 1 && self.plan.sharing == Sharing::Chunk && self.forgives()
    }

    /// True if any fault is tolerated, so that faults have to be counted.
    pub(super) fn forgives(&self) -> bool {
        self.corpus.parts.max_errors() > 0 || self.faults.share > 0.0
    }

    /// Counts faults on top of those charged so far, `passed` sequences having gone by; returns how many there are then.
    pub(super) fn charge(&mut self, charges: &[Charge], passed: u64, mut faults: u64) -> Result<u64, Error> {
        let share = (self.faults.share * passed as f64) as u64;
        let budget = self.corpus.parts.max_errors().max(share);
        for charge in charges {
            faults += 1;
            if charge.fatal || faults > budget {
                let owner = self.corpus.parts.budget_owner(charge.error.stream());
                let error =
                    if charge.fatal { charge.error.clone() } else { over_budget(charge, budget, owner) };
                return Err(self.position.fail(error.into()));
            }
            tracing::warn!("{}", charge.error);
            self.counters.faults.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(report) = &mut self.faults.report {
            charges.iter().try_for_each(|charge| report.append(&charge.error))?;
        }
        Ok(faults)
    }
}

fn over_budget(charge: &Charge, budget: u64, owner: &'static str) -> DataError {
    let last = Box::new(charge.error.kind().clone());
    let kind = DataErrorKind::BudgetSpent { last, budget, owner, is_of_data: charge.is_of_data };
    charge.error.clone().with_kind(kind)
}
