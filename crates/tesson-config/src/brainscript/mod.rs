//! BrainScript: the text of CNTK's configurations, as far as readers need it.
//!
//! | file | subject |
//! |---|---|
//! | `script` | files and arguments, joined to one text whose places are known, without comments; `include=` |
//! | `lex` | blanks, quotes, brackets and their matches |
//! | `parse` | the grammar: text to records, repeated names merged |
//! | `tree` | records while they are still being written |
//! | `variables` | `$name$`, and the tree without them |
//! | `print` | a tree as text again |
//!
//! The grammar is Tesson's own and gives the tree of CNTK 2.7 wherever that one's is sensible. Everything from outside
//! is bounded: nesting, repeat counts, and what variables make of a text.

mod lex;
mod parse;
mod print;
mod script;
#[cfg(test)]
mod tests;
mod tree;
mod variables;

use tesson_core::{ConfigError, Section};

pub use print::print;
pub use script::{ReadFile, Script};
pub use variables::{Environment, Variables};

/// The variables that a text asks for, and the names that stand at its top.
///
/// # Errors
/// As [`parse`], but for variables.
pub(crate) fn names(script: &Script) -> Result<(Vec<&str>, Vec<String>), ConfigError> {
    let top = parse::parse(script)?.entries.into_iter().map(|entry| entry.name).collect();
    Ok((variables::names(script.as_str()).collect(), top))
}

/// The tree of a configuration: repeated names merged, variables replaced. All values are texts, lists or sections.
///
/// # Errors
/// What is no configuration, with file, line and column: brackets and quotes without a match, names without a value and
/// values without a name, variables that are nowhere or need themselves, and what is too large to be meant.
pub fn parse(script: &Script, variables: &Variables<'_>) -> Result<Section, ConfigError> {
    variables::replaced(&parse::parse(script)?, script, variables)
}
