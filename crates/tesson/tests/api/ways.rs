//! The ways a sequence can take into a minibatch all give the same: by row, by packed block, by column, as a slice, by rows in place
//! of blocks that find no room, from files that are read or mapped.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;

use crate::kit::{config_of, config_with, folder, rest};
use tesson::config::from_json;
use tesson::{
    Demand, Element, Minibatch, ResumeState, SampleValues, Samples, Source, SourceConfig, StreamBatch,
};
use tesson_config::StoreKind;
use tesson_convert::{Corpus, Form};
use tesson_engine::atomic_file::Existing;

/// The configuration that reads a binary file, with more options of the source and of the file.
fn config_of_binary(file: &Path, options: &str, of_file: &str) -> SourceConfig {
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKBinaryFormatDeserializer", "file": {file:?} {of_file}}}] {options}}}"#
    );
    from_json(&json).expect("the test's configuration is right")
}

/// `n` sequences of one row, of 400 values and some pairs: about 2 KiB each, so that they are fetched by row.
fn long_rows(n: usize) -> String {
    rows_of(n, 400)
}

/// `n` sequences of one row, each with `values` dense values and a few sparse ones.
fn rows_of(n: usize, values: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        text.push_str("|x");
        for j in 0..values {
            write!(text, " {}", (i * 31 + j * 17) % 1000).expect("strings take everything");
            if j % 5 == 0 {
                text.push_str(".25");
            }
        }
        writeln!(text, " |y {}:1 {}:{}.5", i % 3, 3 + i % 4, i).expect("strings take everything");
    }
    text
}

/// The number of values, and what stands for them: writing all of them out would take most of the tests' time.
fn digest(values: &SampleValues) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    (0..values.len()).for_each(|i| hasher.write_u64(values.get(i).to_bits()));
    (values.len(), hasher.finish())
}

/// A minibatch as text: keys, lengths, values as a digest, sweep end and state.
fn shown(minibatch: &Minibatch) -> String {
    let streams: Vec<String> = minibatch
        .streams()
        .iter()
        .map(|stream| match stream.samples() {
            Samples::Dense { values } => format!("{:?} {:?}", stream.lengths(), digest(values)),
            Samples::Sparse { indptr, indices, values } => {
                let values = digest(values);
                format!("{:?} {:?} {:?} {values:?}", stream.lengths(), &indptr[..], &indices[..])
            }
            Samples::Ragged { .. } => panic!("texts have no ragged samples"),
        })
        .collect();
    let state = minibatch.resume().cursor;
    format!("{:?} {streams:?} {} {state:?}", minibatch.keys(), minibatch.sweep_end())
}

/// Everything a source delivers, as text.
fn everything(source: &mut Source, samples: u64) -> Vec<String> {
    let demand = Demand { samples, workers: 1, rank: 0 };
    let next = || source.next(demand).expect("the data are right");
    std::iter::from_fn(next).map(|minibatch| shown(&minibatch)).collect()
}

#[test]
fn long_sequences_come_alike_by_row_by_block_and_mapped() {
    let folder = folder("ways-long");
    let file = |values: usize, n: usize| {
        let (text, binary) = (folder.join(format!("{values}.ctf")), folder.join(format!("{values}.cbf")));
        std::fs::write(&text, rows_of(n, values)).expect("the folder can be written");
        let in_order = config_with(&text, values, r#", "randomize": false, "maxSweeps": 1"#, "");
        let mut corpus = Corpus::new(tesson::open(&in_order).expect("the file is right"), |_| Element::F32);
        let form = Form::Binary { chunk_bytes: 1 << 16 };
        tesson_convert::write(&mut corpus, &binary, Existing::Replace, form, &mut |_| ())
            .expect("it can be written");
        (text, binary, values)
    };
    let (long, longer) = (file(400, 900), file(2000, 300));
    let (window, all, global) = (
        r#""randomize": true, "randomizationWindow": 5"#,
        r#""randomize": true"#,
        r#""randomize": "global""#,
    );
    let read = |config| {
        let mut source = tesson::open(&config).expect("the file is right");
        (everything(&mut source, 7), source.stats())
    };
    // By block where the blocks of a window have room; by row where they have none, and of more than 4 KiB where the next sweep would
    // not find them in memory.
    for (&(ref text, ref binary, values), order, sweeps, limit, by_row) in [
        (&long, window, 2, "1MiB", true),
        (&long, window, 2, "8MiB", false),
        (&long, all, 2, "1MiB", true),
        (&long, all, 2, "8MiB", false),
        (&long, global, 2, "1MiB", true),
        (&long, global, 1, "8MiB", false),
        (&longer, window, 2, "16MiB", true),
        (&longer, all, 1, "16MiB", true),
        (&longer, all, 2, "16MiB", false),
        (&longer, global, 2, "1MiB", true),
    ] {
        let options = |limit: &str, threads: usize| {
            format!(r#", {order}, "maxSweeps": {sweeps}, "memoryLimit": "{limit}", "threads": {threads}"#)
        };
        for file in [text, binary] {
            let config = |options: &str, keep: &str| {
                if file == text {
                    let of_file = format!(r#", "chunkSizeInBytes": 65536 {keep}"#);
                    config_with(text, values, options, &of_file)
                } else {
                    config_of_binary(binary, options, keep)
                }
            };
            let case = format!("{file:?}, {order}, {sweeps}, {limit}");
            let (expected, stats) = read(config(&options(limit, 2), ""));
            assert_eq!(stats.blocks_loaded == 0, by_row, "{case}: {stats:?}");
            let (by_block, stats) = read(config(&options("64MiB", 2), r#", "keepDataInMemory": true"#));
            assert!(stats.blocks_loaded > 0, "{case}: {stats:?}");
            assert!(by_block == expected, "{case}: by block");
            let mut mapped = config(&options(limit, 2), "");
            mapped.store = StoreKind::Mmap;
            assert!(read(mapped).0 == expected, "{case}: mapped");
            for threads in [1, 8] {
                assert!(
                    read(config(&options(limit, threads), "")).0 == expected,
                    "{case}: {threads} threads"
                );
            }
        }
    }
}

#[test]
fn a_state_goes_on_alike_by_row_and_by_block() {
    let file = folder("ways-resume").join("train.ctf");
    std::fs::write(&file, crate::kit::rows(400)).expect("the folder can be written");
    let config = |options: &str| config_of(&file, options, r#", "chunkSizeInBytes": 500"#);
    // A limit at which few blocks find room, and one at which all do.
    let tight = config(r#", "maxSweeps": 2, "randomizationWindow": 40, "memoryLimit": 40000"#);
    let roomy = config(r#", "maxSweeps": 2, "randomizationWindow": 40"#);
    let mut source = tesson::open(&tight).expect("the limit is enough");
    for _ in 0..9 {
        source.next_minibatch(11).expect("the data are right");
    }
    let state = source.state().clone();
    let expected = rest(&mut source, 11);
    assert_eq!(rest(&mut crate::kit::resumed(&roomy, &state).expect("its state"), 11), expected);
    assert_eq!(rest(&mut crate::kit::resumed(&tight, &state).expect("its state"), 11), expected);
}

#[test]
fn data_read_in_order_leave_memory_before_their_chunk_ends() {
    let file = folder("ways-passed").join("train.ctf");
    std::fs::write(&file, long_rows(3000)).expect("the folder can be written");
    // One chunk of more bytes than are kept for being few.
    let options = r#", "randomize": false, "maxSweeps": 1, "threads": 1, "memoryLimit": "64MiB""#;
    let config = config_with(&file, 400, options, "");
    let mut source = tesson::open(&config).expect("the file is right");
    source.next_minibatch(64).expect("the data are right");
    let (state, expected) = (source.state().clone(), rest(&mut source, 64));
    // A state in the middle is found by an index.
    let mut resumed = crate::kit::resumed(&config, &state).expect("its state");
    assert_eq!(rest(&mut resumed, 64), expected);
    let stats = resumed.stats();
    assert!(stats.blocks_loaded > 8, "{stats:?}");
    assert!(stats.peak_resident_bytes < 3 << 20, "{stats:?}");
}

#[test]
fn minibatches_that_are_blocks_of_their_own_are_those_of_other_blocks() {
    let folder = folder("ways-own-blocks");
    let [text, good, binary] = ["train.ctf", "good.ctf", "train.cbf"].map(|name| folder.join(name));
    // Two rows are wrong, and are forgiven.
    let rows = long_rows(3000);
    let wrong = rows.replacen("|y 2:1 5:1001.5", "|y 2:x", 1).replacen("|y 1:1 3:1", "|y 9:1 3:1", 1);
    std::fs::write(&text, wrong).expect("the folder can be written");
    std::fs::write(&good, &rows).expect("the folder can be written");
    let in_order = |limit: &str, options: &str| {
        format!(r#", "randomize": false, "maxSweeps": 2, "memoryLimit": "{limit}", {options}"#)
    };
    let source = tesson::open(&config_with(&good, 400, r#", "randomize": false, "maxSweeps": 1"#, ""));
    let mut corpus = Corpus::new(source.expect("the file is right"), |_| Element::F32);
    let form = Form::Binary { chunk_bytes: 1 << 20 };
    tesson_convert::write(&mut corpus, &binary, Existing::Keep, form, &mut |_| ()).expect("it is right");
    for file in [&text, &binary] {
        let config = |limit: &str, options: &str| {
            let options = in_order(limit, options);
            if *file == text {
                config_with(file, 400, &options, r#", "maxErrors": 9"#)
            } else {
                config_of_binary(file, &options, "")
            }
        };
        // Blocks hold many minibatches of 7 sequences. Those of 200 and 300 are blocks of their own, but where two sweeps meet. Of
        // 2600 there would be too few for all threads: only the last one of a sweep is.
        for (samples, are_own) in [(7, false), (200, true), (300, true), (2600, false)] {
            // Blocks that stay in memory, as there are few of them, serve all minibatches.
            let mut kept = tesson::open(&config("1GiB", r#""threads": 1"#)).expect("the file is right");
            kept.next_minibatch(samples).expect("the data are right");
            // A state is found by an index, which texts do not have before.
            let state = kept.state().clone();
            let expected = everything(&mut kept, samples);
            let n = expected.len() as u64;
            for options in
                [r#""threads": 1"#, r#""threads": 3"#, r#""prefetch": false"#, r#""store": "mmap""#]
            {
                let mut passed = crate::kit::resumed(&config("64MiB", options), &state).expect("its state");
                assert!(everything(&mut passed, samples) == expected, "{samples} of {file:?}, {options}");
                let stats = passed.stats();
                let from_blocks = stats.block_hits + stats.rows_loaded;
                assert_eq!(from_blocks < n / 2, are_own, "{samples} of {file:?}, {options}: {stats:?}");
            }
        }
    }
}

/// The values of all streams, to be written to, each with its stream's column numbers if it has any.
fn arrays(streams: &mut [StreamBatch]) -> impl Iterator<Item = (&mut [f32], &mut [i32])> {
    streams.iter_mut().map(|stream| match stream.samples_mut() {
        Samples::Dense { values: SampleValues::F32(values) } => (&mut values[..], &mut [][..]),
        Samples::Sparse { indices, values: SampleValues::F32(values), .. } => {
            (&mut values[..], &mut indices[..])
        }
        _ => panic!("the streams are of 32-bit floats"),
    })
}

#[test]
fn small_minibatches_in_order_are_slices_of_blocks_and_their_owners() {
    let file = folder("ways-slices").join("train.ctf");
    let n = 3000;
    std::fs::write(&file, long_rows(n)).expect("the folder can be written");
    let config = |limit: &str, threads: usize| {
        let options = format!(
            r#", "randomize": false, "maxSweeps": 3, "memoryLimit": "{limit}", "threads": {threads}"#
        );
        config_with(&file, 400, &options, "")
    };
    // Those of 5,000 have sequences of two sweeps, which lie in the same blocks.
    let sizes = |i: usize| if i % 200 == 199 { 5000 } else { 7 };
    let mut copied = tesson::open(&config("1GiB", 1)).expect("the file is right");
    let next = |source: &mut Source, i: usize| source.next_minibatch(sizes(i)).expect("the data are right");
    let expected: Vec<(String, ResumeState)> = (0..)
        .map_while(|i| next(&mut copied, i))
        .map(|minibatch| (shown(&minibatch), minibatch.resume().clone()))
        .collect();
    for threads in [1, 3] {
        // From the beginning there is no index, and later there is.
        let mut source = tesson::open(&config("64MiB", threads)).expect("the file is right");
        let (mut adjacent, mut n) = (0, 0);
        for from in [0, 0, 13, 300, 14] {
            if from > 0 {
                source.restore(&expected[from - 1].1).expect("its state");
            } else if source.state().cursor.sweep > 0 {
                source = tesson::open(&config("64MiB", threads)).expect("the file is right");
            }
            let (mut held, mut ends) = (Vec::new(), Vec::new());
            for (i, (expected, _)) in expected.iter().enumerate().skip(from).take(450) {
                let minibatch = next(&mut source, i).expect("the data have as many");
                assert!(shown(&minibatch) == *expected, "{threads} threads, minibatch {i} from {from}");
                let (mut streams, ..) = minibatch.into_parts();
                let starts: Vec<usize> = arrays(&mut streams).map(|(v, _)| v.as_ptr() as usize).collect();
                adjacent += usize::from(starts == ends);
                ends = arrays(&mut streams).map(|(v, _)| v.as_ptr_range().end as usize).collect();
                // What is written here must be read nowhere else, and nothing else be written here.
                for (values, columns) in arrays(&mut streams) {
                    values.fill(i as f32);
                    columns.fill(i as i32);
                }
                held.push((i, streams));
            }
            for (i, streams) in &mut held {
                for (values, columns) in arrays(streams) {
                    let is_its =
                        values.iter().all(|&v| v == *i as f32) && columns.iter().all(|&c| c == *i as i32);
                    assert!(is_its, "{threads} threads, minibatch {i} from {from}");
                }
            }
            n += held.len();
        }
        // Those at the ends of blocks are copied, and all of a block that is loaded after one of 5,000.
        assert!(adjacent > n / 4, "{adjacent} of {n} minibatches were not copied");
    }
}

#[test]
fn short_sequences_leave_their_lines_where_all_would_not_fit() {
    let file = folder("ways-lines").join("train.ctf");
    // Packed they take 50 bytes each, and lines 64: of the memory for blocks 0.9 and 1.15 times.
    let n = 220_000;
    let mut text = String::new();
    for i in 0..n {
        text.push_str("|x 1 |y");
        for j in 0..8 {
            write!(text, " {}:0.{:02}", 1000 * j + i % 997, 1 + (i + j) % 99)
                .expect("strings take everything");
        }
        text.push('\n');
    }
    std::fs::write(&file, &text).expect("the folder can be written");
    let config = |limit: &str| {
        let json = format!(
            r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "input": {{
                "x": {{"dim": 1, "format": "dense"}}, "y": {{"dim": 9000, "format": "sparse"}}}}}}],
                "maxSweeps": 1, "threads": 1, "memoryLimit": "{limit}"}}"#
        );
        from_json(&json).expect("the test's configuration is right")
    };
    let read = |limit: &str| {
        let mut source = tesson::open(&config(limit)).expect("the file is right");
        let sums = crate::kit::read_all(&mut source, 5000, |minibatch| {
            let y = crate::kit::stream_of(minibatch, "y").samples().values();
            (crate::kit::columns(minibatch, "y"), (0..y.len()).map(|i| y.get(i)).sum::<f64>())
        });
        (sums.expect("the data are right"), source.stats())
    };
    let (expected, roomy) = read("1GiB");
    let (found, tight) = read("32MiB");
    assert!(found == expected);
    assert!(tight.peak_resident_bytes < roomy.peak_resident_bytes, "{tight:?} {roomy:?}");
    assert!(tight.rows_loaded < n as u64 / 10, "{tight:?}");
}
