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
#[cfg(feature = "codecs")]
mod packed_frames;
#[cfg(feature = "codecs")]
mod resource;

#[cfg(not(feature = "codecs"))]
pub(crate) use absent::{Decoders, Gunzip, Inflater, Unzstd, ZstdEncoder, begin_gunzip, begin_unzstd};
#[cfg(feature = "codecs")]
pub(crate) use built::{Decoders, Inflater, ZstdEncoder};
#[cfg(feature = "codecs")]
pub(crate) use gunzip::{Gunzip, beginning as begin_gunzip};
#[cfg(feature = "codecs")]
pub(crate) use packed_frames::{Unzstd, beginning as begin_unzstd};
use tesson_core::Error;

/// Why a compressed file cannot be unpacked.
pub(crate) enum UnpackError {
    /// It is damaged at this byte, or cannot be unpacked at all.
    Damaged(u64, String),
    /// It cannot be read.
    Error(Error),
}

impl From<Error> for UnpackError {
    fn from(error: Error) -> UnpackError {
        UnpackError::Error(error)
    }
}

/// The bytes that `unpack` gives until it gives none, or this many have come.
#[cfg(feature = "codecs")]
fn unpack_up_to(
    most: usize,
    mut unpack: impl FnMut(&mut [u8]) -> Result<usize, UnpackError>,
) -> Result<Vec<u8>, UnpackError> {
    let (mut bytes, mut n) = (Vec::new(), 0);
    while n < most {
        bytes.resize(most.min(n + (64 << 10)), 0);
        match unpack(&mut bytes[n..])? {
            0 => break,
            unpacked => n += unpacked,
        }
    }
    bytes.truncate(n);
    Ok(bytes)
}

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Gzip,
    Zlib,
}
