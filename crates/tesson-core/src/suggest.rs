//! Names that a misspelt one was probably meant to be.

use crate::StreamInfo;

/// The name nearest to `name`, without regard to case, if it is near enough to be meant: one edit in four letters, and one more,
/// but fewer edits than `name` has letters.
/// Texts longer than names may be are not compared, which takes time in proportion to the product of their lengths.
pub fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let may_be_meant = |text: &str| text.len() <= StreamInfo::LONGEST_NAME;
    if !may_be_meant(name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let edits = |known: &str| strsim::levenshtein(&lower, &known.to_ascii_lowercase());
    let among = among.into_iter().filter(|known| may_be_meant(known));
    let near = among.map(|known| (edits(known), known)).min_by_key(|(edits, _)| *edits);
    let letters = name.chars().count();
    near.filter(|(edits, known)| *edits <= 1 + known.len() / 4 && *edits < letters.max(1))
        .map(|(_, known)| known)
}

/// The end of an error about an unknown name: the nearest name that there is, or nothing.
pub fn did_you_mean<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, among).map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_the_nearest_one_as_its_suggestion() {
        let names = ["precision", "randomize", "dim"];
        assert_eq!(did_you_mean("Randomise", names), ", did you mean `randomize`?");
        assert_eq!(did_you_mean("din", names), ", did you mean `dim`?");
        assert_eq!(did_you_mean("size", names), "");
        assert_eq!(did_you_mean("x", []), "");
        assert_eq!(did_you_mean("X", ["y", "x"]), ", did you mean `x`?");
        // A letter is not meant to be any other one.
        assert_eq!(did_you_mean("z", ["x", "y"]), "");
    }
}
