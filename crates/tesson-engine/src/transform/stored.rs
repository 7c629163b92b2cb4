//! Streams whose blocks keep them as they were read: transforms take the samples from there.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Data, DataError, DataErrorKind, Error, FrameColumn, Input, InputValues, Key, Location, Origin, Shape,
    Storage, StreamInfo, Values,
};
use tesson_memory::file_pages::EncodedBytes;
use tesson_memory::prefetch::{prefetch, prefetch_bytes};
use tesson_plan::BatchSlot;

use super::chain::{self, ChainMemory, Failure, FailureCause, Feed, Passage, SampleShapes, Sink};
use super::draws::StreamDraws;
use super::{Chain, Transforms, key_hash};
use crate::fault::{self, Charge};
use crate::fetch::Resources;
use crate::fingerprint;
use crate::pack::{Item, Pools, Source};
use crate::sample_values::SampleValues;
use crate::samples::{Samples, StreamBatch, dense_bytes, ragged_len};

/// Bytes of a sequence's frames that are asked for, at most.
const ASKED: usize = 512;

/// The batches of the streams that are made before others are packed.
pub(crate) struct StoredBatches {
    streams: Vec<StoredBatch>,
    /// True if the samples are dropped: their draws count for no sequence.
    are_dropped: bool,
    /// Bytes of a minibatch, at most.
    most_bytes: u64,
}

struct StoredBatch {
    /// The stream's number.
    stream: usize,
    /// Sequences that are expected.
    n_sequences: usize,
    lengths: Vec<u32>,
    n_samples: usize,
    values: SampleValues,
    /// Values in a sample, where that is known before any data.
    sample_len: usize,
    /// Dimensions of a sample.
    rank: usize,
    /// The shapes of the samples, where transforms leave them open or each has its own.
    shapes: SampleShapes,
}

/// A sequence to be decoded, and its place in the plan.
#[derive(Clone, Copy)]
pub(crate) struct PlacedItem {
    pub(crate) item: Item,
    pub(crate) place: BatchSlot,
}

/// Where a sample comes from.
struct SamplePlace {
    /// In its file, where it has one.
    origin: Option<Origin>,
    /// In the plan.
    place: BatchSlot,
    key: Key,
}

impl StoredBatch {
    /// Makes room for the sequences that are still to come, where the shape of samples is open: each as large as the last one,
    /// of `n` values, unless the minibatch would be too large then.
    fn make_room(&mut self, n: usize, most_bytes: u64) {
        let left = self.n_sequences.saturating_sub(self.lengths.len()).saturating_mul(n);
        let all = self.values.len().saturating_add(left).saturating_mul(self.values.element().size());
        if all as u64 <= most_bytes {
            self.values.reserve(left);
        }
    }

    /// Cuts off values beyond those of its samples, and the shapes that they had.
    fn cut_values(&mut self) {
        let n_values = match &mut self.shapes {
            SampleShapes::Same(shape) => {
                let sample_len = shape.as_ref().map_or(self.sample_len, |shape| shape.iter().product());
                if self.n_samples == 0 {
                    *shape = None;
                }
                self.n_samples * sample_len
            }
            SampleShapes::Each(shapes) => {
                shapes.truncate(self.n_samples * self.rank);
                ragged_len(shapes, self.rank)
            }
        };
        self.values.truncate(n_values);
    }
}

impl StoredBatches {
    /// The batches, each with the number of its stream.
    pub(crate) fn finish(self, transforms: &Transforms, pools: &Pools) -> Vec<(usize, StreamBatch)> {
        let finish = |StoredBatch { stream, lengths, n_samples, values, shapes, .. }: StoredBatch| {
            let delivered = &transforms.chains[stream].delivered;
            if transforms.chains[stream].stored.storage == Storage::Recordings {
                pools.expect(stream, n_samples, &values);
            }
            let (info, samples) = match shapes {
                SampleShapes::Same(Some(shape)) => {
                    let info = StreamInfo::clone(delivered).with_shape(Shape::new(shape));
                    (Arc::new(info), Samples::Dense { values })
                }
                SampleShapes::Same(None) => (delivered.clone(), Samples::Dense { values }),
                SampleShapes::Each(shapes) => (delivered.clone(), Samples::Ragged { values, shapes }),
            };
            (stream, StreamBatch { info, lengths, samples, n_samples, layout: None })
        };
        self.streams.into_iter().map(finish).collect()
    }

    /// Bytes of memory that the samples have, those to come among them as far as there is room for them.
    fn memory(&self) -> usize {
        self.streams.iter().map(|batch| batch.values.memory()).sum()
    }

    /// Bytes of the samples so far.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.iter().map(|batch| batch.values.bytes()).sum()
    }

    /// The shapes of streams whose samples have one that transforms leave open, each with the stream's number.
    pub(crate) fn open_shapes(&self) -> impl Iterator<Item = (usize, &[usize])> {
        self.streams.iter().filter_map(|batch| match &batch.shapes {
            SampleShapes::Same(Some(shape)) => Some((batch.stream, shape.as_slice())),
            _ => None,
        })
    }

    /// Forgets all sequences.
    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the first `n` sequences.
    fn truncate(&mut self, n: usize) {
        for batch in self.streams.iter_mut().filter(|batch| batch.lengths.len() > n) {
            let dropped: u32 = batch.lengths.drain(n..).sum();
            batch.n_samples -= dropped as usize;
            batch.cut_values();
        }
    }
}

/// Values of recordings that a batch has room for at first, at most.
const FIRST_VALUES: usize = 1 << 16;

impl Transforms {
    /// True if any stream is made before others are packed.
    pub(crate) fn has_stored(&self) -> bool {
        self.chains.iter().any(Chain::is_stored)
    }

    /// True if transforms leave the shape of samples of any stream open.
    pub(crate) fn has_open_shapes(&self) -> bool {
        self.chains.iter().any(|chain| chain.is_stored() && chain.is_open())
    }

    /// True if blocks keep files of any stream.
    pub(crate) fn has_encoded(&self) -> bool {
        self.chains.iter().any(|chain| chain.stored.storage == Storage::Encoded)
    }

    /// True if this stream is made before others are packed.
    pub(crate) fn is_stored(&self, stream: usize) -> bool {
        self.chains[stream].is_stored()
    }

    /// Bytes that the values of so many sequences of these streams take, where the shape of their samples is known.
    pub(crate) fn stored_bytes(&self, n_sequences: usize) -> u64 {
        let stored = self.chains.iter().filter(|chain| chain.is_stored());
        let sample = stored.map(|chain| dense_bytes(&chain.delivered)).fold(0, u64::saturating_add);
        sample.saturating_mul(n_sequences as u64)
    }

    /// Empty batches for so many sequences, which have so many samples in all where they are recordings.
    pub(crate) fn stored_batches(
        &self,
        n_sequences: usize,
        n_samples: usize,
        pools: &Pools,
    ) -> StoredBatches {
        let stored = self.chains.iter().enumerate().filter(|(_, chain)| chain.is_stored());
        let batch = |(stream, chain): (usize, &Chain)| {
            let sample_len = chain.delivered.shape.len();
            let lend = |n| SampleValues::with_capacity(chain.delivered.element, n, pools);
            let values = if chain.stored.storage == Storage::Recordings {
                let before = pools.expected_values(stream);
                // What the index counts may be wrong: arrays are seldom much larger than those before.
                let most = before.saturating_mul(2).max(FIRST_VALUES);
                let needed = n_samples.saturating_mul(sample_len).min(most);
                // As large as the one before, if that is not much too large: buffers of as many sizes as there are lengths would
                // seldom fit another minibatch.
                lend(needed.max(before.min(needed.saturating_mul(2))))
            } else if chain.is_open() {
                // How large it becomes is known only when the first sample is there. Memory of the pools would grow beyond what was asked
                // for, and come back too large to be lent again.
                SampleValues::none(chain.delivered.element)
            } else {
                lend(n_sequences * sample_len)
            };
            StoredBatch {
                stream,
                n_sequences,
                lengths: Vec::with_capacity(n_sequences),
                n_samples: 0,
                values,
                sample_len,
                rank: chain.delivered.shape.dims().len(),
                shapes: if chain.delivered.ragged {
                    SampleShapes::Each(Vec::new())
                } else {
                    SampleShapes::Same(None)
                },
            }
        };
        let most_bytes = pools.largest_batch();
        StoredBatches { streams: stored.map(batch).collect(), are_dropped: false, most_bytes }
    }

    /// Empty batches for sequences that are only looked at for their faults.
    pub(crate) fn dropped_batches(&self, pools: &Pools) -> StoredBatches {
        StoredBatches { are_dropped: true, ..self.stored_batches(0, 0, pools) }
    }

    /// Transforms a sequence of all stored streams, and appends what comes out to `batches`. A sequence that cannot be
    /// decoded is a fault, and nothing is appended.
    ///
    /// # Errors
    /// Those of transforms that do not decode, with stream, sequence and chunk.
    pub(crate) fn append_stored(
        &self,
        PlacedItem { item, place }: PlacedItem,
        source: &Source<'_>,
        resources: &Resources,
        batches: &mut StoredBatches,
        memory: &mut ChainMemory,
    ) -> Result<Option<Charge>, Error> {
        let row = item.row as usize;
        let before = batches.streams.first().map_or(0, |batch| batch.lengths.len());
        let draws = batches.streams.iter().any(|batch| self.chains[batch.stream].draws);
        let hash = if draws { row_hash(item.row, source) } else { 0 };
        let first = self.key(place.sweep, hash, source.chunk.copy(row));
        let mut draws = if batches.are_dropped { StreamDraws::keyed() } else { self.draws.lock() };
        let most_bytes = batches.most_bytes;
        memory.set_batch_bytes(batches.memory() as u64);
        for batch in &mut batches.streams {
            let chain = &self.chains[batch.stream];
            let column = &source.chunk.streams[batch.stream];
            let samples = column.samples.range(row);
            let (feed, n) = match &column.data {
                Data::Encoded(column) => {
                    let encoded = EncodedBytes { column, pages: source.pages };
                    (Feed::Encoded(encoded, samples.clone()), samples.len())
                }
                Data::Frames(column) => (frame(column, samples.start, chain.stored.shape.len()), 1),
                Data::Recordings(column) => {
                    let (bytes, own) = column.get(row);
                    let n = own.len();
                    (Feed::Recording(bytes, own), n)
                }
                _ => unreachable!("deserializers keep to their stream's storage"),
            };
            let passage = Passage { draws: draws.of(batch.stream, before, first), number: chain.first };
            let n_values = batch.values.len();
            let sink = Sink { values: &mut batch.values, shapes: &mut batch.shapes };
            let Err(failure) = chain::run(&chain.steps, feed, passage, memory, sink) else {
                batch.lengths.push(n as u32);
                batch.n_samples += n;
                if chain.is_open() {
                    batch.make_room(batch.values.len() - n_values, most_bytes);
                }
                if let SampleShapes::Each(shapes) = &mut batch.shapes
                    && let Some(shape) = chain.fixed_shape()
                {
                    (0..n).for_each(|_| shapes.extend_from_slice(shape.dims()));
                }
                continue;
            };
            // What came out of its first samples is cut off with it.
            batch.lengths.push(0);
            batch.cut_values();
            let stream = batch.stream;
            batches.truncate(before);
            let origin = match &column.data {
                Data::Encoded(column) => Some(column.origin(samples.start + failure.sample)),
                Data::Recordings(column) => Some(column.origin(row)),
                _ => None,
            };
            let is_of_sample = origin.is_some()
                && matches!(failure.cause, FailureCause::Step(..) | FailureCause::Memory { .. });
            let key = fault::key(item.row, source);
            let error =
                self.stored_error(stream, failure, SamplePlace { origin, place, key }, source, resources)?;
            return if is_of_sample {
                Ok(Some(Charge { error, fatal: self.chains[stream].is_strict, is_of_data: true }))
            } else {
                Err(error.into())
            };
        }
        Ok(None)
    }

    /// True if all stored streams have frames of recordings, which come out the same together and one by one.
    pub(crate) fn join_frames(&self) -> bool {
        self.chains.iter().filter(|chain| chain.is_stored()).all(|chain| chain.joins_frames)
    }

    /// True if a sequence of a chunk and the next one give the same result together as one by one.
    pub(crate) fn joins(&self, source: &Source<'_>, row: usize) -> bool {
        let mut stored = self.chains.iter().enumerate().filter(|(_, chain)| chain.is_stored());
        stored.all(|(stream, chain)| match &source.chunk.streams[stream].data {
            Data::Recordings(column) => chain.joins_frames && column.joins_next(row),
            _ => false,
        })
    }

    /// Asks for the places of a sequence's frames of recordings.
    #[inline]
    pub(crate) fn prefetch_places(&self, row: usize, source: &Source<'_>) {
        for stream in &self.recordings {
            if let Data::Recordings(column) = &source.chunk.streams[*stream].data {
                prefetch(column.entry(row));
            }
        }
    }

    /// Asks for a sequence's frames of recordings, whose places are in a cache.
    #[inline]
    pub(crate) fn prefetch_frames(&self, row: usize, source: &Source<'_>) {
        for stream in &self.recordings {
            if let Data::Recordings(column) = &source.chunk.streams[*stream].data {
                let (recording, own) = column.get(row);
                let decoder = &self.chains[*stream].steps[0].transform;
                let read = decoder.reads(recording, own).and_then(|place| recording.get(place));
                prefetch_bytes(read.unwrap_or_default(), ASKED);
            }
        }
    }

    /// Transforms sequences of all stored streams that come out together as they do one by one, and appends them to `batches`.
    /// Returns whether it could; nothing is appended if not.
    pub(crate) fn append_together(
        &self,
        rows: Range<usize>,
        source: &Source<'_>,
        batches: &mut StoredBatches,
        memory: &mut ChainMemory,
    ) -> bool {
        let before = batches.streams.first().map_or(0, |batch| batch.lengths.len());
        for batch in &mut batches.streams {
            let chain = &self.chains[batch.stream];
            let Data::Recordings(column) = &source.chunk.streams[batch.stream].data else {
                unreachable!("deserializers keep to their stream's storage")
            };
            let ((bytes, first), (_, last)) = (column.get(rows.start), column.get(rows.end - 1));
            let own = first.start..last.end;
            let n = own.len();
            let mut draws = StreamDraws::keyed();
            let passage =
                Passage { draws: draws.of(batch.stream, before, self.key(0, 0, 0)), number: chain.first };
            let sink = Sink { values: &mut batch.values, shapes: &mut batch.shapes };
            if chain::run(&chain.steps, Feed::Recording(bytes, own), passage, memory, sink).is_err() {
                batch.lengths.push(0);
                batch.cut_values();
                batches.truncate(before);
                return false;
            }
            batch.lengths.extend(rows.clone().map(|row| column.get(row).1.len() as u32));
            batch.n_samples += n;
        }
        true
    }

    /// The error of a step, with the location of the sample.
    fn stored_error(
        &self,
        stream: usize,
        failure: Failure,
        at: SamplePlace,
        source: &Source<'_>,
        resources: &Resources,
    ) -> Result<DataError, Error> {
        let kind = self.chains[stream].error_kind(failure.cause)?;
        Ok(self.located(kind, stream, at, source, resources))
    }

    /// A fault of a sample, with its location.
    fn located(
        &self,
        kind: DataErrorKind,
        stream: usize,
        SamplePlace { origin, place, key }: SamplePlace,
        source: &Source<'_>,
        resources: &Resources,
    ) -> DataError {
        let located = origin.and_then(|origin| Some((origin, resources.path(origin.resource)?)));
        let error = match located {
            Some((Origin { resource, offset, line, .. }, file)) => {
                let line = line.map(|line| line + source.chunk.first_line + source.line_base + 1);
                DataError::new(kind, Location { file, offset, line }).listed(resources.listing(resource))
            }
            None => DataError::in_chunk(kind, self.deserializer, place.planned.chunk),
        };
        error.within(Some(self.chains[stream].stored.name.clone()), Some(key))
    }

    /// Remarks about a sequence's encoded samples, which can be decoded all the same. Copies say nothing more.
    pub(crate) fn remarks(
        &self,
        PlacedItem { item, place }: PlacedItem,
        source: &Source<'_>,
        resources: &Resources,
    ) -> Vec<DataError> {
        let row = item.row as usize;
        let mut found = Vec::new();
        if source.chunk.copy(row) > 0 {
            return found;
        }
        for (stream, chain) in self.chains.iter().enumerate() {
            let column = source.chunk.streams.get(stream);
            let (Some(column), Some(decoder)) = (column, chain.steps.first()) else { continue };
            let Data::Encoded(encoded) = &column.data else { continue };
            let samples = EncodedBytes { column: encoded, pages: source.pages };
            let mut file = Vec::new();
            for sample in column.samples.range(row) {
                let origin = encoded.origin(sample);
                let input = Input::new(InputValues::Encoded(samples.get(sample, &mut file)), &[]);
                for remark in decoder.transform.remarks(&input.with_embedded(origin.embedded)) {
                    let kind = DataErrorKind::Remark { what: remark.into(), samples: 1 };
                    let at = SamplePlace { origin: Some(origin), place, key: fault::key(item.row, source) };
                    found.push(self.located(kind, stream, at, source, resources));
                }
            }
        }
        found
    }

    /// An error of this kind at the first sample of a sequence.
    pub(crate) fn at_sample(
        &self,
        kind: DataErrorKind,
        stream: usize,
        PlacedItem { item, place }: PlacedItem,
        source: &Source<'_>,
        resources: &Resources,
    ) -> DataError {
        let column = &source.chunk.streams[stream];
        let origin = match &column.data {
            Data::Encoded(encoded) => Some(encoded.origin(column.samples.range(item.row as usize).start)),
            _ => None,
        };
        let at = SamplePlace { origin, place, key: fault::key(item.row, source) };
        self.located(kind, stream, at, source, resources)
    }
}

/// The hash of a sequence's key, without a copy of its text.
fn row_hash(row: u32, source: &Source<'_>) -> u64 {
    match source.chunk.keys.text(row as usize).map(str::from_utf8) {
        Some(Ok(text)) => fingerprint::text(text),
        _ => key_hash(&fault::key(row, source)),
    }
}

/// A frame with the recording around it.
fn frame<'a>(column: &'a FrameColumn, i: usize, dim: usize) -> Feed<'a> {
    let frame = &column.frames[i];
    let range = frame.recording.start as usize * dim..frame.recording.end as usize * dim;
    let at = (frame.at - frame.recording.start) as usize;
    let values = match &column.values {
        Values::F32(v) => InputValues::F32(&v[range]),
        Values::F64(v) => InputValues::F64(&v[range]),
        _ => unreachable!("frames are of their stream's type"),
    };
    Feed::Even(values, at..at + 1)
}
