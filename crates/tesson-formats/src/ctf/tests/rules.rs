//! A case a rule.

use super::harness::{Memory, by_index, by_pieces, opened};

/// The sequences of `input` under these options, by every way to read them.
fn read(options: &str, streams: &str, input: &str) -> Result<Vec<String>, String> {
    let file = Memory::new(input.as_bytes().to_vec());
    let ctf = opened(options, streams, &file)?;
    let lines = by_index(&ctf, &file);
    if let (Ok(lines), Some(_)) = (&lines, crate::files::DataFile::streaming(&ctf)) {
        for target in [1, 7, 1 << 20] {
            assert_eq!(by_pieces(&ctf, &file, target).as_ref(), Ok(lines), "pieces of {target}");
        }
    }
    lines
}

fn check(options: &str, streams: &str, input: &str, expected: &[&str]) {
    let lines = read(options, streams, input).unwrap_or_else(|e| vec![e]);
    assert_eq!(lines, expected, "{input:?}");
}

fn cntk(streams: &str, input: &str, expected: &[&str]) {
    check("rules=cntk", streams, input, expected);
}

fn lenient(streams: &str, input: &str, expected: &[&str]) {
    check("", streams, input, expected);
}

const A: &str = "A:dense:2:a";
const AB: &str = "A:dense:2:a B:dense:1:b";
const S: &str = "S:sparse:10:s";

#[test]
fn rows_without_ids_are_sequences_and_lines_their_keys() {
    cntk(A, "\n|a 1 2\n5 |a 3 4\n", &["1*1 [1 2]", "2*1 [3 4]"]);
    check("skipSequenceIds=true", A, "7 |a 1 2\n7 |a 3 4\n", &["0*1 [1 2]", "1*1 [3 4]"]);
}

#[test]
fn rows_with_the_same_id_are_a_sequence() {
    cntk(A, "1 |a 1 2\n01 |a 3 4\n|a 5 6\n2|a 7 8\n", &["1*3 [1 2][3 4][5 6]", "2*1 [7 8]"]);
    cntk(A, "1 |a 1 2\n2 |a 3 4\n1 |a 5 6\n", &["1*1 [1 2]", "2*1 [3 4]", "1*1 [5 6]"]);
    cntk(A, "18446744073709551615 |a 1 2\n", &["18446744073709551615*1 [1 2]"]);
}

#[test]
fn files_that_allow_no_index_are_refused_with_the_place() {
    let refused = |options: &str, bytes: &[u8], expected: &str| {
        let file = Memory::new(bytes.to_vec());
        let error = opened(options, A, &file).map(|ctf| by_index(&ctf, &file)).and_then(|r| r).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    refused("", b"", "empty");
    refused("", b" \t\r\n\x0B\x0C", "empty");
    refused("", b"\xEF\xBB\xBF\n", "empty");
    refused("", b"\xFF\xFE1\0", "UTF-16");
    refused("", b"\xFE\xFF", "input.txt:1 (byte 0): found `\\xfe`, expected a sequence id");
    refused("", b"nib_ktnc\x01\0\0\0", "input.txt:1 (byte 0): the file is in CNTK's binary format");
    for (bytes, program) in [
        (&b"\x1f\x8b\x08\0\n0 |x 1\n"[..], "gzip"),
        (b"\x28\xb5\x2f\xfd\x24", "zstd"),
        (b"\xfd7zXZ\0\0\x04", "xz"),
        (b"BZh91AY&SY\xc1", "bzip2"),
        (b"PK\x03\x04\x14", "zip"),
    ] {
        refused(
            "",
            bytes,
            &format!("input.txt:1 (byte 0): the file is compressed by {program}, expected text"),
        );
    }
    refused("", b"\n\n -5 |a 1 2\n", "input.txt:3 (byte 3): found `-`");
    refused(
        "",
        b"1 |a 1 2\n99999999999999999999 |a 1 2\n",
        "input.txt:2 (byte 9): found sequence id 99999999999999999999",
    );
    refused("textKeys", b"|a 1 2\n", "found `|`");
    refused("rules=cntk", b"123", "no sequence");
    refused("", b"|# only\n|# comments", "no sequence");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    for mark in [&b"\xEF\xBB\xBF"[..], b"\xEF\xBB", b"\xEF"] {
        let file = Memory::new([mark, b"|a 1 2\n"].concat());
        assert_eq!(by_index(&opened("", A, &file).unwrap(), &file).unwrap(), ["0*1 [1 2]"]);
    }
}

#[test]
fn inputs_are_found_in_any_order_and_with_any_blanks() {
    cntk(AB, "|b 3|a 1\t2\n|a 4 5  |b\t6 \r\n", &["0*1 [1 2] [3]", "1*1 [4 5] [6]"]);
    cntk(A, "|A 1 2 |a 1 2 |aa 5\n", &["0*1 [1 2]"]);
    cntk(A, "|# a comment |# and more |a 1 2\n|a 3 4|#\n", &["0*1 [1 2]", "1*1 [3 4]"]);
}

#[test]
fn stray_text_costs_a_fault_up_to_the_next_input() {
    cntk(A, "|a 1 2 \x01 3 |a\n", &["0*1 [1 2][0 0] !prefix@9:0 !0:more@0:0"]);
    cntk(A, "1 text |a 1 2\n", &["1*1 [1 2] !prefix@2:0"]);
    cntk(A, "1 |a 1 2\n 2 |a 3 4\n", &["1*2 [1 2][3 4] !prefix@10:1"]);
    lenient(A, "1 |a 1 2\n 2 |a 3 4\n", &["1*1 [1 2]", "2*1 [3 4]"]);
}

#[test]
fn a_pipe_without_a_name_costs_a_fault() {
    cntk(A, "|a 1 2 | |a\n", &["0*1 [1 2][0 0] !name@7:0 !0:more@0:0"]);
    cntk(A, "|# x | y\n|a 1 2\n", &["0*1  !name@5:0 !row@0:0 !!0:empty@0:0", "1*1 [1 2]"]);
}

#[test]
fn refused_numbers_cost_the_sample() {
    for bad in [
        ".5", "-.5", "1.e2", "1e", "1e+", "e5", "0x10", "nan", "inf", "1,5", "1_0", "--1", "1f", "1.5.2",
        "1e5.5", "1:1",
    ] {
        let place = 3;
        let expected = format!("0*1 [1 2] !0:number@{place}:0");
        cntk(A, &format!("|a {bad} |a 1 2\n"), &[&expected]);
    }
    check("numbers=extended", A, "|a .5 1.e1\n", &["0*1 [0.5 10]"]);
    check("numbers=extended", A, "|a nan -inf\n", &["0*1 [NaN -inf]"]);
    check("numbers=extended", A, "|a 1-2 |a 1 2\n", &["0*1 [1 2] !0:number@3:0"]);
}

#[test]
fn numbers_may_be_glued_by_their_signs() {
    cntk(A, "|a 1-2\n|a 3+4\n", &["0*1 [1 -2]", "1*1 [3 4]"]);
    cntk(A, "|a -0 5.\n", &["0*1 [-0 5]"]);
}

#[test]
fn short_dense_samples_are_filled_up_and_long_ones_refused() {
    cntk(A, "|a\n|a 1\n|a 1 2\n", &["0*1 [0 0]", "1*1 [1 0]", "2*1 [1 2]"]);
    cntk(AB, "|a 1 2 3 |b 1\n", &["0*1  [1] !0:long@7:0 !!0:empty@0:0"]);
}

#[test]
fn sparse_samples_are_sorted_and_repeated_columns_added() {
    cntk(S, "|s\n|s 3:1 1:2 3:0.5\n|s 7:0 007:1\n", &["0*1 []", "1*1 [1:2 3:1.5]", "2*1 [7:1]"]);
    cntk(S, "|s 9:-2.5e1 \t0:0\n", &["0*1 [0:0 9:-25]"]);
}

#[test]
fn refused_pairs_cost_the_sample() {
    for (bad, word) in [
        ("10:1", "index"),
        ("18446744073709551616:1", "index"),
        ("5", "pair"),
        ("5 :1", "pair"),
        ("5: 1", "pair"),
        ("-5:1", "pair"),
        ("+5:1", "pair"),
        ("3.0:1", "pair"),
        ("3:1+4", "pair"),
        ("3:x", "pair"),
        (":1", "pair"),
    ] {
        cntk(S, &format!("|s 1:1 {bad} |s 2:2\n"), &[&format!("0*1 [2:2] !0:{word}@7:0")]);
    }
}

#[test]
fn the_streams_of_a_sequence_are_checked_against_its_rows() {
    cntk(AB, "1 |a 1 2 |b 3\n1 |a 4 5\n", &["1*2 [1 2][4 5] [3]"]);
    cntk(AB, "1 |a 1 2\n1 |b 3\n", &["1*2 [1 2] [3] !fewer@0:0"]);
    lenient(AB, "1 |a 1 2\n1 |b 3\n", &["1*2 [1 2] [3]"]);
    cntk(A, "1 |a 1 2 |a 3 4\n1\n", &["1*2 [1 2][3 4] !row@16:1"]);
    cntk(A, "1 |a 1 2\n\n", &["1*2 [1 2] !row@9:1 !fewer@0:0"]);
    lenient(A, "1 |a 1 2\n\n", &["1*2 [1 2]"]);
    cntk(AB, "1 |a 1 2\n2 |b 3 |a 1 2\n", &["1*1 [1 2]  !!1:empty@0:0", "2*1 [1 2] [3]"]);
}

#[test]
fn sequences_without_samples_of_a_stream_are_kept_skipped_or_errors() {
    let input = "1 |a 1 2\n2 |x\n3 |a 1 2 |b 3\n";
    let last = "3*1 [1 2] [3]";
    check("", AB, input, &["1*1 [1 2] ", "2*1   left out", last]);
    check("emptyInputs=skip", AB, input, &["1*1 [1 2]  left out", "2*1   left out", last]);
    check("emptyInputs=error", AB, input, &["1*1 [1 2]  !!1:empty@0:0", "2*1   left out", last]);
    let missing = "1*1 [1 2]  left out !1:missing@0:0";
    check("emptyInputs=fault", AB, input, &[missing, "2*1   left out", last]);
}

#[test]
fn a_row_without_ids_that_lacks_a_stream_is_left_out_and_costs_a_fault() {
    let input = "|a 1 2 |b 1\n|a 3 4\n|b 5 |x 1\n|a 6 7 |b 8\n";
    let (first, last) = ("0*1 [1 2] [1]", "3*1 [6 7] [8]");
    let faults = [first, "1*1 [3 4]  left out !1:missing@12:1", "2*1  [5] left out !0:missing@19:2", last];
    lenient(AB, input, &faults);
    check("emptyInputs=fault", AB, input, &faults);
    check("emptyInputs=keep", AB, input, &[first, "1*1 [3 4] ", "2*1  [5]", last]);
    check("emptyInputs=skip", AB, input, &[first, "1*1 [3 4]  left out", "2*1  [5] left out", last]);
    let errors = [first, "1*1 [3 4]  !!1:empty@12:1", "2*1  [5] !!0:empty@19:2", last];
    check("emptyInputs=error", AB, input, &errors);
    check(
        "skipSequenceIds=true",
        AB,
        &input.replace("|a 3", "7 |a 3"),
        &[first, "1*1 [3 4]  left out !1:missing@12:1", "2*1  [5] left out !0:missing@21:2", last],
    );
    // However many streams are missing, and whether the row has a line feed.
    lenient("A:dense:2:a B:dense:1:b C:dense:1:c", "|a 1 2", &["0*1 [1 2]   left out !1:missing@0:0"]);
    // Streams beside the one that defines sizes have to be there, too.
    let main = "A:dense:2:a B:dense:1:b:main";
    check("", main, "|b 1\n|a 1 2\n|b 2 |a 3 4\n", &["0*1  [1] left out !0:missing@0:0", "2*1 [3 4] [2]"]);
}

#[test]
fn a_stream_that_faults_have_emptied_takes_its_sequence_with_it() {
    for empty in ["keep", "skip", "fault", "error"] {
        let options = format!("emptyInputs={empty}");
        let input = "1 |a x 4 |b 2\n1 |b 3\n2 |a 1 2 |a x |b 1\n";
        check(&options, AB, input, &["1*2  [2][3] left out !0:number@5:0", "2*1 [1 2] [1] !0:number@33:2"]);
        check(
            &options,
            AB,
            "|a x 4 |b 2\n|a 1 2 |b y\n",
            &["0*1  [2] left out !0:number@3:0", "1*1 [1 2]  left out !1:number@22:1"],
        );
        check(&options, S, "1 |s 1:1\n2 |s 10:1\n", &["1*1 [1:1]", "2*1  left out !0:index@14:1"]);
    }
    // A sequence may lack one stream and lose another.
    let (input, all) = ("1 |a x |c 1\n", "A:dense:2:a B:dense:1:b C:dense:1:c");
    let lost = "1*1   [1] left out !0:number@5:0";
    check("", all, input, &[lost]);
    check("emptyInputs=skip", all, input, &[lost]);
    check("emptyInputs=fault", all, input, &[&format!("{lost} !1:missing@0:0")]);
    check("emptyInputs=error", all, input, &["1*1   [1] !0:number@5:0 !!1:empty@0:0"]);
    cntk(all, input, &["1*1   [1] !0:number@5:0 !!0:empty@0:0"]);
    // Nothing left of a row: its FAULT "row" is all that is added.
    lenient(AB, "|a x |b y\n", &["0*1   left out !0:number@3:0 !1:number@8:0 !row@0:0"]);
}

#[test]
fn lenient_lines_that_are_blank_or_comments_are_no_sequences() {
    let input = "|a 1 2\n \t\r\n|# comment |# and more\n|x 1\n|a 3 4\n";
    lenient(A, input, &["0*1 [1 2]", "3*1  left out !row@34:3", "4*1 [3 4]"]);
}

#[test]
fn lenient_lines_of_text_cost_one_fault_each() {
    let input = "|a 1 2\na 2 s 2\nx |# comment\nx | |a 5 6\n|a 3 4\n";
    lenient(
        A,
        input,
        &[
            "0*1 [1 2]",
            "1*1  left out !text@7:1",
            "2*1  left out !text@15:2",
            "3*1 [5 6] !prefix@28:3 !name@30:3",
            "4*1 [3 4]",
        ],
    );
    check(
        "skipSequenceIds=true",
        A,
        "7 |a 1 2\n7\n7 x\n",
        &["0*1 [1 2]", "1*1  left out !row@9:1", "2*1  left out !text@13:2"],
    );
    // The row that the file ends in is charged, too.
    lenient(A, "|a 1 2\nx 1", &["0*1 [1 2]", "1*1  left out !text@7:1"]);
    // A stream that defines sizes says which rows there are.
    check("", "A:dense:2:a:main", "|a 1 2\nx 1\n|a 3 4\n", &["0*1 [1 2]", "2*1 [3 4]"]);
    cntk(A, "|a 1 2\nx 1\n", &["0*1 [1 2]", "1*1  !prefix@7:1 !row@7:1 !!0:empty@7:1"]);
}

#[test]
fn comments_before_the_first_row_choose_no_mode_under_the_lenient_rules() {
    lenient(A, "|# comment\n\n |# another\n5 |a 1 2\n", &["5*1 [1 2]"]);
    cntk(A, "|# c\n5 |a 1 2\n", &["0*1  !row@0:0 !!0:empty@0:0", "1*1 [1 2]"]);
}

#[test]
fn the_end_of_the_file_ends_a_row() {
    cntk(A, "|a 1 2\n|a 1", &["0*1 [1 2]", "1*1 [1 0]"]);
    cntk(A, "|a", &["0*1 [0 0]"]);
    cntk(S, "|s", &["0*1 []"]);
    cntk(S, "|s 1:1", &["0*1 [1:1]"]);
    cntk(A, "1 |a 1 2\n1 ", &["1*2 [1 2] !fewer@0:0"]);
    cntk(A, "1 |a 1 2\n1", &["1*1 [1 2]"]);
    cntk(A, "1 |a 1 2 3", &["1*1  !0:long@9:0 !!0:empty@0:0"]);
}

#[test]
fn a_main_stream_decides_what_counts() {
    let streams = "A:dense:2:a B:dense:1:b:main";
    let input = "1 |a 1 1\n2 |a 4 4 |b 5\n2 |a 6 6\n3 |bb 1\n4 |b 7 |a 8 8\n";
    check("rules=cntk", streams, input, &["2*1 [4 4][6 6] [5]", "4*1 [8 8] [7]"]);
    check("rules=cntk", streams, "|a 1 1\n|b 2 |a 3 3\n", &["1*1 [3 3] [2]"]);
}

#[test]
fn text_keys_end_at_white_space_or_a_pipe() {
    check(
        "textKeys rules=cntk",
        A,
        "x1|a 1 2\n|a 3 4\n x2 |a\nx1 |a 5 6\n",
        &["x1*4 [1 2][3 4][0 0][5 6] !prefix@17:2"],
    );
    check("textKeys", A, "x |a 1 2\ny |a 3 4\n", &["x*1 [1 2]", "y*1 [3 4]"]);
}

#[test]
fn double_precision_is_read_once_and_rightly() {
    check(
        "precision=double",
        "a:dense:1",
        "|a 0.1\n|a 1e-320\n",
        &["0*1 [0.1]", &format!("1*1 [{}]", 1e-320)],
    );
}

#[test]
fn an_automatic_dense_dimension_is_that_of_the_first_good_sample() {
    lenient(
        "a:dense:auto b:dense:1",
        "|b 1\n|a x\n|a 1 2 3 |b 4\n|a 5 |b 6\n",
        &[
            "0*1  [1] left out !0:missing@0:0",
            "1*1   left out !0:number@8:1 !row@5:1",
            "2*1 [1 2 3] [4]",
            "3*1 [5 0 0] [6]",
        ],
    );
    let file = Memory::new(b"|b 1\n".to_vec());
    assert!(opened("", "a:dense:auto b:dense:1", &file).err().is_some_and(|e| e.contains("`dim` of `a`")));
}

#[test]
fn bad_options_are_refused_with_their_path() {
    let refused = |options: &str, streams: &str, expected: &str| {
        let file = Memory::new(b"|a 1\n".to_vec());
        let error = opened(options, streams, &file).err().unwrap();
        assert!(error.contains(expected), "{error}");
    };
    refused("", "", "input: found no streams, expected a section for each");
    refused("", "a:dense:0", "input.a.dim: found `0`");
    refused("", "a:sparse:?", "input.a.dim: required");
    refused("", "a:dense:?", "input.a.dim: required");
    refused("rules=cntk", "a:dense:?", "input.a.dim: required");
    refused("", "a:sparse:auto", "input.a.dim: found `auto`");
    refused("", "a:sparse:2147483648", "input.a.dim: found `2147483648`");
    refused("", "a:dense:x", "input.a.dim: found `x`");
    refused("", "a:thick:2", "input.a.format: found `thick`");
    refused("", "a:dense:2 b:dense:2:a", "input.b.alias: the alias `a` is stream `a`'s");
    refused("", "a:dense:2:", "input.a.alias: the alias is empty");
    refused("", "a:dense:2:main b:dense:1:main", "input.b.definesMBSize");
    refused("chunkSizeInBytes=0", A, "chunkSizeInBytes: found `0`");
    refused("skipSequenceIds=yes", A, "skipSequenceIds: found `yes`");
    refused("rules=strict", A, "rules: found `strict`");
}

#[test]
fn as_many_errors_as_cntk_can_count_may_be_forgiven_but_not_minus_one() {
    let file = Memory::new(b"|a 1\n".to_vec());
    let ctf = opened("maxErrors=4294967295", A, &file).unwrap();
    assert_eq!(ctf.options.max_errors, u64::from(u32::MAX));
    let error = opened("maxErrors=-1", A, &file).err().unwrap();
    assert!(error.starts_with("maxErrors: found `-1`, expected the number of faults"), "{error}");
    assert!(error.contains("`maxErrors = 4294967295`"), "{error}");
}

#[test]
fn chunks_are_cut_where_the_limit_is_passed() {
    let chunks = |limit: u64, input: &str| {
        let file = Memory::new(input.as_bytes().to_vec());
        let ctf = opened(&format!("chunkSizeInBytes={limit}"), A, &file).unwrap();
        let index = super::harness::indexed(&ctf, &file).unwrap().index;
        index.chunk_ids().map(|c| index.chunk(c).n_sequences).collect::<Vec<_>>()
    };
    let rows = "|a 1 2\n".repeat(4);
    assert_eq!(chunks(14, &rows), [2, 2]);
    assert_eq!(chunks(13, &rows), [1, 1, 1, 1]);
    assert_eq!(chunks(21, &rows), [3, 1]);
    assert_eq!(chunks(1 << 30, &rows), [4]);
    // Passed-over rows between two sequences count, those before the first do not.
    assert_eq!(chunks(16, "\n\n\n|a 1 2\n\n|a 1 2\n\n|a 1 2\n"), [2, 1]);
}

#[test]
fn a_file_that_has_changed_is_told_from_bad_data() {
    let file = Memory::new(b"1 |a 1 2\n2 |a 3 4\n".to_vec());
    let ctf = opened("", A, &file).unwrap();
    let indexed = super::harness::indexed(&ctf, &file).unwrap();
    let changed = Memory::new(b"1 |a 1 2\n1 |a 3 4\n".to_vec());
    let error = super::harness::all_chunks(&ctf, &indexed, &changed).unwrap_err();
    assert!(error.contains("has changed since it was indexed"), "{error}");
}

/// The warnings about the `n` sequences of an input, and the number of their faults.
fn warnings(options: &str, streams: &str, input: &str, n: u32) -> (tesson_core::DecodeWarnings, usize) {
    let file = Memory::new(input.as_bytes().to_vec());
    let ctf = opened(options, streams, &file).unwrap();
    let indexed = super::harness::indexed(&ctf, &file).unwrap();
    let (mut scratch, mut chunk) = (tesson_core::Scratch::default(), tesson_core::Chunk::empty());
    let wanted = tesson_core::SequenceSelection::Range(0..n);
    indexed.corpus.load(tesson_core::ChunkId(0), wanted, &file, &mut scratch, &mut chunk).unwrap();
    (scratch.warnings, chunk.faults.len())
}

#[test]
fn oddities_are_counted_and_the_first_has_its_place() {
    // A short sample, a missing line feed; and an unknown input.
    let (found, faults) = warnings("", A, "|a 1\n|x 1 |a 1 2\n|a 1 2", 3);
    assert_eq!((found.count, found.skipped, faults), (2, 1, 0));
    assert_eq!(
        found.first.as_deref(),
        Some("input.txt (byte 0): `|a` has fewer values than its dim 2, the rest are zeros")
    );
}

#[test]
fn a_stream_without_samples_is_odd_where_no_fault_explains_it() {
    let (found, faults) = warnings("", AB, "0 |a 1 z |b 1\n1 |a 1 2 3 |b 1\n2 |b 1\n", 3);
    assert_eq!((found.count, faults), (1, 2));
    assert_eq!(found.first.as_deref(), Some("input.txt (byte 30): no sample of `|a` in this sequence"));
    // Where it is a fault itself it is told as that alone.
    for options in ["", "rules=cntk", "emptyInputs=error"] {
        let (found, faults) = warnings(options, AB, "|b 1\n", 1);
        assert_eq!((found.count, faults), (0, 1), "{options}");
    }
}

#[test]
fn rows_of_megabytes_and_huge_exponents_are_read() {
    let long = format!("|a 1e999999999999 {} |# {}\n|a 1 2\n", "0".repeat(1 << 20), "x".repeat(3 << 20));
    lenient(A, &long, &["0*1 [inf 0]", "1*1 [1 2]"]);
}

#[test]
fn the_example_of_the_documents_is_five_sequences() {
    let input = "100 |a 1 2 3 |b 100 200\n100 |a 4 5 6 |b 101 201\n200 |b 500 100 |a 1 2 3\n333 |b 500 100\n333 |b 600 -900\n\
                 400 |a 1 2 3 |b 100 200\n|a 4 5 6 |b 101 201\n500 |a 1 2 3 |b 100 200\n";
    lenient(
        "A:dense:3:a B:dense:2:b",
        input,
        &[
            "100*2 [1 2 3][4 5 6] [100 200][101 201]",
            "200*1 [1 2 3] [500 100]",
            "333*2  [500 100][600 -900]",
            "400*2 [1 2 3][4 5 6] [100 200][101 201]",
            "500*1 [1 2 3] [100 200]",
        ],
    );
}
