//! Ways that must agree: fast and careful decoding, whole chunks and parts of them.

use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use tesson_core::{Chunk, ChunkId, Error, Fetch, ReadContext, ResourceId, Scratch, SequenceSelection};

use super::super::Cbf;
use super::super::column::Column;
use super::super::directory::Section;
use super::harness::{File, Memory, Sample, by_index, by_pieces, dense, indexed, load, opened, sparse};

fn sample(dim: i32, is_sparse: bool) -> BoxedStrategy<Sample> {
    let value = (-40i32..40).prop_map(|v| f64::from(v) / 8.);
    if is_sparse {
        // Mostly in order, with a column beyond the dimension now and then.
        let columns = prop_oneof![8 => (0..dim).boxed(), 1 => (-1..dim + 2).boxed()];
        let entries = prop::collection::vec((columns, value), 0..5);
        return (entries, prop::bool::weighted(0.8))
            .prop_map(|(mut entries, sorted)| {
                if sorted {
                    entries.sort_by_key(|(column, _)| *column);
                    entries.dedup_by_key(|(column, _)| *column);
                }
                entries
            })
            .boxed();
    }
    prop::collection::vec(value, dim as usize).prop_map(|values| (0..).zip(values).collect()).boxed()
}

fn sequence() -> impl Strategy<Value = Vec<Vec<Sample>>> {
    let stream = |dim, is_sparse| prop::collection::vec(sample(dim, is_sparse), 0..4);
    (stream(3, false), stream(6, true), stream(1, false)).prop_map(|(a, s, b)| vec![a, s, b])
}

fn file() -> impl Strategy<Value = Memory> {
    let chunks = prop::collection::vec(prop::collection::vec(sequence(), 0..6), 1..5);
    (chunks, any::<bool>()).prop_map(|(chunks, double)| {
        let mut streams = vec![("a", dense(3)), ("s", sparse(6)), ("b", dense(1))];
        streams.iter_mut().for_each(|(_, form)| form.double = double);
        Memory::new(File { streams, chunks }.bytes())
    })
}

/// Records of a stream of six columns, one after the other, to a column; with care or without.
fn column(careful: bool, samples: &[Vec<Sample>]) -> String {
    let file = File {
        streams: vec![("s", sparse(6))],
        chunks: vec![samples.iter().map(|s| vec![s.clone()]).collect()],
    };
    let bytes = file.bytes();
    let records = &bytes[12 + 4 * samples.len()..];
    let (mut spare, mut wrong) = (Vec::new(), Vec::new());
    let mut column = Column::<f32>::new(sparse(6), None, &mut spare);
    let n = samples.len() as u32;
    let left = records.len() as u64;
    let taken = if careful {
        column.records_with_care(records, left, n, &mut wrong)
    } else {
        column.records(records, left, n, &mut wrong)
    };
    format!("{taken:?} {wrong:?} {:?}", column.finish(&mut spare))
}

proptest! {
    #[test]
    fn fast_and_careful_decoding_agree(samples in prop::collection::vec(prop::collection::vec(sample(6, true), 0..4), 0..9)) {
        prop_assert_eq!(column(false, &samples), column(true, &samples));
    }

    #[test]
    fn whole_chunks_and_parts_of_them_agree(file in file(), most in 64u64..4096, options in prop::sample::select(vec!["", "double"])) {
        let Ok(cbf) = opened(options, &file) else { return Ok(()) };
        let lines = by_index(&cbf, &file).unwrap();
        prop_assert_eq!(&by_pieces(&cbf, &file, most).unwrap(), &lines);
        let indexed = indexed(&cbf, &file).unwrap();
        let mut at = 0;
        for chunk in indexed.index.chunk_ids() {
            let n = indexed.index.chunk(chunk).n_sequences;
            let lines = &lines[at..at + n as usize];
            at += n as usize;
            for from in 0..n {
                let part = load(&cbf, &indexed, &file, chunk, SequenceSelection::Range(from..n)).unwrap();
                prop_assert_eq!(&part, &lines[from as usize..], "from {}", from);
            }
            let even: Vec<u32> = (0..n).step_by(2).collect();
            let part = load(&cbf, &indexed, &file, chunk, SequenceSelection::List(&even)).unwrap();
            let expected: Vec<String> = even.iter().map(|&i| lines[i as usize].clone()).collect();
            prop_assert_eq!(part, expected);
        }
    }
}

/// A chunk of so many sequences whose records have many sizes, or all the same.
fn large(n: usize, uneven: bool) -> File {
    let samples = |i: usize| if uneven { 1 + i * i % 7 } else { 1 };
    let dense_sample = |i: usize| (0..100).map(|d| (d, (i % 50) as f64)).collect::<Sample>();
    let sequence = |i: usize| {
        vec![
            (0..samples(i)).map(|_| dense_sample(i)).collect(),
            (0..samples(i)).map(|t| vec![((i + t) as i32 % 900, 1.5)]).collect(),
        ]
    };
    File {
        streams: vec![("a", dense(100)), ("s", sparse(900))],
        chunks: vec![(0..n).map(sequence).collect()],
    }
}

#[test]
fn parts_of_a_large_chunk_are_found_by_its_directory() {
    for uneven in [false, true] {
        let file = Memory { largest: 64 << 10, ..Memory::new(large(1000, uneven).bytes()) };
        assert!(file.bytes.len() > 400_000);
        let cbf = opened("", &file).unwrap();
        assert!(!cbf.rules.small_chunks);
        // The chunk is larger than a read may be: all of it is read by parts.
        let lines = by_index(&cbf, &file).unwrap();
        let whole = Memory::new(file.bytes.clone());
        assert_eq!(lines, by_index(&opened("", &whole).unwrap(), &whole).unwrap());
        let indexed = indexed(&cbf, &file).unwrap();
        for range in [0..1, 999..1000, 17..400, 399..401] {
            let expected = &lines[range.start as usize..range.end as usize];
            assert_eq!(
                load(&cbf, &indexed, &file, ChunkId(0), SequenceSelection::Range(range.clone())).unwrap(),
                expected,
                "{range:?}"
            );
        }
        let rows = [0, 3, 4, 5, 500, 998];
        let expected: Vec<String> = rows.iter().map(|&i| lines[i as usize].clone()).collect();
        assert_eq!(
            load(&cbf, &indexed, &file, ChunkId(0), SequenceSelection::List(&rows)).unwrap(),
            expected
        );
    }
}

/// Counts the bytes that are read, and the calls that read them.
struct Counting<'a> {
    file: &'a Memory,
    read: AtomicU64,
    calls: AtomicU64,
}

impl<'a> Counting<'a> {
    fn of(file: &'a Memory) -> Counting<'a> {
        Counting { file, read: AtomicU64::new(0), calls: AtomicU64::new(0) }
    }
}

impl Fetch for Counting<'_> {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        self.file.size(resource)
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        self.file.is_embedded(resource)
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.read.fetch_add(range.end - range.start, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.file.read_after(resource, range, keep, into)
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self.file.context()
    }
}

#[test]
fn threads_that_read_parts_of_one_chunk_walk_over_it_once() {
    const THREADS: u32 = 8;
    let file = Memory { largest: 64 << 10, ..Memory::new(large(1000, false).bytes()) };
    let cbf = opened("", &file).unwrap();
    let indexed = indexed(&cbf, &file).unwrap();
    let counting = Counting::of(&file);
    let begin = Barrier::new(THREADS as usize);
    let load = |part: u32| {
        let each = 1000 / THREADS;
        let wanted = SequenceSelection::Range(part * each..(part + 1) * each);
        begin.wait();
        indexed
            .corpus
            .load(ChunkId(0), wanted, &counting, &mut Scratch::default(), &mut Chunk::empty())
            .unwrap();
    };
    std::thread::scope(|scope| {
        for part in 0..THREADS {
            scope.spawn({
                let load = &load;
                move || load(part)
            });
        }
    });
    // The walk, and each part.
    let (read, size) = (counting.read.into_inner(), file.bytes.len() as u64);
    assert!(read < 2 * size + size / 2, "{read} bytes by {THREADS} threads, the file has {size}");
}

#[test]
fn a_directory_takes_no_more_memory_than_was_said() {
    use super::super::directory::{Directory, ShortRoom, most_bytes, walk};
    let fetched = |file: &File| Memory { largest: 1 << 20, ..Memory::new(file.bytes()) };
    let sections = |cbf: &Cbf, file: &Memory, room: Option<&ShortRoom>| {
        let directory = walk(&cbf.rules, ChunkId(0), &Counting::of(file), &mut Vec::new(), room).unwrap();
        let Directory::Sound(sections) = directory else { panic!("it is sound") };
        sections
    };
    for uneven in [false, true] {
        let file = fetched(&large(1000, uneven));
        let cbf = opened("", &file).unwrap();
        let plain = sections(&cbf, &file, None);
        let held =
            |sections: &[Section]| -> usize { sections.iter().map(|s| size_of_val(s) + s.bytes()).sum() };
        let most = most_bytes(&cbf.rules, &cbf.rules.chunks[0]);
        assert!(held(&plain) <= most);
        assert_eq!(plain.iter().all(|section| section.bytes() == 0), !uneven);
        let room = ShortRoom::of(&cbf.rules, 1, &file);
        assert!(held(&sections(&cbf, &file, Some(&room))) <= most + room.most);
    }
    let file = fetched(&with_labels(100));
    let cbf = opened("", &file).unwrap();
    let kept =
        |room: &ShortRoom| -> usize { sections(&cbf, &file, Some(room)).iter().map(Section::bytes).sum() };
    let room = ShortRoom::of(&cbf.rules, 1, &file);
    assert!(0 < kept(&room) && kept(&room) <= room.most);
    // Of many files there is little room for each, and none for what has less than it takes.
    assert_eq!(kept(&ShortRoom::of(&cbf.rules, 1000, &file)), 0);
    // Labels alone have no long records beside them.
    let labels = opened("skip=a", &file).unwrap();
    assert_eq!(ShortRoom::of(&labels.rules, 1, &file).most, 0);
}

/// A chunk of so many long records with a short one beside each, every tenth of which cannot be.
fn with_labels(n: usize) -> File {
    let sequence = |i: usize| {
        let long: Sample = (0..300).map(|d| (d, (i % 50) as f64)).collect();
        vec![vec![long], vec![vec![(if i % 10 == 9 { 12 } else { i as i32 % 9 }, 1.5)]]]
    };
    File { streams: vec![("a", dense(300)), ("s", sparse(10))], chunks: vec![(0..n).map(sequence).collect()] }
}

#[test]
fn short_records_beside_long_ones_are_read_once() {
    let file = Memory::new(with_labels(100).bytes());
    let cbf = opened("", &file).unwrap();
    let lines = by_index(&cbf, &file).unwrap();
    assert!(lines[9].contains("12"), "it has a fault: {}", lines[9]);
    let indexed = indexed(&cbf, &file).unwrap();
    let rows: Vec<u32> = (0..100).step_by(3).collect();
    let found = load(&cbf, &indexed, &file, ChunkId(0), SequenceSelection::List(&rows)).unwrap();
    let expected: Vec<String> = rows.iter().map(|&i| lines[i as usize].clone()).collect();
    assert_eq!(found, expected);
    let counting = Counting::of(&file);
    let wanted = SequenceSelection::List(&[3, 50, 97]);
    indexed.corpus.load(ChunkId(0), wanted, &counting, &mut Scratch::default(), &mut Chunk::empty()).unwrap();
    assert_eq!(counting.calls.into_inner(), 3, "one for each long record");
}
