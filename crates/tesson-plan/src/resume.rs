//! States: a few integers to resume from, and a fingerprint of what they belong to.
//!
//! Advice for the next editor: `tests/golden` has states of every version as they were written, and each is read for
//! ever or refused by its version. A new field is a new section (`binary.rs`) and a new name (`json.rs`), required or
//! optional; the old forms do not change (decision 27). A change of what an order delivers is a new version of that
//! order alone.

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

use crate::{Consumed, Cursor, Demand, Layer, OrderSpec, Share, SlotsState, WindowStart, order};

/// The version of the forms of a state. Earlier versions are read.
pub const STATE_VERSION: u8 = 3;

/// The version that recorded only the number of a pending sequence, not its sweep.
const WITHOUT_SWEEPS: u8 = 1;

/// The first version that consists of tagged sections.
const SECTIONS_SINCE: u8 = 3;

/// A position to resume from, and the fingerprint of what it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeState {
    /// The position.
    pub cursor: Cursor,
    /// Under sharing by chunk the owner of the position: the number of workers, and the rank.
    pub share: Option<Share>,
    /// Faults charged so far.
    pub faults: u64,
    /// In truncated reading: the sequences pending in the rows.
    pub rows: Option<Arc<SlotsState>>,
    /// In merged states: the sequences consumed beyond the position.
    pub consumed: Option<Arc<Consumed>>,
    /// The corpus, order and options to which the state belongs; `None` for a bare position, as the reference saves
    /// it.
    pub fingerprint: Option<Arc<Fingerprint>>,
}

impl ResumeState {
    /// A position and nothing else, as the reference saves it.
    pub fn bare(position: u64) -> ResumeState {
        ResumeState { cursor: Cursor { position, ..Cursor::default() }, ..ResumeState::default() }
    }

    /// The sweep of the next sequence to be delivered: of truncated reading the earliest one that is pending.
    pub fn sweep(&self) -> u64 {
        let pending = self.rows.iter().flat_map(|rows| rows.pending()).map(|pending| pending.sweep);
        pending.min().unwrap_or(self.cursor.sweep)
    }

    /// True if the state is a position and nothing else.
    pub fn is_bare(&self) -> bool {
        self.fingerprint.is_none()
    }

    /// Checks that the state belongs to a source. Bare positions belong to any.
    ///
    /// # Errors
    /// The errors of [`Fingerprint::check`].
    pub fn check(&self, source: &Fingerprint) -> Result<(), ResumeError> {
        self.fingerprint.as_ref().map_or(Ok(()), |fingerprint| fingerprint.check(source))
    }

    /// Checks that a demand may resume from here. A rank's state says nothing about the shares of the others, so it
    /// is valid only for the same rank of the same number of workers.
    ///
    /// # Errors
    /// [`ResumeError`] with both shares, and how to resume with other workers.
    pub fn check_share(&self, demand: Demand) -> Result<(), ResumeError> {
        let Some(share) = self.share.filter(|_| !self.is_bare()) else { return Ok(()) };
        if share == demand.share() {
            return Ok(());
        }
        Err(ResumeError::other_share(
            "the share of the data",
            format_args!("rank {} of {} workers", share.rank, share.workers),
            format_args!("rank {} of {}", demand.rank, demand.workers),
        ))
    }

    /// True if the position is one of a local timeline and includes the start of a window.
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

/// The refusal of a state from a later version.
fn later_version(version: u64) -> ResumeError {
    ResumeError::other_version(
        "the version of the state",
        version,
        format_args!("{STATE_VERSION} or an earlier one"),
    )
}

/// Checks that an order still has the version with which a state was saved.
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
