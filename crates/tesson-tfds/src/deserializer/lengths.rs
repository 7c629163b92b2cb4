//! How many samples each example has, where that differs: one pass over the features that say it.

use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{Coded, ConfigError, Error, Fetch, Lanes, Wanted};
use tesson_formats::record;

use super::column::Stream;
use super::corpus::{Records, Slice};
use crate::features::{Batch, Feature, Schema, Selection};
use crate::rows::{Reading, Step};

/// Chunks that are counted before the next ones are handed out.
const AT_ONCE: usize = 4096;

/// What is read to count samples.
pub(super) struct Lengths {
    /// The features of the streams whose samples differ in number, alone.
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

    /// The lengths of all chunks, several of which are read at a time.
    ///
    /// # Errors
    /// Unreadable storage. What cannot be decoded counts as one sample, and is a fault when it is loaded.
    pub(super) fn count(
        &self,
        records: &Records,
        fetch: &dyn Fetch,
        lanes: &dyn Lanes,
    ) -> Result<Vec<Coded>, Error> {
        let mut all = Vec::with_capacity(records.slices.len());
        for slices in records.slices.chunks(AT_ONCE) {
            let found: Vec<Mutex<Option<Result<Coded, Error>>>> =
                slices.iter().map(|_| Mutex::new(None)).collect();
            lanes.run(slices.len(), &|i| {
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

    fn of_slice(&self, slice: &Slice, records: &Records, fetch: &dyn Fetch) -> Result<Coded, Error> {
        let (mut block, mut reading) = (record::Records::new(), Reading::new(&self.schema, fetch));
        let rows: Vec<u32> = (0..slice.n).collect();
        let mut lengths: Vec<u32> = Vec::with_capacity(rows.len());
        while lengths.len() < rows.len() {
            records.read(slice, &Wanted::Range(0..slice.n), &rows[lengths.len()..], fetch, &mut block)?;
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
        let bytes = slice.bytes(fetch.size(tesson_core::ResourceId(slice.resource)));
        fetch.progress(bytes.end - bytes.start);
        Ok(Coded::new(&lengths))
    }

    fn of_row(&self, batch: &Batch, row: usize) -> u32 {
        counted(&self.streams, batch, row).max(self.constant.into()).try_into().unwrap_or(u32::MAX)
    }
}

/// The most samples that a stream has whose samples do not differ in number; one at least.
pub(super) fn constant(streams: &[Stream]) -> u32 {
    streams.iter().map(Stream::constant).max().unwrap_or(0).max(1)
}

/// The counted length of an example: that of its longest stream, one at least (engine, §8).
pub(super) fn counted(streams: &[Stream], batch: &Batch, row: usize) -> u64 {
    streams.iter().map(|stream| stream.len(batch, row) as u64).max().unwrap_or(0).max(1)
}
