//! Damaged chunks: refused with chunk and sequence, whatever is wanted of them; their neighbours are read.

use tesson_core::{ChunkId, SequenceSelection};

use super::harness::{File, Memory, Sample, by_index, by_pieces, dense, indexed, load, opened, rows, sparse};

fn bag(entries: &[(i32, f64)]) -> Vec<Sample> {
    vec![entries.to_vec()]
}

/// Two chunks of three sequences each; the first begins at byte 12, its dense records at 24, the sparse ones at 68.
fn file() -> Memory {
    let sequence = |i: i32| {
        vec![
            rows(&[[f64::from(i), 0.], [0., 1.]])[..1 + (i % 2) as usize].to_vec(),
            bag(&[(i % 4, 1.), (4, 2.)]),
        ]
    };
    let chunk = |from: i32| (from..from + 3).map(sequence).collect();
    Memory::new(
        File { streams: vec![("a", dense(2)), ("s", sparse(5))], chunks: vec![chunk(0), chunk(3)] }.bytes(),
    )
}

fn lines(file: &Memory) -> Vec<String> {
    let cbf = opened("", file).unwrap();
    let lines = by_index(&cbf, file).unwrap();
    assert_eq!(by_pieces(&cbf, file, 1).unwrap(), lines);
    assert_eq!(by_pieces(&cbf, file, 1 << 20).unwrap(), lines);
    let indexed = indexed(&cbf, file).unwrap();
    let one = |i: u32| load(&cbf, &indexed, file, ChunkId(i / 3), SequenceSelection::List(&[i % 3])).unwrap();
    assert_eq!((0..6).flat_map(one).collect::<Vec<_>>(), lines, "one by one");
    lines
}

fn put(file: &mut Memory, at: usize, number: i32) {
    file.bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

#[test]
fn a_record_that_reaches_beyond_its_chunk_refuses_the_chunk() {
    let mut file = file();
    put(&mut file, 36, 1000);
    let lines = lines(&file);
    for (i, line) in lines[..3].iter().enumerate() {
        let expected = "a=[] s=[]; f.cbf (byte 36): stream `a`, sequence 1: chunk 0 is damaged: sequence 1 of 3 needs 8004 bytes, 116 are left until the next chunk or the header begins; the whole chunk is refused";
        assert_eq!(*line, format!("{i} ({}) {expected}", 1 + i % 2));
    }
    assert_eq!(lines[3], "3 (2) a=[3 0, 0 1] s=[3:1 4:2]");
}

#[test]
fn a_negative_number_of_entries_refuses_the_chunk() {
    let mut file = file();
    assert_eq!(file.bytes[68..76], [1, 0, 0, 0, 2, 0, 0, 0]);
    put(&mut file, 72, -1);
    assert!(lines(&file)[2].contains(
        "stream `s`, sequence 0: chunk 0 is damaged: sequence 0 of 3 has -1 entries, expected 0 or more"
    ));
}

#[test]
fn entries_that_cannot_be_are_faults_of_their_sequence_alone() {
    let mut file = file();
    put(&mut file, 84, 9);
    put(&mut file, 112, -3);
    put(&mut file, 148, 1);
    let lines = lines(&file);
    assert_eq!(lines[0], "0 (1) a=[0 0] s=[]; byte 84 s: index 9 is not below dim 5");
    assert_eq!(
        lines[1],
        "1 (2) a=[1 0, 0 1] s=[]; byte 112 s: index -3 is negative, expected one from 0 and below dim 5"
    );
    assert_eq!(
        lines[2],
        "2 (1) a=[2 0] s=[]; byte 148 s: its samples have 1 entries in all, the sequence has 2"
    );
    put(&mut file, 148, -2);
    assert!(self::lines(&file)[2].ends_with("byte 148 s: a sample has -2 entries, expected 0 or more"));
}

#[test]
fn lengths_that_do_not_add_up_to_the_table_are_an_error() {
    let mut file = file();
    put(&mut file, 16, 7);
    let cbf = opened("", &file).unwrap();
    let expected =
        "f.cbf (byte 12): the lengths in front of chunk 0 add up to 9 samples, the chunk table lists 4";
    assert_eq!(by_index(&cbf, &file).unwrap_err(), expected);
    assert_eq!(by_pieces(&cbf, &file, 1).unwrap_err(), expected);
}

#[test]
fn any_byte_may_be_anything() {
    let good = file();
    for at in 0..good.bytes.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut file = Memory::new(good.bytes.clone());
            file.bytes[at] = byte;
            // An error is an answer.
            if let Ok(cbf) = opened("", &file) {
                let (one, other) = (by_index(&cbf, &file), by_pieces(&cbf, &file, 1));
                assert!(one == other, "byte {at} is {byte}: {one:?} {other:?}");
            }
        }
    }
}
