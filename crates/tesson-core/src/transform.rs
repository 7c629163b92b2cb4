//! Transforms: sample in, sample out, on the way from a deserializer to a minibatch.

use crate::{Draw, Scratch, StreamInfo, UserError};

/// The samples of one sequence on their way through a transform, in the type of the stream.
pub enum Flow<'a> {
    /// 32-bit floats.
    F32 {
        /// Sample after sample.
        input: &'a [f32],
        /// Where the transformed samples are appended.
        output: &'a mut Vec<f32>,
    },
    /// 64-bit floats.
    F64 {
        /// Sample after sample.
        input: &'a [f64],
        /// Where the transformed samples are appended.
        output: &'a mut Vec<f64>,
    },
}

/// The samples of one sequence of a sparse stream on their way through a transform.
pub struct SparseFlow<'a> {
    /// Where each sample's entries begin, and where those of the last end, counted from the first of these.
    pub bounds: &'a [i32],
    /// The column of each entry, ascending within a sample.
    pub columns: &'a [i32],
    /// The value of each entry, and where those of the transformed samples are appended.
    pub values: Flow<'a>,
    /// Where the number of entries of each transformed sample is appended.
    pub counts_out: &'a mut Vec<u32>,
    /// Where their columns are appended, ascending within a sample.
    pub columns_out: &'a mut Vec<i32>,
}

/// Makes of each sample of a stream another one. Their number stays.
///
/// A sparse stream may stay sparse, which a transform has to be made for ([`Transform::takes_sparse`]), or become dense:
/// then the transform gets dense samples of it.
pub trait Transform: Send + Sync {
    /// What errors call it.
    fn name(&self) -> &str;

    /// Its parameters, and a version, in a stable text form: a saved state is refused where this differs.
    fn identity(&self) -> String;

    /// A seed of its own, so that two alike draw different numbers.
    fn seed(&self) -> u64 {
        0
    }

    /// The stream that comes out, known before any data: name and type stay, the shape may change, and a sparse stream
    /// may become dense.
    ///
    /// # Errors
    /// A sentence that says which streams are expected.
    fn output(&self, input: &StreamInfo) -> Result<StreamInfo, String>;

    /// Transforms the samples of a sequence. A function of these samples and of the numbers drawn alone.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn apply(
        &self,
        samples: Flow<'_>,
        input: &StreamInfo,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError>;

    /// Whether sparse samples may be sparse when they are transformed.
    fn takes_sparse(&self) -> bool {
        false
    }

    /// Transforms the samples of a sequence of a sparse stream that stays sparse.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn apply_sparse(
        &self,
        _samples: SparseFlow<'_>,
        _input: &StreamInfo,
        _draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        Err("it transforms dense samples".into())
    }
}
