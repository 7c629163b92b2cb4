//! The shape of declarations: structs that are too wide to be understood at once, methods far from their type, and parameters
//! without a name.

use crate::source_text::File;

/// Fields that a struct may have.
const MOST_FIELDS: usize = 15;

/// Wider ones, each with its reason. A plain record of a file format would be one; state with rules of its own is none.
const MAY_BE_WIDE: &[(&str, &str)] = &[
    (
        "DeserializerFacts",
        "what a format declares of itself: all but three have defaults, and none follows from another",
    ),
    ("ConvertArgs", "the options of a command, as clap wants them"),
    ("InputArgs", "options that all commands share, as clap wants them"),
    ("Decoder", "the columns and limits of the text format's inner loop, which are borrowed one by one"),
    ("CtfOptions", "the options of a format, one each"),
    ("HtkOptions", "the options of a format, one each"),
];

/// Methods of a type outside its module: what may change the type's fields would have to be looked for everywhere.
pub(crate) fn foreign_methods(files: &[File]) -> Vec<String> {
    let sources = || files.iter().filter(|file| file.is_rust());
    let mut types = Vec::new();
    for file in sources() {
        types.extend(declared_types(file).map(|name| (package(file), name, module(file))));
    }
    let mut found = Vec::new();
    for file in sources() {
        for (number, line) in file.shipped_lines() {
            let Some(name) = implemented_type(line) else { continue };
            let homes = types.iter().filter(|(member, known, _)| *member == package(file) && *known == name);
            let (mut is_known, mut is_home) = (false, false);
            for (_, _, home) in homes {
                is_known = true;
                is_home |= module(file).starts_with(home);
            }
            if is_known && !is_home {
                found.push(format!(
                    "{}:{number}: methods of `{name}`, which is declared elsewhere",
                    file.path
                ));
            }
        }
    }
    found
}

/// The folder of the package that a file belongs to.
fn package(file: &File) -> &str {
    file.member().or(file.path.split('/').next()).unwrap_or("")
}

/// The module that a file is, as the parts of its path.
fn module(file: &File) -> Vec<&str> {
    let path =
        file.path.strip_suffix(".rs").and_then(|path| path.split_once("/src/")).map_or("", |(_, path)| path);
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(last));
    parts
}

/// Structs and enums that a file declares.
fn declared_types(file: &File) -> impl Iterator<Item = &str> {
    file.shipped_lines().into_iter().filter_map(|(_, line)| {
        let line = without_visibility(line);
        let rest = line.strip_prefix("struct ").or(line.strip_prefix("enum "))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// A declaration without `pub`, `pub(crate)` or `pub(in a::module)` before it.
fn without_visibility(line: &str) -> &str {
    let line = line.trim_start();
    let Some(rest) = line.strip_prefix("pub") else { return line };
    match rest.strip_prefix('(') {
        Some(within) => within.split_once(") ").map_or("", |(_, rest)| rest),
        None => rest.trim_start(),
    }
}

/// The type whose methods begin on a line: `impl Name {`, with or without generic parameters.
fn implemented_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl").filter(|rest| !rest.contains(" for "))?;
    let rest = match rest.strip_prefix('<') {
        Some(parameters) => parameters.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Structs with more fields than [`MOST_FIELDS`].
pub(crate) fn wide_structs(files: &[File]) -> Vec<String> {
    files.iter().filter(|file| file.is_rust()).flat_map(wide_structs_of).collect()
}

fn wide_structs_of(file: &File) -> Vec<String> {
    let lines = file.shipped_lines();
    let heads = lines.iter().enumerate().filter_map(|(i, (_, line))| Some((i, struct_name(line)?)));
    let wide = heads.filter_map(|(i, name)| {
        let indent = indent(lines[i].1);
        let body = lines[i + 1..]
            .iter()
            .map(|(_, line)| *line)
            .take_while(|line| indent_of_end(line) != Some(indent));
        let fields = body.filter(|line| is_field(line, indent + 4)).count();
        let is_allowed = MAY_BE_WIDE.iter().any(|(allowed, _)| *allowed == name);
        (fields > MOST_FIELDS && !is_allowed).then(|| {
            format!(
                "{}:{}: `{name}` has {fields} fields, {MOST_FIELDS} at most are expected",
                file.path, lines[i].0
            )
        })
    });
    wide.collect()
}

/// The name of the struct with named fields that begins on a line.
fn struct_name(line: &str) -> Option<&str> {
    let name = without_visibility(line).strip_prefix("struct ").filter(|_| line.ends_with('{'))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The indentation of a line that ends a block.
fn indent_of_end(line: &str) -> Option<usize> {
    line.trim_start().starts_with('}').then(|| indent(line))
}

fn is_field(line: &str, at: usize) -> bool {
    let Some((name, _)) = line.split_once(": ").filter(|_| indent(line) == at) else { return false };
    let name = name.trim_start().rsplit(' ').next().unwrap_or("");
    // An option that is declared without a field has `_` for its name.
    !["", "_"].contains(&name) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Parameters of functions whose type is a tuple: which is which cannot be read where they are passed.
pub(crate) fn tuple_parameters(files: &[File]) -> Vec<String> {
    files.iter().filter(|file| file.is_rust()).flat_map(tuple_parameters_of).collect()
}

fn tuple_parameters_of(file: &File) -> Vec<String> {
    let lines = file.shipped_lines();
    let mut found = Vec::new();
    for (i, (number, line)) in lines.iter().enumerate() {
        let Some(at) = function_at(line) else { continue };
        let rest = lines[i + 1..].iter().take(MOST_LINES).map(|(_, line)| line.trim_start());
        let text: String = std::iter::once(&line[at..]).chain(rest).collect::<Vec<_>>().join(" ");
        let tuples = parameters(&text).into_iter().filter(|parameter| is_tuple(parameter));
        found.extend(tuples.map(|p| format!("{}:{number}: `{}` is a tuple", file.path, p.trim())));
    }
    found
}

/// Lines that the head of a function has at most.
const MOST_LINES: usize = 16;

/// Where a function's name begins on a line.
fn function_at(line: &str) -> Option<usize> {
    let at = line.find("fn ").filter(|&at| at == 0 || line.as_bytes()[at - 1] == b' ')? + 3;
    line[at..].starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(at)
}

/// The parameters in the first parentheses that follow a function's name and its generic parameters.
fn parameters(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let (mut begin, mut angle) = (None, 0_i32);
    let mut all = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (c, begin) {
            ('<', None) => angle += 1,
            ('>', None) if before != '-' => angle -= 1,
            ('(', None) if angle == 0 => begin = Some(at + 1),
            (_, None) => {}
            ('(' | '[' | '{' | '<', Some(_)) => depth += 1,
            (')', Some(from)) if depth == 0 => {
                all.push(&text[from..at]);
                return all;
            }
            (')' | ']' | '}', Some(_)) => depth -= 1,
            ('>', Some(_)) if before != '-' => depth -= 1,
            (',', Some(from)) if depth == 0 => {
                all.push(&text[from..at]);
                begin = Some(at + 1);
            }
            _ => {}
        }
        before = c;
    }
    Vec::new()
}

/// True if the type of a parameter is a tuple or a reference to one.
fn is_tuple(parameter: &str) -> bool {
    let Some((_, of)) = parameter.rsplit_once("): ").or_else(|| parameter.split_once(": ")) else {
        return false;
    };
    let of = of.trim().trim_start_matches('&');
    let of = if of.starts_with('\'') { of.split_once(' ').map_or("", |(_, of)| of) } else { of };
    of.strip_prefix("mut ").unwrap_or(of).starts_with('(') && of.contains(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "crates/tesson-plan/src/a.rs".into(), text: text.into() }
    }

    #[test]
    fn a_wide_struct_is_found_and_a_narrow_one_is_not() {
        let fields = |n: usize| {
            (0..n).map(|i| format!("    /// A field.\n    pub(crate) a{i}: u64,\n")).collect::<String>()
        };
        let text = format!(
            "pub struct Wide<'a> {{\n{}}}\n\nstruct Narrow {{\n{}    _: u64 = \"a\";\n}}\n",
            fields(16),
            fields(15)
        );
        let expected = "crates/tesson-plan/src/a.rs:1: `Wide` has 16 fields, 15 at most are expected";
        assert_eq!(wide_structs(&[file(&text)]), [expected]);
    }

    #[test]
    fn methods_belong_to_their_type_or_below_it() {
        let at = |path: &str, text: &str| File {
            path: format!("crates/tesson-engine/src/{path}"),
            text: text.into(),
        };
        let files = [
            at("source.rs", "pub(crate) struct Source<'a> {\n}\n"),
            at("source/open.rs", "impl<'a> Source<'a> {\n}\n"),
            at("report.rs", "impl Source<'_> {\n}\nimpl Drop for Source<'_> {\n}\n"),
            at("a/b.rs", "pub(in crate::a) struct Source {\n}\nimpl Source {\n}\n"),
        ];
        let expected =
            "crates/tesson-engine/src/report.rs:1: methods of `Source`, which is declared elsewhere";
        assert_eq!(foreign_methods(&files), [expected]);
    }

    #[test]
    fn a_tuple_is_found_whatever_pattern_takes_it_apart() {
        let text = "fn a<F: Fn((u8, u8)) -> u8>(\n    &self,\n    (x, y): (u64, Vec<u8>),\n    place: &mut (u8, u8),\n    Part { share }: Part,\n) {}\n";
        let found = tuple_parameters(&[file(text)]);
        let expected = ["(x, y): (u64, Vec<u8>)", "place: &mut (u8, u8)"];
        let expected = expected.map(|p| format!("crates/tesson-plan/src/a.rs:1: `{p}` is a tuple"));
        assert_eq!(found, expected);
    }

    #[test]
    fn lists_and_functions_of_tuples_are_none() {
        let text = "fn a(all: &[(u8, u8)], each: impl Fn((u8, u8)), none: ()) -> (u8, u8) { (1, 2) }\n";
        assert!(tuple_parameters(&[file(text)]).is_empty());
    }
}
