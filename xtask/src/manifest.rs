//! Dependencies in `Cargo.toml` files.

use crate::source_text::{File, numbered};

/// A line that names a dependency.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Its name.
    pub(crate) name: String,
    /// True if only tests, examples and benches use it.
    pub(crate) dev: bool,
    /// The number of its line, from 1.
    pub(crate) line: usize,
    /// True if it has a comment above or beside it.
    pub(crate) reason: bool,
}

/// The dependencies of one crate, as its manifest writes them: one a line, or a section each.
pub(crate) fn dependencies(manifest: &File) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = "";
    let mut above = "";
    for (number, line) in numbered(&manifest.text) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
            section = name;
        }
        if let Some(name) = named(section, line) {
            let reason = above.starts_with('#') || line.contains(" #");
            found.push(Dependency { name, dev: section.contains("dev-dependencies"), line: number, reason });
        }
        above = line;
    }
    found
}

/// The dependency that a line declares: `name = …` in a list of dependencies, or the head `[dependencies.name]`.
fn named(section: &str, line: &str) -> Option<String> {
    // `[workspace.dependencies]` has versions; the reasons are in the manifests that use them.
    if section.starts_with("workspace.") {
        return None;
    }
    if line.starts_with('[') {
        return section.split("dependencies.").nth(1).map(str::to_owned);
    }
    if !section.ends_with("dependencies") {
        return None;
    }
    let name = line.split(['=', '.']).next().map(str::trim)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (line.contains('=') && !name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, bool, usize, bool)> {
        let file = File { path: "crates/a/Cargo.toml".into(), text: text.into() };
        dependencies(&file).into_iter().map(|d| (d.name, d.dev, d.line, d.reason)).collect()
    }

    #[test]
    fn a_reason_stands_above_or_beside() {
        let text = "[dependencies]\n# Why.\na = \"1\"\nb = { version = \"1\" } # Why.\nc.workspace = true\n";
        let expected =
            [("a".into(), false, 3, true), ("b".into(), false, 4, true), ("c".into(), false, 5, false)];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn tables_for_tests_targets_and_single_crates_count_too() {
        let text = "[target.'cfg(unix)'.dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\n# Why.\n[dependencies.c]\nversion = \"1\"\n";
        let expected =
            [("a".into(), false, 2, false), ("b".into(), true, 4, false), ("c".into(), false, 6, true)];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn versions_of_the_workspace_and_other_sections_are_no_dependencies() {
        assert!(
            read("[package]\nname = \"x\"\n[workspace.dependencies]\na = \"1\"\n[features]\nb = []\n")
                .is_empty()
        );
    }
}
