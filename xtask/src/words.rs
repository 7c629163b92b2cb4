//! The vocabulary: every word of an option, a public item or a file name is in docs/glossary.md or common, every term is
//! used, and phrases that the style of this repository replaces by plain ones do not come back.

use std::collections::BTreeSet;

use crate::source_text::{File, numbered};

const GLOSSARY: &str = "docs/glossary.md";

/// The page that the option tables make.
const OPTIONS: &str = "docs/options.md";

/// The public items of the façade.
const ITEMS: &str = "docs/public-api.txt";

/// Words of options, public items and file names that need no explanation.
const COMMON: &str = include_str!("../common-words.txt");

/// Phrases, and their replacements.
const REPLACED: &[(&str, &str)] = &[
    (concat!("of one\u{27}s ", "own"), "custom, user-defined"),
    (concat!("gone on ", "with"), "resumed"),
    (concat!("goes on ", "from"), "resumes from"),
    (concat!("counted, not ", "told"), "counted but not logged"),
    (concat!("what becomes ", "of"), "how it is handled"),
    (concat!("nobody ", "reads"), "unused"),
    (concat!("what there is ", "for"), "the result, the input"),
    (concat!("ahead of the ", "caller"), "in advance, prefetched"),
    (concat!("mend ", "the"), "fix the"),
    (concat!("the file ", "anew"), "rewrite the file, copy the file again"),
];

/// The terms of the glossary, in lower case.
fn terms(files: &[File]) -> Vec<(usize, String)> {
    let glossary = files.iter().find(|file| file.path == GLOSSARY).map_or("", |file| &file.text);
    let term = |(n, line): (usize, &str)| {
        let term = line.strip_prefix("| ")?.split(" | ").next()?.trim().to_lowercase();
        (term != "term").then_some((n, term))
    };
    numbered(glossary).filter_map(term).collect()
}

/// Terms that occur nowhere else.
pub(crate) fn unused_terms(files: &[File]) -> Vec<String> {
    let others: Vec<String> =
        files.iter().filter(|file| file.path != GLOSSARY).map(|file| file.text.to_lowercase()).collect();
    let is_used = |term: &str| {
        let joined = [term.replace(' ', ""), term.replace(' ', "_")];
        others
            .iter()
            .any(|text| text.contains(term) || joined.iter().any(|form| text.contains(form.as_str())))
    };
    let unused = terms(files).into_iter().filter(|(_, term)| !is_used(term));
    unused.map(|(n, term)| format!("{GLOSSARY}:{n}: `{term}` occurs nowhere else")).collect()
}

/// Terms that the glossary explains more than once.
pub(crate) fn repeated_terms(files: &[File]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = terms(files).into_iter().filter(|(_, term)| !seen.insert(term.clone()));
    again.map(|(n, term)| format!("{GLOSSARY}:{n}: `{term}` has a line already")).collect()
}

/// Words of options, public items and file names that are no terms and not common.
pub(crate) fn unknown_words(files: &[File]) -> Vec<String> {
    let terms = terms(files);
    let terms = terms.iter().flat_map(|(_, term)| term.split([' ', '_']));
    let known: BTreeSet<String> = terms.chain(COMMON.split_whitespace()).map(singular).collect();
    let unknown = |name: &str| {
        let words = name.split(|c: char| !c.is_ascii_alphabetic()).flat_map(parts);
        words.map(|word| singular(&word)).find(|word| word.len() > 1 && !known.contains(word))
    };
    let names = files.iter().flat_map(names_in);
    let found = names.filter_map(|(place, name)| {
        let what = "neither in docs/glossary.md nor in xtask/common-words.txt";
        unknown(name).map(|word| format!("{place}: `{word}` is {what}"))
    });
    found.collect()
}

/// The names that a file is the place of, and where: the options of the manual, the items of the listing, and the file's
/// own, if it is source code that ships.
fn names_in(file: &File) -> Vec<(String, &str)> {
    let name_of = |line| match file.path.as_str() {
        OPTIONS => str::strip_prefix(line, "| `").filter(|rest| !rest.starts_with('T'))?.split(" | ").next(),
        ITEMS => item(line),
        _ => None,
    };
    let in_lines =
        numbered(&file.text).filter_map(|(n, line)| Some((format!("{}:{n}", file.path), name_of(line)?)));
    let own = file.source_name().map(|name| (file.path.clone(), name));
    own.into_iter().chain(in_lines).collect()
}

/// The name of the type, function, constant or module that a line of the listing shows.
fn item(line: &str) -> Option<&str> {
    const KINDS: &[&str] = &["mod ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "fn "];
    let kind = |start: &&str| line.starts_with(*start) || line.contains(&format!("] {start}"));
    let path = line.split_once(*KINDS.iter().find(|start| kind(start))?)?.1;
    path.split(['(', '<', ' ', '=']).next()?.rsplit("::").next().map(|name| name.trim_end_matches(':'))
}

/// The parts of a name in camel case, in lower case; a run of capitals is one part.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    for (i, &letter) in letters.iter().enumerate() {
        let after_small = i > 0 && letters[i - 1].is_lowercase();
        let before_small = letters.get(i + 1).is_some_and(|next| next.is_lowercase());
        if i == 0 || (letter.is_uppercase() && (after_small || before_small)) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter.to_ascii_lowercase());
        }
    }
    parts
}

fn singular(word: &str) -> String {
    word.strip_suffix('s').filter(|stem| stem.len() > 1).unwrap_or(word).to_owned()
}

/// Phrases that have a plain replacement.
pub(crate) fn replaced_phrases(files: &[File]) -> Vec<String> {
    let prose = files
        .iter()
        .filter(|f| [".rs", ".py", ".pyi", ".md", ".toml"].iter().any(|end| f.path.ends_with(end)));
    prose.flat_map(phrases_in).collect()
}

fn phrases_in(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (n, line) in numbered(&file.text) {
        let line = line.to_lowercase();
        let phrases = REPLACED.iter().filter(|(phrase, _)| line.contains(phrase));
        found.extend(phrases.map(|(phrase, plain)| format!("{}:{n}: `{phrase}`; write: {plain}", file.path)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    fn glossary() -> File {
        file(GLOSSARY, "| term | meaning |\n|---|---|\n| sweep | One pass. |\n| index cache | A file. |\n")
    }

    #[test]
    fn a_term_that_nothing_uses_is_found() {
        let code = file("crates/a/src/b.rs", "// the cacheIndex of a Sweep\n");
        assert_eq!(
            unused_terms(&[glossary(), code]),
            ["docs/glossary.md:4: `index cache` occurs nowhere else"]
        );
        let code = file("crates/a/src/b.rs", "fn index_cache() {} // sweep\n");
        assert!(unused_terms(&[glossary(), code]).is_empty());
    }

    #[test]
    fn a_term_with_two_lines_is_found() {
        assert!(repeated_terms(&[glossary()]).is_empty());
        let again = file(GLOSSARY, &format!("{}| Sweep | A pass. |\n", glossary().text));
        assert_eq!(repeated_terms(&[again]), ["docs/glossary.md:5: `sweep` has a line already"]);
    }

    #[test]
    fn an_option_of_unknown_words_is_found() {
        let page = file(OPTIONS, "| `maxSweeps`, `cacheIndex` | text |\n| `maxBananas` | text |\n");
        let found = unknown_words(&[glossary(), page]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("docs/options.md:2: `banana` is neither in docs/glossary.md"),
            "{found:?}"
        );
    }

    #[test]
    fn public_items_and_file_names_of_unknown_words_are_found() {
        let listing =
            file(ITEMS, "fn tesson::Sweep::banana(&self)\n#[derive(Debug)] enum tesson::IndexCache\n");
        let code = file("crates/a/src/kumquat/mod.rs", "");
        let found = unknown_words(&[glossary(), listing, code]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/public-api.txt:1: `banana` is neither"), "{found:?}");
        assert!(found[1].starts_with("crates/a/src/kumquat/mod.rs: `kumquat` is neither"), "{found:?}");
    }

    #[test]
    fn names_are_split_where_a_word_begins() {
        assert_eq!(parts("prefixPathInSCP"), ["prefix", "path", "in", "scp"]);
        assert_eq!(parts("definesMBSize"), ["defines", "mb", "size"]);
    }

    #[test]
    fn a_roundabout_phrase_is_found() {
        let phrase = format!("// {} wins\n", concat!("Nobody ", "reads it, so the caller"));
        assert_eq!(
            replaced_phrases(&[file("a.rs", &phrase)]),
            [concat!("a.rs:1: `nobody ", "reads`; write: unused")]
        );
    }
}
