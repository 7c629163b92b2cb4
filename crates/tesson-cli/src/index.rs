//! `tesson index`: the index cache.

use std::fs;
use std::path::PathBuf;

use crate::args::IndexArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, count, size};
use crate::progress::Progress;
use crate::{input, log};

pub(crate) fn run(args: &IndexArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let config = input::config(&args.input, None, extensions)?;
    log::show(config.trace_level);
    let mut source = input::open(&config, &args.input)?;
    let paths = {
        let _progress = Progress::spinner("indexing");
        source.write_index_cache()?
    };
    let bytes_of = |path: &PathBuf| fs::metadata(path).map(|m| m.len()).map_err(|e| Failure::file(path, e));
    let bytes: Vec<u64> = paths.iter().map(bytes_of).collect::<Result<_, _>>()?;
    let index = source.indexed()?.index.clone();
    if out.is_json() {
        let answer = serde_json::json!({
            "cache": paths.first().map(|path| path.to_string_lossy()),
            "caches": paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "bytes": bytes.iter().sum::<u64>(),
            "chunks": index.n_chunks(),
            "sequences": index.n_sequences(),
            "samples": index.n_samples(),
        });
        out.json(&answer)?;
    } else {
        for (path, bytes) in paths.iter().zip(bytes) {
            out.pair("cache", &format!("{} ({})", path.display(), size(bytes)))?;
        }
        if paths.is_empty() {
            out.pair("cache", "none: the file holds its own index")?;
        }
        out.pair("chunks", &count(index.n_chunks() as u64))?;
        out.pair("sequences", &count(index.n_sequences()))?;
        out.pair("samples", &count(index.n_samples()))?;
    }
    Ok(())
}
