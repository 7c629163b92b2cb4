//! The rules of the format, one by one.

use super::super::record::Form;
use super::harness::{File, Memory, by_index, by_pieces, dense, opened, put_header, rows, sparse};

/// The file that the format's description shows byte by byte.
const EXAMPLE: [u8; 103] = [
    0x6e, 0x69, 0x62, 0x5f, 0x6b, 0x74, 0x6e, 0x63, 1, 0, 0, 0, // magic, version
    1, 0, 0, 0, 2, 0, 0, 0, // lengths
    1, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, // sequence 0
    2, 0, 0, 0, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0xc0, 0x40, // sequence 1
    0x6e, 0x69, 0x62, 0x5f, 0x6b, 0x74, 0x6e, 0x63, 1, 0, 0, 0, 1, 0, 0, 0, // header
    0, 1, 0, 0, 0, 0x61, 0, 2, 0, 0, 0, // stream
    12, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, // chunk
    0x34, 0, 0, 0, 0, 0, 0, 0,
];

fn example() -> File {
    File {
        streams: vec![("a", dense(2))],
        chunks: vec![vec![vec![rows(&[[1., 2.]])], vec![rows(&[[3., 4.], [5., 6.]])]]],
    }
}

/// Reads a file with these options, in pieces and by the index, which must agree.
fn read(options: &str, bytes: Vec<u8>) -> Result<Vec<String>, String> {
    let file = Memory::new(bytes);
    let cbf = opened(options, &file)?;
    let lines = by_index(&cbf, &file)?;
    if !options.contains("skip") {
        assert_eq!(by_pieces(&cbf, &file, 1)?, lines);
        assert_eq!(by_pieces(&cbf, &file, 1 << 20)?, lines);
    }
    Ok(lines)
}

fn check(options: &str, bytes: Vec<u8>, expected: &[&str]) {
    assert_eq!(read(options, bytes).unwrap(), expected);
}

fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(read("", bytes.to_vec()).unwrap_err(), expected);
}

#[test]
fn the_example_of_the_description_is_read() {
    assert_eq!(example().bytes(), EXAMPLE);
    check("", EXAMPLE.to_vec(), &["0 (1) a=[1 2]", "1 (2) a=[3 4, 5 6]"]);
}

#[test]
fn streams_are_renamed_and_left_out() {
    let mut file = example();
    file.streams = vec![("a", dense(2)), ("b", sparse(4)), ("c", dense(1))];
    file.chunks = vec![vec![vec![rows(&[[1., 2.]]), vec![vec![(3, 0.5)]], rows(&[[7.]])]]];
    check("", file.bytes(), &["0 (1) a=[1 2] b=[3:0.5] c=[7]"]);
    check("X=b a=a Z=nothing", file.bytes(), &["0 (1) a=[1 2] X=[3:0.5] c=[7]"]);
    check("skip=a", file.bytes(), &["0 (1) b=[3:0.5] c=[7]"]);
    check("skip=b skip=c", file.bytes(), &["0 (1) a=[1 2]"]);
    check("skip=a skip=c X=b", file.bytes(), &["0 (1) X=[3:0.5]"]);
    let error = |options| read(options, file.bytes()).unwrap_err();
    assert_eq!(
        error("skip=a skip=b skip=c"),
        "input: all streams of the file are left out, expected at least one"
    );
    assert_eq!(
        error("a=b"),
        "f.cbf (byte 0): two streams have the name `a`; give one of them another in `input`"
    );
    assert!(error("X=a Y=a").contains("`a` of the file is `X` already"));
}

#[test]
fn sparse_samples_are_sorted_and_added_up() {
    let file = File {
        streams: vec![("s", sparse(6))],
        chunks: vec![vec![
            vec![vec![vec![(5, 1.), (0, 2.), (5, 3.)], vec![], vec![(2, 4.)]]],
            vec![vec![vec![(0, 1.), (1, 0.)]]],
            vec![vec![vec![(1, 1.), (1, -1.)]]],
        ]],
    };
    check("", file.bytes(), &["0 (3) s=[0:2 5:4, , 2:4]", "1 (1) s=[0:1 1:0]", "2 (1) s=[1:0]"]);
}

#[test]
fn values_are_converted_to_the_type_that_is_asked_for() {
    let mut file = example();
    file.chunks[0].truncate(1);
    file.chunks[0][0][0] = rows(&[[0.1, 1e300]]);
    check("double", file.bytes(), &[&format!("0 (1) a=[{} inf]", f64::from(0.1f32))]);
    file.streams[0].1.double = true;
    check("double", file.bytes(), &[&format!("0 (1) a=[0.1 {}]", 1e300)]);
    check("float", file.bytes(), &["0 (1) a=[0.1 inf]"]);
}

#[test]
fn a_sequence_without_samples_in_a_stream_has_length_0_there() {
    let file = File {
        streams: vec![("a", dense(2)), ("s", sparse(3))],
        chunks: vec![vec![vec![vec![], vec![vec![]]], vec![rows(&[[1., 2.]]), vec![]]]],
    };
    check("", file.bytes(), &["0 (1) a=[] s=[]", "1 (1) a=[1 2] s=[]"]);
}

#[test]
fn chunks_may_lie_in_any_order_with_unused_bytes_between_them() {
    let one = |value: f64| File { chunks: vec![vec![vec![rows(&[[value, 0.]])]]], ..example() };
    let chunk = |value| one(value).bytes()[12..28].to_vec();
    let mut bytes = b"nib_ktnc\x01\0\0\0??".to_vec();
    bytes.extend([chunk(2.), b"???".to_vec(), chunk(1.)].concat());
    put_header(&[("a", dense(2))], &[(33, 1, 1), (12, 0, 0), (14, 1, 1)], &mut bytes);
    check("", bytes, &["0 (1) a=[1 0]", "1 (1) a=[2 0]"]);
}

#[test]
fn the_length_in_front_of_a_chunk_counts_and_another_one_is_noted() {
    let mut bytes = EXAMPLE.to_vec();
    bytes[12] = 2;
    bytes[16] = 1;
    let note = |byte: u32, n: u32, longest: u32| {
        format!(
            "; byte {byte} : the sequence counts as {n} samples, the longest of its streams has {longest}"
        )
    };
    let expected =
        [format!("0 (2) a=[1 2]{}", note(12, 2, 1)), format!("1 (1) a=[3 4, 5 6]{}", note(16, 1, 2))];
    assert_eq!(read("", bytes).unwrap(), expected);
}

#[test]
fn what_is_wrong_with_a_header_is_said_with_its_place() {
    let with = |at: usize, byte: u8| {
        let mut bytes = EXAMPLE;
        bytes[at] = byte;
        bytes
    };
    refused(
        &[],
        "f.cbf (byte 0): the file is empty or holds only white space, expected at least one sequence",
    );
    refused(&EXAMPLE[..7], "f.cbf (byte 0): the file ends within the magic number");
    refused(
        &with(0, 0),
        "f.cbf (byte 0): the file does not begin with the magic number of CNTK's binary format",
    );
    refused(
        b"|a 1 2 3 4",
        "f.cbf (byte 0): the file does not begin with the magic number of CNTK's binary format; text is read with `CNTKTextFormatDeserializer`",
    );
    refused(&with(8, 2), "f.cbf (byte 8): found version 2 of the binary format, expected version 1");
    refused(
        &with(52, 0),
        "f.cbf (byte 52): no header begins here; the file is not in CNTK's binary format, or was changed",
    );
    refused(&with(60, 2), "f.cbf (byte 79): the table of 2 chunks takes 32 bytes, 16 are left for it");
    refused(&with(60, 0), "f.cbf (byte 79): the file holds no sequence under the given options");
    refused(&with(64, 0), "f.cbf (byte 64): the header declares 0 streams, expected 1 to 65535");
    refused(&with(68, 2), "f.cbf (byte 68): stream `a` has encoding 2, expected 0 (dense) or 1 (sparse)");
    refused(&with(69, 200), "f.cbf (byte 73): the file ends within a stream's name");
    refused(&with(73, 0xff), "f.cbf (byte 73): a stream's name is not UTF-8");
    refused(&with(74, 2), "f.cbf (byte 68): stream `a` has element type 2, expected 0 (float) or 1 (double)");
    refused(&with(75, 0), "f.cbf (byte 68): stream `a` is dense with dim 0, expected at least 1");
    refused(&with(79, 11), "f.cbf (byte 79): the table lists chunk 0 at byte 11, expected one from 12 to 52");
    refused(
        &with(86, 0x80),
        "f.cbf (byte 79): the table lists chunk 0 at byte -9223372036854775796, expected one from 12 to 52",
    );
    refused(&with(91, 0), "f.cbf (byte 79): the table counts 2 sequences without a sample");
    refused(
        &with(90, 1),
        "f.cbf (byte 79): chunk 0 of 16777218 sequences has 40 bytes until the next chunk or the header begins: the table is wrong, or chunks lie over each other",
    );
    refused(
        &with(102, 0x80),
        "f.cbf (byte 95): the file declares that its header begins at byte -9223372036854775756, expected one from 12 to 95; the file was cut off or changed",
    );
    refused(
        &EXAMPLE[..94],
        "f.cbf (byte 86): the file declares that its header begins at byte 3298534883840, expected one from 12 to 86; the file was cut off or changed",
    );
}

#[test]
fn a_sparse_stream_has_fewer_columns_than_31_bits_hold() {
    let mut file = example();
    file.streams = vec![("s", Form { dim: 1 << 31, ..sparse(0) })];
    file.chunks = vec![vec![vec![vec![vec![(7, 1.)]]]]];
    refused(
        &file.bytes(),
        "f.cbf (byte 52): stream `s` is sparse with dim 2147483648, at most 2147483647 is possible",
    );
    file.streams[0].1.dim -= 1;
    check("", file.bytes(), &["0 (1) s=[7:1]"]);
}

#[test]
fn chunks_over_each_other_are_refused() {
    let mut bytes = EXAMPLE[..52].to_vec();
    put_header(&[("a", dense(2))], &[(12, 2, 3), (12, 1, 1)], &mut bytes);
    assert!(read("", bytes).unwrap_err().contains("chunks lie over each other"));
}
