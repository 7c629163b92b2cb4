use super::{COMPRESSIONS, NONE, file_of, new};
use crate::array_record::block::BLOCK;
use crate::array_record::write::{Options, Writer};
use crate::record::testing::{Memory, read_all, read_every_way, read_rows, some_records};
use crate::record::{End, Problem};

#[test]
fn every_flipped_byte_of_a_chunk_is_found_in_its_records_alone() {
    let records = some_records(5, 30);
    for (group_size, compression) in [1, 2].into_iter().flat_map(|n| COMPRESSIONS.map(|c| (n, c))) {
        let options = Options { group_size, compression };
        let whole = file_of(&records, options);
        let group = group_size as usize;
        // Where each chunk begins: as many bytes as a file of those before has up to its index.
        let starts = chunk_starts(&records, options);
        for at in 64..starts[starts.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            let chunk = starts.partition_point(|&start| start <= at) - 1;
            let (found, end) = read_all(&*new(), &Memory::new(bytes), 0, u64::MAX, u64::MAX);
            assert_eq!(end, End::File);
            for (i, found) in found.iter().enumerate() {
                if i / group == chunk {
                    let fault = found.clone().expect_err("it is damaged");
                    assert_eq!((fault.record, fault.offset), (i as u64, starts[chunk] as u64), "byte {at}");
                    assert!(matches!(fault.problem, Problem::Hash { .. }), "{fault}");
                } else {
                    assert_eq!(found.as_ref(), Ok(&records[i]), "byte {at}");
                }
            }
        }
    }
}

/// Where the chunks begin, and the index behind them.
fn chunk_starts(records: &[Vec<u8>], options: Options) -> Vec<usize> {
    let group = options.group_size as usize;
    let ends = (0..records.len()).step_by(group).chain([records.len()]);
    ends.map(|n| {
        let mut writer = super::Writer::new(Vec::new(), options).expect("memory takes all");
        records[..n].iter().for_each(|record| writer.record(record).expect("memory takes all"));
        writer.bytes() as usize
    })
    .collect()
}

#[test]
fn damage_of_the_index_is_told_before_any_record() {
    let records = some_records(5, 30);
    let whole = file_of(&records, Options::TFDS);
    let starts = chunk_starts(&records, Options::TFDS);
    let (index, postscript) = (starts[starts.len() - 1], whole.len() - BLOCK as usize);
    for at in (0..64).chain(index..index + 60).chain(postscript..postscript + 108) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        let (found, end) = read_every_way(&new, &Memory::new(bytes));
        assert!(found.is_empty() && matches!(end, End::Damaged(_)), "byte {at}");
    }
}

#[test]
fn a_file_that_was_cut_is_refused() {
    let whole = file_of(&[vec![1; 100_000], vec![2; 10]], NONE);
    for cut in [0, 10, 64, 65_536, 65_537, 131_072, whole.len() - 1] {
        let (found, end) = read_every_way(&new, &Memory::new(whole[..cut].to_vec()));
        let End::Damaged(fault) = end else { panic!("cut at {cut}") };
        assert!(found.is_empty());
        let says = if cut < 64 { "does not begin" } else { "" };
        assert!(fault.to_string().contains(says), "{fault}");
    }
}

#[test]
fn a_damaged_block_header_in_a_chunks_way_is_found() {
    let records = [vec![1; 10], vec![2; 100_000], vec![3; 10]];
    let mut bytes = file_of(&records, NONE);
    bytes[BLOCK as usize + 9] ^= 1;
    let found = read_rows(&*new(), &Memory::new(bytes), &[0, 1, 2]);
    assert_eq!((&found[0], &found[2]), (&Ok(records[0].clone()), &Ok(records[2].clone())));
    let fault = found[1].clone().expect_err("it is damaged");
    assert!(matches!(fault.problem, Problem::Hash { of: "block header", .. }), "{fault}");
}

#[test]
fn a_record_behind_the_last_one_is_said_to_be_absent() {
    for group_size in [1, 4] {
        let bytes = Memory::new(file_of(&["a", "b"], Options { group_size, ..NONE }));
        let found = read_rows(&*new(), &bytes, &[1, 2, 7, 0]);
        assert_eq!((&found[0], &found[3]), (&Ok(b"b".to_vec()), &Ok(b"a".to_vec())));
        for (at, record) in [(1, 2), (2, 7)] {
            let fault = found[at].clone().expect_err("there is no such record");
            assert_eq!((fault.record, fault.problem), (record, Problem::Absent { records: 2 }));
        }
    }
}

/// An index that ends a chunk within its data, where another chunk should begin. A reader that holds more of the file than the
/// chunk must not continue past that end.
#[test]
fn a_chunk_that_the_index_ends_too_early_is_damaged_in_every_way_of_reading() {
    let mut writer = Writer::new(Vec::new(), Options::TFDS).expect("memory takes all");
    let offset = writer.bytes() + 45;
    writer.record(b"a record of some bytes").expect("memory takes all");
    writer.entry([offset, 0, 1]);
    writer.n_records += 1;
    let file = writer.finish().expect("memory takes all");
    let (found, _) = read_every_way(&new, &Memory::new(file));
    assert_eq!(found.len(), 2);
    let problem = &found[0].as_ref().unwrap_err().problem;
    assert!(matches!(problem, Problem::Truncated { .. }), "{problem}");
}
