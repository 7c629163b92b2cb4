//! How documentation begins: with what the item is or does, so that its first sentence is enough to recognize it.

use crate::source_text::{File, numbered};

/// Beginnings that make the reader wait for the subject or look for another item.
const ROUNDABOUT: &[&str] = &["What", "Whether", "The same", "As [", "As :"];

/// Doc comments and docstrings that begin roundabout, and paragraphs of doc comments that do.
pub(crate) fn roundabout(files: &[File]) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| match file.path.rsplit_once('.') {
            Some((_, "rs")) => in_comments(file),
            Some((_, "py" | "pyi")) => in_docstrings(file),
            _ => Vec::new(),
        })
        .collect()
}

/// The text of a doc comment's line.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn in_comments(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let mut begins = true;
    for (n, line) in numbered(&file.text) {
        let text = comment(line);
        found.extend(text.filter(|_| begins).and_then(|text| objection(file, n, text)));
        begins = text.is_none_or(|text| text.is_empty() || text.starts_with("# "));
    }
    found
}

fn in_docstrings(file: &File) -> Vec<String> {
    let text = |line| str::trim_start(line).strip_prefix("\"\"\"");
    numbered(&file.text).filter_map(|(n, line)| objection(file, n, text(line)?)).collect()
}

fn objection(file: &File, n: usize, text: &str) -> Option<String> {
    let begin = ROUNDABOUT.iter().find(|begin| text.starts_with(*begin))?;
    Some(format!("{}:{n}: begins with `{begin}`; say first what the item is or does", file.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        roundabout(&[File { path: path.into(), text: text.into() }])
    }

    #[test]
    fn a_doc_comment_that_begins_roundabout_is_found() {
        for begin in ROUNDABOUT {
            let text = format!("struct A;\n    /// {begin} it holds.\nfn b() {{}}\n");
            let expected = format!("a.rs:2: begins with `{begin}`; say first what the item is or does");
            assert_eq!(found("a.rs", &text), [expected]);
        }
        assert_eq!(found("a.rs", "//! The house.\n//!\n//! What it holds.\n").len(), 1);
        assert_eq!(found("a.rs", "/// The house.\n///\n/// # Errors\n/// As [`a`].\n").len(), 1);
    }

    #[test]
    fn other_lines_may_begin_so() {
        let text = "/// The house.\n/// What is in it is ours.\n///\n/// # Errors\n/// Those of [`a`].\n// What for?\n";
        assert!(found("a.rs", text).is_empty());
        assert!(found("a.md", "What it holds.\n").is_empty());
    }

    #[test]
    fn a_docstring_that_begins_roundabout_is_found() {
        assert_eq!(found("a.py", "def a():\n    \"\"\"Whether it is.\"\"\"\n").len(), 1);
        assert!(found("a.py", "def a():\n    \"\"\"True if it is.\"\"\"\n").is_empty());
    }
}
