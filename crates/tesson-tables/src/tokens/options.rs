//! Windows and documents.

use tesson_core::{ConfigError, Element, Options, ReaderDefaults, Words, options};

use crate::fault::TableRefusal;

static TOKEN_TYPES: Words<Element, 4> = Words::new([
    ("uint16", Element::U16),
    ("uint32", Element::U32),
    ("int32", Element::I32),
    ("int64", Element::I64),
]);

options! {
    /// The options of files of tokens.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct TokenOptions(options, reader: ReaderDefaults) {
        pub(crate) element: Option<Element> = "tokenType" in TOKEN_TYPES, optional
            => "For `tokens`: the type of a flat file's numbers, by default `uint16`; other files tell it."
            [describe if given]
            [identity with |tokens, text| match tokens.element {
                Some(element) => text.field("tokens", element.name()),
                None => text,
            }];
        pub(crate) window: Option<u64> = "length", optional
            => "For `tokens`: number of tokens in an example; the stream `labels` has the ones after them. By default examples are \
             documents."
            [read tokens_of(options, "length")?]
            [describe if given]
            [identity if given "window"];
        pub(crate) stride: Option<u64> = "stride", optional
            => "For `tokens`: tokens from the beginning of a window to that of the next, by default `length`."
            [read tokens_of(options, "stride")?]
            [describe if given]
            [identity if given "stride"];
        pub(crate) end_of_text: Option<i64> = "endOfText", optional
            => "For `tokens`: the number that ends a document, which is the last token of it. Megatron's index tells where they end."
            [describe if given]
            [identity if given "end"];
        check check_windows;
    }
}

/// Tokens of a window, at most.
const LONGEST: u64 = 1 << 28;

fn tokens_of(options: &Options<'_>, name: &'static str) -> Result<Option<u64>, ConfigError> {
    match options.whole_if_given(name)? {
        Some(n) if !(1..=LONGEST).contains(&n) => {
            Err(ConfigError::out_of_range(options.path(name), n.to_string(), format!("1 to {LONGEST}")))
        }
        n => Ok(n),
    }
}

fn check_windows(tokens: &TokenOptions, options: &Options<'_>) -> Result<(), ConfigError> {
    if tokens.window.is_some() && tokens.end_of_text.is_some() {
        return Err(ConfigError::refused(options.path("endOfText"), &TableRefusal::WindowsAndDocuments));
    }
    if tokens.window.is_none() && tokens.stride.is_some() {
        return Err(ConfigError::refused(options.path("stride"), &TableRefusal::StrideAlone));
    }
    Ok(())
}
