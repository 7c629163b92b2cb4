//! Options that the texts of the command line name, against the options that its commands have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{folder, tesson};

/// Options of other programs, which texts tell how to call.
const OTHER_PROGRAMS: &[&str] = &["--decompress", "--keep"];

/// The words of a text that begin with two dashes, without a value.
fn options_in(text: &str) -> BTreeSet<String> {
    let is_outside = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let is_option = |word: &&str| {
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    text.split(is_outside).filter(is_option).map(str::to_owned).collect()
}

/// A source without comments and unit tests.
fn without_comments(source: &str) -> String {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn every_option_that_a_text_names_is_one_of_a_command() {
    let folder = folder("named-options");
    let help =
        |command: &str| String::from_utf8(tesson(&folder, &format!("{command} --help")).stdout).unwrap();
    let overview = help("");
    let commands = overview.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands = commands.map_while(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    assert!(commands.len() > 5, "{overview}");
    let known: BTreeSet<String> = commands.iter().flat_map(|command| options_in(&help(command))).collect();

    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    [
        "tesson-cli",
        "tesson-convert",
        "tesson-prepared",
        "tesson-config",
        "tesson-core",
        "tesson-engine",
        "tesson",
    ]
    .iter()
    .for_each(|name| sources(&crates.join(name).join("src"), &mut files));
    let (mut checked, mut wrong) = (0, Vec::new());
    for file in files {
        for option in options_in(&without_comments(&fs::read_to_string(&file).unwrap())) {
            checked += 1;
            if !known.contains(&option) && !OTHER_PROGRAMS.contains(&&*option) {
                wrong.push(format!("{}: no command has {option}", file.display()));
            }
        }
    }
    assert!(checked > 80, "{checked} options");
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn options_are_found_in_texts() {
    let text = "// --no\n`--take 10`, --set=a.b=c -- --x\n#[cfg(test)] --y";
    assert_eq!(
        options_in(&without_comments(text)),
        BTreeSet::from(["--set", "--take", "--x"].map(str::to_owned))
    );
}
