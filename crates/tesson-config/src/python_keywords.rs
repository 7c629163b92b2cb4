//! Python's keyword classes, brought into line with the tables of their formats.

use std::fmt::Write;

use tesson_core::{OptionDefault, OptionKind, OptionSpec, OptionTable, Registry};

/// The columns of a line of Python.
const COLUMNS: usize = 120;

/// A Python module whose classes have the options of their formats as keywords, as those tables are now.
///
/// A class belongs to the format that its `type` names. Options that are no keyword yet are added to the signature, the
/// documentation and what is passed on; words and defaults are those of the table. Sentences that say more than the table stay as
/// they are, so the module is its own template.
pub fn python_keywords(module: &str, registry: &Registry) -> String {
    let mut classes: Vec<String> = Vec::new();
    for line in module.split_inclusive('\n') {
        match classes.last_mut() {
            Some(class) if !line.starts_with("class ") => class.push_str(line),
            _ => classes.push(line.to_owned()),
        }
    }
    classes.iter().map(|class| with_keywords(class, registry)).collect()
}

/// A class and what follows it, with the keywords of its format.
fn with_keywords(class: &str, registry: &Registry) -> String {
    let kind = class.lines().find_map(|line| line.strip_prefix("    type = \"")?.strip_suffix('"'));
    let Some(format) = kind.and_then(|kind| registry.find(kind, "").ok()) else { return class.to_owned() };
    let end = class.find("\n    def __init__(").and_then(|at| Some(at + class[at..].find("\n        })\n")?));
    // Classes of labels and of recordings hand their options on in another way.
    let Some(end) = end else { return class.to_owned() };
    let mut lines: Vec<String> = class[..end + 1].lines().map(str::to_owned).collect();
    for option in format.options.0.iter().filter(|option| !["file", "input"].contains(&option.name)) {
        let keyword = snake_case(option.name);
        if !lines.iter().any(|line| line.starts_with(&format!("        {keyword}: "))) {
            add(&mut lines, option, &keyword);
        }
    }
    let stream = format.options.inner("input").filter(|_| is_open(format.options));
    for option in format.options.0.iter().chain(stream.iter().flat_map(|table| table.0)) {
        update(&mut lines, option, &snake_case(option.name));
    }
    lines.join("\n") + "\n" + &class[end + 1..]
}

/// True where the options of a stream may stand around it, too.
fn is_open(table: &OptionTable) -> bool {
    table.find("input").is_some_and(|option| matches!(option.kind, OptionKind::Streams(_)))
}

/// Adds a keyword behind the others.
fn add(lines: &mut Vec<String>, option: &OptionSpec, keyword: &str) {
    let (documented, annotation) = types(option.kind);
    lines.push(format!("            \"{keyword}\": {},", passed_on(option.kind, keyword)));
    let signature = lines.iter().position(|line| line == "    ) -> None:").unwrap_or(lines.len());
    lines.insert(signature, format!("        {keyword}: {annotation} | None = None,"));
    let parameters = lines.iter().position(|line| line == "    Parameters").unwrap_or(0);
    let after = lines[parameters..].iter().position(|line| line.is_empty() || line == "    \"\"\"");
    let at = parameters + after.unwrap_or(0);
    let mut entry = vec![format!("    {keyword} : {documented}, optional")];
    let help = option.help.replace('`', "``");
    let default = default(option).map(|value| format!(" Default {value}.")).unwrap_or_default();
    for word in (help + &default).split(' ') {
        let last = entry.len() - 1;
        if last > 0 && entry[last].len() + 1 + word.len() <= COLUMNS {
            write!(entry[last], " {word}").expect("strings take everything")
        } else {
            entry.push(format!("        {word}"))
        }
    }
    lines.splice(at..at, entry);
}

/// Gives a keyword the words and the default of its option.
fn update(lines: &mut [String], option: &OptionSpec, keyword: &str) {
    let documented = lines.iter().position(|line| line.starts_with(&format!("    {keyword} : ")));
    if let OptionKind::OneOf(_) = option.kind {
        let (words, annotation) = types(option.kind);
        if let Some(at) = documented {
            lines[at] = format!("    {keyword} : {words}, optional");
        }
        let signature = format!("        {keyword}: ");
        if let Some(line) = lines.iter_mut().find(|line| line.starts_with(&signature)) {
            *line = format!("{signature}{annotation} | None = None,");
        }
    }
    let (Some(at), Some(value)) = (documented, default(option)) else { return };
    let n = lines[at + 1..].iter().take_while(|line| line.starts_with("        ")).count();
    // The value may have been broken off from its word.
    let text = lines[at + 1..=at + n].join("\n");
    let Some(begin) = text.rfind("Default") else { return };
    let begin = begin + "Default".len();
    let rest = &text[begin..];
    let written = rest.trim_start();
    let Some(length) = written.find('.').filter(|_| rest.len() > written.len()) else { return };
    let begin = begin + rest.len() - written.len();
    let length = match written[length + 1..].find(char::is_whitespace) {
        // A number with a fraction.
        Some(more) if more > 0 && written.as_bytes()[length + 1].is_ascii_digit() => length + more,
        None if written[length + 1..].starts_with(|c: char| c.is_ascii_digit()) => written.len() - 1,
        _ => length,
    };
    let text = format!("{}{value}{}", &text[..begin], &text[begin + length..]);
    for (line, new) in lines[at + 1..].iter_mut().zip(text.split('\n')) {
        new.clone_into(line);
    }
}

/// The default as Python writes it.
fn default(option: &OptionSpec) -> Option<String> {
    let OptionDefault::Value(value) = option.default else { return None };
    match option.kind {
        OptionKind::Bool => Some(if value == "true" { "True".into() } else { "False".into() }),
        OptionKind::Whole | OptionKind::Integer | OptionKind::Real => Some(value.into()),
        OptionKind::OneOf(_) | OptionKind::Text | OptionKind::Path => Some(format!("``\"{value}\"``")),
        _ => None,
    }
}

/// The type of a keyword in its documentation and in the signature.
fn types(kind: OptionKind) -> (String, String) {
    let (documented, annotation) = match kind {
        OptionKind::Bool => ("bool", "bool"),
        OptionKind::Whole | OptionKind::Integer => ("int", "int"),
        OptionKind::Real => ("float", "float"),
        OptionKind::Path => ("str or os.PathLike", "AnyPath"),
        OptionKind::Numbers => ("float or sequence of float", "float | Sequence[float]"),
        OptionKind::Text | OptionKind::Bytes => ("str", "str"),
        OptionKind::OneOf(words) => {
            let words = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            return (format!("{{{words}}}"), format!("Literal[{words}]"));
        }
        _ => ("object", "object"),
    };
    (documented.into(), annotation.into())
}

/// A keyword as a value of configurations.
fn passed_on(kind: OptionKind, keyword: &str) -> String {
    match kind {
        OptionKind::Path => format!("optional_text_of({keyword})"),
        _ => keyword.into(),
    }
}

/// A name of configurations as a keyword: `maxErrors` is `max_errors`.
fn snake_case(name: &str) -> String {
    let mut keyword = String::new();
    for c in name.chars() {
        let begins = c.is_ascii_uppercase()
            && keyword.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit());
        keyword.push_str(if begins { "_" } else { "" });
        keyword.push(c.to_ascii_lowercase());
    }
    keyword
}

#[cfg(test)]
mod tests {
    use tesson_core::{ConfigError, Deserializer, Format, Options, ReaderDefaults, option_table};

    use super::*;

    static OPTIONS: OptionTable = option_table! {
        "file": OptionKind::Path, required
            => "The file.",
        "input": OptionKind::Sections(&OptionTable(&[])), required
            => "Streams.",
        "rules": OptionKind::OneOf(&["strict", "lenient"]), "strict"
            => "Which rows are faults.",
        "ratioOfFaults": OptionKind::Real, "0.25"
            => "The share of faults.",
        "listFile": OptionKind::Path, optional
            => "A list of `keys`.",
    };
    static FORMAT: Format = Format::new("RowsDeserializer", "Rows.", &OPTIONS, not_opened);

    fn not_opened(_: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
        Err(ConfigError::new("", "not opened"))
    }

    const BEFORE: &str = r#"class Other:
    pass


class RowsDeserializer(Deserializer):
    """Reads rows.

    Parameters
    ----------
    filename : str
        The file.
    rules : {"cntk"}, optional
        More than the table says. Default
        ``"cntk"``.
    ratio_of_faults : float, optional
        The share of faults. Default 0.5. Not more.

    Examples
    --------
    """

    type = "RowsDeserializer"

    def __init__(
        self,
        filename: AnyPath,
        *,
        rules: Literal["cntk"] | None = None,
        ratio_of_faults: float | None = None,
    ) -> None:
        super().__init__({
            "file": text_of(filename),
            "rules": rules,
            "ratio_of_faults": ratio_of_faults,
        })
"#;

    #[test]
    fn a_class_gets_the_options_words_and_defaults_of_its_table() {
        let registry = Registry::new(&[&FORMAT]);
        let after = python_keywords(BEFORE, &registry);
        let expected = BEFORE
            .replace("rules : {\"cntk\"}", "rules : {\"strict\", \"lenient\"}")
            .replace("``\"cntk\"``", "``\"strict\"``")
            .replace("Default 0.5. Not more.\n", "Default 0.25. Not more.\n    list_file : str or os.PathLike, optional\n        A list of ``keys``.\n")
            .replace("Literal[\"cntk\"]", "Literal[\"strict\", \"lenient\"]")
            .replace("    ) -> None:", "        list_file: AnyPath | None = None,\n    ) -> None:")
            .replace("        })\n", "            \"list_file\": optional_text_of(list_file),\n        })\n");
        assert_eq!(after, expected);
        assert_eq!(python_keywords(&after, &registry), after);
    }

    #[test]
    fn what_is_no_keyword_class_stays() {
        let module = "import os\n\n\nclass A:\n    type = \"Unknown\"\n";
        assert_eq!(python_keywords(module, &Registry::new(&[&FORMAT])), module);
    }
}
