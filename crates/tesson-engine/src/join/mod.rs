//! Several deserializers as one corpus: indexed each by itself, joined by key, loaded side by side.
//!
//! | file | subject |
//! |---|---|
//! | `part` | the deserializers of a source, and what they are together |
//! | `corpus` | loading joined sequences |
//! | `fit` | sequences whose length differs a little from that of the first deserializer's |
//! | `gather` | sequences picked out of decoded chunks |
//! | `hashed` | text keys as hashes |
//! | `repeated` | samples that are repeated to the length of the first deserializer's sequence |
//!
//! Which sequences belong together is decided in `tesson-plan`. What comes out is an index and a corpus like any other,
//! so nothing else in the engine knows of joins.

mod corpus;
mod fit;
mod gather;
mod hashed;
mod part;
mod repeated;

use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{
    Chunk, ChunkId, ConfigError, Defects, Error, Indexed, Key, Keys, Parallelism, PartFetch, ResourceId,
    Scratch, Storage,
};
use tesson_plan::{
    JoinReport, JoinRules, Joined, Joiner, KeyColumns, MissingKeys, PartReport, Secondary, repeated_keys,
};

use crate::fetch::Resources;
use crate::refusal::EngineRefusal;
use crate::threads::Threads;
use corpus::{JoinedCorpus, JoinedPart};
use gather::ColumnShape;
use hashed::Hashed;
use part::refused;
pub(crate) use part::{Parts, files};

/// Most sequences of a part: its numbers are kept in 32 bits.
const MOST_SEQUENCES: u64 = u32::MAX as u64 - 1;

/// The result of indexing and joining.
#[derive(Clone)]
pub(crate) struct IndexedSource {
    /// The corpus that is read.
    pub(crate) indexed: Indexed,
    /// The corpora that it is made of.
    pub(crate) parts: Vec<Indexed>,
    /// The sequences that could not be joined; `None` for a single part.
    pub(crate) report: Option<JoinReport>,
}

/// Indexes all parts and joins them. A single part stays as it is.
///
/// # Errors
/// Those of indexing; keys that do not go together, and more of them than fit into memory.
pub(crate) fn index(
    parts: &Parts,
    resources: &Resources,
    threads: &Threads,
    rules: JoinRules,
    defects: &mut Defects<'_>,
) -> Result<IndexedSource, Error> {
    let mut joined: Vec<JoinedPart> = Vec::new();
    let mut first_stream = 0;
    for part in parts.list() {
        let streams: Vec<_> = part
            .facts()
            .streams
            .iter()
            .map(|s| ColumnShape { dim: s.shape.len(), sparse: s.sparse })
            .collect();
        let n_streams = streams.len() as u16;
        let streams_of = &part.facts().streams;
        let repeated = streams_of.iter().map(|s| s.storage == Storage::Repeated).collect();
        let splits = parts.splits(part);
        let mut indexed = part.index(resources, threads, defects)?;
        if rules.hash_keys {
            indexed.corpus = Arc::new(Hashed(indexed.corpus));
        }
        joined.push(JoinedPart {
            indexed,
            first_resource: part.first,
            first_stream,
            streams,
            repeated,
            tolerance: part.facts().length_tolerance,
            splits,
            strict: parts.is_strict(part),
        });
        first_stream += n_streams;
    }
    let all: Vec<Indexed> = joined.iter().map(|part| part.indexed.clone()).collect();
    if let [only] = all.as_slice() {
        if !rules.repeated {
            refuse_repeated(&joined[0], resources, threads)?;
        }
        return Ok(IndexedSource { indexed: only.clone(), parts: all, report: None });
    }
    let (indexed, report) = join(parts, joined, resources, threads, rules)?;
    Ok(IndexedSource { indexed, parts: all, report: Some(report) })
}

/// The keys of a whole part.
fn key_columns(part: &JoinedPart, resources: &Resources, threads: &Threads) -> Result<KeyColumns, Error> {
    let mut keys = KeyColumns::new();
    each_keys(part, resources, threads, &mut |chunk: ChunkId, found: Keys| {
        keys.push(found, part.indexed.index.chunk(chunk).n_sequences);
    })?;
    Ok(keys)
}

/// Refuses keys that occur again in the only part.
fn refuse_repeated(part: &JoinedPart, resources: &Resources, threads: &Threads) -> Result<(), Error> {
    check_number(0, part)?;
    let keys = [key_columns(part, resources, threads)?];
    check_memory(&keys, threads.memory)?;
    match repeated_keys(&keys[0], 1) {
        PartReport { repeated: 0, .. } => Ok(()),
        found => Err(repeated(0, &found, part, resources).into()),
    }
}

fn join(
    parts: &Parts,
    joined: Vec<JoinedPart>,
    resources: &Resources,
    threads: &Threads,
    rules: JoinRules,
) -> Result<(Indexed, JoinReport), Error> {
    let mut columns = Vec::with_capacity(joined.len());
    for (i, part) in joined.iter().enumerate().skip(1) {
        check_number(i, part)?;
        columns.push(key_columns(part, resources, threads)?);
    }
    check_number(0, &joined[0])?;
    check_memory(&columns, threads.memory)?;
    let secondary = |(i, keys): (usize, _)| {
        let part = &joined[i];
        let repeated = parts.list()[i].facts().repeated_keys;
        Secondary {
            index: &part.indexed.index,
            keys,
            repeated,
            tolerance: part.tolerance,
            splits: part.splits,
        }
    };
    let secondaries: Vec<_> = (1..).zip(&columns).map(secondary).collect();
    let definer = parts.list().iter().position(|part| part.facts().defines_size);
    let mut joiner = Joiner::new(&joined[0].indexed.index, &secondaries, definer, rules.missing);
    each_keys(&joined[0], resources, threads, &mut |chunk, keys| joiner.push(chunk, &keys))?;
    let Joined { index, chunks, report } = joiner.finish();
    if let Some(part) = report.parts.iter().position(|found| found.repeated > 0).filter(|_| !rules.repeated) {
        return Err(repeated(part + 1, &report.parts[part], &joined[part + 1], resources).into());
    }
    judge(&report, parts, rules)?;
    let index = Arc::new(index);
    let largest = usize::try_from(threads.memory / 4).unwrap_or(usize::MAX);
    let corpus = JoinedCorpus::new(joined, chunks, index.clone(), largest);
    Ok((Indexed { index, corpus: Arc::new(corpus) }, report))
}

/// Calls `each` with the keys of every chunk of a part, in order. Chunks are read side by side.
fn each_keys(
    part: &JoinedPart,
    resources: &Resources,
    threads: &Threads,
    each: &mut dyn FnMut(ChunkId, Keys),
) -> Result<(), Error> {
    type Found = Mutex<Option<Result<Keys, Error>>>;
    let n_chunks = part.indexed.index.n_chunks();
    let mut workers: Vec<Mutex<(Scratch, Chunk)>> = Vec::new();
    workers.resize_with(threads.n, || Mutex::new((Scratch::default(), Chunk::empty())));
    for from in (0..n_chunks).step_by(threads.n) {
        let wave = threads.n.min(n_chunks - from);
        let found: Vec<Found> = (0..wave).map(|_| Mutex::new(None)).collect();
        threads.run(wave, &|i| {
            let mut worker = workers[i].lock().unwrap_or_else(PoisonError::into_inner);
            let (scratch, chunk) = &mut *worker;
            let number = ChunkId::at(from + i);
            let n = part.indexed.index.chunk(number).n_sequences;
            let fetch = PartFetch { fetch: resources, first: part.first_resource };
            let keys = part.indexed.corpus.keys_of_chunk(number, n, &fetch, scratch, chunk);
            *found[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
        });
        for (chunk, keys) in (from..).map(ChunkId::at).zip(found) {
            let keys = keys.into_inner().unwrap_or_else(PoisonError::into_inner);
            each(chunk, keys.expect("every lane has answered")?);
        }
    }
    Ok(())
}

fn check_number(part: usize, joined: &JoinedPart) -> Result<(), ConfigError> {
    let n = joined.indexed.index.n_sequences();
    if n <= MOST_SEQUENCES {
        return Ok(());
    }
    let refusal = EngineRefusal::TooManyToJoin { n, most: MOST_SEQUENCES };
    Err(ConfigError::refused(format!("deserializers[{part}]"), &refusal))
}

fn check_memory(columns: &[KeyColumns], limit: u64) -> Result<(), ConfigError> {
    let needed: u64 = columns.iter().map(|keys| keys.bytes() as u64 + keys.bytes_to_find()).sum();
    if needed <= limit {
        return Ok(());
    }
    Err(ConfigError::refused("memoryLimit", &EngineRefusal::KeysBeyondMemory { needed, limit }))
}

/// Refuses the keys that a part repeats: the first one, with both of its places.
fn repeated(number: usize, found: &PartReport, part: &JoinedPart, resources: &Resources) -> ConfigError {
    let place = |number: u32| {
        let at = part.indexed.index.sequence(number.into());
        let (resource, bytes) = part.indexed.corpus.span(at);
        if resource != ResourceId::NONE
            && let Some(file) = resources.path(ResourceId(part.first_resource + resource.0))
        {
            return format!("{} (byte {})", file.display(), bytes.start);
        }
        format!("sequence {} of chunk {}", at.sequence, at.chunk)
    };
    let first = found.first_repeated.first().zip(found.repeated_at.first());
    let first = first
        .map(|(key, &(before, again))| format!(": `{key}` at {} and at {}", place(before), place(again)));
    let refusal = EngineRefusal::RepeatedKeys {
        n: found.repeated,
        deserializer: number,
        first: first.unwrap_or_default(),
    };
    ConfigError::refused("uniqueKeys", &refusal)
}

/// Tells what could not be joined, and whether that is an error.
fn judge(report: &JoinReport, parts: &Parts, rules: JoinRules) -> Result<(), ConfigError> {
    for (part, found) in (1..).zip(&report.parts) {
        if let Some((key, [frames, expected])) = &found.first_short {
            let (short, max_errors) = (found.short, parts.budget_of(&parts.list()[part]));
            let (key, found, expected) = (key.to_string(), *frames, *expected);
            let refusal = EngineRefusal::TooFewFrames { short, max_errors, key, found, expected };
            if short > max_errors {
                return Err(refused(part, &refusal));
            }
            tracing::warn!("`deserializers[{part}]`: {refusal}");
        }
        if found.missing > 0 {
            let refusal = EngineRefusal::MissingKeys {
                missing: found.missing,
                of: report.sequences,
                deserializer: part,
                keys: named(&found.first_missing, found.missing),
            };
            if report.joined > 0 && rules.missing == MissingKeys::Refuse {
                return Err(ConfigError::refused("strictKeys", &refusal));
            }
            if found.missing as f64 > rules.max_missing * report.sequences as f64 {
                let refusal = EngineRefusal::TooManyMissing {
                    missing: found.missing,
                    of: report.sequences,
                    deserializer: part,
                    most: rules.max_missing,
                    keys: named(&found.first_missing, found.missing),
                };
                return Err(ConfigError::refused("maxMissing", &refusal));
            }
            tracing::warn!("{refusal}");
        }
        if found.repeated > 0 {
            let keys = named(&found.first_repeated, found.repeated);
            tracing::warn!("`deserializers[{part}]` has {} repeated keys: {keys}", found.repeated);
        }
    }
    if report.joined > 0 {
        return Ok(());
    }
    let examples: Vec<String> = (1..)
        .zip(&report.parts)
        .filter_map(|(part, found)| {
            Some(format!("key `{}` is not in `deserializers[{part}]`", found.first_missing.first()?))
        })
        .collect();
    let refusal = EngineRefusal::NoCommonKey { examples: examples.join(", ") };
    Err(ConfigError::refused("deserializers", &refusal))
}

/// The first few of so many keys.
fn named(keys: &[Key], all: u64) -> String {
    let named: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let more = if all > keys.len() as u64 { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}
