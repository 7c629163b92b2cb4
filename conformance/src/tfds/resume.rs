//! Every order of a case, interrupted and resumed (spec/tfds.md §12.6): at positions of all kinds, and by other numbers
//! of workers.

use tesson::Demand;
use tesson_plan::{Stream, StreamState};

use super::rust_api::{dataset, plan};
use super::{Case, Query};

/// The number of examples that are compared after a position.
const AHEAD: usize = 3000;

/// Examples of the minibatches that workers share.
const MINIBATCH: u64 = 7;

/// True if a case has an order that can be resumed.
pub fn has_order(case: &Case) -> bool {
    matches!(case.query, Query::Ids | Query::TfdsIds) && stream(case).is_ok()
}

/// A fresh stream of the case, as another process would make it.
fn stream(case: &Case) -> Result<Stream, String> {
    plan(case, &dataset(case)?)?.stream().map_err(|e| e.to_string())
}

/// The next records, and the error at their end.
pub(super) fn ahead(stream: &mut Stream, n: usize) -> (Vec<u64>, Option<String>) {
    let mut records = Vec::new();
    let failed = stream.fill(n, &mut records).err();
    (records, failed.map(|e| e.to_string()))
}

/// Places to stop at: around blocks, at the ends, and some in between.
fn places(case: &Case, len: u64) -> Vec<u64> {
    let config = case.fields.get("read_config");
    let given = config.and_then(|c| c.get("interleave_block_length")).and_then(|n| n.as_u64());
    let block = given.unwrap_or(16);
    let some = (1..8).map(|i| i * 2_654_435_761 % len.max(1));
    let ends = [0, 1, block - 1, block, block + 1, len.saturating_sub(1), len];
    let mut places: Vec<u64> = ends.into_iter().chain(some).filter(|place| *place <= len).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Resumes from positions in every traversal.
///
/// # Errors
/// The first position after which something else is delivered.
pub fn check_places(case: &Case) -> Result<(), String> {
    let mut straight = stream(case)?;
    for epoch in 0..case.epochs() {
        if epoch > 0 {
            straight.begin();
        }
        let len = straight.len().unwrap_or(1000);
        for place in places(case, len) {
            let from = straight.delivered();
            // After a wrong count there is nothing left to resume.
            let _ = straight.skip(place - from);
            let at = straight.delivered();
            let mut other = resumed(case, &straight)?;
            same(&mut straight.clone(), &mut other)
                .map_err(|e| format!("epoch {epoch}, behind {at}: {e}"))?;
            // The next traversal shows which passes the rest of this one begins.
            let mut next = straight.clone();
            let _ = next.skip(len);
            let _ = next.next();
            let mut other = resumed(case, &next)?;
            next.begin();
            other.begin();
            same(&mut next, &mut other).map_err(|e| format!("epoch {}: {e}", epoch + 1))?;
        }
        let _ = straight.skip(u64::MAX);
    }
    Ok(())
}

/// The stream of a process that resumes from nothing but the state.
fn resumed(case: &Case, stream: &Stream) -> Result<Stream, String> {
    let state = StreamState::from_json(&stream.state().to_json()).map_err(|e| e.to_string())?;
    let mut other = self::stream(case)?;
    other.restore(&state).map_err(|e| e.to_string())?;
    Ok(other)
}

fn same(straight: &mut Stream, resumed: &mut Stream) -> Result<(), String> {
    let (expected, found) = (ahead(straight, AHEAD), ahead(resumed, AHEAD));
    if expected == found && straight.state() == resumed.state() {
        return Ok(());
    }
    let at = expected.0.iter().zip(&found.0).position(|(a, b)| a != b);
    Err(format!("{at:?} of {} and {}; {:?} and {:?}", expected.0.len(), found.0.len(), expected.1, found.1))
}

/// One worker, then three, then two: the same examples in all.
///
/// # Errors
/// The first minibatch that holds something else.
pub fn check_workers(case: &Case) -> Result<(), String> {
    let (mut straight, mut state) = (stream(case)?, stream(case)?.state());
    for workers in [1u64, 3, 2] {
        let mut ranks: Vec<Stream> = Vec::new();
        for _ in 0..workers {
            let mut rank = stream(case)?;
            rank.restore(&state).map_err(|e| e.to_string())?;
            ranks.push(rank);
        }
        for minibatch in 0..3 {
            let expected = ahead(&mut straight, MINIBATCH as usize);
            let mut found = vec![0; expected.0.len()];
            for (rank, stream) in ranks.iter_mut().enumerate() {
                let mut share = Vec::new();
                let demand = Demand { samples: MINIBATCH, workers, rank: rank as u64 };
                let failed = stream.fill_share(demand, &mut share).err().map(|e| e.to_string());
                let places = found.iter_mut().skip(rank).step_by(workers as usize);
                if failed != expected.1 || places.len() != share.len() {
                    return Err(format!(
                        "rank {rank} of {workers}, minibatch {minibatch}: {share:?}, {failed:?}"
                    ));
                }
                places.zip(share).for_each(|(place, record)| *place = record);
            }
            if found != expected.0 {
                return Err(format!(
                    "{workers} workers, minibatch {minibatch}: {:?}, found {found:?}",
                    expected.0
                ));
            }
        }
        state = ranks[0].state();
        if ranks.iter().any(|rank| rank.state() != state) || state != straight.state() {
            return Err(format!("{workers} workers do not stand at one place"));
        }
    }
    Ok(())
}
