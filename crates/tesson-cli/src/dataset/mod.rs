//! The commands on datasets prepared by TensorFlow Datasets: on a version directory, on several that are read as one, or
//! on a name with `--data-dir`.

mod check;
mod info;
mod plan;
mod read;

use std::path::{Path, PathBuf};

use tesson_tfds::info::Dataset;

pub(crate) use check::{check, files};
pub(crate) use info::run as info;
pub(crate) use plan::run as plan;
pub(crate) use read::run as read;

use crate::args::Common;
use crate::data;
use crate::failure::Failure;

/// Opens the dataset that the arguments name.
fn open(Common { input, dataset: args, .. }: &Common) -> Result<Dataset, Failure> {
    let format = args.config()?.file_format;
    if let (Some(data_dir), Some(other)) = (&args.data_dir, input.arguments.first()) {
        let what = format!(
            "found `{other}` after the name of a dataset in {}, expected one name",
            data_dir.display()
        );
        return Err(Failure::Usage(format!("--data-dir: {what}; give several folders without `--data-dir`")));
    }
    let directories: Vec<PathBuf> = match &args.data_dir {
        None => input.paths(),
        Some(data_dir) => vec![find(&input.input, data_dir)?],
    };
    Ok(tesson_prepared::open_all(&data::stores(), &directories, format)?)
}

/// The version directory of a name.
fn find(name: &Path, data_dir: &Path) -> Result<PathBuf, Failure> {
    Ok(tesson_prepared::find(&data::stores(), &name.to_string_lossy(), &[data_dir])?)
}
