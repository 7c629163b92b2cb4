//! Keys of the whole corpus: which sequences have one, and which are left out for theirs.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tesson_core::{Chunk, ChunkId, Error, Indexed, Key, Keys, OptionName, Scratch, SequenceId, nearest};
use tesson_plan::ExcludedSequences;

use super::Source;
use crate::refusal::EngineRefusal;

const EXCLUDE_KEYS: OptionName = OptionName::new("excludeKeys");

/// Keys that `excludeKeys` names in vain, of which a message names so many.
const NAMED: usize = 3;

/// Keys that are looked at for one that is like an unknown one.
const COMPARED: u64 = 100_000;

impl Source {
    /// Calls `each` with all sequences and their keys, in the order of the data, until it returns `false`.
    pub(super) fn for_each_key(
        &self,
        indexed: &Indexed,
        mut each: impl FnMut(SequenceId, Key) -> bool,
    ) -> Result<(), Error> {
        let (mut scratch, mut memory) = (Scratch::default(), Chunk::empty());
        for chunk in indexed.index.chunk_ids() {
            let n = indexed.index.chunk(chunk).n_sequences;
            let keys = indexed.corpus.keys_of_chunk(chunk, n, &*self.resources, &mut scratch, &mut memory)?;
            if !(0..n).all(|sequence| each(SequenceId { chunk, sequence }, keys.get(sequence as usize))) {
                break;
            }
        }
        Ok(())
    }

    /// The keys of sequences. They are read where the index does not hold them.
    ///
    /// # Errors
    /// Those of [`Source::indexed`], and unreadable storage.
    pub fn keys_of(&mut self, sequences: &[SequenceId]) -> Result<Vec<Key>, Error> {
        let indexed = self.indexed()?.clone();
        let keys = self.keys_of_chunks(&indexed, sequences.iter().map(|sequence| sequence.chunk))?;
        Ok(sequences.iter().map(|at| keys[&at.chunk].get(at.sequence as usize)).collect())
    }

    /// The keys of all sequences of chunks, of each chunk once.
    pub(super) fn keys_of_chunks(
        &self,
        indexed: &Indexed,
        chunks: impl Iterator<Item = ChunkId>,
    ) -> Result<BTreeMap<ChunkId, Keys>, Error> {
        let (mut scratch, mut memory) = (Scratch::default(), Chunk::empty());
        let mut keys = BTreeMap::new();
        for chunk in chunks {
            if let Entry::Vacant(vacant) = keys.entry(chunk) {
                let (n, corpus) = (indexed.index.chunk(chunk).n_sequences, &indexed.corpus);
                vacant.insert(corpus.keys_of_chunk(chunk, n, &*self.resources, &mut scratch, &mut memory)?);
            }
        }
        Ok(keys)
    }

    /// The first `most` sequences with a key, and how many there are.
    pub(super) fn find_key(
        &self,
        indexed: &Indexed,
        wanted: &str,
        most: usize,
    ) -> Result<(Vec<SequenceId>, u64), Error> {
        let number: Option<u64> = wanted.parse().ok();
        let (mut found, mut occurrences) = (Vec::new(), 0);
        self.for_each_key(indexed, |planned, key| {
            let is_wanted = match &key {
                Key::Number(n) => number == Some(*n),
                Key::Text(text) => text == wanted,
            };
            if is_wanted {
                occurrences += 1;
                if found.len() < most {
                    found.push(planned);
                }
            }
            true
        })?;
        Ok((found, occurrences))
    }

    /// Why there is no sequence with a key: how many there are, and one whose key is like it.
    pub(super) fn unknown_key(&self, indexed: &Indexed, key: &str) -> Result<Error, Error> {
        let mut known = Vec::new();
        self.for_each_key(indexed, |_, key| {
            known.push(key.to_string());
            (known.len() as u64) < COMPARED
        })?;
        let names = || known.iter().map(String::as_str);
        let like = nearest(key, names()).or(names().next()).unwrap_or_default().to_string();
        Ok(EngineRefusal::UnknownKey { key: key.into(), n: indexed.index.n_sequences(), like }.into())
    }

    /// The sequences that `excludeKeys` names; warns of keys that no sequence has.
    pub(super) fn resolve_exclusion(
        &self,
        indexed: &Indexed,
    ) -> Result<Option<Arc<ExcludedSequences>>, Error> {
        if self.corpus.exclude_keys.is_empty() {
            return Ok(None);
        }
        let mut found: HashMap<&str, bool> =
            self.corpus.exclude_keys.iter().map(|key| (key.as_str(), false)).collect();
        let mut excluded = Vec::new();
        let mut text = String::new();
        self.for_each_key(indexed, |planned, key| {
            text.clear();
            // Writing to a string never fails.
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{key}"));
            if let Some(is_found) = found.get_mut(text.as_str()) {
                *is_found = true;
                excluded.push(planned);
            }
            true
        })?;
        if excluded.len() as u64 == indexed.index.n_sequences() {
            return Err(EngineRefusal::AllExcluded { n: indexed.index.n_sequences() }.into());
        }
        let missing: Vec<&str> =
            self.corpus.exclude_keys.iter().map(String::as_str).filter(|key| !found[key]).collect();
        if let Some(first) = missing.first() {
            let others =
                missing[1..].iter().take(NAMED - 1).map(|key| format!(", `{key}`")).collect::<String>();
            let more = if missing.len() > NAMED { ", …" } else { "" };
            tracing::warn!(
                "{EXCLUDE_KEYS}: {} of {} keys are not in the data: `{first}`{others}{more}",
                missing.len(),
                self.corpus.exclude_keys.len()
            );
        }
        Ok(Some(Arc::new(ExcludedSequences::new(excluded))))
    }
}
