//! The kit of the façade's tests: small corpora in memory or in files of their own, sources of them, and what they deliver.

use std::fmt::Write as _;
use std::path::PathBuf;

use tesson::config::from_json;
use tesson::store::{MemoryStore, Store};
use tesson::{
    DataError, Error, Minibatch, OpenOptions, Purpose, ResumeState, SampleValues, Samples, Source,
    SourceConfig, StreamBatch,
};
use tesson_engine::{Checked, Severity};

/// A store of these files.
pub(crate) fn store_of<N: AsRef<str>, B: AsRef<[u8]>>(
    files: impl IntoIterator<Item = (N, B)>,
) -> MemoryStore {
    let add = |store: MemoryStore, (name, bytes): (N, B)| store.with(name.as_ref(), bytes.as_ref().to_vec());
    files.into_iter().fold(MemoryStore::new(), add)
}

/// The source of a configuration in JSON, whose files a store has.
pub(crate) fn open(store: &dyn Store, json: &str) -> Result<Source, Error> {
    OpenOptions::in_store(store).open(&from_json(json)?)
}

/// A source that is opened to be checked, which may have what reading refuses.
pub(crate) fn open_to_check(store: &dyn Store, json: &str) -> Source {
    let options = OpenOptions { purpose: Purpose::Check, ..OpenOptions::in_store(store) };
    let config = from_json(json).expect("the test's configuration is right");
    options.open(&config).expect("what is wrong is found by the check")
}

/// The findings of a check, and its summary; `of` says what is kept of each error.
pub(crate) fn checked<T>(
    store: &dyn Store,
    json: &str,
    mut of: impl FnMut(&DataError, Severity) -> T,
) -> (Vec<T>, Checked) {
    let mut found = Vec::new();
    let checked = open_to_check(store, json).check(&mut |error, severity| found.push(of(error, severity)));
    (found, checked.expect("the check comes to its end"))
}

/// Why something is refused.
pub(crate) fn refusal<T>(result: Result<T, Error>) -> String {
    result.err().expect("it is refused").to_string()
}

/// The part of each minibatch that `of` takes, up to the end of the data, or the error before it.
pub(crate) fn read_all<T>(
    source: &mut Source,
    size: u64,
    of: impl Fn(&Minibatch) -> T,
) -> Result<Vec<T>, Error> {
    std::iter::from_fn(|| source.next_minibatch(size).transpose()).map(|next| Ok(of(&next?))).collect()
}

/// The one minibatch of all data.
pub(crate) fn whole(source: &mut Source) -> Result<Minibatch, Error> {
    Ok(source.next_minibatch(1 << 20)?.expect("there are sequences"))
}

/// The values of a dense stream.
pub(crate) fn dense(minibatch: &Minibatch, stream: &str) -> Vec<f64> {
    let Samples::Dense { values } = stream_of(minibatch, stream).samples() else {
        panic!("`{stream}` is dense")
    };
    numbers(values)
}

/// The columns of all entries of a sparse stream, such as the classes of labels.
pub(crate) fn columns(minibatch: &Minibatch, stream: &str) -> Vec<i32> {
    let Samples::Sparse { indices, .. } = stream_of(minibatch, stream).samples() else {
        panic!("`{stream}` is sparse")
    };
    indices.to_vec()
}

/// The values of each sequence of a dense stream.
pub(crate) fn sequences(minibatch: &Minibatch, stream: &str) -> Vec<Vec<f64>> {
    let (values, batch) = (dense(minibatch, stream), stream_of(minibatch, stream));
    per_sequence(&values, batch, batch.info().shape.len())
}

/// The parts of a stream's values or columns that belong to each sequence, with `of_sample` of them in each sample.
pub(crate) fn per_sequence<T: Clone>(of: &[T], stream: &StreamBatch, of_sample: usize) -> Vec<Vec<T>> {
    let mut rest = of;
    let mut take = |&n: &u32| rest.split_off(..n as usize * of_sample).expect("as many as samples").to_vec();
    let sequences = stream.lengths().iter().map(&mut take).collect();
    assert!(rest.is_empty(), "each is of a sequence");
    sequences
}

/// Values of any type.
pub(crate) fn numbers(values: &SampleValues) -> Vec<f64> {
    (0..values.len()).map(|i| values.get(i)).collect()
}

/// The keys of a minibatch, as texts.
pub(crate) fn keys(minibatch: &Minibatch) -> Vec<String> {
    (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect()
}

/// A stream that a minibatch has.
pub(crate) fn stream_of<'a>(minibatch: &'a Minibatch, name: &str) -> &'a StreamBatch {
    minibatch.stream(name).expect("the source has the stream")
}

/// An image of one row, as a file: every value of it is `value`.
pub(crate) fn ppm(width: usize, value: u8) -> Vec<u8> {
    [format!("P6 {width} 1 255\n").as_bytes(), &vec![value; 3 * width]].concat()
}

/// A folder for one test, empty.
pub(crate) fn folder(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the folder for temporary files can be written");
    path
}

/// `n` sequences of 1 to 4 rows, `id |x value |y index:1`; the value is 100·id + row.
pub(crate) fn rows(n: u32) -> String {
    let mut text = String::new();
    for id in 0..n {
        for row in 0..1 + id % 4 {
            writeln!(text, "{id} |x {} |y {}:1", 100 * id + row, id % 7).expect("strings take everything");
        }
    }
    text
}

/// A file with this text, and the configuration that reads it; `options` are more entries of the source, `ctf` of the
/// deserializer.
pub(crate) fn source(test: &str, text: &str, options: &str, ctf: &str) -> (PathBuf, SourceConfig) {
    let file = folder(test).join("train.ctf");
    std::fs::write(&file, text).expect("the folder for temporary files can be written");
    let config = config_of(&file, options, ctf);
    (file, config)
}

/// The configuration that reads a file.
pub(crate) fn config_of(file: &std::path::Path, options: &str, ctf: &str) -> SourceConfig {
    config_with(file, 1, options, ctf)
}

/// The configuration that reads a file whose `x` has `dim` values a sample.
pub(crate) fn config_with(file: &std::path::Path, dim: usize, options: &str, ctf: &str) -> SourceConfig {
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "input": {{
            "x": {{"dim": {dim}, "format": "dense"}}, "y": {{"dim": 7, "format": "sparse"}}}} {ctf}}}] {options}}}"#
    );
    from_json(&json).expect("the test's configuration is right")
}

/// A source that resumes from a state.
pub(crate) fn resumed(config: &SourceConfig, state: &ResumeState) -> Result<Source, Error> {
    let mut source = tesson::open(config)?;
    source.restore(state)?;
    Ok(source)
}

/// The values of stream `x`.
pub(crate) fn values(minibatch: &Minibatch) -> Vec<f64> {
    dense(minibatch, "x")
}

/// The values of stream `x` of all minibatches that are left.
pub(crate) fn rest(source: &mut Source, size: u64) -> Vec<Vec<f64>> {
    read_all(source, size, values).expect("the data are right")
}

/// Makes a named pipe: opening it waits for the other end.
#[cfg(unix)]
pub(crate) fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("Unix has mkfifo");
    assert!(made.success());
}
