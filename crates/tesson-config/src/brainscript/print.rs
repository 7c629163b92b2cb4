//! A tree as text.

use std::fmt::Write;

use tesson_core::{Section, Value};

/// A configuration that [`super::parse`] makes this tree of, where that can be: names with brackets, what looks like a
/// variable, and most texts with a quote in them have no spelling in BrainScript.
pub fn print(section: &Section) -> String {
    let mut text = String::new();
    for (name, value) in &section.0 {
        entry(&mut text, name, value, 0);
    }
    text
}

fn entry(text: &mut String, name: &str, value: &Value, level: usize) {
    indent(text, level);
    // Writing to a String cannot fail.
    let _ = write!(text, "{name} = ");
    put(text, value, level);
    text.push('\n');
}

fn put(text: &mut String, value: &Value, level: usize) {
    let _ = match value {
        // Quotes cannot be quoted: a text that has some and was read from BrainScript stood there without.
        Value::Text(t) if t.contains('"') => text.write_str(t),
        Value::Text(t) => write!(text, "\"{t}\""),
        Value::Whole(n) => write!(text, "{n}"),
        Value::Real(x) => write!(text, "{x}"),
        Value::Bool(b) => write!(text, "{b}"),
        // What is no configuration: it is code again, whether its name says so or nothing does.
        Value::Code => write!(text, "[ = ]"),
        // Without a spelling: as if it were not given.
        Value::Object(_) => write!(text, "default"),
        Value::List(items) => {
            list(text, items, level);
            Ok(())
        }
        Value::Section(section) => {
            let (open, close) = ("{\n", '}');
            text.push_str(open);
            for (name, value) in &section.0 {
                entry(text, name, value, level + 1);
            }
            indent(text, level);
            text.push(close);
            Ok(())
        }
    };
}

fn list(text: &mut String, items: &[Value], level: usize) {
    text.push_str("(\n");
    for item in items {
        indent(text, level + 1);
        put(text, item, level + 1);
        text.push('\n');
    }
    indent(text, level);
    text.push(')');
}

/// Deeper levels are indented no further: else a tree that is accepted could be too large as text.
const MOST_INDENTED: usize = 8;

fn indent(text: &mut String, level: usize) {
    text.extend(std::iter::repeat_n("    ", level.min(MOST_INDENTED)));
}
