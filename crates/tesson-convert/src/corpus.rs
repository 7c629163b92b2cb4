//! The sequences of a source, one after the other.

use std::path::Path;

use tesson_core::store::Store;
use tesson_core::{Element, Error, Key, StreamInfo};
use tesson_engine::{Canceller, Minibatch, OpenFiles, SampleValues, Samples, Source, StreamBatch};
use tesson_formats::write::{Batch, Column, Numbers, Sequence, SequenceData, StreamSpec};

use crate::{ConvertError, Encoder, Sequences, TakeEncoded};

/// The most samples that are requested at a time.
const MINIBATCH: u64 = 1024;

/// The approximate bytes of dense samples that are requested at a time, so that decoded values are still in the
/// processor's cache.
const MINIBATCH_BYTES: u64 = 256 << 10;

/// Everything that a source delivers.
pub struct Corpus {
    source: Source,
    streams: Vec<StreamSpec>,
    /// The number of samples that are requested at a time.
    size: u64,
    minibatch: Option<Minibatch>,
    /// The sequence in the minibatch, and of each stream its first sample.
    at: usize,
    starts: Vec<usize>,
}

impl Corpus {
    /// The sequences of a source that reads its data once, in order. `element` returns the type in which each stream
    /// is written.
    pub fn new(source: Source, element: impl Fn(&StreamInfo) -> Element) -> Corpus {
        let spec = |info: &StreamInfo| StreamSpec {
            name: info.name.clone(),
            sparse: info.sparse,
            dim: Some(info.shape.len() as u64),
            element: element(info),
            classes: info.classes.clone(),
        };
        let streams: Vec<StreamSpec> = source.streams().iter().map(|info| spec(info)).collect();
        let starts = vec![0; streams.len()];
        let dense = source.streams().iter().filter(|stream| !stream.sparse);
        let sample: u64 = dense.map(|stream| 4 * stream.shape.len() as u64).sum();
        let size = (MINIBATCH_BYTES / sample.max(1)).clamp(1, MINIBATCH);
        Corpus { source, streams, size, minibatch: None, at: 0, starts }
    }

    fn here(&self) -> &Minibatch {
        self.minibatch.as_ref().expect("a sequence is asked for after `advance` only")
    }
}

impl Sequences for Corpus {
    fn streams(&self) -> Vec<StreamSpec> {
        self.streams.clone()
    }

    fn numbers_are_lines(&self) -> bool {
        true
    }

    fn advance(&mut self) -> Result<bool, ConvertError> {
        if let Some(minibatch) = &self.minibatch {
            for (start, stream) in self.starts.iter_mut().zip(minibatch.streams()) {
                *start += stream.lengths()[self.at] as usize;
            }
            self.at += 1;
        }
        while self.minibatch.as_ref().is_none_or(|m| self.at == m.n_sequences()) {
            // The memory of the previous minibatch is freed first.
            self.minibatch = None;
            let Some(minibatch) = self.source.next_minibatch(self.size)? else { return Ok(false) };
            if let Some(ragged) = minibatch.streams().iter().find(|batch| batch.info().ragged) {
                return Err(ConvertError::Usage(format!(
                    "the samples of stream `{}` are ragged, and no format that is written has such; leave out `ragged`, and scale \
                     images to one size",
                    ragged.info().name
                )));
            }
            let exact = |batch: &&StreamBatch| {
                !batch.info().element.is_float() && batch.info().element != Element::U8
            };
            if let Some(exact) = minibatch.streams().iter().find(exact) {
                return Err(ConvertError::Usage(format!(
                    "stream `{}` has {} values, and no format that is written has such; leave the stream out",
                    exact.info().name,
                    exact.info().element.name()
                )));
            }
            self.minibatch = Some(minibatch);
            self.at = 0;
            self.starts.fill(0);
        }
        Ok(true)
    }

    fn hand_over(
        &mut self,
        _n_streams: usize,
        to: &mut dyn FnMut(&Batch<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let (minibatch, at) = (self.here(), self.at);
        let streams = minibatch.streams().iter().zip(&self.starts);
        let columns = streams.map(|(batch, &start)| Column {
            lengths: &batch.lengths()[at..],
            data: data(batch).part(start..batch.n_samples()),
        });
        let columns = columns.collect();
        let n_sequences = minibatch.n_sequences() - at;
        // Delivered samples were already put in order when they were read.
        let key = &|i| minibatch.keys().get(at + i);
        to(&Batch { n_sequences, columns, ordered: true, numbers_are_lines: true, key })?;
        // The beginning of the last one is not needed: the next sequence is in another minibatch.
        self.at += n_sequences - 1;
        Ok(())
    }

    fn encode(&mut self, encoder: &Encoder, to: &mut TakeEncoded<'_>) -> Result<bool, ConvertError> {
        if !self.source.is_one_pass() {
            return Ok(false);
        }
        let stats = self.source.stats_reader();
        self.source
            .pass(|chunk| encoder.encode(chunk), |encoded| to(encoded, stats.read().bytes_read))
            .map(|()| true)
    }

    fn bytes_read(&self) -> u64 {
        self.source.stats().bytes_read
    }
}

impl Sequence for Corpus {
    fn key(&self) -> Key {
        self.here().keys().get(self.at)
    }

    fn stream(&self, stream: usize) -> SequenceData<'_> {
        let batch = &self.here().streams()[stream];
        let start = self.starts[stream];
        data(batch).part(start..start + batch.lengths()[self.at] as usize)
    }
}

/// All samples of a stream.
fn data(batch: &StreamBatch) -> SequenceData<'_> {
    match batch.samples() {
        Samples::Dense { values } => {
            SequenceData::Dense { n_samples: batch.n_samples() as u32, values: numbers(values) }
        }
        Samples::Sparse { indptr, indices, values } => {
            SequenceData::Sparse { bounds: indptr, columns: indices, values: numbers(values) }
        }
        Samples::Ragged { .. } => unreachable!("streams of such samples are refused"),
    }
}

fn numbers(floats: &SampleValues) -> Numbers<'_> {
    match floats {
        SampleValues::F32(v) => Numbers::F32(v),
        SampleValues::F64(v) => Numbers::F64(v),
        SampleValues::U8(v) => Numbers::Bytes(v),
        SampleValues::Exact(_) | SampleValues::Strings(_) => {
            unreachable!("streams of such values are refused")
        }
    }
}

/// The streams of a binary file, by their names in it, and the type that each one's values are written in.
///
/// # Errors
/// A file that cannot be read, or is no binary file.
pub fn binary_elements(store: &dyn Store, file: &Path) -> Result<Vec<(String, Element)>, Error> {
    let opened = OpenFiles::open(&[file], store, u64::MAX, &Canceller::new())?;
    tesson_formats::cbf::elements(file, opened.fetch())
}
