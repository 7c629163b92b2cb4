//! Why a dataset is not read as it is asked for: kinds of configuration errors.

use tesson_core::{ErrorEntry, OptionName, error_entries};

const DIM: OptionName = OptionName::new("dim");
const SHAPE: OptionName = OptionName::new("shape");
const TRANSFORMS: OptionName = OptionName::new("transforms");

/// The manual's entries of these kinds.
pub fn refusals() -> Vec<ErrorEntry> {
    [
        error_entries::<SplitRefusal>(),
        error_entries::<ReadingRefusal>(),
        error_entries::<FeaturesRefusal>(),
        error_entries::<StreamRefusal>(),
        error_entries::<DatasetRefusal>(),
    ]
    .concat()
}

tesson_core::error_kinds! {
    /// Why a split, or a slice of one, is refused.
    pub enum SplitRefusal {
        /// A part of the text of a split is wrong.
        Part {
            part: String = "train[10:".into(),
            whole: String = "train[10:+test".into(),
            why: Box<SplitRefusal> = Box::new(SplitRefusal::OpenBracket),
        }
            = "split.part": ("`{part}`{}: {why}", of_whole(part, whole))
            => in manual "Correct the part of the split that the message names.",
        /// The bracket of a slice is not closed.
        OpenBracket
            = "split.open-bracket": "`[` is not closed by a last `]`"
            => in manual "Close the bracket.",
        /// The name of a split has other characters than names have.
        BadName
            = "split.bad-name": "expected the name of a split: letters, digits, `_` and `-`"
            => in manual "Correct the name.",
        /// All splits together are sliced.
        SliceOfAll
            = "split.slice-of-all": "`all` takes no slice"
            => in manual "Slice each split by itself.",
        /// The text in the brackets is no slice.
        NoSlice { found: String = "10".into() }
            = "split.no-slice": "`{found}` is no slice"; "expected `from:to`, or one shard such as `2shard`"
            => "Write a slice as `from:to`.",
        /// A bound is no number.
        NoNumber { found: String = "ten".into() }
            = "split.no-number": "`{found}` is no number"
            => in manual "Write a number.",
        /// A bound is no whole number.
        NoWholeNumber { found: String = "1.5".into() }
            = "split.no-whole-number": "`{found}` is no whole number"
            => in manual "Write a whole number.",
        /// A slice has no bounds.
        NoBounds
            = "split.no-bounds": "a slice needs one bound at least"; "the name alone is the whole split"
            => "Give a bound, or leave the slice out.",
        /// A unit has no number.
        UnitAlone { found: String = "%:".into() }
            = "split.unit-alone": "`{found}` has a unit without a number"
            => in manual "Write the number before its unit.",
        /// A slice in examples or files has a bound that is no whole number.
        Fraction { found: f64 = 1.5, unit: &'static str = "examples" }
            = "split.fraction": "found {found} {unit}, a whole number is expected"
            => in manual "Give a whole number.",
        /// A slice in hundredths goes beyond the whole.
        Percent { found: f64 = 120.0 }
            = "split.percent": "found {found}%, a number from -100 to 100 is expected"
            => in manual "Give a number from -100 to 100.",
        /// There is no such share of a split.
        NoShare { index: u64 = 3, n: u64 = 3 }
            = "split.no-share": "share {index} is none of {n} even splits"
            => in manual "Shares count from 0.",
        /// No shares are asked for.
        NoShares
            = "split.no-shares": "0 shares of a split cannot be made, at least 1 is expected"
            => in manual "Ask for at least one share.",
        /// A split does not fit what is asked of it.
        Within { split: String = "train".into(), why: Box<SplitRefusal> = Box::new(SplitRefusal::FewForPercents { n: 50 }) }
            = "split.within": "{split}: {why}"
            => in manual "Correct the slice.",
        /// A split has too few examples for equal hundredths.
        FewForPercents { n: i64 = 50 }
            = "split.few-for-percents": "`pct1_dropremainder` needs 100 examples or more, the split has {n}"
            => in manual "Round to the closest example.",
        /// Equal hundredths are cut within one of them.
        WholePercents { found: f64 = 1.5 }
            = "split.whole-percents": "`pct1_dropremainder` needs whole percents, found {found}%"
            => in manual "Give whole percents, or round to the closest example.",
        /// A slice goes beyond its split.
        Beyond { split: String = "train".into(), from: i64 = 10, to: i64 = 90, n: i64 = 60 }
            = "split.beyond": "{split}: the slice [{from}:{to}] goes beyond the {n} examples of the split"
            => in manual "Choose bounds within the split.",
        /// The dataset has no such split.
        Unknown { name: String = "trian".into(), there: String = "test, train".into(), nearest: Option<String> = Some("train".into()) }
            = "split.unknown": ("unknown split `{name}`, {}", if there.is_empty() {
                "the dataset has no splits".into()
            } else {
                format!("expected one of {there}")
            }); (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Name a split that the dataset has.",
        /// A slice ends before it begins.
        Backwards { split: String = "train".into(), from: i64 = 20, to: i64 = 10 }
            = "split.backwards": "found {split}[{from}:{to}], expected a start that is not after the end"; "exchange the two"
            => "Exchange the bounds.",
        /// The JSON form of a split is something else.
        Form { found: String = "3".into() }
            = "split.form": "found {found}, expected a string, `read_instruction`, `even_splits` or `add`"
            => in manual "Give the text of a split, or one of the objects.",
        /// The JSON form of a slice has an unknown word.
        Word { what: &'static str = "unit", found: String = "shards".into(), known: &'static str = "abs, %, shard" }
            = "split.word": "unknown {what} `{found}`, expected one of {known}"
            => in manual "Give one of the words that the message names.",
        /// The JSON form of a split lacks a field.
        Missing { field: &'static str = "`split_name`" }
            = "split.missing": "{field} is missing"
            => in manual "Add the field.",
        /// The JSON form of shares does not say of which split.
        MissingInShares
            = "split.missing-in-shares": "`split` is missing in `even_splits`"
            => in manual "Add the split.",
        /// A field of the JSON form of shares is no number.
        ShareCount { field: String = "n".into() }
            = "split.share-count": "`{field}` of `even_splits` is no number of shares"
            => in manual "Give a whole number.",
        /// A field of the JSON form of a split has a value of another type.
        Field { field: String = "from".into(), found: String = "true".into(), expected: &'static str = "a number" }
            = "split.field": "`{field}` is {found}, {expected} is expected"
            => in manual "Give a value of the field's type.",
        /// A split is empty.
        Empty
            = "split.empty": "found no examples in it, expected at least one"; "choose another slice"
            => "Choose another slice.",
        /// A split counts more examples than 64 bits.
        TooMany
            = "split.too-many": "it counts 2^64 examples or more"
            => in manual "Read fewer splits at once.",
    }
}

/// The whole split around a part of it.
fn of_whole(part: &str, whole: &str) -> String {
    if part == whole { String::new() } else { format!(" of `{whole}`") }
}

tesson_core::error_kinds! {
    /// Why a way to read a dataset is refused.
    pub enum ReadingRefusal {
        /// A sort function names a file that the plan does not have.
        NoPlace { place: usize = 9, files: usize = 4 }
            = "reading.no-place": "place {place} is none of the plan's {files} files"
            => in manual "Places count from 0.",
        /// More pipelines share the files than there are files.
        FewFiles { pipelines: u64 = 8, files: usize = 4 }
            = "reading.few-files": "{pipelines} pipelines share {files} files, so some would read nothing"; "read shares of the split \
                (`even_splits`), or one stream that is dealt to workers"
            => "Read shares of the split, or one stream that is dealt to workers.",
        /// The order of the dataset means something and would be lost.
        LosesOrder
            = "reading.loses-order": "the dataset's order means something (`disable_shuffling`) and would be lost"; "set \
                `enable_ordering_guard` to false if that is meant"
            => "Set `enable_ordering_guard` to false if that is meant.",
        /// A read configuration is no object.
        NoObject { found: String = "3".into() }
            = "reading.no-object": "found {found}, expected an object"
            => in manual "Give an object of fields.",
        /// A read configuration has a field that does not exist.
        UnknownField { known: String = "lazy, shuffle_seed".into(), nearest: Option<String> = Some("shuffle_seed".into()) }
            = "reading.unknown-field": ("unknown field{}", match nearest {
                Some(_) => String::new(),
                None => format!(", expected one of {known}"),
            }), (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Correct the name of the field.",
        /// A field of a read configuration has a value that it cannot have.
        Field { found: String = "0".into(), expected: String = "a number from 1 on".into() }
            = "reading.field": "found {found}, expected {expected}"
            => in manual "Give a value that the message names.",
        /// The turns between files are to be chosen by the machine, which gives no order.
        AnyCycle { found: String = "-1".into() }
            = "reading.any-cycle": "found {found}, expected a number from 1 on: `null` and -1 let TensorFlow choose by the machine, \
                which gives no order"; "leave the field out for the usual 16"
            => "Leave the field out for the usual 16.",
        /// An operation is no object of one field.
        NoOperation { found: String = "3".into() }
            = "reading.no-operation": "found {found}, expected an object with one operation"
            => in manual "Write an operation as `{{\"take\": 5}}`.",
        /// An operation needs fields.
        NoFields { found: String = "4".into(), fields: &'static str = "`{\"num_shards\": 4, \"index\": 0}`" }
            = "reading.no-fields": "found {found}, expected fields such as {fields}"
            => in manual "Give the fields of the operation.",
        /// An operation takes a whole number.
        WholeNumber { of: String = "take".into(), found: String = "\"x\"".into() }
            = "reading.whole-number": "`{of}` is {found}, a whole number is expected"
            => in manual "Give a whole number.",
        /// A field of an operation takes numbers from 1 on.
        AtLeastOne { field: String = "buffer_size".into(), of: String = "shuffle".into(), found: String = "0".into() }
            = "reading.at-least-one": "`{field}` of `{of}` is {found}, expected a whole number from 1 on"
            => in manual "Give a number from 1 on.",
        /// There is no such share.
        ShareIndex { found: String = "4".into(), last: u64 = 3 }
            = "reading.share-index": "`index` of `shard` is {found}, expected a whole number from 0 to {last}"
            => in manual "Shares count from 0.",
        /// There is no such operation.
        UnknownOperation { name: String = "filter".into() }
            = "reading.unknown-operation": "unknown operation `{name}`, expected one of shuffle, repeat, skip, take, shard, prefetch"
            => in manual "Choose one of the operations.",
    }
}

tesson_core::error_kinds! {
    /// Why the description of features, or a choice among them, is refused.
    pub enum FeaturesRefusal {
        /// The description is no JSON.
        NoJson { what: String = "expected value at line 1 column 1".into() }
            = "features.no-json": "features.json is no JSON: {what}"
            => in manual "Copy the file again.",
        /// The description is that of a single value.
        NoDict
            = "features.no-dict": "the root of features.json is a dict or a sequence"
            => in manual "Describe a dict of features.",
        /// A dict of features is something else.
        NoMembers { found: String = "3".into() }
            = "features.no-members": "found `{found}`, expected features by name"
            => in manual "Describe features by name.",
        /// A feature is no object.
        NoObject { found: String = "3".into() }
            = "features.no-object": "found `{found}`, expected an object of features.json"
            => in manual "Describe the feature by an object.",
        /// A field of a feature has a value of another type.
        Field { name: String = "length".into(), found: String = "\"x\"".into(), expected: &'static str = "a whole number" }
            = "features.field": "`{name}` is `{found}`, expected {expected}"
            => in manual "Correct the field.",
        /// A feature has no type of values.
        NoType
            = "features.no-type": "`dtype` is missing"
            => in manual "Add the type of the values.",
        /// A feature has an unknown type or coding.
        UnknownWord { what: String = "dtype".into(), found: String = "int23".into(), nearest: Option<String> = Some("int32".into()) }
            = "features.unknown-word": "unknown {what} `{found}`", (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Correct the word.",
        /// A size in a shape is invalid.
        NoDimension { found: String = "\"x\"".into() }
            = "features.no-dimension": "`{found}` is no dimension, expected a size or -1"
            => in manual "Give a size, or -1 where it is open.",
        /// A size in a shape is larger than the machine can count.
        LargeDimension { what: String = "out of range integral type conversion attempted".into() }
            = "features.large-dimension": "{what}"
            => in manual "Give a smaller size.",
        /// A class lacks what it needs.
        Without { class: String = "Sequence".into(), key: &'static str = "feature" }
            = "features.without": "a {class} without `{key}`"
            => in manual "Add what is missing.",
        /// There is no such class, and nothing says what it holds.
        UnknownContent { class: String = "my.Feature".into() }
            = "features.unknown-content": "unknown feature class `{class}`, and no content that is known"
            => in manual "Describe the feature by a known class.",
        /// There is no such class.
        UnknownClass { class: String = "Feature".into() }
            = "features.unknown-class": "unknown feature class `{class}`"
            => in manual "Describe the feature by a known class.",
        /// An image has other dimensions than images have.
        ImageDimensions { n: usize = 2 }
            = "features.picture-dimensions": "an image of {n} dimensions, expected height, width and channels"
            => in manual "Give height, width and channels.",
        /// An image has other values than images have.
        ImageType { found: &'static str = "int64" }
            = "features.picture-type": "an image of `{found}`, expected `uint8`, `uint16` or `float32`"
            => in manual "Give one of these types.",
        /// A video has no dimensions.
        Video
            = "features.video": "a video without dimensions, expected frames, height, width and channels"
            => in manual "Give frames, height, width and channels.",
        /// Texts by language have no languages.
        NoLanguages
            = "features.no-languages": "a Translation without a list of `languages`"
            => in manual "List the languages.",
        /// A language has no name.
        NoLanguage { found: String = "3".into() }
            = "features.no-language": "`{found}` is no language"
            => in manual "Name the language.",
        /// A text was encoded in a way that no longer exists.
        OldEncoder
            = "features.old-encoder": "this text was encoded by TFDS' sub-word encoders, which no longer exist"
            => in manual "Prepare the dataset again.",
        /// The description of a class is no JSON.
        ContentNoJson { what: String = "expected value at line 1 column 1".into() }
            = "features.content-no-json": "`content` is no JSON: {what}"
            => in manual "Copy the file again.",
        /// A feature that is to be scaled is no image.
        NoImage { path: String = "label".into() }
            = "features.no-picture": "`{path}` is no image that is decoded"; "only images have a scale"
            => "Scale images alone.",
        /// A feature that is to be transformed is not read.
        NotRead { path: String = "image".into() }
            = "features.not-read": "`{path}` is not among the features that are read"
            => in manual "Read the feature, or leave its transforms out.",
        /// The dataset has no such feature.
        Unknown { name: String = "imgae".into(), known: String = "image, label".into(), nearest: Option<String> = Some("image".into()) }
            = "features.unknown": ("the dataset has no feature `{name}`{}", match nearest {
                Some(_) => String::new(),
                None => format!(", expected some of {known}"),
            }), (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Name features that the dataset has.",
        /// Two features are stored under one key.
        KeyTwice
            = "features.key-twice": "two features of different types have this one key"
            => in manual "Rename one of the features.",
        /// A shape has more values than memory can hold.
        LargeShape { shape: String = "(4294967296, 4294967296)".into() }
            = "features.large-shape": "the shape {shape} has more values than memory"
            => in manual "Correct the shape.",
        /// Texts are to be encoded.
        EncodedText
            = "features.encoded-text": "strings have no encoding, found one"
            => in manual "Leave the encoding out.",
        /// Sound has other dimensions than sound has.
        SoundShape { shape: String = "(1, 2, 3)".into() }
            = "features.sound-shape": "sound of shape {shape}, expected samples, or samples and channels"
            => in manual "Give samples, or samples and channels.",
        /// Values of a type are stored only if they are encoded.
        NeedsEncoding { dtype: &'static str = "complex64" }
            = "features.needs-encoding": "values of type `{dtype}` need an encoding"
            => in manual "Choose an encoding.",
        /// A shape has several unknown dimensions.
        OpenShape { shape: String = "(None, None)".into() }
            = "features.open-shape": "the shape {shape} has several unknown dimensions, which needs an encoding"
            => in manual "Choose an encoding.",
    }
}

tesson_core::error_kinds! {
    /// Why a feature cannot be a stream or the key.
    pub enum StreamRefusal {
        /// A stream or the key names no single feature.
        NoFeature { feature: String = "objects".into() }
            = "tfds.no-feature": "`{feature}` is no feature by itself"
            => in manual "Name a single feature.",
        /// A stream that is transformed is a sequence of images.
        SequenceOfImages { feature: String = "frames".into() }
            = "tfds.sequence-of-pictures": "`{feature}` is a sequence of images, a stream with {TRANSFORMS} is of one"
            => in manual "Leave {TRANSFORMS} out.",
        /// Samples have no values, or too many.
        SampleSize { feature: String = "image".into(), shape: String = "(0)".into() }
            = "tfds.sample-size": "`{feature}` has samples of shape {shape}, from 1 to 2^32 values are possible"
            => in manual "Choose another feature.",
        /// A stream of classes is no whole number.
        NoClass { feature: String = "image".into(), dtype: &'static str = "float32", shape: String = "(2)".into() }
            = "tfds.no-class": "`{feature}` is {dtype} of shape {shape}, the number of a class is one whole number"
            => in manual "Choose a feature of classes.",
        /// The dataset does not declare the number of classes.
        ClassCount { feature: String = "label".into() }
            = "tfds.class-count": "the dataset does not declare how many classes `{feature}` has"; "set {DIM}"
            => "Set {DIM} of the stream.",
        /// A feature does not hold numbers.
        NoNumbers { feature: String = "text".into(), dtype: &'static str = "string", shape: String = "()".into() }
            = "tfds.no-numbers": "`{feature}` is {dtype} of shape {shape}"; "a stream needs numbers"
            => "Choose a feature of numbers.",
        /// A sequence has a fixed number of items that none or too many are.
        ItemCount { feature: String = "tokens".into() }
            = "tfds.item-count": "`{feature}` is a sequence of no items, or of more than 2^32"
            => in manual "Choose another feature.",
        /// A feature lies in several sequences.
        Nested { feature: String = "words".into(), levels: usize = 2 }
            = "tfds.nested": "`{feature}` is in {levels} sequences, one in another"; "a stream may be in one"
            => "Choose a feature that is in one sequence at most.",
        /// A stream is to have another shape than its feature.
        OtherShape { feature: String = "image".into(), found: String = "(28, 28, 1)".into(), wanted: String = "(3)".into() }
            = "tfds.other-shape": "`{feature}` has the shape {found}, which {wanted} is not"
            => in manual "Give a shape of as many values, or leave it out.",
        /// Samples of a feature have no known shape.
        OpenShape { feature: String = "image".into(), found: String = "(None, None, 3)".into(), example: String = "28:28:3".into() }
            = "tfds.open-shape": "`{feature}` has the shape {found}, the samples of a stream have one that is known"; "if all examples \
                have the same, say it with {SHAPE}, such as `shape = {example}`"
            => "Give {SHAPE} of the stream.",
        /// A key is neither one number nor one text.
        NoKey { feature: String = "image".into(), dtype: &'static str = "uint8", shape: String = "(28, 28, 1)".into() }
            = "tfds.no-key-feature": "`{feature}` is {dtype} of shape {shape}"; "a key is one whole number or one text"
            => "Choose a feature that is one whole number or one text.",
        /// No feature of the dataset can be a stream as it is.
        NoStreams
            = "tfds.no-streams": "no feature of the dataset has numbers in samples of a known shape"; "name streams and their {SHAPE}"
            => "Name streams and their {SHAPE}.",
        /// A stream that is transformed is no image.
        NotOneImage { feature: String = "label".into(), dtype: &'static str = "int64", shape: String = "()".into() }
            = "tfds.not-one-picture": "`{feature}` is {dtype} of shape {shape}"; "{TRANSFORMS} are for features that are one image of \
                uint8"
            => "Leave {TRANSFORMS} out.",
    }
}

tesson_core::error_kinds! {
    /// Why a dataset, its name or its files are refused.
    pub enum DatasetRefusal {
        /// No directory is given.
        NoDirectory
            = "dataset.no-directory": "there is no directory, at least one is expected"
            => in manual "Name a directory.",
        /// A dataset has more records than 64 bits count.
        TooMany
            = "dataset.too-many": "there are 2^64 records or more"
            => in manual "Check the lengths in the description.",
        /// Directories that are read as one hold different datasets.
        Different { directory: String = "b".into(), found: String = "ds 1.0.1 in tfrecord".into(), first: String = "ds 1.0.0 in tfrecord".into() }
            = "dataset.different": "{directory} holds {found}, the first directory {first}"
            => in manual "Name directories of one version.",
        /// A dataset has no files of this format.
        NoFiles { format: &'static str = "parquet", there: String = "tfrecord".into() }
            = "dataset.no-files": "the dataset has no {format} files, there are {there}"
            => in manual "Name one of the formats that there are.",
        /// The files of a dataset are of a format that is not read.
        Riegeli
            = "dataset.riegeli": "the files are Riegeli, which is not supported"; "write the dataset as tfrecord or array_record"
            => "Write the dataset as tfrecord or array_record.",
        /// Files of a format are not read.
        RiegeliFile
            = "dataset.riegeli-file": "riegeli files are not read"; "prepare the dataset as tfrecord or array_record"
            => "Prepare the dataset as tfrecord or array_record.",
        /// Parquet is left out of this build.
        NoParquet
            = "dataset.no-parquet": "parquet files are read only if tesson is built with its feature `parquet`"
            => in manual "Build with the feature, which is on by default.",
        /// There is no such format of files.
        UnknownFormat { name: String = "tfrecords".into(), known: String = "tfrecord, array_record".into() }
            = "dataset.unknown-format": "unknown file format `{name}`, expected one of {known}"
            => in manual "Name one of the formats.",
        /// The version in a name is invalid.
        BadVersion { name: String = "ds/a:1.0".into(), version: String = "1.0".into() }
            = "dataset.bad-version": "`{name}`: `{version}` is no version"; "expected three numbers or stars, such as 1.0.0 or 2.*.*"
            => "Write three numbers or stars.",
        /// A name may have a namespace.
        Namespace { name: String = "hub:ds".into(), version: String = "ds".into(), space: String = "hub".into() }
            = "dataset.namespace": "`{name}`: `{version}` is no version, and names of a namespace (`{space}:`) cannot be resolved from \
                files"; "open the directory instead"
            => "Open the directory.",
        /// The name of a dataset is invalid.
        BadName { found: String = "1ds".into() }
            = "dataset.bad-name": "found `{found}`, expected the name of a dataset: a letter, then letters, digits or `_`"
            => in manual "Correct the name.",
        /// The config in a name is invalid.
        BadConfig { name: String = "ds/x=1".into(), config: String = "x=1".into() }
            = "dataset.bad-config": "`{name}`: `{config}` is no config"; "letters, digits and `_`, `+`, `-`, `.` are expected, and \
                arguments (`key=value`) cannot be resolved from files"
            => "Correct the name of the config.",
    }
}
