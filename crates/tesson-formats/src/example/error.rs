//! Faults of messages.

use std::fmt;

use tesson_core::{ErrorCodes, ErrorInfo, FormatFaults, Remedy};

use super::Kind;

tesson_core::error_kinds! {
    /// A fault of a message.
    pub enum Fault {
        /// The bytes end inside a field, or a length goes beyond the field around it.
        Cut
            = "example.cut": "the record is no `tf.train.Example`: a field ends beyond what holds it"
            => "Check that the records of the file are examples, and rewrite it.",
        /// A number of more than ten bytes.
        LongNumber
            = "example.long-number": "the record is no `tf.train.Example`: a number has more than ten bytes"
            => "Check that the records of the file are examples, and rewrite it.",
        /// A field number or wire type that protobuf does not have.
        BadTag
            = "example.bad-tag": "the record is no `tf.train.Example`: neither a field number nor a wire type"
            => "Check that the records of the file are examples, and rewrite it.",
        /// A packed list of floats whose size is no multiple of four bytes.
        HalfFloat { bytes: usize = 7 }
            = "example.half-float": "a list of floats has {bytes} bytes, four for each value are expected"
            => "Rewrite the file.",
        /// A list of another kind than the feature has.
        WrongKind { key: String = "label".into(), expected: Kind = Kind::Ints, found: Kind = Kind::Floats }
            = "example.wrong-kind": ("key `{key}` holds a {} list, a {} list is expected", found.name(), expected.name())
            => "Correct the type of the feature in features.json, or rewrite the file.",
    }
}

/// A record that is no message, or one whose features are not what was wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleError {
    /// Bytes from the start of the record, from 0.
    pub offset: usize,
    /// The fault.
    pub fault: Fault,
}

impl ErrorCodes for ExampleError {
    const TABLE: &'static [ErrorInfo] = Fault::TABLE;

    fn code(&self) -> &'static str {
        self.fault.code()
    }

    fn remedy(&self) -> Remedy {
        self.fault.remedy()
    }

    fn examples() -> Vec<ExampleError> {
        Fault::examples().into_iter().map(|fault| ExampleError { offset: 12, fault }).collect()
    }
}

impl FormatFaults for ExampleError {}

impl fmt::Display for ExampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {} of the record)", self.fault, self.offset)
    }
}

impl std::error::Error for ExampleError {}
