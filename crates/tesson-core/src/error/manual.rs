//! The manual's page of errors.

use std::fmt::Write;

use super::{CallErrorKind, ConfigErrorKind, ErrorCodes, ErrorInfo, ResumeErrorKind, StoreErrorKind};
use crate::{NamedOption, options_named};

/// One kind of error with an example of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEntry {
    /// Code and meaning.
    pub info: ErrorInfo,
    /// The remedy of the kind.
    pub remedy: String,
    /// The text of one error of the kind, without the location before it.
    pub example: String,
    /// The options that text and remedy name.
    pub named: Vec<NamedOption>,
}

/// The kinds of one enum.
pub fn error_entries<T: ErrorCodes>() -> Vec<ErrorEntry> {
    let entry = |(&info, error): (&ErrorInfo, T)| {
        let (mut remedy, mut example) = (String::new(), String::new());
        let named = options_named(|| (remedy, example) = (error.remedy().general, error.to_string()));
        ErrorEntry { info, remedy, example, named }
    };
    T::TABLE.iter().zip(T::examples()).map(entry).collect()
}

/// The kinds of errors that are not about data.
pub fn general_entries() -> Vec<ErrorEntry> {
    [
        error_entries::<StoreErrorKind>(),
        error_entries::<ConfigErrorKind>(),
        error_entries::<ResumeErrorKind>(),
        error_entries::<CallErrorKind>(),
    ]
    .concat()
}

/// The manual's page of these kinds, sorted by code. As it shows the text of every kind, it is also where a change of a text
/// is seen in review.
pub fn error_manual(mut entries: Vec<ErrorEntry>) -> String {
    entries.sort_by_key(|entry| entry.info.code);
    let mut page = String::from(
        "# Errors\n\n\
         Each kind of error has a code that stays the same across releases, while texts may get better. Rust gives it as\n\
         `code()`, Python as `.code`, the command line as `code` with `--json`; the remedy is `remedy()`, `.remedy` and `remedy`. Each\n\
         error also says where it was found: a file with line and byte, a stream and a key, or the path of an option.\n\n\
         `cargo xtask manual` writes this page from the code; a test compares them.\n",
    );
    for entry in &entries {
        let ErrorInfo { code, meaning } = entry.info;
        let ErrorEntry { remedy, example, .. } = entry;
        let _ = write!(page, "\n## `{code}`\n\n{}\n{remedy}\n\n    {example}\n", meaning.trim());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataErrorKind;

    #[test]
    fn each_kind_has_a_code_of_its_own_a_sentence_and_a_remedy() {
        let entries = error_entries::<DataErrorKind>();
        for (i, ErrorEntry { info, remedy, example, .. }) in entries.iter().enumerate() {
            assert!(info.code.starts_with("data."), "{info:?}");
            assert!(info.meaning.ends_with('.') && remedy.ends_with('.'), "{info:?}");
            assert!(!example.is_empty() && !example.ends_with('.'), "{example}");
            assert!(entries[..i].iter().all(|before| before.info.code != info.code), "{info:?} occurs twice");
        }
    }

    #[test]
    fn the_page_lists_kinds_by_code() {
        let page = error_manual(error_entries::<DataErrorKind>());
        let codes: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert!(codes.is_sorted() && codes.len() == DataErrorKind::TABLE.len());
        assert!(
            page.contains("## `data.index-out-of-range`\n\nThe column number of a sparse value is not below")
        );
        assert!(page.contains("\n    index 5 is not below dim 5\n"));
    }
}
