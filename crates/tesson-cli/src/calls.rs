//! The line of Python and the command that read an input.

use std::path::Path;

use tesson::StreamInfo;

use crate::input_kind::InputKind;
use crate::lists::Listed;

/// The kind of an input in words.
pub(crate) fn what(kind: InputKind, path: &Path) -> &'static str {
    Listed::of(path).filter(|_| kind == InputKind::Listed).map_or(kind.describe(), |listed| listed.what)
}

/// The call of Python that describes the input; `longest` has the largest number of samples in an example, `split` the examples of a prepared
/// dataset.
pub(crate) fn in_python<'a>(
    kind: InputKind,
    path: &Path,
    mut streams: impl Iterator<Item = &'a StreamInfo>,
    longest: u32,
    split: Option<&str>,
) -> String {
    let file = serde_json::Value::from(path.to_string_lossy());
    match kind {
        InputKind::BrainScript | InputKind::Dictionary => {
            format!("tesson.io.MinibatchSource.from_config({file})")
        }
        InputKind::Text => {
            let stream = |stream: &StreamInfo| argument(stream, longest);
            let arguments: Vec<String> =
                std::iter::once(file.to_string()).chain(streams.map(stream)).collect();
            format!("tesson.read_ctf({})", arguments.join(", "))
        }
        InputKind::Binary => format!("tesson.read_cbf({file})"),
        InputKind::Dataset => {
            format!("tesson.read_tfds({file}, split={})", serde_json::Value::from(split.unwrap_or("all")))
        }
        InputKind::Listed => {
            let function = Listed::of(path).map_or("read_images", |listed| listed.function);
            let is_of_any_shape = streams.any(|stream| stream.shape.dims().contains(&0));
            let option = if is_of_any_shape && function == "read_images" { ", size=224" } else { "" };
            format!("tesson.{function}({file}{option})")
        }
        InputKind::Records => {
            format!("tesson.{}({file})", Listed::of(path).map_or("read_tfrecords", |listed| listed.function))
        }
        InputKind::Csv => format!("tesson.read_csv({file})"),
        InputKind::LibSvm => format!("tesson.read_libsvm({file})"),
        InputKind::JsonLines => format!("tesson.read_json({file})"),
    }
}

/// A stream of text as `read_ctf` takes it.
fn argument(stream: &StreamInfo, longest: u32) -> String {
    let name = &stream.name;
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let values = stream.shape.len();
    let of_sample = if stream.sparse { format!("tesson.sparse({values})") } else { values.to_string() };
    let declared = if longest > 1 { format!("tesson.ragged({of_sample})") } else { of_sample };
    if is_plain { format!("{name}={declared}") } else { format!("**{{{name:?}: {declared}}}") }
}

/// The command that prints the input's batches.
pub(crate) fn by_command(kind: InputKind, path: &Path, streams: &[String]) -> String {
    let mut words = vec!["tesson".to_owned(), "read".to_owned(), in_shell(&path.to_string_lossy())];
    words.extend(streams.iter().map(|stream| format!("--stream {}", in_shell(stream))));
    if kind == InputKind::Dataset {
        words.push("--take 10".to_owned());
    } else {
        words.push("--batch-size 32".to_owned());
    }
    words.join(" ")
}

/// A word as shells read it.
pub(crate) fn in_shell(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-/:@=+,".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(in_shell("a/b-1.ctf"), "a/b-1.ctf");
        assert_eq!(in_shell("part-*.ctf"), "'part-*.ctf'");
        assert_eq!(in_shell("it's"), r"'it'\''s'");
    }
}
