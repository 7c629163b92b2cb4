//! States of every version as they were written, in files: each is read for ever, or refused by its version.

use std::sync::Arc;

use super::*;
use crate::Share;
use crate::{
    Consumed, Cursor, Fingerprint, Layer, PendingSequence, ResumeState, STATE_VERSION, SlotState, SlotsState,
    Steps, WindowStart,
};

/// The state of a name: all that states of any version hold.
fn state(name: &str) -> ResumeState {
    let (seed, window) = (7, Window::Chunks(4));
    let order = match name {
        "as-stored" | "merged" => OrderSpec::AsStored,
        "sample-window" => OrderSpec::ChunkWindow(ChunkWindow { window: Window::Samples(40), seed }),
        "global" => OrderSpec::Global(Global { seed }),
        "local-plain" => OrderSpec::LocalPlain,
        "tumbling" => OrderSpec::Tumbling(Tumbling { window: Window::Chunks(3), seed }),
        "tumbling-samples" => OrderSpec::Tumbling(Tumbling { window: Window::Samples(50), seed }),
        _ => OrderSpec::ChunkWindow(ChunkWindow { window, seed }),
    };
    let grows = name == "as-stored";
    let index = (!grows).then_some(0xdef);
    let fingerprint = Fingerprint { corpus: 0xabc, index, order, cross_sweep_ends: !grows, options: 0x123 };
    let mut state = ResumeState {
        cursor: Cursor { position: 100, sweep: 2, sequence: 3, ..Cursor::default() },
        faults: 5,
        fingerprint: Some(Arc::new(fingerprint)),
        ..ResumeState::default()
    };
    match name {
        "bare" => return ResumeState::bare(17),
        "chunk-window" | "local-plain" => state.share = Some(Share { workers: 4, rank: 1 }),
        "merged" => {
            let layers = [vec![120, 90], vec![130, 100, 110]].map(|positions| Layer { positions }).to_vec();
            state.consumed = Some(Arc::new(Consumed { layers }));
        }
        "equal-steps" => {
            state.share = Some(Share { workers: 2, rank: 1 });
            state.cursor.steps = Steps {
                samples: 64,
                sequences: 8,
                workers: 2,
                given: 1,
                of: 5,
                sweep: 2,
                begin_position: 80,
                begin_sequence: 0,
                again_position: 80,
                again_sequence: 0,
                end_position: 160,
                end_sequence: 9,
                n_sequences: 9,
                data_end: true,
            };
        }
        "rows" => {
            let pending =
                |sequence, sweep_end, sweep, keep| PendingSequence { sequence, sweep_end, sweep, keep };
            let waiting = vec![pending(9, false, 1, None), pending(4, true, 2, Some(3))];
            let rows = vec![SlotState { cursor: 2, waiting }, SlotState::default()];
            state.rows = Some(Arc::new(SlotsState { slots: rows }));
        }
        "tumbling" | "tumbling-samples" => state.share = Some(Share { workers: 4, rank: 1 }),
        _ => {}
    }
    if order.is_local() {
        state.cursor.window = WindowStart { place: 6, sweep: if name == "local-plain" { 0 } else { 2 } };
    }
    state
}

/// The files of a state in one version: its name, the version, bytes and JSON.
macro_rules! files {
    ($($version:literal $name:literal,)*) => {
        [$((
            $version,
            $name,
            &include_bytes!(concat!("golden/v", $version, "-", $name, ".state"))[..],
            include_str!(concat!("golden/v", $version, "-", $name, ".json")),
        ),)*]
    };
}

#[test]
fn states_of_every_version_are_read_and_the_present_one_is_written() {
    let files = files![
        1 "bare",
        1 "as-stored",
        1 "chunk-window",
        1 "sample-window",
        1 "global",
        1 "local-plain",
        1 "tumbling",
        1 "tumbling-samples",
        1 "merged",
        1 "equal-steps",
        2 "rows",
        3 "bare",
        3 "as-stored",
        3 "chunk-window",
        3 "sample-window",
        3 "global",
        3 "local-plain",
        3 "tumbling",
        3 "tumbling-samples",
        3 "merged",
        3 "equal-steps",
        3 "rows",
    ];
    for (version, name, bytes, json) in files {
        let expected = state(name);
        assert_eq!(ResumeState::from_bytes(bytes), Ok(expected.clone()), "version {version}, {name}");
        let value = serde_json::from_str(json).unwrap();
        assert_eq!(ResumeState::from_json(&value), Ok(expected.clone()), "version {version}, {name}");
        if version == STATE_VERSION {
            assert_eq!(expected.to_bytes(), bytes, "{name}");
            assert_eq!(expected.to_json().to_string(), json.trim_end(), "{name}");
        }
    }
}
