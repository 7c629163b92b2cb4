//! Delimiter, header and names.

use tesson_core::identity::Quoted;
use tesson_core::{ConfigError, OptionKind, Options, ReaderDefaults, Value, Words, options};

static HEADERS: Words<Option<bool>, 3> =
    Words::new([("auto", None), ("true", Some(true)), ("false", Some(false))]);

options! {
    /// The options of CSV.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct CsvOptions(options, reader: ReaderDefaults) {
        pub(crate) delimiter: Option<u8> = "delimiter": OptionKind::Text, optional
            => "For `csv`: the character between the fields of CSV, also `tab`; by default the first rows tell it."
            [read delimiter(options)?]
            [describe as |csv| Value::Text(csv.delimiter.map_or_else(String::new, delimiter_name))]
            [identity with |csv, text| match csv.delimiter {
                Some(delimiter) => text.field("delimiter", delimiter),
                None => text,
            }];
        pub(crate) header: Option<bool> = "header" in HEADERS, "auto"
            => "For `csv`: true if the first row has the names of the columns; by default it has if none of its fields is a number."
            [identity with |csv, text| match csv.header {
                Some(header) => text.flag(if header { "header" } else { "headerless" }, true),
                None => text,
            }];
        pub(crate) names: Option<Vec<String>> = "names", optional
            => "For `csv`: names of the columns, in the order of the file; in place of those in the first row, if it has some."
            [identity with |csv, text| match &csv.names {
                Some(names) => names.iter().fold(text.word("names"), |text, name| text.word(Quoted(name))),
                None => text,
            }];
    }
}

fn delimiter(options: &Options<'_>) -> Result<Option<u8>, ConfigError> {
    let Some(text) = options.text_if_given("delimiter")? else { return Ok(None) };
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(Some(b'\t')),
        &[byte] if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(Some(byte)),
        _ => {
            let expected = "one ASCII character, or `tab`";
            Err(ConfigError::wrong_form(options.path("delimiter"), format!("`{text}`"), expected))
        }
    }
}

/// The name of a delimiter in options and messages.
pub(crate) fn delimiter_name(delimiter: u8) -> String {
    if delimiter == b'\t' { "tab".into() } else { char::from(delimiter).into() }
}
