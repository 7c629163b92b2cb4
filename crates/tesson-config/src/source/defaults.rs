//! Options of deserializers that the reader gives a default.

use tesson_core::{Element, Value, Words, options};

use super::ReaderContext;
use crate::lower::{numeric_keys, precision};

/// Words of `precision`.
pub(crate) static PRECISIONS: Words<Element, 4> = Words::new([
    ("float", Element::F32),
    ("double", Element::F64),
    ("float32", Element::F32),
    ("float64", Element::F64),
]);

options! {
    /// The reader's defaults for deserializers that do not set these options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeserializerDefaults(options, reader: ReaderContext) {
        /// The type of all values.
        pub precision: Element = "precision" | "dtype" in PRECISIONS, "float"
            => "Type of all values."
            [listed after "keepSparse"]
            [read precision(options, &reader.deserializers)?]
            [describe as |defaults| {
                Value::Text(PRECISIONS.word(defaults.precision).unwrap_or("float").to_owned())
            }]
            [identity after "frameMode" with |defaults, text| text.field("element", defaults.precision.name())];
        /// True: keys are numbers; false: they are texts.
        pub numeric_keys: bool = "useNumericSequenceKeys", "true"
            => "Whether sequence keys are numbers (true) or texts (false)."
            [listed after "precision"]
            [read numeric_keys(options, &reader.deserializers)?]
            [describe as |defaults| Value::Bool(defaults.numeric_keys)];
        /// True: every sequence is one sample, such as a frame of speech.
        pub frame_mode: bool = "frameMode", "false"
            => "Read every sequence as one sample; longer ones are refused, or split into frames if speech features come first."
            [listed after "dropLast"]
            [identity "frame"];
        /// True: indexes are cached.
        pub cache_index: bool = "cacheIndex", "false"
            => "Keep indexes in files beside the data: the default for all deserializers.";
    }
}
