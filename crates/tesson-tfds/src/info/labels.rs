//! Names of classes (spec/tfds.md §1.4).

/// The prefix of the names of files that belong to a feature, made of the keys from the root to it.
pub fn file_stem<'a>(path: impl IntoIterator<Item = &'a str>) -> String {
    let keys: Vec<String> = path.into_iter().map(|key| key.replace('/', ".")).collect();
    keys.join("-")
}

/// The label file of a feature, by the keys from the root to it.
pub fn label_file<'a>(path: impl IntoIterator<Item = &'a str>) -> String {
    format!("{}.labels.txt", file_stem(path))
}

/// The names in a label file, in the order of their classes. Bytes that are no UTF-8 are shown as such.
pub fn labels(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_blank_lines_dropped() {
        assert_eq!(labels(b" cat \r\n\n\tdog\n"), ["cat", "dog"]);
        assert_eq!(labels(b""), [""; 0]);
    }

    #[test]
    fn the_file_is_named_after_the_path() {
        assert_eq!(label_file(["objects", "kind"]), "objects-kind.labels.txt");
        assert_eq!(label_file(["a/b", "c"]), "a.b-c.labels.txt");
    }
}
