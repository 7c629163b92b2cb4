//! The figures of a report: the JSON of `tesson report --json`, and all that its page draws.

use serde::{Deserialize, Serialize};

use crate::faults::Faults;
use crate::lengths::{Lengths, Paddings};
use crate::reading::Reading;

/// The version of this form. A report of another version is not compared.
pub const REPORT_VERSION: u32 = 1;

/// All figures of a report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub report_version: u32,
    /// The version of Tesson that made it.
    pub tesson: String,
    /// The input as a whole.
    pub card: Card,
    /// Why figures are missing, if collecting was interrupted or failed.
    pub unfinished: Option<String>,
    /// Samples of each sequence.
    pub lengths: Option<Lengths>,
    /// The cost of padding.
    pub padding: Option<Paddings>,
    /// The streams.
    pub streams: Vec<StreamFigures>,
    /// Some examples, to be looked at.
    pub examples: Vec<Example>,
    /// Faults of the data.
    pub faults: Option<Faults>,
    /// The order of a run.
    pub order: Option<OrderFigures>,
    /// The speed of reading.
    pub reading: Option<Reading>,
    /// Facts that another machine can check.
    pub certificate: Option<Certificate>,
}

/// The input as a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The input as it was given.
    pub input: String,
    /// Its kind in words.
    pub kind: String,
    /// The command that made the report.
    pub command: String,
    /// The call of Python that reads the input; empty if unknown.
    pub python: String,
    /// The first files.
    pub files: Vec<FileFigures>,
    /// Number of files.
    pub n_files: u64,
    /// Bytes of the data in storage, if known.
    pub bytes: Option<u64>,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of examples, that is sequences.
    pub examples: u64,
    /// Number of samples of a sweep.
    pub samples: u64,
    /// Examples that were looked at for the figures of streams.
    pub sampled: u64,
    /// A hash of the files, as states record it.
    pub corpus: String,
    /// A hash of the options that change values, as states record it.
    pub options: String,
}

impl Card {
    /// Bytes of the listed files; 0 where there are more, or where they are unknown.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.bytes).sum::<Option<u64>>();
        sizes.filter(|_| self.n_files == self.files.len() as u64).unwrap_or(0)
    }
}

/// A file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FileFigures {
    /// Its name.
    pub name: String,
    /// Its size, if the store knows it.
    pub bytes: Option<u64>,
}

/// The figures of a stream, of the examples that were looked at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamFigures {
    /// Its name.
    pub name: String,
    /// NumPy's name of the type.
    pub dtype: String,
    /// The shape of a sample; 0 stands for any size.
    pub shape: Vec<usize>,
    /// True for sparse samples.
    pub sparse: bool,
    /// Samples looked at.
    pub samples: u64,
    /// Its values.
    #[serde(flatten)]
    pub numbers: Numbers,
    /// How values are distributed.
    pub histogram: Option<Histogram>,
    /// How many samples each example has.
    pub lengths: Option<Histogram>,
    /// Classes, if the values are some.
    pub classes: Option<Classes>,
    /// Lengths of texts and byte strings.
    pub strings: Option<StringFigures>,
    /// Number of columns in which all samples have the same value.
    pub constant_columns: u64,
    /// Number of columns that were compared.
    pub columns: u64,
    /// Findings out of the ordinary.
    pub suspicious: Vec<Suspicion>,
}

/// The values of a stream, of the examples that were looked at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Numbers {
    /// Values looked at; of sparse samples their entries.
    pub values: u64,
    /// Values that are 0.
    pub zeros: u64,
    /// Values that are not a number.
    pub nan: u64,
    /// Infinite values.
    pub infinite: u64,
    /// The smallest finite value.
    pub min: Option<f64>,
    /// The largest finite value.
    pub max: Option<f64>,
    /// The mean of the finite values.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
    /// The share of columns with an entry, of sparse samples.
    pub fill: Option<f64>,
}

/// Counts of equally wide bins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Where the first bin begins.
    pub low: f64,
    /// Where the last bin ends.
    pub high: f64,
    /// True for whole numbers: the last one is `high - 1`.
    pub whole: bool,
    /// The bins.
    pub counts: Vec<u64>,
    /// Values below the first bin.
    pub below: u64,
    /// Values above the last one.
    pub above: u64,
}

/// Classes of a stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Classes {
    /// Classes that occur, the most frequent first.
    pub found: Vec<ClassCount>,
    /// Number of classes that occur.
    pub occurring: u64,
    /// Number of classes that the stream can have, if declared.
    pub declared: Option<u64>,
    /// Number of classes that occur once.
    pub once: u64,
    /// Counts by file, of the classes in `found`.
    pub by_file: Vec<FileClasses>,
}

/// A class and how often it occurs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassCount {
    /// Its name, or its number.
    pub name: String,
    /// Samples of this class.
    pub n: u64,
}

/// The classes in a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FileClasses {
    /// The file's name.
    pub file: String,
    /// Samples of each class, in the order of [`Classes::found`].
    pub counts: Vec<u64>,
}

/// Lengths of texts and byte strings, in bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StringFigures {
    /// Strings without a byte.
    pub empty: u64,
    /// The shortest.
    pub shortest: u64,
    /// The longest.
    pub longest: u64,
    /// The mean.
    pub mean: f64,
}

/// Something out of the ordinary.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Suspicion {
    /// The finding, in a sentence.
    pub what: String,
    /// The key of the first example with it, if it is about single examples.
    pub key: Option<String>,
}

/// An example to be looked at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Example {
    /// Its key.
    pub key: String,
    /// Its streams.
    pub views: Vec<View>,
}

/// A stream of an example, drawn or written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct View {
    /// The stream's name.
    pub stream: String,
    /// The number of samples and the shape, in words.
    pub caption: String,
    /// How `content` is to be understood.
    pub form: Form,
    /// A data URI, points of a line from 0 to 1, or text.
    pub content: String,
}

/// The form of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Form {
    /// An image, as a data URI.
    Image,
    /// Samples over time, as an image of columns (a data URI).
    Map,
    /// Values over time, as blank-separated heights from 0 to 100.
    Wave,
    /// Words.
    #[default]
    Text,
}

/// The order of a sweep.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderFigures {
    /// The run's order, then others to compare it with.
    pub orders: Vec<OrderPanel>,
    /// Examples that the shuffle buffer in `orders` holds.
    pub buffer: u64,
    /// The examples that each rank reads.
    pub ranks: Vec<RankFigures>,
    /// Number of ranks.
    pub workers: u64,
    /// True if no number of ranks was given, so that these serve as an example.
    pub ranks_are_assumed: bool,
    /// True if all ranks make as many steps.
    pub has_equal_steps: bool,
    /// The stream whose classes the mixes show.
    pub class_stream: Option<String>,
    /// The classes of the mixes.
    pub classes: Vec<String>,
    /// How minibatches are made of the order, if in buckets or of pieces.
    pub grouping: Option<GroupingFigures>,
}

/// How minibatches are made of an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupingFigures {
    /// It in words.
    pub words: String,
    /// True if they are made of pieces of examples, false if of whole ones in buckets.
    pub is_cut: bool,
}

/// An order, seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderPanel {
    /// Its name.
    pub name: String,
    /// Position in storage of some examples, evenly spaced over the sweep; both from 0 to 1, in thousandths.
    pub points: Vec<[u16; 2]>,
    /// The share of neighbours in the order by their distance in storage, in bins from 0 to 1.
    pub distances: Vec<f64>,
    /// The mean distance; 1/3 for a uniform shuffle.
    pub mean_distance: f64,
    /// The share of each class in windows along the sweep.
    pub mix: Vec<Vec<f64>>,
    /// The mean difference of the mix of windows from that of all examples, from 0 to 1.
    pub mix_difference: Option<f64>,
}

/// The examples that a rank reads in a sweep.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankFigures {
    /// Its number.
    pub rank: u64,
    /// Minibatches.
    pub steps: u64,
    /// Examples.
    pub examples: u64,
    /// Samples.
    pub samples: u64,
    /// Examples in its last minibatch.
    pub last: u64,
    /// The share of its examples in each twentieth of the storage.
    pub places: Vec<f64>,
}

/// Facts that another machine can check: that it reads the same in the same order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The name of the order.
    pub order: String,
    /// Its version.
    pub order_version: u64,
    /// How minibatches are made of the order, if in buckets or of pieces; the digest covers it.
    pub grouping: Option<GroupingFigures>,
    /// Number of examples.
    pub examples: u64,
    /// Number of samples.
    pub samples: u64,
    /// Keys of the first examples of the sweep.
    pub first: Vec<String>,
    /// Keys of the last ones.
    pub last: Vec<String>,
    /// Positions in the digest.
    pub positions: u64,
    /// The digest, 32 hexadecimal digits.
    pub digest: String,
    /// The command that checks it elsewhere.
    pub command: String,
}
