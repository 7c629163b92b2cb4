//! The manual's page on options, made from the tables that parse them.

use tesson_core::{OptionDefault, OptionKind, OptionSpec, OptionTable, Registry};

use crate::READER_OPTIONS;

/// The default of options that end the data, 2^64-1.
const NO_LIMIT: &str = "18446744073709551615";

/// All options in Markdown: those of the reader, then those of each format, a table each.
pub fn option_manual(registry: &Registry) -> String {
    let mut page = String::from("# Options\n\nOption names are case-insensitive.\n");
    environment(&mut page);
    heading(
        &mut page,
        "The reader",
        "The options around the deserializers, in a configuration's `source` or a call's keywords.",
    );
    rows(&mut page, "", READER_OPTIONS);
    for format in registry.formats() {
        heading(&mut page, &format!("`{}`", format.name), format.help);
        if !format.aliases.is_empty() {
            let names: Vec<String> = format.aliases.iter().map(|a| format!("`{a}`")).collect();
            page.push_str(&format!("\nAlso named {}.\n", names.join(", ")));
        }
        rows(&mut page, "", format.options);
    }
    for transform in registry.transforms() {
        heading(&mut page, &format!("Transform `{}`", transform.name), transform.help);
        if !transform.options.0.is_empty() {
            rows(&mut page, "", transform.options);
        }
    }
    page
}

/// Environment variables and their meaning.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "TESSON_KERNELS",
        "Limits vector code to `plain`, `portable`, `sse42`, `avx2` or `avx512`, on ARM to `plain`, `portable` or `neon`, by default \
         the highest level of the machine; results do not depend on it.",
    ),
    ("TESSON_INDEX_DIR", "A folder for indexes of record files, instead of the folders of these files."),
    (
        "TESSON_WORLD_SIZE",
        "Number of processes for `world=\"auto\"` of loaders and `--workers auto` of commands, if a launcher gives only a rank: PMIx, PALS, \
         indexed jobs of Kubernetes.",
    ),
    (
        "TFDS_DATA_DIR",
        "The folder in which prepared datasets are looked for by name, by default `~/tensorflow_datasets`.",
    ),
];

fn environment(page: &mut String) {
    heading(page, "Environment variables", "Only `TESSON_WORLD_SIZE` changes results.");
    page.push_str("\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in ENVIRONMENT {
        page.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
}

fn heading(page: &mut String, title: &str, sentence: &str) {
    page.push_str(&format!("\n## {title}\n\n{sentence}\n"));
}

/// The rows of a table, in place those of the tables within it.
fn rows(page: &mut String, prefix: &str, table: &OptionTable) {
    if prefix.is_empty() {
        page.push_str("\n| option | type | default | meaning |\n|---|---|---|---|\n");
    }
    for option in table.0 {
        row(page, prefix, option);
        if let OptionKind::Sections(inner) | OptionKind::Streams(inner) = option.kind {
            rows(page, &format!("{prefix}{}.*.", option.name), inner);
        }
    }
}

fn row(page: &mut String, prefix: &str, option: &OptionSpec) {
    let names: Vec<String> = option.names().map(|name| format!("`{prefix}{name}`")).collect();
    let default = match option.default {
        OptionDefault::Required => "required".to_string(),
        OptionDefault::Absent => "–".to_string(),
        OptionDefault::Value(value) if value == NO_LIMIT => "no limit".to_string(),
        OptionDefault::Value(value) => format!("`{value}`"),
    };
    let help = option.help.replace('|', "\\|");
    page.push_str(&format!("| {} | {} | {default} | {help} |\n", names.join(", "), kind(option.kind)));
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn kind(kind: OptionKind) -> String {
    match kind {
        OptionKind::Bool => "true or false".into(),
        OptionKind::Whole => "whole number".into(),
        OptionKind::Integer => "whole number of either sign".into(),
        OptionKind::Real => "number".into(),
        OptionKind::Numbers => "numbers".into(),
        OptionKind::Text => "text".into(),
        OptionKind::Texts => "text, or list of them".into(),
        OptionKind::Path => "file name".into(),
        OptionKind::Files => "file name, pattern, or list of them".into(),
        OptionKind::Paths => "file names".into(),
        OptionKind::Keys => "list of keys, or file name".into(),
        OptionKind::Unused => "anything".into(),
        OptionKind::Bytes => "size in bytes".into(),
        OptionKind::OneOf(words) => quoted(words),
        OptionKind::SomeOf(words) => format!("{}, or several of them", quoted(words)),
        OptionKind::Sections(_) | OptionKind::Streams(_) => "section of sections".into(),
        OptionKind::Formats | OptionKind::Transforms => "list of sections".into(),
        OptionKind::Object => "object of the program".into(),
    }
}
