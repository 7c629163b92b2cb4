//! The test vectors of `docs/order.md`.

use std::num::NonZeroU64;

use serde_json::{Value, json};
use tesson_core::{ChunkId, CompactLengths, Index};
use tesson_plan::{
    BatchPlan, Bucketing, ChunkWindow, Demand, Ending, EqualSteps, Global, Limit, OrderSpec, PendingSequence,
    PlanSpec, Planner, SeedPair, Seeding, Segment, Share, Sharing, SlotsShape, Span, Stream, StreamOp,
    StreamSpec, Tumbling, Window,
};

/// The corpus of the worked example in the specification: the lengths of the sequences of each chunk.
const SMALL: &[&[u32]] = &[&[1, 2, 3], &[1, 2], &[3, 1, 2], &[3, 6]];

/// All vectors: one object a line, so that changes are easy to see.
pub(crate) fn text() -> String {
    let sections = [
        ("sweeps", sweeps().collect::<Vec<_>>()),
        ("minibatches", minibatches().collect()),
        ("truncated", truncated().collect()),
        ("local", local().collect()),
        ("streams", streams().collect()),
    ];
    let mut text = String::from("{\n\"format\": 2");
    for (name, vectors) in sections {
        let lines: Vec<String> = vectors.iter().map(Value::to_string).collect();
        text.push_str(&format!(",\n\"{name}\": [\n{}\n]", lines.join(",\n")));
    }
    text + "\n}\n"
}

fn index_of(chunks: &[Vec<u32>]) -> Index {
    let mut index = Index::new();
    chunks.iter().for_each(|lengths| index.push(CompactLengths::new(lengths), 1));
    index.seal();
    index
}

fn small() -> Vec<Vec<u32>> {
    SMALL.iter().map(|chunk| chunk.to_vec()).collect()
}

/// `n` chunks of 3 to 9 sequences of 1 to 5 samples.
fn larger(n: u32) -> Vec<Vec<u32>> {
    (0..n).map(|c| (0..3 + c * 5 % 7).map(|s| 1 + (c * 3 + s * s) % 5).collect()).collect()
}

fn spec(order: OrderSpec) -> PlanSpec {
    PlanSpec {
        order,
        sharing: Sharing::Chunk,
        limit: Limit::Sweeps(3),
        ending: Ending::default(),
        cross_sweep_ends: true,
        epoch_size: None,
        local_timeline: true,
        most_sequences: None,
        bucketing: None,
        equal_steps: None,
        excluded: None,
    }
}

fn window(window: Window, seed: u64) -> OrderSpec {
    OrderSpec::ChunkWindow(ChunkWindow { window, seed })
}

/// The order and its parameters.
fn described(spec: &PlanSpec, chunks: &[Vec<u32>]) -> Value {
    let window = spec.order.window().map(|window| match window {
        Window::Chunks(n) => json!({"chunks": n}),
        Window::Samples(n) => json!({"samples": n}),
    });
    let sequences = |n: u64| if n == u64::MAX { Value::Null } else { n.into() };
    json!({
        "order": spec.order.name(),
        "version": spec.order.version(),
        "seed": spec.order.seed(),
        "window": window,
        "bucketing": spec.bucketing.map(|b| json!({"samples": b.samples, "sequences": sequences(b.sequences)})),
        "chunks": chunks,
    })
}

fn with(mut object: Value, more: &[(&str, Value)]) -> Value {
    more.iter().for_each(|(name, value)| object[*name] = value.clone());
    object
}

/// The minibatches of a rank until the data end: of each sequence its sweep, chunk and number there.
fn batches(spec: &PlanSpec, index: &Index, demand: Demand) -> Vec<Vec<[u64; 3]>> {
    let mut planner = Planner::new(spec.clone());
    planner.start(index, demand).expect("the corpus can be read");
    let (mut plan, mut all) = (BatchPlan::default(), Vec::new());
    while !plan.data_end {
        planner.next_batch(index, demand, &mut plan).expect("the demand can be met");
        if plan.is_end() {
            break;
        }
        let place = |slot: tesson_plan::BatchSlot| {
            [slot.sweep, slot.planned.chunk.into(), slot.planned.sequence.into()]
        };
        all.push(plan.own_slots().map(place).collect());
    }
    all
}

/// Whole sweeps: `sweeps[w]` lists chunk and number of each sequence.
fn sweeps() -> impl Iterator<Item = Value> {
    let bucketed = |order, samples, sequences| PlanSpec {
        bucketing: Some(Bucketing { samples, sequences }),
        ..spec(order)
    };
    let global = |seed| OrderSpec::Global(Global { seed });
    [
        (small(), spec(OrderSpec::AsStored)),
        (small(), spec(window(Window::Chunks(1), 0))),
        (small(), spec(window(Window::Chunks(2), 0))),
        (small(), spec(window(Window::Chunks(3), 0))),
        (small(), spec(window(Window::Chunks(128), 0))),
        (small(), spec(window(Window::Samples(9), 0))),
        (small(), spec(window(Window::Samples(14), 0))),
        (larger(12), spec(window(Window::Chunks(4), u64::MAX))),
        (larger(12), spec(window(Window::Samples(40), 7))),
        (small(), spec(global(0))),
        (larger(12), spec(global(u64::MAX))),
        (larger(12), bucketed(window(Window::Chunks(4), 3), 12, u64::MAX)),
        (larger(12), bucketed(global(3), 12, 3)),
    ]
    .into_iter()
    .map(|(chunks, spec)| sweeps_of(&spec, &chunks))
    .chain(std::iter::once(large_global()))
}

fn sweeps_of(spec: &PlanSpec, chunks: &[Vec<u32>]) -> Value {
    let all = batches(spec, &index_of(chunks), Demand { samples: 1, workers: 1, rank: 0 }).concat();
    let sweeps: Vec<Vec<[u64; 2]>> = (0..3)
        .map(|sweep| {
            all.iter().filter(|s| s[0] == sweep).map(|&[_, chunk, number]| [chunk, number]).collect()
        })
        .collect();
    with(described(spec, chunks), &[("sweeps", json!(sweeps))])
}

/// The beginning of sweeps of many sequences, which `global` permutes without a table. They are in one chunk each of
/// one sequence of one sample, so only their number is given.
fn large_global() -> Value {
    let n = 3000;
    let order = OrderSpec::Global(Global { seed: 42 });
    let chunks = vec![vec![1; n]];
    let all = batches(&spec(order), &index_of(&chunks), Demand { samples: 1, workers: 1, rank: 0 }).concat();
    let first =
        |sweep| all.iter().filter(|s| s[0] == sweep).take(12).map(|s| [s[1], s[2]]).collect::<Vec<_>>();
    let sweeps = [first(0), first(1), first(2)];
    with(
        described(&spec(order), &[]),
        &[("sequencesInOneChunk", json!(n)), ("sweepsBeginWith", json!(sweeps))],
    )
}

/// How minibatches are cut and shared: for each rank its minibatches, of each sequence sweep, chunk and number.
fn minibatches() -> impl Iterator<Item = Value> {
    let orders = [OrderSpec::AsStored, window(Window::Chunks(2), 0), OrderSpec::Global(Global { seed: 1 })];
    let ways = [
        (Sharing::Chunk, 1, true, None),
        (Sharing::Chunk, 2, true, None),
        (Sharing::Position, 2, false, None),
        (Sharing::Chunk, 3, false, Some(EqualSteps::Drop)),
        (Sharing::Chunk, 3, false, Some(EqualSteps::Repeat)),
        (Sharing::Chunk, 3, false, Some(EqualSteps::Empty)),
        (Sharing::Position, 3, false, Some(EqualSteps::Drop)),
        (Sharing::Position, 3, false, Some(EqualSteps::Repeat)),
    ];
    orders.into_iter().flat_map(move |order| {
        ways.map(|(sharing, workers, cross_sweep_ends, equal_steps)| {
            let limit = Limit::Sweeps(2);
            let spec = PlanSpec { sharing, cross_sweep_ends, equal_steps, limit, ..spec(order) };
            let chunks = small();
            let of_rank = |rank| batches(&spec, &index_of(&chunks), Demand { samples: 7, workers, rank });
            let ranks: Vec<_> = (0..workers).map(of_rank).collect();
            with(
                described(&spec, &chunks),
                &[
                    ("sharing", json!(if sharing == Sharing::Chunk { "chunk" } else { "position" })),
                    ("workers", json!(workers)),
                    ("crossSweepEnds", json!(cross_sweep_ends)),
                    ("equalSteps", equal_steps.map_or(Value::Null, |mode| word(mode).into())),
                    ("samples", json!(7)),
                    ("maxSweeps", json!(2)),
                    ("ranks", json!(ranks)),
                ],
            )
        })
    })
}

/// Truncated minibatches: for each rank, of each piece its slot, its sequence and its samples.
fn truncated() -> impl Iterator<Item = Value> {
    let orders = [OrderSpec::AsStored, window(Window::Chunks(2), 0), OrderSpec::Global(Global { seed: 1 })];
    let ways =
        [(Sharing::Chunk, 1, 0), (Sharing::Chunk, 1, 1), (Sharing::Chunk, 2, 0), (Sharing::Position, 2, 0)];
    orders.into_iter().flat_map(move |order| {
        ways.map(|(sharing, workers, right_splice)| {
            let spec = PlanSpec { sharing, limit: Limit::Sweeps(2), ..spec(order) };
            let shape = SlotsShape { n: 3, length: 2, right_splice };
            let of_rank = |rank| pieces(&spec, shape, (workers, rank));
            let ranks: Vec<_> = (0..workers).map(of_rank).collect();
            with(
                described(&spec, &small()),
                &[
                    ("sharing", json!(if sharing == Sharing::Chunk { "chunk" } else { "position" })),
                    ("workers", json!(workers)),
                    ("samples", json!(shape.n * u64::from(shape.length))),
                    ("truncationLength", json!(shape.length)),
                    ("rightSplice", json!(right_splice)),
                    ("maxSweeps", json!(2)),
                    ("ranks", json!(ranks)),
                ],
            )
        })
    })
}

/// The truncated minibatches of a rank until the data end.
fn pieces(spec: &PlanSpec, shape: SlotsShape, (workers, rank): (u64, u64)) -> Vec<Vec<[u64; 6]>> {
    let index = index_of(&small());
    let by_chunk = spec.sharing == Sharing::Chunk;
    // By position the slots of all are filled as those of a single worker, and dealt out.
    let filled = if by_chunk { (workers, rank) } else { (1, 0) };
    let mut slots = shape.slots_of::<[u64; 3]>(Share { workers: filled.0, rank: filled.1 });
    let mut sequences =
        batches(spec, &index, Demand { samples: 1, workers: filled.0, rank: filled.1 }).into_iter().flatten();
    let mut all = Vec::new();
    loop {
        while let Some(slot) = slots.hungry()
            && let Some(sequence) = sequences.next()
        {
            let length = index.lengths(ChunkId(sequence[1] as u32)).get(sequence[2] as usize);
            let pending = PendingSequence { sequence: 0, sweep_end: false, sweep: 0, keep: None };
            slots.push(slot, sequence, pending, length);
        }
        if slots.is_empty() {
            return all;
        }
        let mut segments = Vec::new();
        slots.take(&mut segments);
        let dealt = if by_chunk { (1, 0) } else { (workers as u32, rank as u32) };
        let own = segments.into_iter().filter(|segment| segment.slot % dealt.0 == dealt.1);
        let piece = |segment: Segment<[u64; 3]>| {
            let ([sweep, chunk, number], (from, to)) = (segment.sequence, segment.samples);
            [u64::from(segment.slot / dealt.0), sweep, chunk, number, from.into(), to.into()]
        };
        all.push(own.map(piece).collect());
    }
}

/// As options spell it.
fn word(mode: EqualSteps) -> &'static str {
    match mode {
        EqualSteps::Drop => "drop",
        EqualSteps::Repeat => "repeat",
        EqualSteps::Empty => "empty",
    }
}

/// Timelines of each rank's own: its sequences, one after the other, with the sweep that the rank is in.
fn local() -> impl Iterator<Item = Value> {
    let tumbling = |window, seed| OrderSpec::Tumbling(Tumbling { window, seed });
    let orders = [
        OrderSpec::LocalPlain,
        tumbling(Window::Chunks(1), 0),
        tumbling(Window::Chunks(3), 5),
        tumbling(Window::Samples(8), 0),
    ];
    orders.into_iter().flat_map(|order| {
        [1, 2].map(|workers| {
            let (spec, chunks) = (spec(order), small());
            let of_rank =
                |rank| batches(&spec, &index_of(&chunks), Demand { samples: 1, workers, rank }).concat();
            let ranks: Vec<_> = (0..workers).map(of_rank).collect();
            with(described(&spec, &chunks), &[("workers", json!(workers)), ("ranks", json!(ranks))])
        })
    })
}

/// Streams of tf.data: two traversals of records, numbered over all files.
fn streams() -> impl Iterator<Item = Value> {
    let at_least_one = |n| NonZeroU64::new(n).expect("a number above 0");
    let shuffle = |buffer, seed| StreamOp::Shuffle {
        buffer: at_least_one(buffer),
        seeding: Seeding { pair: SeedPair::new(seed, None), reshuffle: true },
    };
    [
        (vec![10], None, (1, 1), vec![shuffle(10, 32)]),
        (vec![10], None, (1, 1), vec![shuffle(4, 5)]),
        (vec![3, 5, 2, 4], None, (3, 2), vec![]),
        (vec![3, 5, 2, 4], Some(11), (2, 1), vec![]),
        (vec![3, 5, 2, 4], Some(11), (16, 16), vec![shuffle(5, 7)]),
        (vec![10], None, (1, 1), vec![shuffle(4, 5), StreamOp::Repeat(3), StreamOp::Take(25)]),
        (
            vec![10],
            None,
            (1, 1),
            vec![StreamOp::Skip(2), shuffle(5, 7), StreamOp::Take(6), StreamOp::Repeat(2)],
        ),
        (
            vec![3, 5, 2, 4],
            Some(11),
            (2, 1),
            vec![
                StreamOp::Shard { count: at_least_one(2), index: 1 },
                shuffle(3, 9),
                StreamOp::Repeat(2),
                StreamOp::Skip(3),
            ],
        ),
    ]
    .into_iter()
    .map(move |(lengths, file_seed, (cycle, block), ops): (Vec<u64>, Option<i128>, _, _)| {
        let operations: Vec<Value> = ops.iter().map(operation).collect();
        let mut first = 0;
        let files = lengths.iter().map(|&len| {
            first += len;
            Span { first: first - len, len }
        });
        let mut stream = Stream::new(StreamSpec {
            files: files.collect(),
            shuffle_files: file_seed.map(|seed| Seeding { pair: SeedPair::new(seed, None), reshuffle: true }),
            repeat_files: false,
            cycle: at_least_one(cycle),
            block: at_least_one(block),
            expected: None,
            ops,
        })
        .expect("the operations go together");
        let traversals: Vec<Vec<u64>> = (0..2)
            .map(|traversal| {
                if traversal > 0 {
                    stream.begin();
                }
                let mut records = Vec::new();
                stream.fill(usize::MAX, &mut records).expect("nothing is expected of the files");
                records
            })
            .collect();
        json!({
            "files": lengths,
            "fileSeed": file_seed.map(|seed| seed as i64),
            "cycle": cycle,
            "block": block,
            "operations": operations,
            "traversals": traversals,
        })
    })
}

/// An operation with its parameters.
fn operation(op: &StreamOp) -> Value {
    match op {
        StreamOp::Shuffle { buffer, seeding: Seeding { pair: SeedPair(first, second), .. } } => {
            json!({"shuffle": {"buffer": buffer.get(), "seeds": [first, second]}})
        }
        StreamOp::Repeat(n) => json!({"repeat": n}),
        StreamOp::Skip(n) => json!({"skip": n}),
        StreamOp::Take(n) => json!({"take": n}),
        StreamOp::Shard { count, index } => json!({"shard": {"num_shards": count.get(), "index": index}}),
        StreamOp::Prefetch => json!({"prefetch": null}),
    }
}
