//! Common mistakes and their messages: the location, the found, the expected, and the remedy.

use std::fs;

use serde_json::json;

use crate::common::{answers, command, folder, many, prepared, refused, stderr, tfrecord, two};

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
        ("--set RANDOMIZE=globl", "error: --set RANDOMIZE=globl: found `globl`, expected"),
        ("--set maxSweps=3", "error: --set maxSweps=3: unknown option `maxSweps`, did you mean `maxSweeps`?"),
        ("--set randomize", "error: --set randomize: found `randomize`, expected `path.to.option=value`"),
        (
            "--set maxErrors=",
            "error: --set maxErrors=: found no value, expected one after `=`; write `'maxErrors=\"\"'`, with both quotes, for an empty text",
        ),
        ("--set randomize.x=1", "error: --set randomize.x=1: `randomize` is `true`, expected a section"),
        ("--bucketing some", "error: --bucketing: found `some`, expected"),
        ("--bucketing 0", "error: --bucketing: found 0, expected at least 1 sample"),
        ("--equal-steps all", "error: --equal-steps: found `all`, expected `false` or `drop`"),
        ("--sharing chunks", "error: --sharing: found `chunks`, expected `chunk` or `position`"),
        ("--memory-limit 2XB", "error: --memory-limit: found `2XB`, expected a size in bytes"),
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
    // An error in the file has its location there, even if only the format finds it.
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

#[test]
fn a_configuration_that_is_none_is_told_with_what_it_lacks() {
    let folder = two("mistakes-configuration");
    let part = json!({"type": "CNTKTextFormatDeserializer", "file": "two.ctf", "input": {"a": {"dim": 2, "format": "dense"}}});
    let script = "deserializers = ([ type = \"CNTKTextFormatDeserializer\" ; file = \"two.ctf\" ])";
    let with = |change: serde_json::Value| {
        let mut part = part.clone();
        part.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"deserializers": [part]}).to_string()
    };
    for (name, text, expected) in [
        (
            "a.cntk",
            script.to_owned(),
            "a.cntk:1:1: reader: found no section `reader`, but `deserializers` outside of one; write",
        ),
        (
            "b.cntk",
            format!("Train = [\n raeder = [ {script} ] ]"),
            "b.cntk:2:2: reader: found no section `reader`, but `raeder`; is that",
        ),
        ("c.cntk", String::new(), "the configuration is empty; expected `reader = ["),
        ("d.cntk", "a = 1".into(), "(found at the top: a); add `reader = [ … ]`"),
        (
            "a.json",
            part.to_string(),
            "found the options of a deserializer, expected those of a reader; write `{\"deserializers\"",
        ),
        ("b.json", with(json!({"type": "CNTKTextFormat"})), "did you mean `CNTKTextFormatDeserializer`?"),
        (
            "c.json",
            json!({"deserializers": [{"file": "two.ctf"}]}).to_string(),
            "expected a type such as `CNTK",
        ),
        (
            "d.json",
            "{\"a\": 1,}".into(),
            "line 1, column 9: found a comma after the last entry, leave it out",
        ),
        ("e.json", "{'a': 1}".into(), "found no name, expected one in double quotes"),
        ("f.json", "{\"maxErrorShare\": NaN}".into(), "expected a value: a text in double quotes, a number,"),
        ("g.json", String::new(), "the text is empty, expected an object"),
        (
            "h.json",
            with(json!({"input": {"a": 2}})),
            "deserializers[0].input.a: found `2`, expected a section",
        ),
        (
            "i.json",
            with(json!({"maxErrors": "few"})),
            "deserializers[0].maxErrors: found `few`, expected a whole number",
        ),
        ("a.toml", "a = [".into(), "unclosed array"),
    ] {
        fs::write(folder.join(name), text).unwrap();
        let e = refused(&folder, &format!("read {name}"), 2);
        assert!(e.contains(name) && e.contains(expected), "{name}: {e}");
    }
    fs::write(folder.join("utf16.json"), [0xff, 0xfe, b'{', 0]).unwrap();
    let e = refused(&folder, "read utf16.json", 1);
    assert!(e.contains("utf16.json: ") && e.contains("save the file in that encoding"), "{e}");
    // As editors of Windows write it.
    let text = serde_json::to_string_pretty(&json!({"deserializers": [part]})).unwrap();
    fs::write(folder.join("bom.json"), format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
    assert_eq!(answers(&folder, "read bom.json --json").len(), 2);
    let e = refused(&folder, "read bom.json --section Train", 2);
    assert!(
        e.starts_with("error: --section Train: bom.json: ") && e.ends_with("; leave the section out\n"),
        "{e}"
    );
}

#[test]
fn a_number_is_told_what_it_may_be() {
    let folder = two("mistakes-numbers");
    for (options, expected) in [
        ("--seed -1", "'--seed <N>': found `-1`, expected a whole number from 0"),
        ("--seed 1.5", "found `1.5`, expected a whole number"),
        ("--take -1", "found `-1`, expected a whole number"),
        ("--threads two", "found `two`, expected a whole number"),
        ("--workers 0", "found `0`, expected a whole number from 1"),
        ("--rank -1", "found `-1`, expected a whole number"),
        (
            "--rank 1",
            "--rank: found 1, expected 0, as there is one worker; give their number with `--workers N`",
        ),
        ("--workers 2 --rank 2", "--rank: found 2, expected a rank from 0 to 1, as `--workers` is 2"),
        ("--window 3GB", "--window 3GB: found `3GB`, expected a number of chunks"),
        ("--window -3", "--window -3: found `-3`"),
        ("--memory-limit -5", "--memory-limit: found `-5`, expected a size in bytes"),
        ("--memory-limit 1", "--memory-limit: the index takes "),
        ("--minibatch-size 1k", "found `1k`, expected `size` or `size*epochs`"),
    ] {
        let e = refused(&folder, &format!("read two.ctf --stream a:2 {options}"), 2);
        assert!(e.contains(expected), "{options}: {e}");
    }
    for (command, expected) in [
        ("bench two.ctf --stream a:2 --runs 0", "found `0`, expected a whole number from 1"),
        ("bench two.ctf --stream a:2 --seconds -1", "found `-1`, expected a number of seconds above 0"),
        ("plan two.ctf --stream a:2 --minibatch 0", "found `0`, expected a whole number from 1"),
        ("info two.ctf --stream a:2 --minibatch-size -3", "found `-3`, expected a whole number from 1"),
    ] {
        let e = refused(&folder, command, 2);
        assert!(e.contains(expected), "{command}: {e}");
    }
}

#[test]
fn a_stream_is_told_how_it_is_given() {
    let folder = two("mistakes-streams");
    for (options, code, expected) in [
        ("--stream a=2", 2, "--stream a=2: found `=` in the name, expected NAME:DIM"),
        ("--stream a,b", 2, "found `,` in the name"),
        ("--stream |a:2", 2, "found `|` in the name"),
        ("--stream a:2 --stream a:2", 2, "found two streams `a`, expected each once; leave one out"),
        (
            "--stream a:2 --alias x=a",
            2,
            "there is no stream `x`, but one `a`; streams are declared by the name that they are to have: `--stream x:…`",
        ),
        ("--stream b:4", 1, "`3:0.5` is not a number"),
        (
            "--stream a:2:sparse",
            1,
            "`format = \"dense\"`; `--max-errors N` leaves such data out, `tesson check` lists all of it\n",
        ),
        (
            "--stream b:2:sparse",
            1,
            "index 3 is not below dim 2; if the number is right, declare at least 4 columns (`--stream NAME:DIM:sparse`); \
             `--max-errors N` would leave such data out, `tesson check` lists all of it\n",
        ),
    ] {
        let e = refused(&folder, &format!("read two.ctf {options} --randomize false"), code);
        assert!(e.contains(expected), "{options}: {e}");
    }
    let quoted =
        command(&folder, "read two.ctf").args(["--stream", "a:2 --stream b:4:sparse"]).output().unwrap();
    assert!(stderr(&quoted).contains("found a blank; each stream has an option `--stream` of its own"));
}

#[test]
fn a_file_that_is_something_else_is_told_with_what_to_do() {
    let folder = folder("mistakes-files");
    fs::write(folder.join("plain.txt"), "1 2 3\n").unwrap();
    fs::write(folder.join("empty.ctf"), "").unwrap();
    fs::write(folder.join("x.ctf.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    fs::write(folder.join("x.ctf"), "0 |x 1\n").unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    for n in [1, 2] {
        fs::write(folder.join(format!("m{n}.ctf")), format!("|x {n}\n")).unwrap();
    }
    fs::write(folder.join("a.jpg"), [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/speech/recordings");
    for name in ["zero.wav", "zero.flac"] {
        fs::copy(format!("{recordings}/{name}"), folder.join(name)).unwrap();
    }
    let mut tar = [0; 512];
    tar[..5].copy_from_slice(b"1.jpg");
    tar[257..262].copy_from_slice(b"ustar");
    fs::write(folder.join("shards.tar"), tar).unwrap();
    // Two frames of one value.
    let htk = [0, 0, 0, 2, 0, 1, 0x86, 0xa0, 0, 4, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0];
    fs::write(folder.join("u1.mfc"), htk).unwrap();
    fs::write(folder.join("text.mfc"), "no features, but a text\n").unwrap();
    fs::write(folder.join("other.json"), "{\"a\": 1}").unwrap();
    fs::write(folder.join("w.arff"), "@relation r\n@attribute a numeric\n@data\n1\n").unwrap();
    fs::write(folder.join("w.vw"), "1 |f x:2 y\n").unwrap();
    prepared("mistakes-files/ds");
    for (args, code, expected) in [
        (
            "convert w.arff out.ctf",
            2,
            "w.arff: found an ARFF file, expected a configuration, CNTK's text or binary format, or a prepared dataset; it is read as it is: by `tesson read`",
        ),
        ("convert w.vw out.ctf", 2, "w.vw: found a file of Vowpal Wabbit, expected"),
        (
            "read plain.txt",
            2,
            "plain.txt: found no input (`|name values`) in the first rows, expected CNTK's text format; convert a table with",
        ),
        (
            "read empty.ctf",
            2,
            "empty.ctf: the file is empty or holds only white space, expected at least one sequence",
        ),
        ("read x.ctf.gz --stream x:1", 2, "x.ctf.gz: found a file compressed by gzip, expected"),
        (
            "read s3://bucket/x.ctf --stream x:1",
            1,
            "only local files are read, not those of `s3`; download it first",
        ),
        ("read file:///quite-another/x.ctf --stream x:1", 1, "there is no folder `/quite-another`"),
        ("read - --stream x:1", 1, "standard input cannot be read at any position"),
        (
            "read mnist",
            1,
            "a prepared dataset is given by its folder, such as `mnist/3.0.1`, or by its name with `--data-dir DIR`",
        ),
        ("read sub/mnist --split train", 1, "by its name with `--data-dir DIR`"),
        (
            "read x.ctf --stream x:1 --state x.ctf",
            2,
            "--state x.ctf: no saved state, it is no JSON (trailing characters at line 1 column 3); expected a file that `--save-state` wrote\n",
        ),
        (
            "read x.ctf --stream x:1 --state other.json",
            2,
            "--state other.json: no saved state, `minibatchSourcePosition` is missing; expected a file that `--save-state` wrote\n",
        ),
        (
            "read ds --split train --state other.json",
            2,
            "--state other.json: no saved state, `tfds` is missing; expected a file that `--save-state` wrote\n",
        ),
        (
            "read x.ctf --stream x:1 --save-state sub",
            2,
            "--save-state sub: found a folder, expected the name of a file",
        ),
        (
            "convert none.cbf x.ctf",
            2,
            "none.cbf: there is no such file, and `x.ctf` exists; expected the input first, then the output",
        ),
        ("convert x.ctf --stream x:1", 2, "the output file is missing: give it after the input"),
        (
            "convert x.ctf sub --stream x:1",
            2,
            "sub: found a folder, expected the name of a file such as `sub/out.cbf`",
        ),
        (
            "convert x.ctf y --stream x:1",
            2,
            "y: the name has no extension that says the format, expected `ctf` or `cbf`",
        ),
        (
            "convert x.ctf - --stream x:1",
            2,
            "-: the output is a file, it cannot be written to standard output; give its name",
        ),
        ("read /dev/null --stream x:1", 1, "is expected; write its data to a file first\n"),
        (
            "convert m*.ctf o.ctf --stream x:1",
            1,
            "give each a key of its own, or write the binary format, which has none\n",
        ),
        (
            "info a.jpg",
            2,
            "a.jpg: found an image, expected CNTK's text format; list one or more in a file, a path, a tab and the number",
        ),
        ("info zero.wav", 2, "zero.wav: found a recording, expected"),
        ("info zero.flac --stream x:1", 2, "recordings.txt"),
        ("info shards.tar", 1, "shards.tar (byte 0): expected the header of a member"),
        (
            "info u1.mfc",
            2,
            "u1.mfc: found features of HTK, expected CNTK's text format; list one or more in a file, a path on each line, and read that",
        ),
        ("info text.mfc", 2, "text.mfc: found no input"),
        ("config x.ctf", 2, "x.ctf is a file in CNTK's text format; `tesson config` takes configurations"),
    ] {
        let e = refused(&folder, args, code);
        assert!(e.contains(expected), "{args}: {e}");
    }
}

#[test]
fn a_table_is_told_how_to_be_read() {
    let folder = folder("mistakes-tables");
    for (text, options, expected) in [
        (
            "id,x\n1,2\n",
            "",
            "t.csv:1: field 0 is `id`, expected a number; if the first row has the names of the columns, add `--header`",
        ),
        ("1;2\n", "", "expected a number; name what separates the fields, `--delimiter ';'`"),
        ("1\t2\n", "", "`--delimiter 'tab'`"),
        (
            "\"1,5\";2\n",
            "--delimiter ;",
            "field 0 is `1,5`, expected a number; decimals are written with a point",
        ),
        (
            "1,nan\n",
            "",
            "the value NaN is no number of the text format; replace it, or write the binary format",
        ),
        ("1,2\n3,x\n", "", "t.csv:2: field 1 is `x`, expected a number\n"),
        (
            "a,b\n1,cat\n",
            "--header --label-column b",
            "t.csv:2: the label is `cat`, expected a number; classes are numbered from 0: write a number for each name\n",
        ),
        (
            "1,cat\n",
            "--label-column 1 --one-hot 2",
            "the label is `cat`, expected a class from 0 to 1; classes are numbered from 0: write a number for each name\n",
        ),
        ("a,b\n1,2\n", "--header --label-column c", "t.csv: there is no column `c`"),
        ("1,2\n", "--delimiter ;;", "--delimiter ;;: found 2 characters, expected one, or `tab`"),
        ("1,2\n", "--to CSV", "found the format `csv`, expected `ctf` or `cbf`"),
    ] {
        fs::write(folder.join("t.csv"), text).unwrap();
        let output = crate::common::tesson(&folder, &format!("convert t.csv out.ctf {options}"));
        assert!(!output.status.success(), "{text}");
        assert!(stderr(&output).contains(expected), "{text} {options}: {}", stderr(&output));
    }
    fs::write(folder.join("t.csv"), "\u{feff}1,2\r\n3,4\r\n").unwrap();
    assert_eq!(answers(&folder, "convert t.csv out.CTF --to CTF --json")[0]["sequences"], 2);
}

#[test]
fn a_dataset_is_found_by_its_parent_folder_or_told_how() {
    folder("mistakes-parent");
    let one = prepared("mistakes-parent/ds/1.0.0");
    let ds = one.parent().unwrap();
    assert_eq!(answers(ds, "info . --json")[0]["splits"]["train"]["num_examples"], 4);
    assert_eq!(answers(ds.parent().unwrap(), "read ds --json").len(), 1);
    prepared("mistakes-parent/ds/2.0.0");
    let e = refused(ds.parent().unwrap(), "read ds", 1);
    assert!(e.contains("the folder holds 2 prepared datasets, choose one: `ds/1.0.0`, `ds/2.0.0`"), "{e}");
    for (args, code, expected) in [
        ("read d5 --data-dir .", 2, "`d5` is not found in ., did you mean `ds`?"),
        ("read d --data-dir nowhere", 1, "nowhere: No such file or directory"),
        ("read ds/1.0.0 --split test", 2, "--split: unknown split `test`, expected one of train"),
        ("read ds/1.0.0 --split train[:10", 2, "`[` is not closed"),
        (
            "read ds/1.0.0 --op shuffle=x",
            2,
            "--op shuffle: found \"x\", expected fields such as `{\"buffer_size\": 1000, \"seed\": 1}`",
        ),
        ("read ds/1.0.0 --op take", 2, "--op take: found no `=`, expected NAME=VALUE"),
        ("read ds/1.0.0 --op batch=3", 2, "unknown operation `batch`, expected one of shuffle"),
        ("read ds/1.0.0 --read-config sed=3", 2, "--read-config sed=3: unknown field"),
        (
            "read ds/1.0.0 --at 1,x",
            2,
            "--at: found `x`, expected positions in the split such as `3,0,2`, or `all`",
        ),
        ("read ds ds --data-dir .", 2, "--data-dir: found `ds` after the name of a dataset"),
    ] {
        let e = refused(ds.parent().unwrap(), args, code);
        assert!(e.contains(expected), "{args}: {e}");
    }
    tfrecord(&one, "d-train.tfrecord-00001-of-00002", &[""]);
    answers(&one, "read . --split train[:2] --take 1 --save-state s --json");
    let e = refused(&one, "read . --split train[2:] --state s", 2);
    assert!(e.contains("the state does not belong to this"), "{e}");
}

#[test]
fn streams_are_proposed_from_whole_rows() {
    let folder = folder("mistakes-wide");
    fs::write(folder.join("wide.ctf"), format!("|x{} |y 1 2 3\n", " 0.5".repeat(40_000)).repeat(3)).unwrap();
    let e = refused(&folder, "convert wide.ctf wide.cbf", 2);
    assert!(e.contains("give them, by its 3 rows: --stream x:40000 --stream y:3\n"), "{e}");
    fs::write(folder.join("late.ctf"), format!("{}|y 7:1 |z 1\n", "|y 3:1\n".repeat(20_000))).unwrap();
    let e = refused(&folder, "index late.ctf", 2);
    assert!(
        e.contains("by its 20,001 rows: --stream y:8:sparse --stream z:1; the size of a sparse stream"),
        "{e}"
    );
}

#[test]
fn a_name_that_does_not_follow_its_bar_at_once_is_shown() {
    let folder = folder("mistakes-blank");
    fs::write(folder.join("blank.ctf"), "| label 0 0 1 features 0.5\n| label 1 0 0 features 0.1\n").unwrap();
    for command in ["info blank.ctf", "info blank.ctf --stream label:3", "check blank.ctf --stream label:3"] {
        let e = refused(&folder, command, 2);
        let expected =
            "blank.ctf:1: found `| label`, expected the name of an input at once after `|`; write `|label`";
        assert!(e.contains(expected), "{command}: {e}");
    }
    let found = crate::common::tesson(&folder, "check blank.ctf --stream label:3 --allow-empty").stdout;
    assert!(String::from_utf8_lossy(&found).contains("`|` is not followed at once by a name"));
}

#[test]
fn tables_and_pointers_are_told_with_what_to_do() {
    let folder = folder("mistakes-lists");
    fs::write(folder.join("lfs.ctf"), "version https://git-lfs.github.com/spec/v1\nsize 9\n").unwrap();
    assert!(refused(&folder, "info lfs.ctf", 2).contains("`git lfs pull`"));
    fs::write(folder.join("t.csv.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(refused(&folder, "info t.csv.gz", 1).contains("is compressed by gzip and cannot be unpacked"));
}

#[test]
fn tables_of_text_are_read_as_they_are() {
    let folder = folder("tables-of-text");
    fs::write(folder.join("t.csv"), "a,b\n1,x\n2,y\n").unwrap();
    // "{\"a\": 5}" and a line feed, in a frame of Zstandard with a block as it is.
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 9 << 3 | 1, 0, 0][..], b"{\"a\": 5}\n"].concat();
    fs::write(folder.join("t.jsonl.zst"), frame).unwrap();
    fs::write(folder.join("t.svm"), "1 1:2\n-1 3:4 7:5\n").unwrap();
    let arff = "% a note\n@relation t\n@attribute x {a,b}\n@data\nb\n{}\n";
    fs::write(folder.join("t.arff"), arff).unwrap();
    fs::write(folder.join("t.vw"), "1 |a x:2\n-1 'tag |a y |b z\n").unwrap();
    fs::write(folder.join("weka.txt"), arff).unwrap();
    for (name, call, n) in [
        ("t.csv", "read_csv", 2),
        ("t.jsonl.zst", "read_json", 1),
        ("t.svm", "read_libsvm", 2),
        ("t.arff", "read_arff", 2),
        ("t.vw", "read_vw", 2),
        ("weka.txt", "read_arff", 2),
    ] {
        let printed = |command: &str| {
            let run = crate::common::tesson(&folder, &format!("{command} {name}"));
            String::from_utf8_lossy(&run.stdout).into_owned()
        };
        let info = printed("info");
        assert!(info.contains(&format!("tesson.{call}(\"{name}\")")), "{info}");
        let rows = printed("read");
        assert!(rows.contains(&format!("1 minibatch, {n} sequence")), "{rows}");
    }
}

#[test]
fn a_faulty_row_of_a_table_is_forgiven_by_the_option_that_its_message_names() {
    let folder = folder("faulty-row");
    fs::write(folder.join("t.svm"), "1 1:2\n-1 2:x\n1 2:3\n").unwrap();
    let e = refused(&folder, "read t.svm", 1);
    assert!(e.contains("t.svm:2 ") && e.contains("`--max-errors N` leaves such data out"), "{e}");
    let run = crate::common::tesson(&folder, "read t.svm --max-errors 1");
    assert!(run.status.success() && String::from_utf8_lossy(&run.stdout).contains("2 sequences"));
}

#[test]
fn records_of_examples_are_read_without_a_description() {
    let folder = folder("records-of-examples");
    // The feature `x` with the whole number 7.
    let example = "\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x07";
    crate::common::tfrecord(&folder, "a.tfrecord", &[example, example]);
    let printed = |command: &str| {
        let run = crate::common::tesson(&folder, command);
        String::from_utf8_lossy(&run.stdout).into_owned()
    };
    let info = printed("info a.tfrecord");
    for expected in ["records     2", "x dense 1 int64", "tesson.read_tfrecords(\"a.tfrecord\")"] {
        assert!(info.contains(expected), "{info}");
    }
    assert!(printed("read a.tfrecord --json").contains("[7]"));
    assert!(printed("read a.tfrecord").contains("1 minibatch, 2 sequences"));
    // The index of an ArrayRecord file finds records of any kind.
    printed("convert a.tfrecord c.array_record");
    let info = printed("info c.array_record");
    assert!(info.contains("tesson.read_array_records(\"c.array_record\")"), "{info}");
    assert!(printed("read c.array_record --json").contains("[7]"));
    // Of other records there is no more to say than how many there are.
    crate::common::tfrecord(&folder, "b.tfrecord", &["text"]);
    assert!(printed("info b.tfrecord").contains("records     1"));
    assert!(refused(&folder, "read b.tfrecord", 1).contains("the record is no `tf.train.Example`"));
}

#[test]
fn an_option_of_a_deserializer_that_is_set_for_the_reader_comes_with_its_path() {
    let folder = two("mistakes-set");
    for (given, meant) in [
        ("numbers=extended", "deserializers[0].numbers"),
        ("emptyInputs=skip", "deserializers[0].emptyInputs"),
        ("alias=a", "deserializers[0].input.a.alias"),
    ] {
        let e = refused(&folder, &format!("read two.ctf --stream a:2 --set {given}"), 2);
        let name = given.split('=').next().unwrap();
        assert!(e.contains(&format!("unknown option `{name}`, did you mean `{meant}`?")), "{e}");
    }
    answers(&folder, "read two.ctf --stream a:2 --set deserializers[0].numbers=extended --json");
}

#[test]
fn several_files_as_several_deserializers_are_led_to_a_list() {
    let folder = folder("mistakes-lists-of-files");
    fs::write(folder.join("a.ctf"), "0 |x 1\n").unwrap();
    fs::write(folder.join("b.ctf"), "0 |x 2\n1 |x 3\n").unwrap();
    let text = |file: &str| json!({"type": "CNTKTextFormatDeserializer", "file": file, "input": {"x": {"dim": 1, "format": "dense"}}});
    let refusal = |deserializers: serde_json::Value| {
        fs::write(folder.join("two.json"), json!({"deserializers": deserializers}).to_string()).unwrap();
        refused(&folder, "read two.json", 2)
    };
    let e = refusal(json!([text("a.ctf"), text("b.ctf")]));
    assert!(
        e.contains(
            "files that follow each other are listed in one deserializer, `file = [\"a.ctf\", \"b.ctf\"]`"
        ),
        "{e}"
    );
    let speech =
        |file: &str| json!({"type": "HTKFeatureDeserializer", "input": {"x": {"dim": 1, "scpFile": file}}});
    let e = refusal(json!([speech("a.scp"), speech("b.scp")]));
    assert!(e.contains("`scpFile = [\"a.scp\", \"b.scp\"]`"), "{e}");
    // Binary files say their streams themselves; two of one name were delivered, of which one was lost.
    for name in ["a", "b"] {
        answers(&folder, &format!("convert {name}.ctf {name}.cbf --stream x:1 --json"));
    }
    let binary = |file: &str| json!({"type": "CNTKBinaryFormatDeserializer", "file": file});
    let e = refusal(json!([binary("a.cbf"), binary("b.cbf")]));
    assert!(
        e.contains(
            "deserializers[1]: stream `x` is in `deserializers[0]` too; give one of them another name"
        ),
        "{e}"
    );
    assert!(e.contains("list files that follow each other in one deserializer"), "{e}");
    let mut one = text("a.ctf");
    one["file"] = json!(["a.ctf", "b.ctf"]);
    fs::write(folder.join("one.json"), json!({"deserializers": [one]}).to_string()).unwrap();
    assert_eq!(
        answers(&folder, "read one.json --take 1 --sweeps 1 --json")[0]["streams"]["x"]["numberOfSequences"],
        3
    );
}
