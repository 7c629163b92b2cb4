//! The codecs of files of records and archives, in one place: the only code here that knows other people's codecs.
//!
//! Without the feature `codecs` there are none, for builds that read no such files. Everything else stays: what needs a
//! codec then fails with an error that names the feature.

#[cfg(not(feature = "codecs"))]
mod absent;
#[cfg(feature = "codecs")]
mod built;
#[cfg(feature = "codecs")]
mod gunzip;

#[cfg(not(feature = "codecs"))]
pub(crate) use absent::{Decoders, Gunzip, Inflater, ZstdEncoder};
#[cfg(feature = "codecs")]
pub(crate) use built::{Decoders, Inflater, ZstdEncoder};
#[cfg(feature = "codecs")]
pub(crate) use gunzip::Gunzip;
use tesson_core::Error;

/// Why a gzip file cannot be unpacked.
pub(crate) enum GunzipError {
    /// It is damaged at this byte, or cannot be unpacked at all.
    Damaged(u64, String),
    /// It cannot be read.
    Error(Error),
}

impl From<Error> for GunzipError {
    fn from(error: Error) -> GunzipError {
        GunzipError::Error(error)
    }
}

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Gzip,
    Zlib,
}
