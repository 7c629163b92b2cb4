//! States as bytes and as JSON, and what they are compared with.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use tesson_core::sections;

use super::*;
use crate::Share;
use crate::{
    Consumed, Cursor, Fingerprint, Layer, PendingSequence, ResumeState, SlotState, SlotsState, Steps,
    WindowStart, index_shape, resume::checksum,
};

/// A state at the start that belongs to some source.
pub(super) fn full() -> ResumeState {
    let fingerprint = Fingerprint {
        corpus: 0xabc,
        index: Some(0xdef),
        order: chunk_window(4, 7),
        cross_sweep_ends: true,
        options: 0x123,
    };
    ResumeState { fingerprint: Some(Arc::new(fingerprint)), ..ResumeState::default() }
}

fn any_rows() -> impl Strategy<Value = Option<Vec<SlotState>>> {
    let number = || 0..1u64 << 63;
    let waiting = (number(), any::<bool>(), number(), any::<Option<u32>>())
        .prop_map(|(sequence, sweep_end, sweep, keep)| PendingSequence { sequence, sweep_end, sweep, keep });
    let row = (any::<u32>(), prop::collection::vec(waiting, 0..3));
    let row = row.prop_map(|(cursor, waiting)| SlotState { cursor, waiting });
    prop::option::of(prop::collection::vec(row, 0..4))
}

fn any_state() -> impl Strategy<Value = ResumeState> {
    let numbers = any::<[u64; 4]>();
    let consumed = prop::collection::vec(prop::collection::vec(any::<u64>(), 1..5), 1..3);
    let order = (any_order(), any::<bool>())
        .prop_map(|(order, local)| if local { order.on_local_timeline() } else { order });
    let rest = (order, any::<bool>(), any::<[u64; 2]>(), prop::option::of(any::<u64>()), any_rows());
    (numbers, prop::option::of(any::<(u64, u64)>()), prop::option::of(consumed), rest).prop_map(
        |(
            [position, sweep, sequence, faults],
            share,
            consumed,
            (order, cross_sweep_ends, hashes, index, rows),
        )| {
            let [corpus, options] = hashes;
            let window = match order {
                OrderSpec::Tumbling(_) => WindowStart { place: corpus, sweep: options },
                OrderSpec::LocalPlain => WindowStart { place: corpus, sweep: 0 },
                _ => WindowStart::default(),
            };
            let rows = rows.map(|rows| Arc::new(SlotsState { slots: rows }));
            let layers =
                |layers: Vec<Vec<u64>>| layers.into_iter().map(|positions| Layer { positions }).collect();
            ResumeState {
                cursor: Cursor { position, sweep, sequence, window, steps: Steps::default() },
                share: share.map(|(workers, rank)| Share { workers, rank }),
                faults,
                rows,
                consumed: consumed.map(|c| Arc::new(Consumed { layers: layers(c) })),
                fingerprint: Some(Arc::new(Fingerprint { corpus, index, order, cross_sweep_ends, options })),
            }
        },
    )
}

proptest! {
    #[test]
    fn states_come_back_from_bytes_and_json(state in any_state()) {
        let bytes = state.to_bytes();
        prop_assert!(state.consumed.is_some() || state.rows.is_some() || bytes.len() <= 128);
        prop_assert_eq!(&ResumeState::from_bytes(&bytes).unwrap(), &state);
        let text = state.to_json().to_string();
        prop_assert_eq!(&ResumeState::from_json(&serde_json::from_str(&text).unwrap()).unwrap(), &state);
    }

    #[test]
    fn a_damaged_byte_is_noticed(state in any_state(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut bytes = state.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(ResumeState::from_bytes(&bytes).is_err());
    }

    #[test]
    fn a_cut_off_state_is_refused(state in any_state(), at in any::<prop::sample::Index>()) {
        let bytes = state.to_bytes();
        prop_assert!(ResumeState::from_bytes(&bytes[..at.index(bytes.len())]).is_err());
    }
}

#[test]
fn the_references_state_is_a_bare_position() {
    let state =
        ResumeState::from_json(&json!({"minibatchSourcePosition": 17, "somethingElse": [1]})).unwrap();
    assert_eq!(state, ResumeState::bare(17));
    assert_eq!(state.to_json(), json!({"minibatchSourcePosition": 17}));
    assert_eq!(ResumeState::from_bytes(&state.to_bytes()).unwrap(), state);
}

fn check_json_refused(json: serde_json::Value, code: &str, expected: &str) {
    let found = ResumeState::from_json(&json).unwrap_err();
    assert_eq!((found.code(), found.to_string().as_str()), (code, expected));
}

#[test]
fn a_field_that_is_missing_or_no_number_is_named() {
    let check = |json, name, found| {
        let expected = format!(
            "this is not a valid state: `{name}` is {found}, expected a number from 0 to 2^64 - 1; restore the state exactly as \
             it was saved"
        );
        check_json_refused(json, "resume.unreadable", &expected);
    };
    let position = "minibatchSourcePosition";
    check(json!({}), position, "missing");
    check(json!({position: -1}), position, "-1");
    check(json!({position: "5"}), position, "\"5\"");
    let mut json = full().to_json();
    json.as_object_mut().unwrap().remove("sweep");
    check(json, "sweep", "missing");
}

/// Bytes with a new checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// A state as a later release would write it: with another section.
fn with_section(tag: u8) -> Vec<u8> {
    let mut bytes = full().to_bytes();
    bytes.truncate(bytes.len() - 8);
    sections::put(tag, b"what a later release has to say", &mut bytes);
    sealed(bytes)
}

#[test]
fn a_section_of_a_later_release_is_refused_unless_it_is_optional() {
    assert_eq!(ResumeState::from_bytes(&with_section(0x80)), Ok(full()));
    let error = ResumeState::from_bytes(&with_section(8)).unwrap_err();
    let found = (error.what.as_str(), error.state.as_str(), error.source.as_str());
    assert_eq!(found, ("a section of the state", "number 8, of a later release", "1 to 7"));
    let mut json = full().to_json();
    json["pace"] = 3.into();
    assert_eq!(ResumeState::from_json(&json), Ok(full()));
    json["requires"] = json!(["rows", "pace"]);
    let expected = "the state is of another release: a field that the state requires is `pace`, of a later release, expected \
                    one of consumed, equalSteps, rows; resume with the release that saved it, or start a new run";
    check_json_refused(json, "resume.other-version", expected);
}

#[test]
fn a_state_of_a_later_version_is_refused_with_both_versions() {
    let mut bytes = full().to_bytes();
    bytes[4] = 99;
    let error = ResumeState::from_bytes(&bytes).unwrap_err();
    let found = (error.what.as_str(), error.state.as_str(), error.source.as_str());
    assert_eq!(found, ("the version of the state", "99", "3 or an earlier one"));
    let mut json = full().to_json();
    json["stateVersion"] = 99.into();
    let expected = "the state is of another release: the version of the state is 99, expected 3 or an earlier one; resume with \
                    the release that saved it, or start a new run";
    check_json_refused(json, "resume.other-version", expected);
}

/// The refusal of a state that was saved with another version of its order.
fn other_order(order: &str, state: u64, source: u64) -> String {
    format!(
        "the state is of another release: the version of the order `{order}` is {state}, expected {source}; resume with the \
         release that saved it, or start a new run"
    )
}

#[test]
fn states_of_an_impossible_version_and_of_another_version_of_the_order_are_refused() {
    let mut json = full().to_json();
    json["stateVersion"] = 0.into();
    let expected = "this is not a valid state: the version of the state is 0, expected 1 to 3; restore the state exactly as it \
                    was saved";
    check_json_refused(json, "resume.unreadable", expected);
    let mut json = full().to_json();
    json["orderVersion"] = 9.into();
    check_json_refused(json, "resume.other-version", &other_order("chunk_window", 9, 1));
    let mut bytes = full().to_bytes();
    bytes[4] = 0;
    let found = ResumeState::from_bytes(&bytes).unwrap_err();
    assert_eq!((found.state.as_str(), found.source.as_str()), ("0", "1 to 3"));
}

/// A full state without a share as version 1 wrote it, in version 1 of its order, with these flags.
fn version_1(state: &ResumeState, flags: u8) -> Vec<u8> {
    let Fingerprint { corpus, index, order, options, .. } = **state.fingerprint.as_ref().unwrap();
    let Cursor { position, sweep, sequence, .. } = state.cursor;
    let mut bytes = [&b"TSNR"[..], &[1, 1, flags, order.code()]].concat();
    let window = order.window().map_or(0, |window| window.size());
    let hashes = [corpus, index.unwrap(), options];
    let numbers = [position, sweep, sequence, state.faults, 0, 0].into_iter().chain(hashes);
    let numbers = numbers.chain([order.seed().unwrap_or(0), window]);
    numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
    sealed(bytes)
}

/// Version 1 of `global` had few sequences in some orders more often than in others. Other orders are still what they were.
#[test]
fn states_of_an_order_that_has_changed_are_refused_and_those_of_others_read() {
    let in_order = |order| {
        let fingerprint = Fingerprint { order, ..(**full().fingerprint.as_ref().unwrap()).clone() };
        ResumeState { fingerprint: Some(Arc::new(fingerprint)), ..full() }
    };
    let of_version_1 = |order| {
        let state = in_order(order);
        let mut json = state.to_json();
        json["orderVersion"] = 1.into();
        json["stateVersion"] = 1.into();
        (json, version_1(&state, 0x0e))
    };
    for order in [OrderSpec::AsStored, OrderSpec::LocalPlain, chunk_window(1, 0)] {
        let (json, bytes) = of_version_1(order);
        assert_eq!(ResumeState::from_json(&json).unwrap(), in_order(order));
        assert_eq!(ResumeState::from_bytes(&bytes).unwrap(), in_order(order));
    }
    let (json, bytes) = of_version_1(OrderSpec::Global(Global { seed: 3 }));
    let expected = other_order("global", 1, 2);
    check_json_refused(json, "resume.other-version", &expected);
    assert_eq!(ResumeState::from_bytes(&bytes).unwrap_err().to_string(), expected);
}

fn check_mismatch(change: impl FnOnce(&mut Fingerprint), expected: Option<(&str, &str, &str)>) {
    let state = full();
    let mut source = (**state.fingerprint.as_ref().unwrap()).clone();
    change(&mut source);
    let found = state.check(&source).err();
    assert_eq!(found.as_ref().map(|e| (e.what.as_str(), e.state.as_str(), e.source.as_str())), expected);
}

#[test]
fn what_differs_is_named_with_both_values() {
    let zeros = "0000000000000";
    check_mismatch(|_| {}, None);
    check_mismatch(|f| f.index = None, None);
    check_mismatch(|f| f.order = chunk_window(4, 8), Some(("the randomization seed", "7", "8")));
    check_mismatch(
        |f| f.order = chunk_window(5, 7),
        Some(("the randomization window", "4 chunks", "5 chunks")),
    );
    check_mismatch(
        |f| f.order = OrderSpec::ChunkWindow(ChunkWindow { window: Window::Samples(4), seed: 7 }),
        Some(("the randomization window", "4 chunks", "4 samples")),
    );
    check_mismatch(|f| f.order = OrderSpec::AsStored, Some(("the order", "chunk_window", "as_stored")));
    check_mismatch(
        |f| f.cross_sweep_ends = false,
        Some(("whether minibatches cross sweep ends", "true", "false")),
    );
    let hashes = (format!("{zeros}abc"), format!("{zeros}001"));
    check_mismatch(
        |f| f.corpus = 1,
        Some(("the data (a hash of sizes and ends of the files)", &hashes.0, &hashes.1)),
    );
    let hashes = (format!("{zeros}def"), format!("{zeros}002"));
    check_mismatch(
        |f| f.index = Some(2),
        Some(("the index (a hash of chunks and lengths)", &hashes.0, &hashes.1)),
    );
    let hashes = (format!("{zeros}123"), format!("{zeros}003"));
    check_mismatch(
        |f| f.options = 3,
        Some(("the options (a hash of those that change order or values)", &hashes.0, &hashes.1)),
    );
}

#[test]
fn a_ranks_state_goes_on_as_that_rank_only() {
    let state = ResumeState { share: Some(Share { workers: 4, rank: 1 }), ..full() };
    assert!(state.check_share(demand(10, 4, 1)).is_ok());
    let error = state.check_share(demand(10, 2, 1)).unwrap_err();
    let expected = "the state does not belong to this worker: the share of the data is rank 1 of 4 workers in the state and \
                    rank 1 of 2 here; to change the workers, combine the states of all ranks with `merge_states`";
    assert_eq!((error.code(), error.to_string().as_str()), ("resume.other-share", expected));
    assert!(full().check_share(demand(10, 2, 1)).is_ok());
    assert!(ResumeState::bare(4).check_share(demand(10, 2, 1)).is_ok());
}

/// Version 1 knew neither the sweeps of waiting sequences nor data that end inside one.
#[test]
fn rows_of_version_1_are_read() {
    let pending = |sequence, sweep_end| PendingSequence { sequence, sweep_end, sweep: 0, keep: None };
    let rows = vec![
        SlotState { cursor: 2, waiting: vec![pending(9, false), pending(4, true)] },
        SlotState { cursor: 0, waiting: vec![] },
    ];
    let expected = ResumeState { rows: Some(Arc::new(SlotsState { slots: rows })), ..full() };
    let mut json = full().to_json();
    json["stateVersion"] = 1.into();
    json["rows"] = json!([[2, [[9, false], [4, true]]], [0, []]]);
    assert_eq!(ResumeState::from_json(&json).unwrap(), expected);
    json["stateVersion"] = 2.into();
    let found = ResumeState::from_json(&json).unwrap_err().source;
    assert_eq!(found, "a list of rows, [cursor, [[sequence, sweep end, sweep], …]] each");
    let mut bytes = version_1(&full(), 0x0e | 32);
    bytes.truncate(bytes.len() - 8);
    [2u64, 2, 2, 18, 9, 0, 0].into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    let bytes = sealed(bytes);
    assert_eq!(ResumeState::from_bytes(&bytes).unwrap(), expected);
}

#[test]
fn the_shape_of_an_index_depends_on_chunks_and_lengths_only() {
    let shape = |chunks: &[Vec<u32>]| index_shape(&index_of(chunks));
    let ours = shape(&[vec![1, 2], vec![5, 5]]);
    let mut other = Index::new();
    other.push(CompactLengths::Words(vec![1, 2].into()), 77);
    other.push(CompactLengths::Halves(vec![5, 5].into()), 3);
    other.seal();
    assert_eq!(index_shape(&other), ours);
    for different in
        [vec![vec![1, 2, 5, 5]], vec![vec![2, 1], vec![5, 5]], vec![vec![1, 2], vec![5, 5], vec![5]]]
    {
        assert_ne!(shape(&different), ours);
    }
}
