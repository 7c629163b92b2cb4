//! Why prepared datasets are refused: kinds of configuration errors.

use tesson_core::{ErrorEntry, OptionName, error_entries};

const TRANSFORMS: OptionName = OptionName::new("transforms");
const DIRECTORY: OptionName = OptionName::new("directory");
const NAME: OptionName = OptionName::new("name");

/// The manual's entries of these kinds.
pub fn refusals() -> Vec<ErrorEntry> {
    [error_entries::<PreparedRefusal>(), error_entries::<NewDatasetRefusal>()].concat()
}

tesson_core::error_kinds! {
    /// Reasons why a prepared dataset is not read.
    pub enum PreparedRefusal {
        /// Files are to end where they are damaged, and examples are shuffled, which hides where that is.
        StopBelowShuffle
            = "prepared.stop-below-shuffle": "`stop_shard` and a shuffle of examples exclude each other"; "`skip` leaves out damaged \
                records alone"
            => "Leave out damaged records alone, with `skip`.",
        /// There is no dataset of this name.
        NotFound { name: String = "mnits".into(), looked: String = "data".into(), hint: String = "; there are mnist, cifar10".into() }
            = "prepared.not-found": "`{name}` is not found in {looked}{hint}"
            => in manual "Correct the name, or name another data directory.",
        /// Several folders hold a dataset of this name.
        FoundTwice { name: String = "mnist".into(), several: String = "a/mnist/1.0.0, b/mnist/1.0.0".into() }
            = "prepared.found-twice": "`{name}` is found in {several}"; "name one directory"
            => "Name one directory.",
        /// A stream that is not transformed has a type of its own.
        TypeWithoutTransforms { stream: String = "label".into() }
            = "prepared.type-without-transforms": "stream `{stream}` has no {TRANSFORMS}; its values are of the reader's type"
            => in manual "Leave the option out.",
        /// A dataset is named twice, or not at all.
        DirectoryOrName
            = "prepared.directory-or-name": "either a {DIRECTORY} or a {NAME} is expected"
            => in manual "Give one of the two options.",
        /// A dataset cannot be opened.
        NotOpened { what: String = "mnist/1.0.0/dataset_info.json: entity not found".into() }
            = "prepared.not-opened": "{what}"
            => in manual "Check the path of the dataset; the message has the reason.",
        /// A shape is no list of whole numbers.
        Shape
            = "prepared.shape": "expected whole numbers from 1, such as `28:28:3`"
            => in manual "Give whole numbers from 1.",
        /// Directories that are read as one hold other features.
        OtherFeatures { feature: String = "image".into(), directory: String = "b/mnist/1.0.0".into() }
            = "prepared.other-features": "feature `{feature}` in {directory} is not as in the first directory"
            => in manual "Name directories of the same features.",
        /// Texts of a dataset were encoded in a way that no longer exists.
        OldEncoder { file: String = "text.subwords".into() }
            = "prepared.old-encoder": "`{file}` beside the data is of TFDS' text encoders, which no longer exist"; "prepare the dataset \
                anew"
            => "Prepare the dataset again.",
        /// A file of names has another number of them than there are classes.
        LabelCount { file: String = "label.labels.txt".into(), found: usize = 9, classes: u64 = 10 }
            = "prepared.label-count": "{file} has {found} names for {classes} classes"
            => in manual "Copy the file again.",
        /// A feature that is to be transformed is not one image.
        NotOneImage { feature: String = "label".into() }
            = "prepared.not-one-picture": "`{feature}` is not one image that is read as it is stored"
            => in manual "Transform images alone.",
    }
}

tesson_core::error_kinds! {
    /// Reasons why a new dataset is not written.
    pub enum NewDatasetRefusal {
        /// A split has a number of shards that none can have.
        Shards { split: String = "train".into(), found: String = "0".into(), most: usize = 100_000 }
            = "new-dataset.shards": "split `{split}` has {found} shards, expected a whole number from 1 to {most}, or none for one each \
                256 MiB"
            => in manual "Give a number of shards, or none.",
        /// The name of the dataset or of its config has other characters than names have.
        BadName { found: String = "my ds".into() }
            = "new-dataset.bad-name": "found `{found}`, expected letters, digits, `_`, `-`, `+` and `.`, beginning with a letter or a digit"
            => in manual "Correct the name.",
        /// Files of a format are read and not written.
        Format { found: &'static str = "parquet" }
            = "new-dataset.format": "`{found}` cannot be written, expected `tfrecord` or `array_record`"
            => in manual "Choose one of the formats.",
        /// The name of a split has other characters than names have.
        BadSplit { found: String = "a.b".into() }
            = "new-dataset.bad-split": "found the name `{found}`, expected letters, digits, `_` and `-`, other than `all`"
            => in manual "Correct the name of the split.",
        /// Two splits have one name.
        SplitTwice { split: String = "train".into() }
            = "new-dataset.split-twice": "found split `{split}` twice, expected each name once"
            => in manual "Name each split once.",
        /// There are no splits.
        NoSplits
            = "new-dataset.no-splits": "found none, expected at least one"
            => in manual "Name a split.",
        /// A feature has another number of names than classes.
        NameCount { found: usize = 9, classes: u64 = 10 }
            = "new-dataset.name-count": "found {found} names for {classes} classes, expected one for each"
            => in manual "Give each class a name.",
        /// The name of a class cannot be a line of a file.
        BadClass { name: String = " cat".into() }
            = "new-dataset.bad-class": ("`{}` is no name of a class: one line of text, without white space around it", name.escape_debug())
            => in manual "Correct the name of the class.",
        /// Two classes have one name.
        ClassTwice { name: String = "cat".into() }
            = "new-dataset.class-twice": "two classes have the name `{name}`, expected different names"
            => in manual "Give each class a name of its own.",
        /// A feature without classes has names of classes.
        NoClasses
            = "new-dataset.no-classes": "names of classes for a feature that has none"
            => in manual "Leave the names out.",
    }
}
