//! The streams of a minibatch, and the values in them.

use std::sync::Arc;

use tesson_core::StreamInfo;
use tesson_memory::pool::Buffer;

use crate::layout::Layout;
use crate::sample_values::SampleValues;

/// The samples of a stream in a minibatch, one after the other, without padding.
#[derive(Clone, Debug)]
pub enum Samples {
    /// `shape.len()` values a sample.
    Dense {
        /// The values, in row-major order `[samples, *shape]`.
        values: SampleValues,
    },
    /// Compressed sparse rows, one row a sample.
    Sparse {
        /// Where each sample's entries begin, and after the last where they end; `n_samples + 1` numbers.
        indptr: Buffer<i32>,
        /// The column of each entry, ascending within a sample.
        indices: Buffer<i32>,
        /// The value of each entry.
        values: SampleValues,
    },
    /// Samples that each have a shape of their own.
    Ragged {
        /// The values, sample after sample, each in row-major order.
        values: SampleValues,
        /// The shape of each sample: as many numbers as the stream has dimensions.
        shapes: Vec<usize>,
    },
}

impl Samples {
    /// The values of all samples.
    pub fn values(&self) -> &SampleValues {
        match self {
            Samples::Dense { values } | Samples::Sparse { values, .. } | Samples::Ragged { values, .. } => {
                values
            }
        }
    }

    /// No samples of a stream, without memory for any.
    pub(crate) fn none(info: &StreamInfo) -> Samples {
        let values = SampleValues::none(info.element);
        if info.sparse {
            Samples::Sparse { indptr: Buffer::default(), indices: Buffer::default(), values }
        } else {
            Samples::Dense { values }
        }
    }

    /// [Lets go](Buffer::release_shared) of samples in memory that is shared with other minibatches.
    fn release_shared(&mut self) {
        match self {
            Samples::Dense { values } | Samples::Ragged { values, .. } => values.release_shared(),
            Samples::Sparse { indices, values, .. } => {
                indices.release_shared();
                values.release_shared();
            }
        }
    }

    /// Frees [unused memory](Buffer::trim).
    pub(crate) fn trim(&mut self) {
        match self {
            Samples::Dense { values } => values.trim(),
            Samples::Sparse { indptr, indices, values } => {
                indptr.trim();
                indices.trim();
                values.trim();
            }
            Samples::Ragged { values, .. } => values.trim(),
        }
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize {
        match self {
            Samples::Dense { values } => values.memory(),
            Samples::Sparse { indptr, indices, values } => {
                indptr.memory() + indices.memory() + values.memory()
            }
            Samples::Ragged { values, shapes } => values.memory() + size_of::<usize>() * shapes.capacity(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Samples::Dense { values } => values.bytes(),
            Samples::Sparse { indptr, indices, values } => {
                (indptr.len() + indices.len()) * 4 + values.bytes()
            }
            Samples::Ragged { values, shapes } => values.bytes() + size_of::<usize>() * shapes.len(),
        }
    }
}

/// Bytes of a sample of a dense stream; 0 of a sparse one.
pub(crate) fn dense_bytes(stream: &Arc<StreamInfo>) -> u64 {
    let values = if stream.sparse { 0 } else { stream.shape.len() };
    (values as u64).saturating_mul(stream.element.size() as u64)
}

/// Values of samples of these shapes together.
pub(crate) fn ragged_len(shapes: &[usize], rank: usize) -> usize {
    shapes.chunks(rank.max(1)).map(|shape| shape.iter().product::<usize>()).sum()
}

/// One stream of a minibatch.
#[derive(Clone, Debug)]
pub struct StreamBatch {
    pub(crate) info: Arc<StreamInfo>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) samples: Samples,
    pub(crate) n_samples: usize,
    /// How truncated sequences lie.
    pub(crate) layout: Option<Arc<Layout>>,
}

impl StreamBatch {
    /// No sequences of a stream, without memory for any.
    pub(crate) fn empty(info: &Arc<StreamInfo>) -> StreamBatch {
        let samples = Samples::Dense { values: SampleValues::F32(Buffer::default()) };
        StreamBatch { info: info.clone(), lengths: Vec::new(), samples, n_samples: 0, layout: None }
    }

    /// The stream.
    pub fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// Samples of each sequence, in the order of delivery.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Number of sequences.
    pub fn n_sequences(&self) -> usize {
        self.lengths.len()
    }

    /// Number of samples, without padding.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// The samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The shape of a ragged sample, and where its values lie. `None` of other samples, and beyond the last.
    pub fn ragged_sample(&self, sample: usize) -> Option<(&[usize], std::ops::Range<usize>)> {
        let Samples::Ragged { shapes, .. } = &self.samples else { return None };
        let rank = self.info.shape.dims().len();
        let shape = shapes.get(sample * rank..(sample + 1) * rank)?;
        let begin = ragged_len(&shapes[..sample * rank], rank);
        Some((shape, begin..begin + shape.iter().product::<usize>()))
    }

    /// The samples, to be changed or taken over.
    pub fn samples_mut(&mut self) -> &mut Samples {
        &mut self.samples
    }

    /// How the sequences lie side by side in rows: truncated ones as they were cut, others as they would be laid (spec of
    /// the engine, "Sequence packer").
    pub fn layout(&self) -> Layout {
        self.truncated_layout().cloned().unwrap_or_else(|| Layout::of(&self.lengths))
    }

    /// How truncated sequences lie; `None` for whole ones.
    pub fn truncated_layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// Keeps the first `keep` samples of the last sequence.
    pub(crate) fn shorten_last(&mut self, keep: u32) {
        let Some(last) = self.lengths.last_mut() else { return };
        let cut = last.saturating_sub(keep) as usize;
        *last -= cut as u32;
        self.n_samples -= cut;
        match &mut self.samples {
            Samples::Dense { values } => values.truncate(self.n_samples * self.info.shape.len()),
            Samples::Sparse { indptr, indices, values } => {
                indptr.items().truncate(self.n_samples + 1);
                let n = indptr[self.n_samples] as usize;
                indices.items().truncate(n);
                values.truncate(n);
            }
            Samples::Ragged { values, shapes } => {
                let rank = self.info.shape.dims().len();
                shapes.truncate(self.n_samples * rank);
                values.truncate(ragged_len(shapes, rank));
            }
        }
    }

    /// Removes sequence `i`.
    pub(crate) fn remove(&mut self, i: usize) {
        let begin: usize = self.lengths[..i].iter().map(|&n| n as usize).sum();
        let n = self.lengths.remove(i) as usize;
        let end = begin + n;
        self.n_samples -= n;
        let rank = self.info.shape.dims().len();
        match &mut self.samples {
            Samples::Dense { values } => {
                let of_sample = self.info.shape.len();
                values.remove(begin * of_sample..end * of_sample);
            }
            Samples::Sparse { indptr, indices, values } => {
                let entries = indptr[begin] as usize..indptr[end] as usize;
                indptr.items().drain(begin + 1..end + 1);
                indptr.items()[begin + 1..].iter_mut().for_each(|bound| *bound -= entries.len() as i32);
                indices.items().drain(entries.clone());
                values.remove(entries);
            }
            Samples::Ragged { values, shapes } => {
                let first = ragged_len(&shapes[..begin * rank], rank);
                let of_sequence = ragged_len(&shapes[begin * rank..end * rank], rank);
                shapes.drain(begin * rank..end * rank);
                values.remove(first..first + of_sequence);
            }
        }
    }

    /// Bytes of lengths and samples.
    pub(crate) fn bytes(&self) -> usize {
        self.lengths.len() * 4 + self.samples.bytes()
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.lengths.capacity() * 4 + self.samples.memory()
    }

    /// Lets go of samples in memory that is shared with other minibatches; what is left is of use for another one.
    pub(crate) fn release_shared(&mut self) {
        self.samples.release_shared();
    }

    /// Frees memory beyond lengths and samples.
    pub(crate) fn trim(&mut self) {
        self.lengths.shrink_to_fit();
        self.samples.trim();
    }

    /// Takes the stream apart: lengths and samples.
    pub fn into_parts(self) -> (Arc<StreamInfo>, Vec<u32>, Samples) {
        (self.info, self.lengths, self.samples)
    }
}
