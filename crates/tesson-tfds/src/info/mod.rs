//! The description of a dataset in its own files: names and versions, dataset_info.json, shard files, labels
//! (spec/tfds.md §1).

mod dataset;
mod dataset_info;
mod labels;
mod name;
mod resolve;
mod template;
mod version;

pub use dataset::{Dataset, Shard, Split, rounded_lengths};
pub use dataset_info::{About, DatasetInfo, FileFormat, Nest, SplitInfo};
pub use labels::{file_stem, label_file, labels};
pub use name::DatasetName;
pub use resolve::{Folders, Resolved, names, resolve, versions};
pub use template::Template;
pub use version::{Version, VersionPattern};
