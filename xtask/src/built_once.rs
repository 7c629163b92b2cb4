//! The features of what the tests and the Python package share: where they differ, a crate and all that stands on it is
//! compiled twice, which is minutes in CI.

use std::collections::BTreeMap;

use crate::run::{answer, cargo};
use crate::suite::TESTED;
use crate::tally::Tally;

/// Checks that both have the same features of every crate that they share.
pub(crate) fn check() -> Tally {
    let tests = tree(&[TESTED, &["--edges", "normal,build,dev"]].concat());
    let package = tree(&["--package", "tesson-py", "--edges", "normal,build"]);
    let (Some(tests), Some(package)) = (tests, package) else {
        println!("FAIL cargo tree does not list the features of dependencies");
        return Tally::one(false);
    };
    let differing = differing(&tests, &package);
    for line in &differing {
        println!("       {line}");
    }
    let word = if differing.is_empty() { "ok  " } else { "FAIL" };
    println!(
        "{word} tests and the Python package share what is compiled: the features of dependencies agree"
    );
    Tally::one(differing.is_empty())
}

fn tree(arguments: &[&str]) -> Option<String> {
    answer(cargo(&["tree", "--prefix", "none", "--format", "{p}\t{f}"]).args(arguments))
}

/// The crates that both trees have, each with one set of features, and these differ.
fn differing(tests: &str, package: &str) -> Vec<String> {
    let tests = features(tests);
    let both = features(package).into_iter().filter_map(|(name, of_package)| {
        let of_tests = tests.get(name)?;
        // Where macros have a crate with other features than programs do, a tree lists it twice.
        let [of_tests, of_package] = [of_tests.as_slice(), of_package.as_slice()];
        let once = of_tests.len() == 1 && of_package.len() == 1;
        (once && of_tests != of_package)
            .then(|| format!("{name}: {} in tests, {} in the package", of_tests[0], of_package[0]))
    });
    both.collect()
}

fn features(tree: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, features) in tree.lines().filter_map(|line| line.split_once('\t')) {
        let features = features.trim_end_matches("(*)").trim();
        let known = all.entry(name).or_default();
        if !known.contains(&features) {
            known.push(features);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_crate_with_other_features_is_named() {
        let tests = "a v1\tstd\nb v1\tfs,time\nb v1\tfs,time (*)\nonly v1\t";
        let package = "a v1\tstd (*)\nb v1\tfs\nother v1\t";
        assert_eq!(differing(tests, package), ["b v1: fs,time in tests, fs in the package"]);
    }

    #[test]
    fn a_crate_that_macros_have_otherwise_is_left_out() {
        assert_eq!(differing("syn v3\tfull\nsyn v3\tfull,visit", "syn v3\tderive"), [""; 0]);
    }
}
