//! Options that several commands share: the input, the order, the worker. Every command declares all of them; the table
//! in `option_rules` says which ones a command uses.

use std::path::PathBuf;

use clap::Args;
use tesson::Demand;

use super::dataset::DatasetArgs;
use super::values::{positive, whole, workers};
use crate::input_kind::InputKind;

/// The arguments of all commands that read: the input, its order, and the worker.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    #[command(flatten)]
    pub(crate) dataset: DatasetArgs,
}

/// The arguments about the input.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputArgs {
    /// A data file, folder, pattern or prepared dataset (text in CNTK's format, CNTK's binary format, tables,
    /// images, archives; files of records where that makes sense), or a configuration (*.cntk, *.bs, *.json, *.toml)
    #[arg(value_name = "CONFIG|FILE")]
    pub(crate) input: PathBuf,

    /// The kind of the input, found once.
    #[arg(skip = InputKind::Text)]
    pub(crate) kind: InputKind,

    /// The words of the command line after the program's name.
    #[arg(skip)]
    pub(crate) words: Vec<String>,

    /// Arguments of a BrainScript file, as on CNTK's command line: `DataDir=data`, `Train=[reader=[randomize=false]]`
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// The reader in a BrainScript file, or a section within a tree; by default the first reader, or the tree
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(crate) section: Option<String>,

    /// Sets a value of the configuration by its path, such as `Train.reader.randomize=false` or `deserializers[0].file=x`
    #[arg(long = "set", value_name = "PATH=VALUE", help_heading = "Input")]
    pub(crate) set: Vec<String>,

    /// Reads `$env:NAME$` and `$name|value$` as variables in BrainScript
    #[arg(long, help_heading = "Input")]
    pub(crate) extended_variables: bool,

    /// A stream of the file: its name, the number of values in a sample, and `sparse` if it is; by default those of the first rows, but not
    /// for `convert` and `index`
    #[arg(long = "stream", value_name = "NAME[:DIM[:dense|sparse]]", help_heading = "Input")]
    pub(crate) streams: Vec<String>,

    /// The name of a stream in the file, if it differs
    #[arg(long = "alias", value_name = "STREAM=NAME", help_heading = "Input")]
    pub(crate) aliases: Vec<String>,

    /// How strictly text is read: `lenient` (default), or `cntk`, fault for fault
    #[arg(long, value_name = "RULES", help_heading = "Input")]
    pub(crate) rules: Option<String>,

    /// Number of data faults to tolerate before reading fails
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = whole)]
    pub(crate) max_errors: Option<u64>,

    /// Accepts a stream that occurs nowhere in the data, or whose samples have another size than declared
    #[arg(long, help_heading = "Input")]
    pub(crate) allow_empty: bool,

    /// A file to which every tolerated fault is appended as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) quarantine: Option<String>,

    /// A file with a key on each line: the sequences of these keys are left out, all others keep their positions
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) exclude_keys: Option<String>,

    /// The folder of relative file names in a configuration, by default the working directory
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(crate) base_dir: Option<PathBuf>,

    /// Number of worker threads; 0 means one for each core
    #[arg(long, value_name = "N", help_heading = "Resources", value_parser = whole)]
    pub(crate) threads: Option<u64>,

    /// Memory limit, such as 2GiB
    #[arg(long, value_name = "BYTES", help_heading = "Resources")]
    pub(crate) memory_limit: Option<String>,

    /// Prints JSON, one object on each line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments about the order, and how far to read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Order")]
pub(crate) struct OrderArgs {
    /// The order of a sweep: `true` (shuffled within a window), `false` (as stored) or `global`
    #[arg(long, value_name = "ORDER", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) randomize: Option<String>,

    /// Shuffles the whole of the data, or within a window of N chunks, or of samples as in `50000samples`
    #[arg(long, value_name = "WINDOW", num_args = 0..=1, default_missing_value = "whole", conflicts_with_all = ["randomize", "window"])]
    pub(crate) shuffle: Option<String>,

    /// Seed of the order
    #[arg(long, alias = "randomization-seed", value_name = "N", value_parser = whole)]
    pub(crate) seed: Option<u64>,

    /// Examples in a batch, over all workers, as of a loader: batches end with their sweep, workers make equal steps, and the order is
    /// that of the data unless it is shuffled
    #[arg(long, value_name = "N", conflicts_with = "minibatch_size_in_sequences", value_parser = positive)]
    pub(crate) batch_size: Option<u64>,

    /// Leaves out the last batch of the data if it is not full
    #[arg(long)]
    pub(crate) drop_last: bool,

    /// The shuffling window, in chunks, or in samples as in `50000samples`
    #[arg(long, value_name = "N[samples]")]
    pub(crate) window: Option<String>,

    /// Ends after this many sweeps; of a prepared dataset after this many traversals, each the next pass of its shuffles
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) sweeps: Option<u64>,

    /// Ends after this many samples, over all workers
    #[arg(long, value_name = "N", conflicts_with = "sweeps", value_parser = whole)]
    pub(crate) samples: Option<u64>,

    /// Ends after this many minibatches, or examples of a prepared dataset
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) take: Option<u64>,

    /// Largest number of sequences in a minibatch, over all workers; its size if no samples are given
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size_in_sequences: Option<u64>,

    /// Groups sequences of similar length: samples of a bucket, by default the size of minibatches
    #[arg(long, value_name = "SAMPLES", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) bucketing: Option<String>,

    /// Gives all workers the same number of minibatches: `drop`, `repeat` or `empty`
    #[arg(long, value_name = "HOW")]
    pub(crate) equal_steps: Option<String>,

    /// How workers share the data: `chunk` or `position`
    #[arg(long, value_name = "SHARING")]
    pub(crate) sharing: Option<String>,
}

/// The arguments about samples on a terminal.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PictureArgs {
    /// Draws no images on a terminal
    #[arg(long)]
    pub(crate) no_pictures: bool,

    /// Colours of images: `auto` (on a terminal, unless NO_COLOR is set), `always` or `never`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, hide_possible_values = true)]
    pub(crate) color: Color,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The arguments about workers.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArgs {
    /// Number of workers that share each minibatch; `auto` takes it and the rank from the launcher, such as torchrun or Slurm, and the
    /// name of one chooses it
    #[arg(long, visible_alias = "world", value_name = "N", default_value = "1", value_parser = workers)]
    pub(crate) workers: Workers,

    /// Which of them this is, from 0 [default: 0; all of them for `plan --step` and `plan --key`]
    #[arg(long, value_name = "R", value_parser = whole)]
    pub(crate) rank: Option<u64>,
}

impl InputArgs {
    /// The input and the arguments after it, as paths.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        std::iter::once(self.input.clone()).chain(self.arguments.iter().map(PathBuf::from)).collect()
    }
}

/// A number of workers, and the rank of this one if a launcher has started it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    pub(crate) n: u64,
    pub(crate) rank: Option<u64>,
}

impl WorkerArgs {
    /// The worker's rank.
    pub(crate) fn rank(self) -> u64 {
        self.rank_if_given().unwrap_or(0)
    }

    /// The worker's rank, if it is given or a launcher has started it.
    pub(crate) fn rank_if_given(self) -> Option<u64> {
        self.rank.or(self.workers.rank)
    }

    /// The demand of this worker for minibatches of `samples` samples.
    pub(crate) fn demand(self, samples: u64) -> Demand {
        Demand { samples, workers: self.workers.n, rank: self.rank() }
    }
}
