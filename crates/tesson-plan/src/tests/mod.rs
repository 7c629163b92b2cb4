//! Tests of the whole crate: against a plain model of the specification, against recorded answers of CNTK 2.7, and
//! for what must hold of every plan.

mod bucketing;
mod conformance;
mod ending;
mod equal;
mod foreign;
mod golden;
mod local;
mod merging;
mod model;
mod properties;
mod rules;
mod sizes;
mod states;
mod steps;
mod truncating;
mod twin;

use proptest::prelude::*;
use tesson_core::{ChunkId, CompactLengths, Index, SequenceId};

use crate::{
    ChunkWindow, Demand, Ending, Global, Limit, OrderSpec, PlanSpec, Planner, Sharing, Tumbling, Window,
};

/// A complete index of these chunks, each given by the lengths of its sequences.
fn index_of(chunks: &[Vec<u32>]) -> Index {
    let mut index = Index::new();
    chunks.iter().for_each(|lengths| index.push(CompactLengths::new(lengths), 1));
    index.seal();
    index
}

fn demand(samples: u64, workers: u64, rank: u64) -> Demand {
    Demand { samples, workers, rank }
}

/// Endless, over sweep ends, on a local timeline, sharing by chunk.
fn spec(order: OrderSpec) -> PlanSpec {
    PlanSpec {
        order,
        sharing: Sharing::Chunk,
        limit: Limit::Endless,
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

fn chunk_window(chunks: u64, seed: u64) -> OrderSpec {
    OrderSpec::ChunkWindow(ChunkWindow { window: Window::Chunks(chunks), seed })
}

/// Everything that a planner hands out until the end, a minibatch an entry.
fn all_batches(planner: &mut Planner, index: &Index, demand: Demand) -> Vec<Vec<(u64, SequenceId)>> {
    let mut plan = crate::BatchPlan::default();
    let mut batches = Vec::new();
    loop {
        planner.next_batch(index, demand, &mut plan).unwrap();
        if plan.is_end() {
            return batches;
        }
        batches.push(plan.own_slots().map(|p| (p.sweep, p.planned)).collect());
        if plan.data_end {
            return batches;
        }
    }
}

/// Every sequence of a number of sweeps, once in each, sorted.
fn every_sequence(index: &Index, sweeps: u64) -> Vec<(u64, u32, u32)> {
    let of_chunk = |c: ChunkId| (0..index.chunk(c).n_sequences).map(move |s| (c.0, s));
    (0..sweeps)
        .flat_map(|sweep| index.chunk_ids().flat_map(of_chunk).map(move |(c, s)| (sweep, c, s)))
        .collect()
}

fn sorted(delivered: impl IntoIterator<Item = (u64, SequenceId)>) -> Vec<(u64, u32, u32)> {
    let mut all: Vec<_> = delivered.into_iter().map(|(w, p)| (w, p.chunk.0, p.sequence)).collect();
    all.sort_unstable();
    all
}

fn any_chunks() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let length = prop_oneof![4 => 1u32..4, 1 => 1u32..20];
    let chunk = prop_oneof![3 => 1usize..6, 1 => 1usize..2]
        .prop_flat_map(move |n| prop::collection::vec(length.clone(), n));
    prop::collection::vec(chunk, 1..14)
}

fn any_order() -> impl Strategy<Value = OrderSpec> {
    let seed = prop_oneof![0u64..4, Just(u64::MAX), any::<u64>()];
    let window = prop_oneof![(1u64..16).prop_map(Window::Chunks), (0u64..60).prop_map(Window::Samples)];
    prop_oneof![
        1 => Just(OrderSpec::AsStored),
        3 => (window, seed.clone()).prop_map(|(window, seed)| OrderSpec::ChunkWindow(ChunkWindow { window, seed })),
        1 => seed.prop_map(|seed| OrderSpec::Global(Global { seed })),
    ]
}

fn any_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![Just(Limit::Endless), (0u64..5).prop_map(Limit::Sweeps), (1u64..400).prop_map(Limit::Samples)]
}

fn any_sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![2 => Just(Sharing::Chunk), 1 => Just(Sharing::Position)]
}

fn any_spec() -> impl Strategy<Value = PlanSpec> {
    let most_sequences = prop_oneof![3 => Just(None), 1 => (1u64..9).prop_map(Some)];
    (any_order(), any_sharing(), any_limit(), any::<bool>(), any::<bool>(), most_sequences).prop_map(
        |(order, sharing, limit, cross_sweep_ends, local_timeline, most_sequences)| PlanSpec {
            order,
            sharing,
            limit,
            ending: Ending::default(),
            cross_sweep_ends,
            epoch_size: None,
            local_timeline,
            most_sequences,
            bucketing: None,
            equal_steps: None,
            excluded: None,
        },
    )
}

fn any_demand() -> impl Strategy<Value = Demand> {
    (prop_oneof![1u64..12, 1u64..90], 1u64..6)
        .prop_flat_map(|(samples, workers)| (Just(samples), Just(workers), 0..workers))
        .prop_map(|(samples, workers, rank)| Demand { samples, workers, rank })
}
