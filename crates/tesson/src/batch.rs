//! Batches of a loader, and typed access to their streams.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use bytemuck::checked::{CheckedBitPattern, try_cast_slice};
use tesson_core::{Element, Error, StreamInfo, did_you_mean};
use tesson_engine::{
    BatchKeys, EngineRefusal, Layout, Minibatch, SampleValue, SampleValues, Samples, StreamBatch,
};
use tesson_plan::ResumeState;

/// Examples, and their streams by name.
#[derive(Clone, Debug)]
pub struct Batch(Arc<Minibatch>);

/// Types of values that streams may be read as.
pub trait Scalar: CheckedBitPattern + Default + sealed::Sealed {
    /// The type's name among those of streams.
    const ELEMENT: Element;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($scalar:ty => $element:ident),*) => {
        $(impl sealed::Sealed for $scalar {}

        impl Scalar for $scalar {
            const ELEMENT: Element = Element::$element;
        })*
    };
}

scalars!(
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64
);

/// The values of a type that a stream has.
fn values<T: Scalar>(values: &SampleValues) -> Option<&[T]> {
    if values.element() != T::ELEMENT {
        return None;
    }
    match values {
        SampleValues::F32(v) => try_cast_slice::<f32, T>(v).ok(),
        SampleValues::F64(v) => try_cast_slice::<f64, T>(v).ok(),
        SampleValues::U8(v) => try_cast_slice::<u8, T>(v).ok(),
        SampleValues::Exact(v) => match v.bits() {
            tesson_engine::Bits::B8(v) => try_cast_slice::<u8, T>(v).ok(),
            tesson_engine::Bits::B16(v) => try_cast_slice::<u16, T>(v).ok(),
            tesson_engine::Bits::B32(v) => try_cast_slice::<u32, T>(v).ok(),
            tesson_engine::Bits::B64(v) => try_cast_slice::<u64, T>(v).ok(),
        },
        SampleValues::Strings(_) => None,
    }
}

impl Batch {
    pub(crate) fn new(minibatch: Minibatch) -> Batch {
        Batch(Arc::new(minibatch))
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.0.n_sequences()
    }

    /// Never: an epoch has no empty batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys of the examples.
    pub fn keys(&self) -> &BatchKeys {
        self.0.keys()
    }

    /// The file that each example begins in: of the first data set, where several are joined. `None` for examples that are in no
    /// file. Looked up by the call.
    pub fn sources(&self) -> Vec<Option<Arc<Path>>> {
        self.0.sources()
    }

    /// True of the last batch of an epoch.
    pub fn is_epoch_end(&self) -> bool {
        self.0.sweep_end()
    }

    /// The state that a loader resumes from after this batch.
    pub fn state(&self) -> &ResumeState {
        self.0.resume()
    }

    /// All streams as they are.
    pub fn minibatch(&self) -> &Minibatch {
        &self.0
    }

    /// The values of a dense stream of one sample an example, `[examples, *shape]`.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type, or several samples in an example.
    pub fn dense<T: Scalar>(&self, name: &str) -> Result<Dense<T>, Error> {
        let (number, stream) = self.stream(name)?;
        let Samples::Dense { values: v } = stream.samples() else { return Err(other::<T>("dense", stream)) };
        values::<T>(v).ok_or_else(|| other::<T>("dense", stream))?;
        if let Some(at) = stream.lengths().iter().position(|&n| n != 1) {
            let (stream, n) = (name.to_owned(), stream.lengths()[at]);
            let key = self.keys().get(at).to_string();
            return Err(EngineRefusal::SeveralSamples { stream, key, n }.into());
        }
        Ok(Dense { batch: self.clone(), number, scalar: PhantomData })
    }

    /// The values of a dense stream of any number of samples an example.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type.
    pub fn ragged<T: Scalar>(&self, name: &str) -> Result<Ragged<T>, Error> {
        let (number, stream) = self.stream(name)?;
        let Samples::Dense { values: v } = stream.samples() else { return Err(other::<T>("dense", stream)) };
        values::<T>(v).ok_or_else(|| other::<T>("dense", stream))?;
        let offsets = stream.lengths().iter().scan(0, |end, &n| {
            *end += n as usize;
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(offsets).collect();
        Ok(Ragged { values: Dense { batch: self.clone(), number, scalar: PhantomData }, offsets })
    }

    /// The samples of a stream of a [truncated](crate::LoaderBuilder::truncate) loader, in the rows and steps where they lie.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type, and whole examples.
    pub fn pieces<T: Scalar>(&self, name: &str) -> Result<Pieces<T>, Error> {
        let (_, stream) = self.stream(name)?;
        let asked = || refused("pieces of", T::ELEMENT, stream);
        let (Samples::Dense { values: v }, Some(layout)) = (stream.samples(), stream.truncated_layout())
        else {
            return Err(asked());
        };
        let samples = values::<T>(v).ok_or_else(asked)?;
        Ok(Pieces::of(samples, stream.info().shape.dims(), layout))
    }

    /// The samples of a sparse stream as compressed rows.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type.
    pub fn sparse<T: Scalar>(&self, name: &str) -> Result<Sparse<'_, T>, Error> {
        let (_, stream) = self.stream(name)?;
        let refused = || other::<T>("sparse", stream);
        let Samples::Sparse { indptr, indices, values: v } = stream.samples() else { return Err(refused()) };
        let values = values::<T>(v).ok_or_else(refused)?;
        Ok(Sparse { indptr, indices, values, columns: stream.info().shape.len() })
    }

    /// The texts of a stream, example after example.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, Error> {
        let (_, stream) = self.stream(name)?;
        let text = |i| match stream.samples().values().value(i) {
            SampleValue::Text(text) => Ok(text),
            _ => Err(refused("dense", Element::Text, stream)),
        };
        (0..stream.samples().values().len()).map(text).collect()
    }

    /// The byte strings of a stream, example after example.
    ///
    /// # Errors
    /// A stream that there is not, or that has another type.
    pub fn bytes(&self, name: &str) -> Result<Vec<&[u8]>, Error> {
        let (_, stream) = self.stream(name)?;
        let bytes = |i| match stream.samples().values().value(i) {
            SampleValue::Bytes(bytes) => Ok(bytes),
            _ => Err(refused("dense", Element::Bytes, stream)),
        };
        (0..stream.samples().values().len()).map(bytes).collect()
    }

    fn stream(&self, name: &str) -> Result<(usize, &StreamBatch), Error> {
        let streams = self.0.streams();
        let found = streams.iter().enumerate().find(|(_, stream)| stream.info().name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = streams.iter().map(|stream| &*stream.info().name).collect();
            let (known, hint) = (names.join(", "), did_you_mean(name, names.iter().copied()));
            EngineRefusal::UnknownStream { stream: name.to_owned(), known, hint }.into()
        })
    }
}

/// The error for a stream that is asked for as what it is not.
fn other<T: Scalar>(kind: &str, stream: &StreamBatch) -> Error {
    refused(kind, T::ELEMENT, stream)
}

fn refused(kind: &str, asked: Element, stream: &StreamBatch) -> Error {
    let StreamInfo { name, element, sparse, shape, .. } = stream.info();
    let is = match stream.samples() {
        Samples::Ragged { .. } => "dense, with a shape for each sample,".to_owned(),
        _ if *sparse => "sparse".to_owned(),
        _ => "dense".to_owned(),
    };
    let is = format!("{is} {} {:?}", element.name(), shape.dims());
    EngineRefusal::OtherStreamType { stream: name.clone(), is, asked: format!("{kind} {}", asked.name()) }
        .into()
}

/// Values of a dense stream: a slice of all of them, sample after sample in row-major order.
#[derive(Clone)]
pub struct Dense<T: Scalar> {
    batch: Batch,
    number: usize,
    scalar: PhantomData<T>,
}

impl<T: Scalar> Dense<T> {
    fn stream(&self) -> &StreamBatch {
        &self.batch.0.streams()[self.number]
    }

    /// The shape of a sample.
    pub fn shape(&self) -> &[usize] {
        self.stream().info().shape.dims()
    }

    /// The samples, one after the other.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.chunks_exact(self.stream().info().shape.len().max(1))
    }
}

impl<T: Scalar> Deref for Dense<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self.stream().samples() {
            Samples::Dense { values: v } => values(v).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl<T: Scalar + std::fmt::Debug> std::fmt::Debug for Dense<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Examples with several samples each, one after the other.
#[derive(Clone, Debug)]
pub struct Ragged<T: Scalar> {
    values: Dense<T>,
    offsets: Vec<usize>,
}

impl<T: Scalar> Ragged<T> {
    /// The samples of all examples.
    pub fn values(&self) -> &Dense<T> {
        &self.values
    }

    /// The number of the first sample of each example, and at last that of all samples.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The values of each example.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        let width = self.values.stream().info().shape.len();
        let range = move |pair: &[usize]| -> Range<usize> { pair[0] * width..pair[1] * width };
        self.offsets.windows(2).map(move |pair| &self.values[range(pair)])
    }
}

/// Examples cut into pieces: a row continues, step by step, in the same row of the next batch, and where an example ends inside a row
/// the next one begins behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces<T> {
    /// Rows of a batch.
    pub rows: usize,
    /// Steps of a row.
    pub steps: usize,
    /// The shape of a sample.
    pub shape: Vec<usize>,
    /// `[rows, steps, *shape]`; zeros where there is no sample.
    pub values: Vec<T>,
    /// `[rows, steps]`: false behind the last example of a row, where values are padding.
    pub mask: Vec<bool>,
    /// `[rows, steps]`: true where an example begins, and what a model has kept of the row is to be forgotten.
    pub is_start: Vec<bool>,
}

impl<T: Scalar> Pieces<T> {
    fn of(samples: &[T], shape: &[usize], layout: &Layout) -> Pieces<T> {
        let (rows, steps) = (layout.rows as usize, layout.steps as usize);
        let width: usize = shape.iter().product();
        let mut pieces = Pieces {
            rows,
            steps,
            shape: shape.to_vec(),
            values: vec![T::default(); rows * steps * width],
            mask: vec![false; rows * steps],
            is_start: vec![false; rows * steps],
        };
        let mut rest = samples;
        for place in &layout.places {
            // What lies before the row's first step was in an earlier batch, and what lies behind its last one is for the next.
            let begin = place.begin.max(0) as usize;
            let end = place.end.min(steps as i64) as usize;
            let row = place.row as usize * steps;
            let (piece, others) = rest.split_at((end - begin) * width);
            rest = others;
            pieces.values[(row + begin) * width..(row + end) * width].copy_from_slice(piece);
            pieces.mask[row + begin..row + end].fill(true);
            if place.begin >= 0 && begin < end {
                pieces.is_start[row + begin] = true;
            }
        }
        pieces
    }
}

/// Samples as compressed sparse rows.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a, T> {
    /// Where the entries of each row begin, and at last where they end.
    pub indptr: &'a [i32],
    /// The column of each entry, ascending within a row.
    pub indices: &'a [i32],
    /// The value of each entry.
    pub values: &'a [T],
    /// The number of columns.
    pub columns: usize,
}
