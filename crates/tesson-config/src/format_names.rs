//! Names of the deserializers that rules of CNTK's readers are about.

/// Text, with windows in chunks.
pub(crate) const TEXT: &str = "CNTKTextFormatDeserializer";

/// CNTK's binary format.
pub(crate) const BINARY: &str = "CNTKBinaryFormatDeserializer";

/// Images, read as frames where there is nothing else.
pub(crate) const IMAGE: &str = "ImageDeserializer";

/// Features of speech.
pub(crate) const FEATURES: &str = "HTKFeatureDeserializer";

/// Labels of speech.
pub(crate) const LABELS: &str = "HTKMLFDeserializer";

/// Lattices, in a format that nothing but CNTK reads.
pub(crate) const LATTICES: &str = "LatticeDeserializer";
