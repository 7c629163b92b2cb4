//! The command line: commands, options, help with examples.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use tesson::config::{Schedule, schedule};

use crate::applies;
use crate::dataset::{DatasetArgs, start};
use crate::failure::Failure;
use crate::kind::InputKind;

/// Turns datasets into minibatches: deterministic, exactly resumable, fast.
#[derive(Debug, Parser)]
#[command(name = "tesson", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The declaration of the command line. Help says which options are for which inputs.
pub(crate) fn command() -> clap::Command {
    applies::shown(Cli::command())
}

const EXIT_CODES: &str = "\
Exit code: 0, or 1 for an error of data or storage, or 2 for an error of usage or configuration.

Environment: TESSON_KERNELS, TESSON_INDEX_DIR and TFDS_DATA_DIR; see docs/options.md.

Examples:
  tesson info train.ctf --stream features:784 --stream labels:10:sparse
  tesson read reader.json --minibatch-size 256 --take 3";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Reads minibatches and prints them
    #[command(after_help = READ_EXAMPLES)]
    Read(ReadArgs),
    /// Says what a dataset holds: streams, chunks, sequences, lengths, padding
    #[command(after_help = INFO_EXAMPLES)]
    Info(InfoArgs),
    /// Shows which sequences come when, without reading data
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Shows one sequence as it would be delivered, where it lies and when it comes
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Validates every byte and lists every fault with its place
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Indexes a dataset and writes the index cache beside it
    #[command(after_help = INDEX_EXAMPLES)]
    Index(IndexArgs),
    /// Says what a configuration means, without opening anything
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Converts what can be read, and tables, to CNTK's text or binary format
    #[command(after_help = CONVERT_EXAMPLES, override_usage = "tesson convert [OPTIONS] <IN> [NAME=VALUE]... <OUT>")]
    Convert(ConvertArgs),
    /// Reads minibatches and says how fast they came
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
}

const READ_EXAMPLES: &str = "\
Without an end given (`--sweeps`, `--samples`, `--epochs`, `--take`, or in the configuration) one sweep is read.

Examples:
  tesson read train.ctf --stream features:784 --stream labels:10:sparse
  tesson read train.ctf --stream features:784 --alias features=x --randomize false --json
  tesson read reader.json --minibatch-size 128*2:1024 --epochs 3 --seed 7
  tesson read reader.json --workers 4 --rank 1 --sharing position --json
  tesson read train.cntk DataDir=data --section Train/reader --take 3
  tesson read reader.json --take 100 --save-state at100.json
  tesson read mnist/3.0.1 --split train[67%:84%] --take 20
  tesson read reader.json --state at100.json --take 100 --set deserializers[0].rules=cntk";

const INFO_EXAMPLES: &str = "\
Examples:
  tesson info train.ctf --stream features:784 --stream labels:10:sparse
  tesson info reader.json --minibatch-size 1024 --json
  tesson info mnist/3.0.1
  tesson info mnist --data-dir tensorflow_datasets
  tesson info mnist-train.tfrecord-00000-of-00001
  tesson info reader.json --minibatch-size 1024 --bucketing";

const PLAN_EXAMPLES: &str = "\
Each sequence is shown as chunk.sequence, both counted from 0 as stored. Truncated minibatches are shown row by row, with the
samples of each piece, as if every sequence were as long as the index says: what has faults may be shorter.

Examples:
  tesson plan train.ctf --stream features:784 --minibatch 256 --take 5
  tesson plan reader.json --minibatch-size-in-sequences 32 --take 5
  tesson plan mnist/3.0.1 --split train[67%:84%] --shuffle-files --read-config shuffle_seed=32 --take 20
  tesson plan mnist/3.0.1 --split train[44%:45%] --files
  tesson plan reader.json --workers 4 --rank 3 --equal-steps drop --sweeps 1
  tesson plan reader.json --minibatch 256 --workers 2 --rank 0 --sweeps 2 --json";

const SHOW_EXAMPLES: &str = "\
The values are those of the sweep: transforms have been applied with its random numbers.

Examples:
  tesson show train.ctf --stream features:784 --stream labels:10:sparse --key 4711
  tesson show reader.json --key 4711 --sweep 2 --json";

const BENCH_EXAMPLES: &str = "\
The first minibatch is not part of the rates. Without an end given one sweep is read.

Examples:
  tesson bench train.ctf --stream features:784 --stream labels:10:sparse --threads 1
  tesson bench reader.json --minibatch-size 4096 --seconds 10 --runs 3 --json";

const CHECK_EXAMPLES: &str = "\
Examples:
  tesson check train.ctf --stream features:784 --stream labels:10:sparse
  tesson check train.ctf --stream labels:10:sparse --rules cntk --json
  tesson check mnist-train.tfrecord-00000-of-00001 mnist-test.tfrecord-00000-of-00001
  tesson check mnist/3.0.1";

const INDEX_EXAMPLES: &str = "\
A source with `cacheIndex` uses the cache as long as the file does not change. TFRecord files have an index each.

Examples:
  tesson index train.ctf --stream features:784 --stream labels:10:sparse
  tesson index reader.json --json
  tesson index mnist-train.tfrecord-00000-of-00001 --cache-dir indexes
  tesson index mnist/3.0.1";

const CONFIG_EXAMPLES: &str = "\
The answer is {\"tree\": …, \"readers\": {path: …}}: variables replaced, options typed, defaults filled in. Options that
nobody reads are told on standard error.

Examples:
  tesson config train.cntk
  tesson config train.cntk DataDir=data Train=[reader=[randomize=false]]
  tesson config train.cntk --set Train.reader.randomizationSeed=7 --section Train/reader
  tesson config train.cntk --section Train/reader --to toml";

const CONVERT_EXAMPLES: &str = "\
OUT appears when it is complete, replaces an older file with --force alone, and never an input. The formats are known by their names: ctf, txt (text), cbf (binary), csv, tsv, svm, libsvm, jsonl; others by --from and --to.
Files of records (tfrecord, array_record) are converted to each other, record by record.
In tables each row is a sequence of one sample, in JSON lines of one or more; with --key-column rows and lines of a key that
follow each other are one sequence.

Examples:
  tesson convert train.ctf train.cbf --stream features:784 --stream labels:10:sparse --verify
  tesson convert train.cbf train.ctf
  tesson convert train.csv train.cbf --label-column 0 --one-hot 10
  tesson convert train.csv train.ctf --header --key-column id --streams x=a,b,c --streams y=label
  tesson convert train.svm train.cbf --one-hot 2 --dim 95589
  tesson convert train.jsonl train.ctf --label-column class --one-hot 5
  tesson convert mnist.tfrecord mnist.array_record --verify
  tesson convert mnist.array_record mnist.tfrecord";

/// What is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputArgs {
    /// A configuration (*.cntk, *.bs, *.json, *.toml), a file in CNTK's binary format, or one in its text format with its
    /// streams as options; files of records (*.tfrecord*, *.array_record*) where that makes sense
    #[arg(value_name = "CONFIG|FILE")]
    pub(crate) input: PathBuf,

    /// What the input is, looked at once.
    #[arg(skip = InputKind::Text)]
    pub(crate) kind: InputKind,

    /// Behind a BrainScript file, as on CNTK's command line: `DataDir=data`, `Train=[reader=[randomize=false]]`
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    /// A stream of the file: its name, the number of values in a sample, and `sparse` if it is
    #[arg(long = "stream", value_name = "NAME[:DIM[:dense|sparse]]", help_heading = "Input")]
    pub(crate) streams: Vec<String>,

    /// The name that a stream has in the file, where it has another
    #[arg(long = "alias", value_name = "STREAM=NAME", help_heading = "Input")]
    pub(crate) aliases: Vec<String>,

    /// How strictly text is read: `lenient` (default), or `cntk`, fault for fault
    #[arg(long, value_name = "RULES", help_heading = "Input")]
    pub(crate) rules: Option<String>,

    /// Faults of data that are forgiven before reading fails
    #[arg(long, value_name = "N", help_heading = "Input", value_parser = whole)]
    pub(crate) max_errors: Option<u64>,

    /// Goes on where a stream occurs nowhere in the data, or its samples have another size than is given
    #[arg(long, help_heading = "Input")]
    pub(crate) allow_empty: bool,

    /// A file to which every forgiven fault is appended as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) quarantine: Option<String>,

    /// The folder of relative file names in a configuration, by default the working directory
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(crate) base_dir: Option<PathBuf>,

    /// Worker threads; 0 is one a core
    #[arg(long, value_name = "N", help_heading = "Resources", value_parser = whole)]
    pub(crate) threads: Option<u64>,

    /// Memory for everything together, such as 2GiB
    #[arg(long, value_name = "BYTES", help_heading = "Resources")]
    pub(crate) memory_limit: Option<String>,

    /// Answers in JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which reader of a configuration, and how it is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// The reader in a BrainScript file, or a section within a tree; by default the first reader, or the tree
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(crate) section: Option<String>,

    /// Sets a value of the configuration by its path, such as `Train.reader.randomize=false` or `deserializers[0].file=x`
    #[arg(long = "set", value_name = "PATH=VALUE", help_heading = "Input")]
    pub(crate) set: Vec<String>,

    /// Reads `$env:NAME$` and `$name|value$` as variables in BrainScript
    #[arg(long, help_heading = "Input")]
    pub(crate) extended_variables: bool,
}

/// In which order it is read, and how far.
#[derive(Debug, Args)]
#[command(next_help_heading = "Order")]
pub(crate) struct OrderArgs {
    /// The order of a sweep: `true` (shuffled within a window), `false` (as stored) or `global`
    #[arg(long, value_name = "ORDER", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) randomize: Option<String>,

    /// Seed of the order
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) seed: Option<u64>,

    /// The shuffling window, in chunks, or in samples as in `50000samples`
    #[arg(long, value_name = "N[samples]")]
    pub(crate) window: Option<String>,

    /// Ends after this many sweeps; of a prepared dataset after this many traversals, each the next pass of its shuffles
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) sweeps: Option<u64>,

    /// Ends after this many samples, over all workers
    #[arg(long, value_name = "N", conflicts_with = "sweeps", value_parser = whole)]
    pub(crate) samples: Option<u64>,

    /// Sequences that a minibatch may hold over all workers; its size if no samples are given
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size_in_sequences: Option<u64>,

    /// Puts sequences of similar length together: samples of a bucket, by default the size of minibatches
    #[arg(long, value_name = "SAMPLES", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) bucketing: Option<String>,

    /// Gives all workers the same number of minibatches: `drop`, `repeat` or `empty` says how
    #[arg(long, value_name = "HOW")]
    pub(crate) equal_steps: Option<String>,

    /// How workers share the data: `chunk` or `position`
    #[arg(long, value_name = "SHARING")]
    pub(crate) sharing: Option<String>,
}

/// Whose share is read.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArgs {
    /// Number of workers that share each minibatch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub(crate) workers: u64,

    /// Which of them this is, from 0
    #[arg(long, value_name = "R", default_value_t = 0, value_parser = whole)]
    pub(crate) rank: u64,
}

impl WorkerArgs {
    /// Refuses a rank that no worker has.
    pub(crate) fn check(self) -> Result<(), Failure> {
        let WorkerArgs { workers, rank } = self;
        let expected = match workers {
            1 => "expected 0, as there is one worker; give their number with `--workers N`".to_owned(),
            n => format!("expected a rank from 0 to {}, as `--workers` is {n}", n - 1),
        };
        if rank < workers { Ok(()) } else { Err(Failure::Usage(format!("--rank: found {rank}, {expected}"))) }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    #[command(flatten)]
    pub(crate) dataset: DatasetArgs,

    /// Begins a prepared dataset at this place of its stream, from 0: `1000`, or, with an epoch before it, `2:1000`
    #[arg(long, value_name = "[EPOCH:]PLACE", conflicts_with_all = ["at", "state"], value_parser = start,
        help_heading = "Prepared datasets")]
    pub(crate) start_at: Option<(u64, u64)>,

    /// Samples in a minibatch over all workers, or a schedule over epochs such as 128*2:1024; 256, or as configured
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule_of, allow_hyphen_values = true)]
    pub(crate) minibatch_size: Option<Schedule>,

    /// Ends after this many epochs, each of `epochSize` samples or one sweep; minibatches then end with their epoch
    #[arg(long, value_name = "N", conflicts_with_all = ["sweeps", "samples"], value_parser = whole)]
    pub(crate) epochs: Option<u64>,

    /// Ends after this many minibatches, or examples of a prepared dataset
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) take: Option<u64>,

    /// Goes on from a saved state
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    /// Saves the state after the last minibatch
    #[arg(long, value_name = "FILE")]
    pub(crate) save_state: Option<PathBuf>,

    /// Goes on from a state of a prepared dataset even if its shards have other names now
    #[arg(long, requires = "state", help_heading = "Prepared datasets")]
    pub(crate) force: bool,

    /// Saves with the state of a prepared dataset which examples wait in shuffles: going there costs nothing then
    #[arg(long, requires = "save_state", help_heading = "Prepared datasets")]
    pub(crate) rings: bool,

    /// Adds how the sequences of each stream lie side by side (with --json)
    #[arg(long, requires = "json")]
    pub(crate) layout: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    #[command(flatten)]
    pub(crate) dataset: DatasetArgs,

    /// Samples in the minibatches whose padding is computed; 256, or as configured
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    #[command(flatten)]
    pub(crate) dataset: DatasetArgs,

    /// Shows so many traversals of a prepared dataset, each the next pass of its shuffles
    #[arg(long, value_name = "N", help_heading = "Prepared datasets", conflicts_with_all = ["sweeps", "files"], value_parser = whole)]
    pub(crate) epochs: Option<u64>,

    /// Shows examples of a prepared dataset by their numbers in their splits, not by `tfds_id`
    #[arg(long, help_heading = "Prepared datasets")]
    pub(crate) numbers: bool,

    /// Shows what is read of each file of a prepared dataset
    #[arg(long, help_heading = "Prepared datasets",
        conflicts_with_all = ["numbers", "take", "sweeps", "op", "shuffle_files", "global_seed"])]
    pub(crate) files: bool,

    /// Samples in a minibatch over all workers; 256, or as configured
    #[arg(long, visible_alias = "minibatch-size", value_name = "N", value_parser = positive)]
    pub(crate) minibatch: Option<u64>,

    /// Ends after this many minibatches, or examples of a prepared dataset
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) take: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    /// The sequence's key
    #[arg(long, value_name = "K")]
    pub(crate) key: String,

    /// The sweep, counted from 0, in which it is delivered
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole)]
    pub(crate) sweep: u64,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) order: OrderArgs,

    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    /// Samples in a minibatch over all workers; 256, or as configured
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) minibatch_size: Option<u64>,

    /// Ends after this many minibatches
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) take: Option<u64>,

    /// Ends after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// How often all of it is done, each time from the start
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub(crate) runs: u64,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Lists so many faults at most; all are counted
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = whole)]
    pub(crate) list: u64,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// The folder for the indexes of files of records, by default beside each
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A configuration (*.cntk, *.bs, *.json, *.toml)
    #[arg(value_name = "CONFIG")]
    pub(crate) input: PathBuf,

    /// Behind a BrainScript file, as on CNTK's command line: `DataDir=data`, `Train=[reader=[randomize=false]]`
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    /// Converts one reader to the form of dictionaries, with every default of BrainScript written out
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Option<Form>,

    /// Answers in JSON on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forms of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    Json,
    Toml,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// The file to be written: the last of the words behind the input, which may be a configuration's `NAME=VALUE`.
    #[arg(skip)]
    pub(crate) output: PathBuf,

    /// The input's format, if its name does not say it: csv, tsv, svm, jsonl, ctf, cbf, tfrecord, array_record
    #[arg(long, value_name = "FORMAT", help_heading = "Conversion")]
    pub(crate) from: Option<String>,

    /// The output's format, if its name does not say it: ctf or cbf; of records tfrecord or array_record
    #[arg(long, value_name = "FORMAT", help_heading = "Conversion")]
    pub(crate) to: Option<String>,

    /// Type of the values that are written, by default that of the input
    #[arg(long, value_name = "TYPE", value_parser = ["float", "double"], help_heading = "Conversion")]
    pub(crate) precision: Option<String>,

    /// A chunk of a binary file is closed when it has so many bytes; by default the input makes about 64 chunks, each from
    /// 4KiB to 32MiB, so that workers can share them
    #[arg(long, value_name = "BYTES", help_heading = "Conversion")]
    pub(crate) chunk_size: Option<String>,

    /// Records in a chunk of an ArrayRecord file, by default 1; a single one costs decompressing all of them
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

    /// What stands between the fields of a CSV file; `tab` for tabs
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

    /// The column whose value the rows of a sequence share
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    pub(crate) key_column: Option<String>,

    /// A stream and its columns, such as `features=1-784`; by default the rest is `features`
    #[arg(long = "streams", value_name = "NAME=COLUMNS", help_heading = "Tables")]
    pub(crate) stream_columns: Vec<String>,

    /// Columns of sparse features, by default as many as occur
    #[arg(long, value_name = "N", help_heading = "Tables", value_parser = positive)]
    pub(crate) dim: Option<u64>,

    /// Indices of a libsvm file count from 0
    #[arg(long, help_heading = "Tables")]
    pub(crate) zero_based: bool,
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a whole number from 0 to 2^64-1"))
}

fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| format!("found `{text}`, expected a whole number from 1 to 2^64-1"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| format!("found `{text}`, expected a number of seconds above 0"))
}

fn schedule_of(text: &str) -> Result<Schedule, String> {
    schedule::parse(text).map_err(|e| e.what)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn examples(help: &str) -> Vec<&str> {
        help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|l| l.starts_with("tesson ")).collect()
    }

    #[test]
    fn every_command_has_examples_and_they_parse() {
        let mut command = Cli::command();
        command.build();
        for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = examples(&help);
            assert!(!examples.is_empty(), "{} has no examples", sub.get_name());
            for example in examples {
                assert!(example.starts_with(&format!("tesson {} ", sub.get_name())), "{example}");
                if let Err(e) = Cli::try_parse_from(example.split_whitespace()) {
                    panic!("{example}: {e}");
                }
            }
        }
        for example in examples(EXIT_CODES) {
            assert!(Cli::try_parse_from(example.split_whitespace()).is_ok(), "{example}");
        }
    }

    #[test]
    fn the_declaration_is_consistent() {
        Cli::command().debug_assert();
    }
}
