//! Tables of text: CSV and JSON lines, from bytes to minibatches.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tesson::store::MemoryStore;
use tesson::{Element, Error, Minibatch, SampleValue, Source};

use crate::kit::{self, keys, refusal, store_of, whole};

fn open(store: &MemoryStore, options: &str) -> Result<Source, Error> {
    open_with(store, options, "")
}

fn open_with(store: &MemoryStore, options: &str, reader: &str) -> Result<Source, Error> {
    let table = format!(r#"{{"type": "TableDeserializer", {options}}}"#);
    kit::open(
        store,
        &format!(r#"{{"deserializers": [{table}], "randomize": false, "maxSweeps": 1 {reader}}}"#),
    )
}

/// The only file of a store, and a source of it.
fn read(name: &str, text: &str, options: &str) -> Result<Source, Error> {
    let comma = if options.is_empty() { "" } else { ", " };
    open(&store_of([(name, text.as_bytes().to_vec())]), &format!(r#""file": "{name}"{comma}{options}"#))
}

/// The streams as `name type [shape]`.
fn schema(source: &Source) -> Vec<String> {
    let shown = |s: &tesson::StreamInfo| format!("{} {} [{}]", s.name, s.element.name(), s.shape);
    source.streams().iter().map(|stream| shown(stream)).collect()
}

/// The values of a stream, as text.
fn values(minibatch: &Minibatch, stream: &str) -> Vec<String> {
    let values = kit::stream_of(minibatch, stream).samples().values();
    let shown = |i| match values.value(i) {
        SampleValue::Text(text) => text.to_owned(),
        SampleValue::Bytes(bytes) => format!("{bytes:?}"),
        SampleValue::Whole(n) => n.to_string(),
        SampleValue::Bool(x) => x.to_string(),
        number => format!("{:?}", number.rounded()),
    };
    (0..values.len()).map(shown).collect()
}

fn error_of(source: Result<Source, Error>) -> String {
    match source {
        Ok(mut source) => whole(&mut source).expect_err("the data are wrong").to_string(),
        Err(error) => error.to_string(),
    }
}

const PEOPLE: &str = "name,age,height,member,id\nann,31,1.75,true,9007199254740993\n\"böb, jr\",7,1e-1,False,2\n\"two\n\"\"lines\"\"\",-3,2,true,3\n";

#[test]
fn columns_of_csv_have_the_types_of_their_first_rows() {
    let mut source = read("people.csv", PEOPLE, "").unwrap();
    let expected = ["name str []", "age int64 []", "height float64 []", "member bool []", "id int64 []"];
    assert_eq!(schema(&source), expected);
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(keys(&minibatch), ["0", "1", "2"]);
    assert_eq!(values(&minibatch, "name"), ["ann", "böb, jr", "two\n\"lines\""]);
    assert_eq!(values(&minibatch, "age"), ["31", "7", "-3"]);
    assert_eq!(values(&minibatch, "height"), ["1.75", "0.1", "2.0"]);
    assert_eq!(values(&minibatch, "member"), ["true", "false", "true"]);
    assert_eq!(values(&minibatch, "id"), ["9007199254740993", "2", "3"]);
}

#[test]
fn delimiter_and_header_are_found_or_given() {
    let cases = [
        ("a.csv", "x;y\n1,5;2\n3;4\n", "", ["x str []", "y int64 []"]),
        ("a.tsv", "x\ty\n1\t2\n", "", ["x int64 []", "y int64 []"]),
        ("a.txt", "1|2\n3|4\n", r#""format": "csv""#, ["column_1 int64 []", "column_2 int64 []"]),
        ("a.csv", "1,2\n", r#""names": ["u", "v"]"#, ["u int64 []", "v int64 []"]),
        ("a.csv", "a,b\nc,d\n", r#""header": false"#, ["column_1 str []", "column_2 str []"]),
        ("a.csv", "1,2\n3,4\n", r#""header": true"#, ["1 int64 []", "2 int64 []"]),
        ("a.csv", "\u{feff}x y\n1 2\n", r#""delimiter": " ""#, ["x int64 []", "y int64 []"]),
    ];
    for (name, text, options, expected) in cases {
        assert_eq!(schema(&read(name, text, options).unwrap()), expected, "{text:?}");
    }
}

#[test]
fn declared_types_are_what_fields_are_parsed_as() {
    let options = r#""input": {"x": {"dtype": "float32"}, "y": {"dtype": "uint8"}, "z": {"dtype": "str"}}"#;
    let mut source = read("a.csv", "x,y,z\n16777217,255,7\n0.1,0,8\n", options).unwrap();
    assert_eq!(schema(&source), ["x float32 []", "y uint8 []", "z str []"]);
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(values(&minibatch, "x"), ["16777216.0", "0.10000000149011612"]);
    assert_eq!(values(&minibatch, "z"), ["7", "8"]);
    let wide = error_of(read("a.csv", "y\n1\n256\n", r#""input": {"y": {"dtype": "uint8"}}"#));
    assert!(
        wide.contains("a.csv:3 (byte 4)") && wide.contains("column `y`: found `256`, expected uint8"),
        "{wide}"
    );
}

#[test]
fn faults_of_csv_have_file_line_and_column() {
    let cases = [
        ("x,y\n1,2\n3\n", "a.csv:3 (byte 8): sequence 1: found 1 field, expected 2"),
        ("x,y\n1,2\n\n\"3\",4,5\n", "a.csv:4 (byte 9): sequence 1: found 3 fields, expected 2"),
        ("x\n1\nold\n", "a.csv:3 (byte 4): stream `x`, sequence 1: column `x`: found `old`, expected int64"),
    ];
    for (text, expected) in cases {
        // Types of so few rows are those of all.
        let options = r#""header": true, "input": {"x": {"dtype": "int64"}}"#;
        let found = error_of(read("a.csv", text, options));
        assert!(found.contains(expected), "{found}");
    }
    let missing = error_of(read("a.csv", "x,y\n1,2\n,3\n", ""));
    assert!(missing.contains("a.csv:3 (byte 8)") && missing.contains("column `x` has no value"), "{missing}");
    let encoded = error_of(read("a.csv", "\u{1f}\u{8b}", ""));
    assert!(!encoded.is_empty());
    let zip = open(&store_of([("a.csv", b"PK\x03\x04".to_vec())]), r#""file": "a.csv""#);
    assert_eq!(refusal(zip), "a.csv (byte 0): the file is a zip archive, expected text in UTF-8");
    assert_eq!(refusal(read("a.csv", "", "")), "a.csv (byte 0): the file has no row, expected one at least");
}

#[test]
fn rows_with_faults_are_left_out_up_to_the_budget() {
    let text = "x,y\n1,2\nbad,3\n4,5\n6\n7,8\n";
    let options = r#""header": true, "maxErrors": 2, "input": {"x": {"dtype": "int64"}, "y": {}}"#;
    let mut source = read("a.csv", text, options).unwrap();
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(
        (values(&minibatch, "x"), keys(&minibatch)),
        (vec!["1".into(), "4".into(), "7".into()], vec!["0".into(), "2".into(), "4".into()])
    );
}

#[test]
fn rows_of_many_blocks_are_found_with_and_without_quotes() {
    let row = |i: usize, quoted: bool| {
        let text = if quoted && i % 1000 == 7 { format!("\"line {i}\nand\"") } else { format!("line {i}") };
        format!("{i},{text},{}\n", i as f64 / 8.0)
    };
    for quoted in [false, true] {
        let rows: String = (0..40_000).map(|i| row(i, quoted)).collect();
        let text = format!("id,text,x\n{rows}");
        let store = store_of([("a.csv", text.into_bytes())]);
        let options =
            r#""file": "a.csv", "columns": ["text", "x"], "keyColumn": "id", "chunkSizeInBytes": 300000"#;
        for order in [r#", "randomize": false"#, r#", "randomize": "global""#] {
            let config = format!(
                r#"{{"deserializers": [{{"type": "TableDeserializer", {options}}}], "maxSweeps": 1{order}}}"#
            );
            let mut source = kit::open(&store, &config).unwrap();
            let mut seen = vec![false; 40_000];
            while let Some(minibatch) = source.next_minibatch(5000).unwrap() {
                let (texts, xs) = (values(&minibatch, "text"), values(&minibatch, "x"));
                for ((key, text), x) in keys(&minibatch).iter().zip(texts).zip(xs) {
                    let i: usize = key.parse().unwrap();
                    assert!(!std::mem::replace(&mut seen[i], true), "{i} comes once");
                    assert_eq!(
                        (text.starts_with(&format!("line {i}")), x),
                        (true, format!("{:?}", i as f64 / 8.0))
                    );
                }
            }
            assert!(seen.into_iter().all(|seen| seen), "{quoted} {order}");
        }
    }
}

#[test]
fn several_files_of_csv_have_the_types_of_the_first() {
    let store = store_of([("a-0.csv", b"x,y\n1.5,a\n".to_vec()), ("a-1.csv", b"x,y\n2,b\n".to_vec())]);
    let mut source = open(&store, r#""file": ["a-0.csv", "a-1.csv"]"#).unwrap();
    assert_eq!(values(&whole(&mut source).unwrap(), "x"), ["1.5", "2.0"]);
    let store = store_of([("a-0.csv", b"x,y\n1,a\n".to_vec()), ("a-1.csv", b"z,y\n2,b\n".to_vec())]);
    let other = refusal(open(&store, r#""file": ["a-0.csv", "a-1.csv"]"#));
    assert!(
        other.contains("found the columns `z` int64, `y` str, a-0.csv has `x` int64, `y` str"),
        "{other}"
    );
}

const LINES: &str = r#"{"id": 1, "text": "a\u00e4\n", "tokens": [1, 2, 3], "box": [[1, 2], [3, 4]], "meta": {"score": 0.5, "ok": true}, "skip": null}

  {"tokens": [], "id": 2, "meta": {"ok": false, "score": 2}, "box": [[5, 6], [7, 8]], "text": ""}
{"id": 3, "text": "c", "tokens": [9223372036854775807], "box": [[0, 0], [0, 0]], "meta": {"score": -1e3, "ok": true}}"#;

#[test]
fn members_of_json_lines_are_columns() {
    let options = r#""columns": ["id", "text", "tokens", "box", "meta.score", "meta.ok"]"#;
    let mut source = read("a.jsonl", LINES, options).unwrap();
    let expected = [
        "id int64 []",
        "text str []",
        "tokens int64 []",
        "box int64 [2x2]",
        "meta.score float64 []",
        "meta.ok bool []",
    ];
    assert_eq!(schema(&source), expected);
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(values(&minibatch, "text"), ["aä\n", "", "c"]);
    assert_eq!(kit::stream_of(&minibatch, "tokens").lengths(), [3, 0, 1]);
    assert_eq!(values(&minibatch, "tokens"), ["1", "2", "3", "9223372036854775807"]);
    assert_eq!(values(&minibatch, "box"), ["1", "2", "3", "4", "5", "6", "7", "8", "0", "0", "0", "0"]);
    assert_eq!(values(&minibatch, "meta.score"), ["0.5", "2.0", "-1000.0"]);
    assert_eq!(values(&minibatch, "meta.ok"), ["true", "false", "true"]);
}

#[test]
fn lists_of_json_may_be_vectors_or_texts() {
    let text = "{\"v\": [1, 2.5], \"words\": [\"a\", \"b\"]}\n{\"v\": [3, 4], \"words\": []}\n";
    let options = r#""input": {"v": {"shape": 2, "dtype": "float32"}, "words": {}}"#;
    let mut source = read("a.jsonl", text, options).unwrap();
    assert_eq!(schema(&source), ["v float32 [2]", "words str []"]);
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(
        (values(&minibatch, "v").len(), values(&minibatch, "words")),
        (4, vec!["a".into(), "b".into()])
    );
    assert_eq!(kit::stream_of(&minibatch, "words").lengths(), [2, 0]);
}

#[test]
fn faults_of_json_lines_have_file_line_and_column() {
    let cases = [
        ("{\"x\": 1}\n{\"x\": 1,}\n", "a.jsonl:2 (byte 9): sequence 1: column 9: trailing comma"),
        (
            "{\"x\": 1}\n[1]\n",
            "a.jsonl:2 (byte 9): sequence 1: column 0: invalid type: sequence, expected an object",
        ),
        ("{\"x\": 1}\n\n{\"y\": 1}\n", "column `x` has no value"),
        ("{\"x\": 1}\n{\"x\": null}\n", "column `x` has no value"),
        ("{\"x\": 1}\n{\"x\": 1, \"x\": 2}\n", "column `x`: found `two values`, expected int64"),
        ("{\"x\": 1}\n{\"x\": 1} {}\n", "column 10: trailing characters"),
        ("{\"x\": [[1], [2]]}\n{\"x\": [[1], [2, 3], 4]}\n", "`x` has values of different kinds"),
        ("{\"x\": [1]}\n{\"x\": [1, null]}\n", "column `x`: found `null`, expected lists of int64"),
    ];
    for (text, expected) in cases {
        let found = error_of(read("a.jsonl", text, r#""columns": ["x"]"#));
        assert!(found.contains(expected), "{found}");
    }
    // Types that the first rows have are those of all.
    let rows: String = (0..20_000).map(|i| format!("{{\"x\": {i}}}\n")).collect();
    let found = error_of(read("a.jsonl", &format!("{rows}{{\"x\": 0.5}}\n"), ""));
    assert!(
        found.contains("a.jsonl:20001") && found.contains("column `x`: found `0.5`, expected int64"),
        "{found}"
    );
}

#[test]
fn text_may_be_bytes_and_elements_are_kept() {
    let source = read("a.csv", "x\nab\n", r#""input": {"x": {"dtype": "bytes"}}"#).unwrap();
    assert_eq!(source.streams()[0].element, Element::Bytes);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all bytes")
}

/// A frame of Zstandard with blocks as they are.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    let n_blocks = bytes.chunks(100_000).len();
    for (i, block) in bytes.chunks(100_000).enumerate() {
        let header = (block.len() as u32) << 3 | u32::from(i + 1 == n_blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

#[test]
fn compressed_tables_have_the_rows_of_what_they_unpack_to() {
    let rows: String = (0..60_000).map(|i| format!("{i},line {i},{}\n", f64::from(i) / 8.0)).collect();
    let lines: String = (0..60_000).map(|i| format!("{{\"id\": {i}, \"list\": [{i}, 7]}}\n")).collect();
    let csv = format!("id,text,x\n{rows}");
    let plain = [("a.csv", csv.as_bytes(), "x"), ("a.jsonl", lines.as_bytes(), "list")];
    for order in ["false", "\"global\""] {
        for (name, bytes, stream) in plain {
            let read = |name: &str, bytes: Vec<u8>| {
                let table = format!(
                    r#"{{"type": "TableDeserializer", "file": "{name}", "keyColumn": "id", "chunkSizeInBytes": 300000}}"#
                );
                let config =
                    format!(r#"{{"deserializers": [{table}], "maxSweeps": 1, "randomize": {order}}}"#);
                let mut source = kit::open(&store_of([(name, bytes)]), &config).unwrap();
                let (schema, mut found) = (schema(&source), Vec::new());
                while let Some(minibatch) = source.next_minibatch(30_000).unwrap() {
                    found.push((keys(&minibatch), values(&minibatch, stream)));
                }
                (schema, found)
            };
            let expected = read(name, bytes.to_vec());
            let half = bytes.len() / 2;
            // Two members, two frames; with an ending and without one.
            let members = [gzip(&bytes[..half]), gzip(&bytes[half..])].concat();
            assert!(read(&format!("{name}.gz"), members) == expected, "{name}.gz {order}");
            let frames = [zstd(&bytes[..half]), zstd(&bytes[half..])].concat();
            assert!(read(&format!("{name}.zst"), frames) == expected, "{name}.zst {order}");
            assert!(read(name, gzip(bytes)) == expected, "{name} {order}");
        }
    }
}

#[test]
fn damage_of_compressed_tables_is_refused_with_its_byte() {
    let text: String = (0..1000).map(|i| format!("{i},{}\n", i * i)).collect();
    let whole = gzip(text.as_bytes());
    let cut = open(&store_of([("a.csv.gz", whole[..whole.len() / 2].to_vec())]), r#""file": "a.csv.gz""#);
    let expected =
        "the file is compressed by gzip and cannot be unpacked: the file ends within compressed data";
    assert!(refusal(cut).contains(expected));
    let mut changed = whole.clone();
    let at = changed.len() - 5;
    changed[at] ^= 1;
    let changed = open(&store_of([("a.csv.gz", changed)]), r#""file": "a.csv.gz""#);
    assert!(refusal(changed).contains("its checksum is another one"));
    let fault = error_of(open(&store_of([("a.csv.gz", gzip(b"x,y\n1,2\n3\n"))]), r#""file": "a.csv.gz""#));
    assert!(fault.contains("a.csv.gz:3 (byte 8)") && fault.contains("found 1 field, expected 2"), "{fault}");
}

#[test]
fn a_first_row_longer_than_the_sample_is_read_from_a_compressed_file() {
    let text = format!("{},1\nb,2\n", "a".repeat(2 << 20));
    let mut source = open(&store_of([("a.csv.gz", gzip(text.as_bytes()))]), r#""file": "a.csv.gz""#).unwrap();
    assert_eq!(schema(&source), ["column_1 str []", "column_2 int64 []"]);
    assert_eq!(values(&whole(&mut source).unwrap(), "column_2"), ["1", "2"]);
}

const WEATHER: &str = "% a comment of the file
@RELATION 'the weather'

@Attribute outlook {sunny, 'partly cloudy', rainy}
@attribute 'degrees (C)' REAL % a comment behind
@attribute days integer
@attribute note string
@attribute seen date \"yyyy-MM-dd HH:mm\"
@data
% and one of the rows
sunny, 28.5, 3, 'it\\'s \\\"hot\\\"', \"1970-01-02 00:00\"
'partly cloudy' 1e1\t4.0 ? '2001-04-03 12:12'

{0 rainy, 3 'a, b'}
{2 -7} % nothing else
";

#[test]
fn attributes_of_arff_have_the_types_that_the_header_declares() {
    let options = r#""nulls": "refuse", "columns": ["outlook", "degrees (C)", "days", "seen"]"#;
    let mut source = read("w.arff", WEATHER, options).unwrap();
    assert_eq!(
        schema(&source),
        ["outlook int64 []", "degrees (C) float64 []", "days int64 []", "seen int64 []"]
    );
    let streams = source.streams();
    assert_eq!(*streams[0].classes, ["sunny", "partly cloudy", "rainy"].map(String::from));
    assert_eq!(streams[3].unit.as_deref(), Some("timestamp[ms]"));
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(values(&minibatch, "outlook"), ["0", "1", "2", "0"]);
    assert_eq!(values(&minibatch, "degrees (C)"), ["28.5", "10.0", "0.0", "0.0"]);
    assert_eq!(values(&minibatch, "days"), ["3", "4", "0", "-7"]);
    assert_eq!(values(&minibatch, "seen"), ["86400000", "986299920000", "0", "0"]);
    let mut source = read("w.arff", WEATHER, r#""nulls": "skip""#).unwrap();
    assert_eq!(values(&whole(&mut source).unwrap(), "note"), ["it's \"hot\"", "a, b", ""]);
    // Names in place of numbers, by the beginning of the file.
    let texts = r#""input": {"outlook": {"dtype": "str"}, "seen": {"dtype": "str"}}"#;
    let mut source = read("weather", WEATHER, texts).unwrap();
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(values(&minibatch, "outlook"), ["sunny", "partly cloudy", "rainy", "sunny"]);
    assert_eq!(values(&minibatch, "seen"), ["1970-01-02 00:00", "2001-04-03 12:12", "", ""]);
}

#[test]
fn weights_of_arff_are_a_column() {
    let header = "@relation r\n@attribute x integer\n@data\n";
    let mut source = read("w.arff", &format!("{header}1,{{0.5}}\n2\n{{0 3}}, {{2}}\n"), "").unwrap();
    assert_eq!(schema(&source), ["x int64 []", "weight float64 []"]);
    assert_eq!(values(&whole(&mut source).unwrap(), "weight"), ["0.5", "1.0", "2.0"]);
    let late = format!("{header}{}7,{{3}}\n", "1\n".repeat(20_000));
    let found = error_of(read("w.arff", &late, ""));
    assert!(
        found.contains("w.arff:20004") && found.contains("found a weight") && found.contains("`columns`"),
        "{found}"
    );
    let mut source = read("w.arff", &late, r#""columns": ["x", "weight"]"#).unwrap();
    assert_eq!(values(&whole(&mut source).unwrap(), "weight").last().unwrap(), "3.0");
    let named = "@relation r\n@attribute weight integer\n@data\n1,{0.5}\n";
    assert_eq!(
        schema(&read("w.arff", named, "").unwrap()),
        ["weight int64 []", "instance_weight float64 []"]
    );
}

#[test]
fn faults_of_arff_have_file_line_and_attribute() {
    let header = "@relation r\n@attribute x integer\n@attribute c {a, b}\n@attribute d date yyyy\n@data\n";
    for (row, expected) in [
        ("1,a", "w.arff:6 (byte 82): sequence 0: found 2 fields, expected 3"),
        ("1.5,a,2000", "column `x`: found `1.5`, expected int64"),
        ("9223372036854775808,a,2000", "column `x`: found `9223372036854775808`, expected int64"),
        ("1,A,2000", "column `c`: found `A`, expected one of a, b"),
        ("1,a,2000-1", "column `d`: found `2000-1`, expected a time"),
        ("1,?,2000", "column `c` has no value"),
        ("1,'a,2000", "found a quote that is never closed"),
        ("1,,2000", "found no value between commas"),
        ("{1 a, 0 1}", "the index 0 follows 1"),
        ("{3 a}", "found the attribute number 3, expected one from 0 to below 3"),
        ("{0 a", "found no pair"),
    ] {
        let found = error_of(read("w.arff", &format!("{header}{row}\n"), ""));
        assert!(found.contains(expected), "{row}: {found}");
    }
    for (text, expected) in [
        (
            "@relation r\n@data\n1\n",
            "w.arff:2 (byte 12): the header of the ARFF file is invalid: found `@data`",
        ),
        ("@relation r\n@attribute x real\n", "the file ends, expected `@data`"),
        ("@relation r\n@attribute x float\n@data\n", "found the type `float` of `x`, expected numeric"),
        ("@relation r\n@attribute x {a,b,a}\n@data\n", "`x` has the name `a` twice"),
        ("@relation r\n@attribute x {a\n@data\n", "the names of `x` do not end"),
        ("@relation r\n@attribute\n@data\n", "found no name of an attribute"),
        ("@relation r\nx real\n@data\n", "found `x`, expected `@attribute` or `@data`"),
        ("@relation r\n@attribute x real 3\n@data\n", "found `3` behind the type of `x`"),
        (
            "@relation r\n@attribute d date 'hh:mm'\n@data\n1:30\n",
            "column `d` has times as `hh:mm`, of which `hh` is not read",
        ),
        (
            "@relation r\n@attribute bag relational\n@attribute x real\n@end bag\n@data\n'1\\n2'\n",
            "column `bag` has a relation, which cannot be a stream",
        ),
        ("@relation r\n@attribute bag relational\n@data\n", "expected `@end bag`"),
        (
            "@relation r\r@attribute x real\r@data\r1\r",
            "w.arff:1 (byte 0): the header of the ARFF file is invalid: found a carriage return",
        ),
        ("@relation r\nx\u{1b}[2J real\n@data\n", "found `x\\u{1b}[2J`, expected"),
    ] {
        let found = error_of(read("w.arff", text, ""));
        assert!(found.contains(expected), "{found}");
    }
    // What cannot be read is no hindrance for other columns.
    let bag = "@relation r\n@attribute bag relational\n@attribute x real\n@end bag\n@attribute y real\n@data\n'1\\n2',5\n";
    let mut source = read("w.arff", bag, r#""columns": ["y"]"#).unwrap();
    assert_eq!(values(&whole(&mut source).unwrap(), "y"), ["5.0"]);
}

#[test]
fn arff_files_are_one_corpus_if_their_attributes_are_equal() {
    let file = |classes: &str, rows: &str| {
        format!("@relation r\n@attribute c {{{classes}}}\n@data\n{rows}\n").into_bytes()
    };
    let files = r#""file": ["a.arff", "b.arff"]"#;
    let store = store_of([("a.arff", file("a,b", "a\nb")), ("b.arff", file("a,b", "b,{7}"))]);
    let found = error_of(open(&store, files));
    assert!(found.contains("b.arff:4") && found.contains("found a weight"), "{found}");
    let mut source = open(&store, &format!(r#"{files}, "columns": ["c"], "maxErrors": 1"#)).unwrap();
    assert_eq!(values(&whole(&mut source).unwrap(), "c"), ["0", "1"]);
    let store = store_of([("a.arff", file("a,b", "a,{2}\nb")), ("b.arff", file("a,b", "b"))]);
    assert_eq!(values(&whole(&mut open(&store, files).unwrap()).unwrap(), "weight"), ["2.0", "1.0", "1.0"]);
    let store = store_of([("a.arff", file("a,b", "a")), ("b.arff", file("b,a", "a"))]);
    let found = error_of(open(&store, files));
    assert!(found.contains("b.arff") && found.contains("files that are one corpus have the same"), "{found}");
}

#[test]
fn chunks_of_sparse_arff_are_cut_by_the_memory_of_their_rows() {
    let attributes: String = (0..1000).map(|i| format!("@attribute x{i} numeric\n")).collect();
    let text = format!("@relation r\n{attributes}@data\n{}", "{}\n{999 1}\n".repeat(500));
    let read = |options: &str| {
        let store = store_of([("w.arff", text.clone().into_bytes())]);
        let options = format!(r#""file": "w.arff", "chunkSizeInBytes": 1000000{options}"#);
        let mut source = open(&store, &options).unwrap();
        let mut found = Vec::new();
        while let Some(minibatch) = source.next_minibatch(100).unwrap() {
            found.extend(values(&minibatch, "x999"));
        }
        assert_eq!(found, ["0.0", "1.0"].repeat(500));
        source.stats().blocks_loaded
    };
    // Eight million bytes of floats, and 8,000.
    assert_eq!((read(""), read(r#", "columns": ["x999"]"#)), (8, 1));
}
