//! The `tesson` command, as a library: `python -m tesson` is the same.

#![forbid(unsafe_code)]

mod app;
mod applies;
mod args;
mod bench;
mod check;
mod config;
mod convert;
mod dataset;
mod failure;
mod guess;
mod host;
mod index;
mod info;
mod input;
mod interrupt;
mod kind;
mod line;
mod log;
mod number;
mod output;
mod plan;
mod progress;
mod read;
mod records;
mod show;

pub use app::{main, main_within};
pub use host::Host;
