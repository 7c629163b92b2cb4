//! Shared by the tests of the command: folders with small inputs, and running the command in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A folder of a test's own, empty.
pub(crate) fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the command in a folder; arguments are separated by blanks.
pub(crate) fn tesson(folder: &Path, args: &str) -> Output {
    command(folder, args).output().unwrap()
}

pub(crate) fn command(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesson"));
    command.current_dir(folder).args(args.split_whitespace());
    command
}

pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines of a run that has to succeed.
pub(crate) fn answers(folder: &Path, args: &str) -> Vec<Value> {
    let output = tesson(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args}: {}", stderr(&output));
    lines(&output)
}

/// Standard error of a run that has to fail with this exit code.
pub(crate) fn refused(folder: &Path, args: &str, code: i32) -> String {
    let output = tesson(folder, args);
    assert_eq!(output.status.code(), Some(code), "{args}: {}", stderr(&output));
    stderr(&output)
}

pub(crate) const TWO: &str = "1 |a 1 2 |b 3:0.5 1:-1\n1 |a 3 4 |b 0:2\n2 |a 5 6.25 |b\n";
pub(crate) const STREAMS: &str = "--stream a:2 --stream b:4:sparse --randomize false";

pub(crate) fn two(test: &str) -> PathBuf {
    let folder = folder(test);
    fs::write(folder.join("two.ctf"), TWO).unwrap();
    folder
}

/// 40 sequences of one or two samples, x = 100 · key + t.
pub(crate) fn many(test: &str) -> PathBuf {
    let folder = folder(test);
    let mut text = String::new();
    for key in 0..40 {
        for t in 0..=(key % 2) {
            text.push_str(&format!("{key} |x {}\n", 100 * key + t));
        }
    }
    fs::write(folder.join("many.ctf"), text).unwrap();
    let reader = json!({"deserializers": [{
        "type": "CNTKTextFormatDeserializer", "file": "many.ctf", "chunkSizeInBytes": 60,
        "input": {"x": {"dim": 1, "format": "dense"}}}]});
    fs::write(folder.join("many.json"), reader.to_string()).unwrap();
    folder
}

/// A TFRecord file of these records.
pub(crate) fn tfrecord(folder: &Path, name: &str, records: &[&str]) {
    let mut writer =
        tesson_convert::records::TfRecordWriter::new(fs::File::create(folder.join(name)).unwrap());
    records.iter().for_each(|record| writer.record(record.as_bytes()).unwrap());
    writer.finish().unwrap();
}

/// A prepared dataset of two files with three records and one.
pub(crate) fn prepared(test: &str) -> PathBuf {
    let folder = folder(test);
    let info = r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": [3, 1]}]}"#;
    fs::write(folder.join("dataset_info.json"), info).expect("a file");
    fs::write(folder.join("features.json"), r#"{"pythonClassName": "FeaturesDict", "featuresDict": {}}"#)
        .expect("a file");
    tfrecord(&folder, "d-train.tfrecord-00000-of-00002", &["", "", ""]);
    tfrecord(&folder, "d-train.tfrecord-00001-of-00002", &[""]);
    folder
}

/// A binary file with the dense stream `a` of two values: sequences `[1 2]` and `[3 4], [5 6]` in one chunk.
pub(crate) fn binary(test: &str) -> PathBuf {
    let folder = folder(test);
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let floats = |floats: &[f32]| floats.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<u8>>();
    let magic = b"nib_ktnc".to_vec();
    let chunk = [words(&[1, 2, 1]), floats(&[1., 2.]), words(&[2]), floats(&[3., 4., 5., 6.])].concat();
    let header =
        [magic.clone(), words(&[1, 1]), vec![0], words(&[1]), b"a".to_vec(), vec![0], words(&[2])].concat();
    let table = words(&[12, 0, 2, 3, 52, 0]);
    fs::write(folder.join("two.cbf"), [magic, words(&[1]), chunk, header, table].concat()).unwrap();
    folder
}
