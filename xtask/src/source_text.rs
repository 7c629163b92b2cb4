//! The files of the repository, as text.

use std::fs;
use std::path::Path;

use crate::run::{answer, program, root};

/// A file of the repository.
pub(crate) struct File {
    /// Relative to the root, with `/` between its parts.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// The folders of generated files.
const MADE: &[&str] = &[".git", ".venv", "target", "__pycache__", ".pytest_cache", ".mypy_cache"];

/// Recorded data, which are never edited: no rule is about them.
const RECORDED: &str = "conformance/cases/";

/// All text files that are, or could be, committed, except recorded data.
pub(crate) fn files() -> Vec<File> {
    names().into_iter().filter(|name| !name.starts_with(RECORDED)).filter_map(read).collect()
}

impl File {
    /// True if it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The crate of `crates/` that the file belongs to.
    pub(crate) fn member(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The name of source code that ships: its path within its crate or package, without the extension.
    pub(crate) fn source_name(&self) -> Option<&str> {
        let within = |folder: &str| self.path.split_once(folder).map(|(_, name)| name);
        let rust = within("/src/").and_then(|name| name.strip_suffix(".rs"));
        let name = rust.or_else(|| within("/python/tesson/")?.strip_suffix(".py"))?;
        self.member().map(|_| name)
    }

    /// The lines of Rust that ship, numbered from 1, without comments and code that only tests compile.
    ///
    /// Tests are at the end of a file, or in files and folders named for them (docs: the style of this repository),
    /// so everything after the first `#[cfg(test)]` before a module with a body counts as tests.
    pub(crate) fn shipped_lines(&self) -> Vec<(usize, &str)> {
        // A build script talks to Cargo, by printing.
        if self.is_only_for_tests() || self.path.ends_with("/build.rs") {
            return Vec::new();
        }
        let end = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        numbered(&self.text[..end]).filter(|(_, line)| !line.trim_start().starts_with("//")).collect()
    }

    fn is_only_for_tests(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folder = parts.iter().any(|p| ["tests", "benches", "examples"].contains(p));
        folder || self.path.ends_with("/tests.rs")
    }
}

/// Lines with their numbers, from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line))
}

fn names() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    match answer(program("git").args(list)) {
        Some(names) => names.lines().map(str::to_owned).collect(),
        // An unpacked archive has no git.
        None => walk(root()),
    }
}

fn read(path: String) -> Option<File> {
    // Not text, or deleted and not yet committed: nothing to check.
    let text = fs::read_to_string(root().join(&path)).ok()?;
    Some(File { path, text })
}

fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.extend((!is_made(&path)).then_some(path));
            } else {
                names.extend(relative(&path));
            }
        }
    }
    names.sort();
    names
}

fn is_made(path: &Path) -> bool {
    path.file_name().is_some_and(|name| MADE.iter().any(|made| name == *made))
}

fn relative(path: &Path) -> Option<String> {
    Some(path.strip_prefix(root()).ok()?.to_str()?.replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn comments_and_tests_do_not_ship() {
        let text = "//! std::fs\nuse a;\n    // std::fs\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(file("crates/a/src/b.rs", text).shipped_lines(), [(2, "use a;"), (4, "fn f() {}")]);
        assert!(file("crates/a/src/b/tests.rs", text).shipped_lines().is_empty());
        assert!(file("crates/a/tests/b.rs", text).shipped_lines().is_empty());
    }

    #[test]
    fn a_file_knows_its_crate() {
        assert_eq!(file("crates/tesson-core/src/lib.rs", "").member(), Some("tesson-core"));
        assert_eq!(file("xtask/src/main.rs", "").member(), None);
    }

    #[test]
    fn the_walk_finds_what_git_lists() {
        let all = walk(root());
        for name in ["Cargo.toml", "xtask/src/source_text.rs"] {
            assert!(all.iter().any(|n| n == name), "{name}");
        }
        assert!(!all.iter().any(|n| n.starts_with(".git/") || n.starts_with("target/")));
    }
}
