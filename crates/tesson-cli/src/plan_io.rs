//! `tesson plan --io`: the bytes that ranks would read in a sweep, for several orders, without reading them.
//!
//! The model: a rank reads whole chunks, one request each, and keeps those that it used last, within its memory limit. Orders that jump
//! between more chunks than fit read the same bytes again.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use tesson::Source;
use tesson_core::{ChunkId, Index};
use tesson_engine::DEFAULT_MEMORY_LIMIT;
use tesson_plan::{ChunkWindow, Demand, Global, Limit, OrderSpec, Share, Window};

use crate::args::{PlanArgs, WorkerArgs};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, count, counted, size};
use crate::progress::Progress;

/// Ranks that are planned, at most; sums over all ranks are estimated from them.
const PLANNED_RANKS: u64 = 4;

/// Shows the reads of each order.
pub(crate) fn run(args: &PlanArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let (config, mut source) = input::open_adjusted(&args.common, extensions, |config| {
        input::size_buckets(config, &args.common.order, args.minibatch);
        config.minibatches.limit = Limit::Sweeps(1);
    })?;
    let samples = input::first_size(args.minibatch, &config);
    let room = config.runtime.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT);
    let index = source.indexed()?.index.clone();
    let worker = args.common.worker;
    let bytes = index.chunk_ids().map(|chunk| index.chunk(chunk).bytes).sum();
    if !out.is_json() {
        let (sequences, chunks) =
            (counted(index.n_sequences(), "sequence"), counted(index.n_chunks() as u64, "chunk"));
        let ranks = counted(worker.workers.n, "worker");
        out.line(&format!(
            "{sequences}, {} in {chunks}; {ranks}, {} of memory each",
            size(bytes),
            size(room)
        ))?;
        out.line(&format!("{:<22}{:>14}{:>14}{:>16}", "order", "read", "requests", "of the data"))?;
    }
    for (name, order) in orders(&index, args.common.order.seed.unwrap_or(0)) {
        let ranks = Progress::during("planning", || {
            let ranks = planned_ranks(worker).into_iter();
            let demands = ranks.map(|rank| Share { workers: worker.workers.n, rank }.demand(samples));
            demands
                .map(|demand| simulate(&mut source, &index, order, demand, room))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let all =
            if worker.rank_if_given().is_some() { ranks[0] } else { Reads::of_all(&ranks, worker.workers.n) };
        if out.is_json() {
            out.json(&all.json(&name, &ranks))?;
        } else {
            let share = all.bytes as f64 / bytes.max(1) as f64;
            out.line(&format!("{name:<22}{:>14}{:>14}{share:>15.2}x", size(all.bytes), count(all.requests)))?;
        }
    }
    Ok(())
}

/// The orders to compare, with their names.
fn orders(index: &Index, seed: u64) -> Vec<(String, OrderSpec)> {
    let windows = [8, 32, 128, 512].into_iter().filter(|&chunks| chunks < index.n_chunks() as u64);
    let window = |chunks| {
        let order = ChunkWindow { window: Window::Chunks(chunks), seed };
        (format!("window of {}", counted(chunks, "chunk")), OrderSpec::ChunkWindow(order))
    };
    let mut orders = vec![("as stored".to_string(), OrderSpec::AsStored)];
    orders.extend(windows.map(window));
    orders.push(("global".to_string(), OrderSpec::Global(Global { seed })));
    orders
}

/// The rank that is given, or some, evenly spaced.
fn planned_ranks(worker: WorkerArgs) -> Vec<u64> {
    let n = worker.workers.n.min(PLANNED_RANKS);
    worker
        .rank_if_given()
        .map_or_else(|| (0..n).map(|i| i * worker.workers.n / n).collect(), |rank| vec![rank])
}

/// Plans a sweep of one rank, and counts its reads.
fn simulate(
    source: &mut Source,
    index: &Index,
    order: OrderSpec,
    demand: Demand,
    room: u64,
) -> Result<Reads, tesson::Error> {
    let mut cache = ChunkCache::new(room);
    source.plan_with(
        |spec| spec.order = order,
        demand,
        |plan| {
            plan.own.iter().for_each(|sequence| cache.touch(sequence.chunk, index));
            true
        },
    )?;
    Ok(cache.reads)
}

/// Reads of storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reads {
    requests: u64,
    bytes: u64,
}

impl Reads {
    /// The sum over all ranks, of which these are a sample.
    fn of_all(sample: &[Reads], workers: u64) -> Reads {
        let sum = |part: fn(&Reads) -> u64| {
            let sum: u128 = sample.iter().map(|reads| u128::from(part(reads))).sum();
            (sum * u128::from(workers) / sample.len().max(1) as u128) as u64
        };
        Reads { requests: sum(|reads| reads.requests), bytes: sum(|reads| reads.bytes) }
    }

    fn json(self, order: &str, ranks: &[Reads]) -> Value {
        let ranks: Vec<_> = ranks.iter().map(|r| json!({"requests": r.requests, "bytes": r.bytes})).collect();
        json!({"order": order, "requests": self.requests, "bytes": self.bytes, "plannedRanks": ranks})
    }
}

/// The chunks that a rank used last, and its reads so far.
struct ChunkCache {
    room: u64,
    used: u64,
    /// When each chunk was used last.
    times: HashMap<ChunkId, u64>,
    by_time: BTreeMap<u64, ChunkId>,
    now: u64,
    reads: Reads,
}

impl ChunkCache {
    fn new(room: u64) -> ChunkCache {
        let (times, by_time) = (HashMap::new(), BTreeMap::new());
        ChunkCache { room, used: 0, times, by_time, now: 0, reads: Reads::default() }
    }

    /// Uses a chunk; reads it first unless it is kept.
    fn touch(&mut self, chunk: ChunkId, index: &Index) {
        if self.by_time.last_key_value().is_some_and(|(_, last)| *last == chunk) {
            return;
        }
        self.now += 1;
        if let Some(time) = self.times.insert(chunk, self.now) {
            self.by_time.remove(&time);
        } else {
            let bytes = index.chunk(chunk).bytes;
            self.reads.requests += 1;
            self.reads.bytes += bytes;
            self.used += bytes;
            // The chunk itself is used, however large it is.
            while self.used > self.room
                && let Some((_, oldest)) = self.by_time.pop_first()
            {
                self.times.remove(&oldest);
                self.used -= index.chunk(oldest).bytes;
            }
        }
        self.by_time.insert(self.now, chunk);
    }
}

#[cfg(test)]
mod tests {
    use tesson_core::CompactLengths;

    use super::*;

    #[test]
    fn chunks_that_do_not_fit_are_read_again() {
        let mut index = Index::new();
        (0..3).for_each(|i| index.push(CompactLengths::constant(1, 5), 100 + i));
        index.seal();
        let reads = |room, chunks: &[u32]| {
            let mut cache = ChunkCache::new(room);
            chunks.iter().for_each(|&chunk| cache.touch(ChunkId(chunk), &index));
            (cache.reads.requests, cache.reads.bytes)
        };
        let jumps = [0, 0, 1, 0, 2, 1, 0];
        assert_eq!(reads(1000, &jumps), (3, 303));
        // The second chunk is the one that was used the longest time ago, then the first.
        assert_eq!(reads(203, &jumps), (5, 100 + 101 + 102 + 101 + 100));
        assert_eq!(reads(1, &jumps), (6, 100 + 101 + 100 + 102 + 101 + 100));
    }

    #[test]
    fn sums_are_those_of_all_ranks() {
        let sample = [Reads { requests: 2, bytes: 30 }, Reads { requests: 4, bytes: 50 }];
        assert_eq!(Reads::of_all(&sample, 8), Reads { requests: 24, bytes: 320 });
    }
}
