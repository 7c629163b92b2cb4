//! Texts and their trees, in one-line cases.

use proptest::prelude::*;
use tesson_core::{ConfigError, Section, Value};

use super::{Script, Variables, parse, print};
use crate::{TextFault, json};

fn tree_with(text: &str, variables: &Variables<'_>) -> Result<Section, ConfigError> {
    let mut script = Script::new();
    script.text("a.cntk", text, &|name| {
        Err(ConfigError::refused("", &TextFault::Unreadable { what: format!("no file {name}") }))
    })?;
    parse(&script, variables)
}

fn tree(text: &str) -> Result<Section, ConfigError> {
    tree_with(text, &Variables::default())
}

fn check(text: &str, expected: &str) {
    let found = tree(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(found, json::parse(expected).unwrap(), "{text}");
}

fn refused(text: &str) -> String {
    tree(text).expect_err(text).to_string()
}

#[test]
fn entries_are_separated_or_end_by_themselves() {
    check("a = 1, b = 2; c = 3", r#"{"a": "1", "b": "2", "c": "3"}"#);
    check("a = \"x\" b = [y=1] c = 2", r#"{"a": "x", "b": {"y": "1"}, "c": "2"}"#);
    check("g \"text\"\nt ( 1 2 )", r#"{"g": "text", "t": ["1 2"]}"#);
    check("a = x=y ; flag ; b = 1", r#"{"a": "x=y", "flag": "true", "b": "1"}"#);
    check("a =\n\n [ b = 1 ]\nc =\n\"d\"", r#"{"a": {"b": "1"}, "c": "d"}"#);
    check("a = f(x, y) b = 1", r#"{"a": "f(x, y)", "b": "1"}"#);
    check("a = [b=1]\n}\n]c = 2", r#"{"a": {"b": "1"}, "c": "2"}"#);
    check("\u{feff}a = ä ö\r\nb = 2\r\n", r#"{"a": "ä ö", "b": "2"}"#);
}

#[test]
fn the_content_says_what_a_group_is() {
    check("a = ( ) ; b = [ ] ; c = { }", r#"{"a": [], "b": {}, "c": {}}"#);
    check("a = [1:2] ; b = {x:y} ; c = (1)", r#"{"a": ["1", "2"], "b": ["x", "y"], "c": ["1"]}"#);
    check(
        "a = [x ; y] ; b = (x = 1 ; y = 2)",
        r#"{"a": {"x": "true", "y": "true"}, "b": {"x": "1", "y": "2"}}"#,
    );
    check("a = [ [x=1]:[x=2] ] b = { \"c\" }", r#"{"a": [{"x": "1"}, {"x": "2"}], "b": ["c"]}"#);
    check("a = [ x [ y = 1 ] ]", r#"{"a": {"x": {"y": "1"}}}"#);
    check("a = ({x=1}\n{x=2})", r#"{"a": [{"x": "1"}, {"x": "2"}]}"#);
}

#[test]
fn items_may_be_repeated() {
    check("f = (1*3:2)", r#"{"f": ["1", "1", "1", "2"]}"#);
    check("f = (\"a:b\":c*2b:\"c*2\":d*)", r#"{"f": ["a:b", "c*2b", "c*2", "d*"]}"#);
    check("f = (1 * 2, *2)", r#"{"f": ["1", "1", "*2"]}"#);
    assert_eq!(refused("f = (1*0)"), "a.cntk:1:6: found a repeat count of 0, expected at least 1");
}

#[test]
fn later_entries_replace_or_merge() {
    check("Up = 1 \n UP = 2", r#"{"Up": "2"}"#);
    check(
        "a = [x=1;y=[p=1]] ; A = [Y=[q=2];z=3]",
        r#"{"a": {"x": "1", "y": {"p": "1", "q": "2"}, "z": "3"}}"#,
    );
    check("a = {x=1} ; a = [y=2]", r#"{"a": {"x": "1", "y": "2"}}"#);
    check("a = [x=1] ; a = {y=2}", r#"{"a": {"y": "2"}}"#);
    check("a = [x=1] ; a = (1:2)", r#"{"a": ["1", "2"]}"#);
    check("a = (1:2) ; a = [x=1]", r#"{"a": {"x": "1"}}"#);
}

#[test]
fn networks_are_passed_over() {
    let found = tree("SimpleNetworkBuilder = [ x : [ y => \"(\" ] ] a = 1").unwrap();
    assert_eq!(found.get("SimpleNetworkBuilder"), Some(&Value::Code));
    assert_eq!(found.get("a"), Some(&Value::Text("1".into())));
    assert!(refused("xNetworkBuilder = { [ }").contains("unmatched `}`"));
}

#[test]
fn sections_in_which_no_reader_lies_may_be_anything() {
    let network = "N = [ f(x) = x + 1 ; sizes[i:1..3] = 4 ; s = \"]\" ]\n";
    let reader = "T = [ net = [ a[i:1..2] = = ] ; x = 1 ; reader = [ file = f ] ]\n";
    let found = tree(&format!("{network}{reader}")).unwrap();
    assert_eq!(found.get("N"), Some(&Value::Code));
    let Some(Value::Section(section)) = found.get("T") else { panic!("{found:?}") };
    assert_eq!((section.get("net"), section.get("x")), (Some(&Value::Code), Some(&Value::Text("1".into()))));
    assert_eq!(tree(&print(&found)), Ok(found));
    // It is an error where a reader lies in it or asks for it, or where there is no reader.
    for (text, expected) in [
        ("T = [ x = ; reader = [ file = f ] ]".to_owned(), "a.cntk:1:7: no value for `x`"),
        ("T = [ reader = [ file = f ; input = [ x = ] ] ]".to_owned(), "a.cntk:1:39: no value for `x`"),
        (format!("{reader}U = [ a = $N$ ]\n{network}"), "a.cntk:3:12: a value without a name"),
        (network.to_owned(), "a.cntk:1:12: a value without a name"),
        (format!("{reader}N = [ x = = ] ]\nM = [ ( ]"), "a.cntk:3:9: unmatched `]`, expected `)`"),
    ] {
        assert!(refused(&text).starts_with(expected), "{text}: {}", refused(&text));
    }
}

#[test]
fn errors_say_where() {
    assert_eq!(refused("T = [\n  file =\n  x = 1\n]"), "a.cntk:2:3: no value for `file`");
    assert_eq!(
        refused("a = 1\nT = [ r = [ f = \"a\"\n"),
        "a.cntk:2:11: found no closing `]` for this bracket, expected one before the end; add it"
    );
    assert_eq!(refused("T = [\n  r = { x = 1 ]\n]"), "a.cntk:2:15: unmatched `]`, expected `}`");
    assert_eq!(refused("T = ( 1 : 2 ]"), "a.cntk:1:13: unmatched `]`, expected `)`");
    assert_eq!(refused("a = \"b\nc\""), "a.cntk:1:5: found no closing `\"`, expected one on the same line");
    assert_eq!(refused("x = [a=1]:[b=2]"), "a.cntk:1:10: a value without a name, expected `name = value`");
    assert_eq!(refused("= 1"), "a.cntk:1:1: a value without a name, expected `name = value`");
    assert_eq!(refused("a = ; b = 1"), "a.cntk:1:1: no value for `a`");
}

#[test]
fn variables_are_looked_up_from_outside() {
    check(
        "a = 1 ; b = $A$/$a$ ; c = [ a = 2 ; d = \"$b$ $a$\" ]",
        r#"{"a": "1", "b": "1/1", "c": {"a": "2", "d": "1/1 1"}}"#,
    );
    check("c = [ e = 5 ; l = ( $e$ : [ f = $e$ ] ) ]", r#"{"c": {"e": "5", "l": ["5", {"f": "5"}]}}"#);
    check(
        "p = 5$ and 6$ ; h = $Root ; d = $1$ ; u = $a b$",
        r#"{"p": "5$ and 6$", "h": "$Root", "d": "$1$", "u": "$a b$"}"#,
    );
    check(
        "s = [ x = $y$ ; y = 1 ] ; t = $s$ ; l = (1:2) ; m = $l$",
        r#"{"s": {"x": "1", "y": "1"},
        "t": {"x": "1", "y": "1"}, "l": ["1", "2"], "m": ["1", "2"]}"#,
    );
    check("a = \"x:[y]\" ; b = ( $a$ : z )", r#"{"a": "x:[y]", "b": ["x:[y]", "z"]}"#);
    check("on ; b = $on$", r#"{"on": "true", "b": "true"}"#);
    assert_eq!(
        refused("a = $b$\nb = $a$"),
        "a.cntk:1:5: the variable `$b$` needs itself; give it as `b=…` after the file"
    );
    assert_eq!(
        refused("DataDir = x\nb = $DataDri$/y"),
        "a.cntk:2:5: no variable `$DataDri$`, did you mean `$DataDir$`?"
    );
    assert!(refused("c = [ e = 5 ] ; l = $e$").contains("no variable `$e$`"));
    assert!(refused("c = [ e = 5 ] ; l = x$c$").contains("is a section or a list"));
}

#[test]
fn environment_and_defaults_are_asked_for() {
    check("a = $b|c$ ; d = $env:HOME$", r#"{"a": "$b|c$", "d": "$env:HOME$"}"#);
    let environment = |name: &str| (name == "HOME").then(|| "there".to_string());
    let variables = Variables { extended: true, environment: Some(&environment) };
    let found = tree_with("a = $b|c d$ ; d = $env:HOME$ ; e = $a|x$ ; f = $env:NONE|$.", &variables).unwrap();
    assert_eq!(found, json::parse(r#"{"a": "c d", "d": "there", "e": "c d", "f": "."}"#).unwrap());
    let e = tree_with("a = $env:NONE$", &variables).unwrap_err();
    assert!(e.to_string().contains("no variable `$env:NONE$`"), "{e}");
}

#[test]
fn files_include_files_once_and_arguments_come_behind() {
    let read = |name: &str| match name {
        "a.cntk" => Ok("x = 1 # one\ninclude=b.cntk+c.cntk\ny = $x$".to_string()),
        "b.cntk" => Ok("include=a.cntk\nz = 3".to_string()),
        "c.cntk" => Ok("w = [".to_string()),
        _ => Err(ConfigError::refused("", &TextFault::Unreadable { what: format!("no file {name}") })),
    };
    let mut script = Script::new();
    script.files("a.cntk", &read).unwrap();
    script.argument("X=2 # kept");
    let e = parse(&script, &Variables::default()).unwrap_err().to_string();
    assert_eq!(e, "c.cntk:1:5: found no closing `]` for this bracket, expected one before the end; add it");
    script.argument("] ; v = 4");
    let found = parse(&script, &Variables::default()).unwrap();
    assert_eq!(found.get("x"), Some(&Value::Text("1".into())));
    assert_eq!(found.get("v"), Some(&Value::Text("4".into())));
    assert!(script.files("b.cntk", &read).unwrap_err().to_string().contains("named twice"));
    let e = Script::new().text("t", "a = 1\ninclude=d.cntk", &read).unwrap_err();
    assert_eq!(e.to_string(), "t:2:1: no file d.cntk");
}

#[test]
fn hostile_texts_are_refused_soon() {
    for open in ["[", "(", "{", "a=[", "a[", "({"] {
        let e = refused(&format!("x = {}", open.repeat(200_000)));
        assert!(e.contains("within each other") || e.contains("no closing"), "{e}");
    }
    assert!(refused("x = (1*1000000000)").contains("larger than 64 MiB"));
    assert!(refused("x = (1*99999999999999999999999)").contains("larger than 64 MiB"));
    // What a variable stands for is charged again each time.
    let list = format!("v = ({}1)\n", "1:".repeat(10_000));
    assert!(refused(&format!("{list}x = ($v$*1000000)")).contains("larger than 64 MiB"));
    assert!(refused(&format!("{list}x = ($v$*200)")).contains("larger than 64 MiB"));
    assert!(tree(&format!("{list}x = ($v$*50)")).is_ok());
    let doubled = |value: &str| {
        let link = |i: u32| format!("v{i} = {}\n", value.replace('#', &format!("$v{}$", i + 1)));
        (0..40).map(link).chain(["v40 = ab\n".to_string()]).collect::<String>()
    };
    assert!(refused(&doubled("##")).contains("larger than 64 MiB"));
    assert!(refused(&doubled("[ a = # ; b = # ]")).contains("larger than 64 MiB"));
    let chain: String = (0..1000).map(|i| format!("v{i} = $v{}$\n", i + 1)).collect();
    assert!(refused(&chain).contains("chain"));
}

/// Trees that BrainScript can spell.
fn trees() -> impl Strategy<Value = Section> {
    let text = "[^\"\r\n$]{0,12}".prop_map(Value::Text);
    let value = text.prop_recursive(4, 64, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            list.prop_map(Value::List),
            prop::collection::btree_map("[a-z][a-z0-9_.-]{0,6}", inner, 0..5)
                .prop_map(|entries| Value::Section(entries.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z][a-z0-9_.-]{0,6}", value, 0..6).prop_map(|e| e.into_iter().collect())
}

#[test]
fn a_text_with_quotes_is_printed_as_it_was_written() {
    for text in ["a=:\"\"", "a = x\"y\"", "a = (:\"\" : e)"] {
        let found = tree(text).unwrap();
        assert_eq!(tree(&print(&found)).unwrap(), found, "{text}");
    }
}

#[test]
fn the_largest_trees_are_parsed_again_as_they_are_printed() {
    let deep = format!("{}x = (1*1000000){}", "x = [ ".repeat(90), " ]".repeat(90));
    // About the most of each that is accepted.
    let repeated = [("1", 1_015_000), ("( )", 698_000), ("[ a ]", 292_000)];
    let texts = repeated.map(|(item, n)| format!("v = {item}\nx = ($v$*{n})"));
    for text in texts.iter().chain([&deep]) {
        let found = tree(text).unwrap();
        assert!(tree(&print(&found)).is_ok_and(|again| again == found), "{}", &text[..20]);
    }
    for (item, n) in repeated {
        assert!(
            refused(&format!("v = {item}\nx = ($v$*{})", n + 10_000)).contains("larger than 64 MiB"),
            "{item}"
        );
    }
}

proptest! {
    #[test]
    fn the_tree_of_a_printed_tree_is_the_tree(section in trees()) {
        let text = print(&section);
        prop_assert_eq!(tree(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?, section);
    }

    #[test]
    fn any_text_has_a_tree_or_an_error_with_a_place(text in "[a$=\\[\\](){}:;,*2#/\" \n]{0,60}") {
        match tree(&text) {
            Ok(found) => drop(found),
            Err(e) => prop_assert!(e.at.is_some(), "{e}"),
        }
    }

    #[test]
    fn what_was_parsed_and_printed_is_parsed_the_same(text in "[ab=\\[\\](){}:;,*2\" \n]{0,60}") {
        if let Ok(found) = tree(&text) {
            prop_assert_eq!(tree(&print(&found)).map_err(|e| TestCaseError::fail(e.to_string()))?, found);
        }
    }
}
