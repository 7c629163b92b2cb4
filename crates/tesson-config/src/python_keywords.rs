//! Python's keyword classes and functions, brought into line with the tables of their options.
//!
//! A module is its own template: a class or function has a keyword for each option of its table, with the table's words and default in the
//! signature and in the documentation. Sentences that say more than the table stay, and so do types that accept more than
//! configurations do, such as one number or a pair.

use std::ops::Range;

use tesson_core::{OptionDefault, OptionKind, OptionSpec, OptionTable, Registry, snake_case};

use crate::READER_OPTIONS;

/// The columns of a line of Python.
const COLUMNS: usize = 120;

/// Options that are no keywords: what only configurations have, what a stream's definition says, and what has another name.
const NO_KEYWORDS: &[(&str, &[&str])] = &[
    (
        SOURCE,
        &[
            "cacheIndex",
            "checkData",
            "crossSweepEnds",
            "epochSize",
            "hashSequenceKeys",
            "localTimeline",
            "maxEpochs",
            "minibatchSize",
            "module",
            "pathsRelativeTo",
            "prefetch",
            "randomizationWindow",
            "rightSplice",
            "sampleBasedRandomizationWindow",
            "truncated",
            "useNumericSequenceKeys",
            "verbosity",
        ],
    ),
    (
        LABELS,
        &[
            "arkFile",
            "cacheIndex",
            "definesMBSize",
            "dim",
            "labelDim",
            "labelType",
            "mlfFile",
            "mlfFileList",
            "type",
        ],
    ),
    ("mean", &["meanFile"]),
];

/// The class with the options of a reader.
const SOURCE: &str = "MinibatchSource";
/// The base of classes of labels, whose one stream has its options as keywords.
const LABELS: &str = "_Labels";

/// A Python module whose classes and functions have options as keywords, as the tables of those are now.
///
/// A class belongs to the format that its `type` names, a function to the transform of its name.
pub fn python_keywords(module: &str, registry: &Registry) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for line in module.split_inclusive('\n') {
        match blocks.last_mut() {
            Some(block) if !line.starts_with("class ") && !line.starts_with("def ") => block.push_str(line),
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks.iter().map(|block| with_keywords(block, registry)).collect()
}

/// A class or function and what follows it, with the keywords of its table.
fn with_keywords(block: &str, registry: &Registry) -> String {
    let Some(table) = Table::of(block, registry) else { return block.to_owned() };
    let lines = block.split('\n').map(str::to_owned).collect();
    let mut block = Block { lines, any_case: table.any_case };
    if block.signature().is_none() {
        return block.lines.join("\n");
    }
    for option in &table.keywords {
        block.complete(option, table.are_passed_on);
    }
    for option in table.keywords.iter().chain(&table.of_streams) {
        block.update(option);
    }
    block.lines.join("\n")
}

/// The options of a class or function.
struct Table {
    /// Those that are keywords.
    keywords: Vec<&'static OptionSpec>,
    /// Those of streams, which are keywords where they may stand around the streams, too.
    of_streams: Vec<&'static OptionSpec>,
    /// True if words are taken in any case and written in small letters.
    any_case: bool,
    /// True if all keywords are listed once more, to be passed on.
    are_passed_on: bool,
}

impl Table {
    fn of(block: &str, registry: &Registry) -> Option<Table> {
        let without = |table: &'static OptionTable, names: &str| -> Vec<&'static OptionSpec> {
            let no_keywords =
                NO_KEYWORDS.iter().find(|(name, _)| *name == names).map_or(&[][..], |(_, no)| no);
            let all = table.0.iter().filter(|option| !["file", "input"].contains(&option.name));
            all.filter(|option| !no_keywords.contains(&option.name)).collect()
        };
        if let Some(rest) = block.strip_prefix("def ") {
            let name = rest.split('(').next()?;
            let transform =
                registry.transforms().iter().find(|transform| snake_case(transform.name) == name)?;
            let keywords = without(transform.options, name);
            return Some(Table { keywords, of_streams: Vec::new(), any_case: true, are_passed_on: false });
        }
        let header = block.strip_prefix("class ")?.split('\n').next()?;
        if header.starts_with(SOURCE) && header[SOURCE.len()..].starts_with('(') {
            let keywords = without(READER_OPTIONS, SOURCE);
            return Some(Table { keywords, of_streams: Vec::new(), any_case: false, are_passed_on: false });
        }
        let kind = block.lines().find_map(|line| line.strip_prefix("    type = \"")?.strip_suffix('"'))?;
        let format = registry.find(kind, "").ok()?;
        let mut keywords = without(format.options, header);
        let streams = match format.options.find("input").map(|option| option.kind) {
            Some(OptionKind::Streams(table)) => table,
            _ => &OptionTable(&[]),
        };
        let of_labels = header.contains(LABELS);
        keywords.extend(if of_labels { without(streams, LABELS) } else { Vec::new() });
        let of_streams = if of_labels { Vec::new() } else { streams.0.iter().collect() };
        Some(Table { keywords, of_streams, any_case: false, are_passed_on: true })
    }
}

/// The lines of a class or function and of what follows it.
struct Block {
    lines: Vec<String>,
    any_case: bool,
}

impl Block {
    /// The lines of parameters, if each has its own.
    fn signature(&self) -> Option<Range<usize>> {
        let begins =
            |line: &String| line == "    def __init__(" || (line.starts_with("def ") && line.ends_with('('));
        let begin = self.lines.iter().position(begins)? + 1;
        let n = self.lines[begin..].iter().position(|line| line.trim_start().starts_with(") ->"))?;
        Some(begin..begin + n)
    }

    /// The blanks before a parameter.
    fn indent(&self) -> &'static str {
        if self.lines[0].starts_with("def ") { "    " } else { "        " }
    }

    /// The line of an option's parameter, and its name.
    fn parameter(&self, option: &OptionSpec) -> Option<(usize, String)> {
        let signature = self.signature()?;
        let mut names = option.names().flat_map(|name| [snake_case(name), name.to_owned()]);
        names.find_map(|name| {
            let begin = format!("{}{name}: ", self.indent());
            let at = self.lines[signature.clone()].iter().position(|line| line.starts_with(&begin))?;
            Some((signature.start + at, name))
        })
    }

    /// The line that begins the documentation of a parameter.
    fn documented(&self, keyword: &str) -> Option<usize> {
        let names = |line: &str| {
            let line = line.strip_prefix("    ").filter(|line| !line.starts_with(' '))?;
            Some(line.split_once(" : ")?.0.split(", ").any(|name| name == keyword))
        };
        self.lines.iter().position(|line| names(line).unwrap_or(false))
    }

    /// Adds what an option has not yet: a parameter, its documentation, and that it is passed on where parameters are listed once more.
    fn complete(&mut self, option: &OptionSpec, is_passed_on: bool) {
        let keyword = match self.parameter(option) {
            Some((_, keyword)) => keyword,
            None => {
                let keyword = snake_case(option.name);
                self.add_parameter(option, &keyword);
                if is_passed_on {
                    self.pass_on(option, &keyword);
                }
                keyword
            }
        };
        if self.documented(&keyword).is_none() {
            self.add_documentation(option, &keyword);
        }
    }

    fn add_parameter(&mut self, option: &OptionSpec, keyword: &str) {
        let Some(signature) = self.signature() else { return };
        let mut end = signature.end;
        let by_name_only = format!("{}*,", self.indent());
        if !self.lines[signature].contains(&by_name_only) {
            self.lines.insert(end, by_name_only);
            end += 1;
        }
        let annotation = annotation(option.kind, self.any_case);
        self.lines.insert(end, format!("{}{keyword}: {annotation} | None = None,", self.indent()));
    }

    fn pass_on(&mut self, option: &OptionSpec, keyword: &str) {
        let value = match option.kind {
            OptionKind::Path => format!("optional_text_of({keyword})"),
            _ => keyword.to_owned(),
        };
        if let Some(end) = self.lines.iter().position(|line| line == "        })") {
            self.lines.insert(end, format!("            \"{keyword}\": {value},"));
        }
    }

    fn add_documentation(&mut self, option: &OptionSpec, keyword: &str) {
        let Some(parameters) = self.lines.iter().position(|line| line == "    Parameters") else { return };
        let after = self.lines[parameters..].iter().position(|line| line.is_empty() || line == "    \"\"\"");
        let at = parameters + after.unwrap_or(0);
        let mut entry =
            vec![format!("    {keyword} : {}, optional", documented_type(option.kind, self.any_case))];
        let help = option.help.replace('`', "``");
        let default =
            self.documented_default(option).map(|value| format!(" Default {value}.")).unwrap_or_default();
        for word in (help + &default).split(' ') {
            let last = entry.len() - 1;
            if last > 0 && entry[last].len() + 1 + word.len() <= COLUMNS {
                entry[last] = format!("{} {word}", entry[last]);
            } else {
                entry.push(format!("        {word}"));
            }
        }
        self.lines.splice(at..at, entry);
    }

    /// Gives a parameter the type, the words and the default of its option.
    fn update(&mut self, option: &OptionSpec) {
        let Some((at, keyword)) = self.parameter(option) else { return };
        self.update_parameter(at, option, &keyword);
        if let Some(at) = self.documented(&keyword) {
            self.update_type(at, option);
            self.update_default(at, option);
        }
    }

    fn update_parameter(&mut self, at: usize, option: &OptionSpec, keyword: &str) {
        let line = self.lines[at].trim().trim_end_matches(',');
        let Some((_, declared)) = line.split_once(": ") else { return };
        let (written, default) = match declared.rsplit_once(" = ") {
            Some((written, default)) => (written, Some(default)),
            None => (declared, None),
        };
        let (accepted, none) =
            written.strip_suffix(" | None").map_or((written, ""), |accepted| (accepted, " | None"));
        let is_simple = ["bool", "int", "float", "str", "AnyPath"].contains(&accepted);
        let accepted = match option.kind {
            // A truth value with further words.
            OptionKind::OneOf(words) if words.contains(&"true") => accepted.to_owned(),
            OptionKind::OneOf(_) if accepted.starts_with("Literal[\"") && !accepted.contains('|') => {
                annotation(option.kind, self.any_case)
            }
            kind if is_simple && is_one_type(kind) => annotation(kind, self.any_case),
            _ => accepted.to_owned(),
        };
        let default = match (default, literal(option, self.any_case)) {
            (Some(written), Some(value)) if written != "None" && !is_same(written, &value) => Some(value),
            (written, _) => written.map(str::to_owned),
        };
        let default = default.map(|value| format!(" = {value}")).unwrap_or_default();
        self.lines[at] = format!("{}{keyword}: {accepted}{none}{default},", self.indent());
    }

    fn update_type(&mut self, at: usize, option: &OptionSpec) {
        let Some((names, documented)) = self.lines[at].split_once(" : ") else { return };
        let (accepted, optional) = documented
            .strip_suffix(", optional")
            .map_or((documented, ""), |accepted| (accepted, ", optional"));
        let is_simple = ["bool", "int", "float", "str", "str or os.PathLike"].contains(&accepted);
        let accepted = match (option.kind, accepted.find('{'), accepted.find('}')) {
            (OptionKind::OneOf(words), ..) if words.contains(&"true") => return,
            (OptionKind::OneOf(_) | OptionKind::SomeOf(_), Some(begin), Some(end)) => {
                let words = documented_type(option.kind, self.any_case);
                format!("{}{words}{}", &accepted[..begin], &accepted[end + 1..])
            }
            (kind, ..) if is_simple && is_one_type(kind) => documented_type(kind, self.any_case),
            _ => return,
        };
        self.lines[at] = format!("{names} : {accepted}{optional}");
    }

    fn update_default(&mut self, at: usize, option: &OptionSpec) {
        let Some(value) = self.documented_default(option) else { return };
        let n = self.lines[at + 1..].iter().take_while(|line| line.starts_with("        ")).count();
        // The value may have been broken off from its word.
        let text = self.lines[at + 1..=at + n].join("\n");
        let Some(begin) = text.rfind("Default") else { return };
        let rest = &text[begin + "Default".len()..];
        let written = rest.trim_start();
        let Some(length) = value_length(written).filter(|_| rest.len() > written.len()) else { return };
        if is_same(&written[..length], &value) {
            return;
        }
        let begin = text.len() - written.len();
        let text = format!("{}{value}{}", &text[..begin], &text[begin + length..]);
        for (line, new) in self.lines[at + 1..].iter_mut().zip(text.split('\n')) {
            new.clone_into(line);
        }
    }

    /// The default as the documentation has it.
    fn documented_default(&self, option: &OptionSpec) -> Option<String> {
        let OptionDefault::Value(value) = option.default else { return None };
        match option.kind {
            OptionKind::Bool => Some(truth(value).to_owned()),
            OptionKind::Whole | OptionKind::Integer | OptionKind::Real => Some(value.into()),
            OptionKind::Numbers => Some(value.replace(':', " to ")),
            OptionKind::OneOf(_) | OptionKind::SomeOf(_) | OptionKind::Text | OptionKind::Path => {
                Some(format!("``\"{}\"``", in_case(value, self.any_case)))
            }
            _ => None,
        }
    }
}

/// The length of a value at the beginning of a text: one in backticks, or all before a full stop.
fn value_length(text: &str) -> Option<usize> {
    if let Some(quoted) = text.strip_prefix("``") {
        return Some(quoted.find("``")? + 4);
    }
    let ends = |at: &usize| text[at + 1..].chars().next().is_none_or(char::is_whitespace);
    text.match_indices('.').map(|(at, _)| at).find(ends)
}

/// The default as an expression of Python.
fn literal(option: &OptionSpec, any_case: bool) -> Option<String> {
    let OptionDefault::Value(value) = option.default else { return None };
    match option.kind {
        OptionKind::Whole if value == "18446744073709551615" => Some("INFINITELY_REPEAT".to_owned()),
        OptionKind::Bool | OptionKind::OneOf(_) | OptionKind::Text if ["true", "false"].contains(&value) => {
            Some(truth(value).to_owned())
        }
        OptionKind::Whole | OptionKind::Integer | OptionKind::Real => Some(value.to_owned()),
        OptionKind::Numbers if value.contains(':') => Some(format!("({})", value.replace(':', ", "))),
        OptionKind::Numbers => Some(value.to_owned()),
        OptionKind::OneOf(_) | OptionKind::SomeOf(_) | OptionKind::Text | OptionKind::Path => {
            Some(format!("\"{}\"", in_case(value, any_case)))
        }
        _ => None,
    }
}

fn truth(value: &str) -> &'static str {
    if value == "true" { "True" } else { "False" }
}

fn in_case(word: &str, any_case: bool) -> String {
    if any_case { word.to_ascii_lowercase() } else { word.to_owned() }
}

/// True if two values are written alike or are the same numbers.
fn is_same(one: &str, other: &str) -> bool {
    one == other || numbers(one).is_some_and(|one| numbers(other) == Some(one))
}

/// The numbers of `0.5`, `(3 / 4, 4 / 3)` or `0.02 to 0.33`.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let text = text.trim_start_matches('(').trim_end_matches(')').replace(" to ", ",");
    let number = |text: &str| match text.split_once('/') {
        Some((one, other)) => Some(one.trim().parse::<f64>().ok()? / other.trim().parse::<f64>().ok()?),
        None => text.trim().parse().ok(),
    };
    text.split(',').map(number).collect()
}

/// True if values of the kind have one type in Python.
fn is_one_type(kind: OptionKind) -> bool {
    matches!(
        kind,
        OptionKind::Bool
            | OptionKind::Whole
            | OptionKind::Integer
            | OptionKind::Real
            | OptionKind::Path
            | OptionKind::OneOf(_)
    )
}

/// The words of an option as Python has them; where none of them is chosen is None.
fn words(words: &[&str], any_case: bool) -> String {
    let words = words.iter().filter(|word| **word != "false");
    words.map(|word| format!("\"{}\"", in_case(word, any_case))).collect::<Vec<_>>().join(", ")
}

/// The type of a keyword in the signature.
fn annotation(kind: OptionKind, any_case: bool) -> String {
    match kind {
        OptionKind::Bool => "bool".into(),
        OptionKind::Whole | OptionKind::Integer => "int".into(),
        OptionKind::Real => "float".into(),
        OptionKind::Path => "AnyPath".into(),
        OptionKind::Numbers => "float | Sequence[float]".into(),
        OptionKind::Text | OptionKind::Bytes => "str".into(),
        OptionKind::Texts => "str | Sequence[str]".into(),
        OptionKind::OneOf(_) if any_case => "str".into(),
        OptionKind::OneOf(list) => format!("Literal[{}]", words(list, any_case)),
        _ => "object".into(),
    }
}

/// The type of a keyword in the documentation.
fn documented_type(kind: OptionKind, any_case: bool) -> String {
    match kind {
        OptionKind::OneOf(list) | OptionKind::SomeOf(list) => format!("{{{}}}", words(list, any_case)),
        OptionKind::Path => "str or os.PathLike".into(),
        OptionKind::Numbers => "float or sequence of float".into(),
        OptionKind::Texts => "str or sequence of str".into(),
        _ => annotation(kind, any_case),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use tesson_core::{
        ConfigError, Deserializer, Format, OpenTransform, Options, ReaderDefaults, Section, TransformFormat,
        option_table,
    };

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

    static STREAM: OptionTable = option_table! {
        "dim": OptionKind::Whole, required
            => "Number of classes.",
        "phoneBoundaries": OptionKind::Bool, "true"
            => "Marks them.",
        "tolerance": OptionKind::Whole, "3"
            => "Frames.",
    };
    static LABELS_FORMAT: Format = Format::new("LabelDeserializer", "Labels.", &LABEL_OPTIONS, not_opened);
    static LABEL_OPTIONS: OptionTable = option_table! {
        "input": OptionKind::Streams(&STREAM), required
            => "The stream.",
    };

    fn not_opened(_: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
        Err(ConfigError::wrong_form("", "not opened", "nothing"))
    }

    static TURN: TransformFormat = TransformFormat {
        name: "TurnAbout",
        help: "Turns.",
        options: &TURN_OPTIONS,
        describe: |_| Ok(Section::default()),
        open: OpenTransform::Single(|_, _| Err(ConfigError::wrong_form("", "a transform", "nothing").into())),
    };
    static TURN_OPTIONS: OptionTable = option_table! {
        "turnType": OptionKind::OneOf(&["Left", "Right"]), "Left"
            => "Where to.",
        "ratio": OptionKind::Numbers, "0.75:1.5"
            => "From and to.",
        "angles": OptionKind::Numbers, "1:2"
            => "From and to.",
        "seed": OptionKind::Whole, optional
            => "Of draws.",
    };

    static REGISTRY: LazyLock<Registry> =
        LazyLock::new(|| Registry::new(&[&FORMAT, &LABELS_FORMAT]).with_transforms(&[&TURN]));

    #[track_caller]
    fn check(before: &str, changes: &[(&str, &str)]) {
        let mut expected = before.to_owned();
        for (old, new) in changes {
            assert!(expected.contains(old), "{old}");
            expected = expected.replacen(old, new, 1);
        }
        let after = python_keywords(before, &REGISTRY);
        assert_eq!(after, expected);
        assert_eq!(python_keywords(&after, &REGISTRY), after);
    }

    #[test]
    fn a_class_gets_the_options_words_and_defaults_of_its_table() {
        let before = r#"class Other:
    pass


class RowsDeserializer(Deserializer):
    """Reads rows.

    Parameters
    ----------
    filename : str
        The file.
    rules : {"cntk"}, optional
        More than the table says. Default
        ``"cntk"``: with more to say.
    ratio_of_faults : int, optional
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
        ratio_of_faults: int | None = None,
    ) -> None:
        super().__init__({
            "file": text_of(filename),
            "rules": rules,
            "ratio_of_faults": ratio_of_faults,
        })
"#;
        check(
            before,
            &[
                ("rules : {\"cntk\"}", "rules : {\"strict\", \"lenient\"}"),
                ("``\"cntk\"``:", "``\"strict\"``:"),
                ("faults : int", "faults : float"),
                (
                    "Default 0.5. Not more.\n",
                    "Default 0.25. Not more.\n    list_file : str or os.PathLike, optional\n        A list of ``keys``.\n",
                ),
                ("Literal[\"cntk\"]", "Literal[\"strict\", \"lenient\"]"),
                ("faults: int", "faults: float"),
                ("    ) -> None:", "        list_file: AnyPath | None = None,\n    ) -> None:"),
                ("        })\n", "            \"list_file\": optional_text_of(list_file),\n        })\n"),
            ],
        );
    }

    #[test]
    fn a_class_of_labels_has_the_options_of_its_stream() {
        let before = r#"class Labels(_Labels):
    """Reads labels.

    Parameters
    ----------
    phoneBoundaries : bool
        Marks them.
    """

    type = "LabelDeserializer"

    def __init__(
        self,
        phoneBoundaries: bool = False,
    ) -> None:
        super().__init__(streams, {
            "phoneBoundaries": phoneBoundaries,
        })
"#;
        check(
            before,
            &[
                (
                    "        Marks them.\n",
                    "        Marks them.\n    tolerance : int, optional\n        Frames. Default 3.\n",
                ),
                (" = False,\n", " = True,\n        *,\n        tolerance: int | None = None,\n"),
                ("        })\n", "            \"tolerance\": tolerance,\n        })\n"),
            ],
        );
    }

    #[test]
    fn a_function_gets_the_options_of_the_transform_of_its_name() {
        let before = r#"@suggests_arguments
def turn_about(
    turn_type: str = "right",
    ratio: float | tuple[float, float] = (3 / 4, 3 / 2),
    angles: float | tuple[float, float] = 0,
) -> dict[str, Any]:
    """Turn.

    Parameters
    ----------
    turn_type : {"right"}
        Where to. Default ``"right"``. Capital letters make no difference.
    ratio, angles : float or (float, float)
        From and to. Default 3/4 to 3/2.
    """
    return _section("TurnAbout", turn_about, locals())
"#;
        check(
            before,
            &[
                ("str = \"right\"", "str = \"left\""),
                ("float] = 0,\n", "float] = (1, 2),\n    *,\n    seed: int | None = None,\n"),
                ("{\"right\"}", "{\"left\", \"right\"}"),
                ("``\"right\"``", "``\"left\"``"),
                ("Default 3/4 to 3/2.\n", "Default 1 to 2.\n    seed : int, optional\n        Of draws.\n"),
            ],
        );
    }

    #[test]
    fn the_class_of_sources_has_the_options_of_a_reader() {
        let options = READER_OPTIONS.0.iter();
        let no_keywords = NO_KEYWORDS[0].1;
        assert!(no_keywords.iter().all(|name| READER_OPTIONS.find(name).is_some()));
        let expected: Vec<String> = options
            .filter(|option| !no_keywords.contains(&option.name))
            .map(|option| snake_case(option.name))
            .collect();
        let before = "class MinibatchSource(Source):\n    \"\"\"Reads.\n\n    Parameters\n    ----------\n    \"\"\"\n\n    def __init__(\n        self,\n    ) -> None:\n";
        let after = python_keywords(before, &REGISTRY);
        for keyword in expected {
            assert!(after.contains(&format!("\n        {keyword}: ")), "{keyword}");
            assert!(after.contains(&format!("\n    {keyword} : ")), "{keyword}");
        }
    }

    #[test]
    fn what_has_no_table_stays() {
        for module in [
            "import os\n\n\nclass A:\n    type = \"Unknown\"\n",
            "def f(\n    a: int,\n) -> None:\n    pass\n",
            "",
        ] {
            assert_eq!(python_keywords(module, &REGISTRY), module);
        }
    }
}
