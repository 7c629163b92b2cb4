//! A case a rule.

use super::harness::{Memory, by_index, by_pieces, opened};

/// The sequences of `input` under these options, by every way to read them.
fn read(options: &str, streams: &str, input: &str) -> Result<Vec<String>, String> {
    let file = Memory(input.as_bytes().to_vec());
    let ctf = opened(options, streams, &file)?;
    let lines = by_index(&ctf, &file);
    if let (Ok(lines), Some(_)) = (&lines, tesson_core::Deserializer::pieces(&ctf)) {
        for target in [1, 7, 1 << 20] {
            assert_eq!(by_pieces(&ctf, &file, target).as_ref(), Ok(lines), "pieces of {target}");
        }
    }
    lines
}

fn check(options: &str, streams: &str, input: &str, expected: &[&str]) {
    let lines = read(options, streams, input).unwrap_or_else(|e| vec![e]);
    assert_eq!(lines, expected, "{input:?}");
}

fn cntk(streams: &str, input: &str, expected: &[&str]) {
    check("rules=cntk", streams, input, expected);
}

#[test]
fn rows_without_ids_are_sequences_and_lines_their_keys() {
    cntk("a:dense:2", "\n|a 1 2\n5 |a 3 4\n", &["1*1 [1 2]", "2*1 [3 4]"]);
}
