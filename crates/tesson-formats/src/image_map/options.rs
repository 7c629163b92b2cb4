//! The options of map files, and what they mean.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
    Words, identity::Quoted,
};

use crate::options::VERBOSITY;
use crate::pictures::{
    self, CHANNEL_ORDER, EXIF_ORIENTATION, GRAYSCALE, JPEG_SCALED_DECODE, MAX_PIXELS, MULTI_VIEW_CROP,
    ON_CORRUPT_IMAGE, PictureOptions, STREAMS,
};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required(
        "file",
        OptionKind::Path,
        "The map, relative to the working directory; or a folder with one folder of pictures for each class.",
    ),
    OptionSpec::with_default(
        "mapFormat",
        MAP_FORMATS.kind(),
        "auto",
        "The form of the map: `cntk`, lines of `[key] path label` with tabs between them; `csv`, with a header; `jsonl`, an object a line. `auto` goes by the extensions `.csv`, `.jsonl` and `.ndjson`; others are `cntk`. In `csv` and `jsonl` labels may be names, which are numbered in their order.",
    ),
    OptionSpec::with_default(
        "pathColumn",
        OptionKind::Text,
        Columns::PATH,
        "The column of `csv`, or the field of `jsonl`, with the paths of pictures.",
    ),
    OptionSpec::with_default("labelColumn", OptionKind::Text, Columns::LABEL, "The same of labels."),
    OptionSpec::optional(
        "keyColumn",
        OptionKind::Text,
        "The same of keys; by default `key`, where there is one.",
    ),
    STREAMS,
    GRAYSCALE,
    CHANNEL_ORDER,
    MULTI_VIEW_CROP,
    OptionSpec::optional(
        "root",
        OptionKind::Path,
        "The folder of relative paths in the map; by default the working directory. Of no effect where `file` is a folder. A leading `...` in a path stands for the map's own folder.",
    ),
    OptionSpec::with_default(
        "comments",
        OptionKind::Bool,
        "false",
        "Ignore lines of the map that begin with `#`.",
    ),
    OptionSpec::with_default(
        "strictLabels",
        OptionKind::Bool,
        "false",
        "Refuse labels with more than a number in them, such as `3abc`; otherwise they are read as 3 and logged.",
    ),
    OptionSpec::optional(
        "classes",
        OptionKind::Path,
        "A text file with the name of a class in each line, which are numbered in this order, so that several maps or folders agree; a label that is none of them is an error.",
    ),
    ON_CORRUPT_IMAGE,
    EXIF_ORIENTATION,
    JPEG_SCALED_DECODE,
    MAX_PIXELS,
    VERBOSITY,
]);

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
    /// No map: the folder of the pictures.
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
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct MapOptions {
    pub(super) pictures: PictureOptions,
    /// The form of the map; `None` where it is to be found out.
    pub(super) format: Option<MapFormat>,
    pub(super) columns: Columns,
    pub(super) root: Option<String>,
    pub(super) comments: bool,
    pub(super) strict_labels: bool,
    /// The file that names the classes.
    pub(super) classes: Option<PathBuf>,
}

impl MapOptions {
    /// What labels and keys depend on beside the map itself.
    pub(super) fn identity(&self) -> String {
        let classes = if self.classes.is_some() { " classes" } else { "" };
        match &self.columns {
            Columns { path: None, label: None, key: None } => format!("map 1{classes}"),
            columns => {
                let key = columns.key.as_deref().unwrap_or(Columns::KEY);
                let [path, label, key] = [columns.path(), columns.label(), key].map(Quoted);
                format!("map 1 columns {path} {label} {key}{classes}")
            }
        }
    }

    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<MapOptions, ConfigError> {
        Ok(MapOptions {
            pictures: PictureOptions::new(options, defaults)?,
            format: options.word("mapFormat", &MAP_FORMATS)?,
            columns: Columns {
                path: options.text_if_given("pathColumn")?,
                label: options.text_if_given("labelColumn")?,
                key: options.text_if_given("keyColumn")?,
            },
            root: options.text_if_given("root")?,
            comments: options.bool("comments")?,
            strict_labels: options.bool("strictLabels")?,
            classes: options.text_if_given("classes")?.map(PathBuf::from),
        })
    }
}

/// What the options mean, for people and for other programs.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let MapOptions { root, comments, strict_labels, .. } = MapOptions::new(options, defaults)?;
    let root = root.map(|root| ("root", Value::Text(root)));
    let texts = ["mapFormat", "pathColumn", "labelColumn", "keyColumn", "classes"];
    let texts = texts.into_iter().filter(|name| options.given(name).is_some());
    let texts = texts
        .map(|name| Ok((name, Value::Text(options.text(name)?))))
        .collect::<Result<Vec<_>, ConfigError>>()?;
    let flags = [("comments", comments), ("strictLabels", strict_labels)];
    let given = flags.into_iter().filter(|(name, _)| options.given(name).is_some());
    let more = given.map(|(name, flag)| (name, Value::Bool(flag)));
    pictures::describe(options, defaults, registry, texts.into_iter().chain(root).chain(more))
}
