//! dataset_info.json (spec/tfds.md §1.2).

mod write;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tesson_core::DataError;

use super::template::Names;
use super::{Template, Version};
use crate::fault::TfdsFault;
use crate::json::{Message, parse};
use crate::refusal::DatasetRefusal;

/// The format of a dataset's files.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// TFRecord (spec/tfds.md §2).
    TfRecord,
    /// ArrayRecord (spec/tfds.md §3).
    ArrayRecord,
    /// Parquet (spec/tfds.md §4).
    Parquet,
    /// Riegeli (spec/tfds.md §4), which cannot be read.
    Riegeli,
}

impl FileFormat {
    const ALL: [FileFormat; 4] =
        [FileFormat::TfRecord, FileFormat::ArrayRecord, FileFormat::Parquet, FileFormat::Riegeli];

    /// The format of a name; empty is TFRecord.
    ///
    /// # Errors
    /// No such format.
    pub fn parse(name: &str) -> Result<FileFormat, DatasetRefusal> {
        if name.is_empty() {
            return Ok(FileFormat::TfRecord);
        }
        FileFormat::ALL.into_iter().find(|format| format.suffix() == name).ok_or_else(|| {
            let all: Vec<&str> = FileFormat::ALL.iter().map(|format| format.suffix()).collect();
            DatasetRefusal::UnknownFormat { name: name.to_owned(), known: all.join(", ") }
        })
    }

    /// Its name, which is also that of files.
    pub fn suffix(self) -> &'static str {
        match self {
            FileFormat::TfRecord => "tfrecord",
            FileFormat::ArrayRecord => "array_record",
            FileFormat::Parquet => "parquet",
            FileFormat::Riegeli => "riegeli",
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.suffix())
    }
}

/// A split, as it is described.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitInfo {
    /// Its name.
    pub name: String,
    /// Records of each shard.
    pub shard_lengths: Vec<u64>,
    /// The template of its files' names.
    pub template: Template,
    /// Its total size in bytes, or 0 if that is not declared.
    pub n_bytes: u64,
}

/// A grouping of features, as `as_supervised` delivers them (`supervisedKeys`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nest {
    /// A feature.
    Key(String),
    /// Several in their order.
    Tuple(Vec<Nest>),
    /// Several by name, as written.
    Dict(Vec<(String, Nest)>),
}

impl Nest {
    /// Names of features; tuples are lists, dicts are objects.
    pub fn describe(&self) -> Value {
        match self {
            Nest::Key(key) => json!(key),
            Nest::Tuple(items) => items.iter().map(Nest::describe).collect(),
            Nest::Dict(fields) => fields.iter().map(|(name, nest)| (name.clone(), nest.describe())).collect(),
        }
    }
}

/// The texts of dataset_info.json for people; reading needs none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// A description of the dataset.
    pub description: String,
    /// The text to cite it with.
    pub citation: String,
    /// The address of its home page.
    pub homepage: String,
    /// The licence of its data.
    pub license: String,
    /// A description of the configuration.
    pub config_description: String,
    /// The module of the code that prepared it.
    pub module_name: String,
    /// The release notes, by version.
    pub release_notes: Vec<(String, String)>,
    /// Bytes that were downloaded to prepare it.
    pub download_bytes: u64,
}

impl About {
    /// Fields of another form than expected are as good as absent.
    fn of(info: &Message<'_>) -> About {
        let in_message = |message: Option<&Value>, name: &str| {
            message.and_then(|message| message.get(name)).and_then(Value::as_str).unwrap_or("").to_owned()
        };
        let text = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let urls = info.get("location").and_then(|location| location.get("urls"));
        let notes = info.get("releaseNotes").and_then(Value::as_object);
        let note = |(version, note): (&String, &Value)| Some((version.clone(), note.as_str()?.to_owned()));
        About {
            description: text("description"),
            citation: text("citation"),
            homepage: urls.and_then(|urls| urls.get(0)?.as_str()).unwrap_or("").to_owned(),
            license: in_message(info.get("redistributionInfo"), "license"),
            config_description: text("configDescription"),
            module_name: text("moduleName"),
            release_notes: notes.into_iter().flatten().filter_map(note).collect(),
            download_bytes: info.integer("downloadSize").ok().flatten().unwrap_or(0).try_into().unwrap_or(0),
        }
    }
}

/// The contents of dataset_info.json.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetInfo {
    /// The name that goes into file names.
    pub name: String,
    /// The version.
    pub version: Version,
    /// The variant.
    pub config: Option<String>,
    /// The format of the files.
    pub file_format: FileFormat,
    /// Further formats in which all shards exist.
    pub alternative_formats: Vec<FileFormat>,
    /// True if the examples were written in a meaningful order (`disableShuffling`).
    pub disable_shuffling: bool,
    /// The splits, in the order in which `all` goes through them.
    pub splits: Vec<SplitInfo>,
    /// The features that `as_supervised` selects.
    pub supervised_keys: Option<Nest>,
    /// The features, if they are described here and not in features.json.
    pub features: Option<Value>,
    /// The texts for people.
    pub about: About,
}

impl DatasetInfo {
    /// Reads the text of a dataset_info.json.
    ///
    /// # Errors
    /// Text that is no such description, and a dataset that its makers have blocked.
    pub fn parse(file: &Arc<Path>, text: &[u8]) -> Result<DatasetInfo, DataError> {
        let fields = parse(file, text)?;
        let info = Message::root(file, &fields);
        let blocked = info.text("isBlocked")?;
        if !blocked.is_empty() {
            return Err(info.error(TfdsFault::Blocked { why: blocked.to_owned() }));
        }
        let name = required(&info, "name")?;
        let version = required(&info, "version")?;
        let version = version.parse().map_err(|()| {
            let found = format!("`{version}`");
            info.error(TfdsFault::FieldKind {
                path: "version".into(),
                found,
                expected: "three numbers `x.y.z`",
            })
        })?;
        let format = |name: &str| FileFormat::parse(name).map_err(|refusal| refusal.to_string());
        let file_format =
            format(info.text("fileFormat")?).map_err(|what| info.malformed("fileFormat", what))?;
        if name.contains(['/', '\\']) {
            let what =
                format!("found `{name}`, expected a name without `/` and `\\`: files are named after it");
            return Err(info.malformed("name", what));
        }
        let split = |of: &Message<'_>| split(of, name, file_format);
        let splits = info.messages("splits")?.iter().map(split).collect::<Result<Vec<_>, _>>()?;
        for (i, split) in splits.iter().enumerate() {
            if splits[..i].iter().any(|other| other.name == split.name) {
                return Err(info.malformed(
                    "splits",
                    format!("found split `{}` twice, expected each name once", split.name),
                ));
            }
        }
        let others = info.texts("alternativeFileFormats")?;
        let config = info.text("configName")?;
        Ok(DatasetInfo {
            name: name.to_owned(),
            version,
            config: (!config.is_empty()).then(|| config.to_owned()),
            file_format,
            // An unknown format is harmless unless it is read.
            alternative_formats: others.iter().filter_map(|name| format(name).ok()).collect(),
            disable_shuffling: info.truth("disableShuffling")?,
            splits,
            supervised_keys: info
                .message("supervisedKeys")?
                .map(|keys| supervised(&keys))
                .transpose()?
                .flatten(),
            features: info.get("features").cloned(),
            about: About::of(&info),
        })
    }
}

fn required<'a>(message: &Message<'a>, name: &str) -> Result<&'a str, DataError> {
    match message.text(name)? {
        "" => Err(message.malformed(name, "the field is missing, expected text")),
        text => Ok(text),
    }
}

fn split(split: &Message<'_>, dataset: &str, format: FileFormat) -> Result<SplitInfo, DataError> {
    let name = required(split, "name")?;
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name == "all" || !name.chars().all(is_plain) {
        let what =
            format!("found the name `{name}`, expected letters, digits, `_` and `-`, other than `all`");
        return Err(split.malformed("name", what));
    }
    let length = |length: i64| {
        u64::try_from(length)
            .map_err(|_| split.malformed("shardLengths", format!("found {length}, expected 0 or more")))
    };
    let shard_lengths =
        split.integers("shardLengths")?.into_iter().map(length).collect::<Result<Vec<_>, _>>()?;
    // Numbers of records are added up everywhere.
    if shard_lengths.iter().try_fold(0i64, |sum, &len| sum.checked_add_unsigned(len)).is_none() {
        return Err(split.malformed("shardLengths", "found 2^63 records or more in all, expected fewer"));
    }
    let malformed = |what: String| split.malformed("filepathTemplate", what);
    let template = Template::parse(split.text("filepathTemplate")?).map_err(malformed)?;
    // Suffixes of other formats are words, too.
    let names = Names { dataset, split: name, suffix: format.suffix(), n_shards: shard_lengths.len() };
    template.check(names).map_err(malformed)?;
    Ok(SplitInfo {
        name: name.to_owned(),
        shard_lengths,
        template,
        n_bytes: split.integer("numBytes")?.unwrap_or(0).try_into().unwrap_or(0),
    })
}

/// The features of a supervised pair, in today's form or as `input` and `output`.
fn supervised(keys: &Message<'_>) -> Result<Option<Nest>, DataError> {
    if let Some(nest) = nest(keys, 0)? {
        return Ok(Some(nest));
    }
    let (input, output) = (keys.text("input")?, keys.text("output")?);
    let pair = || Nest::Tuple(vec![Nest::Key(input.to_owned()), Nest::Key(output.to_owned())]);
    Ok((!input.is_empty() && !output.is_empty()).then(pair))
}

/// Nests deeper than this are no description of a dataset.
const DEEPEST: usize = 64;

fn nest(message: &Message<'_>, depth: usize) -> Result<Option<Nest>, DataError> {
    if depth == DEEPEST {
        return Err(message.malformed("", format!("found more than {DEEPEST} nested levels, expected fewer")));
    }
    let whole = |message: &Message<'_>| {
        nest(message, depth + 1)?.ok_or_else(|| {
            message.malformed("", "found none of `featureKey`, `tuple` and `dict`, expected one of them")
        })
    };
    let key = message.text("featureKey")?;
    if !key.is_empty() {
        return Ok(Some(Nest::Key(key.to_owned())));
    }
    if let Some(tuple) = message.message("tuple")? {
        return Ok(Some(Nest::Tuple(tuple.messages("items")?.iter().map(whole).collect::<Result<_, _>>()?)));
    }
    let Some(dict) = message.message("dict")? else { return Ok(None) };
    let Some(dict) = dict.message("dict")? else { return Ok(Some(Nest::Dict(Vec::new()))) };
    let entries = dict.fields().iter();
    let entries = entries.map(|(name, value)| Ok((name.clone(), whole(&dict.within(name, value)?)?)));
    Ok(Some(Nest::Dict(entries.collect::<Result<_, DataError>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DatasetInfo, DataError> {
        DatasetInfo::parse(&Path::new("dataset_info.json").into(), text.as_bytes())
    }

    #[test]
    fn either_spelling_is_read_and_unknown_fields_are_not() {
        let info = read(
            r#"{"name": "d", "version": "1.2.3", "config_name": "c", "file_format": "array_record",
                "splits": [{"name": "train", "shard_lengths": ["2", 0, 3], "filepathTemplate": "{SPLIT}"}],
                "new": {}, "supervisedKeys": {"input": "x", "output": "y"}}"#,
        )
        .unwrap();
        assert_eq!((info.config.as_deref(), info.file_format), (Some("c"), FileFormat::ArrayRecord));
        assert_eq!(info.splits[0].shard_lengths, [2, 0, 3]);
        let pair = [Nest::Key("x".into()), Nest::Key("y".into())];
        assert_eq!(info.supervised_keys, Some(Nest::Tuple(pair.into())));
    }

    #[test]
    fn supervised_keys_nest() {
        let info = read(
            r#"{"name": "d", "version": "1.2.3", "supervisedKeys": {"tuple": {"items": [
                {"featureKey": "x"}, {"dict": {"dict": {"b": {"featureKey": "z"}, "a": {"tuple": {}}}}}]}}}"#,
        );
        let dict = vec![("b".into(), Nest::Key("z".into())), ("a".into(), Nest::Tuple(Vec::new()))];
        let expected = Nest::Tuple(vec![Nest::Key("x".into()), Nest::Dict(dict)]);
        assert_eq!(info.unwrap().supervised_keys, Some(expected));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let cases = [
            (
                r#"{"version": "1.0.0"}"#,
                "name: the field is missing, expected text; correct it, or prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1"}"#,
                "version: found `1`, expected three numbers `x.y.z`; correct it, or prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "fileFormat": "bagz"}"#,
                "fileFormat: unknown file format `bagz`, expected one of tfrecord, array_record, parquet, riegeli; \
                 correct it, or prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "isBlocked": "gone"}"#,
                "isBlocked: the makers of the dataset have blocked this version: gone; use another one",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "all"}]}"#,
                "splits[0].name: found the name `all`, expected letters, digits, `_` and `-`, other than `all`; correct it, or \
                 prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "a", "shardLengths": [-1]}]}"#,
                "splits[0].shardLengths: found -1, expected 0 or more; correct it, or prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "a"}, {"name": "a"}]}"#,
                "splits: found split `a` twice, expected each name once; correct it, or prepare the dataset again",
            ),
            (
                r#"{"name": "../d", "version": "1.0.0"}"#,
                "name: found `../d`, expected a name without `/` and `\\`: files are named after it; correct it, or prepare the \
                 dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "a", "filepathTemplate": "../{SPLIT}"}]}"#,
                "splits[0].filepathTemplate: found the file `../a`, expected one below the dataset's folder, without `..`; correct it, or \
                 prepare the dataset again",
            ),
            (
                r#"{"name": ".", "version": "1.0.0", "splits": [{"name": "a", "filepathTemplate": "x/.{DATASET}/../e"}]}"#,
                "splits[0].filepathTemplate: found the file `x/../../e`, expected one below the dataset's folder, without `..`; correct it, \
                 or prepare the dataset again",
            ),
            (
                r#"{"name": "d", "version": "1.0.0", "splits": [{"name": "a", "filepathTemplate": "/etc/{SPLIT}"}]}"#,
                "splits[0].filepathTemplate: found the file `/etc/a`, expected one below the dataset's folder, without `..`; correct it, or \
                 prepare the dataset again",
            ),
        ];
        for (text, what) in cases {
            assert_eq!(read(text).unwrap_err().kind().to_string(), what);
        }
    }
}
