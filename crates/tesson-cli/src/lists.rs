//! Lists of images and of recordings, which a command cannot take by themselves: known by their first rows, with the
//! configuration that reads them.

use std::io::{BufRead, Read};
use std::path::Path;

use serde_json::{Value, json};

use crate::data;

/// Bytes that are looked at, and rows.
const SAMPLE_BYTES: u64 = 64 << 10;
const ROWS: usize = 20;

/// Extensions of files that lists name.
const IMAGES: &[&str] = &["jpg", "jpeg", "png", "bmp", "ppm", "pgm", "gif", "tif", "tiff", "webp"];
const RECORDINGS: &[&str] = &["wav", "flac"];

/// Recognises a text file that lists data, and proposes how to read it; `None` for any other file.
pub(crate) fn of_file(path: &Path) -> Option<(&'static str, String)> {
    let rows = first_rows(path);
    let (_, after_header) = rows.split_first()?;
    // Tables have a header.
    let entries = if after_header.is_empty() { &rows[..] } else { after_header };
    let all = |is_entry: fn(&str) -> bool| entries.iter().all(|row| is_entry(row));
    let (what, kind, option) = if all(is_range_of_archive) || all(|row| names(row, &["mfc", "htk", "fea"])) {
        ("a script file of speech", "HTKFeatureDeserializer", "scpFile")
    } else if all(is_offset_in_archive) {
        ("a script file of Kaldi", "KaldiFeatureDeserializer", "scpFile")
    } else if all(|row| names(row, RECORDINGS)) {
        ("a list of recordings", "AudioDeserializer", "file")
    } else if 2 * entries.iter().filter(|row| holds_base64(row)).count() > entries.len() {
        // A row may be damaged.
        ("a file of images in Base64", "Base64ImageDeserializer", "file")
    } else if all(|row| names(row, IMAGES)) {
        ("a map of images", "ImageDeserializer", "file")
    } else {
        return None;
    };
    Some((what, by_configuration(path, kind, option)))
}

/// Recognises a folder that holds a folder of images for each class, and proposes how to read it.
pub(crate) fn of_folder(path: &Path) -> Option<(&'static str, String)> {
    let is_image = |path: &Path| names(&path.to_string_lossy(), IMAGES);
    let is_class =
        |folder: &Path| data::is_folder(folder) && data::inside(folder, ROWS).any(|file| is_image(&file));
    let is_list = data::inside(path, ROWS).any(|folder| is_class(&folder));
    is_list
        .then(|| ("a folder of images for each class", by_configuration(path, "ImageDeserializer", "file")))
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

/// True if a row holds a JPEG or a PNG in Base64, by its first bytes.
fn holds_base64(row: &str) -> bool {
    row.split('\t').any(|field| field.starts_with("/9j/") || field.starts_with("iVBORw0KGgo"))
}
