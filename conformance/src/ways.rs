//! The ways in which a source can deliver the test corpus, and how they are read.

use std::sync::{Arc, LazyLock};

use tesson::store::Store;
use tesson::{OpenOptions, Source};

use crate::corpus::{
    self, ARCHIVES, BAD_MAP, BASE64, BINARY, BINARY_JOINED, BINARY_TRUNCATED, BYTES, Delivered, FAULTY_ROWS,
    FAULTY_ROWS_JOINED, FEATURES, FEATURES_JOINED, FEATURES_TRUNCATED, FRAMES, FRAMES_JOINED,
    FRAMES_LABELLED, FRAMES_OF_TEXT, JOINED, LABELLED, LOCAL, MAP, MATRICES, PREPARED, PREPARED_JOINED,
    PREPARED_TRUNCATED, RAGGED, ROWS, SEVERAL, TRUNCATED, config, rest,
};

/// The orders, as options of a source; and joins and formats, which are options here too.
pub static ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomizationWindow": 128"#,
        r#""randomizationWindow": 150, "sampleBasedRandomizationWindow": true, "randomizationSeed": 9"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
        r#""randomizationWindow": 4, "minibatchSizeInSequences": 5"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "bucketing": 20"#,
    ];
    let in_order_shuffled_and_global = || [0, 1, 4].map(|i| orders[i]).into_iter();
    let joined = in_order_shuffled_and_global().map(|order| format!("{JOINED}, {order}"));
    let binary = in_order_shuffled_and_global().map(|order| format!("{BINARY}, {order}"));
    orders.iter().map(|order| order.to_string()).chain(joined).chain(binary).collect()
});

/// Three of the orders, of a prepared dataset.
pub static PREPARED_ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 4, "randomizationSeed": 3"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    orders.iter().map(|order| format!("{PREPARED}, {order}")).collect()
});

/// Orders of pictures, which transforms cut and colour at random.
pub static PICTURE_ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 40, "randomizationSeed": 3"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    [MAP, BASE64].iter().flat_map(|pictures| orders.map(|order| format!("{pictures}, {order}"))).collect()
});

/// Orders of features of speech.
pub static SPEECH_ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let orders = [
        r#""randomize": false"#,
        r#""randomizationWindow": 150, "sampleBasedRandomizationWindow": true, "randomizationSeed": 9"#,
        r#""randomize": "global", "randomizationSeed": 5"#,
    ];
    [FEATURES, FEATURES_JOINED]
        .iter()
        .flat_map(|speech| orders.map(|order| format!("{speech}, {order}")))
        .collect()
});

/// Pictures with CNTK's draws, which depend on all minibatches before: no state can be restored, and the shares of several
/// workers are not the pictures of one.
pub static DRAWS_OF_CNTK: LazyLock<Vec<String>> = LazyLock::new(|| {
    let draws = r#""randomizationWindow": 40, "augmentation": "cntk""#;
    [MAP, BAD_MAP, BASE64, ARCHIVES].iter().map(|pictures| format!("{pictures}, {draws}")).collect()
});

/// All ways to read a source, as options: the orders, truncation, and local timelines.
pub static WAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let truncated = [
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
    let local = [
        r#""randomize": false"#,
        r#""randomizationWindow": 3, "randomizationSeed": 3"#,
        r#""randomizationWindow": 90, "sampleBasedRandomizationWindow": true"#,
        r#""randomizationWindow": 3, "truncationLength": 4"#,
        r#""randomizationWindow": 3, "truncationLength": 4, "maxSamples": 1999, "maxSamplesEnd": "inside",
            "transforms": {"x": [5]}"#,
        r#""randomize": false, "sharing": "position""#,
    ];
    let binary = [
        format!(r#"{BINARY_TRUNCATED}, "randomizationWindow": 4"#),
        format!(r#"{BINARY_JOINED}, "randomize": false"#),
        format!(r#"{BINARY_JOINED}, "randomizationWindow": 4"#),
        format!(r#"{PREPARED_TRUNCATED}, "randomizationWindow": 4"#),
        format!(r#"{PREPARED_JOINED}, "randomize": false"#),
        format!(r#"{PREPARED_JOINED}, "randomizationWindow": 4"#),
    ];
    let several = ORDERS[..5].iter().map(|order| format!("{SEVERAL}, {order}"));
    let equal = [
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "drop""#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "repeat""#,
        r#""randomizationWindow": 4, "randomizationSeed": 3, "equalSteps": "empty""#,
        r#""randomize": false, "equalSteps": "repeat""#,
        r#""randomize": "global", "equalSteps": "drop", "minibatchSizeInSequences": 7"#,
    ];
    let faulty = [FAULTY_ROWS, FAULTY_ROWS_JOINED]
        .into_iter()
        .flat_map(|rows| [0, 1, 2, 4].map(|i| format!("{rows}, {}", ORDERS[i])));
    let whole = [
        r#""randomizationWindow": 4, "maxSamples": 2001, "maxSamplesEnd": "inside", "transforms": {"x": [1]}"#,
    ];
    let truncated = truncated.iter().map(|order| format!("{TRUNCATED}, {order}"));
    let local = local.iter().map(|order| format!("{LOCAL}, {order}"));
    let equal = equal.iter().map(|order| order.to_string());
    let prepared = PREPARED_ORDERS.iter().cloned();
    let pictures = PICTURE_ORDERS.iter().cloned();
    let other_pictures = [
        format!(r#"{ARCHIVES}, "randomize": false"#),
        format!(r#"{ARCHIVES}, "randomizationWindow": 40, "sharing": "position""#),
        format!(r#"{BAD_MAP}, "randomize": false"#),
        format!(r#"{BAD_MAP}, "randomizationWindow": 40, "sharing": "position""#),
        format!(r#"{BYTES}, "randomizationWindow": 40"#),
        format!(r#"{RAGGED}, "randomizationWindow": 40"#),
    ];
    let speech = SPEECH_ORDERS.iter().cloned();
    let other_speech = [
        format!(r#"{FRAMES}, "randomize": false"#),
        format!(r#"{FRAMES}, "randomizationWindow": 4, "randomizationSeed": 3"#),
        format!(r#"{FRAMES}, "randomize": "global", "sharing": "position""#),
        format!(r#"{FRAMES_JOINED}, "randomize": false"#),
        format!(r#"{FRAMES_JOINED}, "randomizationWindow": 300, "sampleBasedRandomizationWindow": true"#),
        format!(r#"{LABELLED}, "randomize": false"#),
        format!(r#"{LABELLED}, "randomizationWindow": 4, "randomizationSeed": 3"#),
        format!(r#"{LABELLED}, "randomize": "global", "sharing": "position""#),
        format!(r#"{FRAMES_LABELLED}, "randomize": false"#),
        format!(r#"{FRAMES_LABELLED}, "randomizationWindow": 4, "randomizationSeed": 3"#),
        format!(r#"{FRAMES_OF_TEXT}, "randomize": false"#),
        format!(r#"{FRAMES_OF_TEXT}, "randomizationWindow": 4, "randomizationSeed": 3"#),
        format!(r#"{FRAMES_OF_TEXT}, "randomize": "global", "sharing": "position""#),
        format!(r#"{FEATURES_TRUNCATED}, "randomizationWindow": 4, "sharing": "position""#),
        format!(r#"{FEATURES_TRUNCATED}, "randomize": false, "rightSplice": 2"#),
        format!(r#"{MATRICES}, "randomize": false"#),
        format!(r#"{MATRICES}, "randomizationWindow": 4, "sharing": "position""#),
        format!(r#"{ROWS}, "randomize": "global""#),
    ];
    let whole = whole.iter().map(|order| order.to_string());
    let others = several
        .chain(faulty)
        .chain(whole)
        .chain(truncated)
        .chain(local)
        .chain(equal)
        .chain(binary)
        .chain(prepared)
        .chain(pictures)
        .chain(other_pictures)
        .chain(speech)
        .chain(other_speech);
    ORDERS.iter().cloned().chain(others).collect()
});

/// The name of a way in the names of tests: which corpus, and its options without JSON's punctuation.
pub fn label(way: &str) -> String {
    let corpora = [
        (JOINED, "joined"),
        (SEVERAL, "several"),
        (FAULTY_ROWS, "faulty"),
        (FAULTY_ROWS_JOINED, "faulty joined"),
        (TRUNCATED, "truncated"),
        (LOCAL, "local"),
        (BINARY, "binary"),
        (BINARY_TRUNCATED, "binary truncated"),
        (BINARY_JOINED, "binary joined"),
        (PREPARED, "prepared"),
        (PREPARED_TRUNCATED, "prepared truncated"),
        (PREPARED_JOINED, "prepared joined"),
        (FEATURES, "features"),
        (FEATURES_JOINED, "features joined"),
        (FEATURES_TRUNCATED, "features truncated"),
        (FRAMES, "frames"),
        (FRAMES_JOINED, "frames joined"),
        (MATRICES, "matrices"),
        (ROWS, "rows"),
        (LABELLED, "labelled"),
        (FRAMES_LABELLED, "frames labelled"),
        (FRAMES_OF_TEXT, "frames of text"),
        (MAP, "map"),
        (ARCHIVES, "archives"),
        (BYTES, "bytes"),
        (RAGGED, "ragged"),
        (BAD_MAP, "bad map"),
        (BASE64, "base64"),
    ];
    let of_corpus = corpora.iter().find_map(|(start, name)| Some((*name, way.strip_prefix(start)?)));
    let (corpus, options) = of_corpus.unwrap_or(("text, ", way));
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
    // The binary format numbers its sequences.
    let step = if order.contains(BINARY) { 1 } else { 3 };
    sorted((0..n * times).map(|i| (i / times * step).to_string()).collect())
}
