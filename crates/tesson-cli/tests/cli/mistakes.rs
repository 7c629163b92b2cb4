//! Mistakes that people make, and what they are told: the place, what was found, what is expected, and what to do.

use std::fs;

use crate::common::{many, refused, two};

#[test]
fn a_value_is_blamed_where_it_was_given() {
    let folder = many("mistakes-place");
    let reader = fs::read_to_string(folder.join("many.json")).unwrap();
    let text =
        reader.replacen('{', "{\"randomize\": true, \"maxSweeps\": 1, \"randomizationWindow\": 3,\n", 1);
    fs::write(folder.join("set.json"), text).unwrap();
    for (options, expected) in [
        ("--randomize globl", "error: --randomize: found `globl`, expected `true`, `false` or `global`"),
        ("--set randomize=globl", "error: --set randomize=globl: found `globl`, expected"),
        ("--set RANDOMIZE=globl", "error: --set RANDOMIZE=globl: randomize: found `globl`, expected"),
        ("--set maxSweps=3", "error: --set maxSweps=3: unknown option `maxSweps`, did you mean `maxSweeps`?"),
        ("--set randomize", "error: --set randomize: found `randomize`, expected `path.to.option=value`"),
        ("--set randomize.x=1", "error: --set randomize.x=1: `randomize` is `true`, expected a section"),
        ("--bucketing some", "error: --bucketing: found `some`, expected"),
        ("--bucketing 0", "error: --bucketing: found 0, expected at least 1 sample"),
        ("--equal-steps all", "error: --equal-steps: equalSteps: found `all`, expected `false` or `drop`"),
        ("--sharing chunks", "error: --sharing: found `chunks`, expected `chunk` or `position`"),
        ("--memory-limit 2XB", "error: --memory-limit: memoryLimit: found `2XB`, expected a size in bytes"),
        ("--threads 100000", "error: --threads: found 100000, expected at most 4096"),
        ("--rules strict", "error: --rules: found `strict`, expected"),
        (
            "--set deserializers[0].input.x.dim=three",
            "error: --set deserializers[0].input.x.dim=three: found `three`, expected",
        ),
        (
            "--set deserializers[0].chunkSizeInBytes=no",
            "error: --set deserializers[0].chunkSizeInBytes=no: found `no`",
        ),
    ] {
        let e = refused(&folder, &format!("read set.json {options}"), 2);
        assert!(e.starts_with(expected), "{options}: {e}");
    }
    // What stands in the file is blamed there, also if only its format looks at it.
    let text = reader.replace("\"dim\":1", "\"dim\":\"three\"");
    fs::write(folder.join("dim.json"), text).unwrap();
    let e = refused(&folder, "read dim.json", 2);
    assert!(
        e.starts_with("error: dim.json:1:") && e.contains("deserializers[0].input.x.dim: found `three`"),
        "{e}"
    );
}

#[test]
fn a_value_for_a_file_of_data_is_blamed_on_its_option() {
    let folder = two("mistakes-data");
    for (options, expected) in [
        ("--stream a:0", "error: --stream a:0: "),
        ("--stream a:2 --set randomize=globl", "error: --set randomize: found `globl`"),
        ("--stream a:2 --randomize globl", "error: --randomize: found `globl`"),
    ] {
        let e = refused(&folder, &format!("read two.ctf {options}"), 2);
        assert!(e.starts_with(expected), "{options}: {e}");
    }
}
