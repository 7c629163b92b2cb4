//! Merging the states of all ranks into one that says what all of them together have consumed.
//!
//! Under [`Sharing::Chunk`](crate::Sharing::Chunk) each rank has its own position, so between the slowest and the
//! fastest rank some sequences have been delivered and others not. Which ones follows from the rank that owned each:
//! a sequence has been consumed if its owner's position is past it.
//!
//! Advice for the next editor: a bitmap of consumed sequences was rejected, so that a state stays a few integers
//! (decision 2). The home of a sequence must stay what it was when the states were saved: a layer is read with the
//! number of workers of that time, by `home mod workers`.

use std::sync::Arc;

use tesson_core::ResumeError;

use crate::{Cursor, ResumeState, Share, Steps};

/// The sequences that one set of workers has consumed: of each rank's share, all that start before its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Position of each rank, in samples since the start; there are as many ranks as positions.
    pub positions: Vec<u64>,
}

impl Layer {
    #[inline]
    fn holds(&self, position: u64, home: u64) -> bool {
        position < self.positions[(home % self.positions.len() as u64) as usize]
    }
}

/// The sequences beyond a merged state's position that have been consumed nevertheless.
///
/// One layer for each time that states were merged; a sequence has been consumed if any layer holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// The layers, oldest first.
    pub layers: Vec<Layer>,
}

impl Consumed {
    /// True if anything at or after this cursor has been consumed.
    pub fn is_ahead_of(&self, cursor: Cursor) -> bool {
        self.layers.iter().flat_map(|layer| &layer.positions).any(|&p| p > cursor.position)
    }

    /// True if the sequence at a position has been consumed; `home` is the number by which ranks share it.
    #[inline]
    pub(crate) fn holds(&self, position: u64, home: u64) -> bool {
        self.layers.iter().any(|layer| layer.holds(position, home))
    }
}

/// Combines the states of all ranks, in any order, under sharing by chunk. Any number of workers may resume from the
/// result, sharing by chunk or by position: consumed sequences are left out, all others are delivered.
///
/// Faults are added up, as a single worker would have charged them. Equal states that belong to no rank are valid for
/// any number of workers and returned unchanged: those of a single worker, of ranks that share by position, and of
/// the start of the data. Ranks that have read nothing yet still have such a state, that of where the run began, and
/// are merged with those that have read.
///
/// # Errors
/// [`ResumeError`] if the states are not those of all ranks of one run: a rank is missing or occurs twice, the
/// numbers of workers or the fingerprints differ, or states of no rank are not that of where the run began.
pub fn merge_states(states: &[ResumeState]) -> Result<ResumeState, ResumeError> {
    let first =
        states.first().ok_or_else(|| ResumeError::not_all_ranks("the number of states", 0, "at least 1"))?;
    if first.share.is_none() && first.fingerprint.is_some() && states.iter().all(|state| state == first) {
        return Ok(first.clone());
    }
    let mut by_rank: Vec<Option<&ResumeState>> = vec![None; states.len()];
    let mut unread = Vec::new();
    for state in states {
        let rank = rank_of(state, states.len())?;
        check_alike(state, first)?;
        let Some(rank) = rank else {
            unread.push(state);
            continue;
        };
        if by_rank[rank].replace(state).is_some() {
            return Err(ResumeError::not_all_ranks("a rank", format_args!("{rank}, twice"), "each once"));
        }
    }
    check_unread(&unread, &by_rank)?;
    // As many states as workers and no rank twice: all are there. Those of ranks that have read nothing are equal, so it does
    // not matter which is whose.
    let mut unread = unread.into_iter();
    let in_order: Vec<&ResumeState> =
        by_rank.into_iter().filter_map(|state| state.or_else(|| unread.next())).collect();
    let cursor = in_order.iter().map(|s| s.cursor).min_by_key(|c| c.position).unwrap_or_default();
    let faults = in_order.iter().map(|s| s.faults).fold(0, u64::saturating_add);
    let mut layers = inherited(&in_order);
    layers.push(Layer { positions: in_order.iter().map(|s| s.cursor.position).collect() });
    // Equal steps are counted again for the rest.
    let cursor = Cursor { steps: Steps::default(), ..cursor };
    let consumed = Consumed { layers };
    let consumed = consumed.is_ahead_of(cursor).then(|| Arc::new(consumed));
    let fingerprint = first.fingerprint.clone();
    Ok(ResumeState { cursor, faults, consumed, fingerprint, ..ResumeState::default() })
}

/// The layers that the states already have. A rank past an older layer has dropped it, so the state with the most
/// layers has all of them.
fn inherited(states: &[&ResumeState]) -> Vec<Layer> {
    let consumed = states.iter().filter_map(|s| s.consumed.as_deref());
    consumed.max_by_key(|c| c.layers.len()).map_or(Vec::new(), |c| c.layers.clone())
}

/// Makes sure that the states of no rank are those of ranks that have read nothing since the run began: all are the same, and
/// every other rank stands there or further on.
fn check_unread(unread: &[&ResumeState], by_rank: &[Option<&ResumeState>]) -> Result<(), ResumeError> {
    let Some((began, others)) = unread.split_first() else { return Ok(()) };
    let began_at = began.cursor.position;
    if let Some(other) = others.iter().find(|other| *other != began) {
        return Err(ResumeError::not_all_ranks(
            "the position of a state without a rank",
            other.cursor.position,
            format_args!("{began_at}, that of the others: where the run began"),
        ));
    }
    let slowest = by_rank.iter().flatten().map(|state| state.cursor.position).min();
    match slowest.filter(|&slowest| slowest < began_at) {
        None => Ok(()),
        Some(slowest) => Err(ResumeError::not_all_ranks(
            "the position of a state without a rank",
            began_at,
            format_args!("at most {slowest}, that of the slowest rank: where the run began"),
        )),
    }
}

/// The rank of a state; `None` for one that is of no rank, such as that of the start.
fn rank_of(state: &ResumeState, n_states: usize) -> Result<Option<usize>, ResumeError> {
    if state.fingerprint.is_none() {
        return Err(ResumeError::not_all_ranks("a state", "a bare position", "a full one"));
    }
    if state.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
        let what = "sequences that wait in the rows of one rank";
        return Err(ResumeError::not_all_ranks(
            what,
            "some",
            "none (truncated reading changes its workers under `sharing = \"position\"`)",
        ));
    }
    if state.fingerprint.as_ref().is_some_and(|f| f.order.is_local()) {
        return Err(ResumeError::not_all_ranks(
            "the position of a state",
            "on a timeline of the rank's own",
            "on one of all ranks together",
        ));
    }
    let Some(Share { workers, rank }) = state.share else { return Ok(None) };
    if workers != n_states as u64 {
        return Err(ResumeError::not_all_ranks(
            "the number of states",
            n_states,
            format_args!("{workers}, that of the workers"),
        ));
    }
    let known = usize::try_from(rank).ok().filter(|&r| r < n_states);
    known.map(Some).ok_or_else(|| {
        ResumeError::unreadable("`workerRank`", rank, format_args!("a number below {workers}"))
    })
}

fn check_alike(state: &ResumeState, first: &ResumeState) -> Result<(), ResumeError> {
    match (&state.fingerprint, &first.fingerprint) {
        (Some(one), Some(other)) => one.check(other)?,
        _ => return Err(ResumeError::not_all_ranks("a state", "a bare position", "a full one")),
    }
    match (state.consumed.as_deref(), first.consumed.as_deref()) {
        (Some(one), Some(other)) if one != other => Err(ResumeError::not_all_ranks(
            "what a state was merged from",
            "other states",
            "the same for all ranks",
        )),
        _ => Ok(()),
    }
}
