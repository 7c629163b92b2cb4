//! What can be wrong with a map file, and with a picture that it lists.

use tesson_core::FormatFaults;

tesson_core::error_kinds! {
    /// What is wrong with a line of a map file, or with the file that it lists.
    pub enum ImageMapFault {
        /// A line has only one column, but labels are wanted.
        OneColumn
            = "image-map.one-column": "found one column, expected a path and a label, separated by a tab, or a key, a path and a label"
            => "Separate the columns by tabs, or leave the stream of labels out.",
        /// The key of a line is empty.
        EmptyKey
            = "image-map.empty-key": "the key is empty, expected a number or a name"
            => "Write a key before the first tab, or leave the column out of all lines.",
        /// The path of a line is empty.
        EmptyPath
            = "image-map.empty-path": "the path is empty, expected a file or a member of a zip archive"
            => "Write the path of a picture.",
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
            = "image-map.trailing-text": "the label is `{found}`, expected a number alone (`strictLabels`)"
            => "Remove what follows the number, or turn `strictLabels` off.",
        /// A label is not below the number of classes.
        LabelOutOfRange { path: String = "a.jpg".into(), label: u64 = 10, dim: u64 = 10 }
            = "image-map.label-out-of-range": "the label of `{path}` is {label}, expected one below `labelDim`, {dim}"
            => "Raise `labelDim`, or mend the label.",
        /// A line is not UTF-8.
        NotUtf8 { found: String = "caf\\xe9.jpg".into() }
            = "image-map.not-utf-8": "`{found}` is not UTF-8"
            => "Convert the map file to UTF-8, or rename the picture.",
        /// The file that a line lists cannot be read.
        Unreadable { what: String = "not found".into() }
            = "image-map.unreadable": "the picture cannot be read: {what}; `onCorruptImage = \"skip\"` leaves such pictures out"
            => "Mend the path, or set `onCorruptImage = \"skip\"`.",
    }
}

impl FormatFaults for ImageMapFault {}
