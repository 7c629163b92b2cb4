//! The commands, and the options that each has by itself.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use tesson::config::Schedule;
use tesson_engine::atomic_file::Existing;
use tesson_image::JpegDecoding;

use super::common::{Common, PictureArgs};
use super::examples::*;
use super::values::{positive, schedule, seconds, start, whole};

/// The text that `--version` prints after the name; `-V` prints the number alone.
const LONG_VERSION: &str = match tesson_image::jpeg_decoding() {
    JpegDecoding::Simd => concat!(env!("CARGO_PKG_VERSION"), "\nJPEG is decoded with SIMD"),
    JpegDecoding::Plain => {
        concat!(
            env!("CARGO_PKG_VERSION"),
            "\nJPEG is decoded without SIMD: `nasm` was missing when this was built"
        )
    }
    JpegDecoding::Rust => concat!(
        env!("CARGO_PKG_VERSION"),
        "\nJPEG is decoded in Rust (feature `pure-rust`): pixels differ from those of libjpeg-turbo"
    ),
    _ => concat!(env!("CARGO_PKG_VERSION"), "\nJPEG is not decoded: built without the feature `codecs`"),
};

/// Turns datasets into minibatches: deterministic, exactly resumable, fast.
#[derive(Debug, Parser)]
#[command(name = "tesson", version, long_version = LONG_VERSION, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Data(Box<DataCommand>),
    /// Says what saved states are, what differs between them, and merges those of all ranks
    #[command(after_help = STATE_EXAMPLES)]
    State(StateArgs),
    /// Prints the script that completes commands and options in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Prints the manual page, or writes it and one for each command into a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The folder, which exists
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// The commands that take data.
#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Reads minibatches and prints them
    #[command(after_help = READ_EXAMPLES)]
    Read(ReadArgs),
    /// Describes a dataset: streams, chunks, sequences, lengths, padding
    #[command(after_help = INFO_EXAMPLES)]
    Info(InfoArgs),
    /// Shows which sequences come when, without reading data
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Shows one sequence as it would be delivered, with its location and its position in the order
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Validates every byte and lists every fault with its location
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Indexes a dataset and writes the index cache beside it
    #[command(after_help = INDEX_EXAMPLES)]
    Index(IndexArgs),
    /// Shows the resolved configuration, without opening any data
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Converts any input, or a table, to CNTK's text or binary format; speech labels to label files
    #[command(after_help = CONVERT_EXAMPLES, override_usage = "tesson convert [OPTIONS] <CONFIG|FILE> [NAME=VALUE]... <OUT>")]
    Convert(ConvertArgs),
    /// Writes one page that shows the data, the order of a run and what it would wait for; or compares two such pages
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Measures how fast minibatches are read
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
}

// The command's own options come before the shared ones; otherwise they would get the last heading of those.

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// Begins a prepared dataset at this position of its stream, from 0: `1000`, or, with an epoch before it, `2:1000`
    #[arg(long, value_name = "[EPOCH:]POSITION", conflicts_with_all = ["at", "state"], value_parser = start,
        help_heading = "Prepared datasets")]
    pub(crate) start_at: Option<(u64, u64)>,

    /// Samples in a minibatch over all workers, or a schedule over epochs such as 128*2:1024; 256, or as configured
    #[arg(long, visible_alias = "minibatch", value_name = "SCHEDULE", value_parser = schedule, allow_hyphen_values = true)]
    pub(crate) minibatch_size: Option<Schedule>,

    /// Ends after this many epochs, each of `epochSize` samples or one sweep; minibatches then end with their epoch
    #[arg(long, value_name = "N", conflicts_with_all = ["sweeps", "samples"], value_parser = whole)]
    pub(crate) epochs: Option<u64>,

    /// Resumes from a saved state
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    /// Saves the state after the last minibatch
    #[arg(long, value_name = "FILE")]
    pub(crate) save_state: Option<PathBuf>,

    /// Draws the images of the first minibatch, at most 256, with the numbers of their classes, into a PNG file
    #[arg(long, value_name = "FILE")]
    pub(crate) preview: Option<PathBuf>,

    /// Resumes from a state of a prepared dataset whose shards have been renamed since it was saved
    #[arg(long, requires = "state", help_heading = "Prepared datasets")]
    pub(crate) force: bool,

    /// Saves the contents of shuffle buffers with the state of a prepared dataset, so that resuming is immediate
    #[arg(long, requires = "save_state", help_heading = "Prepared datasets")]
    pub(crate) include_buffers: bool,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Adds the layout of each stream: which sequences share a row (with --json)
    #[arg(long, requires = "json")]
    pub(crate) layout: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InfoArgs {
    /// Adds the figures of a report: distributions of values, classes, and what is out of the ordinary, of a sample
    #[arg(long)]
    pub(crate) stats: bool,

    /// Samples in the minibatches whose padding is computed; 256, or as configured
    #[arg(long, visible_alias = "minibatch", value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size: Option<u64>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Shows this many traversals of a prepared dataset, each the next pass of its shuffles
    #[arg(long, value_name = "N", help_heading = "Prepared datasets", conflicts_with_all = ["sweeps", "files"], value_parser = whole)]
    pub(crate) epochs: Option<u64>,

    /// Shows examples of a prepared dataset by their numbers in their splits, not by `tfds_id`
    #[arg(long, help_heading = "Prepared datasets")]
    pub(crate) numbers: bool,

    /// Shows which records of each file of a prepared dataset are read
    #[arg(long, help_heading = "Prepared datasets",
        conflicts_with_all = ["numbers", "take", "sweeps", "op", "shuffle_files", "global_seed"])]
    pub(crate) files: bool,

    /// Samples in a minibatch over all workers; 256, or as configured
    #[arg(long, visible_alias = "minibatch-size", value_name = "N", value_parser = positive)]
    pub(crate) minibatch: Option<u64>,

    /// Shows which sequences this minibatch holds, counted from 0 at the start of the data, with keys and locations
    #[arg(long, value_name = "N", conflicts_with_all = ["take", "key"], value_parser = whole)]
    pub(crate) step: Option<u64>,

    /// Shows in which minibatches of a sweep the sequences with this key come
    #[arg(long, value_name = "K", conflicts_with = "take")]
    pub(crate) key: Option<String>,

    /// Shows the bytes that all workers would read in a sweep, for several orders, without reading them
    #[arg(long, conflicts_with_all = ["take", "key", "step"])]
    pub(crate) io: bool,

    /// Prints the digest of the order, or compares it with that of another machine or of a report
    #[arg(long, value_name = "DIGEST", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["take", "key", "step", "io"])]
    pub(crate) certificate: Option<String>,

    /// The sweep of `--key`, counted from 0 [default: 0]
    #[arg(long, value_name = "S", value_parser = whole)]
    pub(crate) sweep: Option<u64>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The sequence's key
    #[arg(long, value_name = "K")]
    pub(crate) key: String,

    /// The sweep, counted from 0, in which it is delivered
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole)]
    pub(crate) sweep: u64,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Samples in a minibatch over all workers; 256, or as configured
    #[arg(long, visible_alias = "minibatch", value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size: Option<u64>,

    /// Ends after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Number of runs, each from the start
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub(crate) runs: u64,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The page to write; `report.html` unless figures are printed with `--json`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Looks at every example instead of a sample
    #[arg(long)]
    pub(crate) all: bool,

    /// Leaves out how fast the data are read, so that equal data give equal reports
    #[arg(long)]
    pub(crate) no_timing: bool,

    /// Samples in a minibatch over all workers; 256, or as configured
    #[arg(long, visible_alias = "minibatch", value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size: Option<u64>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Lists at most this many faults; all are counted
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = whole)]
    pub(crate) list: u64,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// The folder for the indexes of files of records, by default beside each
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Converts one reader to the form of dictionaries, with every default of BrainScript written out
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Option<Form>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Forms of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    Json,
    Toml,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The file to be written: the last of the words after the input, which may be a configuration's `NAME=VALUE`.
    #[arg(skip)]
    pub(crate) output: PathBuf,

    /// The input's format, if its name does not show it: csv, tsv, svm, jsonl, ctf, cbf, tfrecord, array_record
    #[arg(long, value_name = "FORMAT", help_heading = "Conversion")]
    pub(crate) from: Option<String>,

    /// The output's format, if its name does not show it: ctf or cbf; for speech labels mlf or bmlf, the binary form; for
    /// records tfrecord or array_record
    #[arg(long, value_name = "FORMAT", help_heading = "Conversion")]
    pub(crate) to: Option<String>,

    /// Type of the values that are written, to which they are rounded; by default that of the input, and for tables float,
    /// which must hold every number
    #[arg(long, value_name = "TYPE", value_parser = ["float", "double"], help_heading = "Conversion")]
    pub(crate) precision: Option<String>,

    /// Size in bytes at which a chunk of a binary file is closed; by default the input makes about 64 chunks, each from
    /// 4KiB to 32MiB, so that workers can share them
    #[arg(long, value_name = "BYTES", help_heading = "Conversion")]
    pub(crate) chunk_size: Option<String>,

    /// Records in a chunk of an ArrayRecord file, by default 1; reading a single record decompresses the whole chunk
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Conversion")]
    pub(crate) group_size: Option<u32>,

    /// Leaves the chunks of an ArrayRecord file uncompressed
    #[arg(long, help_heading = "Conversion")]
    pub(crate) uncompressed: bool,

    /// Replaces OUT if it exists; an input is never replaced
    #[arg(long, help_heading = "Conversion")]
    pub(crate) force: bool,

    /// Reads both files again and compares them bit by bit
    #[arg(long, help_heading = "Conversion")]
    pub(crate) verify: bool,

    /// The first row of a CSV file has the names of the columns
    #[arg(long, help_heading = "Tables")]
    pub(crate) header: bool,

    /// The separator of fields in a CSV file; `tab` for tabs
    #[arg(long, value_name = "CHARACTER", help_heading = "Tables")]
    pub(crate) delimiter: Option<String>,

    /// The column of the stream `labels`, by number from 0 or by name
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    pub(crate) label_column: Option<String>,

    /// Labels are classes from 0 to N-1, written as sparse samples with a 1
    #[arg(long, value_name = "N", help_heading = "Tables", value_parser = positive)]
    pub(crate) one_hot: Option<u64>,

    /// Writes features as sparse samples of the values that are not 0
    #[arg(long, help_heading = "Tables")]
    pub(crate) sparse: bool,

    /// The column that has one value in all rows of a sequence
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    pub(crate) key_column: Option<String>,

    /// A stream and its columns, such as `features=1-784`; by default the rest is `features`
    #[arg(long = "streams", value_name = "NAME=COLUMNS", help_heading = "Tables")]
    pub(crate) stream_columns: Vec<String>,

    /// Number of columns of sparse features, by default as many as occur
    #[arg(long, value_name = "N", help_heading = "Tables", value_parser = positive)]
    pub(crate) dim: Option<u64>,

    /// Indices of a libsvm file count from 0
    #[arg(long, help_heading = "Tables")]
    pub(crate) zero_based: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// Files with states: of `--save-state`, or the JSON of a `state_dict()`
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Writes the one state from which any number of ranks resumes, made of those of all ranks
    #[arg(long, value_name = "OUT")]
    pub(crate) merge: Option<PathBuf>,

    /// Prints a line of JSON for each state
    #[arg(long)]
    pub(crate) json: bool,
}

impl Command {
    /// True if answers are JSON.
    pub(crate) fn is_json(&mut self) -> bool {
        match self {
            Command::Data(command) => command.common().input.json,
            Command::State(args) => args.json,
            Command::Completions { .. } | Command::Man { .. } => false,
        }
    }
}

impl DataCommand {
    /// The options that all commands share.
    pub(crate) fn common(&mut self) -> &mut Common {
        match self {
            DataCommand::Read(args) => &mut args.common,
            DataCommand::Info(args) => &mut args.common,
            DataCommand::Plan(args) => &mut args.common,
            DataCommand::Show(args) => &mut args.common,
            DataCommand::Check(args) => &mut args.common,
            DataCommand::Index(args) => &mut args.common,
            DataCommand::Config(args) => &mut args.common,
            DataCommand::Convert(args) => &mut args.common,
            DataCommand::Report(args) => &mut args.common,
            DataCommand::Bench(args) => &mut args.common,
        }
    }
}

impl ConvertArgs {
    /// Replaces or keeps an output that exists.
    pub(crate) fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_says_how_jpeg_is_decoded() {
        let (version, decoding) = LONG_VERSION.split_once('\n').expect("two lines");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert_eq!(decoding, tesson_image::jpeg_decoding().describe());
    }
}
