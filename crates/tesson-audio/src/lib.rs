#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "codecs"), expect(dead_code, reason = "options are checked, and nothing is read"))]

#[cfg(feature = "codecs")]
mod decode;
mod fault;
#[cfg(feature = "codecs")]
mod log_mel;
mod recordings;
mod spec;
#[cfg(feature = "codecs")]
mod wav;

pub use fault::{AudioFault, AudioRefusal};
pub use recordings::FORMAT;
