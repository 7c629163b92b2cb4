//! The kind of a command's input, found from its name and its first bytes before anything is opened.

use std::path::Path;

use tesson_convert::records::RecordKind;

use crate::data;
use crate::failure::Failure;
use crate::lists::{self, Listed};

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// A configuration in CNTK's language.
    BrainScript,
    /// A configuration in JSON or TOML.
    Dictionary,
    /// CNTK's text format, and whatever is nothing else.
    Text,
    /// CNTK's binary format.
    Binary,
    /// A TFRecord or ArrayRecord file.
    Records,
    /// A dataset prepared by TensorFlow Datasets: its folder, or its name below a data directory.
    Dataset,
    /// Values with a delimiter between them.
    Csv,
    /// libsvm's text.
    LibSvm,
    /// An object of JSON in each line.
    JsonLines,
    /// Data that are [known by their content](Listed): lists of images, recordings and features, folders of classes, arrays.
    Listed,
}

impl InputKind {
    #[cfg(test)]
    pub(crate) const ALL: [InputKind; 10] = [
        InputKind::BrainScript,
        InputKind::Dictionary,
        InputKind::Text,
        InputKind::Binary,
        InputKind::Records,
        InputKind::Dataset,
        InputKind::Csv,
        InputKind::LibSvm,
        InputKind::JsonLines,
        InputKind::Listed,
    ];

    /// The kind of an input. `data_dir`: whether it is the name of a dataset in a data directory; `from`: the format that
    /// the command line declares; `lists`: whether it may be known by its content.
    pub(crate) fn of(path: &Path, data_dir: bool, from: Option<&str>, lists: bool) -> InputKind {
        let is_listed = || lists && !is_configuration(path) && Listed::of(path).is_some();
        if data_dir || data::is_folder(path) {
            // Folders that Hugging Face's library has saved have both.
            let is_saved = data::exists(&path.join("state.json"));
            let is_prepared = data_dir || data::exists(&path.join("dataset_info.json")) && !is_saved;
            return if !is_prepared && is_listed() { InputKind::Listed } else { InputKind::Dataset };
        }
        if let Some(declared) = from.and_then(InputKind::named) {
            return declared;
        }
        if is_configuration(path) {
            let is_dictionary = ["json", "toml"].contains(&extension(path).as_str());
            return if is_dictionary { InputKind::Dictionary } else { InputKind::BrainScript };
        }
        if RecordKind::of(&data::stores(), path).is_some() {
            return InputKind::Records;
        }
        let extension = extension(path);
        if is_binary(path, &extension) {
            return InputKind::Binary;
        }
        // Formats that have bars of their own are known for sure.
        let listed = if lists { Listed::of(path) } else { None };
        if listed.is_some_and(Listed::has_bars) || listed.is_some() && !has_inputs(path) {
            return InputKind::Listed;
        }
        match InputKind::named(&extension) {
            // Text with inputs in it may have any name.
            Some(table) if !has_inputs(path) => table,
            _ => InputKind::Text,
        }
    }

    /// The kind that `--from` or an extension names.
    fn named(name: &str) -> Option<InputKind> {
        match name {
            "csv" | "tsv" => Some(InputKind::Csv),
            "svm" | "libsvm" | "svmlight" => Some(InputKind::LibSvm),
            "jsonl" | "ndjson" => Some(InputKind::JsonLines),
            "ctf" | "txt" => Some(InputKind::Text),
            "cbf" => Some(InputKind::Binary),
            _ => RecordKind::parse(name).map(|_| InputKind::Records),
        }
    }

    /// The kind in words, with its article.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            InputKind::BrainScript => "a configuration in BrainScript",
            InputKind::Dictionary => "a configuration in JSON or TOML",
            InputKind::Text => "a file in CNTK's text format",
            InputKind::Binary => "a file in CNTK's binary format",
            InputKind::Records => "a file of records",
            InputKind::Dataset => "a prepared dataset",
            InputKind::Csv => "a CSV file",
            InputKind::LibSvm => "a libsvm file",
            InputKind::JsonLines => "a file of JSON lines",
            InputKind::Listed => "a list of data",
        }
    }

    /// Refuses a file that is none of all these, but known by its first bytes.
    pub(crate) fn refuse_foreign(self, path: &Path) -> Result<(), Failure> {
        if self != InputKind::Text {
            return Ok(());
        }
        let extension = extension(path);
        let by_name = || {
            let speech = of_speech(&extension).filter(|_| !has_inputs(path));
            speech.or_else(|| of_rows_as_they_are(&extension))
        };
        let Some((what, remedy)) = foreign(&data::beginning(path, 8)).or_else(by_name) else {
            return refuse_one_of_a_list(path);
        };
        let expected = "expected a configuration, CNTK's text or binary format, or a prepared dataset";
        Err(Failure::Usage(format!("{}: found {what}, {expected}; {remedy}", path.display())))
    }
}

/// Refuses an image, a recording, an archive of images and features of speech, which configurations name, alone or in a
/// list.
fn refuse_one_of_a_list(path: &Path) -> Result<(), Failure> {
    let listed = |list: &str, row: &str, kind, option| {
        let by = lists::by_configuration(&path.with_file_name(list), kind, option);
        format!(
            "list one or more in a file, {row} on each line, and {}",
            by.replacen("read it", "read that", 1)
        )
    };
    let start = data::beginning(path, 512);
    let (what, remedy) = match &start[..] {
        [0xff, 0xd8, 0xff, ..] | [0x89, b'P', b'N', b'G', ..] => (
            "an image",
            listed("map.txt", "a path, a tab and the number of a class", "ImageDeserializer", "file"),
        ),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] | [b'f', b'L', b'a', b'C', ..] => (
            "a recording",
            listed("recordings.txt", "a key, a blank and a path", "AudioDeserializer", "file"),
        ),
        features if is_htk(path, features) => {
            ("features of HTK", listed("features.scp", "a path", "HTKFeatureDeserializer", "scpFile"))
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!("{}: found {what}, expected CNTK's text format; {remedy}", path.display())))
}

/// True if the header of HTK's features agrees with the size of the file: samples, their period, the bytes of each, a kind.
fn is_htk(path: &Path, start: &[u8]) -> bool {
    let Some((header, _)) = start.split_first_chunk::<12>() else { return false };
    let [a, b, c, d, e, f, g, h, i, j, _, _] = *header;
    let (samples, period) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    let bytes = u64::from(u16::from_be_bytes([i, j]));
    // Text has larger numbers there.
    samples > 0
        && period > 0
        && bytes > 0
        && data::size(path).is_ok_and(|size| size == 12 + u64::from(samples) * bytes)
}

/// The extension of a name, in lower case; empty without one.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// True if a file has the extension of a configuration; other files hold data.
pub(crate) fn is_configuration(path: &Path) -> bool {
    ["cntk", "bs", "ndl", "cfg", "config", "json", "toml"].contains(&extension(path).as_str())
}

/// True if a file is in CNTK's binary format, by its name or its first bytes.
fn is_binary(path: &Path, extension: &str) -> bool {
    extension == "cbf" || data::beginning(path, 8) == b"nib_ktnc"
}

/// The format of a file that Tesson does not read, recognized by its first bytes, and the remedy.
fn foreign(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const TABLE: &str = "export the table as CSV and convert that with `tesson convert`";
    match bytes {
        [b'P', b'K', 3, 4, ..] => {
            Some(("a zip archive, such as NumPy's .npz", "in Python `tesson.read_numpy` reads arrays in it"))
        }
        [0x89, b'H', b'D', b'F', ..] => Some((
            "an HDF5 file",
            "write it as Parquet or as .npy files with the package h5py; these are read as they are",
        )),
        [0x80, 2..=5, ..] => Some((
            "a Python pickle",
            "in Python give arrays to `tesson.from_arrays`, or save them as .npy files",
        )),
        [0x1f, 0x8b, ..] => Some(("a file compressed by gzip", "decompress it with `gunzip --keep`")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Some(("a file compressed by zstd", "decompress it with `zstd --decompress`"))
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            Some(("a file compressed by xz", "decompress it with `xz --decompress --keep`"))
        }
        [b'B', b'Z', b'h', ..] => Some(("a file compressed by bzip2", "decompress it with `bunzip2 --keep`")),
        [b'P', b'A', b'R', b'1', ..] => Some(("a Parquet file", TABLE)),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(("an Arrow file", TABLE)),
        b"version " => {
            Some(("what looks like a pointer of Git LFS", "fetch the file itself with `git lfs pull`"))
        }
        b"#!MLF!#\n" | b"#!MLF!#\r" => of_speech("mlf"),
        [b'M', b'L', b'F', 1 | 2, 0, ..] => of_speech("bmlf"),
        _ => None,
    }
}

/// The kind of a file of rows that is read and not converted, by its extension, and what reads it.
fn of_rows_as_they_are(extension: &str) -> Option<(&'static str, &'static str)> {
    match extension {
        "arff" => {
            Some(("an ARFF file", "it is read as it is: by `tesson read`, in Python by `tesson.read_arff`"))
        }
        "vw" => Some((
            "a file of Vowpal Wabbit",
            "it is read as it is: by `tesson read`, in Python by `tesson.read_vw`",
        )),
        _ => None,
    }
}

/// The kind of a file of speech, by its extension, and the part of a configuration that names it.
fn of_speech(extension: &str) -> Option<(&'static str, &'static str)> {
    match extension {
        "scp" => Some((
            "a script file of speech",
            "name it in a configuration, as `scpFile` of `HTKFeatureDeserializer` or `KaldiFeatureDeserializer`",
        )),
        "mlf" => {
            Some(("labels of speech", "name them in a configuration, as `mlfFile` of `HTKMLFDeserializer`"))
        }
        "bmlf" => Some((
            "labels of speech in binary",
            "name them in a configuration, as `mlfFile` of `HTKMLFBinaryDeserializer`",
        )),
        "ark" => Some((
            "an archive of Kaldi",
            "name it in a configuration, as `arkFile` of `KaldiFeatureDeserializer` or `KaldiAlignmentDeserializer`",
        )),
        _ => None,
    }
}

/// True if the beginning of the text has an input, `|name`, at the start of a row or after a blank.
fn has_inputs(path: &Path) -> bool {
    let text = data::beginning(path, 4096);
    let starts = |at: usize| at == 0 || text[at - 1].is_ascii_whitespace();
    let names = |at: usize| text.get(at + 1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    text.iter().enumerate().any(|(at, &b)| b == b'|' && starts(at) && names(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_from_the_name() {
        let kind = |name: &str| InputKind::of(Path::new(name), false, None, true);
        assert_eq!(kind("a.cntk"), InputKind::BrainScript);
        assert_eq!(kind("a.JSON"), InputKind::Dictionary);
        assert_eq!(kind("a.tfrecord-00000-of-00001"), InputKind::Records);
        assert_eq!(kind("a.cbf"), InputKind::Binary);
        assert_eq!(kind("a.tsv"), InputKind::Listed);
        assert_eq!(InputKind::of(Path::new("a.tsv"), false, None, false), InputKind::Csv);
        assert_eq!(kind("a.ctf"), InputKind::Text);
        assert_eq!(kind("a"), InputKind::Text);
        assert_eq!(InputKind::of(Path::new("mnist"), true, None, true), InputKind::Dataset);
        assert_eq!(InputKind::of(Path::new("a.txt"), false, Some("csv"), true), InputKind::Csv);
    }

    #[test]
    fn files_of_other_programs_are_known_by_their_first_bytes() {
        for bytes in [
            &b"PK\x03\x04...."[..],
            b"\x89HDF\r\n",
            b"\x80\x04\x95",
            b"PAR1",
            b"ARROW1\0\0",
            b"#!MLF!#\n",
            b"MLF\x02\0\x05\0",
        ] {
            assert!(foreign(bytes).is_some(), "{bytes:?}");
        }
        assert_eq!(foreign(b"0 |x 1 2"), None);
        assert_eq!(foreign(b""), None);
    }
}
