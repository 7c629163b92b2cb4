//! The paths of a map file: files, and members of zip archives.

use tesson_core::ListedPaths;

/// Where an image lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ImagePath {
    /// In a file of its own.
    File(String),
    /// In an archive, under this name.
    Member { archive: String, name: String },
}

/// How the paths of one map are completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PathRules {
    paths: ListedPaths,
    /// True if paths are names in `root` as they are: neither `...` nor `@` has a meaning.
    plain: bool,
}

impl PathRules {
    pub(super) fn new(map: &str, root: &str) -> PathRules {
        PathRules { paths: ListedPaths::new(map, root), plain: false }
    }

    /// The rules of names that were found in a folder.
    pub(super) fn in_folder(folder: &str) -> PathRules {
        PathRules { paths: ListedPaths::new("", folder), plain: true }
    }

    /// Where the image of a path lies. A leading `...` stands for the folder of the map file; the first `@/` or `@\`
    /// separates an archive from the name of its member.
    pub(super) fn resolve(&self, path: &str) -> ImagePath {
        if self.plain {
            return ImagePath::File(self.paths.rooted(path));
        }
        let path = self.paths.complete(path);
        match path.split_once('@') {
            Some((archive, name)) if name.starts_with(['/', '\\']) => {
                ImagePath::Member { archive: archive.to_owned(), name: name[1..].replace('\\', "/") }
            }
            _ => ImagePath::File(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> ImagePath {
        ImagePath::File(path.into())
    }

    #[test]
    fn three_dots_are_the_folder_of_the_map() {
        let rules = PathRules::new("d/map.txt", "root");
        assert_eq!(rules.resolve(".../x.jpg"), file("d/x.jpg"));
        assert_eq!(rules.resolve("...x.jpg"), file("dx.jpg"));
        assert_eq!(rules.resolve("x.jpg"), file("root/x.jpg"));
        assert_eq!(rules.resolve("/x.jpg"), file("/x.jpg"));
        let rules = PathRules::new("map.txt", "");
        assert_eq!(rules.resolve(".../x.jpg"), file("./x.jpg"));
        assert_eq!(rules.resolve("a/x.jpg"), file("a/x.jpg"));
    }

    #[test]
    fn names_in_a_folder_stay_as_they_are() {
        let rules = PathRules::in_folder("photos/");
        assert_eq!(rules.resolve(".../x@/y.jpg"), file("photos/.../x@/y.jpg"));
    }

    #[test]
    fn the_first_at_sign_before_a_separator_names_a_member_of_an_archive() {
        let rules = PathRules::new("d\\map.txt", "");
        let member =
            |archive: &str, name: &str| ImagePath::Member { archive: archive.into(), name: name.into() };
        assert_eq!(rules.resolve("z.zip@/a/b.jpg"), member("z.zip", "a/b.jpg"));
        assert_eq!(rules.resolve("z.zip@\\a\\b@c.jpg"), member("z.zip", "a/b@c.jpg"));
        assert_eq!(rules.resolve("...\\z.bin@/a.jpg"), member("d\\z.bin", "a.jpg"));
        assert_eq!(rules.resolve("me@home.jpg"), file("me@home.jpg"));
    }
}
