//! Links in Markdown files to other files of the repository.

use std::path::{Component, Path, PathBuf};

use crate::run::root;
use crate::source_text::{File, numbered};

/// Every relative link that leads nowhere.
pub(crate) fn broken(files: &[File]) -> Vec<String> {
    files.iter().filter(|f| f.path.ends_with(".md")).flat_map(broken_in).collect()
}

fn broken_in(file: &File) -> Vec<String> {
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (n, line) in numbered(&file.text) {
        let dead =
            targets(line).filter(|t| !inside(&folder.join(t)).is_some_and(|p| root().join(p).exists()));
        found.extend(dead.map(|t| format!("{}:{n}: no `{t}`", file.path)));
    }
    found
}

/// The files that a line links to, without their fragments.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    links.filter(|t| !t.contains("://") && !t.starts_with('#')).map(|t| t.split('#').next().unwrap_or(t))
}

/// The path without `.` and `..`; `None` if it leaves the repository.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let file = File { path: "docs/x.md".into(), text: text.into() };
        assert_eq!(broken_in(&file), expected, "{text}");
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        check("see [this](missing.md#part) and [that](../Cargo.toml)", &["docs/x.md:1: no `missing.md`"]);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        check("[up](../../else.md)", &["docs/x.md:1: no `../../else.md`"]);
    }

    #[test]
    fn links_to_the_web_and_within_the_page_are_left_alone() {
        check("[web](https://example.org/x.md) [part](#part)", &[]);
    }
}
