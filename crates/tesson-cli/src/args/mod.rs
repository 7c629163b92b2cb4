//! The command line: commands, options, help with examples.

mod commands;
mod common;
mod dataset;
mod examples;
mod values;

pub(crate) use commands::{
    BenchArgs, CheckArgs, Cli, Command, ConfigArgs, ConvertArgs, DataCommand, Form, IndexArgs, InfoArgs,
    PlanArgs, ReadArgs, ShowArgs, StateArgs,
};
pub(crate) use common::{Common, InputArgs, OrderArgs, WorkerArgs};
pub(crate) use dataset::DatasetArgs;
