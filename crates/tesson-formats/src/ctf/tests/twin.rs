//! The kernels against the plain parser, and every way to read against every other.

use proptest::prelude::*;
use tesson_core::{Chunk, ChunkId, Defects, Scratch, SequenceId, SequenceSelection};

use crate::files::DataFile;

use super::super::tokens::Kernel;
use super::harness::{
    Cores, Memory, all_chunks, by_index, by_pieces, opened, render, warnings, with_cut, with_kernel,
};

/// The words that files are made of: ordinary ones, and every kind of odd one.
fn word() -> impl Strategy<Value = Vec<u8>> {
    let odd: Vec<&'static [u8]> = vec![
        b"|",
        b"|#",
        b"|a",
        b"|b ",
        b"|s",
        b"|s ",
        b"|x ",
        b"|a ",
        b"|ab ",
        b"\n",
        b"\n",
        b"\r\n",
        b" ",
        b"  ",
        b"\t",
        b"\x00",
        b"\xC3\xA4",
        b"\x7F",
        b":",
        b"1:",
        b":1",
        b"-",
        b"+",
        b"--1",
        b"1-2",
        b"3+4",
        b".5",
        b"5.",
        b"5.e1",
        b"1e5",
        b"1E-3",
        b"1e",
        b"1e+",
        b"nan",
        b"inf",
        b"0x1",
        b"1_0",
        b"1.5.2",
        b"007",
        b"99",
        b"100",
        b"101:1",
        b"7:1",
        b"3:-2.5",
        b"3:1",
        b"99:1e2",
        b"18446744073709551616",
        b"18446744073709551616:1",
        b"123456789:1",
        b"16777217",
        b"0.1",
        b"9007199254740993",
        b"0.00000000000000000000000000001",
        b"1234567890.12345678901234",
        b"\n1 ",
        b"\n2 ",
        b"\n 2 ",
        b"\n10\t",
        b"text",
        b"\ntext 1\n",
        b"\n|a 1 2 3\n",
        b"\n1 |b x |a 1\n",
        b"\n|a 1 2 3|b 1 |s 1:1",
        b"\n3 |a 1 2 3 |b 0 |s 1:1 7:2",
        b" 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    ];
    prop_oneof![
        3 => any::<prop::sample::Index>().prop_map(move |i| i.get(&odd).to_vec()),
        2 => (-9999i32..9999, 0usize..6).prop_map(|(n, d)| format!(" {:.d$}", f64::from(n) / 100.0).into_bytes()),
        1 => (0u32..1000).prop_map(|n| format!(" {n}").into_bytes()),
        1 => (0u32..120, 0u32..20).prop_map(|(i, v)| format!(" {i}:{v}").into_bytes()),
        1 => (any::<u64>(), 0usize..25).prop_map(|(n, d)| format!(" {:.d$}", n as f64 / 1e10).into_bytes()),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        Just(&b"1 |a 1 2 3 |b 1 |s 1:1"[..]),
        Just(&b"|a 1 2 3"[..]),
        Just(&b""[..]),
        Just(&b"\xEF\xBB\xBF\n 7 "[..])
    ];
    (start, prop::collection::vec(word(), 0..60)).prop_map(|(start, words)| [start, &words.concat()].concat())
}

const OPTIONS: [&str; 9] = [
    "rules=cntk",
    "rules=lenient",
    "rules=lenient emptyInputs=skip numbers=extended",
    "rules=cntk skipSequenceIds=true precision=double",
    "rules=cntk textKeys",
    "rules=lenient emptyInputs=error skipSequenceIds=true",
    "rules=lenient emptyInputs=keep skipSequenceIds=true",
    "rules=lenient emptyInputs=fault",
    "rules=cntk chunkSizeInBytes=40",
];

const STREAMS: [&str; 4] = [
    "a:dense:3 b:dense:1 s:sparse:100",
    "a:dense:40",
    "s:sparse:100:s:main a:dense:3",
    "a:dense:3 b:dense:1:b:main",
];

/// Reads `bytes` in every way there is, and compares.
fn compare(options: &str, streams: &str, bytes: &[u8]) {
    let file = Memory::new(bytes.to_vec());
    let Ok(plain) = opened(options, streams, &file) else { return };
    let plain = with_kernel(plain, Kernel::Plain);
    let expected = by_index(&plain, &file);
    for kernel in Kernel::all() {
        let ctf = with_kernel(opened(options, streams, &file).unwrap(), kernel);
        assert_eq!(by_index(&ctf, &file), expected, "{kernel:?}");
        assert_eq!(warnings(&ctf, &file), warnings(&plain, &file), "{kernel:?}");
        let no_sequences = expected.as_ref().is_err_and(|e| e.contains("no sequence"));
        if ctf.streaming().is_some() && !no_sequences {
            for target in [1, 13, 1 << 20] {
                match (by_pieces(&ctf, &file, target), &expected) {
                    (Err(a), Err(b)) => assert!(a.contains("2^64") && b.contains("2^64"), "{a} / {b}"),
                    (a, b) => assert_eq!(&a, b, "{kernel:?}, pieces of {target}"),
                }
            }
        }
    }
    let Ok(lines) = &expected else { return };
    let whole = plain.index(&file, &Cores(1), &mut Defects::Refuse).unwrap();
    for (range, read) in [(1, 1), (7, 3), (64, 10)] {
        let ctf = with_cut(opened(options, streams, &file).unwrap(), range, read);
        let indexed = ctf.index(&file, &Cores(2), &mut Defects::Refuse).unwrap();
        assert_eq!(indexed.index, whole.index, "ranges of {range}");
        assert_eq!(all_chunks(&ctf, &indexed, &file).as_ref(), Ok(lines), "ranges of {range}");
    }
    let mut saved = Vec::new();
    whole.corpus.save(&whole.index, &mut saved);
    let restored = plain.restore(&saved).expect("an index that was just saved");
    assert_eq!(restored.index, whole.index);
    assert_eq!(all_chunks(&plain, &restored, &file).as_ref(), Ok(lines));
    for n in 0..saved.len() {
        assert!(plain.restore(&saved[..n]).is_none(), "{n} of {} bytes", saved.len());
    }
    // Any rows, asked for on their own.
    let (mut scratch, mut chunk, mut first) = (Scratch::default(), Chunk::empty(), 0);
    for c in whole.index.chunk_ids() {
        let n = whole.index.chunk(c).n_sequences;
        for rows in [(0..n).step_by(2).collect::<Vec<_>>(), (0..n).skip(1).step_by(3).collect(), vec![n - 1]]
        {
            let wanted = SequenceSelection::List(&rows);
            restored.corpus.load(c, wanted, &file, &mut scratch, &mut chunk).unwrap();
            let expected: Vec<&String> = rows.iter().map(|&r| &lines[first + r as usize]).collect();
            assert_eq!(render(&plain, &chunk).iter().collect::<Vec<_>>(), expected, "{rows:?}");
        }
        first += n as usize;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_to_read_a_file_gives_the_same(
        bytes in text(),
        options in prop::sample::select(&OPTIONS[..]),
        streams in prop::sample::select(&STREAMS[..]),
    ) {
        compare(options, streams, &bytes);
    }

    #[test]
    fn random_bytes_are_read_the_same_in_every_way(
        bytes in prop::collection::vec(prop_oneof![4 => prop::sample::select(&b"|as 12:.-\n\n"[..]), 1 => any::<u8>()], 0..300),
        options in prop::sample::select(&OPTIONS[..]),
        streams in prop::sample::select(&STREAMS[..]),
    ) {
        compare(options, streams, &bytes);
        compare(options, streams, &[b"|a 1\n", &bytes[..]].concat());
        compare(options, streams, &[b"1 |a 1\n", &bytes[..]].concat());
    }

    #[test]
    fn every_sequence_that_is_delivered_without_ids_has_samples_of_all_streams(
        bytes in text(),
        options in prop::sample::select(&["skipSequenceIds=true", "skipSequenceIds=true chunkSizeInBytes=40"][..]),
        streams in prop::sample::select(&STREAMS[..]),
    ) {
        let file = Memory::new(bytes);
        let Ok(ctf) = opened(options, streams, &file) else { return Ok(()) };
        let Ok(indexed) = ctf.index(&file, &Cores(1), &mut Defects::Refuse) else { return Ok(()) };
        let (mut scratch, mut chunk) = (Scratch::default(), Chunk::empty());
        for c in indexed.index.chunk_ids() {
            let n = indexed.index.chunk(c).n_sequences;
            indexed.corpus.load(c, SequenceSelection::Range(0..n), &file, &mut scratch, &mut chunk).unwrap();
            for i in 0..n {
                let has_all = chunk.streams.iter().all(|s| !s.samples.range(i as usize).is_empty());
                prop_assert_eq!(has_all, !chunk.is_left_out(i), "sequence {} of chunk {}", i, c);
            }
        }
    }

    #[test]
    fn a_saved_index_with_a_byte_changed_is_refused_or_harmless(
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let text: String = (0..200).map(|i| format!("{} |a {}\n", i / 3, "1 ".repeat(i % 4))).collect();
        let file = Memory::new(text.into_bytes());
        let ctf = opened("chunkSizeInBytes=300", "a:dense:3", &file).unwrap();
        let indexed = ctf.index(&file, &Cores(1), &mut Defects::Refuse).unwrap();
        let mut saved = Vec::new();
        indexed.corpus.save(&indexed.index, &mut saved);
        let at = at.index(saved.len());
        saved[at] = to;
        if let Some(other) = ctf.restore(&saved) {
            // Engines check what they saved; here it is enough that nothing panics and all stays within the file.
            let end = ChunkId::at(other.index.n_chunks() - 1);
            let last = other.index.chunk(end).n_sequences - 1;
            if other.corpus.span(SequenceId { chunk: end, sequence: last }).1.end <= file.bytes.len() as u64 {
                let _ = all_chunks_leniently(&ctf, &other, &file);
            }
        }
    }
}

/// Loads all chunks without a look at what comes.
fn all_chunks_leniently(
    ctf: &super::super::Ctf,
    indexed: &tesson_core::Indexed,
    file: &Memory<Vec<u8>>,
) -> Result<usize, tesson_core::Error> {
    let (mut scratch, mut chunk, mut n) = (Scratch::default(), Chunk::empty(), 0);
    for c in indexed.index.chunk_ids() {
        let wanted = SequenceSelection::Range(0..indexed.index.chunk(c).n_sequences);
        indexed.corpus.load(c, wanted, file, &mut scratch, &mut chunk)?;
        n += render(ctf, &chunk).len();
    }
    Ok(n)
}

#[test]
fn rows_of_real_files_are_read_the_same_with_any_byte_changed() {
    let row = "|a -0.017145 12.5 -3 |b 7 |s 1:1 22:2.5 99:100\n|a 0 0 253 |b 0 |s 5:1\n";
    for at in 0..row.len() {
        for byte in [b' ', b'|', b'\n', b'.', b'-', b'e', b':', b'9', b'x', 0, 0x80] {
            let mut bytes = row.as_bytes().to_vec();
            bytes[at] = byte;
            compare("rules=cntk", STREAMS[0], &bytes);
        }
    }
}

#[test]
fn values_of_every_length_and_place_are_read_the_same() {
    for digits in 1..40 {
        for point in 0..=digits {
            for pad in 0..3 {
                let whole = &"1234567890".repeat(4)[..digits];
                let value = format!("{}.{}", &whole[..point], &whole[point..]);
                let text = format!("|a {}{value} {whole} -{value}\n|a {whole}", " ".repeat(pad * 31));
                compare("rules=lenient numbers=extended", "a:dense:40", text.as_bytes());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_of_many_pairs_are_read_the_same(
        rows in prop::collection::vec(prop::collection::vec(pair(), 0..40), 1..8),
        double in any::<bool>(),
    ) {
        let text: String = rows.iter().map(|row| format!("|s 1:1 2:2 3:3 4:4 5:5\n|s{}\n", row.concat())).collect();
        let options = if double { "rules=cntk precision=double" } else { "rules=cntk" };
        compare(options, "s:sparse:100000000", text.as_bytes());
        compare(options, "s:sparse:99998", text.as_bytes());
    }

    #[test]
    fn one_column_out_of_order_is_sorted_in_wherever_it_stands(at in 0usize..30, n in 2usize..31, first in 0u32..10) {
        let mut columns: Vec<u32> = (first..).step_by(7).take(n).collect();
        let at = at.min(n - 2);
        columns.swap(at, at + 1);
        let pairs: String = columns.iter().map(|c| format!(" {c}:1")).collect();
        compare("rules=cntk", "s:sparse:1000", format!("|s 1:1 2:2 3:3 4:4 5:5\n|s{pairs}\n").as_bytes());
        columns[at] = columns[at + 1];
        let pairs: String = columns.iter().map(|c| format!(" {c}:1")).collect();
        compare("rules=cntk", "s:sparse:1000", format!("|s 1:1 2:2 3:3 4:4 5:5\n|s{pairs}\n").as_bytes());
    }

    #[test]
    fn lists_of_many_values_are_read_the_same(
        rows in prop::collection::vec(prop::collection::vec(value(), 0..60), 1..8),
        double in any::<bool>(),
    ) {
        let text: String = rows.iter().map(|row| format!("|a{}\n", row.concat())).collect();
        let options = if double { "rules=cntk precision=double" } else { "rules=cntk" };
        compare(options, "a:dense:60", text.as_bytes());
        compare(options, "a:dense:33", text.as_bytes());
    }

    #[test]
    fn lists_of_numbers_with_exponents_are_read_the_same_with_a_byte_changed(
        rows in prop::collection::vec(prop::collection::vec(scientific(), 1..60), 1..6),
        (at, byte) in (any::<prop::sample::Index>(), prop::sample::select(&b"0 9.-+eE|x\n"[..])),
        options in prop::sample::select(&["rules=cntk", "rules=cntk precision=double", "rules=lenient numbers=extended"][..]),
    ) {
        let mut text: Vec<u8> = rows.iter().flat_map(|row| format!("|a{}\n", row.concat()).into_bytes()).collect();
        compare(options, "a:dense:60", &text);
        let at = at.index(text.len());
        text[at] = byte;
        compare(options, "a:dense:60", &text);
    }

    #[test]
    fn lists_of_small_whole_numbers_are_read_the_same_with_a_byte_changed(
        rows in prop::collection::vec(prop::collection::vec((small(), 0usize..9), 30..90), 1..6),
        (at, byte) in (any::<prop::sample::Index>(), prop::sample::select(&b"0 9.-\t|x\n\r\xFF"[..])),
    ) {
        let list = |row: &[(u32, usize)]| {
            let blanks = ["  ", "\t", " \t "];
            let values = row.iter().map(|(value, blank)| format!("{}{value}", blanks.get(*blank).unwrap_or(&" ")));
            format!("|a{}\n", values.collect::<String>())
        };
        let mut text = rows.iter().map(|row| list(row)).collect::<String>().into_bytes();
        for dim in [90, 40] {
            compare("rules=cntk", &format!("a:dense:{dim}"), &text);
        }
        let at = at.index(text.len());
        text[at] = byte;
        compare("rules=cntk", "a:dense:90", &text);
    }
}

/// Numbers as C's `printf` and NumPy write them with an exponent, near the ends of the floats' range more often than elsewhere, at ties
/// of two floats, and now and then without an exponent.
fn scientific() -> impl Strategy<Value = String> {
    let digits = prop_oneof![
        4 => (0u64..100_000_000).prop_map(|n| n.to_string()),
        1 => Just("16777217".to_owned()),
        1 => Just("33554433".to_owned()),
        1 => (0u64..10_000_000_000).prop_map(|n| n.to_string()),
    ];
    let exponent = prop_oneof![4 => -3i32..4, 2 => -50i32..-30, 2 => 25i32..50, 1 => -99i32..100];
    (digits, exponent, any::<bool>(), 0usize..10, prop::sample::select(&["e", "E", "e", ""][..])).prop_map(
        |(digits, exponent, negative, point, e)| {
            let sign = if negative { "-" } else { "" };
            let (whole, fraction) = digits.split_at(point.clamp(1, digits.len()));
            let point = if fraction.is_empty() { "" } else { "." };
            let exponent = if e.is_empty() { String::new() } else { format!("{e}{exponent:+03}") };
            format!(" {sign}{whole}{point}{fraction}{exponent}")
        },
    )
}

/// Whole numbers as pixels are, of one digit most often, and now and then of more than three.
fn small() -> impl Strategy<Value = u32> {
    prop_oneof![6 => Just(0), 4 => 0u32..10, 4 => 0u32..256, 2 => 0u32..1000, 1 => prop::sample::select(&[999, 1000, 12_345][..])]
}

/// Pairs with ordinary columns and values, most of them whole numbers, and now and then an odd one.
fn pair() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => (0u32..100_000, 0u32..10).prop_map(|(i, v)| format!(" {i}:{v}")),
        10 => (0u32..100_000_000, 0u32..20_000_000).prop_map(|(i, v)| format!(" {i}:{v}")),
        4 => (0u32..100, -99i32..99).prop_map(|(i, v)| format!("\t{i}:{}", f64::from(v) / 8.0)),
        1 => prop::sample::select(&[" 1:", " :1", " 1", " 1::1", " 1:1:1", " -1:1", "  5:1", " 0005:01", " 123456789:1", " 7:123456789"][..])
            .prop_map(str::to_string),
    ]
}

/// Dense values with up to nine digits on each side of the point, ties of floats among them.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (any::<i32>(), 0i32..10).prop_map(|(n, d)| format!(" {:.*}", d as usize, f64::from(n) / 10f64.powi(d))),
        20 => (0u64..1_000_000_000, 0u64..1_000_000_000).prop_map(|(a, b)| format!(" {a}.{b}")),
        10 => (0u32..1000).prop_map(|n| format!(" {n}")),
        // The middle of two floats, and its neighbours: what a product with a rounded inverse gets wrong.
        20 => (1i64 << 23..1 << 24, 1u32..9, -1i64..2).prop_map(|(n, places, near)| {
            let (digits, ten) = ((n * 2 + 1) * 5i64.pow(places) + near, 10i64.pow(places));
            format!(" {}.{:0places$}", digits / ten, digits % ten, places = places as usize)
        }),
        1 => prop::sample::select(&[" -", " .5", " 5.", " 1e5", " 1-2", "  0", " -0", " +1", " 00000000000000000001", " 1..2"][..])
            .prop_map(str::to_string),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_single_pairs_are_read_the_same_with_bytes_changed(
        rows in prop::collection::vec((0u32..3, 0u32..120_000, 0u32..60, 0u32..12), 1..90),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b" |\n\t\r.-e:019xb#\x00\x80"[..])), 0..4),
        streams in prop::sample::select(&["wd:sparse:100000 t:sparse:45", "t:sparse:45 wd:sparse:100000", "wd:sparse:99 t:sparse:45 u:sparse:9"][..]),
        options in prop::sample::select(&["rules=cntk", "rules=lenient", "rules=cntk precision=double"][..]),
    ) {
        let row = |&(id, w, t, v): &(u32, u32, u32, u32)| format!("{} |wd {w}:1 |t {t}:{v}\n", id / 2);
        let mut bytes = rows.iter().map(row).collect::<String>().into_bytes();
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        compare(options, streams, &bytes);
    }
}

#[test]
fn runs_of_like_rows_of_every_length_are_read_the_same() {
    let streams =
        ["wd:sparse:100000", "wd:sparse:100000 t:sparse:45", "wd:sparse:100000 t:sparse:45 u:sparse:9"];
    for (n_streams, streams) in (1..).zip(streams) {
        for rows in [1, 2, 31, 32, 33, 34, 63, 64, 65, 66, 130] {
            let row = |id: u32, i: usize| {
                let inputs = [
                    format!(" |wd {}:1", i * 97),
                    format!(" |t {}:{}", i % 45, i % 10),
                    format!(" |u {}:2", i % 9),
                ];
                format!("{id}{}\n", inputs[..n_streams].concat())
            };
            // A run between two short ones; the last file ends without a line feed.
            let text: String =
                (0..rows + 4).map(|i| row(u32::from(i > 1) + u32::from(i > rows + 1), i)).collect();
            compare("rules=cntk", streams, text.as_bytes());
            compare("rules=lenient", streams, text.trim_end().as_bytes());
        }
    }
}

/// A sample of pairs, most often ordinary ones whose columns ascend, and what is behind it.
fn bag() -> impl Strategy<Value = String> {
    let value = prop_oneof![20 => 0u32..10, 1 => 0u32..20_000_000];
    let ordinary = prop::collection::btree_map(0u32..90_000, value, 0..12)
        .prop_map(|pairs| pairs.into_iter().map(|(i, v)| format!(" {i}:{v}")).collect());
    let any = prop::collection::vec(pair(), 0..40).prop_map(|pairs| pairs.concat());
    let behind = prop_oneof![40 => Just(" "), 2 => Just(""), 1 => Just("  "), 1 => Just("\t")];
    (prop_oneof![60 => ordinary, 1 => any], behind).prop_map(|(pairs, behind): (String, _)| pairs + behind)
}

/// A row of two such samples, mostly like the others.
fn row() -> impl Strategy<Value = String> {
    let names = prop_oneof![
        40 => Just(["s", "longer"]),
        1 => Just(["longer", "s"]),
        1 => Just(["s", "s"]),
        1 => Just(["s", "other"]),
    ];
    let begin = prop_oneof![60 => Just(""), 1 => prop::sample::select(&["5:1 ", " ", "7 ", "7"][..])];
    let end = prop_oneof![20 => Just(""), 1 => prop::sample::select(&["|# a 1:1 ", "\r", "\r\r"][..])];
    (names, bag(), bag(), begin, end).prop_map(|([first, second], one, other, begin, end)| {
        format!("{begin}|{first}{one}|{second}{other}{end}\n")
    })
}

/// A few of them again and again, or many.
fn bags() -> impl Strategy<Value = Vec<u8>> {
    let sizes = prop_oneof![Just(1..8), Just(1..100)];
    (sizes.prop_flat_map(|size| prop::collection::vec(row(), size)), 1usize..6)
        .prop_map(|(rows, times)| rows.concat().repeat(times).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_sparse_samples_are_read_the_same(
        bytes in bags(),
        options in prop::sample::select(&["rules=cntk", "rules=lenient", "rules=cntk precision=double", "rules=cntk chunkSizeInBytes=400"][..]),
        streams in prop::sample::select(&["s:sparse:10000000 longer:sparse:100000", "longer:sparse:4000000000 s:sparse:99999", "s:sparse:90000"][..]),
    ) {
        compare(options, streams, &bytes);
    }
}

#[test]
fn tapes_end_at_their_bounds() {
    let names = ["a", "bb", "ccc", "dddd", "eeeee", "features", "a name", "labels_of_it", "i"]
        .map(|name| name.replace(' ', "_"));
    let rows = |n_streams: usize, n: usize, of: &dyn Fn(usize, usize) -> String| -> String {
        let row = |i: usize| {
            (0..n_streams).map(|k| format!("|{}{}", names[k], of(i, k))).collect::<String>() + "\n"
        };
        (0..n).map(row).collect()
    };
    for n_streams in [1, 2, 3, 8, 9] {
        let streams: Vec<String> =
            names[..n_streams].iter().map(|name| format!("{name}:sparse:100000")).collect();
        let (streams, long) = (streams.join(" "), " ".repeat(900));
        let many =
            |i, k| (0..40).map(|j| format!(" {}:{}", j * 100 + i, (i + j + k) % 10)).collect::<String>();
        for text in [
            // More marks than pairs, blanks beyond what 16 bits count, and more pairs than a tape has in some rows.
            rows(n_streams, 1200 / (n_streams + 1), &|i, k| {
                if (i + k) % 5 == 0 { " 7:1".into() } else { String::new() }
            }),
            rows(n_streams, 200 / n_streams, &|i, k| format!(" {i}:{k}{long}")),
            rows(n_streams, 60, &many),
        ] {
            compare("rules=cntk", &streams, text.as_bytes());
            compare("rules=lenient skipSequenceIds=true", &streams, text.as_bytes());
        }
    }
}

/// Few enough for an interpreter that watches over memory.
#[test]
fn a_few_rows_of_sparse_samples_are_read_the_same() {
    let row = |i: usize| {
        let pairs: String = (0..i % 20).map(|j| format!(" {}:{}", j * 37 + i, (i + j) % 10)).collect();
        let end = if i.is_multiple_of(3) { "\r\n" } else { "\n" };
        format!("|longer{pairs}|s {i}:{} 1234567:7654321{end}", [1, 1000][i % 2])
    };
    let text: String = (0..24).map(row).collect();
    let file = Memory::new(text.into_bytes());
    let of = |kernel| with_kernel(opened("", "s:sparse:2000000 longer:sparse:1000", &file).unwrap(), kernel);
    let expected = by_index(&of(Kernel::Plain), &file).unwrap();
    assert_eq!(expected.len(), 24);
    for kernel in Kernel::all() {
        assert_eq!(by_index(&of(kernel), &file).unwrap(), expected, "{kernel:?}");
    }
}

#[test]
fn rows_of_sparse_samples_are_read_the_same_with_any_byte_changed_or_text_put_in() {
    let row = |i: usize| format!("|s 1:1 {}:2 99999:{}|longer {i}:3 4000:12345\n", i + 2, i % 10);
    let rows: String = (0..40).map(row).collect();
    let place = (0..20).map(|i| row(i).len()).sum::<usize>();
    for at in place..place + row(20).len() {
        for byte in [b' ', b'|', b'\n', b'\r', b'.', b'-', b':', b'9', b'x', 0, 0x80] {
            let mut bytes = rows.clone().into_bytes();
            bytes[at] = byte;
            compare("rules=lenient", "s:sparse:100000 longer:sparse:5000", &bytes);
        }
        for text in ["5:1 ", " 5:1 ", "7 ", "|s 1:1 ", "|# 1:1 ", "\r", "\r\n", "\t", "0000000", "99999999"] {
            let mut changed = rows.clone();
            changed.insert_str(at, text);
            compare("rules=lenient", "s:sparse:100000 longer:sparse:5000", changed.as_bytes());
        }
    }
}
