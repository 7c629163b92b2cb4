//! The manual's pages against the code that they are made from, the remedies of errors against the options that there are, and
//! what the README says is not available.

use std::fs;
use std::path::{Path, PathBuf};

use tesson_config::READER_OPTIONS;
use tesson_core::Registry;
use tesson_core::{OptionKind, OptionSpec, OptionTable};

#[test]
fn the_page_of_options_is_what_the_tables_say() {
    let page = include_str!("../../../docs/options.md");
    let tables = tesson_config::option_manual(&tesson::registry());
    assert_eq!(page, tables, "run `cargo xtask manual`");
}

#[test]
fn keywords_of_python_are_the_options_of_the_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tesson-py/python/tesson");
    let modules = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let modules: Vec<_> = modules.filter(|path| path.extension().is_some_and(|ext| ext == "py")).collect();
    assert!(modules.len() >= 30, "{modules:?}");
    for path in modules {
        let module = fs::read_to_string(&path).unwrap();
        let made = tesson_config::python_keywords(&module, &tesson::registry());
        assert_eq!(module, made, "{}: run `cargo xtask manual`", path.display());
    }
}

#[test]
fn the_page_of_errors_has_the_text_of_every_kind() {
    let page = include_str!("../../../docs/errors.md");
    assert_eq!(page, tesson::errors::manual(), "run `cargo xtask manual`");
}

/// The formats that errors with a code of this family are about; none: any format.
const FAMILIES: &[(&str, &[&str])] = &[
    ("audio", &["AudioDeserializer"]),
    ("base64-image", &["Base64ImageDeserializer"]),
    ("cbf", &["CNTKBinaryFormatDeserializer"]),
    ("ctf", &["CNTKTextFormatDeserializer"]),
    ("example", &["TFDSDeserializer"]),
    ("htk", &["HTKFeatureDeserializer"]),
    ("image-map", &["ImageDeserializer"]),
    ("kaldi", &["KaldiFeatureDeserializer", "KaldiAlignmentDeserializer"]),
    ("mlf", &["HTKMLFDeserializer", "HTKMLFBinaryDeserializer"]),
    ("picture", &["ImageDeserializer", "Base64ImageDeserializer", "TarImageDeserializer"]),
    ("record", &["TFDSDeserializer"]),
    ("tar-image", &["TarImageDeserializer"]),
    ("tfds", &["TFDSDeserializer"]),
    ("tfrecord", &["TFDSDeserializer"]),
];

/// Words of remedies that look like options and are something else: values of data, fields of files, what user code declares,
/// and programs.
const NO_OPTIONS: &[&str] = &["nan", "inf", "shardLengths", "composable", "tar"];

/// All options of a table and of those within it.
fn options(table: &'static OptionTable, registry: &Registry) -> Vec<&'static OptionSpec> {
    let within = |option: &'static OptionSpec| match option.kind {
        OptionKind::Sections(table) | OptionKind::Streams(table) => options(table, registry),
        OptionKind::Transforms => {
            registry.transforms().iter().flat_map(|transform| options(transform.options, registry)).collect()
        }
        _ => Vec::new(),
    };
    table.0.iter().flat_map(|option| std::iter::once(option).chain(within(option))).collect()
}

/// The options of readers, of all formats and of all transforms.
fn all_options(registry: &Registry) -> Vec<&'static OptionSpec> {
    let formats = registry.formats().iter().map(|format| format.options);
    let transforms = registry.transforms().iter().map(|transform| transform.options);
    let tables = std::iter::once(READER_OPTIONS).chain(formats).chain(transforms);
    tables.flat_map(|table| options(table, registry)).collect()
}

/// Objects to a word of a remedy: an unknown option, or a value that the option does not have.
fn objection(word: &str, there: &[&OptionSpec]) -> Option<String> {
    let (name, value) = match word.split_once(" = ") {
        Some((name, value)) => (name, Some(value.trim_matches('"'))),
        None => (word, None),
    };
    let is_name =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphabetic());
    if !is_name || NO_OPTIONS.contains(&name) {
        return None;
    }
    let takes = |option: &&&OptionSpec| match (option.kind, value) {
        (OptionKind::OneOf(words) | OptionKind::SomeOf(words), Some(value)) => words.contains(&value),
        (OptionKind::Bool, Some(value)) => ["true", "false"].contains(&value),
        _ => true,
    };
    let is_word = |option: &&OptionSpec| match option.kind {
        OptionKind::OneOf(words) | OptionKind::SomeOf(words) => words.contains(&name),
        _ => false,
    };
    let named: Vec<_> = there.iter().filter(|option| option.name == name).collect();
    match (named.is_empty(), value) {
        (true, None) if there.iter().any(is_word) => None,
        (true, _) => Some(format!("`{name}` is no option there")),
        (false, _) if named.iter().any(takes) => None,
        (false, _) => Some(format!("`{name}` has no value `{}`", value.unwrap_or_default())),
    }
}

/// Objects to a name in Python's spelling, such as `merge_states`, that no function and no parameter has.
fn unknown_in_python(word: &str, package: &str) -> Option<String> {
    let name = word.split(['=', '(']).next().unwrap_or_default().trim();
    let is_name = name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_declared = || package.contains(&format!("def {name}(")) || package.contains(&format!(" {name}: "));
    (is_name && !is_declared()).then(|| format!("Python has no `{name}`"))
}

#[test]
fn every_option_in_the_remedy_of_an_error_exists_where_the_error_does() {
    let registry = tesson::registry();
    let page = tesson::errors::manual();
    let mut python = String::new();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tesson-py/python/tesson");
    for folder in [package.clone(), package.join("tfds")] {
        for entry in fs::read_dir(folder).expect("the package is beside this crate") {
            let file = entry.expect("an entry").path();
            if file.extension().is_some_and(|extension| extension == "py") {
                python += &fs::read_to_string(file).expect("a module");
            }
        }
    }
    let (mut checked, mut wrong) = (0, Vec::new());
    for section in page.split("\n## `").skip(1) {
        let (code, text) = section.split_once('`').expect("a heading is a code");
        let family = code.split('.').next().expect("a family");
        let formats = FAMILIES.iter().find(|(known, _)| *known == family);
        let is_about = |name: &str| formats.is_none_or(|(_, names)| names.contains(&name));
        let tables =
            registry.formats().iter().filter(|format| is_about(format.name)).map(|format| format.options);
        let there: Vec<_> = std::iter::once(READER_OPTIONS)
            .chain(tables)
            .flat_map(|table| options(table, &registry))
            .collect();
        // The example of the text, whose values are any, is indented.
        let lines = text.lines().filter(|line| !line.starts_with("    "));
        for word in lines.flat_map(|line| line.split('`').skip(1).step_by(2)) {
            checked += 1;
            wrong.extend(
                objection(word, &there)
                    .or_else(|| unknown_in_python(word, &python))
                    .map(|what| format!("{code}: {what}")),
            );
        }
    }
    assert!(checked > 150, "{checked} words");
    assert_eq!(wrong, [] as [String; 0]);
}

/// The sources in a folder and all within it, with one of these extensions, but for tests.
fn sources(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the crates are beside this one") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, extension, into);
        } else if path.extension().is_some_and(|found| found == extension) && !name.starts_with("tests") {
            into.push(path);
        }
    }
}

/// The options that sources name through the types of texts: names, and the values proposed with them.
fn named_in(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let setting = |rest: &str| {
        let (name, rest) = rest.split_once("\", \"")?;
        let value = rest.split("\")").next()?.replace('\\', "");
        Some(format!("{name} = {value}"))
    };
    let names =
        code.split("OptionName::new(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    names.chain(code.split("OptionName::set_to(\"").skip(1).filter_map(setting)).collect()
}

#[test]
fn every_option_that_a_kind_of_error_names_exists_where_the_error_does() {
    let registry = tesson::registry();
    let (mut checked, mut wrong) = (0, Vec::new());
    for entry in tesson::errors::entries() {
        let family = entry.info.code.split('.').next().expect("a family");
        let formats = FAMILIES.iter().find(|(known, _)| *known == family);
        let is_about = |name: &str| formats.is_none_or(|(_, names)| names.contains(&name));
        let tables = registry.formats().iter().filter(|format| is_about(format.name));
        let there: Vec<_> = std::iter::once(READER_OPTIONS)
            .chain(tables.map(|format| format.options))
            .flat_map(|table| options(table, &registry))
            .collect();
        for (name, value) in entry.named {
            checked += 1;
            let word = value.map_or(name.clone(), |value| format!("{name} = {value}"));
            wrong.extend(objection(&word, &there).map(|what| format!("{}: {what}", entry.info.code)));
        }
    }
    assert!(checked > 200, "{checked} names");
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn every_option_that_sources_name_exists() {
    let registry = tesson::registry();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let there = all_options(&registry);
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).expect("the crates are beside this one") {
        sources(&entry.expect("an entry").path().join("src"), "rs", &mut files);
    }
    let (mut checked, mut wrong) = (0, Vec::new());
    for file in files {
        for word in named_in(&fs::read_to_string(&file).expect("a source file")) {
            checked += 1;
            wrong.extend(objection(&word, &there).map(|what| format!("{}: {what}", file.display())));
        }
    }
    assert!(checked > 100, "{checked} names");
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn names_and_settings_are_found_in_sources() {
    let source = "const A: OptionName = OptionName::new(\"one\");\nOptionName::set_to(\"two\", \"\\\"x\\\"\");\n#[cfg(test)] OptionName::new(\"three\")";
    assert_eq!(named_in(source), ["one", "two = \"x\""]);
}

/// The words in backticks of a source's texts that are written as options are: `maxErrors`, `randomize = false`.
fn written_as_options(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let texts = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = texts.flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_camel_case = |word: &&str| word.contains(" = ") || word.contains(|c: char| c.is_ascii_uppercase());
    words.filter(is_camel_case).map(str::to_owned).collect()
}

#[test]
fn every_option_that_commands_and_conversions_name_exists() {
    let registry = tesson::registry();
    let there = all_options(&registry);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["tesson-cli", "tesson-convert", "tesson-prepared", "tesson-engine", "tesson"] {
        sources(&crates.join(name).join("src"), "rs", &mut files);
    }
    let (mut checked, mut wrong) = (0, Vec::new());
    for file in files {
        for word in written_as_options(&fs::read_to_string(&file).expect("a source file")) {
            checked += 1;
            wrong.extend(objection(&word, &there).map(|what| format!("{}: {what}", file.display())));
        }
    }
    assert!(checked > 15, "{checked} words");
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn options_are_found_in_texts_by_how_they_are_written() {
    let source = "// `noText`\n\"set `maxErrors`, or `randomize = false`; not `x`\"\n#[cfg(test)] `noTest`";
    assert_eq!(written_as_options(source), ["maxErrors", "randomize = false"]);
}

/// Before a name in a message of Python's half, the words with which a remedy asks for a parameter.
const ASKING: [&str; 8] =
    ["set `", "give `", "raise `", "choose `", "leave out `", "leave `", "lower `", "as with `"];

/// The words of a text in backticks that follow one of [`ASKING`].
fn asked(source: &str) -> Vec<String> {
    let text: String = source.lines().map(|line| line.trim().to_owned() + "\n").collect();
    let after = |asking: &&str| {
        let named = text.split(asking).skip(1).filter_map(|rest| rest.split(['`', '\n']).next());
        named.map(str::to_owned).collect::<Vec<_>>()
    };
    ASKING.iter().flat_map(after).collect()
}

#[test]
fn every_parameter_that_a_message_of_python_asks_for_exists() {
    let (mut python, mut package) = (Vec::new(), String::new());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tesson-py/python/tesson");
    sources(&folder, "py", &mut python);
    python.iter().for_each(|file| package += &fs::read_to_string(file).expect("a module"));
    let (mut checked, mut wrong) = (0, Vec::new());
    for file in python {
        for word in asked(&fs::read_to_string(&file).expect("a source file")) {
            checked += 1;
            wrong
                .extend(unknown_in_python(&word, &package).map(|what| format!("{}: {what}", file.display())));
        }
    }
    assert!(checked > 3, "{checked} words");
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn an_option_that_does_not_exist_is_found_in_a_remedy() {
    let registry = tesson::registry();
    let there = options(READER_OPTIONS, &registry);
    assert_eq!(objection("maxErrors", &there), None);
    assert_eq!(objection("randomize = false", &there), None);
    assert_eq!(objection("index:value", &there), None);
    assert!(objection("maxErors", &there).is_some());
    assert!(unknown_in_python("merge_states", "def merge_states(states):").is_none());
    assert!(unknown_in_python("merge_state(states)", "def merge_states(states):").is_some());
    assert!(objection("sharing = \"places\"", &there).is_some());
    assert!(objection("numbers = \"extended\"", &there).is_some());
}
