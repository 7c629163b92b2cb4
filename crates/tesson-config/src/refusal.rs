//! Why single options of a reader are refused.

use tesson_core::OptionName;

const DESERIALIZERS: OptionName = OptionName::new("deserializers");
const SCP_FILE: OptionName = OptionName::new("scpFile");

tesson_core::error_kinds! {
    /// Why an option of a reader is refused.
    pub enum ReaderRefusal {
        /// The options of a deserializer stand where those of a reader are expected.
        OptionsOfDeserializer
            = "config.options-of-deserializer": "found the options of a deserializer, expected those of a reader"; "write \
                `{{\"deserializers\": [ … ]}}` around them"
            => "Put the options into the list {DESERIALIZERS}.",
        /// Lattices are to be read.
        Lattices
            = "config.lattices": "lattices are not supported, train without them"
            => in manual "Leave the lattices out.",
        /// A name means more than one deserializer.
        AmbiguousPrimary { found: String = "HTKFeatureDeserializer".into(), n: usize = 2 }
            = "config.ambiguous-primary": "found `{found}`, which {n} deserializers are"; "their numbers count from 0"
            => "Give the deserializer's number.",
        /// A deserializer has another type of values than the reader.
        OtherPrecision { found: &'static str = "double" }
            = "config.other-precision": "found {found}, the reader has another"; "one holds for all"
            => "Set the type of values once, for the reader.",
        /// The file of keys to leave out is no text.
        KeysNotUtf8 { line: usize = 3, file: String = "keys.txt".into() }
            = "config.keys-not-utf-8": "line {line} of {file} is no UTF-8, expected a file of text with a key in each line"
            => in manual "Write the keys in UTF-8, one in each line.",
        /// The name of a folder is no text.
        FolderNotUtf8 { folder: String = "data\u{fffd}".into() }
            = "config.folder-not-utf-8": "found the folder `{folder}`, expected a name in UTF-8"
            => in manual "Rename the folder.",
        /// Several readers are to be read side by side.
        SeveralReaders
            = "config.several-readers": "several readers side by side are not supported, list them in {DESERIALIZERS} instead"
            => in manual "List the files as {DESERIALIZERS} of one reader.",
        /// A type of readers of CNTK is not supported.
        UnsupportedReader { name: &'static str = "LMSequenceReader" }
            = "config.unsupported-reader": "`{name}` is not supported, convert the data to CNTK's text format"
            => in manual "Convert the data to CNTK's text format.",
        /// There is no such type of readers.
        UnknownReader { name: String = "CNTKTextReader".into(), nearest: Option<&'static str> = Some("CNTKTextFormatReader") }
            = "config.unknown-reader": ("unknown reader `{name}`{}", match nearest {
                Some(_) => "",
                None => ", expected one such as `CNTKTextFormatReader`",
            }), (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Correct the type of the reader.",
        /// No section has an option that one of them needs.
        NoSectionHas { option: OptionName = OptionName::new("labelDim") }
            = "config.no-section-has": "no section has {option}, one is expected"
            => in manual "Add the option to one section.",
        /// Two sections have an option that one of them may have.
        SectionsHave { option: OptionName = OptionName::new("labelDim"), other: String = "labels".into() }
            = "config.sections-have": "has {option}, and so has `{other}`"; "one section is expected to"
            => "Leave the option out of one section.",
        /// A reader of speech has no stream of features.
        NoFeatures
            = "config.no-features": "no section has {SCP_FILE}, at least one stream of features is expected"
            => in manual "Add the section of a stream of features.",
        /// Data that are written again are to be read in another order than they are stored.
        WritesShuffled
            = "config.writes-shuffled": "what writes reads in order: expected `none`, since `action` is `write`"
            => in manual "Read in the order of the files.",
        /// The window of an older reader is neither a number nor `auto`.
        OlderWindow { found: String = "none".into() }
            = "config.older-window": "found `{found}`, expected `auto`, or a window in frames"; "`none` wants `readMethod = none`"
            => "Give the window in frames.",
        /// Sequences side by side are no numbers from 1.
        SequencesSideBySide
            = "config.sequences-side-by-side": "expected whole numbers from 1, such as `16` or `8*2:16`"
            => in manual "Give whole numbers from 1.",
        /// A deserializer that is only described is to be opened.
        OnlyDescribed
            = "config.only-described": "what is only described is not opened"
            => in manual "Import the module that registers the type.",
        /// A schedule of minibatch sizes is empty.
        NoMinibatchSize
            = "config.no-minibatch-size": "no minibatch size given, expected one such as `256` or `128*2:1024`"
            => in manual "Give a minibatch size.",
        /// A minibatch size of a schedule is 0.
        EmptyMinibatch
            = "config.empty-minibatch": "found a minibatch size of 0 samples, expected at least 1"
            => in manual "Give a size of at least 1 sample.",
        /// Several deserializers of labels are there, or none, where one is written.
        LabelDeserializers { n: usize = 2 }
            = "config.label-deserializers": "found {n} deserializers of labels of speech, expected one"; "name it alone"
            => "Name one deserializer of labels.",
    }
}
