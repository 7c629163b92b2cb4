//! What can be wrong with a message.

use std::fmt;

use super::Kind;

/// A record that is no message, or one whose features are not what was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleError {
    /// Bytes from the start of the record, from 0.
    pub offset: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a message.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end inside a field, or a length goes beyond the field around it.
    Cut,
    /// A number of more than ten bytes.
    LongNumber,
    /// A field number or wire type that protobuf does not have.
    BadTag,
    /// A packed list of floats whose size is no multiple of four bytes.
    HalfFloat {
        /// Its bytes.
        bytes: usize,
    },
    /// A list of another kind than the feature has.
    WrongKind {
        /// The feature's key.
        key: String,
        /// The kind that is due.
        expected: Kind,
        /// The kind that is there.
        found: Kind,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cut => {
                f.write_str("the record is no `tf.train.Example`: a field ends beyond what holds it")
            }
            Fault::LongNumber => {
                f.write_str("the record is no `tf.train.Example`: a number has more than ten bytes")
            }
            Fault::BadTag => {
                f.write_str("the record is no `tf.train.Example`: neither a field number nor a wire type")
            }
            Fault::HalfFloat { bytes } => {
                write!(f, "a list of floats has {bytes} bytes, four for each value are expected")
            }
            Fault::WrongKind { key, expected, found } => {
                write!(f, "key `{key}` holds a {} list, a {} list is expected", found.name(), expected.name())
            }
        }
    }
}

impl fmt::Display for ExampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {} of the record)", self.fault, self.offset)
    }
}

impl std::error::Error for ExampleError {}
