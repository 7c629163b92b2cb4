//! Index caches are used when they fit, and only then.

use std::fs;
use std::path::Path;

use crate::kit::{config_of, dense, folder, keys, read_all, rest, rows, source};
use tesson::config::from_json;
use tesson::{Minibatch, SourceConfig};
use tesson_engine::index_cache;

const CACHED: &str = r#", "cacheIndex": true, "chunkSizeInBytes": 200"#;
const SHUFFLED: &str = r#", "randomizationWindow": 3, "maxSweeps": 1"#;

/// Bytes that were indexed while opening, and everything read.
fn open(config: &SourceConfig) -> (u64, Vec<Vec<f64>>) {
    let mut source = tesson::open(config).expect("the file is right");
    let indexed = source.stats().bytes_indexed;
    (indexed, rest(&mut source, 10))
}

fn cache_of(file: &Path) -> Vec<u8> {
    fs::read(index_cache::path(file)).expect("a cache lies beside the input")
}

#[test]
fn a_cached_index_is_used_and_gives_the_same_data() {
    let text = rows(100);
    let (file, config) = source("cache-used", &text, SHUFFLED, CACHED);
    let (indexed, data) = open(&config);
    assert_eq!(indexed, text.len() as u64);
    assert!(!cache_of(&file).is_empty());
    assert_eq!(open(&config), (0, data));
}

#[test]
fn a_cache_of_other_data_is_made_anew() {
    let (file, config) = source("cache-other-data", &rows(100), SHUFFLED, CACHED);
    open(&config);
    let text = rows(90);
    fs::write(&file, &text).expect("the folder can be written");
    let (indexed, data) = open(&config);
    assert_eq!(indexed, text.len() as u64);
    assert_eq!(data.concat().len(), text.lines().count());
    assert_eq!(open(&config), (0, data));
}

#[test]
fn a_cache_made_with_other_options_is_not_used() {
    let (file, config) = source("cache-other-options", &rows(100), SHUFFLED, CACHED);
    open(&config);
    let lines = config_of(
        &file,
        SHUFFLED,
        r#", "cacheIndex": true, "chunkSizeInBytes": 200, "skipSequenceIds": true"#,
    );
    let (indexed, data) = open(&lines);
    assert!(indexed > 0);
    assert_eq!(data.concat().len(), rows(100).lines().count());
}

/// Tables of text: name, text and options of two files, and a stream whose values are compared.
const TABLES: [(&str, [&str; 2], &str, &str); 3] = [
    // The second file has another delimiter and one more column, which is not read.
    ("csv", ["x,y\n1,2\n3,4\n\n5,6\n", "x;z;y\n7;a;8\n"], r#", "columns": ["x"]"#, "x"),
    ("jsonl", ["{\"x\": [1, 2]}\n{\"x\": [3]}\n", "\n{\"x\": [4, 5, 6]}\n"], "", "x"),
    (
        "svm",
        ["1 qid:1 1:2 # a comment\n# another\n0 qid:1 2:1\n", "1 qid:2 3:1\n"],
        r#", "numFeatures": 3, "zeroBased": false"#,
        "labels",
    ),
];

#[test]
fn a_cached_index_of_a_table_of_text_is_used_and_gives_the_same_data() {
    for (end, texts, options, stream) in TABLES {
        let folder = folder(&format!("cache-table-{end}"));
        let place = |i: usize| folder.join(format!("{i}.{end}"));
        texts.iter().enumerate().for_each(|(i, text)| fs::write(place(i), text).expect("it can be written"));
        let pattern = folder.join(format!("*.{end}"));
        let reader = |caches: bool| {
            from_json(&format!(
                r#"{{"deserializers": [{{"type": "TableDeserializer", "file": {pattern:?}, "cacheIndex": {caches} {options}}}],
                "randomize": false, "maxSweeps": 1}}"#
            ))
        };
        let read = |caches: bool| {
            let config = reader(caches).expect("the configuration is right");
            let mut source = tesson::open(&config).expect("the files are right");
            let n = source.num_sequences().expect("the files are right");
            let indexed = source.stats().bytes_indexed;
            let of = |minibatch: &Minibatch| (dense(minibatch, stream), keys(minibatch));
            (indexed > 0, (n, read_all(&mut source, 2, of).expect("the data are right")))
        };
        let (indexed, data) = read(false);
        assert!(indexed && !index_cache::path(&place(0)).exists(), "{end}");
        assert_eq!(read(true), (true, data.clone()), "{end}");
        assert_eq!(read(true), (false, data.clone()), "{end}: the cache is used");
        let good = cache_of(&place(0));
        fs::write(index_cache::path(&place(0)), &good[..good.len() - 1]).expect("it can be written");
        assert_eq!(read(true), (true, data.clone()), "{end}: the cache is damaged");
        fs::write(place(1), format!("{}{}", texts[1], texts[1].lines().last().unwrap())).unwrap();
        let (indexed, other) = read(true);
        assert!(indexed && other != data, "{end}: the file is another one");
        assert_eq!(read(true), (false, other), "{end}");
    }
}

#[test]
fn a_damaged_cache_is_made_anew_whatever_byte_is_wrong() {
    let (file, config) = source("cache-damaged", &rows(40), SHUFFLED, CACHED);
    let (_, data) = open(&config);
    let good = cache_of(&file);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        fs::write(index_cache::path(&file), &bad).expect("the folder can be written");
        let (indexed, again) = open(&config);
        assert!(indexed > 0, "byte {at} was changed and the cache was used");
        assert_eq!(again, data);
        assert_eq!(cache_of(&file), good);
    }
    for length in [0, 1, 7, 8, 59, 60, good.len() - 1] {
        fs::write(index_cache::path(&file), &good[..length]).expect("the folder can be written");
        assert!(open(&config).0 > 0, "{length} bytes of a cache were used");
    }
}

#[test]
fn without_the_option_no_cache_is_written() {
    let (file, config) = source("cache-off", &rows(10), SHUFFLED, "");
    open(&config);
    assert!(!index_cache::path(&file).exists());
}

#[test]
fn a_folder_that_cannot_be_written_costs_only_the_cache() {
    let (file, config) = source("cache-readonly", &rows(10), SHUFFLED, CACHED);
    // A folder in the place of the cache: it can be neither read nor replaced.
    fs::create_dir(index_cache::path(&file)).expect("the folder can be written");
    let (_, data) = open(&config);
    assert_eq!(data.concat().len(), rows(10).lines().count());
}

/// Reads a corpus whose cache is something else, made by `place`; the data must be those without a cache.
fn read_beside(test: &str, place: impl Fn(&Path, &[u8])) {
    let (file, config) = source(test, &rows(40), SHUFFLED, CACHED);
    let (_, data) = open(&config);
    let (path, good) = (index_cache::path(&file), cache_of(&file));
    fs::remove_file(&path).expect("the folder can be written");
    place(&path, &good);
    let (indexed, again) = open(&config);
    assert!(indexed > 0);
    assert_eq!(again, data);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_cache_is_not_opened() {
    // Opening it would wait for a writer.
    read_beside("cache-pipe", |path, _| crate::kit::make_pipe(path));
}

#[test]
fn a_cache_that_declares_more_than_its_corpus_can_have_is_not_read() {
    // With the header of a good one, and a size that agrees with the file's; reading it would take 10 GiB of memory.
    read_beside("cache-sparse", |path, good| {
        const PAYLOAD: u64 = 10 << 30;
        const SIZE_AT: usize = 44;
        let mut bytes = good[..SIZE_AT + 16].to_vec();
        bytes[SIZE_AT..SIZE_AT + 8].copy_from_slice(&PAYLOAD.to_le_bytes());
        fs::write(path, &bytes).expect("the folder can be written");
        let file = fs::OpenOptions::new().write(true).open(path).expect("it was written");
        file.set_len(bytes.len() as u64 + PAYLOAD).expect("sparse files take no room");
    });
}

#[cfg(unix)]
#[test]
fn links_where_caches_were_once_made_are_not_followed() {
    let (file, config) = source("cache-links", &rows(40), SHUFFLED, CACHED);
    let (cache, other) = (index_cache::path(&file), file.with_extension("other"));
    fs::write(&other, "untouched").expect("the folder can be written");
    let temporary = format!("{}.{}.tmp", cache.display(), std::process::id());
    for link in [cache.as_path(), Path::new(&temporary)] {
        std::os::unix::fs::symlink(&other, link).expect("the folder can be written");
    }
    open(&config);
    assert_eq!(fs::read_to_string(&other).expect("it was written"), "untouched");
    assert_eq!(open(&config).0, 0);
    assert!(!cache.is_symlink());
}
