//! References to the specifications in docs/spec: each names its page, and both page and section exist.
//!
//! The form is the page, a blank and the section: `spec/engine.md`, then the sign and `5.1`. Further sections of the same
//! page may follow in the line, after a comma or `and`, `or`, `to`. A page may cite its own sections without its name.

use std::collections::{BTreeMap, BTreeSet};

use crate::source_text::{File, numbered};

const PAGES: &str = "docs/spec/";

/// The section sign.
const SIGN: char = '\u{a7}';

/// The texts that may separate two sections of one page.
const CONNECTORS: &[&str] = &[", ", " and ", " or ", " to ", "\u{2013}"];

/// The numbers of the sections of each page, by its file name.
type Sections<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every reference without a page, and every one that leads nowhere.
pub(crate) fn broken(files: &[File]) -> Vec<String> {
    let pages = files.iter().filter_map(|file| Some((page_name(file)?, sections_of(&file.text))));
    let sections: Sections<'_> = pages.collect();
    files.iter().flat_map(|file| broken_in(file, &sections)).collect()
}

/// The name of a page of specifications: `engine.md`.
fn page_name(file: &File) -> Option<&str> {
    file.path.strip_prefix(PAGES).filter(|name| name.ends_with(".md"))
}

/// The numbers of the headings: `### 5.1 Chunk order`, `## 6. Cutting`.
fn sections_of(text: &str) -> BTreeSet<&str> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let numbers = headings.filter_map(|heading| heading.trim_start_matches('#').split_whitespace().next());
    numbers.map(|number| number.trim_end_matches('.')).filter(|n| starts_with_digit(n)).collect()
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn broken_in(file: &File, sections: &Sections<'_>) -> Vec<String> {
    let own = page_name(file);
    let of_line = |(n, line)| faults(line, own, sections).into_iter().map(move |why| (n, why));
    numbered(&file.text).flat_map(of_line).map(|(n, why)| format!("{}:{n}: {why}", file.path)).collect()
}

/// The faults in the references of a line of the page `own`, or of another file.
fn faults(line: &str, own: Option<&str>, sections: &Sections<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let (mut rest, mut last_page) = (line, None);
    while let Some((before, after)) = rest.split_once(SIGN) {
        let (number, end) = number_at(after);
        let continued = last_page.filter(|_| CONNECTORS.contains(&before));
        match page_before(before).or(continued).or(own) {
            None => found.push(format!(
                "`{SIGN}{number}` names no page; write `spec/PAGE.md {SIGN}{number}` with a page of {PAGES}"
            )),
            Some(page) => {
                found.extend(missing(page, number, sections));
                last_page = Some(page);
            }
        }
        rest = &after[end..];
    }
    found
}

/// The number of a section, without a full stop that ends the sentence, and its end.
fn number_at(text: &str) -> (&str, usize) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    (number, number.len())
}

/// The page right before the section sign.
fn page_before(text: &str) -> Option<&str> {
    let (_, page) = text.strip_suffix(' ')?.rsplit_once("spec/")?;
    let is_name = page.strip_suffix(".md").is_some_and(|name| name.chars().all(char::is_alphanumeric));
    is_name.then_some(page)
}

fn missing(page: &str, number: &str, sections: &Sections<'_>) -> Option<String> {
    match sections.get(page) {
        None => Some(format!("there is no page `{PAGES}{page}`")),
        Some(numbers) if !numbers.contains(number) => Some(format!("`spec/{page}` has no section {number}")),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let engine = "# The engine\n\n## 5. Orders\n\n### 5.1 Chunk order\n\n## 6 Cutting\n";
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        // The sign is written as `@` here, so that this file does not break its own rule.
        let files = [file("docs/spec/engine.md", engine), file(path, &text.replace('@', "\u{a7}"))];
        let expected: Vec<String> = expected.iter().map(|why| why.replace('@', "\u{a7}")).collect();
        assert_eq!(broken(&files), expected, "{text}");
    }

    #[test]
    fn a_reference_without_a_page_is_found() {
        let why = "a.rs:2: `@5.1` names no page; write `spec/PAGE.md @5.1` with a page of docs/spec/";
        check("a.rs", "// Chunks.\n// Their order (@5.1).\n", &[why]);
    }

    #[test]
    fn a_page_counts_for_one_list_of_sections_only() {
        let why = "a.rs:1: `@6` names no page; write `spec/PAGE.md @6` with a page of docs/spec/";
        check("a.rs", "// spec/engine.md @5, @5.1 and @6", &[]);
        check("a.rs", "// spec/engine.md @5 says what, so does @6", &[why]);
    }

    #[test]
    fn pages_and_sections_that_do_not_exist_are_found() {
        check("a.py", "# spec/engine.md @7.", &["a.py:1: `spec/engine.md` has no section 7"]);
        check("a.md", "[spec/motor.md @5](x)", &["a.md:1: there is no page `docs/spec/motor.md`"]);
        check("a.rs", "// spec/engine.md @5.1, @5.2", &["a.rs:1: `spec/engine.md` has no section 5.2"]);
    }

    #[test]
    fn a_page_may_cite_itself() {
        check("docs/spec/other.md", "# Other\n## 1 One\nsee @1 and spec/engine.md @5.1\n", &[]);
        check("docs/spec/other.md", "see @2\n", &["docs/spec/other.md:1: `spec/other.md` has no section 2"]);
    }
}
