//! Conformance cases as data, and how they are run.
//!
//! A case is a folder with a configuration, calls, and answers ([`Case`]). [`run`] makes the calls on anything that
//! implements [`Reader`]: the Rust API ([`RustApi`]) or the program ([`Cli`]). [`Case::expected`] returns the answers that
//! Tesson must give, and [`compare`] compares them with those that it gave.

#![forbid(unsafe_code)]

mod arrays;
pub mod binary;
mod case;
mod cli;
mod compare;
pub mod corpus;
mod descriptions;
pub mod entry;
mod features;
mod image_files;
mod images;
pub mod marked;
mod parts;
pub mod prepared;
mod reader;
mod records;
mod rust_api;
mod sources;
pub mod speech;
mod tables;
pub mod tfds;
mod user;
pub mod ways;

pub use case::{Case, From, Request, Rules, Step, Times};
pub use cli::Cli;
pub use compare::{Element, compare, compare_all};
pub use reader::{Reader, run};
pub use rust_api::RustApi;
pub use user::registry;
