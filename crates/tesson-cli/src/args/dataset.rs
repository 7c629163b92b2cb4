//! Options on datasets prepared by TensorFlow Datasets.

use std::path::PathBuf;

use clap::Args;

/// The arguments for a dataset prepared by TensorFlow Datasets.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Prepared datasets")]
pub(crate) struct DatasetArgs {
    /// Which examples: `train`, `train[10%:]+test`, `train[3shard]`; by default all splits
    #[arg(long, value_name = "SPLIT")]
    pub(crate) split: Vec<String>,

    /// Shuffles the files
    #[arg(long)]
    pub(crate) shuffle_files: bool,

    /// A field of ReadConfig, such as `shuffle_seed=32` or `interleave_cycle_length=1`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) read_config: Vec<String>,

    /// Operations on the examples, applied in this order: `shuffle=1000`, `shuffle={"buffer_size": 1000, "seed": 3}`,
    /// `repeat=2`, `skip=5`, `take=20`, `shard={"num_shards": 2, "index": 0}`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) op: Vec<String>,

    /// The global seed, as for `tf.random.set_seed`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) global_seed: Option<i128>,

    /// How damaged records are handled: `fail`, `skip` (left out) or `stop_shard` (the file ends there)
    #[arg(long, value_name = "POLICY", value_parser = ["fail", "skip", "stop_shard"], default_value = "fail")]
    pub(crate) on_damage: String,

    /// Reads the examples at these positions of the split instead of a stream: `3,0,2` or `all`
    #[arg(long, value_name = "POSITIONS")]
    pub(crate) at: Option<String>,

    /// Looks for the dataset by its name (`mnist`, `ds/config:1.*.*`) in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}
