//! A user-defined deserializer delivers the same as a built-in one with the same sequences: in every order, for every
//! worker, on any number of threads, with little memory, and from every state.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tesson::store::MemoryStore;
use tesson::{Demand, Element, Error, OpenOptions, ResumeState, Shape, Source, StreamInfo};
use tesson_config::{json, lower};
use tesson_conformance::corpus::{self, Delivered, rest};
use tesson_core::{Data, DataErrorKind, Keys, Offsets, StreamColumn, Value, Values};
use tesson_formats::user;
use tesson_formats::user::{ChunkSource, UserError};

const ORDERS: &[&str] = &[
    r#""randomize": false"#,
    r#""randomizationWindow": 4, "randomizationSeed": 3"#,
    r#""randomizationWindow": 150, "sampleBasedRandomizationWindow": true, "randomizationSeed": 9"#,
    r#""randomize": "global", "randomizationSeed": 5"#,
];

/// The sequences of [`corpus::text`], in the chunks that the text format makes of them.
struct Twin {
    lengths: Vec<u32>,
    chunks: Vec<Range<usize>>,
    tells_lengths: bool,
    thread_safe: bool,
    /// Calls of `read`, and those under way.
    calls: AtomicU32,
    running: AtomicU32,
}

impl Twin {
    fn new() -> Twin {
        let mut source = OpenOptions::in_store(&*corpus::store(&corpus::text(&corpus::lengths())))
            .open(&corpus::config(r#""randomize": false"#))
            .expect("the text is right");
        let index = source.indexed().expect("the text is right").index.clone();
        let chunks = index
            .chunk_ids()
            .map(|c| index.chunk(c))
            .map(|c| c.first_sequence as usize..c.first_sequence as usize + c.n_sequences as usize);
        Twin {
            lengths: corpus::lengths(),
            chunks: chunks.collect(),
            tells_lengths: true,
            thread_safe: false,
            calls: AtomicU32::new(0),
            running: AtomicU32::new(0),
        }
    }
}

impl ChunkSource for Twin {
    fn name(&self) -> &str {
        "Twin"
    }

    fn streams(&self) -> Vec<StreamInfo> {
        let x = StreamInfo::dense("x", Shape::new([2]), Element::F32);
        vec![x, StreamInfo::sparse("y", 10, Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(self.chunks.len() as u32)
    }

    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        assert!(self.running.fetch_add(1, Ordering::SeqCst) == 0 || self.thread_safe, "one call at a time");
        self.calls.fetch_add(1, Ordering::SeqCst);
        let (mut x, mut y, mut rows, mut columns, mut weights) =
            (vec![0], vec![0], vec![0], Vec::new(), Vec::new());
        let mut values = Vec::new();
        for i in self.chunks[chunk as usize].clone() {
            for t in 0..self.lengths[i] {
                values.extend([(100 * i + t as usize) as f64, -f64::from(t)]);
                if t == 0 || i % 3 != 0 {
                    // Not sorted, and one column in two parts.
                    columns.extend([t % 4, 4 + i as u32 % 6, t % 4]);
                    weights.extend([0.25, 1.0, (i % 10) as f64 + 0.25]);
                    rows.push(columns.len() as u32);
                }
            }
            x.push(values.len() as u32 / 2);
            y.push(rows.len() as u32 - 1);
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(vec![
            StreamColumn { samples: Offsets::At(x), data: Data::Dense { values: Values::F64(values) } },
            StreamColumn {
                samples: Offsets::At(y),
                data: Data::Sparse { rows: Offsets::At(rows), columns, values: Values::F64(weights) },
            },
        ])
    }

    fn lengths(&self, chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        Ok(self.tells_lengths.then(|| self.lengths[self.chunks[chunk as usize].clone()].to_vec()))
    }

    fn keys(&self, chunk: u32) -> Result<Option<Keys>, UserError> {
        Ok(Some(Keys::Numbers(self.chunks[chunk as usize].clone().map(|i| 3 * i as u64).collect())))
    }

    fn is_thread_safe(&self) -> bool {
        self.thread_safe
    }
}

/// A label for every sequence of [`corpus::text`] but the last, in another order and other chunks: its key.
struct Labels;

impl Labels {
    const IN_CHUNK: u64 = 7;

    fn keys_of(chunk: u32) -> Vec<u64> {
        let n = corpus::lengths().len() as u64;
        let numbers = u64::from(chunk) * Labels::IN_CHUNK..n.min((u64::from(chunk) + 1) * Labels::IN_CHUNK);
        // 71 and the number of sequences have no divisor in common, so each comes once.
        numbers.map(|i| i * 71 % n).filter(|i| i + 1 < n).map(|i| 3 * i).collect()
    }
}

impl ChunkSource for Labels {
    fn name(&self) -> &str {
        "Labels"
    }

    fn streams(&self) -> Vec<StreamInfo> {
        let shape = Shape::new([1]);
        vec![StreamInfo::dense("label", shape, Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok((corpus::lengths().len() as u64).div_ceil(Labels::IN_CHUNK) as u32)
    }

    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        let values = Values::F32(Labels::keys_of(chunk).into_iter().map(|key| key as f32).collect());
        Ok(vec![StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } }])
    }

    fn keys(&self, chunk: u32) -> Result<Option<Keys>, UserError> {
        Ok(Some(Keys::Numbers(Labels::keys_of(chunk))))
    }
}

/// The text and its labels, joined; `first` says which of the two is the primary.
fn joined(first: usize, options: &str) -> Source {
    let mut tree = json::parse(&corpus::config_text(options)).expect("the test's configuration is right");
    let Value::List(deserializers) = &mut tree.0[0].1 else { unreachable!("written so") };
    let labels =
        [("type", Value::Text(user::FORMAT.name.into())), ("instance", user::instance(Arc::new(Labels)))];
    deserializers.push(Value::Section(labels.into_iter().collect()));
    deserializers.rotate_left(first);
    let config = lower(&tree, &tesson::registry().with(&user::FORMAT)).expect("both are right");
    OpenOptions::in_store(&*corpus::store(&corpus::text(&corpus::lengths())))
        .open(&config)
        .expect("both are right")
}

#[test]
fn it_joins_a_file_from_either_side() {
    for first in [0, 1] {
        for order in ORDERS {
            let mut runs = Vec::new();
            for more in [r#""threads": 1"#, r#""threads": 3, "memoryLimit": "300000""#] {
                let options = format!(r#"{order}, "maxSweeps": 1, {more}"#);
                let mut keys = Vec::new();
                for minibatch in rest(&mut joined(first, &options), 30, 1, 0) {
                    let label = &minibatch.streams[2 * (1 - first)];
                    assert_eq!(label.lengths, vec![1; minibatch.keys.len()], "{options}");
                    let labels = label.bits.iter().map(|&bits| f64::from_bits(bits).to_string());
                    assert_eq!(labels.collect::<Vec<_>>(), minibatch.keys, "{options}");
                    let x = &minibatch.streams[first];
                    let mut sample = 0;
                    for (key, &length) in minibatch.keys.iter().zip(&x.lengths) {
                        let number: f64 = key.parse().unwrap();
                        assert_eq!(f64::from_bits(x.bits[2 * sample]), number / 3.0 * 100.0, "{options}");
                        sample += length as usize;
                    }
                    keys.extend(minibatch.keys);
                }
                runs.push(keys);
            }
            assert_eq!(runs[0], runs[1], "{order}");
            assert_eq!(runs[0].len(), corpus::lengths().len() - 1, "{order}");
        }
    }
}

fn open(source: Arc<dyn ChunkSource>, options: &str) -> Result<Source, Error> {
    let text =
        format!(r#"{{"deserializers": [{{"type": "UserDeserializer", "composable": true}}], {options}}}"#);
    let mut tree = json::parse(&text)?;
    let Value::List(deserializers) = &mut tree.0[0].1 else { unreachable!("written above") };
    let Value::Section(section) = &mut deserializers[0] else { unreachable!("written above") };
    section.0.push(("instance".into(), user::instance(source)));
    let config = lower(&tree, &tesson::registry().with(&user::FORMAT))?;
    OpenOptions::in_store(&MemoryStore::new()).open(&config)
}

/// The minibatches of the text format, but for its file: a program's own data are in none.
fn expected(order: &str, samples: u64, workers: u64, rank: u64) -> Vec<Delivered> {
    let config = corpus::config(&format!(r#"{order}, "maxSweeps": 2"#));
    let store = corpus::store(&corpus::text(&corpus::lengths()));
    let mut source = OpenOptions::in_store(&*store).open(&config).expect("the text is right");
    let mut all = rest(&mut source, samples, workers, rank);
    all.iter_mut().flat_map(|minibatch| &mut minibatch.sources).for_each(|source| *source = None);
    all
}

#[test]
fn it_gives_what_the_text_gives_in_every_order_to_every_worker() {
    for order in ORDERS {
        for (workers, rank) in [(1, 0), (3, 1)] {
            for tells_lengths in [false, true] {
                let twin = Twin { tells_lengths, ..Twin::new() };
                let mut source = open(Arc::new(twin), &format!(r#"{order}, "maxSweeps": 2"#)).unwrap();
                let found = rest(&mut source, 40, workers, rank);
                let expected = expected(order, 40, workers, rank);
                assert_eq!(found[0], expected[0], "{order}, rank {rank} of {workers}");
                assert!(found == expected, "{order}, rank {rank} of {workers}");
            }
        }
    }
}

#[test]
fn threads_and_memory_change_nothing() {
    for order in ORDERS {
        let expected = expected(order, 20, 1, 0);
        for (threads, thread_safe) in [(1, false), (2, false), (8, true)] {
            for memory in ["20000", "60000", "1GiB"] {
                let twin = Twin { thread_safe, ..Twin::new() };
                let options =
                    format!(r#"{order}, "maxSweeps": 2, "threads": {threads}, "memoryLimit": "{memory}""#);
                let found = rest(&mut open(Arc::new(twin), &options).unwrap(), 20, 1, 0);
                assert!(found == expected, "{options}");
            }
        }
    }
}

#[test]
fn a_fresh_source_goes_on_behind_every_minibatch() {
    for order in ORDERS {
        let options = format!(r#"{order}, "maxSweeps": 2"#);
        let expected = expected(order, 100, 1, 0);
        let mut source = open(Arc::new(Twin::new()), &options).unwrap();
        for behind in 1..=expected.len() {
            source.next_minibatch(100).unwrap().expect("as many as the text gives");
            let state = ResumeState::from_bytes(&source.state().to_bytes()).unwrap();
            let mut fresh = open(Arc::new(Twin::new()), &options).unwrap();
            fresh.restore(&state).unwrap();
            assert!(rest(&mut fresh, 100, 1, 0) == expected[behind..], "{order}, behind minibatch {behind}");
        }
    }
}

#[test]
fn a_chunk_is_read_once_while_memory_allows() {
    let twin = Arc::new(Twin::new());
    let mut source = open(twin.clone(), r#""randomizationWindow": 4, "maxSweeps": 3"#).unwrap();
    rest(&mut source, 50, 1, 0);
    assert_eq!(twin.calls.load(Ordering::SeqCst), twin.n_chunks().unwrap());
}

/// Something that goes wrong in chunk 1.
struct Broken(fn() -> Result<Vec<StreamColumn>, UserError>, AtomicU32);

impl Broken {
    fn new(chunk: fn() -> Result<Vec<StreamColumn>, UserError>) -> Arc<Broken> {
        Arc::new(Broken(chunk, AtomicU32::new(0)))
    }
}

fn column(lengths: &[u32]) -> Vec<StreamColumn> {
    let mut at = vec![0];
    lengths.iter().for_each(|n| at.push(at[at.len() - 1] + n));
    let values = Values::Ones(2 * at[at.len() - 1] as usize);
    vec![StreamColumn { samples: Offsets::At(at), data: Data::Dense { values } }]
}

impl ChunkSource for Broken {
    fn name(&self) -> &str {
        "Broken"
    }

    fn streams(&self) -> Vec<StreamInfo> {
        vec![StreamInfo::dense("x", Shape::new([2]), Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(3)
    }

    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        if chunk == 1 { (self.0)() } else { Ok(column(&[1, 2])) }
    }

    fn lengths(&self, _chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        Ok(Some(vec![1, 2]))
    }
}

fn error_of(chunk: fn() -> Result<Vec<StreamColumn>, UserError>) -> Error {
    let options = r#""randomize": false, "maxSweeps": 1"#;
    let mut source = open(Broken::new(chunk), options).expect("the lengths are told");
    let first = source.next_minibatch(3).expect("chunk 0 is right").expect("chunk 0 is not empty");
    assert_eq!(first.n_sequences(), 2);
    source.next_minibatch(3).expect_err("chunk 1 is wrong")
}

#[test]
fn an_error_of_the_users_code_names_the_chunk_and_is_the_cause() {
    let error = error_of(|| Err(std::io::Error::other("the disk is on fire").into()));
    assert_eq!(error.to_string(), "Broken, chunk 1: the disk is on fire");
    let Error::Data(data) = &error else { panic!("{error:?}") };
    assert_eq!(data.chunk(), Some(1));
    let cause = std::error::Error::source(&error).unwrap();
    assert!(cause.is::<std::io::Error>());
}

#[test]
fn an_error_is_repeated_until_it_is_skipped() {
    let source = Broken::new(|| Err("no".into()));
    let mut source = open(source, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    source.next_minibatch(3).unwrap();
    for _ in 0..3 {
        assert_eq!(source.next_minibatch(3).unwrap_err().to_string(), "Broken, chunk 1: no");
    }
    source.skip_failed();
    assert_eq!(source.next_minibatch(3).unwrap().unwrap().n_sequences(), 2);
    assert!(source.next_minibatch(3).unwrap().is_none());
}

#[test]
fn a_chunk_with_other_lengths_than_it_had_is_an_error() {
    let error = error_of(|| Ok(column(&[1, 3])));
    let expected = "Broken, chunk 1: the data has changed since it was indexed: sequence 1 has 3 samples, 2 when it was indexed";
    assert_eq!(error.to_string(), expected);
    let Error::Data(data) = &error else { panic!("{error:?}") };
    assert!(matches!(data.kind(), DataErrorKind::Changed { .. }));
    assert!(error_of(|| Ok(column(&[1]))).to_string().ends_with("1 sequence, 2 when it was indexed"));
}

#[test]
fn a_column_that_does_not_fit_is_an_error() {
    for (chunk, expected) in [
        ((|| Ok(vec![])) as fn() -> _, "0 columns, expected one for each of 1 stream"),
        (
            || {
                Ok(vec![StreamColumn {
                    samples: Offsets::Every(1),
                    data: Data::Dense { values: Values::Ones(5) },
                }])
            },
            "stream `x`: 5 values, expected a multiple of 2",
        ),
        (
            || {
                Ok(vec![StreamColumn {
                    samples: Offsets::At(vec![0, 2, 1]),
                    data: Data::Dense { values: Values::Ones(2) },
                }])
            },
            "stream `x`: offsets of samples that do not ascend from 0",
        ),
        (
            || {
                Ok(vec![StreamColumn {
                    samples: Offsets::At(vec![0, 1, 3]),
                    data: Data::Dense { values: Values::Ones(4) },
                }])
            },
            "stream `x`: 2 samples, 3 in sequences",
        ),
        (
            || {
                let rows = Offsets::Every(0);
                let data = Data::Sparse { rows, columns: vec![], values: Values::Ones(0) };
                Ok(vec![StreamColumn { samples: Offsets::At(vec![0]), data }])
            },
            "stream `x`: sparse samples, expected dense ones",
        ),
    ] {
        assert_eq!(error_of(chunk).to_string(), format!("Broken, chunk 1: {expected}"));
    }
}

#[test]
fn frame_mode_refuses_longer_sequences_with_their_chunk() {
    let source = Broken::new(|| Ok(column(&[1, 2])));
    let mut source = open(source, r#""randomize": false, "maxSweeps": 1, "frameMode": true"#).unwrap();
    let error = source.next(Demand { samples: 9, workers: 1, rank: 0 }).unwrap_err().to_string();
    assert_eq!(
        error,
        "UserDeserializer, chunk 0: stream `x`, sequence 1: frame mode expects sequences of one sample, found one of 2"
    );
}

#[test]
fn a_state_of_another_deserializer_is_refused() {
    let state = open(Arc::new(Twin::new()), r#""randomize": false"#).unwrap().state().clone();
    let mut other = open(Broken::new(|| Ok(column(&[1, 2]))), r#""randomize": false"#).unwrap();
    assert!(matches!(other.restore(&state), Err(Error::Resume(_))));
}
