//! Finds the streams of a text file in its first rows: for commands that look at data, and for the message that asks for them.

use std::io::{BufRead, Read};
use std::path::Path;

use crate::data;
use crate::output::{count, counted};

/// The number of bytes of the file that are read; the first row, and the row in which they end, may have as many
/// again.
const SAMPLE_BYTES: u64 = 16 << 20;

/// The properties of an input in the rows read so far.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    name: String,
    sparse: bool,
    /// Values in the longest sample, or the largest column number and 1.
    dim: u64,
}

/// The first rows of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct FirstRows {
    inputs: Vec<Seen>,
    n: u64,
    /// True if these are all rows, and complete.
    all: bool,
    /// True if the last of these rows was cut.
    cut: bool,
    is_blank: bool,
    is_text: bool,
    /// The first row with a `|` that a blank follows, and the word after it.
    blank_after_pipe: Option<(u64, String)>,
}

/// The message that streams are missing, with a proposal read off the file's first rows.
pub(crate) fn missing_streams(path: &Path) -> String {
    let rows = first_rows(path);
    let path_shown = path.display();
    if rows.is_blank {
        return format!(
            "{path_shown}: the file is empty or holds only white space, expected at least one sequence"
        );
    }
    if rows.is_text && rows.inputs.is_empty() {
        return rows.after_blank(path).unwrap_or_else(|| {
            format!(
                "{path_shown}: found no input (`|name values`) in the first rows, expected CNTK's text format; convert a table with `tesson convert {path_shown} OUT.ctf --from csv`, where `tab` or a blank separates fields with `--delimiter`"
            )
        });
    }
    if !rows.is_text {
        return format!(
            "{path_shown}: the first bytes are those of no format that is known by its content; files of token numbers are read in Python, by \
             `tesson.read_tokens`, text in CNTK's format with its streams, such as `--stream features:784 --stream labels:10:sparse`"
        );
    }
    let (source, options, doubt) = (rows.describe(), rows.options(), rows.doubt());
    format!("{path_shown}: the streams of the file are missing; give them, {source}: {options}{doubt}")
}

/// The streams that the first rows of a file show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundStreams {
    /// As `--stream` takes them; none of what is no such file.
    pub(crate) streams: Vec<String>,
    /// The doubt that later rows leave, where there are any.
    pub(crate) doubt: Option<String>,
}

/// The streams of a text file by its first rows.
pub(crate) fn streams(path: &Path) -> FoundStreams {
    first_rows(path).found()
}

/// The message that names do not follow their `|` at once, if that is why a file has no inputs.
pub(crate) fn blank_after_pipe(path: &Path) -> Option<String> {
    let rows = first_rows(path);
    rows.after_blank(path).filter(|_| rows.inputs.is_empty())
}

impl FirstRows {
    fn after_blank(&self, path: &Path) -> Option<String> {
        let (row, word) = self.blank_after_pipe.as_ref()?;
        Some(format!(
            "{}:{row}: found `| {word}`, expected the name of an input at once after `|`; write `|{word}`, and `|` before every other \
             input of a row",
            path.display()
        ))
    }

    fn found(&self) -> FoundStreams {
        if !self.is_text || self.inputs.is_empty() {
            return FoundStreams::default();
        }
        let of = |seen: &Seen| stream(&seen.name, seen.dim, seen.sparse);
        let doubt = || format!("streams {}: {}{}", self.describe(), self.options(), self.doubt());
        FoundStreams { streams: self.inputs.iter().map(of).collect(), doubt: (!self.all).then(doubt) }
    }

    /// The options that declare the streams.
    fn options(&self) -> String {
        self.inputs.iter().map(option).collect::<Vec<_>>().join(" ")
    }

    /// The basis of the proposal, in words.
    fn describe(&self) -> String {
        match (self.n, self.cut) {
            (1, true) => format!("by the first {} bytes of its first row", count(SAMPLE_BYTES)),
            (1, false) if self.all => "by its only row".to_owned(),
            (n, _) if self.all => format!("by its {}", counted(n, "row")),
            (1, false) => "by its first row".to_owned(),
            (n, _) => format!("by its first {}", counted(n, "row")),
        }
    }

    /// The uncertainty of the proposal, in words.
    fn doubt(&self) -> &'static str {
        match (self.all, self.inputs.iter().any(|input| input.sparse)) {
            (true, false) => "",
            (true, true) => {
                "; the size of a sparse stream is that of the largest column in them, give the true one if it is larger"
            }
            (false, false) => "; later rows may have other inputs, too",
            (false, true) => {
                "; later rows may have other inputs, too, and larger columns: give the true size of a sparse stream"
            }
        }
    }

    fn take(&mut self, row: &[u8]) {
        self.n += 1;
        self.is_blank &= row.trim_ascii().is_empty();
        // Whether no character is one that terminals would act on. Comments may be in any encoding.
        self.is_text &= !row.iter().any(|b| b.is_ascii_control() && !b.is_ascii_whitespace());
        for input in row.split(|&b| b == b'|').skip(1) {
            let words = || input.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(name) = words().next().filter(|name| name[0] != b'#') else { continue };
            let name = String::from_utf8_lossy(name);
            if input[0].is_ascii_whitespace() {
                self.blank_after_pipe.get_or_insert((self.n, name.into_owned()));
                continue;
            }
            let at = self.inputs.iter().position(|seen| seen.name == name).unwrap_or_else(|| {
                self.inputs.push(Seen { name: name.into_owned(), sparse: false, dim: 1 });
                self.inputs.len() - 1
            });
            look(&mut self.inputs[at], words().skip(1));
        }
    }
}

fn option(seen: &Seen) -> String {
    stream_option(&seen.name, seen.dim, seen.sparse)
}

/// A stream as the commands take it.
pub(crate) fn stream_option(name: &str, dim: u64, sparse: bool) -> String {
    format!("--stream {}", stream(name, dim, sparse))
}

/// The value of an option `--stream`.
fn stream(name: &str, dim: u64, sparse: bool) -> String {
    format!("{name}:{dim}{}", if sparse { ":sparse" } else { "" })
}

/// Looks at the first rows of a file.
fn first_rows(path: &Path) -> FirstRows {
    // This is only a hint: a file that cannot be read is reported when it is opened in earnest.
    data::stream(path).and_then(|file| rows_of(file, SAMPLE_BYTES)).unwrap_or_default()
}

/// Reads rows until `most` bytes have been read, and the last row to its end unless that takes as many bytes again.
fn rows_of(mut file: impl BufRead, most: u64) -> std::io::Result<FirstRows> {
    let mut rows = FirstRows { is_blank: true, is_text: true, ..FirstRows::default() };
    let (mut row, mut read) = (Vec::new(), 0);
    while read < most {
        row.clear();
        let n = file.by_ref().take(most).read_until(b'\n', &mut row)? as u64;
        if n == 0 {
            rows.all = true;
            break;
        }
        read += n;
        rows.cut = n == most && row.last() != Some(&b'\n');
        if rows.cut {
            // The last word may be incomplete.
            row.truncate(row.iter().rposition(u8::is_ascii_whitespace).unwrap_or(row.len()));
        }
        rows.take(&row);
    }
    rows.all |= !rows.cut && file.fill_buf()?.is_empty();
    Ok(rows)
}

fn look<'a>(seen: &mut Seen, values: impl Iterator<Item = &'a [u8]>) {
    let mut n = 0;
    for value in values {
        n += 1;
        if let Some(end) = value.iter().position(|&b| b == b':') {
            seen.sparse = true;
            let column =
                std::str::from_utf8(&value[..end]).ok().and_then(|column| column.parse::<u64>().ok());
            seen.dim = seen.dim.max(column.map_or(1, |column| column.saturating_add(1)));
        }
    }
    if !seen.sparse {
        seen.dim = seen.dim.max(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(text: &str, most: u64) -> (String, FirstRows) {
        let rows = rows_of(text.as_bytes(), most).unwrap();
        (rows.options(), rows)
    }

    #[test]
    fn streams_are_guessed_from_the_first_rows() {
        let text = "1 |x 1 2 3 |y 4:1 |# a comment\n1 |x 1 |y 17:1 2:1\n|z\n";
        let (options, rows) = proposed(text, 1000);
        assert_eq!(options, "--stream x:3 --stream y:18:sparse --stream z:1");
        assert!(rows.all && rows.is_text);
        assert_eq!(rows.describe(), "by its 3 rows");
        let streams = ["x:3", "y:18:sparse", "z:1"].map(str::to_owned).to_vec();
        assert_eq!(rows.found(), FoundStreams { streams, doubt: None });
        let doubt = "streams by its first row: --stream x:3 --stream y:5:sparse; later rows may have other inputs, too, and larger \
                     columns: give the true size of a sparse stream";
        assert_eq!(
            proposed(&format!("{}{text}", "|x 1 2 3 |y 4:1\n"), 16).1.found().doubt.as_deref(),
            Some(doubt)
        );
        assert_eq!(proposed("no inputs here\n", 1000).1.found(), FoundStreams::default());
        assert_eq!(proposed("no inputs here\n", 1000).0, "");
        assert!(proposed("1 |x 1 \t|# na\u{fffd}ve\r\n", 1000).1.is_text);
        assert!(!proposed("\u{1f}\u{fffd}\u{8}|x\n", 1000).1.is_text);
        assert!(proposed(" \n\n", 1000).1.is_blank);
    }

    #[test]
    fn a_row_is_looked_at_to_its_end() {
        let text = "|x 1 2 3 4 5 6 7 8 |y 1 2\n|z 1\n";
        let (options, rows) = proposed(text, 26);
        assert_eq!((options.as_str(), rows.all), ("--stream x:8 --stream y:2", false));
        assert_eq!(rows.describe(), "by its first row");
        // Rows of which the last begins within the limit.
        assert_eq!(proposed(&format!("|a 1\n{text}"), 27).0, "--stream a:1 --stream x:8 --stream y:2");
        let (options, rows) = proposed(text, 12);
        assert_eq!((options.as_str(), rows.cut, rows.all), ("--stream x:4", true, false));
        assert!(rows.describe().ends_with("bytes of its first row"));
    }

    #[test]
    fn a_blank_after_the_bar_is_no_name() {
        let rows = proposed("|a 1\n| label 0 1\n", 1000).1;
        assert_eq!(rows.blank_after_pipe, Some((2, "label".to_owned())));
        assert_eq!(rows.inputs.len(), 1);
    }
}
