//! A map is the same whatever the pieces are that it is read in.

use proptest::prelude::*;
use tesson_core::{
    Deserializer, Element, Error, InMemory, Listing, NamedResource, OptionSet, Options, ReaderDefaults,
    ResourceId, Section, Value,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::FORMAT;
use super::deserializer::ImageMap;
use super::options::{MapFormat, MapOptions};

/// A reader's options that a map does not depend on.
const DEFAULTS: ReaderDefaults = ReaderDefaults {
    element: Element::F32,
    frame_mode: false,
    numeric_keys: true,
    cache_index: false,
    forgives: false,
};

/// A map of these bytes, before it is read.
fn map(format: &str, numeric_keys: bool) -> ImageMap {
    let text = |text: &str| Value::Text(text.into());
    let stream = |option: &str, value| Value::Section(Section::from_iter([(option, value)]));
    let streams = Section::from_iter([
        ("x", stream("transforms", Value::List(Vec::new()))),
        ("y", stream("labelDim", text("auto"))),
    ]);
    let section = Section::from_iter([
        ("file", text("of/map")),
        ("mapFormat", text(format)),
        ("root", text("pictures")),
        ("comments", Value::Bool(true)),
        ("input", Value::Section(streams)),
    ]);
    let options = Options::new(FORMAT.options, &section, "").expect("there are such options");
    let defaults = ReaderDefaults { numeric_keys, ..DEFAULTS };
    ImageMap::new(MapOptions::read(&options, &defaults).expect("the options are right"))
}

/// All that is found in a map.
#[derive(Debug, PartialEq)]
struct Found {
    fingerprint: Option<u64>,
    named: Vec<String>,
    images: Vec<(ResourceId, u32, String)>,
    classes: (usize, Vec<String>),
    defects: Vec<String>,
}

fn read(map: ImageMap, file: &InMemory<Vec<u8>>, piece: u64) -> Result<Found, Error> {
    let mut map = map.with_pieces(piece);
    map.prepare(file)?;
    let (images, defects) = map.found();
    let facts = map.facts();
    let mut name = String::new();
    let named = |number| match facts.named.get(number, &mut name) {
        NamedResource::File { path, at } => format!("{path} in line {}", at.line),
        NamedResource::Member { archive, name, at } => format!("{name} of {archive} in line {}", at.line),
    };
    let image = |i| (images.resource(i), images.label(i), images.key(i).get(0).to_string());
    Ok(Found {
        fingerprint: facts.fingerprint,
        named: (0..facts.named.len() as u32).map(named).collect(),
        images: (0..images.len() as u32).map(image).collect(),
        classes: (facts.streams[1].shape.len(), facts.streams[1].classes.to_vec()),
        defects: defects.iter().map(ToString::to_string).collect(),
    })
}

/// Maps of lines that are right, and of pieces of such lines.
fn maps() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let part = prop::sample::select(vec![
        "a.jpg",
        "b/a.jpg",
        "z.zip@/a.jpg",
        "...",
        "\t",
        "\t",
        "3",
        "cat",
        ",",
        ",",
        "\"",
        "\"",
        "\"\"",
        "\n",
        "\n",
        "\r\n",
        "#",
        " ",
        "é",
        "path,label",
        "{\"path\": \"a\", \"label\": 1}",
        "{",
    ]);
    let line = prop::sample::select(vec![
        "7\ta.jpg\t1\n",
        "b/c.jpg\t2\r\n",
        "z.zip@/c/d.jpg\t0\n",
        "\"a\nb\",\"c\"\"d\"\r\n",
        "a.jpg,cat\n",
        "x,\"y\r\nz\"\n",
        "\n",
        "{\"path\": \"a.jpg\", \"label\": \"cat\"}\n",
        "{\"key\": \"k\", \"path\": \"z.zip@/a\", \"label\": \"dog\"}\r\n",
    ]);
    let lines = prop::collection::vec(prop_oneof![4 => line, 1 => part.clone()], 0..20);
    let texts = prop_oneof![3 => lines, 1 => prop::collection::vec(part, 0..40)];
    let begin = prop::sample::select(vec!["", "\u{feff}", "path,label\n", "\u{feff}label,path\r\n"]);
    let end =
        prop::collection::vec(prop::sample::select(vec![b"\xff".as_slice(), b"\r", b"\n", b"\""]), 0..2);
    let bytes = (begin, texts, end).prop_map(|(begin, texts, end)| {
        [begin.as_bytes(), texts.concat().as_bytes(), &end.concat()].concat()
    });
    (prop::sample::select(vec!["cntk", "csv", "jsonl"]), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_map_is_the_same_in_any_pieces((format, bytes) in maps(), piece in 1u64..80, numeric_keys: bool) {
        let seed = match format {
            "cntk" => MapFormat::Cntk,
            "csv" => MapFormat::Csv,
            _ => MapFormat::JsonLines,
        };
        let fingerprint = xxh3_64_with_seed(&bytes, seed as u64);
        let file = InMemory::new(bytes);
        let whole = read(map(format, numeric_keys), &file, u64::MAX).unwrap();
        prop_assert_eq!(whole.fingerprint, Some(fingerprint));
        for piece in [1, piece] {
            let in_pieces = read(map(format, numeric_keys), &file, piece).unwrap();
            prop_assert_eq!(&in_pieces, &whole);
        }
    }
}

#[test]
fn a_folder_is_the_same_in_any_pieces() {
    let mut listing = Listing::default();
    for name in ["cat/", "cat/1.jpg", "dog/", "dog/é.png", "dog/x.txt", "top.jpg"] {
        listing.push(name);
    }
    let bytes = listing.into_bytes();
    let fingerprint = xxh3_64_with_seed(&bytes, MapFormat::Folder as u64);
    let file = InMemory::new(bytes);
    for piece in [1, 2, 7, 1000] {
        let found = read(map("auto", true), &file, piece).unwrap();
        assert_eq!(found.fingerprint, Some(fingerprint));
        assert_eq!(found.named, ["of/map/cat/1.jpg in line 0", "of/map/dog/é.png in line 0"]);
        assert_eq!(found.classes.1, ["cat", "dog"]);
        assert_eq!(found.defects.len(), 1, "{:?}", found.defects);
    }
}

#[test]
fn no_more_of_a_map_is_in_memory_than_a_line_and_a_piece() {
    let lines: String =
        (0..10_000).map(|i| format!("a/folder/of/pictures/{i:05}.jpg\t{}\n", i % 10)).collect();
    let mut file = InMemory::new(lines.into_bytes());
    file.largest = 1 << 20;
    read(map("cntk", true), &file, 4096).unwrap();
    assert_eq!(file.longest_read.into_inner(), 4096);
}

#[test]
fn a_map_that_memory_has_no_room_for_is_refused_in_its_own_words() {
    let line = |i: u64| format!("{:016x}{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i << 40 | 77);
    let text: String = (0..100_000).map(|i| format!("{}\t0\n", line(i).trim())).collect();
    let file = InMemory { largest: 256 << 10, ..InMemory::new(text.into_bytes()) };
    let error = read(map("cntk", true), &file, 64 << 10).unwrap_err().to_string();
    let begin = "of/map:53248 (byte 1863645): the images of the first 53248 lines of the map take ";
    assert!(error.starts_with(begin), "{error}");
    assert!(error.contains("`memoryLimit` is 2097152; all of it needs about 4"), "{error}");
}
