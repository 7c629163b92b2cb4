//! Recordings: a list of WAV and FLAC files, from the bytes to minibatches.

use tesson::store::MemoryStore;
use tesson::{Error, Key, Source};
use tesson_audio::AudioFault;
use tesson_engine::Severity;

use crate::kit::{self, checked, keys, read_all, refusal, store_of, whole};

/// A WAV file of one channel and 16 bits, with so many samples in a second.
fn wav(rate: u32, samples: &[i16]) -> Vec<u8> {
    let data = 2 * samples.len() as u32;
    let mut file = [&b"RIFF"[..], &(36 + data).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
    [1u16, 1].iter().for_each(|x| file.extend(x.to_le_bytes()));
    [rate, 2 * rate].iter().for_each(|x| file.extend(x.to_le_bytes()));
    [2u16, 16].iter().for_each(|x| file.extend(x.to_le_bytes()));
    file.extend(b"data");
    file.extend(data.to_le_bytes());
    file.extend(samples.iter().flat_map(|x| x.to_le_bytes()));
    file
}

/// A tone, of a height and length of its own for each number.
fn tone(number: usize) -> Vec<u8> {
    let samples = (0..2000 + 150 * number).map(|i| ((i * (number + 3)) as f64 * 0.02).sin() * 20_000.0);
    wav(8000, &samples.map(|x| x as i16).collect::<Vec<_>>())
}

/// A store with `0.wav` to `19.wav`, and the list of them.
fn store() -> MemoryStore {
    let list: String = (0..20).map(|i| format!("u{i} {i}.wav\n")).collect();
    store_of((0..20).map(|i| (format!("{i}.wav"), tone(i)))).with("all.scp", list.into_bytes())
}

fn open(store: &MemoryStore, options: &str, reader: &str) -> Result<Source, Error> {
    let text = format!(
        r#"{{"deserializers": [{{"type": "AudioDeserializer", "file": "all.scp", {options}
            "input": {{"x": {{"sampleRate": 8000, "filters": 20}}}}}}], {reader}}}"#
    );
    kit::open(store, &text)
}

#[test]
fn recordings_are_sequences_of_frames_that_are_whole() {
    let mut source = open(&store(), "", r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let minibatch = whole(&mut source).unwrap();
    assert_eq!((minibatch.n_sequences(), minibatch.keys().get(7)), (20, Key::Text("u7".into())));
    // Frames of 200 samples, every 80.
    let expected: usize = (0..20).map(|i| 1 + (2000 + 150 * i - 200) / 80).sum();
    assert_eq!(minibatch.streams()[0].n_samples(), expected);
    assert_eq!(minibatch.streams()[0].info().shape.dims(), [20]);
}

#[test]
fn chunks_and_lengths_have_limits() {
    let options = r#""minSeconds": 0.3, "maxSeconds": 0.5, "chunkSizeInFrames": 50,"#;
    let mut source = open(&store(), options, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let minibatch = whole(&mut source).unwrap();
    // From 2,400 to 4,000 samples.
    assert_eq!((minibatch.n_sequences(), minibatch.keys().get(0)), (11, Key::Text("u3".into())));
}

#[test]
fn what_is_wrong_with_a_recording_is_said_of_its_file_and_line() {
    let cut = tone(3)[..1000].to_vec();
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("other rate", wav(16_000, &[1; 4000]), "has 16000 samples a second, expected 8000"),
        ("no sound", b"no sound at all".repeat(40), "is no recording in WAV or FLAC"),
        ("short", wav(8000, &[1; 100]), "has 100 samples, fewer than one frame of 200"),
        ("cut off", cut, "samples, expected"),
    ];
    for (what, file, expected) in cases {
        let store = store().with("7.wav", file);
        let read = |mut source: Source| source.next_minibatch(100_000).map(drop);
        let error = open(&store, "", r#""randomize": false, "maxSweeps": 1"#).and_then(read).expect_err(what);
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains("7.wav"), "{what}: {text}");
        assert!(text.contains("u7"), "{what}: {text}");
    }
}

#[test]
fn the_budget_of_the_reader_forgives_recordings_that_cannot_be_read() {
    // Cut off in its samples, cut off in its header, of another rate, and missing.
    let list: String = (0..20).map(|i| format!("u{i} {}.wav\n", if i == 9 { 99 } else { i })).collect();
    let store = store()
        .with("3.wav", tone(3)[..1000].to_vec())
        .with("5.wav", tone(5)[..30].to_vec())
        .with("7.wav", wav(16_000, &[1; 4000]))
        .with("all.scp", list.into_bytes());
    let reader = |errors: &str| format!(r#""randomize": false, "maxSweeps": 1, {errors}"#);
    for (errors, threads) in
        [(r#""maxErrors": 4"#, 1), (r#""maxErrors": 4"#, 8), (r#""maxErrorShare": 0.5"#, 2)]
    {
        let mut source = open(&store, "", &reader(&format!(r#"{errors}, "threads": {threads}"#))).unwrap();
        let keys = read_all(&mut source, 60, keys).expect("the budget is enough").concat();
        let expected = (0..20).filter(|i| ![3, 5, 7, 9].contains(i)).map(|i| format!("u{i}"));
        assert_eq!(keys, expected.collect::<Vec<_>>(), "{errors}");
    }
    let mut source = open(&store, "", &reader(r#""maxErrors": 3"#)).unwrap();
    let error = source.next_minibatch(100_000).expect_err("there are four").to_string();
    assert!(
        error.contains("99.wav") && error.contains("line 10 of all.scp") && error.contains("3 faults"),
        "{error}"
    );
    // Without a budget, what a header says is an error when the source is opened.
    let error = refusal(open(&store, "", &reader(r#""maxErrors": 0"#)));
    assert!(error.contains("5.wav") && error.contains("is cut off"), "{error}");
}

#[test]
fn a_check_lists_recordings_that_the_budget_of_the_reader_would_forgive() {
    let list: String = (0..6).map(|i| format!("u{i} {i}.wav\n")).collect();
    let store = store()
        .with("3.wav", tone(3)[..1000].to_vec())
        .with("5.wav", tone(5)[..30].to_vec())
        .with("all.scp", list.into_bytes());
    for errors in [0, 2] {
        let text = format!(
            r#"{{"deserializers": [{{"type": "AudioDeserializer", "file": "all.scp",
                "input": {{"x": {{"sampleRate": 8000, "filters": 20}}}}}}], "maxErrors": {errors}}}"#
        );
        let (found, checked) = checked(&store, &text, |error, severity| (error.key().cloned(), severity));
        let fault = |key: &str| (Some(Key::Text(key.into())), Severity::Fault);
        assert_eq!(found, [fault("u5"), fault("u3")]);
        assert_eq!((checked.faults, checked.fatal, checked.left_out, checked.sequences), (2, 0, 2, 6));
    }
}

#[test]
fn what_is_wrong_with_a_list_is_said_of_its_line() {
    let list = "u0 0.wav\nu1\nu2 sox 2.wav -t wav - |\nu0 3.wav\nu4 missing.wav\n";
    let store = store().with("all.scp", list.as_bytes().to_vec());
    let config = r#"{"deserializers": [{"type": "AudioDeserializer", "file": "all.scp",
        "input": {"x": {"sampleRate": 8000, "filters": 20}}}]}"#;
    let (found, _) = checked(&store, config, |error, _| {
        (error.kind().of_format::<AudioFault>().cloned(), error.at().line)
    });
    let fault = |n: usize| found[n].0.clone().expect("a fault of recordings");
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!((fault(0), found[0].1), (AudioFault::NoPath { found: "u1".into() }, Some(2)));
    assert_eq!(found[1].1, Some(3));
    assert_eq!(fault(2), AudioFault::DuplicateKey { key: "u0".into(), first: 1 });
    assert!(matches!(fault(3), AudioFault::Unreadable { .. }));
}

#[test]
fn frames_of_recordings_are_no_sequences() {
    let error = refusal(open(&store(), "", r#""frameMode": true"#));
    assert!(error.contains("set `frameMode = false`"), "{error}");
}

#[test]
fn a_list_that_memory_has_no_room_for_is_refused_while_it_is_read() {
    let list: String = (0..100_000).map(|i| format!("recording-{i:06} {}.wav\n", i % 20)).collect();
    let store = store().with("all.scp", list.into_bytes());
    let reader = r#""randomize": false, "memoryLimit": "1MiB""#;
    let error = open(&store, "", reader).err().expect("it is refused");
    let Error::Data(error) = error else { panic!("{error}") };
    let found = error.kind().of_format::<AudioFault>().cloned();
    let Some(AudioFault::ListBeyondMemory { lines, bytes, limit, needed }) = found else { panic!("{error}") };
    assert_eq!((limit, error.at().line), (2 << 20, Some(lines)));
    assert!((30_000..90_000).contains(&lines) && bytes > limit, "{error}");
    assert!((2_500_000..8_000_000).contains(&needed), "{error}");
    // A wrong line is what is said of such a list.
    let list: String = (0..100_000).map(|i| format!("recording-{i:06} {}.wav\n", i % 20)).collect();
    let store = store.with("all.scp", format!("u1\n{list}").into_bytes());
    let error = open(&store, "", reader).err().expect("it is refused").to_string();
    assert!(error.starts_with("all.scp:1 (byte 0): found `u1`"), "{error}");
}

#[test]
fn what_a_list_takes_by_line_has_a_bound() {
    // Much of the limit is for reading: a list of ten thousand has no room of a line and a hundred bytes each.
    let list: String = (0..10_000).map(|i| format!("recording-{i:06} {}.wav\n", i % 20)).collect();
    let store = store().with("all.scp", list.into_bytes());
    let mut source = open(&store, "", r#""randomize": false, "memoryLimit": "1MiB""#).unwrap();
    assert!(source.next_minibatch(60).unwrap().is_some());
}
