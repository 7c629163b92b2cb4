//! Features of speech: what is opened and kept, the options, and what is wrong with lists and files.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson::store::{MemoryStore, Resource, Store};
use tesson::{Error, Source};
use tesson_engine::RunCalls;
use tesson_plan::StepSizes;

use crate::kit::{self, checked, read_all, refusal, sequences, store_of};

/// A big-endian file of frames of two values, `[first + t, -t]`.
fn file(n: u32, first: f32) -> Vec<u8> {
    let mut bytes = [n.to_be_bytes(), 100_000u32.to_be_bytes()].concat();
    bytes.extend([8u16.to_be_bytes(), 9u16.to_be_bytes()].concat());
    bytes.extend((0..n).flat_map(|t| [first + t as f32, -(t as f32)]).flat_map(f32::to_be_bytes));
    bytes
}

/// A list, and the files `a` of 5 frames from 100 and `b` of 3 frames from 200.
fn with_list(list: &str) -> MemoryStore {
    store_of([("l.scp", list.as_bytes().to_vec()), ("a", file(5, 100.)), ("b", file(3, 200.))])
}

/// `stream` and `reader` are more options; `dim` is 2 unless they say something else.
fn text(stream: &str, reader: &str) -> String {
    let dim = if stream.contains("dim") { "" } else { r#", "dim": 2"# };
    let list = if stream.contains("scpFile") { "" } else { r#", "scpFile": "l.scp""# };
    format!(
        r#"{{"deserializers": [{{"type": "HTKFeatureDeserializer", "input": {{"x": {{"type": "real" {dim}{list}{stream}}}}}}}],
            "randomize": false, "maxSweeps": 1 {reader}}}"#
    )
}

fn open(store: &dyn Store, stream: &str, reader: &str) -> Result<Source, Error> {
    kit::open(store, &text(stream, reader))
}

/// The first value of each sample by sequence, of all minibatches until the data end.
fn first_values(source: &mut Source) -> Result<Vec<Vec<f64>>, Error> {
    let dim = source.streams()[0].shape.len();
    let firsts = |values: Vec<f64>| values.into_iter().step_by(dim).collect();
    let all = read_all(source, 1, |m| sequences(m, "x").into_iter().map(firsts).collect::<Vec<_>>())?;
    Ok(all.concat())
}

fn read(list: &str, stream: &str) -> Result<Vec<Vec<f64>>, String> {
    let source = open(&with_list(list), stream, "");
    source.and_then(|mut source| first_values(&mut source)).map_err(|e| e.to_string())
}

/// A store that counts what is opened and read.
struct Counting {
    inner: Arc<dyn Store>,
    opened: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
}

struct Counted {
    inner: Box<dyn Resource>,
    read: Arc<AtomicUsize>,
}

impl Store for Counting {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Counted { inner: self.inner.open(path)?, read: self.read.clone() }))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(Counting { inner: self.inner.clone(), opened: self.opened.clone(), read: self.read.clone() })
    }
}

impl Resource for Counted {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.read.fetch_add(into.len(), Ordering::Relaxed);
        self.inner.read_at(offset, into)
    }
}

#[test]
fn a_long_list_is_all_that_is_read_and_takes_few_bytes_for_each_utterance() {
    let n = 100_000;
    let list: String = (0..n)
        .map(|i| format!("speaker{:04}/utterance{i:06}.mfc=archive{:03}[0,2]\n", i % 97, i / 500))
        .collect();
    let size = list.len();
    let store = store_of((0..200).map(|i| (format!("archive{i:03}"), file(3, 0.))));
    let inner = Arc::new(store.with("l.scp", list.into_bytes()));
    let counting = Counting { inner, opened: Arc::default(), read: Arc::default() };
    let mut source = open(&counting, "", "").unwrap();
    let indexed = source.indexed().unwrap();
    let bytes = indexed.index.bytes() + indexed.corpus.facts().memory;
    assert_eq!(indexed.index.n_sequences(), n as u64);
    assert!(bytes < 100 * n, "{} bytes an utterance", bytes / n);
    assert_eq!(counting.opened.load(Ordering::Relaxed), 2, "the list, and the file of the first utterance");
    let read = counting.read.load(Ordering::Relaxed);
    assert!(read <= size + 100_000, "{read} bytes of {size}");
    source.next_minibatch(2).unwrap();
}

#[test]
fn lines_without_a_range_are_whole_files() {
    let values = |first: i32, n: i32| (first..first + n).map(f64::from).collect::<Vec<f64>>();
    assert_eq!(read("u=a\n\nb\nv=a[1,2]\n", "").unwrap(), [values(100, 5), values(200, 3), values(101, 2)]);
    // Their lengths are known only then.
    assert_eq!(
        read("u=a\nv=b\nu=a[0,0]\n", r#", "maxSequenceSize": 4"#).unwrap(),
        [values(200, 3), values(100, 1)]
    );
}

#[test]
fn several_lists_are_read_as_one() {
    let store = store_of([
        ("d/1.scp", b"u=.../a[0,1]\n".to_vec()),
        ("e/2.scp", b"v=.../a[1,1]\nw=f/b[0,0]".to_vec()),
        ("d/a", file(2, 10.)),
        ("e/a", file(2, 20.)),
        ("r/f/b", file(2, 30.)),
    ]);
    let mut source = open(&store, r#", "scpFile": ["d/1.scp", "e/2.scp"], "root": "r""#, "").unwrap();
    assert_eq!(first_values(&mut source).unwrap(), [vec![10., 11.], vec![21.], vec![30.]]);
}

#[test]
fn keys_that_occur_again_are_left_out_read_once_or_an_error() {
    let list = "u.x=a[0,0]\nv=a[1,1]\nu.y=a[2,2]\n";
    assert_eq!(read(list, "").unwrap(), [[101.]]);
    assert_eq!(read(list, r#", "onDuplicate": "first""#).unwrap(), [[100.], [101.]]);
    let error = read(list, r#", "onDuplicate": "error""#).unwrap_err();
    assert_eq!(error, "l.scp:3 (byte 0): sequence u: the key `u` occurs again, first in line 1");
    assert!(read("u=a[0,0]\nu=a[1,1]\n", "").unwrap_err().contains("no utterance is left of 2"));
}

#[test]
fn options_may_stand_at_every_level_and_long_utterances_are_left_out() {
    let list = "u=a[0,4]\nv=a[1,2]\n";
    assert_eq!(read(list, r#", "maxSequenceLength": 2"#).unwrap(), [[101., 102.]]);
    let around = text("", "").replace(r#""input""#, r#""maxSequenceSize": 2, "input""#);
    let mut source = kit::open(&with_list(list), &around).unwrap();
    assert_eq!(first_values(&mut source).unwrap(), [[101., 102.]]);
}

#[test]
fn samples_are_counted_by_the_stream_that_defines_the_size() {
    let store = with_list("u=a[0,3]\nv=a[1,1]\n");
    let other = r#"{"type": "HTKFeatureDeserializer", "input": {"y": {"dim": 2, "scpFile": "m.scp", "definesMBSize": true}}}"#;
    let store = store.with("m.scp", b"u=b[0,0]\nv=b[0,2]\n".to_vec());
    let text = text("", "").replace("}}}]", &format!("}}}}}}, {other}]"));
    assert_eq!(kit::open(&store, &text).unwrap().num_samples_per_sweep().unwrap(), 4);
}

#[test]
fn kinds_and_byte_orders_are_what_options_say() {
    let mut waveform = file(4, 0.);
    waveform[8..12].copy_from_slice(&[0, 2, 0, 0]);
    let store = store_of([("l.scp", &b"u=w[0,3]\n"[..]), ("w", &waveform[..])]);
    let wave = |options: &str| open(&store, &format!(r#", "dim": 1{options}"#), "");
    let refused = refusal(wave(""));
    assert!(refused.contains("w (byte 0): sequence u: the file holds `WAVEFORM`"), "{refused}");
    assert!(refused.ends_with("line 1 of l.scp lists it"), "{refused}");
    for kinds in ["WAVEFORM", "LPC:waveform", "all"] {
        let found = first_values(&mut wave(&format!(r#", "allowKinds": "{kinds}""#)).unwrap()).unwrap();
        assert_eq!(found, [[0., 0., -32768., 0.]], "the halves of 0 and of -0");
    }
    assert!(wave(r#", "allowKinds": "MP3""#).is_err());
    let little = open(&with_list("u=a[0,0]\n"), r#", "byteOrder": "little""#, "");
    assert!(refusal(little).contains("`WAVEFORM_D_Z`"));
}

#[test]
fn a_bad_file_fails_its_whole_chunk_and_no_other() {
    let list = "u=a[0,1]\nv=a[2,3]\nw=none[0,0]\n";
    let mut source = open(&with_list(list), r#", "chunkSizeInFrames": 3"#, "").unwrap();
    assert!(source.next_minibatch(2).unwrap().is_some());
    assert!(source.next_minibatch(2).unwrap().is_some());
    let missing = source.next_minibatch(2).map(drop).unwrap_err();
    assert!(matches!(&missing, Error::Store(e) if e.file.ends_with("none")), "{missing}");
    assert!(missing.to_string().ends_with("line 3 of l.scp lists it"), "{missing}");
    let short = read("u=a[0,1]\nv=a[2,5]\n", "").unwrap_err();
    assert_eq!(
        short,
        "a (byte 0): sequence v: the range [2,5] is beyond the 5 frames of the file; line 2 of l.scp lists it"
    );
}

#[test]
fn chunks_end_where_they_have_enough_frames_or_bytes() {
    let list = with_list("u=a[0,1]\nv=a[2,2]\nw=a[3,3]\nx=a[4,4]\n");
    let lengths = |options: &str| {
        let mut source = open(&list, options, "").unwrap();
        let index = source.indexed().unwrap().index.clone();
        index.chunk_ids().map(|chunk| index.chunk(chunk).n_sequences).collect::<Vec<_>>()
    };
    assert_eq!(lengths(""), [4]);
    assert_eq!(lengths(r#", "chunkSizeInFrames": 2"#), [2, 2]);
    // Two values of 4 bytes in a frame.
    assert_eq!(lengths(r#", "chunkSizeInBytes": 16"#), [2, 2]);
    assert_eq!(lengths(r#", "chunkSizeInBytes": 15"#), [1, 2, 1]);
    assert_eq!(lengths(r#", "chunkSizeInBytes": 1, "chunkSizeInFrames": 5"#), [1, 1, 1, 1]);
    let none = refusal(open(&list, r#", "chunkSizeInBytes": 0"#, ""));
    assert!(none.contains("chunkSizeInBytes: found 0, expected at least 1"), "{none}");
}

#[test]
fn headers_and_sizes_are_looked_at_when_that_is_asked_for() {
    let mut longer = file(3, 0.);
    longer.extend([0; 8]);
    let store = with_list("u=a[0,1]\nv=long[0,2]\nw=b[0,9]\n").with("long", longer);
    let opened =
        |verify: &str| open(&store, &format!(r#", "chunkSizeInFrames": 1, "verify": "{verify}""#), "");
    assert!(opened("first").is_ok());
    assert!(refusal(opened("header")).contains("[0,9] is beyond the 3 frames"));
    assert!(refusal(opened("full")).contains("declares 3 frames, the file holds 4"));
}

#[test]
fn a_check_lists_every_bad_line_header_range_and_file() {
    let store = with_list("u=a[0,1]\nbad[0,1]\nv=none[0,0]\nw=b[0,3]\nx=a[2,1]\ny=short[0,0]\nz=b[1,2]\n")
        .with("short", vec![0; 7]);
    let (found, checked) = checked(&store, &text("", ""), |error, _| error.code());
    assert_eq!(
        found,
        ["htk.no-name", "htk.range-backward", "htk.unreadable", "htk.range-beyond-file", "htk.short-file"]
    );
    assert_eq!(checked.sequences, 2, "those that can be read");
}

#[test]
fn dim_that_fits_no_window_is_an_error() {
    let error = read("u=a[0,1]\n", r#", "dim": 6, "contextWindow": "2:2""#).unwrap_err();
    assert!(
        error.contains("`dim` is 6 and `contextWindow` 2:2, which does not fit frames of 2 values"),
        "{error}"
    );
}

#[test]
fn compressed_frames_take_two_bytes_a_value_in_memory() {
    let (n, dim) = (4000u32, 2u32);
    let mut bytes = [(n + 4).to_be_bytes(), 100_000u32.to_be_bytes()].concat();
    bytes.extend([(2 * dim as u16).to_be_bytes(), (9u16 | 0o2000).to_be_bytes()].concat());
    bytes.extend([2.0f32, 4.0, 0.0, 1.0].into_iter().flat_map(f32::to_be_bytes));
    bytes.extend((0..n * dim).flat_map(|i| (i as i16).to_be_bytes()));
    let list = format!("u=c[0,{}]\n", n - 1);
    let store = store_of([("l.scp", list.as_bytes()), ("c", &bytes[..])]);
    let mut source = open(&store, r#", "contextWindow": "5:5""#, "").unwrap();
    let (indexed, size) = (source.indexed().unwrap().clone(), (n * dim * 2) as usize);
    let mut chunk = tesson_core::Chunk::empty();
    let wanted = tesson_core::SequenceSelection::Range(0..1);
    let fetch = tesson_core::InMemory::new(bytes);
    indexed
        .corpus
        .load(tesson_core::ChunkId(0), wanted, &fetch, &mut tesson_core::Scratch::default(), &mut chunk)
        .unwrap();
    assert!(
        (size..size + size / 4).contains(&chunk.streams[0].bytes()),
        "{} bytes",
        chunk.streams[0].bytes()
    );
    let values = first_values(&mut source).unwrap();
    // Samples begin with the frame 5 before.
    assert_eq!(values[0][..8], [0., 0., 0., 0., 0., 0., 1., 2.]);
}

#[test]
fn where_a_sequence_lies_is_known_before_it_is_read() {
    let open = || open(&with_list("a\nb\n"), "", "").expect("the files are right");
    let calls = RunCalls { sizes: StepSizes::Constant(1), workers: 1, rank: None };
    let located = |source: &mut Source| {
        let steps = (0..2).map(|step| source.which(step, calls).expect("there are two sequences"));
        steps.map(|step| step.sequences[0].location.clone().expect("it lies in a file").1).collect::<Vec<_>>()
    };
    let mut read = open();
    first_values(&mut read).expect("the files are right");
    let expected = [12..12 + 5 * 8, 12..12 + 3 * 8];
    assert_eq!(located(&mut read), expected);
    assert_eq!(located(&mut open()), expected);
}
