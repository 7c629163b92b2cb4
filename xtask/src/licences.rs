//! Licences of all dependencies against the list in `deny.toml`.
//!
//! cargo-deny does this and more (advisories, sources); without it the licences are still checked.

use std::collections::BTreeSet;
use std::fs;

use crate::run::{answer, cargo, has_cargo_command, passes, root};
use crate::tally::Tally;

/// Checks all licences, and everything else that cargo-deny can check without a network.
pub(crate) fn check() -> Tally {
    let ours = licences();
    if has_cargo_command("deny") {
        let offline = ["deny", "--offline", "check", "bans", "licenses", "sources"];
        return ours + passes(&mut cargo(&offline));
    }
    ours
}

fn licences() -> Tally {
    let list = fs::read_to_string(root().join("deny.toml")).unwrap_or_default();
    let allowed = allowed(&list);
    let tree = ["tree", "--workspace", "--edges", "normal,build", "--prefix", "none", "--format", "{p}\t{l}"];
    let Some(packages) = answer(&mut cargo(&tree)) else {
        println!("FAIL cargo tree does not list the dependencies");
        return Tally::one(false);
    };
    let refused: BTreeSet<&str> = packages.lines().filter(|line| !is_allowed(line, &allowed)).collect();
    for package in &refused {
        println!("       {package}: not allowed by deny.toml");
    }
    let word = if refused.is_empty() { "ok  " } else { "FAIL" };
    println!("{word} every dependency has a licence that deny.toml allows");
    Tally::one(refused.is_empty())
}

/// The entries of `allow = […]` in the section `[licenses]`.
fn allowed(list: &str) -> BTreeSet<&str> {
    let section = list.split("[licenses]").nth(1).unwrap_or("");
    let entries = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or("");
    entries.lines().filter_map(|line| line.split('"').nth(1)).collect()
}

/// True if a line of `cargo tree`, package and licence with a tab between, names an allowed licence.
fn is_allowed(line: &str, allowed: &BTreeSet<&str>) -> bool {
    // Repeated packages are marked by `(*)`, and have been seen before.
    let licence = line.split('\t').nth(1).unwrap_or("").trim().trim_end_matches(" (*)");
    line.trim().is_empty() || expression(&licence.replace('/', " OR ").replace(['(', ')'], " "), allowed)
}

/// An expression without regard to parentheses: one of the alternatives must be allowed, with all its parts.
/// `(A OR B) AND C` then asks for `A` or for `B AND C`, so `C` is also checked by itself.
fn expression(text: &str, allowed: &BTreeSet<&str>) -> bool {
    let part = |p: &str| allowed.contains(p.trim());
    let all = |alternative: &str| alternative.split(" AND ").all(part);
    let last = text.rsplit(" AND ").next().unwrap_or(text);
    text.split(" OR ").any(all) && last.split(" OR ").any(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "[graph]\n[licenses]\nallow = [\n  \"MIT\", # ours\n  \"Apache-2.0\",\n  \"Unicode-3.0\",\n]\n";

    fn check(licence: &str, expected: bool) {
        assert_eq!(is_allowed(&format!("a v1.0.0\t{licence}"), &allowed(LIST)), expected, "{licence}");
    }

    #[test]
    fn one_of_several_alternatives_suffices() {
        check("MIT", true);
        check("MIT OR GPL-3.0", true);
        check("Unlicense/MIT", true);
        check("GPL-3.0", false);
        check("", false);
    }

    #[test]
    fn every_part_of_a_combination_is_needed() {
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("(MIT OR Apache-2.0) AND GPL-3.0", false);
        check("MIT AND GPL-3.0", false);
    }

    #[test]
    fn the_list_is_read() {
        assert_eq!(allowed(LIST).into_iter().collect::<Vec<_>>(), ["Apache-2.0", "MIT", "Unicode-3.0"]);
    }
}
