//! Properties of random corpora with any lengths.

#![forbid(unsafe_code)]
// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tesson::ResumeState;
use tesson_conformance::corpus::{self, dawdling, rest};
use tesson_conformance::ways::{ORDERS, all_keys, busy, keys, open, sorted};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_corpus_is_delivered_whole_whatever_the_order_the_shares_and_the_memory(
        lengths in prop::collection::vec(1u32..12, 1..120),
        order in 0..ORDERS.len(),
        samples in 1u64..70,
        workers in 1u64..4,
        threads in 1u64..4,
        seed: u64,
    ) {
        let order = ORDERS[order];
        let store = corpus::store(&corpus::text(&lengths));
        let options = busy(order, &format!(r#""threads": {threads}"#));
        let mut all = Vec::new();
        for rank in 0..workers {
            let mut source = open(&options, &dawdling(store.clone(), seed));
            let share = rest(&mut source, samples, workers, rank);
            let by_position = order.contains("global") || order.contains("bucketing");
            let most = if by_position { samples } else { samples / workers + u64::from(rank < samples % workers) };
            for minibatch in &share {
                let counted: u32 = minibatch.streams[0].lengths.iter().sum();
                prop_assert!(minibatch.keys.len() <= 1 || u64::from(counted) <= most, "{counted} of {most}");
            }
            all.extend(keys(&share));
        }
        prop_assert_eq!(sorted(all), all_keys(order, lengths.len(), 2));
    }

    #[test]
    fn any_corpus_is_gone_on_with_exactly(
        lengths in prop::collection::vec(1u32..12, 1..60),
        order in 0..ORDERS.len(),
        first in 1u64..70,
        then in 1u64..70,
        behind in 0usize..20,
    ) {
        let store = corpus::store(&corpus::text(&lengths));
        let options = busy(ORDERS[order], r#""threads": 2"#);
        let mut source = open(&options, &*store);
        for _ in 0..behind {
            source.next_minibatch(first).unwrap();
        }
        let state = ResumeState::from_bytes(&source.state().to_bytes()).unwrap();
        // The size of minibatches may change at any time, and changes nothing else.
        let here = rest(&mut source, then, 1, 0);
        let mut fresh = open(&options, &*store);
        fresh.restore(&state).unwrap();
        prop_assert_eq!(rest(&mut fresh, then, 1, 0), here);
    }
}
