//! Datasets that are written from examples, through kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tesson::Error;
use tesson::store::Stores;
use tesson_convert::records::{RecordKind, Records, RecordsFile};
use tesson_formats::example::Value as ExampleValue;
use tesson_prepared::{DatasetWriter, NewDataset, NewSplit};
use tesson_tfds::info::{FileFormat, Version};

use super::kit::folder;

fn new(format: FileFormat) -> NewDataset {
    let features = json!({
        "type": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
        "content": {"n": {
            "type": "tensorflow_datasets.core.features.class_label_feature.ClassLabel",
            "content": {"num_classes": 10},
        }},
    });
    let mut new = NewDataset::new("ds", Version([1, 0, 2]), features);
    new.config = Some("small".into());
    new.file_format = format;
    new.disable_shuffling = true;
    new.description = "Numbers.".into();
    new.labels = vec![(vec!["n".into()], (0..10).map(|n| format!("number {n}")).collect())];
    new.splits = vec![NewSplit::new("train", Some(3)), NewSplit::new("test", None)];
    new
}

/// Writes examples from where the writer stands, up to `train` and `test`.
fn write(writer: &mut DatasetWriter, train: u64, test: u64) {
    for (split, n) in [("train", train), ("test", test)] {
        for n in writer.written(split).expect("there is such a split")..n {
            writer.example(split, &[("n", ExampleValue::Ints(&[n as i64]))]).expect("there is room");
        }
    }
}

fn open(data_dir: &Path, format: FileFormat) -> DatasetWriter {
    DatasetWriter::open(data_dir, new(format)).expect("it can be written")
}

/// All files of a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths
        .map(|path| (path.file_name().expect("it has one").into(), fs::read(&path).expect("a file")))
        .collect()
}

#[test]
fn a_dataset_is_cut_into_shards_by_the_rounding_rule() {
    for format in [FileFormat::TfRecord, FileFormat::ArrayRecord] {
        let data_dir = folder(&format!("prepare-{format}"));
        let mut writer = open(&data_dir, format);
        write(&mut writer, 10, 1);
        let made = writer.finish().expect("it can be written");
        assert_eq!(made, data_dir.join("ds/small/1.0.2"));
        let dataset = tesson_prepared::open(&Stores::local(), &made).expect("it is a dataset");
        assert_eq!(
            tesson_prepared::find(&Stores::local(), "ds/small", &[&data_dir]).expect("it is found"),
            made
        );
        let lengths: Vec<Vec<u64>> =
            dataset.splits.iter().map(|split| split.shards.iter().map(|shard| shard.len).collect()).collect();
        assert_eq!(lengths, [vec![3, 4, 3], vec![1]]);
        let mut found = Vec::new();
        for shard in &dataset.splits[0].shards {
            let kind = RecordKind::of(&Stores::local(), &made.join(&shard.file)).expect("its name says it");
            let file = RecordsFile::open(&Stores::local(), &made.join(&shard.file), kind, 1 << 30)
                .expect("it is there");
            let mut block = Records::new();
            file.read(0, u64::MAX, &mut block).expect("it can be read");
            assert_eq!(block.len() as u64, shard.len);
            // The last byte of such a message is its number.
            found.extend(block.iter().map(|record| record[record.len() - 1]));
        }
        assert_eq!(found, (0..10).collect::<Vec<u8>>());
        let names: Vec<String> = files(&made).keys().map(|path| path.display().to_string()).collect();
        assert!(names.contains(&"n.labels.txt".to_string()), "{names:?}");
        assert_eq!(names.len(), 3 + 1 + 3, "nothing else lies about: {names:?}");
        fs::remove_dir_all(&data_dir).expect("the folder is ours");
    }
}

#[test]
fn a_writer_that_was_killed_anywhere_goes_on_behind_the_last_whole_example() {
    let format = FileFormat::TfRecord;
    let whole_dir = folder("prepare-whole");
    let mut writer = open(&whole_dir, format);
    write(&mut writer, 7, 2);
    let expected = files(&writer.finish().expect("it can be written"));

    let data_dir = folder("prepare-killed");
    let mut writer = open(&data_dir, format);
    write(&mut writer, 5, 2);
    writer.sync().expect("it can be written");
    drop(writer);
    let kept = data_dir.join("ds/small/1.0.2.incomplete/.tesson/train");
    let bytes = fs::read(&kept).expect("what was written is kept");
    let each = bytes.len() / 5;
    // A finish that was killed leaves shards that belong to no dataset.
    let left = data_dir.join("ds/small/1.0.2.incomplete/ds-train.tfrecord-00000-of-00009");
    fs::write(&left, "left").expect("the folder is ours");
    for cut in 0..=bytes.len() {
        fs::write(&kept, &bytes[..cut]).expect("the folder is ours");
        assert_eq!(open(&data_dir, format).written("train").expect("it has one"), (cut / each) as u64);
        // What never reached the disk may be there as zeros.
        fs::write(&kept, [&bytes[..cut], &[0; 40]].concat()).expect("the folder is ours");
        assert_eq!(open(&data_dir, format).written("train").expect("it has one"), (cut / each) as u64);
    }
    fs::write(&kept, &bytes[..bytes.len() - 3]).expect("the folder is ours");
    let mut writer = open(&data_dir, format);
    write(&mut writer, 7, 2);
    assert_eq!(files(&writer.finish().expect("it can be written")), expected);
    for folder in [whole_dir, data_dir] {
        fs::remove_dir_all(folder).expect("the folder is ours");
    }
}

#[test]
fn an_example_that_cannot_be_read_is_refused_and_leaves_nothing_behind() {
    let data_dir = folder("prepare-unreadable");
    let mut writer = open(&data_dir, FileFormat::TfRecord);
    let mut refused = |values: &[(&str, ExampleValue<'_>)]| {
        let e = writer.example("train", values).expect_err("it cannot be read");
        assert!(matches!(e, Error::Usage(_)), "{e}");
        e.to_string()
    };
    let e = refused(&[]);
    assert!(
        e.starts_with("split `train`, example 0, feature `n`: key `n` is absent") && e.contains("optional"),
        "{e}"
    );
    let e = refused(&[("n", ExampleValue::Ints(&[10]))]);
    assert_eq!(e, "split `train`, example 0, feature `n`: label 10, expected 0 to 9, or -1 for no label");
    let e = refused(&[("n", ExampleValue::Ints(&[1, 2]))]);
    assert!(e.contains("2 values are stored, which do not fill the shape ()"), "{e}");
    let e = refused(&[("n", ExampleValue::Bytes(&[b"cat"]))]);
    assert!(e.starts_with("split `train`, example 0"), "{e}");
    writer.example("train", &[("n", ExampleValue::Ints(&[-1]))]).expect("no label is one");
    assert_eq!(writer.written("train").expect("there is such a split"), 1);
    writer.finish().expect("it can be written");
    fs::remove_dir_all(&data_dir).expect("the folder is ours");
}

#[test]
fn a_check_finds_labels_that_are_no_class() {
    let data_dir = folder("prepare-labels");
    let mut writer = open(&data_dir, FileFormat::TfRecord);
    write(&mut writer, 10, 0);
    let made = writer.finish().expect("it can be written");
    // Fewer classes than when the labels were written.
    fs::write(made.join("n.labels.txt"), "a\nb\nc\nd\ne\nf\ng\nh\n").expect("the folder is ours");
    let features = fs::read_to_string(made.join("features.json")).expect("it is there");
    fs::write(made.join("features.json"), features.replace("10", "8")).expect("the folder is ours");
    let dataset = tesson_prepared::open(&Stores::local(), &made).expect("it is a dataset");
    let mut told = Vec::new();
    let checked = tesson_prepared::check(
        &Stores::local(),
        &dataset,
        1 << 30,
        &mut |e| told.push(e.to_string()),
        &mut |_| (),
    );
    assert_eq!(checked.expect("it can be read").faults, 2, "{told:?}");
    assert!(told[0].contains("feature `n`: label 8, expected 0 to 7, or -1 for no label"), "{told:?}");
    assert!(told[1].contains("ds-train.tfrecord-00002-of-00003") && told[1].contains("label 9"), "{told:?}");
    fs::remove_dir_all(&data_dir).expect("the folder is ours");
}

#[test]
fn what_cannot_be_a_dataset_is_refused() {
    let data_dir = folder("prepare-refused");
    let refused = |change: &dyn Fn(&mut NewDataset)| {
        let mut new = new(FileFormat::TfRecord);
        change(&mut new);
        DatasetWriter::open(&data_dir, new).err().expect("it is refused")
    };
    let e = refused(&|new| new.name = "../ds".into());
    assert!(matches!(e, Error::Config(_)) && e.to_string().contains("`../ds`"), "{e}");
    let e = refused(&|new| new.splits[1].name = "train".into());
    assert!(e.to_string().contains("twice"), "{e}");
    for n in [0, NewSplit::MAX_SHARDS + 1, usize::MAX] {
        let e = refused(&|new| new.splits[0].shards = Some(n));
        let expected = format!("split `train` has {n} shards, expected a whole number from 1 to 99999");
        assert!(matches!(e, Error::Config(_)) && e.to_string().contains(&expected), "{e}");
    }
    let e = refused(&|new| new.file_format = FileFormat::Riegeli);
    assert!(e.to_string().contains("`riegeli`"), "{e}");
    let e = refused(&|new| new.features = json!({"type": "nothing"}));
    assert!(matches!(e, Error::Config(_)), "{e}");
    let e = refused(&|new| new.labels[0].1.truncate(3));
    assert!(e.to_string().contains("found 3 names for 10 classes"), "{e}");
    let e = refused(&|new| new.labels[0].1[1] = "number 0".into());
    assert!(e.to_string().contains("two classes have the name `number 0`"), "{e}");
    let e = refused(&|new| new.labels[0].1[1] = " a".into());
    assert!(e.to_string().contains("is no name of a class"), "{e}");
    assert!(!data_dir.join("ds").exists(), "nothing is begun of a dataset that is refused");
    let mut writer = open(&data_dir, FileFormat::TfRecord);
    let e = writer.record("valid", b"").expect_err("there is no such split");
    assert_eq!(e.to_string(), "there is no split `valid`, expected one of train, test");
    drop(writer);
    let e = refused(&|new| new.splits.truncate(1));
    assert!(matches!(e, Error::Resume(_)) && e.to_string().contains("`splits`"), "{e}");
    open(&data_dir, FileFormat::TfRecord).finish().expect("a dataset may be empty");
    let e = refused(&|_| {});
    assert!(matches!(e, Error::Usage(_)) && e.to_string().contains("exists already"), "{e}");
    fs::remove_dir_all(&data_dir).expect("the folder is ours");
}

#[cfg(unix)]
#[test]
fn links_where_the_writer_writes_are_not_followed() {
    use std::os::unix::fs::symlink;
    let data_dir = folder("prepare-links");
    let other = data_dir.join("other");
    fs::write(&other, "untouched").expect("the folder can be written");
    let kept = data_dir.join("ds/small/1.0.2.incomplete/.tesson");
    fs::create_dir_all(&kept).expect("the folder can be written");
    symlink(&other, kept.join("dataset.json.tmp")).expect("the folder can be written");
    symlink(&other, kept.join("train")).expect("the folder can be written");
    let e = DatasetWriter::open(&data_dir, new(FileFormat::TfRecord)).err().expect("it is refused");
    assert!(
        e.to_string().contains("train: is no regular file, expected one that this writer has made"),
        "{e}"
    );
    fs::remove_file(kept.join("train")).expect("the folder can be written");

    let mut writer = open(&data_dir, FileFormat::TfRecord);
    write(&mut writer, 10, 1);
    let folder = kept.parent().expect("it has one");
    for name in ["features.json", "dataset_info.json", "ds-train.tfrecord-00000-of-00003.tmp"] {
        symlink(&other, folder.join(name)).expect("the folder can be written");
    }
    let made = writer.finish().expect("it can be written");
    assert_eq!(fs::read_to_string(&other).expect("it was written"), "untouched");
    assert!(
        fs::read_dir(made).expect("it is there").all(|entry| {
            entry.expect("the folder can be read").file_type().expect("it has one").is_file()
        })
    );
}
