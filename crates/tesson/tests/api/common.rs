//! Helpers shared by the tests of the façade: small corpora in files of their own.

use std::fmt::Write as _;
use std::path::PathBuf;

use tesson::{Error, Minibatch, ResumeState, Samples, Source, SourceConfig};

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
    tesson::config::from_json(&json).expect("the test's configuration is right")
}

/// A source that resumes from a state.
pub(crate) fn resumed(config: &SourceConfig, state: &ResumeState) -> Result<Source, Error> {
    let mut source = tesson::open(config)?;
    source.restore(state)?;
    Ok(source)
}

/// The values of stream `x`.
pub(crate) fn values(minibatch: &Minibatch) -> Vec<f64> {
    let Samples::Dense { values } = minibatch.stream("x").expect("stream x").samples() else {
        panic!("x is dense")
    };
    (0..values.len()).map(|i| values.get(i)).collect()
}

/// The values of stream `x` of all minibatches that are left.
pub(crate) fn rest(source: &mut Source, size: u64) -> Vec<Vec<f64>> {
    std::iter::from_fn(|| source.next_minibatch(size).expect("the data are right"))
        .map(|m| values(&m))
        .collect()
}

/// Makes a named pipe: opening it waits for the other end.
#[cfg(unix)]
pub(crate) fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("Unix has mkfifo");
    assert!(made.success());
}
