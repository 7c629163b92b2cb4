//! Types of values, by the names that TFDS and NumPy have for them.

use tesson_formats::example::Kind;

/// The type of a feature's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    /// Byte strings with any contents.
    String,
}

use DType::*;

const NAMES: &[(DType, &str)] = &[
    (Bool, "bool"),
    (Int8, "int8"),
    (Int16, "int16"),
    (Int32, "int32"),
    (Int64, "int64"),
    (UInt8, "uint8"),
    (UInt16, "uint16"),
    (UInt32, "uint32"),
    (UInt64, "uint64"),
    (Float16, "float16"),
    (BFloat16, "bfloat16"),
    (Float32, "float32"),
    (Float64, "float64"),
    (Complex64, "complex64"),
    (Complex128, "complex128"),
    (String, "string"),
];

impl DType {
    /// The type of this name.
    pub fn from_name(name: &str) -> Option<DType> {
        NAMES.iter().find(|(_, n)| *n == name).map(|(dtype, _)| *dtype)
    }

    /// All names, for suggestions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(dtype, _)| *dtype == self).map_or("", |(_, name)| name)
    }

    /// Bytes of a value in memory; `None` for strings.
    pub fn size(self) -> Option<usize> {
        match self {
            Bool | Int8 | UInt8 => Some(1),
            Int16 | UInt16 | Float16 | BFloat16 => Some(2),
            Int32 | UInt32 | Float32 => Some(4),
            Int64 | UInt64 | Float64 | Complex64 => Some(8),
            Complex128 => Some(16),
            String => None,
        }
    }

    /// The list that values of this type are stored in without an encoding (spec/tfds.md §6.2). Complex numbers and
    /// bfloat16 need one.
    pub fn stored_in(self) -> Option<Kind> {
        match self {
            Bool | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Some(Kind::Ints),
            Float16 | Float32 | Float64 => Some(Kind::Floats),
            String => Some(Kind::Bytes),
            BFloat16 | Complex64 | Complex128 => None,
        }
    }

    /// The bytes of the value that replaces an absent optional one (spec/tfds.md §6.3): the smallest of the type.
    pub(crate) fn smallest(self) -> Vec<u8> {
        match self {
            Int8 => i8::MIN.to_le_bytes().to_vec(),
            Int16 => i16::MIN.to_le_bytes().to_vec(),
            Int32 => i32::MIN.to_le_bytes().to_vec(),
            Int64 => i64::MIN.to_le_bytes().to_vec(),
            Float16 => 0xfbff_u16.to_le_bytes().to_vec(),
            Float32 => f32::MIN.to_le_bytes().to_vec(),
            // The default passes through the stored list of 32-bit floats, where the smallest double becomes
            // infinite.
            Float64 => f64::NEG_INFINITY.to_le_bytes().to_vec(),
            other => vec![0; other.size().unwrap_or(0)],
        }
    }
}
