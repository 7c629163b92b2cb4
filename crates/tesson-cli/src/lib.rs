//! The `tesson` command, as a library: `python -m tesson` is the same.

#![forbid(unsafe_code)]

mod app;
mod args;
mod bench;
mod calls;
mod certificate;
mod check;
mod config;
mod convert;
mod data;
mod dataset;
pub mod events;
mod extensions;
mod failure;
mod fault_list;
mod index;
mod info;
mod input;
mod input_kind;
mod interrupt;
mod label_counts;
mod lists;
mod log;
mod minibatch_json;
mod option_rules;
mod output;
mod plan;
mod plan_io;
mod preview;
mod progress;
mod read;
mod records;
mod report;
pub mod restoring;
mod shell;
mod show;
mod state;
mod state_file;
mod steps;
mod stream_proposal;
mod terminal;

pub use app::{main, main_with};
pub use extensions::Extensions;
