//! `tesson index`: the index cache.

use crate::args::IndexArgs;
use crate::data;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, count, size};

pub(crate) fn run(args: &IndexArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let (_, mut source) = input::open_adjusted(&args.common, extensions, |_| {})?;
    let paths = input::while_working(&mut source, "indexing", tesson::Source::write_index_cache)?;
    let bytes: Vec<u64> = paths.iter().map(|path| data::size(path)).collect::<Result<_, _>>()?;
    let index = source.indexed()?.index.clone();
    let [chunks, sequences, samples] = [index.n_chunks() as u64, index.n_sequences(), index.n_samples()];
    let json = serde_json::json!({
        "cache": paths.first().map(|path| path.to_string_lossy()),
        "caches": paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "bytes": bytes.iter().sum::<u64>(),
        "chunks": chunks,
        "sequences": sequences,
        "samples": samples,
    });
    let caches = paths.iter().zip(bytes).map(|(path, bytes)| format!("{} ({})", path.display(), size(bytes)));
    let mut pairs: Vec<(&str, String)> = caches.map(|text| ("cache", text)).collect();
    if pairs.is_empty() {
        pairs.push(("cache", "none: the file holds its own index".into()));
    }
    pairs.extend([("chunks", count(chunks)), ("sequences", count(sequences)), ("samples", count(samples))]);
    Ok(out.answer(&json, &pairs)?)
}
