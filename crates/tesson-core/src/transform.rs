//! Transforms: sample in, sample out, on the way from a deserializer to a minibatch.

use std::ops::Range;

use crate::{Draw, Element, SampleType, Scratch, UserError, ValueType};

/// Replaces each sample of a stream by another one. The number of samples stays the same.
///
/// A stream has a list of transforms, each of which takes the output of the one before it. The first one may take
/// encoded bytes, such as a file of an image, and decode them. Types and shapes are computed before any data
/// ([`Transform::output`]); values are converted to those of the stream at the end of the list. A shape that is still
/// open there may differ between minibatches, but all samples of a minibatch have the same.
///
/// A sparse stream may stay sparse, which a transform must support ([`Transform::takes_sparse`]), or become dense:
/// then the transform gets dense samples.
///
/// ```
/// use tesson_core::{Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform, UserError};
///
/// /// Mirrors every other sequence of numbers.
/// struct Mirror;
///
/// impl Transform for Mirror {
///     fn name(&self) -> &str {
///         "mirror"
///     }
///
///     fn identity(&self) -> String {
///         "1".into()
///     }
///
///     fn output(&self, input: &SampleType) -> Result<SampleType, String> {
///         Ok(input.clone())
///     }
///
///     fn apply(
///         &self,
///         input: Input<'_>,
///         output: Output<'_>,
///         draw: &mut Draw<'_>,
///         _scratch: &mut Scratch,
///     ) -> Result<(), UserError> {
///         let (InputValues::F32(values), OutputValues::F32(out)) = (input.values, output.values) else {
///             return Err("it takes 32-bit floats".into());
///         };
///         if draw.coin() {
///             out.extend(values.iter().rev());
///         } else {
///             out.extend(values);
///         }
///         Ok(())
///     }
/// }
///
/// let (mut words, mut out) = ([0].into_iter(), Vec::new());
/// let input = Input::new(InputValues::F32(&[1.0, 2.0]), &[1]);
/// let output = Output::new(OutputValues::F32(&mut out));
/// Mirror.apply(input, output, &mut Draw::from_words(&mut words), &mut Scratch::default())?;
/// assert_eq!(out, [2.0, 1.0]);
/// # Ok::<(), UserError>(())
/// ```
pub trait Transform: Send + Sync {
    /// Its name in errors.
    fn name(&self) -> &str;

    /// Its parameters, and a version, in a stable text form: a saved state is refused where this differs.
    fn identity(&self) -> String;

    /// Its seed, with which two equal transforms draw different numbers.
    fn seed(&self) -> u64 {
        0
    }

    /// The names of the transforms of the list that it combines: each has separate random numbers
    /// ([`Draw::begin_step`]), those of the first, second, … transform of its name in the list. So a transform draws
    /// the same numbers in every stream, independent of the others in its list.
    fn step_names(&self) -> Vec<&str> {
        vec![self.name()]
    }

    /// The type of the result, known before any data. A sparse stream may become dense, but not vice versa.
    ///
    /// # Errors
    /// A sentence about the expected samples.
    fn output(&self, input: &SampleType) -> Result<SampleType, String>;

    /// Transforms samples: all of a sequence at once, or one at a time if they may have different shapes or are
    /// encoded or decoded. The result must depend only on these samples and on the numbers drawn.
    ///
    /// `scratch` keeps memory that the transform leaves in it for the next call on the same thread.
    ///
    /// # Errors
    /// Any error. That of a decoding transform is a fault of the data: the sequence is left out, if the deserializer
    /// forgives faults.
    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError>;

    /// Bytes of memory that decoding an encoded sample takes at the peak, including the result, as its header
    /// declares it. If transforms share memory, it is reserved before [`Transform::apply`] is called, and a sample
    /// that needs more than there is is refused: nothing may be allocated here that depends on the header. The shape
    /// of the result goes into `shape`.
    ///
    /// # Errors
    /// The error that [`Transform::apply`] would return for a sample with a damaged header.
    fn decoding_bytes(&self, _input: &Input<'_>, _shape: &mut Vec<usize>) -> Result<u64, UserError> {
        Ok(0)
    }

    /// Bytes of memory that transforming a sample of this shape to values of this type takes at the peak, in addition
    /// to the sample and the result. It is reserved together with the memory for decoding, for the transform that
    /// follows the decoding one.
    fn working_bytes(&self, _shape: &[usize], _values: ValueType) -> u64 {
        0
    }

    /// True if it reads the samples around a sequence's own ([`Input::own`]). Only the first transform of a stream
    /// can.
    fn sees_context(&self) -> bool {
        false
    }

    /// The bytes of a recording that decoding these frames of it reads, where that is known without reading much of them: they are
    /// brought into a cache before [`Transform::apply`] is called.
    fn reads(&self, _recording: &[u8], _frames: Range<usize>) -> Option<Range<usize>> {
        None
    }

    /// True if the result may depend on the numbers drawn. A transform that draws none gets the frames of several
    /// sequences at once if they are consecutive in a recording, and states of a source without random transforms do
    /// not depend on how numbers are drawn.
    fn draws(&self) -> bool {
        true
    }

    /// Remarks of a check on an encoded sample that can be decoded, such as properties that its decoder leaves out:
    /// each is a clause with the subject `it`, the same text for all samples to which it applies.
    fn remarks(&self, _input: &Input<'_>) -> Vec<&'static str> {
        Vec::new()
    }

    /// True if it takes values of types that are kept bit by bit ([`ValueType::Exact`]), and decides the type that its stream is
    /// delivered in.
    fn takes_exact(&self) -> bool {
        false
    }

    /// True if it can transform sparse samples without making them dense.
    fn takes_sparse(&self) -> bool {
        false
    }

    /// Transforms the samples of a sequence of a sparse stream that stays sparse.
    ///
    /// # Errors
    /// Any error.
    fn apply_sparse(
        &self,
        _input: SparseInput<'_>,
        _output: SparseOutput<'_>,
        _draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        Err("it transforms dense samples".into())
    }
}

/// Dense or encoded samples that a transform is applied to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// The values, sample after sample; the bytes of one encoded sample.
    pub values: InputValues<'a>,
    /// The shape of each sample. Encoded ones have none.
    pub shape: &'a [usize],
    /// The samples to be transformed: all of them, but for a transform that [sees context](Transform::sees_context) where
    /// every sequence is one frame of a longer recording. Then these are all frames of the recording. Of a recording that is
    /// encoded, the frames that are wanted.
    pub own: Range<usize>,
    /// The number of the sequence's copy, from 0: a deserializer may deliver a sequence several times, such as the
    /// ten views of an image.
    pub copy: u32,
    /// `true`: an encoded sample lies within another file, such as an archive; `false`: it is a separate file.
    pub embedded: bool,
}

impl<'a> Input<'a> {
    /// All samples of a sequence, its first copy.
    pub fn new(values: InputValues<'a>, shape: &'a [usize]) -> Input<'a> {
        let n = match values {
            InputValues::Encoded(_) => 1,
            InputValues::U8(v) => v.len() / sample_len(shape),
            InputValues::F32(v) => v.len() / sample_len(shape),
            InputValues::F64(v) => v.len() / sample_len(shape),
            InputValues::Exact(_, v) => v.len() / sample_len(shape),
        };
        Input { values, shape, own: 0..n, copy: 0, embedded: false }
    }

    /// Sets the number of the sequence's copy.
    #[must_use]
    pub fn with_copy(self, copy: u32) -> Input<'a> {
        Input { copy, ..self }
    }

    /// Sets whether the encoded sample lies within another file.
    #[must_use]
    pub fn with_embedded(self, embedded: bool) -> Input<'a> {
        Input { embedded, ..self }
    }

    /// Sets the samples that are to be transformed; the others are context.
    #[must_use]
    pub fn with_own(self, own: Range<usize>) -> Input<'a> {
        Input { own, ..self }
    }

    /// Number of values in a sample.
    pub fn sample_len(&self) -> usize {
        self.shape.iter().product()
    }
}

fn sample_len(shape: &[usize]) -> usize {
    shape.iter().product::<usize>().max(1)
}

/// Values of samples that a transform is applied to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum InputValues<'a> {
    /// The bytes of one encoded sample, or of a recording.
    Encoded(&'a [u8]),
    /// Whole numbers from 0 to 255.
    U8(&'a [u8]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// Values of another type, bit by bit.
    Exact(Element, BitsSlice<'a>),
}

/// The bits of values, by their width.
#[derive(Clone, Copy, Debug)]
pub enum BitsSlice<'a> {
    /// 8 bits.
    B8(&'a [u8]),
    /// 16 bits.
    B16(&'a [u16]),
    /// 32 bits.
    B32(&'a [u32]),
    /// 64 bits.
    B64(&'a [u64]),
}

impl<'a> BitsSlice<'a> {
    /// Number of values.
    pub fn len(self) -> usize {
        match self {
            BitsSlice::B8(v) => v.len(),
            BitsSlice::B16(v) => v.len(),
            BitsSlice::B32(v) => v.len(),
            BitsSlice::B64(v) => v.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Some of the values.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> BitsSlice<'a> {
        match self {
            BitsSlice::B8(v) => BitsSlice::B8(&v[range]),
            BitsSlice::B16(v) => BitsSlice::B16(&v[range]),
            BitsSlice::B32(v) => BitsSlice::B32(&v[range]),
            BitsSlice::B64(v) => BitsSlice::B64(&v[range]),
        }
    }
}

/// The output of a transform.
#[derive(Debug)]
#[non_exhaustive]
pub struct Output<'a> {
    /// The buffer to which the values are appended.
    pub values: OutputValues<'a>,
    /// The shape of the sample, if it is open.
    shape: Option<&'a mut Vec<usize>>,
}

impl<'a> Output<'a> {
    /// Appends samples of a known shape.
    pub fn new(values: OutputValues<'a>) -> Output<'a> {
        Output { values, shape: None }
    }

    /// An output for one sample with an open shape, which the transform sets.
    pub fn open(values: OutputValues<'a>, shape: &'a mut Vec<usize>) -> Output<'a> {
        Output { values, shape: Some(shape) }
    }

    /// Sets the shape of the sample. A transform with an open [output](Transform::output) does so for each one.
    pub fn set_shape(&mut self, dims: &[usize]) {
        if let Some(shape) = &mut self.shape {
            shape.clear();
            shape.extend_from_slice(dims);
        }
    }
}

/// The buffer for the values of transformed samples, by their type.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputValues<'a> {
    /// Whole numbers from 0 to 255.
    U8(&'a mut Vec<u8>),
    /// 32-bit floats.
    F32(&'a mut Vec<f32>),
    /// 64-bit floats.
    F64(&'a mut Vec<f64>),
    /// Values of another type, bit by bit.
    Exact(Element, BitsBuffer<'a>),
}

/// The buffer for the bits of values, by their width.
#[derive(Debug)]
pub enum BitsBuffer<'a> {
    /// 8 bits.
    B8(&'a mut Vec<u8>),
    /// 16 bits.
    B16(&'a mut Vec<u16>),
    /// 32 bits.
    B32(&'a mut Vec<u32>),
    /// 64 bits.
    B64(&'a mut Vec<u64>),
}

/// The samples of one sequence of a sparse stream that a transform is applied to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseInput<'a> {
    /// The beginning of each sample's entries and at last their end, counted from the first of these bounds.
    pub bounds: &'a [i32],
    /// The column of each entry, ascending within a sample.
    pub columns: &'a [i32],
    /// The value of each entry.
    pub values: InputValues<'a>,
    /// The number of columns that a sample may have.
    pub dim: usize,
    /// The number of the sequence's copy, from 0.
    pub copy: u32,
}

impl<'a> SparseInput<'a> {
    /// All samples of a sequence, its first copy.
    pub fn new(
        bounds: &'a [i32],
        columns: &'a [i32],
        values: InputValues<'a>,
        dim: usize,
    ) -> SparseInput<'a> {
        SparseInput { bounds, columns, values, dim, copy: 0 }
    }

    /// Sets the number of the sequence's copy.
    #[must_use]
    pub fn with_copy(self, copy: u32) -> SparseInput<'a> {
        SparseInput { copy, ..self }
    }
}

/// The output of a transform for samples of a sparse stream.
#[derive(Debug)]
#[non_exhaustive]
pub struct SparseOutput<'a> {
    /// The buffer to which the number of entries of each sample is appended.
    pub counts: &'a mut Vec<u32>,
    /// The buffer to which their columns are appended, ascending within a sample.
    pub columns: &'a mut Vec<i32>,
    /// The buffer to which their values are appended.
    pub values: OutputValues<'a>,
}

impl<'a> SparseOutput<'a> {
    /// Appends to these.
    pub fn new(
        counts: &'a mut Vec<u32>,
        columns: &'a mut Vec<i32>,
        values: OutputValues<'a>,
    ) -> SparseOutput<'a> {
        SparseOutput { counts, columns, values }
    }
}
