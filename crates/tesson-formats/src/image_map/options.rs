//! The options of map files, and their meaning.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::slice;

use tesson_core::identity::{Identity, Quoted};
use tesson_core::{OptionKind, OptionSet, ReaderDefaults, Words, options};

use crate::images::{Decoding, ImageInput, ImageOptions, Pixels, describe_file};
use crate::options::VERBOSITY;

static MAP_FORMATS: Words<Option<MapFormat>, 4> = Words::new([
    ("auto", None),
    ("cntk", Some(MapFormat::Cntk)),
    ("csv", Some(MapFormat::Csv)),
    ("jsonl", Some(MapFormat::JsonLines)),
]);

/// The form of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapFormat {
    Cntk,
    Csv,
    JsonLines,
    /// No map: the folder of the images.
    Folder,
}

impl MapFormat {
    /// The form of a map file without the option.
    pub(super) fn of_extension(map: &Path) -> MapFormat {
        let extension = map.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_deref().and_then(OsStr::to_str) {
            Some("csv") => MapFormat::Csv,
            Some("jsonl" | "ndjson") => MapFormat::JsonLines,
            _ => MapFormat::Cntk,
        }
    }
}

/// The names of columns and fields, where they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) path: Option<String>,
    pub(super) label: Option<String>,
    pub(super) key: Option<String>,
}

impl Columns {
    const PATH: &str = "path";
    const LABEL: &str = "label";
    /// The name of a column that need not be there.
    pub(super) const KEY: &str = "key";

    pub(super) fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(Columns::PATH)
    }

    pub(super) fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(Columns::LABEL)
    }

    /// Appends them to an identity, if any is given.
    fn identify(&self, text: Identity) -> Identity {
        if let Columns { path: None, label: None, key: None } = self {
            return text;
        }
        let key = self.key.as_deref().unwrap_or(Columns::KEY);
        [self.path(), self.label(), key]
            .into_iter()
            .fold(text.word("columns"), |text, name| text.word(Quoted(name)))
    }
}

options! {
    /// The options of the deserializer.
    #[derive(Clone, Debug)]
    pub(super) struct MapOptions(options, reader: ReaderDefaults) {
        file: PathBuf = "file", required
            => "The map, relative to the working directory; or a folder with one folder of images for each class."
            [describe with |_, options, section| describe_file(options, section)];
        /// The form of the map; `None` where it is to be found out.
        pub(super) format: Option<MapFormat> = "mapFormat" in MAP_FORMATS, "auto"
            => "Form of the map: `cntk`, lines of `[key] path label` separated by tabs; `csv`, with a header; `jsonl`, one \
             object on each line. `auto` chooses by the extensions `.csv`, `.jsonl` and `.ndjson`; others are `cntk`. In `csv` \
             and `jsonl` labels may be names, which are numbered in their order."
            [describe after "jpegScaledDecode" if given];
        pub(super) columns: Columns = "pathColumn": OptionKind::Text, "path"
            => "The column of `csv`, or the field of `jsonl`, with the paths of images."
            [read Columns {
                path: options.text_if_given("pathColumn")?,
                label: options.text_if_given("labelColumn")?,
                key: options.text_if_given("keyColumn")?,
            }]
            [describe after "mapFormat" if given]
            [identity after "version" with |map, text| map.columns.identify(text)];
        _ = "labelColumn": OptionKind::Text, "label"
            => "The column or field with the labels."
            [describe after "pathColumn" if given];
        _ = "keyColumn": OptionKind::Text, optional
            => "The column or field with the keys; by default `key`, if there is one."
            [describe after "labelColumn" if given];
        ..input: ImageInput;
        ..pixels: Pixels;
        pub(super) root: Option<String> = "root": OptionKind::Path, optional
            => "Folder of relative paths in the map; by default the working directory. Has no effect if `file` is a folder. A \
             leading `...` in a path stands for the map's own folder."
            [describe after "classes" if given];
        pub(super) comments: bool = "comments", "false"
            => "Ignore lines of the map that begin with `#`."
            [describe after "root" if given];
        pub(super) strict_labels: bool = "strictLabels", "false"
            => "Refuse labels with more than a number in them, such as `3abc`; otherwise they are read as 3 and logged."
            [describe after "comments" if given];
        /// The file that names the classes.
        pub(super) classes: Option<PathBuf> = "classes", optional
            => "A text file with the name of a class on each line; classes are numbered in this order, so that several maps or \
             folders agree. Other labels are errors."
            [describe after "keyColumn" if given]
            [identity after "pathColumn" with |map, text| text.flag("classes", map.classes.is_some())];
        ..decoding: Decoding;
        _ = VERBOSITY [describe never];
        let version: u32 = 1 => [identity after "numeric_keys" with |map, text| text.word("map").word(map.version)];
        pub(super) let images: ImageOptions =
            ImageOptions::new(slice::from_ref(&file), &input, &pixels, &decoding);
    }
}

impl MapOptions {
    /// Everything that labels and keys depend on beside the map itself.
    pub(super) fn identity(&self) -> String {
        self.identify(Identity::default()).text()
    }
}
