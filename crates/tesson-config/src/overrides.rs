//! Values set from outside into a configuration: `--set path.to.option=value`.

use tesson_core::{ConfigError, ConfigSpan, Name, Section, Value, nearest};

use crate::TextFault;
use crate::json;
use crate::reader::is_reader;

/// The path and the value of `path=value`, as [`set_value`] takes them. A value that is JSON is taken as that, anything else
/// as text.
///
/// # Errors
/// Text without `=`, lists with `null` in them.
pub fn assignment(text: &str) -> Result<(String, Value), ConfigError> {
    let Some((path, given)) = text.split_once('=') else {
        return Err(ConfigError::refused("", &TextFault::NoOverride { text: text.to_owned() }));
    };
    let path = path.trim();
    if given.trim().is_empty() {
        return Err(ConfigError::refused("", &TextFault::NoValue { path: path.to_owned() }));
    }
    Ok((path.to_string(), value(given, path)?))
}

/// Sets a value at a path: names separated by `.`, with `[i]` after the name of a list. Sections that are missing are made. `given` is where errors of the value are reported, such as the argument that
/// gave it, instead of where an earlier value stands.
///
/// # Errors
/// Paths through something that is no section, places that a list does not have.
pub fn set_value(
    tree: &mut Section,
    path: &str,
    value: Value,
    given: Option<&ConfigSpan>,
) -> Result<(), ConfigError> {
    let put = steps(path).and_then(|steps| put(tree, &steps, value, path, given));
    put.map_err(|e| e.at(given.cloned()))
}

/// Makes sure that a path leads to a reader's options, or to a section that there is: a misspelt section would be a new one that
/// nothing looks into. What is wrong within a reader is found when it is read. In BrainScript (`is_script`) readers may lie
/// anywhere and options around them; in other forms they are the whole tree or its section `source`.
///
/// # Errors
/// A section that does not exist, with the name that may have been meant.
pub(crate) fn check_way(tree: &Section, path: &str, is_script: bool) -> Result<(), ConfigError> {
    let steps = steps(path)?;
    let Some((_, sections)) = steps.split_last() else { return Ok(()) };
    if !is_script {
        return match (tree.get("source"), steps[0].name) {
            (Some(Value::Section(source)), first) if tree.get(first).is_none() => {
                let meant = corrected(source, path);
                let remedy = format!("the reader's options are in `source`: `source.{meant}`");
                Err(no_section(tree, first, path, Some(remedy)))
            }
            _ => Ok(()),
        };
    }
    let mut around = tree;
    for step in sections {
        let is_new_one = is_reader(step.name) || step.name.eq_ignore_ascii_case("SGD");
        around = match around.get(step.name) {
            // Options of readers are known, and lists have their own errors.
            _ if is_new_one => return Ok(()),
            Some(Value::Section(inner)) => inner,
            Some(_) => return Ok(()),
            None => return Err(no_section(around, step.name, path, None)),
        };
    }
    Ok(())
}

/// A path with each name that a section has not as the nearest one that it has, and `list.0` as `list[0]`.
fn corrected(section: &Section, path: &str) -> String {
    let mut parts = path.split('.').peekable();
    let (mut around, mut meant) = (Some(section), Vec::new());
    while let Some(part) = parts.next() {
        let (name, mut places) = part.find('[').map_or((part, ""), |at| part.split_at(at));
        let among = |section: &Section| {
            let near = nearest(name, section.0.iter().map(|(n, _)| n.as_str()));
            near.filter(|_| section.get(name).is_none()).map(str::to_owned)
        };
        let name = around.and_then(among).unwrap_or_else(|| name.to_owned());
        let mut value = around.and_then(|section| section.get(&name));
        let mut word = name;
        if let Some(Value::List(items)) = value {
            let is_place = |part: &&str| part.parse::<usize>().is_ok();
            let place = if places.is_empty() { parts.next_if(is_place) } else { None };
            let place = place.map(|place| format!("[{place}]"));
            word += place.as_deref().unwrap_or(places);
            let place = place.as_deref().unwrap_or(places).trim_matches(['[', ']']).parse().ok();
            value = place.and_then(|place: usize| items.get(place));
            places = "";
        }
        meant.push(word + places);
        around = match value {
            Some(Value::Section(inner)) => Some(inner),
            _ => None,
        };
    }
    meant.join(".")
}

fn no_section(around: &Section, name: &str, path: &str, remedy: Option<String>) -> ConfigError {
    let there: Vec<&str> =
        around.0.iter().filter(|(_, v)| matches!(v, Value::Section(_))).map(|(n, _)| n.as_str()).collect();
    let nearest = nearest(name, there.iter().copied()).map(str::to_owned);
    let (name, there) = (name.to_owned(), there.into_iter().map(str::to_owned).collect());
    ConfigError::refused(path, &TextFault::NoSection { name, there, nearest, remedy })
}

fn value(text: &str, path: &str) -> Result<Value, ConfigError> {
    // File names and words are no JSON, and need no quotes.
    let json = serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.to_owned()));
    Ok(json::value(json, path)?.unwrap_or_else(|| Value::Text("default".into())))
}

/// One step of a path: a name in a section, and places in the lists below it.
struct Step<'a> {
    name: &'a str,
    places: Vec<usize>,
}

fn steps(path: &str) -> Result<Vec<Step<'_>>, ConfigError> {
    path.split('.').map(|part| step(part, path)).collect()
}

fn step<'a>(part: &'a str, path: &str) -> Result<Step<'a>, ConfigError> {
    let wrong = || ConfigError::refused(path, &TextFault::BadStep { step: part.to_owned() });
    let (name, places) = part.find('[').map_or((part, ""), |at| part.split_at(at));
    if name.is_empty() {
        return Err(wrong());
    }
    let inside = match places {
        "" => return Ok(Step { name, places: Vec::new() }),
        _ => places.strip_prefix('[').and_then(|p| p.strip_suffix(']')).ok_or_else(wrong)?,
    };
    let places = inside.split("][").map(|n| n.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    Ok(Step { name, places })
}

fn put(
    section: &mut Section,
    steps: &[Step<'_>],
    new: Value,
    path: &str,
    given: Option<&ConfigSpan>,
) -> Result<(), ConfigError> {
    let (step, rest) = steps.split_first().expect("a path has a step");
    if !step.places.is_empty() {
        check_list(section, step.name, path)?;
    }
    let (name, mut target) = entry(section, step.name, given);
    if let (Some(given), []) = (given, rest) {
        *name = name.clone().with_span(given.clone());
    }
    for &place in &step.places {
        target = list_place(target, place, step.name, path)?;
    }
    if rest.is_empty() {
        *target = new;
        return Ok(());
    }
    match target {
        Value::Section(inner) => put(inner, rest, new, path, given),
        other => {
            let (name, found) = (step.name.to_owned(), other.describe());
            let fault = match other {
                Value::List(_) => TextFault::ListOnTheWay { name, found },
                _ => TextFault::NoSectionThere { name, found },
            };
            Err(ConfigError::refused(path, &fault))
        }
    }
}

/// Refuses a path into a list that does not exist. Other missing sections are created on the way; a section has no numbered entries.
fn check_list(section: &Section, name: &str, path: &str) -> Result<(), ConfigError> {
    if section.0.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let lists = section.0.iter().filter(|(_, value)| matches!(value, Value::List(_)));
    let near = nearest(name, lists.map(|(n, _)| n.as_str())).map(str::to_owned);
    Err(ConfigError::refused(path, &TextFault::NoSuchList { name: name.to_owned(), near }))
}

/// The last entry of this name in any case, or a new empty section.
fn entry<'a>(
    section: &'a mut Section,
    name: &str,
    given: Option<&ConfigSpan>,
) -> (&'a mut Name, &'a mut Value) {
    let at = section.0.iter().rposition(|(n, _)| n.eq_ignore_ascii_case(name)).unwrap_or_else(|| {
        section.push(Name::at(name, given.cloned()), Value::Section(Section::default()));
        section.0.len() - 1
    });
    let (name, value) = &mut section.0[at];
    (name, value)
}

fn list_place<'a>(
    value: &'a mut Value,
    place: usize,
    name: &str,
    path: &str,
) -> Result<&'a mut Value, ConfigError> {
    match value {
        Value::List(items) => {
            let n = items.len();
            items.get_mut(place).ok_or_else(|| {
                let name = name.to_owned();
                let fault = match n {
                    0 => TextFault::EmptyList { place, name },
                    n => TextFault::NoPlace { place, last: n - 1, name },
                };
                ConfigError::refused(path, &fault)
            })
        }
        other => {
            let fault = TextFault::NoList { name: name.to_owned(), found: other.describe() };
            Err(ConfigError::refused(path, &fault))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tree: &mut Section, text: &str) -> Result<(), ConfigError> {
        let (path, value) = assignment(text)?;
        set_value(tree, &path, value, None)
    }

    fn check(text: &str, assignment: &str, expected: &str) {
        let mut tree = json::parse(text).unwrap();
        set(&mut tree, assignment).unwrap();
        assert_eq!(tree, json::parse(expected).unwrap(), "{assignment}");
    }

    fn refused(assignment: &str) -> String {
        let mut tree = json::parse(r#"{"d": [{"file": "a"}], "n": 1}"#).unwrap();
        set(&mut tree, assignment).unwrap_err().to_string()
    }

    #[test]
    fn a_value_is_replaced_or_added_where_the_path_leads() {
        check(r#"{"maxSweeps": 1}"#, "maxsweeps=2", r#"{"maxSweeps": 2}"#);
        check("{}", "randomize=false", r#"{"randomize": false}"#);
        check(r#"{"d": [{"file": "a"}]}"#, "d[0].file=b c.ctf", r#"{"d": [{"file": "b c.ctf"}]}"#);
        check("{}", "a.b.c=x=y", r#"{"a": {"b": {"c": "x=y"}}}"#);
        check(r#"{"l": [[1, 2]]}"#, "l[0][1]=3", r#"{"l": [[1, 3]]}"#);
        check("{}", r#"l=[1, {"a": "2"}]"#, r#"{"l": [1, {"a": "2"}]}"#);
        check(r#"{"n": 1}"#, "n=null", r#"{"n": "default"}"#);
    }

    #[test]
    fn errors_of_a_value_are_reported_where_it_was_given() {
        let mut tree = json::parse_file("{\n\"maxErrors\": 1,\n\"d\": [{\"n\": 2}]}", "f.json").unwrap();
        let given = ConfigSpan::argument("--set maxErrors=few");
        set_value(&mut tree, "maxerrors", Value::Text("few".into()), Some(&given)).unwrap();
        let e = ConfigError::wrong_type("maxErrors", "`few`", "a number").located_in(&tree).to_string();
        assert_eq!(e, "--set maxErrors=few: found `few`, expected a number");
        let e = ConfigError::wrong_type("d[0].n", "`2`", "a text").located_in(&tree).to_string();
        assert_eq!(e, "f.json:3:8: d[0].n: found `2`, expected a text");
        // What is missing in the section is nothing that the argument has to do with.
        let e = ConfigError::wrong_type("missing", "none", "one").located_in(&tree);
        assert_eq!(e.to_string(), "missing: found none, expected one");
        let e = set_value(&mut tree, "d[3].n", Value::Whole(1), Some(&ConfigSpan::argument("--number")))
            .unwrap_err();
        assert_eq!(e.to_string(), "--number: d[3].n: found place 3, expected one from 0 to 0, those of `d`");
    }

    #[test]
    fn a_path_is_corrected_in_every_part() {
        let tree = json::parse(r#"{"deserializers": [{"file": "a", "input": {"x": {"dim": 1}}}]}"#).unwrap();
        for (path, meant) in [
            ("deserialisers.0.file", "deserializers[0].file"),
            ("deserialisers[0].fil", "deserializers[0].file"),
            ("deserializers.0.inputs.x.dims", "deserializers[0].input.x.dim"),
            ("deserializers.1.file", "deserializers[1].file"),
            ("randomize", "randomize"),
        ] {
            assert_eq!(corrected(&tree, path), meant);
        }
    }

    #[test]
    fn a_value_is_required() {
        for text in ["maxErrors=", "maxErrors= "] {
            let e = assignment(text).unwrap_err().to_string();
            assert_eq!(
                e,
                "found no value, expected one after `=`; write `'maxErrors=\"\"'`, with both quotes, for an empty text"
            );
        }
        assert!(assignment("a=\"\"").is_ok());
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        assert_eq!(refused("n"), "found `n`, expected `path.to.option=value`");
        assert_eq!(refused("n.x=1"), "n.x: `n` is `1`, expected a section");
        let remedy = "expected a section, or one of its entries: `d[0]` is the first";
        assert_eq!(refused("d.0.file=b"), format!("d.0.file: `d` is a list, {remedy}"));
        assert_eq!(
            refused("d[1].file=b"),
            "d[1].file: found place 1, expected one from 0 to 0, those of `d`"
        );
        assert_eq!(refused("n[0]=b"), "n[0]: `n` is `1`, expected a list");
        assert_eq!(refused("far[0].file=b"), "far[0].file: there is no list `far`");
        let mut tree = json::parse(r#"{"deserializers": [{"file": "a"}]}"#).unwrap();
        assert_eq!(
            set(&mut tree, "desrializers[0].file=b").unwrap_err().to_string(),
            "desrializers[0].file: there is no list `desrializers`, did you mean `deserializers`?"
        );
        assert_eq!(tree, json::parse(r#"{"deserializers": [{"file": "a"}]}"#).unwrap());
        assert!(refused("d[x]=1").contains("found `d[x]`"));
        assert!(refused(".a=1").contains("expected a name"));
    }
}
