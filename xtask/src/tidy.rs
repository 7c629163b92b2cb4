//! The rules of the repository that no compiler checks: dependencies of layers, and texts that no file may contain.

use std::process::ExitCode;

use crate::decisions;
use crate::doc_starts;
use crate::links;
use crate::manifest::dependencies;
use crate::references;
use crate::releases;
use crate::shapes;
use crate::source_text::{File, files, numbered};
use crate::tally::Tally;
use crate::words;

/// A rule: its text, and the function that finds violations.
type Rule = (&'static str, fn(&[File]) -> Vec<String>);

const RULES: &[Rule] = &[
    ("no path of somebody's machine stands in a file", machine_paths),
    ("nothing is left to do, to debug or ignored", leftovers),
    ("nothing below the engine touches files, threads, clocks, environment or network", purity),
    ("files are opened by stores, written by `atomic_file`, and touched by nothing else", file_access),
    ("kernels ask one place what the machine has", dispatch),
    ("the plan never depends on the order of a hash table", hash_tables),
    ("nothing that ships prints by a macro", prints),
    ("each dependency has its reason beside it", reasons),
    ("crates depend on each other as the table of layers says", layers),
    ("crates that need no unsafe code forbid it", unsafe_code),
    ("no struct has more than 15 fields", shapes::wide_structs),
    ("methods are in the module of their type", shapes::foreign_methods),
    ("no parameter is a tuple", shapes::tuple_parameters),
    ("links between documents lead somewhere", links::broken),
    ("references to specifications name a page and a section that exist", references::broken),
    ("every decision has a date and a state", decisions::undated),
    ("every release has its notes", releases::without_notes),
    ("every term of the glossary is used", words::unused_terms),
    ("every term of the glossary has one line", words::repeated_terms),
    (
        "every word of an option, a public item or a file name is in the glossary or common",
        words::unknown_words,
    ),
    ("prose is plain where it has been roundabout", words::replaced_phrases),
    ("documentation begins with what an item is or does", doc_starts::roundabout),
];

/// Runs all rules.
pub(crate) fn main(_: &[String]) -> ExitCode {
    ExitCode::from(u8::from(check().failed > 0))
}

/// Checks all rules and prints the violations; each rule counts as one check.
pub(crate) fn check() -> Tally {
    let files = files();
    RULES.iter().map(|(rule, check)| report(rule, &check(&files))).sum()
}

fn report(rule: &str, findings: &[String]) -> Tally {
    println!("{} {rule}", if findings.is_empty() { "ok  " } else { "FAIL" });
    for finding in findings {
        println!("       {finding}");
    }
    Tally::one(findings.is_empty())
}

/// Findings of one kind: every line that `broken` objects to.
fn each_line(file: &File, broken: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let found = |(n, line)| broken(line).map(|why| format!("{}:{n}: {why}", file.path));
    numbered(&file.text).filter_map(found).collect()
}

// Written apart, so that this file does not break its own rules.
const MACHINE_PATHS: &[&str] = &[
    concat!("/", "work/"),
    concat!("/", "tmp/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
    concat!("/", "Users/"),
];

fn machine_paths(files: &[File]) -> Vec<String> {
    files.iter().flat_map(|f| each_line(f, machine_path)).collect()
}

fn machine_path(line: &str) -> Option<String> {
    let starts = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}/*$".contains(c));
    let path = MACHINE_PATHS.iter().find(|p| line.match_indices(*p).any(|(at, _)| starts(at)))?;
    Some(format!("`{path}`"))
}

const LEFTOVERS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("#[", "ignore"),
];

fn leftovers(files: &[File]) -> Vec<String> {
    let code = files.iter().filter(|f| f.is_rust() || f.path.ends_with(".py"));
    code.flat_map(|f| each_line(f, leftover)).collect()
}

fn leftover(line: &str) -> Option<String> {
    LEFTOVERS.iter().find(|word| line.contains(*word)).map(|word| format!("`{word}`"))
}

/// The layers that only compute. The engine lends them bytes and cores.
const PURE: &[&str] = &[
    "tesson-core",
    "tesson-plan",
    "tesson-formats",
    "tesson-image",
    "tesson-audio",
    "tesson-tables",
    "tesson-tfds",
    "tesson-config",
];

const IMPURE: &[&str] = &[
    "std::fs",
    "std::thread",
    "std::time",
    "std::env",
    "std::net",
    "std::process",
    "Instant::",
    "SystemTime",
    "File::open",
    "thread::spawn",
    "thread_rng",
];

fn purity(files: &[File]) -> Vec<String> {
    words_in(files, PURE, IMPURE)
}

/// Words of code that touches local files past the stores.
const FILE_ACCESS: &[&str] = &["std::fs", "fs::", "FileStore", "File::open", ".exists()", ".is_dir()"];

/// Places where these words may stand, with the reason. Everywhere else names of files come from data and from users, and any
/// of them may lie in another store.
const MAY_TOUCH_FILES: &[(&str, &str)] = &[
    ("crates/tesson-engine/src/store/", "the store of local files, and that of mapped ones"),
    ("crates/tesson-engine/src/atomic_file", "what is written is local"),
    ("crates/tesson-memory/src/mapped_file.rs", "maps a file that a store has opened"),
    (
        "crates/tesson-memory/src/process_memory.rs",
        "the system says in a file how much memory the process has",
    ),
];

fn file_access(files: &[File]) -> Vec<String> {
    let may = |file: &File| MAY_TOUCH_FILES.iter().any(|(path, _)| file.path.starts_with(path));
    let others = files.iter().filter(|f| f.is_rust() && f.member().is_some() && !may(f));
    let broken = |line: &str| {
        let starts = |at: usize| !line[..at].ends_with(char::is_alphanumeric) || line[at..].starts_with('.');
        FILE_ACCESS.iter().find(|word| line.match_indices(*word).any(|(at, _)| starts(at)))
    };
    let found = |file: &File| -> Vec<String> {
        let lines = file.shipped_lines().into_iter();
        lines.filter_map(|(n, line)| Some(format!("{}:{n}: `{}`", file.path, broken(line)?))).collect()
    };
    others.flat_map(found).collect()
}

/// The file that tests the processor's features. Kernels that tested them separately could not be limited to a level.
const DISPATCH: &str = "crates/tesson-core/src/kernels.rs";

fn dispatch(files: &[File]) -> Vec<String> {
    let others = files.iter().filter(|f| f.is_rust() && f.member().is_some() && f.path != DISPATCH);
    others.flat_map(|file| words_in_file(file, &[concat!("feature_", "detected!")])).collect()
}

fn hash_tables(files: &[File]) -> Vec<String> {
    words_in(files, &["tesson-plan"], &["HashMap", "HashSet"])
}

/// Finds printing macros. A library reports through results, errors and `tracing`, and a command through one writer:
/// these macros panic if the output cannot be written. The tools of this repository may use them.
fn prints(files: &[File]) -> Vec<String> {
    let tools = ["tesson-bench", "xtask"];
    let shipped: Vec<&str> =
        LAYERS.iter().map(|(name, _)| *name).filter(|name| !tools.contains(name)).collect();
    words_in(files, &shipped, &["print!(", "println!(", "eprint!(", "eprintln!("])
}

/// The occurrences of these words in code that ships in these crates.
fn words_in(files: &[File], members: &[&str], words: &[&str]) -> Vec<String> {
    let of_members = files.iter().filter(|f| f.is_rust() && f.member().is_some_and(|m| members.contains(&m)));
    of_members.flat_map(|file| words_in_file(file, words)).collect()
}

fn words_in_file(file: &File, words: &[&str]) -> Vec<String> {
    let word = |line: &str| words.iter().find(|w| line.contains(*w)).copied();
    let lines = file.shipped_lines().into_iter();
    lines.filter_map(|(n, line)| Some(format!("{}:{n}: `{}`", file.path, word(line)?))).collect()
}

/// Each crate and the crates of ours that it depends on: ARCHITECTURE.md, "Code map".
const LAYERS: &[(&str, &[&str])] = &[
    ("tesson-core", &[]),
    ("tesson-memory", &["tesson-core"]),
    ("tesson-plan", &["tesson-core"]),
    ("tesson-formats", &["tesson-core"]),
    ("tesson-image", &["tesson-core"]),
    ("tesson-audio", &["tesson-core"]),
    ("tesson-tables", &["tesson-core", "tesson-formats"]),
    ("tesson-tfds", &["tesson-core", "tesson-plan", "tesson-formats", "tesson-image"]),
    ("tesson-config", &["tesson-core", "tesson-plan"]),
    ("tesson-engine", &["tesson-core", "tesson-memory", "tesson-plan"]),
    ("tesson-convert", &["tesson-core", "tesson-formats", "tesson-tables", "tesson-engine"]),
    (
        "tesson-prepared",
        &["tesson-core", "tesson-plan", "tesson-formats", "tesson-tfds", "tesson-engine", "tesson-convert"],
    ),
    (
        "tesson",
        &[
            "tesson-core",
            "tesson-plan",
            "tesson-formats",
            "tesson-image",
            "tesson-audio",
            "tesson-tables",
            "tesson-tfds",
            "tesson-engine",
            "tesson-config",
            "tesson-convert",
            "tesson-prepared",
        ],
    ),
    ("tesson-report", &["tesson", "tesson-core", "tesson-plan", "tesson-image", "tesson-engine"]),
    (
        "tesson-cli",
        &[
            "tesson",
            "tesson-report",
            "tesson-core",
            "tesson-plan",
            "tesson-formats",
            "tesson-image",
            "tesson-tables",
            "tesson-tfds",
            "tesson-config",
            "tesson-engine",
            "tesson-convert",
            "tesson-prepared",
        ],
    ),
    (
        "tesson-py",
        &[
            "tesson",
            "tesson-report",
            "tesson-cli",
            "tesson-core",
            "tesson-plan",
            "tesson-formats",
            "tesson-image",
            "tesson-tfds",
            "tesson-config",
            "tesson-engine",
            "tesson-convert",
            "tesson-prepared",
        ],
    ),
    (
        "tesson-bench",
        &[
            "tesson",
            "tesson-plan",
            "tesson-formats",
            "tesson-image",
            "tesson-tfds",
            "tesson-engine",
            "tesson-convert",
            "tesson-prepared",
        ],
    ),
    ("tesson-case-lookup", &[]),
    (
        "tesson-conformance",
        &[
            "tesson",
            "tesson-cli",
            "tesson-core",
            "tesson-plan",
            "tesson-formats",
            "tesson-image",
            "tesson-tfds",
            "tesson-config",
            "tesson-engine",
            "tesson-convert",
            "tesson-prepared",
            "tesson-case-lookup",
        ],
    ),
    ("xtask", &[]),
];

fn manifests(files: &[File]) -> impl Iterator<Item = &File> {
    // The fuzz targets are a separate workspace, outside the product.
    let ours = |f: &&File| f.path.ends_with("Cargo.toml") && !f.path.starts_with("fuzz/");
    files.iter().filter(ours)
}

fn reasons(files: &[File]) -> Vec<String> {
    let without = |f: &File| -> Vec<String> {
        let others = dependencies(f).into_iter().filter(|d| !d.name.starts_with("tesson") && !d.reason);
        others.map(|d| format!("{}:{}: why `{}`?", f.path, d.line, d.name)).collect()
    };
    manifests(files).flat_map(without).collect()
}

/// The differences between the manifests and the table of layers.
fn layers(files: &[File]) -> Vec<String> {
    manifests(files).flat_map(edges).collect()
}

fn edges(manifest: &File) -> Vec<String> {
    let Some(name) = package_name(manifest) else { return Vec::new() };
    let Some((_, below)) = LAYERS.iter().find(|(crate_name, _)| *crate_name == name) else {
        return vec![format!("{}: `{name}` has no layer yet", manifest.path)];
    };
    let all = dependencies(manifest);
    let ours: Vec<_> = all.iter().filter(|d| d.name.starts_with("tesson") && !d.dev).collect();
    let upward = ours.iter().filter(|d| !below.contains(&d.name.as_str()));
    let upward = upward.map(|d| format!("{}:{}: `{name}` must not know `{}`", manifest.path, d.line, d.name));
    let unused = below.iter().filter(|layer| ours.iter().all(|d| d.name != **layer));
    let unused = unused.map(|layer| {
        format!("{}: `{name}` does not depend on `{layer}`: remove the edge from the table", manifest.path)
    });
    upward.chain(unused).collect()
}

fn package_name(manifest: &File) -> Option<&str> {
    let name = manifest.text.split("[package]").nth(1)?.lines().find(|l| l.starts_with("name"))?;
    name.split('"').nth(1)
}

/// Crates with measured reasons for unsafe code.
const MAY_BE_UNSAFE: &[&str] =
    &["tesson-formats", "tesson-image", "tesson-memory", "tesson-py", "tesson-conformance"];

fn unsafe_code(files: &[File]) -> Vec<String> {
    let roots = manifests(files).filter_map(|m| Some((package_name(m)?, m.path.strip_suffix("Cargo.toml")?)));
    roots
        .filter(|(name, _)| !MAY_BE_UNSAFE.contains(name))
        .filter_map(|(_, dir)| allows_unsafe(files, dir))
        .collect()
}

fn allows_unsafe(files: &[File], folder: &str) -> Option<String> {
    let names = [format!("{folder}src/lib.rs"), format!("{folder}src/main.rs")];
    let root = files.iter().find(|f| names.contains(&f.path))?;
    let forbids = root.text.contains("#![forbid(unsafe_code)]");
    (!forbids).then(|| format!("{}: no `#![forbid(unsafe_code)]`", root.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_path_of_a_machine_is_found_and_a_folder_of_that_name_is_not() {
        let path = MACHINE_PATHS[1];
        assert!(machine_path(&format!("open(\"{path}x\")")).is_some());
        assert!(machine_path(&format!("target{path}x")).is_none());
    }

    #[test]
    fn a_layer_that_computes_may_not_read_the_clock() {
        let clock = file("crates/tesson-plan/src/a.rs", "use std::time::Instant;\n");
        assert_eq!(purity(&[clock]), ["crates/tesson-plan/src/a.rs:1: `std::time`"]);
        let clock = file("crates/tesson-engine/src/a.rs", "use std::time::Instant;\n");
        assert!(purity(&[clock]).is_empty());
    }

    #[test]
    fn only_stores_and_what_writes_touch_files() {
        let text = "use std::io;\nlet file = RecordsFile::open(path);\nlet file = File::open(path);\nif path.exists() {}\n";
        let found = file_access(&[file("crates/tesson-convert/src/a.rs", text)]);
        let expected =
            ["3: `File::open`", "4: `.exists()`"].map(|at| format!("crates/tesson-convert/src/a.rs:{at}"));
        assert_eq!(found, expected);
        let own = [
            "crates/tesson-engine/src/store/file.rs",
            "crates/tesson-engine/src/atomic_file.rs",
            "bench/src/a.rs",
        ];
        assert!(own.iter().all(|path| file_access(&[file(path, text)]).is_empty()));
    }

    #[test]
    fn the_plan_may_not_know_the_engine() {
        let text = "[package]\nname = \"tesson-plan\"\n[dependencies]\n\
            tesson-core = { workspace = true }\ntesson-engine = { workspace = true }\n";
        let found = layers(&[file("crates/tesson-plan/Cargo.toml", text)]);
        assert_eq!(found, ["crates/tesson-plan/Cargo.toml:5: `tesson-plan` must not know `tesson-engine`"]);
    }

    #[test]
    fn an_edge_that_no_manifest_has_is_found() {
        let found = layers(&[file("crates/tesson-plan/Cargo.toml", "[package]\nname = \"tesson-plan\"\n")]);
        let expected = "crates/tesson-plan/Cargo.toml: `tesson-plan` does not depend on `tesson-core`: remove the edge \
             from the table";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        let found = layers(&[file("crates/new/Cargo.toml", "[package]\nname = \"tesson-new\"\n")]);
        assert_eq!(found, ["crates/new/Cargo.toml: `tesson-new` has no layer yet"]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[package]\nname = \"tesson-core\"\n[dependencies]\nserde = \"1\"\n";
        assert_eq!(
            reasons(&[file("crates/tesson-core/Cargo.toml", text)]),
            ["crates/tesson-core/Cargo.toml:4: why `serde`?"]
        );
    }

    #[test]
    fn a_crate_that_allows_unsafe_code_is_found() {
        let manifest = file("crates/tesson-plan/Cargo.toml", "[package]\nname = \"tesson-plan\"\n");
        let root = file("crates/tesson-plan/src/lib.rs", "//! Plan.\n");
        assert_eq!(
            unsafe_code(&[manifest, root]),
            ["crates/tesson-plan/src/lib.rs: no `#![forbid(unsafe_code)]`"]
        );
    }

    #[test]
    fn a_leftover_is_found() {
        assert!(leftover(&format!("    {}\"later\")", LEFTOVERS[0])).is_some());
        assert!(leftover("fn to_do() {}").is_none());
    }
}
