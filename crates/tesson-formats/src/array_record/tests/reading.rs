use super::{COMPRESSIONS, NONE, brotli, file_of, new};
use crate::array_record::SIGNATURE;
use crate::array_record::block::{BLOCK, hash};
use crate::array_record::compression::Decompressor;
use crate::array_record::write::Options;
use crate::record::testing::{Memory, read_every_way, read_rows, some_records};
use crate::record::{End, Problem};

fn check(records: &[Vec<u8>]) {
    for group_size in [1, 2, 3, 1000] {
        for compression in COMPRESSIONS {
            let bytes = file_of(records, Options { group_size, compression });
            assert!(bytes.len().is_multiple_of(BLOCK as usize) && bytes.len() >= 2 * BLOCK as usize);
            let (found, end) = read_every_way(&new, &Memory::new(bytes));
            let expected: Vec<_> = records.iter().cloned().map(Ok).collect();
            assert_eq!((found, end), (expected, End::File), "{group_size} {compression:?}");
        }
    }
}

#[test]
fn files_are_the_same_however_they_are_read() {
    check(&[]);
    check(&[vec![]]);
    check(&vec![vec![]; 9]);
    check(&some_records(30, 90));
    check(&[vec![1; 70_000], vec![], vec![2; 200_000], vec![3; 5], vec![4; 66_000]]);
}

#[test]
fn chunks_may_begin_and_end_anywhere_in_a_block() {
    // A first record that brings the next chunk, and the padding behind the index, to every place around a boundary.
    for size in 65_536 - 64 - 40 - 300..65_536 - 64 - 40 {
        let records = [vec![7; size], vec![8; 3], vec![9; 60]];
        let bytes = Memory::new(file_of(&records, NONE));
        assert_eq!(read_rows(&*new(), &bytes, &[2, 1, 0]), [2, 1, 0].map(|i: usize| Ok(records[i].clone())));
    }
}

#[test]
fn the_signature_is_what_its_hashes_say() {
    assert_eq!(hash(&SIGNATURE[8..24]).to_le_bytes(), SIGNATURE[..8]);
    assert_eq!(hash(&SIGNATURE[32..]).to_le_bytes(), SIGNATURE[24..32]);
}

#[test]
fn every_compression_is_undone_up_to_the_limit() {
    let text = b"to and fro, to and fro, to and fro, to and fro, to and fro".to_vec();
    let snappy = snap::raw::Encoder::new().compress_vec(&text).expect("it fits");
    let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
    let mut stored = vec![text.len() as u8];
    brotli(&text, &mut stored);
    let mut into = b"before".to_vec();
    Decompressor::default().part(b'b', &stored, 1000, &mut into).expect("it is well");
    assert_eq!(into, [b"before", &text[..]].concat());
    let longer = [&[text.len() as u8 + 1], &stored[1..]].concat();
    assert!(Decompressor::default().part(b'b', &longer, 1000, &mut into).is_err());
    for (kind, part) in [(b's', snappy), (b'z', zstd)] {
        let mut whole = vec![text.len() as u8];
        whole.extend(part);
        let mut into = b"before".to_vec();
        Decompressor::default().part(kind, &whole, 1000, &mut into).expect("it is well");
        assert_eq!(into, [b"before", &text[..]].concat());
        let e = Decompressor::default().part(kind, &whole, 60, &mut into).expect_err("it does not fit");
        assert!(e.contains("at most"), "{e}");
        whole[0] += 1;
        assert!(Decompressor::default().part(kind, &whole, 1000, &mut into).is_err());
        whole.splice(0..1, [0xFF; 5].into_iter().chain([1]));
        let e = Decompressor::default().part(kind, &whole, u64::MAX, &mut into).expect_err("it cannot be");
        assert!(e.contains("cannot hold"), "{e}");
    }
    let e = Decompressor::default()
        .part(b'x', &[1, 2], 9, &mut Vec::new())
        .expect_err("there is no such compression");
    assert!(e.contains("by `x`"), "{e}");
}

#[test]
fn a_chunk_that_no_buffer_holds_is_passed_over() {
    let records = [vec![1; 10], vec![2; 9000], vec![3; 10]];
    let mut bytes = Memory::new(file_of(&records, NONE));
    bytes.largest = 5000;
    let (found, end) = read_every_way(&new, &bytes);
    assert_eq!(end, End::File);
    assert_eq!((&found[0], &found[2]), (&Ok(records[0].clone()), &Ok(records[2].clone())));
    let fault = found[1].clone().expect_err("it is too large");
    assert!(matches!(fault.problem, Problem::TooLarge { limit: 5000, .. }), "{fault}");
}
