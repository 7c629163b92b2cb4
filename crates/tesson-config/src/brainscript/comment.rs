//! Finds the comment in a line (spec/brainscript.md §3).

/// The line without its comment: `#` or `//` first on the line, `#` behind a blank, `//` behind a blank and before a
/// blank or the line's end, all of them outside of quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    let blank = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\t' | b'\r'));
    let (mut quoted, mut first) = (false, true);
    for (at, &byte) in bytes.iter().enumerate() {
        let behind_blank = at == 0 || blank(at - 1);
        let slashes = byte == b'/' && bytes.get(at + 1) == Some(&b'/');
        let comment = match byte {
            b'#' => first || behind_blank,
            b'/' if slashes => first || (behind_blank && blank(at + 2)),
            _ => false,
        };
        if comment && !quoted {
            return &line[..at];
        }
        quoted ^= byte == b'"';
        first &= blank(at);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::without_comment;

    #[test]
    fn comments_begin_a_line_or_stand_behind_a_blank() {
        let cases = [
            ("# all", ""),
            ("  // all", "  "),
            ("//all", ""),
            ("a = 1 # b", "a = 1 "),
            ("a = 1\t// b", "a = 1\t"),
            ("a = 1 //", "a = 1 "),
            ("a = 1 #", "a = 1 "),
            ("a = b#c", "a = b#c"),
            ("a = b#c # d", "a = b#c "),
            ("a = //server/x", "a = //server/x"),
            ("a = http://x // y", "a = http://x "),
            ("a = b//c", "a = b//c"),
            ("a = \"b # c\" # d", "a = \"b # c\" "),
            ("", ""),
        ];
        for (line, rest) in cases {
            assert_eq!(without_comment(line), rest, "{line}");
        }
    }
}
