//! The order of a sweep, as figures: how far neighbours lie apart in storage, which classes meet, and what each rank reads.

use std::collections::HashMap;

use tesson::{Demand, Error, Source, SourceConfig};
use tesson_core::Index;
use tesson_plan::{Global, Limit, OrderSpec, PlanSpec, SegmentLength, Truncation, Window};

use crate::certificate::sweep;
use crate::figures::{GroupingFigures, OrderFigures, OrderPanel, RankFigures};
use crate::text::counted;

/// Points of a drawing.
const POINTS: u64 = 1500;

/// Bins of distances, and windows of a sweep whose classes are counted.
const DISTANCES: usize = 20;
const WINDOWS: usize = 24;

/// Twentieths of the storage, for what a rank reads.
const PLACES: usize = 20;

/// Examples of each class in a window, on average, so that a window says something.
const CLASS_IN_WINDOW: usize = 10;

/// The most classes that a mix shows separately; all others are shown as one more.
const MIXED: usize = 6;

/// The number of ranks that are planned by default, and the largest one.
const EXAMPLE_RANKS: u64 = 4;
const MOST_RANKS: u64 = 8;

/// Examples in a shuffle buffer for comparison, where the order itself holds none in memory.
const USUAL_BUFFER: u64 = 1000;

/// Classes of examples that were looked at, by their numbers in storage.
pub(crate) struct KnownClasses {
    pub(crate) stream: String,
    pub(crate) names: HashMap<i64, String>,
    pub(crate) of: HashMap<u64, i64>,
}

/// The classes of a mix: the most frequent ones.
struct Mixed {
    classes: Vec<i64>,
    of: HashMap<u64, i64>,
    shares: Vec<f64>,
}

impl Mixed {
    fn of(known: KnownClasses) -> Mixed {
        let mut counts: HashMap<i64, u64> = HashMap::new();
        known.of.values().for_each(|&class| *counts.entry(class).or_default() += 1);
        let mut classes: Vec<(i64, u64)> = counts.into_iter().collect();
        classes.sort_unstable_by_key(|&(class, n)| (std::cmp::Reverse(n), class));
        let all = known.of.len().max(1) as f64;
        let mut shares: Vec<f64> = classes.iter().take(MIXED).map(|&(_, n)| n as f64 / all).collect();
        shares.push(1.0 - shares.iter().sum::<f64>());
        Mixed {
            classes: classes.into_iter().take(MIXED).map(|(class, _)| class).collect(),
            of: known.of,
            shares,
        }
    }

    /// Windows of a sweep: fewer where so few classes are known that they would differ by chance.
    fn windows(&self) -> usize {
        (self.of.len() / (CLASS_IN_WINDOW * self.shares.len())).clamp(2, WINDOWS)
    }

    /// The number of an example's class in a mix, if it is known.
    fn class(&self, number: u64) -> Option<usize> {
        let class = self.of.get(&number)?;
        Some(self.classes.iter().position(|c| c == class).unwrap_or(self.classes.len()))
    }
}

/// A drawing of an order as it grows.
struct Drawing<'a> {
    n: u64,
    passed: u64,
    last: Option<u64>,
    points: Vec<[u16; 2]>,
    distances: Vec<u64>,
    sum: f64,
    mixed: Option<&'a Mixed>,
    mix: Vec<Vec<u64>>,
}

impl<'a> Drawing<'a> {
    fn new(n: u64, mixed: Option<&'a Mixed>) -> Drawing<'a> {
        Drawing {
            n,
            passed: 0,
            last: None,
            points: Vec::new(),
            distances: vec![0; DISTANCES],
            sum: 0.0,
            mixed,
            mix: vec![vec![0; MIXED + 1]; mixed.map_or(0, Mixed::windows)],
        }
    }

    fn add(&mut self, number: u64) {
        let of_all = |n: u64| n as f64 / self.n.max(1) as f64;
        let stride = self.n.div_ceil(POINTS).max(1);
        if self.passed.is_multiple_of(stride) {
            let thousandths = |share: f64| (1000.0 * share) as u16;
            self.points.push([thousandths(of_all(self.passed)), thousandths(of_all(number))]);
        }
        if let Some(last) = self.last.replace(number) {
            let distance = of_all(last.abs_diff(number));
            self.distances[((distance * DISTANCES as f64) as usize).min(DISTANCES - 1)] += 1;
            self.sum += distance;
        }
        if let Some(class) = self.mixed.and_then(|mixed| mixed.class(number)) {
            let windows = self.mix.len();
            let window = (of_all(self.passed) * windows as f64) as usize;
            self.mix[window.min(windows - 1)][class] += 1;
        }
        self.passed += 1;
    }

    fn end(self, name: String) -> OrderPanel {
        let pairs = self.passed.saturating_sub(1).max(1) as f64;
        let mut mix = Vec::new();
        let (mut difference, mut windows) = (0.0, 0);
        if let Some(mixed) = self.mixed {
            for counts in &self.mix {
                let all: u64 = counts.iter().sum();
                let shares: Vec<f64> = counts.iter().map(|&n| n as f64 / all.max(1) as f64).collect();
                if all > 0 {
                    let apart: f64 = shares.iter().zip(&mixed.shares).map(|(a, b)| (a - b).abs()).sum();
                    (difference, windows) = (difference + apart / 2.0, windows + 1);
                }
                mix.push(shares);
            }
        }
        OrderPanel {
            name,
            points: self.points,
            distances: self.distances.iter().map(|&n| n as f64 / pairs).collect(),
            mean_distance: self.sum / pairs,
            mix,
            mix_difference: (windows > 0).then(|| difference / f64::from(windows)),
        }
    }
}

/// How minibatches are made of the order: in buckets of examples of similar length, or of pieces.
pub(crate) struct Grouping {
    pub(crate) bucket_samples: Option<u64>,
    pub(crate) truncation: Option<Truncation>,
}

impl Grouping {
    pub(crate) fn of(config: &SourceConfig) -> Grouping {
        Grouping { bucket_samples: config.order.bucketing, truncation: config.truncation.spec() }
    }

    /// Its figures, if there is one.
    pub(crate) fn figures(&self) -> Option<GroupingFigures> {
        let words = match (self.bucket_samples, self.truncation.as_ref().map(|truncation| &truncation.length))
        {
            (Some(samples), _) => format!("in buckets of {}", counted(samples, "sample")),
            (None, Some(SegmentLength::Samples(n))) => {
                format!("cut into pieces of {}", counted(*n, "sample"))
            }
            (None, Some(SegmentLength::BySlots(n))) => format!("cut into pieces in {}", counted(*n, "slot")),
            (None, Some(SegmentLength::BySlotsOfEpoch(_))) => {
                "cut into pieces in as many slots as the epoch has".to_owned()
            }
            (None, None) => return None,
        };
        Some(GroupingFigures { words, is_cut: self.bucket_samples.is_none() })
    }
}

/// Calls of `next_part` by [`figures`]: before three orders, and before each rank.
pub(crate) fn parts(workers: u64) -> u64 {
    3 + planned_workers(workers).min(MOST_RANKS)
}

/// The ranks that are planned: some as an example where none are asked for.
fn planned_workers(workers: u64) -> u64 {
    if workers <= 1 { EXAMPLE_RANKS } else { workers }
}

/// The order of a run, beside others, and the shares of its ranks. `samples` is the size of its minibatches.
pub(crate) fn figures(
    source: &mut Source,
    index: &Index,
    samples: u64,
    workers: u64,
    known: Option<KnownClasses>,
    grouping: &Grouping,
    next_part: &mut dyn FnMut(),
) -> Result<OrderFigures, Error> {
    next_part();
    let n = index.n_sequences();
    let class_stream = known.as_ref().map(|known| known.stream.clone());
    let names = known.as_ref().map(|known| known.names.clone()).unwrap_or_default();
    let mixed = known.map(Mixed::of);
    let mut order = OrderSpec::AsStored;
    let mut drawing = Drawing::new(n, mixed.as_ref());
    sweep(
        source,
        index,
        |plan| order = plan.order,
        |number| {
            drawing.add(number);
            true
        },
    )?;
    if grouping.bucket_samples.is_some() {
        // Buckets have an order of their own, which follows from the size of minibatches.
        drawing = Drawing::new(n, mixed.as_ref());
        let one_sweep = |spec: &mut PlanSpec| {
            (spec.limit, spec.cross_sweep_ends) = (Limit::Sweeps(1), false);
            (spec.epoch_size, spec.equal_steps) = (None, None);
        };
        source.plan_with(one_sweep, Demand { samples, workers: 1, rank: 0 }, |plan| {
            plan.own.iter().for_each(|&sequence| drawing.add(index.number_of(sequence)));
            true
        })?;
    }
    let grouped = grouping.figures();
    let own = grouped.iter().fold(describe(order, index), |own, grouped| format!("{own}, {}", grouped.words));
    let mut orders = vec![drawing.end(format!("this run: {own}"))];
    next_part();
    let buffer = buffer_of(order, index);
    let mut buffered = Drawing::new(n, mixed.as_ref());
    ShuffleBuffer::new(buffer).pass(0..n, |number| buffered.add(number));
    orders.push(buffered.end(format!("a shuffle buffer of {}", counted(buffer, "example"))));
    next_part();
    if !matches!(order, OrderSpec::Global(_)) {
        let mut drawing = Drawing::new(n, mixed.as_ref());
        let global = OrderSpec::Global(Global { seed: 0 });
        let change = |plan: &mut PlanSpec| plan.order = global;
        sweep(source, index, change, |number| {
            drawing.add(number);
            true
        })?;
        orders.push(drawing.end("shuffled as a whole".to_owned()));
    } else {
        let mut drawing = Drawing::new(n, mixed.as_ref());
        (0..n).for_each(|number| drawing.add(number));
        orders.push(drawing.end("as stored".to_owned()));
    }
    let ranks_are_assumed = workers <= 1;
    let workers = planned_workers(workers);
    let (ranks, has_equal_steps) = ranks(source, index, samples, workers, grouping, next_part)?;
    let class_name = |class: &i64| names.get(class).cloned().unwrap_or_else(|| class.to_string());
    let mut classes: Vec<String> =
        mixed.iter().flat_map(|mixed| mixed.classes.iter().map(class_name)).collect();
    if mixed.as_ref().is_some_and(|mixed| mixed.shares.last().is_some_and(|&rest| rest > 1e-9)) {
        classes.push("others".to_owned());
    }
    Ok(OrderFigures {
        orders,
        buffer,
        ranks,
        workers,
        ranks_are_assumed,
        has_equal_steps,
        class_stream,
        classes,
        grouping: grouped,
    })
}

/// An order in words.
fn describe(order: OrderSpec, index: &Index) -> String {
    match order {
        OrderSpec::AsStored | OrderSpec::LocalPlain => "as stored".to_owned(),
        OrderSpec::Global(_) => "shuffled as a whole".to_owned(),
        OrderSpec::ChunkWindow(window) => match window.window {
            Window::Samples(n) if n >= index.n_samples() => "shuffled within a window of all data".to_owned(),
            Window::Chunks(n) if n >= index.n_chunks() as u64 => {
                "shuffled within a window of all data".to_owned()
            }
            Window::Chunks(n) => format!("shuffled within {}", counted(n, "chunk")),
            Window::Samples(n) => format!("shuffled within {}", counted(n, "sample")),
        },
        OrderSpec::Tumbling(_) => "shuffled within one window after the other".to_owned(),
    }
}

/// Examples of a shuffle buffer that takes as much memory as the window of an order.
fn buffer_of(order: OrderSpec, index: &Index) -> u64 {
    let n = index.n_sequences();
    let share = match order {
        OrderSpec::ChunkWindow(window) => match window.window {
            Window::Chunks(chunks) => chunks as f64 / index.n_chunks().max(1) as f64,
            Window::Samples(samples) => samples as f64 / index.n_samples().max(1) as f64,
        },
        _ => USUAL_BUFFER.min(n.div_ceil(10)) as f64 / n.max(1) as f64,
    };
    ((n as f64 * share.min(1.0)).ceil() as u64).clamp(1, n.max(1))
}

/// A shuffle buffer as of other loaders: it hands out a random one of what it holds, and takes the next.
struct ShuffleBuffer {
    room: u64,
    held: Vec<u64>,
    random: u64,
}

impl ShuffleBuffer {
    fn new(room: u64) -> ShuffleBuffer {
        ShuffleBuffer { room, held: Vec::new(), random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// A number below `n`, by a generator for drawings alone (xorshift).
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * n as u128) >> 64) as usize
    }

    fn pass(mut self, numbers: impl Iterator<Item = u64>, mut each: impl FnMut(u64)) {
        for number in numbers {
            if (self.held.len() as u64) < self.room {
                self.held.push(number);
                continue;
            }
            let i = self.below(self.held.len());
            each(std::mem::replace(&mut self.held[i], number));
        }
        while !self.held.is_empty() {
            let i = self.below(self.held.len());
            each(self.held.swap_remove(i));
        }
    }
}

/// The examples that each rank reads in a sweep, and whether all make as many steps. Of pieces an example counts where it begins.
fn ranks(
    source: &mut Source,
    index: &Index,
    samples: u64,
    workers: u64,
    grouping: &Grouping,
    next_part: &mut dyn FnMut(),
) -> Result<(Vec<RankFigures>, bool), Error> {
    if grouping.truncation.as_ref().is_some_and(|truncation| truncation.length.changes_by_epoch()) {
        // Each epoch has another number of slots: no plan serves for all.
        return Ok((Vec::new(), false));
    }
    let mut ranks = Vec::new();
    for rank in 0..workers.min(MOST_RANKS) {
        next_part();
        let mut tally = RankTally::new(rank, index);
        let demand = Demand { samples, workers, rank };
        if grouping.truncation.is_some() {
            source.plan_truncated(demand, |plan| {
                let begun = plan.segments.iter().filter(|segment| segment.samples.0 == 0);
                let samples = plan.segments.iter().map(|s| u64::from(s.samples.1 - s.samples.0)).sum();
                tally.step(begun.map(|segment| index.number_of(segment.sequence.planned)), samples);
                true
            })?;
        } else {
            let one_sweep = |spec: &mut PlanSpec| spec.limit = Limit::Sweeps(1);
            source.plan_with(one_sweep, demand, |plan| {
                let samples = plan.own.iter().map(|&sequence| u64::from(index.length(sequence))).sum();
                tally.step(plan.own.iter().map(|&sequence| index.number_of(sequence)), samples);
                true
            })?;
        }
        ranks.push(tally.end());
    }
    let are_equal = ranks.windows(2).all(|two| two[0].steps == two[1].steps);
    Ok((ranks, are_equal))
}

/// The figures of a rank as they grow.
struct RankTally {
    figures: RankFigures,
    n: u64,
    places: [u64; PLACES],
}

impl RankTally {
    fn new(rank: u64, index: &Index) -> RankTally {
        let figures = RankFigures { rank, ..RankFigures::default() };
        RankTally { figures, n: index.n_sequences().max(1), places: [0; PLACES] }
    }

    /// A step with the examples of these numbers in storage.
    fn step(&mut self, numbers: impl Iterator<Item = u64>, samples: u64) {
        self.figures.last = 0;
        for number in numbers {
            self.places[(u128::from(number) * PLACES as u128 / u128::from(self.n)) as usize] += 1;
            self.figures.last += 1;
        }
        self.figures.steps += 1;
        self.figures.examples += self.figures.last;
        self.figures.samples += samples;
    }

    fn end(mut self) -> RankFigures {
        let all = self.figures.examples.max(1) as f64;
        self.figures.places = self.places.iter().map(|&n| n as f64 / all).collect();
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(order: impl Iterator<Item = u64>, n: u64, mixed: Option<&Mixed>) -> OrderPanel {
        let mut drawing = Drawing::new(n, mixed);
        order.for_each(|number| drawing.add(number));
        drawing.end(String::new())
    }

    #[test]
    fn a_buffer_gives_each_example_once() {
        let mut given = Vec::new();
        ShuffleBuffer::new(10).pass(0..100, |number| given.push(number));
        assert_ne!(given, (0..100).collect::<Vec<_>>());
        given.sort_unstable();
        assert_eq!(given, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_small_buffer_is_seen_to_shuffle_poorly() {
        let n = 10_000;
        let (mut small, mut whole) = (Vec::new(), Vec::new());
        ShuffleBuffer::new(100).pass(0..n, |number| small.push(number));
        ShuffleBuffer::new(n).pass(0..n, |number| whole.push(number));
        // A tenth of each of ten classes, one after the other in storage.
        let of: HashMap<u64, i64> = (0..n).map(|i| (i, (i / 1000) as i64)).collect();
        let known = KnownClasses { stream: "y".into(), names: HashMap::new(), of };
        let mixed = Mixed::of(known);
        let [small, whole] = [small, whole].map(|order| drawn(order.into_iter(), n, Some(&mixed)));
        assert!(small.mean_distance < 0.02, "{}", small.mean_distance);
        assert!((whole.mean_distance - 1.0 / 3.0).abs() < 0.01, "{}", whole.mean_distance);
        assert!(small.mix_difference > Some(0.5) && whole.mix_difference < Some(0.1));
    }
}
