//! A folder in the place of a map: each folder in it is a class, and the images below that are its images.

use super::fault::ImageMapFault;
use super::line::Line;
use crate::images::has_image_extension;

/// The content of a listing beside its images.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    /// The classes, by name.
    pub(super) classes: Vec<String>,
    /// Files whose extension is none of an image, and the first of them.
    pub(super) n_others: u64,
    pub(super) first_other: Option<String>,
}

impl Rest {
    /// The image that a name in a listing is; nothing of another file or of a folder, which are noted. Its key and its path are
    /// that name, and its label is the name of the class.
    pub(super) fn image<'a>(
        &mut self,
        name: &'a str,
        with_labels: bool,
    ) -> Option<Result<Line<'a>, ImageMapFault>> {
        if let Some(folder) = name.strip_suffix('/') {
            if !folder.contains('/') {
                self.classes.push(folder.to_owned());
            }
            return None;
        }
        if !has_image_extension(name) {
            self.n_others += 1;
            self.first_other.get_or_insert_with(|| name.to_owned());
            return None;
        }
        let class = name.split_once('/').map(|(class, _)| class);
        let bytes = |text: &'a str| text.as_bytes().into();
        Some(match (with_labels, class) {
            (true, None) => Err(ImageMapFault::NoClass { path: name.into() }),
            (_, class) => {
                let label = class.filter(|_| with_labels).map(bytes);
                Ok(Line { key: Some(bytes(name)), path: bytes(name), label })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_by_their_extension_and_classes_by_their_folder() {
        let names = ["a.txt", "cat/", "cat/.png", "cat/1.JPG", "cat/in/", "cat/in/2.png", "dog/", "top.png"];
        let mut rest = Rest::default();
        let images = names.into_iter().filter_map(|name| rest.image(name, true));
        let found: Vec<_> = images
            .map(|line| {
                line.map(|line| (line.path.into_owned(), line.label.unwrap_or_default().into_owned()))
            })
            .collect();
        let line = |path: &str, class: &str| Ok((path.as_bytes().to_vec(), class.as_bytes().to_vec()));
        let top = Err(ImageMapFault::NoClass { path: "top.png".into() });
        assert_eq!(found, [line("cat/1.JPG", "cat"), line("cat/in/2.png", "cat"), top]);
        let classes = vec!["cat".to_owned(), "dog".to_owned()];
        assert_eq!(rest, Rest { classes, n_others: 2, first_other: Some("a.txt".to_owned()) });
        let without = names.into_iter().filter_map(|name| Rest::default().image(name, false));
        let n = without.filter(|line| line.as_ref().unwrap().label.is_none()).count();
        assert_eq!(n, 3, "without labels, an image may lie in no folder");
    }
}
