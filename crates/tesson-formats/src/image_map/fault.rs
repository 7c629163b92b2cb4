//! Faults of map files and of the images that they list.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const CLASSES: OptionName = OptionName::new("classes");
const COMMENTS_TRUE: OptionSetting = OptionName::set_to("comments", "true");
const KEY_COLUMN: OptionName = OptionName::new("keyColumn");
const LABEL_COLUMN: OptionName = OptionName::new("labelColumn");
const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const ON_CORRUPT_IMAGE_SKIP: OptionSetting = OptionName::set_to("onCorruptImage", "\"skip\"");
const PATH_COLUMN: OptionName = OptionName::new("pathColumn");
const STRICT_LABELS: OptionName = OptionName::new("strictLabels");

const LABEL_DIM: OptionName = OptionName::new("labelDim");
const LABEL_DIM_AUTO: OptionSetting = OptionName::set_to("labelDim", "\"auto\"");

tesson_core::error_kinds! {
    /// A fault of a line in a map file, or of the file that it lists.
    pub enum ImageMapFault {
        /// A line has only one column, but labels are wanted.
        OneColumn
            = "image-map.one-column": "found one column, expected a path and a label, separated by a tab, or a key, a path and a label"
            => "Separate the columns by tabs, or leave the stream of labels out.",
        /// A line looks like a comment, which maps have only with `comments`.
        Comment
            = "image-map.comment": "the line begins with `#` and has one column, expected a path and a label, separated by a tab"
            => "Set {COMMENTS_TRUE} if such lines are comments.",
        /// The key of a line is empty.
        EmptyKey
            = "image-map.empty-key": "the key is empty, expected a number or a name"
            => "Write a key before the first tab, or leave the column out of all lines.",
        /// The path of a line is empty.
        EmptyPath
            = "image-map.empty-path": "the path is empty, expected a file or a member of a zip archive"
            => "Write the path of an image.",
        /// A line ends where its label is expected.
        NoLabel { path: String = "7".into() }
            = "image-map.no-label": "the label is missing: the line has a path, `{path}`, and a label, and ends with a tab"
            => "Write the label after the last tab.",
        /// A label is no number, or one beyond 64 bits.
        BadLabel { found: String = "cat".into() }
            = "image-map.bad-label": "the label is `{found}`, expected the number of a class"
            => "Number the classes from 0.",
        /// A label is a number and more; `strictLabels` refuses such.
        TrailingText { found: String = "3abc".into() }
            = "image-map.trailing-text": "the label is `{found}`, expected a number alone ({STRICT_LABELS})"
            => "Remove what follows the number, or turn {STRICT_LABELS} off.",
        /// A label is not below the number of classes.
        LabelOutOfRange { path: String = "a.jpg".into(), label: u64 = 10, dim: u64 = 10 }
            = "image-map.label-out-of-range": "the label of `{path}` is {label}, expected one below {LABEL_DIM}, {dim}"
            => "Raise {LABEL_DIM}, or fix the label.",
        /// A line has more bytes than memory has room for.
        LongLine { limit: u64 = 33_619_968 }
            = "image-map.long-line": "the line, with those that its quotes take in, has more than {limit} bytes, which is as much as \
                this {MEMORY_LIMIT} has room for"
            => "Check that the file is a map and that quotes in it are closed, or raise {MEMORY_LIMIT}.",
        /// A map lists more than memory has room for.
        ListBeyondMemory { lines: u64 = 3_000_000, bytes: u64 = 67_108_864, limit: u64 = 67_108_864, needed: u64 = 223_000_000 }
            = "image-map.list-beyond-memory": "the images of the first {lines} lines of the map take {bytes} bytes, and {MEMORY_LIMIT} \
                is {limit}; all of it needs about {needed}"
            => in manual "Set {MEMORY_LIMIT} to the value that the message names and as much again for the images, or read the map in parts.",
        /// A file lists more classes than memory has room for.
        ClassesBeyondMemory { lines: u64 = 3_000_000, bytes: u64 = 67_108_864, limit: u64 = 67_108_864, needed: u64 = 223_000_000 }
            = "image-map.classes-beyond-memory": "the classes of the first {lines} lines take {bytes} bytes, and {MEMORY_LIMIT} \
                is {limit}; all of them need about {needed}"
            => in manual "Check that the file lists classes, or set {MEMORY_LIMIT} to the value that the message names and as much again for the images.",
        /// A line is not UTF-8.
        NotUtf8 { found: String = "caf\\xe9.jpg".into() }
            = "image-map.not-utf-8": "`{found}` is not UTF-8"
            => "Convert the map file to UTF-8, or rename the image.",
        /// A label is a name where others are numbers, or the reverse.
        MixedLabels { found: String = "cat".into(), first: u32 = 2 }
            = "image-map.mixed-labels": "the label is `{found}`, and that of line {first} is of the other kind: expected numbers alone, or names alone"
            => "Number all classes from 0, or name all.",
        /// The label of a line is empty.
        EmptyLabel { path: String = "a.jpg".into() }
            = "image-map.empty-label": "the label of `{path}` is empty, expected the name or the number of a class"
            => "Write the label, or remove the line.",
        /// There are more classes than were declared.
        TooManyClasses { found: u64 = 12, dim: u64 = 10 }
            = "image-map.too-many-classes": "found {found} classes by name, expected {LABEL_DIM}, {dim}, at most"
            => "Raise {LABEL_DIM}, or write {LABEL_DIM_AUTO}.",
        /// A label is not among the classes that a file lists.
        UnknownClass { path: String = "a.jpg".into(), found: String = "dgo".into() }
            = "image-map.unknown-class": "the label of `{path}` is `{found}`, expected one of the classes that {CLASSES} lists"
            => "Correct the label, or add the class at the end of the list.",
        /// A list of classes has a class twice.
        RepeatedClass { name: String = "cat".into(), first: u32 = 1 }
            = "image-map.repeated-class": "the class `{name}` is that of line {first}, too"
            => "Write each class once.",
        /// An image lies beside the folders of classes.
        NoClass { path: String = "a.jpg".into() }
            = "image-map.no-class": "`{path}` lies beside the folders of the classes, expected it in one of them"
            => "Move the image into the folder of its class, or leave the stream of labels out.",
        /// A folder without images.
        NoImages
            = "image-map.no-pictures": "the folder has no images: no file with the extension of one"
            => "Name the folder that holds the folders of the classes.",
        /// The header of a CSV map lacks a column.
        NoColumn { column: String = "path".into(), found: String = "`file`, `class`".into() }
            = "image-map.no-column": "the header has no column `{column}`: found {found}"
            => "Add a header, or name the column by {PATH_COLUMN}, {LABEL_COLUMN} or {KEY_COLUMN}.",
        /// A record of a CSV map has more or fewer fields than the header.
        WrongColumns { found: usize = 2, expected: usize = 3 }
            = "image-map.wrong-columns": ("found {}, expected {expected}, as in the header", number_of(found, "field"))
            => "Put fields with commas in them in quotes.",
        /// Archives lack members that the map lists.
        NoMembers { path: String = "all.zip@/a.jpg".into(), others: String = " (2 in all, `all.zip@/b.jpg` too)".into() }
            = "image-map.no-members": "`{path}` is listed, and the archive has no member of this name{others}"
            => "Correct the names, which are case-sensitive, or set {ON_CORRUPT_IMAGE_SKIP} to leave such images out.",
        /// The quotes around a field do not end.
        OpenQuote
            = "image-map.open-quote": "the quotes around a field do not end"
            => "Close the quotes; those inside a field are doubled.",
        /// Text follows a field in quotes.
        AfterQuote
            = "image-map.after-quote": "found text after a field in quotes, expected a comma or the end of the line"
            => "Double the quotes inside a field.",
        /// A line is no JSON object.
        NotJson { what: String = "expected value at column 1".into() }
            = "image-map.not-json": "the line is no JSON object: {what}"
            => "Write one object a line.",
        /// A line lacks a field.
        NoField { field: String = "path".into() }
            = "image-map.no-field": "the object has no `{field}`"
            => "Add the field, or name another by {PATH_COLUMN}, {LABEL_COLUMN} or {KEY_COLUMN}.",
        /// A field is neither text nor a whole number.
        FieldKind { field: String = "label".into(), found: String = "1.5".into() }
            = "image-map.field-kind": "`{field}` is {found}, expected a text or a whole number"
            => "Write a text or a whole number.",
        /// The file that a line lists cannot be read.
        Unreadable { what: String = "entity not found; relative names start from `/data`".into() }
            = "image-map.unreadable": "the image cannot be read: {what}"
            => "Fix the path, where a member of a zip archive is `archive.zip@/name`, or set {ON_CORRUPT_IMAGE_SKIP}.",
    }
}

impl FormatFaults for ImageMapFault {}

impl ImageMapFault {
    /// True if a label is at fault.
    pub(super) fn is_of_label(&self) -> bool {
        use ImageMapFault::*;
        matches!(
            self,
            NoLabel { .. }
                | BadLabel { .. }
                | TrailingText { .. }
                | LabelOutOfRange { .. }
                | MixedLabels { .. }
                | EmptyLabel { .. }
                | TooManyClasses { .. }
                | UnknownClass { .. }
                | NoClass { .. }
        )
    }
}
