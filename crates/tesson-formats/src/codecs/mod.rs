//! What files of records may be compressed by, in one place: the only code here that knows other people's codecs.
//!
//! Without the feature `codecs` there are none, for builds that read no such files. Everything else stays: what needs a
//! codec then fails with an error that names the feature.

#[cfg(not(feature = "codecs"))]
mod absent;
#[cfg(feature = "codecs")]
mod built;

#[cfg(not(feature = "codecs"))]
pub(crate) use absent::{Decoders, Inflater, ZstdEncoder};
#[cfg(feature = "codecs")]
pub(crate) use built::{Decoders, Inflater, ZstdEncoder};

/// What a file is compressed by as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Gzip,
    Zlib,
}
