//! Configurations of Tesson: from text or dictionaries to a complete description of a source.
