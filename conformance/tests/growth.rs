//! Memory does not grow with the number of sweeps, whatever is read and in whichever order: not by as much as an array of
//! each minibatch. Lists with a few bytes for a block have tests where they are kept.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use counting::now;
use tesson::Source;
use tesson_conformance::ways::{WAYS, Way, corpus_store, label, open};

/// Minibatches of a phase in which memory is looked at, each of a sweep or, of images and rows, several.
const PHASE: usize = 20;

/// Bytes that may be held after a phase, and were not before it: a buffer or two that wait to be used again.
const GROWN: usize = 256 << 10;

/// The least that is allocated between two of the next minibatches, in bytes; `None` where the data end before.
fn least_of_phase(source: &mut Source) -> Option<usize> {
    let mut least = usize::MAX;
    for _ in 0..PHASE {
        drop(source.next_minibatch(1000).expect("the data are right")?);
        least = least.min(now());
    }
    Some(least)
}

#[test]
fn nothing_grows_with_the_number_of_sweeps() {
    let mut n_endless = 0;
    for way in WAYS.iter() {
        let options = format!(r#"{}, "threads": 1, "prefetch": false"#, way.options);
        let mut source = open(&options, &*corpus_store());
        let Some(_warm_up) = least_of_phase(&mut source) else { continue };
        let (Some(before), Some(after)) = (least_of_phase(&mut source), least_of_phase(&mut source)) else {
            continue;
        };
        let grown = after.saturating_sub(before);
        assert!(grown < GROWN, "{}: {grown} bytes in {PHASE} minibatches", label(&way.options));
        n_endless += 1;
    }
    let ends = |way: &&Way| way.options.contains("maxSamples");
    assert_eq!(n_endless, WAYS.len() - WAYS.iter().filter(ends).count(), "all that go on for ever");
}
