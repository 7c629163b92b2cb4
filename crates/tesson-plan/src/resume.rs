//! States: a handful of integers to resume from, and what they belong to.

mod binary;
mod fingerprint;
mod json;
mod legacy;
mod numbers;
mod steps;

use std::sync::Arc;

use tesson_core::ResumeError;

#[cfg(test)]
pub(crate) use binary::checksum;
pub use fingerprint::{Fingerprint, index_shape};

use crate::{Consumed, Cursor, Demand, Layer, OrderSpec, SlotsState, WindowStart, order};

/// Version of the forms of a state. Earlier ones are read.
pub const STATE_VERSION: u8 = 3;

/// The version that recorded nothing of a waiting sequence but its number.
const WITHOUT_SWEEPS: u8 = 1;

/// The first version that consists of tagged sections.
const SECTIONS_SINCE: u8 = 3;

/// A position to resume from, and what it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeState {
    /// The position.
    pub cursor: Cursor,
    /// Under sharing by chunk whose position it is: the number of workers, and the rank.
    pub share: Option<(u64, u64)>,
    /// Faults charged so far.
    pub faults: u64,
    /// In truncated reading: the sequences pending in the rows.
    pub rows: Option<Arc<SlotsState>>,
    /// In merged states: what was consumed beyond the position.
    pub consumed: Option<Arc<Consumed>>,
    /// What the state belongs to; `None` for a bare position, as the reference saves it.
    pub fingerprint: Option<Arc<Fingerprint>>,
}

impl ResumeState {
    /// A position and nothing else, as the reference saves it.
    pub fn bare(position: u64) -> ResumeState {
        ResumeState { cursor: Cursor { position, ..Cursor::default() }, ..ResumeState::default() }
    }

    /// Whether there is no more to this state than its position.
    pub fn is_bare(&self) -> bool {
        self.fingerprint.is_none()
    }

    /// Whether the state belongs to a source. Bare positions belong to any.
    ///
    /// # Errors
    /// As [`Fingerprint::check`].
    pub fn check(&self, source: &Fingerprint) -> Result<(), ResumeError> {
        self.fingerprint.as_ref().map_or(Ok(()), |fingerprint| fingerprint.check(source))
    }

    /// Whether a demand may resume from here. A rank's state says nothing about the shares of the others, so it is
    /// good for the same rank of the same number of workers only.
    ///
    /// # Errors
    /// [`ResumeError`] with both shares, and how to resume with other workers.
    pub fn check_share(&self, demand: Demand) -> Result<(), ResumeError> {
        let Some((workers, rank)) = self.share.filter(|_| !self.is_bare()) else { return Ok(()) };
        if (workers, rank) == (demand.workers, demand.rank) {
            return Ok(());
        }
        Err(ResumeError::other_share(
            "the share of the data",
            format_args!("rank {rank} of {workers} workers"),
            format_args!("rank {} of {}", demand.rank, demand.workers),
        ))
    }

    /// Whether the position is one of a local timeline, so that it says where a window begins.
    pub(super) fn is_local(&self) -> bool {
        let order = self.fingerprint.as_ref().map(|f| &f.order);
        order.map_or(self.cursor.window != WindowStart::default(), |order| order.is_local())
    }
}

/// The order with a number in binary states and these parameters.
fn order_of_numbers(code: u8, seed: u64, window: u64) -> Result<OrderSpec, ResumeError> {
    order::by_code(code, seed, window)
        .ok_or_else(|| ResumeError::unreadable("the number of the order", code, "0 to 6"))
}

/// Refuses a state of a version that this release cannot know.
fn later_version(version: u64) -> ResumeError {
    ResumeError::other_version(
        "the version of the state",
        version,
        format_args!("{STATE_VERSION} or an earlier one"),
    )
}

/// Whether an order is still the one that a state of this version was saved in.
fn check_order_version(order: &OrderSpec, version: u64) -> Result<(), ResumeError> {
    if version == u64::from(order.version()) {
        return Ok(());
    }
    Err(ResumeError::other_version(
        format_args!("the version of the order `{}`", order.name()),
        version,
        order.version(),
    ))
}

fn layer(positions: Vec<u64>) -> Result<Layer, ResumeError> {
    if positions.is_empty() {
        Err(ResumeError::unreadable("`consumed`", "a list of 0 ranks", "1 or more"))
    } else {
        Ok(Layer { positions })
    }
}

fn same<T: PartialEq + ToString>(what: &str, state: T, source: T) -> Result<(), ResumeError> {
    if state == source { Ok(()) } else { Err(ResumeError::new(what, state, source)) }
}
