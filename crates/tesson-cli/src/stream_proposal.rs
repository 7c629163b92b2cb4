//! Guesses the streams of a text file, for the message that asks for them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of the file that are looked at.
const SAMPLE_BYTES: u64 = 64 << 10;

/// What an input of the file looks like so far.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    name: String,
    sparse: bool,
    /// Values in the longest sample, or the largest column number and 1.
    dim: u64,
}

/// The message that streams are missing, with a proposal read off the file's first rows.
pub(crate) fn missing_streams(path: &Path) -> String {
    let text = first_rows(path);
    if text.trim().is_empty() {
        return format!(
            "{}: the file is empty or holds only white space, expected at least one sequence",
            path.display()
        );
    }
    if is_text(&text) && inputs(&text).is_empty() {
        let path = path.display();
        return format!(
            "{path}: found no input (`|name values`) in the first rows, expected CNTK's text format; convert a table with `tesson convert {path} OUT.ctf --from csv`, where `tab` or a blank separates fields with `--delimiter`"
        );
    }
    let (options, doubt): (Vec<String>, _) = match is_text(&text) {
        true => (inputs(&text).iter().map(option).collect(), ""),
        false => (Vec::new(), " (is this a text file? its first bytes do not look like one)"),
    };
    let example = if options.is_empty() {
        "--stream features:784 --stream labels:10:sparse".into()
    } else {
        options.join(" ")
    };
    let source = if options.is_empty() { "such as" } else { "by its first rows" };
    let path = path.display();
    format!("{path}: the streams of the file are missing; give them, {source}: {example}{doubt}")
}

fn option(seen: &Seen) -> String {
    stream_option(&seen.name, seen.dim, seen.sparse)
}

/// A stream as the commands take it.
pub(crate) fn stream_option(name: &str, dim: u64, sparse: bool) -> String {
    format!("--stream {name}:{dim}{}", if sparse { ":sparse" } else { "" })
}

/// The first rows of a file.
fn first_rows(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|f| f.take(SAMPLE_BYTES).read_to_end(&mut bytes));
    // This is only a hint: a file that cannot be read is reported when it is opened in earnest.
    if read.is_err() {
        return String::new();
    }
    let whole_rows = bytes.iter().rposition(|&b| b == b'\n').map_or(bytes.len(), |end| end + 1);
    String::from_utf8_lossy(&bytes[..whole_rows]).into_owned()
}

/// Whether no character is one that terminals would act on. Comments may be in any encoding.
fn is_text(rows: &str) -> bool {
    !rows.contains(|c: char| c.is_control() && !c.is_whitespace())
}

fn inputs(text: &str) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for row in text.lines() {
        for input in row.split('|').skip(1) {
            let mut words = input.split_whitespace();
            let Some(name) = words.next().filter(|n| !n.starts_with('#')) else { continue };
            let at = all.iter().position(|s| s.name == name).unwrap_or_else(|| {
                all.push(Seen { name: name.to_owned(), sparse: false, dim: 1 });
                all.len() - 1
            });
            look(&mut all[at], words);
        }
    }
    all
}

fn look<'a>(seen: &mut Seen, values: impl Iterator<Item = &'a str>) {
    let mut n = 0;
    for value in values {
        n += 1;
        if let Some((column, _)) = value.split_once(':') {
            seen.sparse = true;
            seen.dim = seen.dim.max(column.parse::<u64>().map_or(1, |c| c.saturating_add(1)));
        }
    }
    if !seen.sparse {
        seen.dim = seen.dim.max(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_guessed_from_the_first_rows() {
        let text = "1 |x 1 2 3 |y 4:1 |# a comment\n1 |x 1 |y 17:1 2:1\n|z\n";
        let options: Vec<String> = inputs(text).iter().map(option).collect();
        assert_eq!(options, ["--stream x:3", "--stream y:18:sparse", "--stream z:1"]);
        assert_eq!(inputs("no inputs here\n"), []);
        assert!(is_text(text) && is_text("1 |x 1 \t|# na\u{fffd}ve\r\n"));
        assert!(!is_text("\u{1f}\u{fffd}\u{8}|x\n"));
    }
}
