//! Orders alone: no file, no example.

use std::num::NonZeroU64;
use std::time::Instant;

use tesson_plan::Stream;
use tesson_tfds::info::{Dataset, DatasetInfo, rounded_lengths};
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::Selection;

use super::Answer;
use crate::report;

/// Examples and shards of the training split of ImageNet.
const EXAMPLES: u64 = 1_281_167;
const SHARDS: usize = 1024;

/// Measures a whole epoch with a buffer and without, and a position far from the beginning.
pub(super) fn all(rounds: usize) -> Answer<()> {
    let buffered = stream(Some(10_000))?;
    let plain = stream(None)?;
    let mut measured = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        measured[0].push(epoch(&buffered)?);
        measured[1].push(epoch(&plain)?);
        let (mut stream, start) = (plain.clone(), Instant::now());
        stream.skip(1_200_000)?;
        measured[2].push(vec![("ms", start.elapsed().as_secs_f64() * 1e3)]);
    }
    let names = ["epoch, interleave and a buffer of 10,000", "epoch, interleave", "place 1,200,000"];
    for (name, results) in names.into_iter().zip(measured) {
        report("tfds order", name, &[], results);
    }
    Ok(())
}

fn epoch(stream: &Stream) -> Answer<Vec<(&'static str, f64)>> {
    let (mut stream, mut ids) = (stream.clone(), Vec::with_capacity(EXAMPLES as usize));
    let start = Instant::now();
    stream.fill(usize::MAX, &mut ids)?;
    assert_eq!(ids.len() as u64, EXAMPLES, "an epoch has every example once");
    Ok(vec![("ms", start.elapsed().as_secs_f64() * 1e3)])
}

fn stream(buffer: Option<u64>) -> Answer<Stream> {
    let lengths: Vec<String> =
        rounded_lengths(EXAMPLES, SHARDS).iter().map(|length| format!("\"{length}\"")).collect();
    let text = format!(
        r#"{{"name": "imagenet", "version": "1.0.0",
            "splits": [{{"name": "train", "shardLengths": [{}]}}]}}"#,
        lengths.join(", ")
    );
    let info = DatasetInfo::parse(&std::path::Path::new("dataset_info.json").into(), text.as_bytes())?;
    let dataset = Dataset::new(vec![("imagenet".into(), info)], None)?;
    let mut reading = Reading::of(Selection::parse("train")?);
    let buffer = buffer.and_then(NonZeroU64::new);
    reading.ops.extend(buffer.map(|buffer_size| Op::Shuffle { buffer_size, seed: Some(1), reshuffle: true }));
    Ok(Plan::new(&dataset, &reading, &mut tesson_prepared::random_seed)?.stream()?)
}
