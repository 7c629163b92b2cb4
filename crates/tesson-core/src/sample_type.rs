//! The type of samples at one step of a stream's transforms, known before any data.

use std::fmt;

use crate::{Element, Shape, Storage, StreamInfo};

/// The type of a sample's values on their way through transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueType {
    /// Bytes of a file format, of any number: a transform decodes them.
    Encoded,
    /// Whole numbers from 0 to 255.
    U8,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// Values of another type, which are kept bit by bit: no transform takes them.
    Exact(Element),
}

impl ValueType {
    /// NumPy's name of the type; `encoded` has none.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::Encoded => "encoded",
            ValueType::U8 => "uint8",
            ValueType::F32 => "float32",
            ValueType::F64 => "float64",
            ValueType::Exact(element) => element.name(),
        }
    }
}

impl From<Element> for ValueType {
    fn from(element: Element) -> ValueType {
        match element {
            Element::F32 => ValueType::F32,
            Element::F64 => ValueType::F64,
            Element::U8 => ValueType::U8,
            exact => ValueType::Exact(exact),
        }
    }
}

/// The input or the output of a transform: the type and the shape of a sample, as far as they are known before any
/// data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SampleType {
    /// The type of the values.
    pub values: ValueType,
    /// The dimensions, outermost first; `None` where each sample has its own. Encoded samples have none.
    pub dims: Vec<Option<usize>>,
    /// True if samples are lists of (column, value) pairs.
    pub sparse: bool,
    /// The type of the stream's values when they are delivered.
    pub delivered: Element,
}

impl SampleType {
    /// Dense samples of these dimensions.
    pub fn dense(values: ValueType, dims: impl Into<Vec<Option<usize>>>) -> SampleType {
        SampleType { values, dims: dims.into(), sparse: false, delivered: Element::F32 }
    }

    /// The samples of a stream as its deserializer stores them.
    pub fn of(stream: &StreamInfo) -> SampleType {
        if matches!(stream.storage, Storage::Encoded | Storage::Recordings) {
            return SampleType::dense(ValueType::Encoded, []).delivered_as(stream.element);
        }
        let dense = SampleType::dense(stream.element.into(), []).with_shape(&stream.shape);
        SampleType { sparse: stream.sparse, ..dense }.delivered_as(stream.element)
    }

    /// Sets another shape.
    #[must_use]
    pub fn with_shape(self, shape: &Shape) -> SampleType {
        self.with_dims(shape.dims().iter().map(|&n| Some(n)).collect::<Vec<_>>())
    }

    /// Sets another shape, which may be open.
    #[must_use]
    pub fn with_dims(self, dims: impl Into<Vec<Option<usize>>>) -> SampleType {
        SampleType { dims: dims.into(), ..self }
    }

    /// Sets another type of values.
    #[must_use]
    pub fn with_values(self, values: ValueType) -> SampleType {
        SampleType { values, ..self }
    }

    /// Sets the type of the values that the stream delivers.
    #[must_use]
    pub fn delivered_as(self, delivered: Element) -> SampleType {
        SampleType { delivered, ..self }
    }

    /// Makes the samples dense.
    #[must_use]
    pub fn densified(self) -> SampleType {
        SampleType { sparse: false, ..self }
    }

    /// The type of floating-point numbers that a transform makes: the delivered type if it is 64-bit, otherwise
    /// 32-bit.
    pub fn floats(&self) -> ValueType {
        if self.delivered == Element::F64 { ValueType::F64 } else { ValueType::F32 }
    }

    /// The shape, if it is that of every sample.
    pub fn shape(&self) -> Option<Shape> {
        let dims: Option<Vec<usize>> = self.dims.iter().copied().collect();
        dims.filter(|_| self.values != ValueType::Encoded).map(Shape::new)
    }
}

impl fmt::Display for SampleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sparse = if self.sparse { "sparse " } else { "" };
        if self.values == ValueType::Encoded {
            return f.write_str("encoded bytes");
        }
        let dim = |dim: &Option<usize>| dim.map_or_else(|| "?".into(), |n| n.to_string());
        let dims: Vec<String> = self.dims.iter().map(dim).collect();
        write!(f, "{sparse}{} {}", self.values.name(), dims.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_says_what_is_known() {
        let open = SampleType::dense(ValueType::U8, [None, Some(4), Some(3)]);
        assert_eq!((open.to_string().as_str(), open.shape()), ("uint8 ?x4x3", None));
        let known = open.with_shape(&Shape::new([2, 4])).with_values(ValueType::F32);
        assert_eq!((known.to_string().as_str(), known.shape()), ("float32 2x4", Some(Shape::new([2, 4]))));
        let sparse = SampleType::of(&StreamInfo::sparse("x", 9, Element::F64));
        assert_eq!(sparse.to_string(), "sparse float64 9");
        assert_eq!(sparse.densified().to_string(), "float64 9");
        let encoded = SampleType::of(&StreamInfo::encoded("x", Element::F32));
        assert_eq!((encoded.to_string().as_str(), encoded.shape()), ("encoded bytes", None));
    }
}
