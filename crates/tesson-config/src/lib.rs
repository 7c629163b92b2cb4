//! Configurations of Tesson: from text or dictionaries to a complete description of a source.
//!
//! A user's configuration is a tree ([`tesson_core::Section`], from JSON by [`json::parse`] or made by a front end),
//! overrides are set in it, and [`lower`] resolves it to a [`SourceConfig`]. Nothing here opens a file or reads the
//! environment: [`load`] is given a [`ConfigAccess`]. Formats are known only from the given
//! [`Registry`](tesson_core::Registry).

#![forbid(unsafe_code)]

pub mod brainscript;
mod conflict;
mod format_names;
pub mod json;
mod launcher;
mod load;
mod loaded;
mod lower;
mod manual;
mod name_spans;
mod overrides;
mod paths;
mod python_keywords;
pub mod reader;
mod refusal;
mod resolve;
pub mod schedule;
mod source;
mod text_fault;
pub mod toml;

/// The result of what configurations can be refused for.
pub(crate) type Result<T, E = tesson_core::ConfigError> = std::result::Result<T, E>;

pub use tesson_core::bytes;

pub use conflict::ConfigConflict;
pub use launcher::{Environment, GivenSize, World, WorldRefusal};
pub use load::{Choices, ConfigAccess, load};
pub use loaded::{Loaded, from_json};
pub use lower::lower;
pub use manual::{ENVIRONMENT, option_manual};
pub use overrides::{assignment, set_value};
pub use python_keywords::python_keywords;
pub use refusal::ReaderRefusal;
pub use resolve::{Arguments, Resolved, reader as reader_of};
pub use schedule::Schedule;
pub use source::{
    DEFAULT_WINDOW, DeserializerConfig, DeserializerDefaults, ExcludedKeys, FULL_DATA_SWEEP,
    INFINITELY_REPEAT, JoinConfig, MinibatchConfig, OpenTransforms, OrderConfig, READER_OPTIONS, Randomize,
    SourceConfig, StoreKind, TransformConfig, Transforms, TruncationConfig, open_list,
};
pub use text_fault::TextFault;
