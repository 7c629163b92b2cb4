//! The ways in which a source can deliver the test corpus, and how they are read.

use std::sync::{Arc, LazyLock};

use tesson::store::Store;
use tesson::{OpenOptions, Source};

use crate::corpus::{
    self, ARCHIVES, ARFF, ARRAY_RECORDS, ARRAYS, ARRAYS_JOINED, ARROW, BAD_MAP, BASE64, BINARY,
    BINARY_JOINED, BINARY_TRUNCATED, BYTES, CSV, CSV_AND_JSON, CSV_COMPRESSED, Delivered, FAULTY_ROWS,
    FAULTY_ROWS_JOINED, FEATURES, FEATURES_JOINED, FEATURES_TRUNCATED, FRAMES, FRAMES_JOINED,
    FRAMES_LABELLED, FRAMES_OF_TEXT, JOINED, LABELLED, LIBSVM, LOCAL, MAP, MATRICES, PARQUET, PREPARED,
    PREPARED_JOINED, PREPARED_TRUNCATED, RAGGED, RECORDINGS, RECORDS, ROWS, SEVERAL, TEXT, TEXTS, TFRECORDS,
    TOKENS, TRUNCATED, VW, WEBDATASET, WHOLE_16, WHOLE_64, config, rest,
};

/// The generic tests of a way: those of its level and of all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Threads, read-ahead, too little memory and cut reads change nothing. All that holds without states.
    Threads,
    /// Sources resume after every minibatch.
    Resume,
    /// The shares of all ranks are the whole.
    Shares,
    /// By position, ranks share the minibatches of one; every sweep holds every sequence once.
    Sweeps,
    /// Blocks are evicted, and fresh processes resume.
    Processes,
}

use Level::{Processes, Resume, Sweeps, Threads};

/// A corpus with its name in the names of tests, its options, its orders, and its level.
type CorpusWays = (&'static str, &'static str, &'static [&'static str], Level);

/// All corpora. A new format joins the tests of threads, memory, resuming, shares and sweeps by its line here.
const CORPORA: &[CorpusWays] = &[
    ("text", TEXT, ORDERS_OF_TEXT, Processes),
    ("joined", JOINED, MAIN_ORDERS, Processes),
    ("binary", BINARY, MAIN_ORDERS, Processes),
    ("several", SEVERAL, ORDERS_OF_TEXT.split_at(5).0, Resume),
    ("faulty", FAULTY_ROWS, ORDERS_OF_FAULTY, Resume),
    ("faulty joined", FAULTY_ROWS_JOINED, ORDERS_OF_FAULTY, Resume),
    ("text", TEXT, &[CUT], Resume),
    ("text", TEXT, TRANSFORMED, Resume),
    ("truncated", TRUNCATED, ORDERS_OF_TRUNCATED, Resume),
    ("truncated epochs", TRUNCATED, EPOCHS_OF_TRUNCATED, Resume),
    ("local", LOCAL, ORDERS_OF_LOCAL, Resume),
    ("text", TEXT, EQUAL_STEPS, Resume),
    ("binary truncated", BINARY_TRUNCATED, &[WINDOW], Resume),
    ("binary joined", BINARY_JOINED, &[STORED, WINDOW], Resume),
    ("prepared", PREPARED, MAIN_ORDERS, Sweeps),
    ("prepared truncated", PREPARED_TRUNCATED, &[WINDOW], Resume),
    ("prepared joined", PREPARED_JOINED, &[STORED, WINDOW], Resume),
    ("map", MAP, ORDERS_OF_IMAGES, Sweeps),
    ("map", MAP, &[DRAWS_OF_CNTK], Threads),
    ("bad map", BAD_MAP, &[STORED, WIDE_BY_POSITION], Resume),
    ("bad map", BAD_MAP, &[DRAWS_OF_CNTK], Threads),
    ("base64", BASE64, ORDERS_OF_IMAGES, Sweeps),
    ("base64", BASE64, &[DRAWS_OF_CNTK], Threads),
    ("archives", ARCHIVES, &[STORED, WIDE_BY_POSITION], Resume),
    ("archives", ARCHIVES, &[DRAWS_OF_CNTK], Threads),
    ("bytes", BYTES, &[WIDE], Resume),
    ("ragged", RAGGED, &[WIDE], Resume),
    ("features", FEATURES, ORDERS_OF_SPEECH, Sweeps),
    ("features joined", FEATURES_JOINED, ORDERS_OF_SPEECH, Sweeps),
    ("features truncated", FEATURES_TRUNCATED, &[WINDOW_BY_POSITION, SPLICED], Resume),
    ("frames", FRAMES, ORDERS_OF_FRAMES, Resume),
    ("frames joined", FRAMES_JOINED, &[STORED, WINDOW_OF_FRAMES], Resume),
    ("labelled", LABELLED, ORDERS_OF_FRAMES, Resume),
    ("frames labelled", FRAMES_LABELLED, &[STORED, SEEDED], Resume),
    ("frames of text", FRAMES_OF_TEXT, ORDERS_OF_FRAMES, Resume),
    ("matrices", MATRICES, &[STORED, WINDOW_BY_POSITION], Resume),
    ("rows", ROWS, &[r#""randomize": "global""#], Resume),
    ("recordings", RECORDINGS, ORDERS_OF_SPEECH, Sweeps),
    ("arrays", ARRAYS, MAIN_ORDERS, Sweeps),
    ("arrays joined", ARRAYS_JOINED, MAIN_ORDERS, Sweeps),
    ("parquet", PARQUET, MAIN_ORDERS, Sweeps),
    ("arrow", ARROW, MAIN_ORDERS, Sweeps),
    ("tokens", TOKENS, &[STORED, WINDOW_BY_POSITION, GLOBAL], Resume),
    ("csv", CSV, MAIN_ORDERS, Sweeps),
    ("csv compressed", CSV_COMPRESSED, MAIN_ORDERS, Sweeps),
    ("csv and json", CSV_AND_JSON, MAIN_ORDERS, Sweeps),
    ("arff", ARFF, MAIN_ORDERS, Sweeps),
    ("vw", VW, MAIN_ORDERS, Sweeps),
    ("libsvm", LIBSVM, MAIN_ORDERS, Sweeps),
    ("tfrecords", TFRECORDS, MAIN_ORDERS, Sweeps),
    ("array records", ARRAY_RECORDS, MAIN_ORDERS, Sweeps),
    ("records", RECORDS, MAIN_ORDERS, Sweeps),
    ("webdataset", WEBDATASET, MAIN_ORDERS, Sweeps),
    ("whole 16", WHOLE_16, &[GLOBAL_BY_POSITION, TRUNCATED_BY_POSITION], Resume),
    ("whole 64", WHOLE_64, MAIN_ORDERS, Sweeps),
    ("texts", TEXTS, &[STORED, GLOBAL_BY_POSITION], Sweeps),
    ("texts truncated", TEXTS, &[TRUNCATED_BY_POSITION], Resume),
];

const STORED: &str = r#""randomize": false"#;
const SEEDED: &str = r#""randomizationWindow": 4, "randomizationSeed": 3"#;
const GLOBAL: &str = r#""randomize": "global", "randomizationSeed": 5"#;
const GLOBAL_BY_POSITION: &str = r#""randomize": "global", "sharing": "position""#;
const WINDOW: &str = r#""randomizationWindow": 4"#;
const WINDOW_BY_POSITION: &str = r#""randomizationWindow": 4, "sharing": "position""#;
const TRUNCATED_BY_POSITION: &str =
    r#""randomizationWindow": 4, "truncationLength": 5, "sharing": "position""#;
const WINDOW_OF_SAMPLES: &str =
    r#""randomizationWindow": 150, "sampleBasedRandomizationWindow": true, "randomizationSeed": 9"#;
const WINDOW_OF_FRAMES: &str = r#""randomizationWindow": 300, "sampleBasedRandomizationWindow": true"#;
const WIDE: &str = r#""randomizationWindow": 40"#;
const WIDE_BY_POSITION: &str = r#""randomizationWindow": 40, "sharing": "position""#;
const SPLICED: &str = r#""randomize": false, "rightSplice": 2"#;
const CUT: &str =
    r#""randomizationWindow": 4, "maxSamples": 2001, "maxSamplesEnd": "inside", "transforms": {"x": [1]}"#;

/// CNTK's draws, which depend on all minibatches before: no state can be restored, and the shares of several workers are
/// not the images of one.
const DRAWS_OF_CNTK: &str = r#""randomizationWindow": 40, "augmentation": "cntk""#;

const MAIN_ORDERS: &[&str] = &[STORED, SEEDED, GLOBAL];
const ORDERS_OF_FAULTY: &[&str] = &[STORED, SEEDED, r#""randomizationWindow": 128"#, GLOBAL];
const ORDERS_OF_IMAGES: &[&str] = &[STORED, r#""randomizationWindow": 40, "randomizationSeed": 3"#, GLOBAL];
const ORDERS_OF_SPEECH: &[&str] = &[STORED, WINDOW_OF_SAMPLES, GLOBAL];
const ORDERS_OF_FRAMES: &[&str] = &[STORED, SEEDED, GLOBAL_BY_POSITION];
const ORDERS_OF_TEXT: &[&str] = &[
    STORED,
    SEEDED,
    r#""randomizationWindow": 128"#,
    WINDOW_OF_SAMPLES,
    GLOBAL,
    r#""randomizationWindow": 4, "minibatchSizeInSequences": 5"#,
    r#""randomizationWindow": 4, "randomizationSeed": 3, "bucketing": 20"#,
];
const TRANSFORMED: &[&str] = &[
    r#""randomize": false, "transforms": {"x": [1, 2]}"#,
    r#""randomizationWindow": 4, "randomizationSeed": 3, "transforms": {"x": [1, 2]}"#,
    r#""randomize": "global", "randomizationSeed": 3, "transforms": {"x": [1, 2]}"#,
];
const EQUAL_STEPS: &[&str] = &[
    r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "drop""#,
    r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "repeat""#,
    r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "empty""#,
    r#""randomize": false, "equalSteps": "repeat""#,
    r#""randomize": "global", "equalSteps": "drop", "minibatchSizeInSequences": 7"#,
];
const EPOCHS_OF_TRUNCATED: &[&str] = &[
    r#""randomize": false, "crossSweepEnds": false"#,
    r#""randomize": "global", "sharing": "position", "crossSweepEnds": false"#,
];
const ORDERS_OF_TRUNCATED: &[&str] = &[
    r#""randomize": false"#,
    r#""randomizationWindow": 4, "randomizationSeed": 3"#,
    r#""randomize": "global", "rightSplice": 2"#,
    r#""randomizationWindow": 4, "sharing": "position", "transforms": {"x": [7, 8], "x2": [7]}"#,
    r#""randomize": false, "maxSamples": 2000, "maxSamplesEnd": "inside", "transforms": {"x": [1]}"#,
    r#""randomizationWindow": 4, "rightSplice": 1, "maxSamples": 2003, "maxSamplesEnd": "inside""#,
    r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "drop", "transforms": {"x": [7]}"#,
    r#""randomizationWindow": 4, "equalSteps": "repeat", "rightSplice": 1, "transforms": {"x": [7]}"#,
    r#""randomize": false, "equalSteps": "repeat", "maxSamples": 2003, "maxSamplesEnd": "inside""#,
    r#""randomize": "global", "equalSteps": "empty", "sharing": "chunk""#,
    r#""randomizationWindow": 4, "equalSteps": "drop", "sharing": "position""#,
];
const ORDERS_OF_LOCAL: &[&str] = &[
    r#""randomize": false"#,
    r#""randomizationWindow": 3, "randomizationSeed": 3"#,
    r#""randomizationWindow": 90, "sampleBasedRandomizationWindow": true"#,
    r#""randomizationWindow": 3, "truncationLength": 4"#,
    r#""randomizationWindow": 3, "truncationLength": 4, "maxSamples": 1999, "maxSamplesEnd": "inside",
        "transforms": {"x": [5]}"#,
    r#""randomize": false, "sharing": "position""#,
];

/// A way to read a corpus.
pub struct Way {
    /// The options of a source; the corpus and a format are options here, too.
    pub options: String,
    /// The generic tests of it.
    pub level: Level,
}

/// All ways: the corpora in their orders.
pub static WAYS: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let of_corpus = |&(_, corpus, orders, level): &CorpusWays| {
        orders.iter().map(move |order| Way { options: format!("{corpus}, {order}"), level })
    };
    CORPORA.iter().flat_map(of_corpus).collect()
});

/// The orders of texts, alone and joined, and of the binary format: the ways with all generic tests.
pub static ORDERS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| WAYS.iter().filter(|way| way.level == Processes).map(|way| &*way.options).collect());

/// The name of a way in the names of tests: which corpus, and its options without JSON's punctuation.
pub fn label(way: &str) -> String {
    let of_corpus = CORPORA.iter().find_map(|(name, corpus, ..)| Some((*name, way.strip_prefix(corpus)?)));
    let (corpus, options) = of_corpus.expect("each way is of a corpus");
    let plain = format!("{corpus}{options}").replace('"', "").replace(": ", "=");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Less than the decoded corpus takes, so that blocks are evicted and loaded again.
pub const LITTLE_MEMORY: &str = r#""memoryLimit": 44000"#;

/// A memory limit for truncated ways, where sequences that wait in slots are charged beside blocks.
const LITTLE_MEMORY_WITH_SLOTS: &str = r#""memoryLimit": 68000"#;

/// The corpus in memory, made once.
pub fn corpus_store() -> Arc<dyn Store> {
    static STORE: LazyLock<Arc<dyn Store>> =
        LazyLock::new(|| corpus::store(&corpus::text(&corpus::lengths())));
    STORE.clone()
}

/// A source of the corpus.
pub fn open(options: &str, store: &dyn Store) -> Source {
    OpenOptions::in_store(store).open(&config(options)).expect("the data are right")
}

/// An order with an end of the data: after `sweeps` sweeps, unless it has its own.
pub fn ending(order: &str, sweeps: u32) -> String {
    if order.contains("maxSamples") { order.into() } else { format!(r#"{order}, "maxSweeps": {sweeps}"#) }
}

/// All minibatches until the data end, read plainly: one thread, nothing ahead, all in memory.
pub fn plainly(order: &str, samples: u64, workers: u64, rank: u64) -> Vec<Delivered> {
    let options = format!(r#"{}, "threads": 1, "prefetch": false"#, ending(order, 2));
    rest(&mut open(&options, &*corpus_store()), samples, workers, rank)
}

/// A way until the data end, with so little memory that blocks are evicted and loaded again, and with more options.
pub fn busy(order: &str, more: &str) -> String {
    let memory = if order.contains("truncationLength") { LITTLE_MEMORY_WITH_SLOTS } else { LITTLE_MEMORY };
    format!("{}, {memory}, {more}", ending(order, 2))
}

/// All keys, in the order of delivery.
pub fn keys(all: &[Delivered]) -> Vec<String> {
    all.iter().flat_map(|m| m.keys.iter().cloned()).collect()
}

/// The keys in ascending order.
pub fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

/// The keys of a corpus of `n` sequences, each `times` times.
pub fn all_keys(order: &str, n: usize, times: usize) -> Vec<String> {
    // These number their sequences.
    let step = if [BINARY, WHOLE_64, TEXTS, RECORDS].iter().any(|numbered| order.contains(numbered)) {
        1
    } else {
        3
    };
    sorted((0..n * times).map(|i| (i / times * step).to_string()).collect())
}
