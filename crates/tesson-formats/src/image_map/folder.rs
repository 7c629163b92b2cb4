//! A folder in the place of a map: each folder in it is a class, and the pictures below that are its pictures.

use super::fault::ImageMapFault;
use super::line::Line;
use crate::pictures::has_picture_extension;

/// What is in a listing beside its pictures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rest<'a> {
    /// The classes, by name.
    pub(super) classes: Vec<&'a str>,
    /// Files whose extension is none of a picture, and the first of them.
    pub(super) n_others: u64,
    pub(super) first_other: Option<&'a str>,
}

/// Calls `on` with the pictures of a listing, in its order: keys and paths are their names in it, and labels the names of
/// classes.
pub(super) fn each<'a>(
    names: impl Iterator<Item = &'a str>,
    with_labels: bool,
    on: &mut dyn FnMut(Result<Line<'_>, ImageMapFault>),
) -> Rest<'a> {
    let mut rest = Rest::default();
    for name in names {
        if let Some(folder) = name.strip_suffix('/') {
            if !folder.contains('/') {
                rest.classes.push(folder);
            }
        } else if has_picture_extension(name) {
            let class = name.split_once('/').map(|(class, _)| class);
            let bytes = |text: &'a str| text.as_bytes().into();
            on(match (with_labels, class) {
                (true, None) => Err(ImageMapFault::NoClass { path: name.into() }),
                (_, class) => {
                    let label = class.filter(|_| with_labels).map(bytes);
                    Ok(Line { key: Some(bytes(name)), path: bytes(name), label })
                }
            });
        } else {
            rest.n_others += 1;
            rest.first_other.get_or_insert(name);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_told_by_their_extension_and_classes_by_their_folder() {
        let names = ["a.txt", "cat/", "cat/.png", "cat/1.JPG", "cat/in/", "cat/in/2.png", "dog/", "top.png"];
        let mut found = Vec::new();
        let rest = each(names.into_iter(), true, &mut |line| {
            found
                .push(line.map(|line| (line.path.into_owned(), line.label.unwrap_or_default().into_owned())));
        });
        let line = |path: &str, class: &str| Ok((path.as_bytes().to_vec(), class.as_bytes().to_vec()));
        let top = Err(ImageMapFault::NoClass { path: "top.png".into() });
        assert_eq!(found, [line("cat/1.JPG", "cat"), line("cat/in/2.png", "cat"), top]);
        assert_eq!(rest, Rest { classes: vec!["cat", "dog"], n_others: 2, first_other: Some("a.txt") });
        let mut n = 0;
        each(names.into_iter(), false, &mut |line| n += usize::from(line.unwrap().label.is_none()));
        assert_eq!(n, 3, "without labels, a picture may lie in no folder");
    }
}
