//! The paths that a list of files has: relative to the working directory, to `root`, or to the list.

/// The rules for paths in one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPaths {
    folder: String,
    /// With a `/` at its end if it is not empty.
    root: String,
}

impl ListedPaths {
    /// The rules of the list in the file `list`: its relative paths start from `root`, or from the working directory
    /// if that is empty.
    #[must_use]
    pub fn new(list: &str, root: &str) -> ListedPaths {
        let folder = list.rfind(['/', '\\']).map(|separator| &list[..separator]);
        let root = if root.is_empty() { String::new() } else { format!("{}/", root.trim_end_matches('/')) };
        ListedPaths { folder: folder.unwrap_or(".").to_owned(), root }
    }

    /// The folder of the list, written as `...` in it.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// A path with the folder that it starts from: a relative one starts from `root`, one that begins with `...` from the folder
    /// of the list.
    #[must_use]
    pub fn complete(&self, path: &str) -> String {
        match path.strip_prefix("...") {
            Some(rest) => [&self.folder, rest].concat(),
            None => self.rooted(path),
        }
    }

    /// Completes a path like [`complete`](Self::complete), but `...` has no special meaning.
    #[must_use]
    pub fn rooted(&self, path: &str) -> String {
        let root = if path.starts_with('/') { "" } else { &self.root };
        [root, path].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_from_the_working_directory_the_root_or_the_list() {
        let paths = ListedPaths::new("d/list", "");
        assert_eq!(paths.complete("a/x"), "a/x");
        assert_eq!(paths.complete(".../x"), "d/x");
        assert_eq!(paths.complete("...x"), "dx");
        let paths = ListedPaths::new("list", "r//");
        assert_eq!(paths.complete("x"), "r/x");
        assert_eq!(paths.complete("/x"), "/x");
        assert_eq!(paths.complete(".../x"), "./x");
        assert_eq!(paths.rooted(".../x"), "r/.../x");
    }

    #[test]
    fn the_outermost_folder_is_a_folder_too() {
        assert_eq!(ListedPaths::new("/list", "/").complete(".../x"), "/x");
        assert_eq!(ListedPaths::new("/list", "/").complete("x"), "/x");
        assert_eq!(ListedPaths::new("d\\list", "").complete("...\\x"), "d\\x");
    }
}
