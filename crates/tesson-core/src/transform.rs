//! Transforms: sample in, sample out, on the way from a deserializer to a minibatch.

use std::ops::Range;

use crate::{Draw, SampleType, Scratch, UserError, ValueType};

/// Replaces each sample of a stream by another one. The number of samples stays the same.
///
/// A stream has a list of transforms, each of which takes what the one before it gives. The first one may take encoded
/// bytes, such as a file of a picture: it decodes them. Types and shapes are worked out before any data
/// ([`Transform::output`]); values become those of the stream at the end
/// of the list. A shape that is still open there is that of a minibatch: all of its samples have the same.
///
/// A sparse stream may stay sparse, which a transform has to be made for ([`Transform::takes_sparse`]), or become dense:
/// then the transform gets dense samples of it.
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
///         match draw.coin() {
///             true => out.extend(values.iter().rev()),
///             false => out.extend(values),
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

    /// A seed of its own, so that two alike draw different numbers.
    fn seed(&self) -> u64 {
        0
    }

    /// The names of the transforms of the list that it stands for: each has random numbers of its own ([`Draw::begin_step`]), those of
    /// the first, second, … transform of its name in the list. So the same transform draws the same numbers in every stream,
    /// whatever others are beside it.
    fn step_names(&self) -> Vec<&str> {
        vec![self.name()]
    }

    /// What comes out, known before any data. A sparse stream may become dense, not the other way round.
    ///
    /// # Errors
    /// A sentence that says which samples are expected.
    fn output(&self, input: &SampleType) -> Result<SampleType, String>;

    /// Transforms samples: all of a sequence at once; where each has a shape of its own, or is encoded or decoded, one at
    /// a time. A function of these samples and of the numbers drawn alone.
    ///
    /// `scratch` keeps what the transform leaves in it for the next call on the same thread.
    ///
    /// # Errors
    /// Whatever goes wrong. Of a transform that decodes, it is a fault of the data: the sequence is left out, if the
    /// deserializer forgives faults.
    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError>;

    /// Bytes of memory that decoding an encoded sample takes at the peak, what comes out included, as its header declares it. Where
    /// transforms share memory, it is set aside before [`Transform::apply`] is called, and a sample that needs more than there is
    /// is refused: nothing may be allocated here that depends on what the header declares. The shape that comes out goes into
    /// `shape`.
    ///
    /// # Errors
    /// What [`Transform::apply`] would answer: a sample whose header is damaged.
    fn decoding_bytes(&self, _input: &Input<'_>, _shape: &mut Vec<usize>) -> Result<u64, UserError> {
        Ok(0)
    }

    /// Bytes of memory that transforming a sample of this shape to values of this type takes at the peak, beside the sample and
    /// what comes out. It is set aside together with what decoding takes, for the transform that follows the one that decodes.
    fn working_bytes(&self, _shape: &[usize], _values: ValueType) -> u64 {
        0
    }

    /// Whether it looks at the samples around a sequence's own ([`Input::own`]). Only the first transform of a stream can.
    fn sees_context(&self) -> bool {
        false
    }

    /// Whether what comes out may depend on the numbers drawn. One that draws none is asked for frames of several sequences at
    /// once, where they follow each other in a recording, and states of a source without any do not depend on how numbers are drawn.
    fn draws(&self) -> bool {
        true
    }

    /// What a check tells of an encoded sample although it can be decoded, such as what its decoder leaves out: each a clause
    /// that says `it`, the same for all samples that it is true of.
    fn remarks(&self, _input: &Input<'_>) -> Vec<&'static str> {
        Vec::new()
    }

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
    /// Which copy of its sequence this is, from 0: a deserializer may give a sequence several times, such as the ten views
    /// of a picture.
    pub copy: u32,
    /// Whether an encoded sample lies within another file, such as an archive, instead of being a file of its own.
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
        };
        Input { values, shape, own: 0..n, copy: 0, embedded: false }
    }

    /// The same samples of another copy of the sequence.
    #[must_use]
    pub fn with_copy(self, copy: u32) -> Input<'a> {
        Input { copy, ..self }
    }

    /// The same encoded sample, from within another file or from one of its own.
    #[must_use]
    pub fn with_embedded(self, embedded: bool) -> Input<'a> {
        Input { embedded, ..self }
    }

    /// The same samples, of which only these are to be transformed.
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
}

/// Where transformed samples go.
#[derive(Debug)]
#[non_exhaustive]
pub struct Output<'a> {
    /// Where the values are appended.
    pub values: OutputValues<'a>,
    /// The shape of the sample, where it is open.
    shape: Option<&'a mut Vec<usize>>,
}

impl<'a> Output<'a> {
    /// Appends samples of a known shape.
    pub fn new(values: OutputValues<'a>) -> Output<'a> {
        Output { values, shape: None }
    }

    /// Appends one sample, whose shape becomes known with it.
    pub fn open(values: OutputValues<'a>, shape: &'a mut Vec<usize>) -> Output<'a> {
        Output { values, shape: Some(shape) }
    }

    /// Says the shape of the sample. A transform whose [output](Transform::output) is open does so for each one.
    pub fn set_shape(&mut self, dims: &[usize]) {
        if let Some(shape) = &mut self.shape {
            shape.clear();
            shape.extend_from_slice(dims);
        }
    }
}

/// Where the values of transformed samples are appended.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputValues<'a> {
    /// Whole numbers from 0 to 255.
    U8(&'a mut Vec<u8>),
    /// 32-bit floats.
    F32(&'a mut Vec<f32>),
    /// 64-bit floats.
    F64(&'a mut Vec<f64>),
}

/// The samples of one sequence of a sparse stream that a transform is applied to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseInput<'a> {
    /// Where each sample's entries begin, and where those of the last end, counted from the first of these.
    pub bounds: &'a [i32],
    /// The column of each entry, ascending within a sample.
    pub columns: &'a [i32],
    /// The value of each entry.
    pub values: InputValues<'a>,
    /// The number of columns that a sample may have.
    pub dim: usize,
    /// Which copy of its sequence this is, from 0.
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

    /// The same samples of another copy of the sequence.
    #[must_use]
    pub fn with_copy(self, copy: u32) -> SparseInput<'a> {
        SparseInput { copy, ..self }
    }
}

/// Where the transformed samples of a sparse stream go.
#[derive(Debug)]
#[non_exhaustive]
pub struct SparseOutput<'a> {
    /// Where the number of entries of each sample is appended.
    pub counts: &'a mut Vec<u32>,
    /// Where their columns are appended, ascending within a sample.
    pub columns: &'a mut Vec<i32>,
    /// Where their values are appended.
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
