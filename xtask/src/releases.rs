//! Releases: the changelog and the release notes have each of them, and the version in the manifest is the latest.

use crate::source_text::File;

const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";
const NOTES: &str = "docs/manual/releases.md";

/// Releases that the changelog or the release notes lack, and a version in the manifest that neither begins with.
pub(crate) fn without_notes(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let [changes, notes] = [CHANGELOG, NOTES].map(|path| headings(text(path)));
    let version =
        text(MANIFEST).lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    let mut wrong = Vec::new();
    if changes.first().copied() != version {
        wrong.push(format!(
            "{CHANGELOG}: found {:?} first, expected {version:?}, as {MANIFEST} says",
            changes.first()
        ));
    }
    if changes != notes {
        wrong.push(format!(
            "{NOTES}: found the releases {notes:?}, expected those of {CHANGELOG}: {changes:?}"
        ));
    }
    wrong
}

/// The versions of a page's headings, as in `## 0.1.0 (2026-12-01)`.
fn headings(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("## ")?.split(' ').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_without_notes_is_found() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let check = |changes: &str, notes: &str| {
            let manifest = file(MANIFEST, "[workspace.package]\nversion = \"0.2.0\"\n");
            without_notes(&[manifest, file(CHANGELOG, changes), file(NOTES, notes)]).len()
        };
        let (both, old) = ("# Title\n\n## 0.2.0 (today)\n\n## 0.1.0\n", "## 0.1.0\n");
        assert_eq!([check(both, both), check(both, old), check(old, old), check(old, both)], [0, 1, 1, 2]);
    }
}
