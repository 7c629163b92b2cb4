//! A permutation of the numbers below any `n`, chosen by a seed and the number of a sweep.
//!
//! Version 2 (that of [`OrderSpec::Global`](crate::OrderSpec); any change here needs a new one): up to 1,024 numbers are
//! shuffled in a table, more are permuted [without one](super::feistel). The keys of both come from (seed, sweep) by
//! SplitMix64. Version 1 had no tables: 5 to 8 numbers came in some orders more often than in others.

use super::{Keys, feistel::Feistel};

/// The most numbers that are drawn into a table. Filling it takes a few microseconds, less than computing all of them
/// without a table. Halves of five bits and more are wide enough that no test distinguishes the two.
const DRAWN: u64 = 1024;

/// A permutation of `0..n`.
#[derive(Clone, Debug)]
pub(crate) enum Permutation {
    /// A table of the image of each number.
    Drawn(Box<[u16]>),
    /// A permutation that is computed for each number.
    Keyed(Feistel),
}

impl Permutation {
    /// The permutation of `0..n` that belongs to a seed and a sweep.
    pub(crate) fn new(n: u64, seed: u64, sweep: u64) -> Permutation {
        let mut keys = Keys::new(seed, sweep);
        if n > DRAWN {
            return Permutation::Keyed(Feistel::new(n, &mut keys));
        }
        let mut table: Box<[u16]> = (0..n as u16).collect();
        // Fisher–Yates in Durstenfeld's form. The product's upper half is a number below i + 1, each equally likely but
        // for one part in 2^54.
        for i in (1..table.len()).rev() {
            let below = i as u128 + 1;
            table.swap(i, ((u128::from(keys.draw()) * below) >> 64) as usize);
        }
        Permutation::Drawn(table)
    }

    /// The image of `i`, which is below `n`.
    #[inline]
    pub(crate) fn get(&self, i: u64) -> u64 {
        match self {
            Permutation::Drawn(table) => table[i as usize].into(),
            Permutation::Keyed(feistel) => feistel.get(i),
        }
    }

    /// Bytes of memory held on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Permutation::Drawn(table) => size_of_val(&**table),
            Permutation::Keyed(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every size with a table that tests look at, and sizes without one around powers of two.
    fn sizes() -> impl Iterator<Item = u64> {
        (1..=64).chain([100, 1000, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 4096, 4097, 100_000])
    }

    fn whole(n: u64, seed: u64, sweep: u64) -> Vec<usize> {
        let permutation = Permutation::new(n, seed, sweep);
        (0..n).map(|i| permutation.get(i) as usize).collect()
    }

    #[test]
    fn each_number_comes_once() {
        for n in sizes() {
            let mut seen = vec![false; n as usize];
            for to in whole(n, 3, n) {
                assert!(!std::mem::replace(&mut seen[to], true), "{to} of {n}");
            }
        }
        assert!(whole(0, 3, 0).is_empty());
    }

    /// Counts of cells that are equally likely.
    struct Cells {
        what: String,
        counts: Vec<u64>,
    }

    impl Cells {
        fn new(what: impl Into<String>, n: usize) -> Cells {
            Cells { what: what.into(), counts: vec![0; n] }
        }

        /// Fails where chi-square lies more than five standard deviations off for so many degrees of freedom. Seeds and
        /// sweeps are fixed, so this passes or fails for good.
        fn check(&self, freedom: usize) {
            let expected = self.counts.iter().sum::<u64>() as f64 / self.counts.len() as f64;
            assert!(expected >= 5.0, "{}: too few draws for chi-square", self.what);
            let found: f64 = self.counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
            let freedom = freedom as f64;
            let off = (found - freedom) / (2.0 * freedom).sqrt();
            assert!(
                off.abs() < 5.0 + 5.0 / freedom.sqrt(),
                "{}: chi-square {found:.0} of {freedom}",
                self.what
            );
        }
    }

    /// The number of sweeps that puts 40 into each of a number of cells, of which each sweep fills `filled`.
    fn sweeps(cells: usize, filled: usize) -> u64 {
        (40 * cells / filled).max(4000) as u64
    }

    #[test]
    fn places_pairs_and_the_next_sweep_are_uniform_for_every_small_number() {
        for n in 2..=64usize {
            let mut places = Cells::new(format!("places of {n}"), n * n);
            let mut next_sweep = Cells::new(format!("the next sweep of {n}"), n * n);
            let distances = [1, 2, 3, n / 2].into_iter().filter(|&distance| distance < n);
            let pairs = |distance| (distance, Cells::new(format!("pairs of {n}, {distance} apart"), n * n));
            let mut pairs: Vec<(usize, Cells)> = distances.map(pairs).collect();
            let mut previous = whole(n as u64, 11, 0);
            for sweep in 1..=sweeps(n * n, n) {
                let order = whole(n as u64, 11, sweep);
                for i in 0..n {
                    places.counts[i * n + order[i]] += 1;
                    next_sweep.counts[previous[i] * n + order[i]] += 1;
                    for (distance, cells) in pairs.iter_mut().filter(|(distance, _)| i + distance < n) {
                        cells.counts[order[i] * n + order[i + *distance]] += 1;
                    }
                }
                previous = order;
            }
            places.check((n - 1) * (n - 1));
            next_sweep.check((n - 1) * (n - 1));
            for (_, mut cells) in pairs {
                // No number is its own neighbour.
                let mut cell = 0..n * n;
                cells.counts.retain(|_| cell.next().is_some_and(|cell| cell % (n + 1) != 0));
                cells.check((n * (n - 1)).saturating_sub(n).max(1));
            }
        }
    }

    /// The number of an order among all of its length, by its inversions.
    fn rank(order: &[usize]) -> usize {
        (0..order.len()).fold(0, |rank, i| {
            rank * (order.len() - i) + order[i + 1..].iter().filter(|&&later| later < order[i]).count()
        })
    }

    #[test]
    fn whole_orders_are_uniform() {
        for n in 2..=64usize {
            // All orders of up to six numbers; of more, in which order five come that lie at random places.
            let (n_ranked, n_orders) = if n <= 6 { (n, (2..=n).product()) } else { (5, 120) };
            let mut orders = Cells::new(format!("orders of {n}"), n_orders);
            let mut parity = Cells::new(format!("even and odd orders of {n}"), 2);
            for sweep in 0..sweeps(n_orders, 1) {
                let order = whole(n as u64, 12, sweep);
                let step = n / n_ranked;
                let ranked: Vec<usize> = (0..n_ranked).map(|i| order[i * step]).collect();
                orders.counts[rank(&ranked)] += 1;
                parity.counts[usize::from(is_odd(&order))] += 1;
            }
            orders.check(n_orders - 1);
            parity.check(1);
        }
    }

    /// True if sorting takes an odd number of swaps.
    fn is_odd(order: &[usize]) -> bool {
        let mut seen = vec![false; order.len()];
        let mut odd = false;
        for start in 0..order.len() {
            let mut at = order[start];
            while at != start && !seen[start] && !std::mem::replace(&mut seen[at], true) {
                odd = !odd;
                at = order[at];
            }
        }
        odd
    }

    #[test]
    fn pairs_at_any_distance_are_uniform_with_and_without_a_table() {
        const GRID: usize = 16;
        for n in [1024usize, 1025, 2048, 3000, 4096] {
            for distance in [1, 2, 3, 8, n / 4, n / 2] {
                let mut cells = Cells::new(format!("pairs of {n}, {distance} apart"), GRID * GRID);
                // One pair of each sweep, so that all are independent.
                for sweep in 0..8000 {
                    let permutation = Permutation::new(n as u64, distance as u64, sweep);
                    let first = sweep % (n - distance) as u64;
                    let cell = |i: u64| permutation.get(i) as usize * GRID / n;
                    cells.counts[cell(first) * GRID + cell(first + distance as u64)] += 1;
                }
                cells.check(GRID * GRID - 1);
            }
        }
    }

    #[test]
    fn even_and_odd_orders_are_as_frequent_without_a_table() {
        // Powers of two are not walked through cycles, which would mix both kinds.
        for n in [1025u64, 1500, 2048, 4096] {
            let mut parity = Cells::new(format!("even and odd orders of {n}"), 2);
            (0..400).for_each(|sweep| parity.counts[usize::from(is_odd(&whole(n, 5, sweep)))] += 1);
            parity.check(1);
        }
    }

    #[test]
    fn distances_of_neighbours_are_spread_evenly() {
        for (n, seed) in [(1_000_003u64, 0), (1 << 20, 1), (700_000, u64::MAX)] {
            let permutation = Permutation::new(n, seed, 0);
            let mut cells = Cells::new(format!("distances of neighbours among {n}"), 64);
            for i in 0..n - 1 {
                let distance = (permutation.get(i + 1) + n - permutation.get(i)) % n;
                cells.counts[(u128::from(distance) * 64 / u128::from(n)) as usize] += 1;
            }
            cells.check(63);
        }
    }

    #[test]
    fn seeds_and_sweeps_give_unrelated_permutations() {
        let n = 1_000_000;
        let same = |a: &Permutation, b: &Permutation| (0..n).filter(|&i| a.get(i) == b.get(i)).count();
        let one = Permutation::new(n, 5, 5);
        // One fixed point is expected on the average (Poisson); twelve would be one in 10^9.
        for other in [(5, 6), (6, 5), (6, 4), (4, 6)] {
            assert!(same(&one, &Permutation::new(n, other.0, other.1)) < 12);
        }
    }

    #[test]
    fn the_first_numbers_of_this_version_stay_what_they_are() {
        let first = |n| {
            let permutation = Permutation::new(n, 42, 7);
            [0, 1, 2, 3].map(|i| permutation.get(i))
        };
        assert_eq!(first(1_000_000_000), [161747646, 88518302, 810329222, 492331819]);
        assert_eq!(first(7), [2, 0, 3, 6]);
    }
}
