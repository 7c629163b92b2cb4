//! Where a source stands: what it has handed out, what it was asked for, and whether it ended or failed there.

use std::sync::Arc;

use tesson_core::{Error, ResumeError};
use tesson_plan::{Cursor, Demand, Fingerprint, ResumeState, Share, Sharing, SlotsState, Steps};

/// The position of a source.
///
/// The state is the one after the last minibatch handed out, whatever has been read ahead. It moves when a minibatch is handed
/// out, when it is put back, and when a state is restored; a call that fails leaves it where it is.
pub(super) struct Position {
    /// The identity of its states.
    fingerprint: Arc<Fingerprint>,
    sharing: Sharing,
    /// The state after the last minibatch handed out.
    state: ResumeState,
    /// The state before it, until the source moves elsewhere.
    before: Option<ResumeState>,
    /// The state that was restored, if nothing has been read since: the workers must be those it was saved for.
    restored: Option<Box<ResumeState>>,
    /// The demand of the last call, if the pipeline works on it.
    demand: Option<Demand>,
    /// The demand of an interrupted call whose minibatch may have drawn its random numbers already.
    interrupted: Option<Demand>,
    ended: bool,
    failed: Option<Error>,
}

impl Position {
    /// Nowhere yet.
    pub(super) fn new(fingerprint: Fingerprint, sharing: Sharing) -> Position {
        Position {
            fingerprint: Arc::new(fingerprint),
            sharing,
            state: ResumeState::default(),
            before: None,
            restored: None,
            demand: None,
            interrupted: None,
            ended: false,
            failed: None,
        }
    }

    /// The state after the last minibatch handed out.
    pub(super) fn state(&self) -> &ResumeState {
        &self.state
    }

    /// Where the plan stands there.
    pub(super) fn cursor(&self) -> Cursor {
        self.state.cursor
    }

    /// Faults charged until there.
    pub(super) fn faults(&self) -> u64 {
        self.state.faults
    }

    /// The demand of the last call, if the pipeline works on it.
    pub(super) fn demand(&self) -> Option<Demand> {
        self.demand
    }

    /// The state that the next minibatch follows.
    pub(super) fn begins_at(&self) -> &ResumeState {
        self.restored.as_deref().unwrap_or(&self.state)
    }

    /// True if nothing has been asked for yet.
    pub(super) fn is_untouched(&self) -> bool {
        self.demand.is_none() && self.cursor() == Cursor::default() && !self.ended && self.failed.is_none()
    }

    /// True if there may be another minibatch.
    ///
    /// # Errors
    /// The error that has [failed](Position::fail) the position, again.
    pub(super) fn may_continue(&self) -> Result<bool, Error> {
        match &self.failed {
            Some(e) => Err(e.clone()),
            None => Ok(!self.ended),
        }
    }

    /// Remembers an error, which every call repeats from now on.
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.failed.insert(error).clone()
    }

    /// Forgets what has failed.
    pub(super) fn forget_failure(&mut self) {
        self.failed = None;
    }

    /// The data end here.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// True if a call for a different demand was interrupted.
    pub(super) fn was_interrupted_otherwise(&self, demand: Demand) -> bool {
        self.interrupted.is_some_and(|other| other != demand)
    }

    /// Notes what an interrupted call asked for, or that the last call was none.
    pub(super) fn note_interruption(&mut self, demand: Option<Demand>) {
        self.interrupted = demand;
    }

    /// Goes back before the minibatch after which `after` is the state. Returns whether that was possible.
    pub(super) fn put_back(&mut self, after: &ResumeState) -> bool {
        if self.state != *after {
            return false;
        }
        let Some(before) = self.before.take() else { return false };
        (self.state, self.ended, self.demand) = (before, false, None);
        true
    }

    /// The pipeline works on nothing, until it is [aimed](Position::aim) again.
    pub(super) fn lose_aim(&mut self) {
        self.demand = None;
    }

    /// Makes sure that these workers may read on from a state that was restored.
    ///
    /// # Errors
    /// A state that was saved for others.
    pub(super) fn check_share(&self, demand: Demand) -> Result<(), ResumeError> {
        self.restored.as_ref().map_or(Ok(()), |state| state.check_share(demand))
    }

    /// The pipeline works on a demand, from a cursor on.
    pub(super) fn aim(&mut self, demand: Demand, cursor: Cursor) {
        self.demand = Some(demand);
        self.restored = None;
        self.state.cursor = cursor;
    }

    /// Stands at a cursor, with nothing in between: at the beginning of the data, or at the end of a rank that has none.
    pub(super) fn stand_at(&mut self, cursor: Cursor) {
        self.state = self.state_at(cursor, self.state.faults);
    }

    /// Stands where a state says, and `cursor` in the plan.
    pub(super) fn restore(&mut self, state: &ResumeState, cursor: Cursor) {
        self.failed = None;
        self.before = None;
        self.ended = false;
        self.restored = Some(Box::new(state.clone()));
        self.state = ResumeState {
            consumed: state.consumed.clone(),
            share: state.share,
            ..self.state_at(cursor, state.faults)
        };
    }

    /// Takes over what a restored state says of the slots of truncated reading, and of steps if they are counted.
    pub(super) fn restore_slots(&mut self, state: &ResumeState, counts_steps: bool) {
        if counts_steps {
            self.state.cursor.steps = state.cursor.steps;
        }
        self.state.rows = state.rows.clone();
    }

    /// The plan stands somewhere else, where nothing has been handed out in between.
    pub(super) fn move_to(&mut self, cursor: Cursor) {
        self.state.cursor = cursor;
    }

    /// These steps are running.
    pub(super) fn set_steps(&mut self, steps: Steps) {
        self.state.cursor.steps = steps;
    }

    /// Moves to where a minibatch that is handed out ends.
    pub(super) fn advance(&mut self, after: Cursor, faults: u64) {
        self.before = Some(self.state.clone());
        let share = self.share();
        let state = &mut self.state;
        state.consumed = state.consumed.take().filter(|c| c.is_ahead_of(after));
        (state.cursor, state.share, state.faults, state.rows) = (after, share, faults, None);
        state.fingerprint.get_or_insert_with(|| self.fingerprint.clone());
    }

    /// The slots that wait after the minibatch that was handed out.
    pub(super) fn set_slots(&mut self, slots: SlotsState) {
        self.state.rows = Some(Arc::new(slots));
    }

    /// So many faults have been charged, without a minibatch.
    pub(super) fn set_faults(&mut self, faults: u64) {
        self.state.faults = faults;
    }

    /// The identity of its states.
    pub(super) fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// States belong to an index of this shape from now on.
    pub(super) fn set_index_shape(&mut self, shape: u64) {
        Arc::make_mut(&mut self.fingerprint).index = Some(shape);
    }

    /// The state at a cursor.
    pub(super) fn state_at(&self, cursor: Cursor, faults: u64) -> ResumeState {
        let fingerprint = Some(self.fingerprint.clone());
        ResumeState { cursor, share: self.share(), faults, fingerprint, ..ResumeState::default() }
    }

    /// The share that a state is saved for, if others may not take it.
    fn share(&self) -> Option<Share> {
        match (self.sharing, self.demand) {
            (Sharing::Chunk, Some(demand)) if demand.workers > 1 => Some(demand.share()),
            // What a single worker has passed is passed for all: any number of workers may resume from there.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::UsageError;
    use tesson_plan::OrderSpec;

    use super::*;

    fn position(sharing: Sharing) -> Position {
        let fingerprint = Fingerprint {
            corpus: 1,
            index: None,
            order: OrderSpec::AsStored,
            cross_sweep_ends: true,
            options: 2,
        };
        let mut position = Position::new(fingerprint, sharing);
        position.stand_at(Cursor::default());
        position
    }

    fn cursor(position: u64) -> Cursor {
        Cursor { position, ..Cursor::default() }
    }

    const DEMAND: Demand = Demand { samples: 8, workers: 2, rank: 1 };

    #[test]
    fn a_minibatch_is_put_back_once_and_only_the_last_one() {
        let mut position = position(Sharing::Position);
        position.aim(DEMAND, Cursor::default());
        position.advance(cursor(8), 1);
        let first = position.state().clone();
        position.advance(cursor(16), 1);
        position.end();
        let second = position.state().clone();
        assert!(!position.put_back(&first));
        assert!(position.put_back(&second) && *position.state() == first);
        assert_eq!((position.may_continue().expect("nothing failed"), position.demand()), (true, None));
        assert!(!position.put_back(&first), "what was before it is not known any more");
    }

    #[test]
    fn a_failure_is_repeated_until_it_is_forgotten_or_a_state_is_restored() {
        let mut position = position(Sharing::Position);
        let error = position.fail(UsageError::new("as planned".into()).into());
        assert_eq!(position.may_continue().expect_err("it failed").to_string(), error.to_string());
        position.forget_failure();
        assert!(position.may_continue().is_ok());
        position.fail(error);
        position.restore(&ResumeState::default(), cursor(3));
        assert!(position.may_continue().is_ok() && position.cursor() == cursor(3));
    }

    #[test]
    fn a_restored_state_counts_until_something_is_read() {
        let mut position = position(Sharing::Chunk);
        let state =
            ResumeState { share: Some(Share { workers: 2, rank: 0 }), ..position.state_at(cursor(5), 0) };
        position.restore(&state, cursor(4));
        assert_eq!(*position.begins_at(), state);
        // It belongs to the other rank.
        assert!(position.check_share(DEMAND).is_err());
        position.aim(Demand { rank: 0, ..DEMAND }, cursor(5));
        assert_eq!(position.begins_at(), position.state());
        assert!(position.check_share(DEMAND).is_ok());
    }

    #[test]
    fn a_share_of_chunks_is_part_of_its_states() {
        for (sharing, share) in
            [(Sharing::Chunk, Some(Share { workers: 2, rank: 1 })), (Sharing::Position, None)]
        {
            let mut position = position(sharing);
            position.aim(DEMAND, Cursor::default());
            position.advance(cursor(8), 0);
            assert_eq!(position.state().share, share);
        }
    }

    #[test]
    fn one_pass_is_possible_until_something_has_been_asked_for() {
        let mut position = position(Sharing::Position);
        assert!(position.is_untouched());
        position.aim(DEMAND, Cursor::default());
        assert!(!position.is_untouched());
        position.lose_aim();
        position.end();
        assert!(!position.is_untouched());
    }
}
