//! Names of the deserializers that rules of CNTK's readers are about.

/// Text, with windows in chunks.
pub(crate) const TEXT: &str = "CNTKTextFormatDeserializer";

/// CNTK's binary format.
pub(crate) const BINARY: &str = "CNTKBinaryFormatDeserializer";

/// Pictures, read as frames where there is nothing else.
pub(crate) const IMAGE: &str = "ImageDeserializer";

/// Speech, with texts as keys: features and labels.
pub(crate) const SPEECH: [&str; 2] = ["HTKFeatureDeserializer", "HTKMLFDeserializer"];
