//! Joins against the plain reading of spec/engine.md §3.2.

use proptest::prelude::*;
use tesson_core::{ChunkId, CompactLengths, Index, Key, Keys, RepeatedKeys, SequenceId};

use super::*;

/// A corpus by chunks of (key, length).
type Corpus = Vec<Vec<(u64, u32)>>;

fn index_of(corpus: &Corpus) -> Index {
    let mut index = Index::new();
    for chunk in corpus {
        let lengths: Vec<u32> = chunk.iter().map(|s| s.1).collect();
        index.push(CompactLengths::new(&lengths), 10 * chunk.len() as u64);
    }
    index.seal();
    index
}

fn keys_of(chunk: &[(u64, u32)], texts: bool) -> Keys {
    if !texts {
        return Keys::Numbers(chunk.iter().map(|s| s.0).collect());
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for (key, _) in chunk {
        bytes.extend(format!("{key} of many").into_bytes());
        ends.push(bytes.len() as u32);
    }
    Keys::Texts { bytes, ends }
}

fn columns_of(corpus: &Corpus, texts: bool) -> KeyColumns {
    let mut columns = KeyColumns::new();
    corpus.iter().for_each(|chunk| columns.push(keys_of(chunk, texts), chunk.len() as u32));
    columns
}

fn join(
    corpora: &[Corpus],
    repeated: RepeatedKeys,
    definer: Option<usize>,
    missing: MissingKeys,
    texts: bool,
) -> Joined {
    let indexes: Vec<Index> = corpora.iter().map(index_of).collect();
    let columns: Vec<KeyColumns> = corpora.iter().map(|c| columns_of(c, texts)).collect();
    let secondary = |i: usize| Secondary {
        index: &indexes[i],
        keys: &columns[i],
        repeated,
        tolerance: None,
        splits: false,
    };
    let secondaries: Vec<_> = (1..corpora.len()).map(secondary).collect();
    let mut joiner = Joiner::new(&indexes[0], &secondaries, definer, missing);
    for (i, chunk) in corpora[0].iter().enumerate() {
        joiner.push(ChunkId::at(i), &keys_of(chunk, texts));
    }
    joiner.finish()
}

/// A joined sequence: chunk and row of the first corpus, partners, counted length.
type Row = (u32, u32, Vec<Option<u32>>, u32);

fn rows_of(joined: &Joined, n_parts: usize) -> Vec<Vec<Row>> {
    let row = |c: ChunkId, sequence: u32| {
        let (i, chunk) = (sequence, &joined.chunks[c.index()]);
        let partners = (1..n_parts).map(|part| chunk.partner(part, i)).collect();
        (chunk.chunk.0, chunk.row(i), partners, joined.index.length(SequenceId { chunk: c, sequence }))
    };
    let n = |c: ChunkId| joined.index.chunk(c).n_sequences;
    joined.index.chunk_ids().map(|c| (0..n(c)).map(|i| row(c, i)).collect()).collect()
}

/// The sequences of a join, computed from the text of the specification.
fn plainly(
    corpora: &[Corpus],
    repeated: RepeatedKeys,
    definer: Option<usize>,
    missing: MissingKeys,
) -> Vec<Vec<Row>> {
    let partner = |corpus: &Corpus, key: u64| {
        let all = corpus.iter().flatten().zip(0u32..).filter(|(s, _)| s.0 == key);
        let all: Vec<(u32, u32)> = all.map(|(s, i)| (i, s.1)).collect();
        match repeated {
            RepeatedKeys::First => all.first().copied(),
            RepeatedKeys::Last => all.last().copied(),
            RepeatedKeys::Nothing => all.first().copied().filter(|_| all.len() == 1),
            RepeatedKeys::InTurn => unreachable!("keys here are not those of frames"),
        }
    };
    let mut chunks = Vec::new();
    for (c, chunk) in corpora[0].iter().enumerate() {
        let mut rows = Vec::new();
        for (r, &(key, length)) in chunk.iter().enumerate() {
            let partners: Vec<_> = corpora[1..].iter().map(|corpus| partner(corpus, key)).collect();
            if missing == MissingKeys::LeaveOut && partners.contains(&None) {
                continue;
            }
            let lengths: Vec<u32> =
                [length].into_iter().chain(partners.iter().map(|p| p.map_or(0, |p| p.1))).collect();
            let counted =
                definer.map_or(lengths.iter().copied().max(), |d| Some(lengths[d])).unwrap_or(0).max(1);
            let partners = partners.iter().map(|p| p.map(|p| p.0)).collect();
            rows.push((c as u32, r as u32, partners, counted));
        }
        if !rows.is_empty() {
            chunks.push(rows);
        }
    }
    chunks
}

fn any_corpus() -> impl Strategy<Value = Corpus> {
    let near = prop_oneof![0u64..40, 0u64..6, Just(u64::MAX), Just(1 << 40)];
    let anyhow = prop::collection::vec(prop::collection::vec((near, 1u32..9), 0..12), 1..6);
    let ascending = (0u64..20, prop::collection::vec((0u64..40, 1u32..9), 1..90), 1usize..30).prop_map(
        |(first, steps, size)| {
            let mut key = first;
            let mut step = |&(by, length): &(u64, u32)| {
                key += 1 + by / 13;
                (key, length)
            };
            steps.chunks(size).map(|chunk| chunk.iter().map(&mut step).collect()).collect()
        },
    );
    prop_oneof![anyhow, ascending]
}

proptest! {
    #[test]
    fn joined_corpora_are_those_of_the_specification(
        corpora in prop::collection::vec(any_corpus(), 2..4),
        repeated in prop::sample::select(vec![RepeatedKeys::First, RepeatedKeys::Last, RepeatedKeys::Nothing]),
        definer in prop::option::of(0usize..2),
        missing in prop::sample::select(vec![MissingKeys::LeaveOut, MissingKeys::Empty]),
        texts: bool,
    ) {
        let joined = join(&corpora, repeated, definer, missing, texts);
        let expected = plainly(&corpora, repeated, definer, missing);
        prop_assert_eq!(joined.report.joined, expected.iter().flatten().count() as u64);
        prop_assert_eq!(rows_of(&joined, corpora.len()), expected);
        prop_assert!(joined.index.is_complete());
    }
}

#[test]
fn what_is_missing_and_what_is_repeated_is_reported() {
    let corpora = [
        vec![vec![(1, 1), (2, 1), (3, 1)], vec![(4, 1), (3, 1)]],
        vec![vec![(3, 1), (1, 1), (3, 1), (9, 1)]],
    ];
    let report = join(&corpora, RepeatedKeys::First, None, MissingKeys::LeaveOut, false).report;
    let expected = PartReport {
        missing: 2,
        first_missing: vec![Key::Number(2), Key::Number(4)],
        repeated: 1,
        first_repeated: vec![Key::Number(3)],
        repeated_at: vec![(0, 2)],
        ..PartReport::default()
    };
    assert_eq!(report, JoinReport { sequences: 5, joined: 3, parts: vec![expected] });
}

#[test]
fn corpora_in_the_same_order_take_no_memory_a_sequence() {
    let corpus: Corpus = (0..4).map(|c| (0..1000).map(|i| (1000 * c + i, 1)).collect()).collect();
    let joined = join(&[corpus.clone(), corpus], RepeatedKeys::First, None, MissingKeys::LeaveOut, false);
    let bytes: usize = joined.chunks.iter().map(JoinedChunk::bytes).sum();
    assert!(bytes < 1000, "{bytes} bytes for 4000 sequences");
}

#[test]
fn a_partner_takes_at_most_four_bytes() {
    let primary: Corpus = (0..4).map(|c| (0..1000).map(|i| (7 * (1000 * c + i), 1)).collect()).collect();
    let reversed: Corpus = vec![primary.iter().flatten().rev().copied().collect()];
    let joined = join(&[primary, reversed], RepeatedKeys::First, None, MissingKeys::LeaveOut, false);
    let bytes: usize = joined.chunks.iter().map(JoinedChunk::bytes).sum();
    assert!(bytes <= 4 * 4000 + 1000, "{bytes} bytes for 4000 sequences");
}

/// A corpus of frames: utterances by chunks, each a key and a number of frames.
fn frames_of(chunks: &[&[(&str, u32)]]) -> (Index, Vec<Keys>) {
    let (mut index, mut keys) = (Index::new(), Vec::new());
    for chunk in chunks {
        let texts = chunk.iter().map(|(key, _)| *key);
        let (mut ends, mut bytes, mut text_ends) = (Vec::new(), Vec::new(), Vec::new());
        for (text, (_, n)) in texts.zip(*chunk) {
            bytes.extend_from_slice(text.as_bytes());
            text_ends.push(bytes.len() as u32);
            ends.push(ends.last().unwrap_or(&0) + n);
        }
        index.push(CompactLengths::constant(1, *ends.last().unwrap()), 100);
        keys.push(Keys::Runs { keys: Box::new(Keys::Texts { bytes, ends: text_ends }), ends });
    }
    index.seal();
    (index, keys)
}

#[test]
fn frames_join_frames_in_turn() {
    let (primary, keys) = frames_of(&[&[("a", 2), ("lost", 2)], &[("b", 3)]]);
    let (secondary, others) = frames_of(&[&[("b", 4)], &[("x", 1), ("a", 2)]]);
    let mut columns = KeyColumns::new();
    others.into_iter().zip([4, 3]).for_each(|(keys, n)| columns.push(keys, n));
    let join = |repeated| {
        let others =
            [Secondary { index: &secondary, keys: &columns, repeated, tolerance: None, splits: false }];
        let mut joiner = Joiner::new(&primary, &others, None, MissingKeys::LeaveOut);
        keys.iter().zip((0..).map(ChunkId)).for_each(|(keys, chunk)| joiner.push(chunk, keys));
        joiner.finish()
    };
    let partners = |joined: &Joined| -> Vec<u32> {
        let rows = rows_of(joined, 2);
        rows.iter().flatten().map(|row| row.2[0].unwrap()).collect()
    };
    let joined = join(RepeatedKeys::InTurn);
    assert_eq!(partners(&joined), [5, 6, 0, 1, 2]);
    assert_eq!((joined.report.parts[0].missing, joined.report.parts[0].short), (2, 0));
    // A sequence that stands for the whole utterance meets each of its frames.
    assert_eq!(partners(&join(RepeatedKeys::First)), [5, 5, 0, 0, 0]);
}

#[test]
fn an_utterance_with_too_few_frames_is_left_out_and_named() {
    let (primary, keys) = frames_of(&[&[("a", 2), ("b", 3)]]);
    let (secondary, others) = frames_of(&[&[("a", 2), ("b", 2)]]);
    let mut columns = KeyColumns::new();
    others.into_iter().for_each(|keys| columns.push(keys, 4));
    let join = |tolerance| {
        let repeated = RepeatedKeys::InTurn;
        let others = [Secondary { index: &secondary, keys: &columns, repeated, tolerance, splits: false }];
        let mut joiner = Joiner::new(&primary, &others, None, MissingKeys::LeaveOut);
        joiner.push(ChunkId(0), &keys[0]);
        joiner.finish()
    };
    let joined = join(None);
    let part = &joined.report.parts[0];
    assert_eq!((part.short, part.missing, &part.first_short), (1, 0, &Some((Key::Text("b".into()), [2, 3]))));
    let partners: Vec<_> = rows_of(&joined, 2).iter().flatten().map(|row| row.2[0]).collect();
    assert_eq!(partners, [0, 1].map(Some));
    // The last frame stands for those that are tolerated to be missing.
    let joined = join(Some(1));
    assert_eq!(joined.report.parts[0].short, 0);
    let partners: Vec<_> = rows_of(&joined, 2).iter().flatten().map(|row| row.2[0]).collect();
    assert_eq!(partners, [0, 1, 2, 3, 3].map(Some));
}

#[test]
fn samples_join_frames_where_they_are_split() {
    let (primary, keys) = frames_of(&[&[("a", 2), ("b", 3), ("c", 2), ("d", 3)]]);
    let mut secondary = Index::new();
    // As many as there are frames, more, one for all of them, and too few.
    secondary.push(CompactLengths::new(&[2, 5, 1, 2]), 100);
    secondary.seal();
    let texts = Keys::Texts { bytes: b"abcd".to_vec(), ends: vec![1, 2, 3, 4] };
    let mut columns = KeyColumns::new();
    columns.push(texts, 4);
    let join = |tolerance| {
        let repeated = RepeatedKeys::First;
        let others = [Secondary { index: &secondary, keys: &columns, repeated, tolerance, splits: true }];
        let mut joiner = Joiner::new(&primary, &others, None, MissingKeys::LeaveOut);
        joiner.push(ChunkId(0), &keys[0]);
        joiner.finish()
    };
    let joined = join(None);
    let part = &joined.report.parts[0];
    assert_eq!((part.short, &part.first_short), (1, &Some((Key::Text("d".into()), [2, 3]))));
    let chunk = &joined.chunks[0];
    let found: Vec<_> = (0..7).map(|i| (chunk.partner(1, i).unwrap(), chunk.frame(i))).collect();
    assert_eq!(found, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]);
    // Each frame counts as one sample, whatever the sequence has that its sample is from.
    assert_eq!(joined.index.n_samples(), 7);
    assert_eq!(join(Some(1)).index.n_samples(), 10);
}

#[test]
fn a_tolerated_difference_does_not_count() {
    let index = |lengths: &[u32]| {
        let mut index = Index::new();
        index.push(CompactLengths::new(lengths), 10);
        index.seal();
        index
    };
    let (primary, secondary) = (index(&[5, 5, 5, 5]), index(&[6, 4, 7, 2]));
    let keys = Keys::Consecutive(0);
    let mut columns = KeyColumns::new();
    columns.push(keys.clone(), 4);
    let count = |tolerance| {
        let repeated = RepeatedKeys::First;
        let others = [Secondary { index: &secondary, keys: &columns, repeated, tolerance, splits: false }];
        let mut joiner = Joiner::new(&primary, &others, None, MissingKeys::LeaveOut);
        joiner.push(ChunkId(0), &keys);
        let joined = joiner.finish();
        (0..4).map(|i| joined.index.lengths(ChunkId(0)).get(i)).collect::<Vec<_>>()
    };
    assert_eq!((count(None), count(Some(1))), (vec![6, 5, 7, 5], vec![5, 5, 7, 5]));
}
