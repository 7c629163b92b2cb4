//! The command line: commands, options, help with examples.

mod commands;
mod common;
mod dataset;
mod examples;
mod values;

pub(crate) use commands::{
    BenchArgs, CheckArgs, Cli, Command, ConfigArgs, ConvertArgs, DataCommand, Form, IndexArgs, InfoArgs,
    PlanArgs, ReadArgs, ReportArgs, ShowArgs, StateArgs,
};
pub(crate) use common::{Color, Common, InputArgs, OrderArgs, PictureArgs, WorkerArgs};
pub(crate) use dataset::DatasetArgs;
