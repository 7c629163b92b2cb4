//! `tesson index`: the index cache.

use std::fs;
use std::path::PathBuf;

use crate::args::IndexArgs;
use crate::failure::Failure;
use crate::host::Host;
use crate::kind::InputKind;
use crate::output::{Output, count, size};
use crate::progress::Progress;
use crate::{dataset, input, log, read, records};

pub(crate) fn run(args: &IndexArgs, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    match args.input.kind {
        InputKind::Dataset => return records::index(&dataset::check::files(&args.input)?, args, out),
        InputKind::Records => return records::index(&records::files(&args.input)?, args, out),
        _ => {}
    }
    let config = input::config(&args.input, None, host)?;
    log::show(config.trace_level);
    let mut source = read::open(&config, &args.input)?;
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
        out.line(&answer.to_string())?;
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
