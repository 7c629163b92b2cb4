//! The byte formats Tesson reads: bytes in, sequences out.
//!
//! Nothing here opens a file or starts a thread: a format is lent bytes and cores by the engine
//! ([`tesson_core::Fetch`], [`tesson_core::Lanes`]). One folder a format, one line of [`FORMATS`].

pub mod cbf;
pub mod ctf;
pub mod user;

use tesson_core::Format;

/// Every format of this crate.
pub static FORMATS: &[&Format] = &[&ctf::FORMAT, &cbf::FORMAT];
