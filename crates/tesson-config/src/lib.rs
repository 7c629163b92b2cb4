//! Configurations of Tesson: from text or dictionaries to a complete description of a source.
//!
//! What the user wrote is a tree ([`tesson_core::Section`], from JSON by [`json::parse`] or made by a front end),
//! overrides are set in it, and [`lower`] makes of it what it means: a [`SourceConfig`]. Nothing here opens a file; which
//! formats there are is known only from the [`Registry`](tesson_core::Registry) that is lent.

#![forbid(unsafe_code)]

pub mod bytes;
pub mod json;
mod options;
pub mod schedule;

pub use options::READER_OPTIONS;
pub use schedule::Schedule;
