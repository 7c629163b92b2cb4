//! The number of samples in each example, if examples differ: found by one pass over the features that decide it, and
//! kept in an index cache.

use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{CompactLengths, ConfigError, Error, Fetch, Index, Parallelism, SequenceSelection};
use tesson_formats::record;

use super::column::Stream;
use super::corpus::{Records, Slice};
use crate::features::{Batch, Feature, Schema, Selection};
use crate::rows::{Reading, Step};

/// The number of chunks that are counted before the next ones are given to workers.
const AT_ONCE: usize = 4096;

/// The features that are read to count samples.
pub(super) struct Lengths {
    /// Only the features of streams with a number of samples that differs between examples.
    schema: Arc<Schema>,
    streams: Vec<Stream>,
    /// The most samples of all other streams.
    constant: u32,
}

impl Lengths {
    /// `None` where all examples have as many samples as the configuration and the dataset's description say.
    pub(super) fn new(streams: &[Stream], features: &Feature) -> Result<Option<Lengths>, ConfigError> {
        let varying: Vec<String> = streams.iter().filter_map(|s| s.varies().map(str::to_owned)).collect();
        if varying.is_empty() {
            return Ok(None);
        }
        let selection = Selection { features: Some(varying), raw: Vec::new() };
        let schema = Arc::new(Schema::new(features, &selection)?);
        let counted = streams.iter().filter(|s| s.varies().is_some());
        let counted = counted.filter_map(|stream| stream.in_schema(&schema)).collect();
        Ok(Some(Lengths { schema, streams: counted, constant: constant(streams) }))
    }

    /// Counts the lengths of all chunks, several at a time.
    ///
    /// # Errors
    /// Unreadable storage. An example that cannot be decoded counts as one sample and is a fault when it is loaded.
    pub(super) fn count(
        &self,
        records: &Records,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
    ) -> Result<Vec<CompactLengths>, Error> {
        let mut all = Vec::with_capacity(records.slices.len());
        for slices in records.slices.chunks(AT_ONCE) {
            let found: Vec<Mutex<Option<Result<CompactLengths, Error>>>> =
                slices.iter().map(|_| Mutex::new(None)).collect();
            parallelism.run(slices.len(), &|i| {
                let lengths = self.of_slice(&slices[i], records, fetch);
                *found[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(lengths);
            });
            for lengths in found {
                let lengths = lengths.into_inner().unwrap_or_else(PoisonError::into_inner);
                all.push(lengths.expect("every job has run")?);
            }
        }
        Ok(all)
    }

    fn of_slice(&self, slice: &Slice, records: &Records, fetch: &dyn Fetch) -> Result<CompactLengths, Error> {
        let (mut block, mut reading) = (record::Records::new(), Reading::new(&self.schema, fetch));
        let rows: Vec<u32> = (0..slice.n).collect();
        let mut lengths: Vec<u32> = Vec::with_capacity(rows.len());
        while lengths.len() < rows.len() {
            records.read(
                slice,
                &SequenceSelection::Range(0..slice.n),
                &rows[lengths.len()..],
                fetch,
                &mut block,
            )?;
            reading.each::<Error>(&block, &mut |step| {
                match step {
                    Step::Rows { batch, .. } => {
                        lengths.extend((0..batch.rows()).map(|row| self.of_row(batch, row)));
                    }
                    Step::Bad(_) => lengths.push(1),
                }
                Ok(())
            })?;
        }
        let bytes = slice.bytes(fetch.size(tesson_core::ResourceId(slice.resource))?);
        fetch.progress(bytes.end - bytes.start);
        Ok(CompactLengths::new(&lengths))
    }

    fn of_row(&self, batch: &Batch, row: usize) -> u32 {
        counted(&self.streams, batch, row).max(self.constant.into()).try_into().unwrap_or(u32::MAX)
    }
}

/// The version of the kept form.
const VERSION: u32 = 1;

/// Appends lengths and the sizes of files, little-endian: the version and the sizes; for each chunk 0 and the one length, or
/// 1 and each.
pub(super) fn save(index: &Index, sizes: &[u64], into: &mut Vec<u8>) {
    into.extend(VERSION.to_le_bytes());
    sizes.iter().for_each(|size| into.extend(size.to_le_bytes()));
    for chunk in index.chunk_ids() {
        let lengths = index.lengths(chunk);
        if let CompactLengths::Constant { value, .. } = lengths {
            into.push(0);
            into.extend(value.to_le_bytes());
        } else {
            into.push(1);
            (0..lengths.len()).for_each(|i| into.extend(lengths.get(i).to_le_bytes()));
        }
    }
}

/// The lengths and sizes that [`save`] wrote; `None` if the bytes are not those of these records.
pub(super) fn restore(saved: &[u8], records: &Records) -> Option<(Vec<CompactLengths>, Vec<u64>)> {
    let (version, saved) = saved.split_first_chunk()?;
    let (sizes, mut saved) = saved.split_at_checked(records.files.len() * 8)?;
    let sizes = sizes.as_chunks().0.iter().map(|size| u64::from_le_bytes(*size)).collect();
    let mut all = Vec::with_capacity(records.slices.len());
    for slice in &records.slices {
        let (form, rest) = saved.split_first()?;
        let n = if *form == 0 { 1 } else { slice.n as usize };
        let (lengths, rest) = rest.split_at_checked(n * 4)?;
        let lengths: Vec<u32> = lengths.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
        if lengths.contains(&0) {
            return None;
        }
        all.push(if *form == 0 {
            CompactLengths::constant(lengths[0], slice.n)
        } else {
            CompactLengths::new(&lengths)
        });
        saved = rest;
    }
    (saved.is_empty() && u32::from_le_bytes(*version) == VERSION).then_some((all, sizes))
}

/// The most samples of a stream with the same number in every example; at least one.
pub(super) fn constant(streams: &[Stream]) -> u32 {
    streams.iter().map(Stream::constant).max().unwrap_or(0).max(1)
}

/// The counted length of an example: that of its longest stream, one at least (spec/engine.md §8).
pub(super) fn counted(streams: &[Stream], batch: &Batch, row: usize) -> u64 {
    streams.iter().map(|stream| stream.len(batch, row) as u64).max().unwrap_or(0).max(1)
}
