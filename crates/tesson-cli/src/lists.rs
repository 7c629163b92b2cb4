//! Data that are known by their content: folders and lists of images, lists of recordings and of features of speech, arrays; and
//! the reader of each.

use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tesson_convert::image_form::{ImageForm, extensions_in_tar, first_file, is_base64, is_tar, is_tar_name};
use tesson_convert::records::RecordKind;
use tesson_formats::packed::Packing;

use crate::data;
use crate::input_kind::extension;

/// Bytes that are looked at, and rows.
const SAMPLE_BYTES: u64 = 64 << 10;
const ROWS: usize = 20;

/// Extensions of files that lists name.
const IMAGES: &[&str] = &["jpg", "jpeg", "png", "bmp", "ppm", "pgm", "gif", "tif", "tiff", "webp"];
const RECORDINGS: &[&str] = &["wav", "flac"];

/// Data that are known by their content and read by one deserializer, without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The data in words, with their article.
    pub(crate) what: &'static str,
    deserializer: &'static str,
    /// The option that names them.
    option: &'static str,
    /// The function of Python that reads them.
    pub(crate) function: &'static str,
}

const fn listed(
    what: &'static str,
    deserializer: &'static str,
    option: &'static str,
    function: &'static str,
) -> Listed {
    Listed { what, deserializer, option, function }
}

const HTK: Listed = listed("a script file of speech", "HTKFeatureDeserializer", "scpFile", "read_htk");
const KALDI: Listed = listed("a script file of Kaldi", "KaldiFeatureDeserializer", "scpFile", "read_kaldi");
const ARK: Listed = listed("an archive of Kaldi", "KaldiFeatureDeserializer", "arkFile", "read_kaldi");
const AUDIO: Listed = listed("a list of recordings", "AudioDeserializer", "file", "read_audio");
const BASE64: Listed = listed("a file of images in Base64", "Base64ImageDeserializer", "file", "read_images");
const MAP: Listed = listed("a map of images", "ImageDeserializer", "file", "read_images");
const FOLDER: Listed =
    listed("a folder of images for each class", "ImageDeserializer", "file", "read_images");
const TAR: Listed = listed("a tar archive of images", "TarImageDeserializer", "file", "read_images");
const WEBDATASET: Listed =
    listed("a tar archive as WebDataset packs it", "TableDeserializer", "file", "read_webdataset");
const NPY: Listed = listed("a NumPy array", "TableDeserializer", "file", "read_numpy");
const NPZ: Listed = listed("an archive of NumPy arrays", "TableDeserializer", "file", "read_numpy");
const TOKENS: Listed = listed("documents of tokens", "TableDeserializer", "file", "read_tokens");
const PARQUET: Listed = listed("a Parquet file", "TableDeserializer", "file", "read_parquet");
const ARROW: Listed = listed("a table of Arrow", "TableDeserializer", "file", "read_arrow");
const CSV: Listed = listed("a CSV file", "TableDeserializer", "file", "read_csv");
const JSON_LINES: Listed = listed("a file of JSON lines", "TableDeserializer", "file", "read_json");
const ARFF: Listed = listed("an ARFF file", "TableDeserializer", "file", "read_arff");
const VW: Listed = listed("a file of Vowpal Wabbit", "TableDeserializer", "file", "read_vw");
const LIBSVM: Listed = listed("a libsvm file", "TableDeserializer", "file", "read_libsvm");
const TFRECORD: Listed = listed("a TFRecord file of examples", "TableDeserializer", "file", "read_tfrecords");
const ARRAY_RECORD: Listed = listed("an ArrayRecord file", "TableDeserializer", "file", "read_array_records");
const MDS: Listed = listed("a shard of Mosaic's MDS", "TableDeserializer", "file", "read_mds");

impl Listed {
    /// Recognises a file or a folder; `None` for any other.
    pub(crate) fn of(path: &Path) -> Option<Listed> {
        if data::is_folder(path) {
            if data::exists(&path.join("state.json")) {
                return Some(ARROW);
            }
            return is_folder_of_classes(path).then_some(FOLDER);
        }
        let first = first_of_pattern(path)?;
        let path = &*first;
        match RecordKind::of(&data::stores(), path) {
            Some(RecordKind::TfRecord) => return Some(TFRECORD),
            Some(RecordKind::ArrayRecord) => return Some(ARRAY_RECORD),
            None => {}
        }
        let start = data::beginning(path, 512);
        match &start[..] {
            zip if holds_arrays(zip) => Some(NPZ),
            [b'P', b'K', 3, 4, ..] => {
                let folder = ImageForm::of(path.to_str()?).ok()?.path;
                is_folder_of_classes(Path::new(&folder)).then_some(FOLDER)
            }
            _ if extension(path) == "bin" && data::exists(&path.with_extension("idx")) => Some(TOKENS),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(NPY),
            [b'P', b'A', b'R', b'1', ..] => Some(PARQUET),
            // A file, or the first message of a stream.
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..] => {
                Some(ARROW)
            }
            tar if is_tar(tar) => Some(Listed::of_tar(path)),
            kaldi if holds_kaldi(kaldi) => Some(ARK),
            gzip if Packing::of(gzip) == Some(Packing::Gzip) && is_tar_name(&path.to_string_lossy()) => {
                Some(Listed::of_tar(path))
            }
            packed if Packing::of(packed).is_some() => Listed::of_table(path),
            arff if tesson_tables::is_arff(arff) => Some(ARFF),
            _ if start.contains(&0) => Listed::of_table(path),
            _ => Listed::of_rows(&first_rows(path)).or_else(|| Listed::of_table(path)),
        }
    }

    /// A tar archive, by the members of its first sample.
    fn of_tar(path: &Path) -> Listed {
        let found = members(path);
        // One that is damaged is refused with its place.
        let holds_images = found.is_empty() || found.iter().any(|found| IMAGES.contains(&last(found)));
        if holds_images { TAR } else { WEBDATASET }
    }

    /// True if rows may have bars before words, as those of CNTK's text format have.
    pub(crate) fn has_bars(self) -> bool {
        self == ARFF || self == VW
    }

    /// Recognises a table by its name, compressed or not.
    fn of_table(path: &Path) -> Option<Listed> {
        let name = path.file_name()?.to_str()?;
        let stem = Packing::stem(name);
        match extension(Path::new(stem)).as_str() {
            "csv" | "tsv" => Some(CSV),
            "jsonl" | "ndjson" => Some(JSON_LINES),
            // Otherwise it is a configuration.
            "json" if stem.len() < name.len() => Some(JSON_LINES),
            "arff" => Some(ARFF),
            "svm" | "libsvm" | "svmlight" => Some(LIBSVM),
            "vw" => Some(VW),
            "mds" => Some(MDS),
            _ => None,
        }
    }

    /// Recognises a text file by its first rows.
    fn of_rows(rows: &[String]) -> Option<Listed> {
        let (_, after_header) = rows.split_first()?;
        // Tables have a header.
        let entries = if after_header.is_empty() { rows } else { after_header };
        let all = |is_entry: fn(&str) -> bool| entries.iter().all(|row| is_entry(row));
        // A row of images may be damaged.
        let in_base64 = || 2 * entries.iter().filter(|row| holds_base64(row)).count() > entries.len();
        if all(is_range_of_archive) || all(|row| names(row, &["mfc", "htk", "fea"])) {
            Some(HTK)
        } else if all(is_offset_in_archive) {
            Some(KALDI)
        } else if all(|row| names(row, RECORDINGS)) {
            Some(AUDIO)
        } else if in_base64() {
            Some(BASE64)
        } else if all(|row| names(row, IMAGES)) {
            Some(MAP)
        } else {
            None
        }
    }

    /// The reader of the data.
    pub(crate) fn reader(self, path: &str) -> Value {
        if self == NPZ {
            return json!({"deserializers": arrays_of(path)});
        }
        let folder = if self == FOLDER { ImageForm::of(path).ok().map(|form| form.path) } else { None };
        let mut deserializer =
            json!({"type": self.deserializer, self.option: folder.as_deref().unwrap_or(path)});
        // Formats that neither the end of a name nor the first bytes tell.
        let formats = [(TOKENS, "tokens"), (TFRECORD, "tfrecord"), (WEBDATASET, "webdataset")];
        if let Some((_, format)) = formats.iter().find(|(of, _)| self == *of) {
            deserializer["format"] = (*format).into();
        }
        if self == WEBDATASET {
            let first = first_of_pattern(Path::new(path));
            deserializer["columns"] = first.map(|first| members(&first)).unwrap_or_default().into();
            deserializer["keyColumn"] = "__key__".into();
            return json!({"deserializers": [deserializer], "useNumericSequenceKeys": false});
        }
        deserializer["input"] = match self.function {
            "read_images" => {
                let mut streams = json!({"image": {"transforms": [], "dtype": "uint8", "ragged": true}});
                if self.has_labels(Path::new(path)) {
                    streams["label"] = json!({"labelDim": "auto", "dtype": "int64"});
                }
                deserializer["channelOrder"] = "rgb".into();
                deserializer["exifOrientation"] = "apply".into();
                streams
            }
            "read_htk" | "read_kaldi" => json!({"features": {"dim": "auto"}}),
            "read_audio" => json!({"features": {"filters": 80}}),
            _ => return json!({"deserializers": [deserializer]}),
        };
        json!({"deserializers": [deserializer]})
    }

    /// True if images have classes.
    fn has_labels(self, path: &Path) -> bool {
        match self {
            FOLDER | BASE64 => true,
            MAP | TAR => first_of_pattern(path)
                .and_then(|first| ImageForm::of(first.to_str()?).ok()?.has_labels("label").ok())
                .unwrap_or(false),
            _ => false,
        }
    }
}

/// The first file that a pattern matches, or the file of this name.
fn first_of_pattern(path: &Path) -> Option<PathBuf> {
    first_file(&[path.to_str()?.to_owned()])
}

/// The extensions of the members of an archive's first sample. One that is damaged here is refused when it is read.
fn members(path: &Path) -> Vec<String> {
    extensions_in_tar(path).unwrap_or_default()
}

/// A deserializer for each array of an archive, which are joined by row.
fn arrays_of(archive: &str) -> Vec<Value> {
    let folder = PathBuf::from(format!("zip://{archive}@/"));
    let array = |member: PathBuf| {
        let name = member.file_stem()?.to_str()?.to_owned();
        let file = format!("zip://{archive}@/{name}.npy");
        (extension(&member) == "npy").then(
            || json!({"type": "TableDeserializer", "format": "npy", "file": file, "input": {name: {"column": "data"}}}),
        )
    };
    data::inside(&folder, usize::MAX).filter_map(array).collect()
}

/// The last part of an extension such as `mask.png`.
fn last(extension: &str) -> &str {
    extension.rsplit_once('.').map_or(extension, |(_, last)| last)
}

/// True if a zip archive begins with a member that is a NumPy array.
fn holds_arrays(start: &[u8]) -> bool {
    let Some(header) = start.strip_prefix(b"PK\x03\x04") else { return false };
    let length = header.get(22..24).map_or(0, |n| usize::from(u16::from_le_bytes([n[0], n[1]])));
    header.get(26..26 + length).is_some_and(|name| name.ends_with(b".npy"))
}

/// True if a folder holds a folder of images for each class.
fn is_folder_of_classes(path: &Path) -> bool {
    let is_image = |path: &Path| names(&path.to_string_lossy(), IMAGES);
    let is_class =
        |folder: &Path| data::is_folder(folder) && data::inside(folder, ROWS).any(|file| is_image(&file));
    data::inside(path, ROWS).any(|folder| is_class(&folder))
}

/// The configuration that reads a list.
pub(crate) fn by_configuration(path: &Path, kind: &str, option: &str) -> String {
    let images = json!({
        "features": {"transforms": [{"type": "Scale", "width": 224, "height": 224, "channels": 3}]},
        "labels": {"labelDim": "auto"},
    });
    let mut deserializer = json!({"type": kind});
    let file = Value::from(path.to_string_lossy());
    match kind {
        "HTKFeatureDeserializer" | "KaldiFeatureDeserializer" => {
            deserializer["input"] = json!({"features": {"dim": 40, option: file}});
        }
        "AudioDeserializer" => {
            deserializer[option] = file;
            deserializer["input"] = json!({"features": {"filters": 80}});
        }
        // Its classes are not looked for.
        "Base64ImageDeserializer" => {
            deserializer[option] = file;
            deserializer["input"] = images;
            deserializer["input"]["labels"]["labelDim"] = 1000.into();
        }
        _ => {
            deserializer[option] = file;
            deserializer["input"] = images;
        }
    }
    format!(
        "read it by a configuration with its own sizes, a file such as reader.json with {}",
        json!({"deserializers": [deserializer]})
    )
}

/// The first rows that are not blank.
fn first_rows(path: &Path) -> Vec<String> {
    let Ok(file) = data::stream(path) else { return Vec::new() };
    let mut file = file.take(SAMPLE_BYTES);
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    while rows.len() < ROWS && file.read_until(b'\n', &mut row).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(row.trim_ascii());
        // Of a longer one only the beginning is known.
        if !text.is_empty() && (row.ends_with(b"\n") || rows.is_empty()) {
            rows.push(text.into_owned());
        }
        row.clear();
    }
    rows
}

/// True if a key and a binary matrix are at the beginning.
fn holds_kaldi(start: &[u8]) -> bool {
    let Some(key) = start.iter().position(|&b| b == b' ').filter(|&at| at > 0) else { return false };
    start[..key].iter().all(u8::is_ascii_graphic) && start[key + 1..].starts_with(b"\0B")
}

/// True if a row names a file with one of these extensions.
fn names(row: &str, extensions: &[&str]) -> bool {
    let words = row.split(['\t', ',', '"', ' ']);
    words.filter_map(|word| word.rsplit_once('.')).any(|(stem, extension)| {
        !stem.is_empty() && extensions.iter().any(|known| known.eq_ignore_ascii_case(extension))
    })
}

/// True if a row is `name=archive[first,last]`, or the same without the name.
fn is_range_of_archive(row: &str) -> bool {
    let range = row
        .strip_suffix(']')
        .and_then(|row| row.rsplit_once('['))
        .and_then(|(_, range)| range.split_once(','));
    range.is_some_and(|(first, last)| [first, last].iter().all(|n| n.trim().parse::<u64>().is_ok()))
}

/// True if a row is `key archive:offset`.
fn is_offset_in_archive(row: &str) -> bool {
    let mut words = row.split_ascii_whitespace();
    let [Some(_), Some(place), None] = [words.next(), words.next(), words.next()] else { return false };
    place
        .rsplit_once(':')
        .is_some_and(|(file, offset)| file.ends_with(".ark") && offset.parse::<u64>().is_ok())
}

/// True if a row holds an image in Base64, by its first characters.
fn holds_base64(row: &str) -> bool {
    row.split('\t').any(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_known_by_their_rows() {
        for (text, listed) in [
            ("a/1.jpg\t0\nb/2.PNG\t1\n", MAP),
            ("path,label\na 1.jpg,0\n", MAP),
            ("{\"path\": \"a.jpg\", \"label\": 0}\n", MAP),
            ("0\t1\tiVBORw0KGgo=\n", BASE64),
            ("u1=u1.mfc[0,99]\nu2=u2.mfc[0,9]\n", HTK),
            ("u1 feats.ark:17\nu2 feats.ark:1700\n", KALDI),
            ("u1 u1.wav\nu2 u2.flac\n", AUDIO),
        ] {
            let rows: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(Listed::of_rows(&rows), Some(listed), "{text}");
        }
        assert_eq!(Listed::of_rows(&["a,b".to_owned(), "1,2".to_owned()]), None);
        assert_eq!(Listed::of_rows(&[]), None);
    }

    #[test]
    fn tables_are_known_by_their_names() {
        let of = |name: &str| Listed::of_table(Path::new(name));
        assert_eq!((of("a.csv"), of("a/b.TSV.gz")), (Some(CSV), Some(CSV)));
        assert_eq!((of("a.jsonl.zst"), of("a.json.gz")), (Some(JSON_LINES), Some(JSON_LINES)));
        assert_eq!((of("a.arff"), of("b.ARFF.gz")), (Some(ARFF), Some(ARFF)));
        assert_eq!((of("a.vw"), of("b.vw.zst")), (Some(VW), Some(VW)));
        assert_eq!((of("shard.00000.mds.zstd"), of("a.json"), of("a.ctf.gz")), (Some(MDS), None, None));
    }
}
