//! Decisions under `docs/decisions`: each says when it was made and whether it holds.

use crate::source_text::File;

const FOLDER: &str = "docs/decisions/";

/// The states of a decision; that of a replaced one continues with the number of its successor.
const STATES: [&str; 2] = ["in force", "replaced by "];

/// Decisions without a date and a state in their third line, as in `*2026-11-21, in force.*`.
pub(crate) fn undated(files: &[File]) -> Vec<String> {
    let is_decision = |path: &str| {
        path.strip_prefix(FOLDER).is_some_and(|name| name.ends_with(".md") && name != "README.md")
    };
    let decisions = files.iter().filter(|file| is_decision(&file.path));
    let wrong = decisions.filter(|file| !file.text.lines().nth(2).is_some_and(is_dated));
    wrong
        .map(|file| format!("{}:3: expected a date and a state: `*2026-11-21, in force.*`", file.path))
        .collect()
}

fn is_dated(line: &str) -> bool {
    let inside = line.strip_prefix('*').and_then(|line| line.split_once(".*"));
    let Some((date, state)) = inside.and_then(|(inside, _)| inside.split_once(", ")) else { return false };
    let parts: Vec<&str> = date.split('-').collect();
    let are_numbers = parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    are_numbers && lengths == [4, 2, 2] && STATES.iter().any(|known| state.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_and_a_state_are_expected() {
        assert!(is_dated("*2026-11-21, in force.*"));
        assert!(is_dated("*2026-11-21, in force; the table of 2026-11-26 is new.*"));
        assert!(is_dated("*2026-11-21, replaced by decision 28.*"));
        for wrong in [
            "",
            "*State: in force.*",
            "*2026-11, in force.*",
            "*2026-11-21, maybe.*",
            "2026-11-21, in force.",
        ] {
            assert!(!is_dated(wrong), "{wrong}");
        }
        let file = |path: &str, line: &str| File { path: path.into(), text: format!("# 1. A\n\n{line}\n") };
        let index = file("docs/decisions/README.md", "A table.");
        let files = [file("docs/decisions/0001-a.md", "**Problem.**"), file("docs/other.md", "text"), index];
        assert_eq!(undated(&files).len(), 1);
    }
}
