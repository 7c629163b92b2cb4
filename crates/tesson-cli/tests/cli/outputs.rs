//! The files that `tesson convert` writes, and those that it leaves alone.

use std::fs;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::common::{answers, folder, lines, many, refused, tesson, tfrecord, two};

#[test]
fn an_input_is_never_replaced_whatever_it_is_called() {
    let folder = two("outputs-input");
    let before = fs::read(folder.join("two.ctf")).unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    fs::hard_link(folder.join("two.ctf"), folder.join("same.ctf")).unwrap();
    fs::copy(folder.join("two.ctf"), folder.join("part-1.ctf")).unwrap();
    fs::copy(folder.join("two.ctf"), folder.join("part-2.ctf")).unwrap();
    let reader = json!({"deserializers": [{
        "type": "CNTKTextFormatDeserializer", "file": "two.ctf",
        "input": {"a": {"dim": 2, "format": "dense"}}}]});
    fs::write(folder.join("reader.json"), reader.to_string()).unwrap();
    let mut outputs = vec!["two.ctf", "./two.ctf", "sub/../two.ctf", "same.ctf"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("two.ctf", folder.join("link.ctf")).unwrap();
        outputs.push("link.ctf");
    }
    for input in ["two.ctf --stream a:2", "reader.json"] {
        for output in &outputs {
            for force in ["", "--force"] {
                let e = refused(&folder, &format!("convert {input} {output} {force} --to ctf"), 2);
                assert!(e.contains(&format!("{output}: this is the input")), "{input} {output}: {e}");
            }
        }
    }
    let e = refused(&folder, "convert reader.json reader.json --force --to ctf", 2);
    assert!(
        e.contains("reader.json: this is the input, which is never replaced; choose another name"),
        "{e}"
    );
    let e = refused(&folder, "convert part-*.ctf part-2.ctf --stream a:2 --force", 2);
    assert!(e.contains("part-2.ctf: this is the input"), "{e}");
    assert_eq!(fs::read(folder.join("two.ctf")).unwrap(), before);
}

#[test]
fn what_exists_is_replaced_with_force_alone() {
    let folder = two("outputs-exists");
    tfrecord(&folder, "a.tfrecord", &["one"]);
    fs::write(folder.join("t.csv"), "1,2\n").unwrap();
    for (input, output) in
        [("two.ctf --stream a:2", "out.cbf"), ("t.csv", "out.ctf"), ("a.tfrecord", "out.array_record")]
    {
        fs::write(folder.join(output), "precious").unwrap();
        let e = refused(&folder, &format!("convert {input} {output}"), 2);
        let expected =
            format!("{output}: the file exists; replace it with `--force`, or choose another name");
        assert!(e.contains(&expected), "{e}");
        assert_eq!(fs::read(folder.join(output)).unwrap(), b"precious");
        answers(&folder, &format!("convert {input} {output} --force --verify --json"));
        assert_ne!(fs::read(folder.join(output)).unwrap(), b"precious");
    }
    fs::create_dir(folder.join("sub")).unwrap();
    let e = refused(&folder, "convert two.ctf sub --to cbf --stream a:2 --force", 2);
    assert!(e.contains("sub: found a folder, expected the name of a file"), "{e}");
}

#[test]
fn a_binary_file_has_chunks_for_several_workers() {
    let folder = folder("outputs-chunks");
    let text: String = (0..20_000).map(|i| format!("{i} |x {i} 1 2 3\n")).collect();
    fs::write(folder.join("x.ctf"), text).unwrap();
    answers(&folder, "convert x.ctf x.cbf --stream x:4 --json");
    let chunks = answers(&folder, "info x.cbf --json")[0]["chunks"].as_u64().unwrap();
    assert!((32..=128).contains(&chunks), "{chunks}");
    // Ten thousand samples a worker, of 20,000.
    for rank in 0..2 {
        let read =
            answers(&folder, &format!("read x.cbf --workers 2 --rank {rank} --minibatch-size 1024 --json"));
        let samples: u64 = read.iter().filter_map(|l| l["streams"]["x"]["numberOfSamples"].as_u64()).sum();
        assert!((9_000..=11_000).contains(&samples), "rank {rank}: {samples}");
    }
    answers(&folder, "convert x.ctf one.cbf --stream x:4 --chunk-size 32MiB --json");
    assert_eq!(answers(&folder, "info one.cbf --json")[0]["chunks"], 1);
}

#[test]
fn a_rank_without_data_is_told_what_helps_in_its_format() {
    let folder = many("outputs-starving");
    fs::write(folder.join("one.ctf"), "0 |x 1\n1 |x 2\n").unwrap();
    answers(&folder, "convert one.ctf one.cbf --stream x:1 --json");
    let said = |input: &str| {
        let output = tesson(&folder, &format!("read {input} --workers 2 --rank 1 --json"));
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(lines(&output).last(), Some(&json!({"end": true})));
        String::from_utf8(output.stderr).unwrap()
    };
    let text = said("one.ctf --stream x:1");
    assert!(text.contains("rank 1 of 2 gets no data") && text.contains("`chunkSizeInBytes`"), "{text}");
    assert!(text.contains("`sharing = \"position\"`"), "{text}");
    let binary = said("one.cbf");
    assert!(
        binary.contains("`tesson convert --chunk-size`") && !binary.contains("chunkSizeInBytes"),
        "{binary}"
    );
    assert!(binary.contains("`sharing = \"position\"`"), "{binary}");
}

/// The names of the entries of a folder.
#[cfg(unix)]
fn names(folder: &Path) -> Vec<String> {
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().into_owned();
    fs::read_dir(folder).unwrap().map(name).collect()
}

/// Starts `convert in.csv out.cbf`, which waits for the rest of its input when the temporary file is there.
#[cfg(unix)]
fn waiting(folder: &Path) -> (Child, fs::File) {
    use std::io::Write;

    let pipe = folder.join("in.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = crate::common::command(folder, "convert in.csv out.cbf");
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // Opened for writing when the command has opened it for reading.
    let mut input = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    // More than its buffer holds, so that it has read the first rows.
    input.write_all(&b"1,2\n".repeat(100_000)).unwrap();
    while !names(folder).iter().any(|name| name.ends_with(".tmp")) {
        assert!(child.try_wait().unwrap().is_none(), "it waits for more input");
        std::thread::yield_now();
    }
    (child, input)
}

/// The files left in the folder of a conversion that a signal ended.
#[cfg(unix)]
fn left_after(signal: &str) -> (Option<i32>, Vec<String>) {
    use std::os::unix::process::ExitStatusExt;

    let folder = folder(&format!("outputs-signal-{signal}"));
    let (mut child, _input) = waiting(&folder);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    (child.wait().unwrap().signal(), names(&folder))
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_conversion_and_leaves_no_temporary_file() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        assert_eq!(left_after(signal), (Some(number), vec!["in.csv".to_owned()]), "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn an_output_that_appears_during_a_conversion_is_kept() {
    let folder = folder("outputs-appear");
    let (child, input) = waiting(&folder);
    fs::write(folder.join("out.cbf"), "precious").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let e = crate::common::stderr(&output);
    assert!(e.contains("out.cbf: the file exists; replace it with `--force`, or choose another name"), "{e}");
    assert_eq!(fs::read(folder.join("out.cbf")).unwrap(), b"precious");
    assert_eq!(names(&folder).len(), 2);
}

#[cfg(unix)]
#[test]
fn an_output_beyond_the_limit_of_file_sizes_is_an_error_with_the_limit_and_leaves_nothing() {
    let folder = folder("outputs-limit");
    let rows: String = (0..4000).map(|i| format!("{i} |x {i}\n")).collect();
    fs::write(folder.join("in.ctf"), rows).unwrap();
    crate::common::tfrecord(&folder, "in.tfrecord", &["text"; 4000]);
    for (command, output) in [
        ("convert in.ctf out.cbf --stream x:1", "out.cbf"),
        ("convert in.ctf out.ctf --stream x:1", "out.ctf"),
        ("convert in.tfrecord out.array_record --group-size 1 --uncompressed", "out.array_record"),
    ] {
        // Blocks of 512 bytes in a POSIX shell, of 1024 in some others.
        let script = format!("ulimit -f 8; exec {} {command}", env!("CARGO_BIN_EXE_tesson"));
        let ended = Command::new("sh").current_dir(&folder).args(["-c", &script]).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{command}: {ended:?}");
        let e = crate::common::stderr(&ended);
        assert!(e.contains(output), "{command}: {e}");
        if cfg!(target_os = "linux") {
            let limits = ["4096", "8192"].map(|n| {
                format!("a file of this process may have {n} bytes at most; raise the limit (`ulimit -f`)")
            });
            assert!(limits.iter().any(|limit| e.contains(limit)), "{command}: {e}");
        }
        assert_eq!(names(&folder).len(), 2, "{command}: {:?}", names(&folder));
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_conversion_has_left_is_removed_by_the_next() {
    let folder = folder("outputs-killed");
    let (mut child, _input) = waiting(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&folder).len(), 2);
    fs::write(folder.join("next.csv"), "1,2\n").unwrap();
    answers(&folder, "convert next.csv out.cbf --json");
    let mut left = names(&folder);
    left.sort();
    assert_eq!(left, ["in.csv", "next.csv", "out.cbf"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_whose_messages_nobody_can_read_goes_on() {
    let folder = two("outputs-full");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let code = |args: &str| crate::common::command(&folder, args).stderr(full()).output().unwrap();
    let read = code("read two.ctf --stream a:2 --set traceLevel=2");
    assert_eq!(read.status.code(), Some(0));
    assert!(!read.stdout.is_empty());
    assert_eq!(code("read two.ctf --stream b:2:sparse").status.code(), Some(1));
    assert_eq!(code("read two.ctf --stream a").status.code(), Some(0));
    assert_eq!(code("read two.ctf --nonsense").status.code(), Some(2));
    assert_eq!(code("index two.ctf").status.code(), Some(2));
    let ended =
        crate::common::command(&folder, "read two.ctf --stream a:2").stdout(full()).stderr(full()).status();
    assert_eq!(ended.unwrap().code(), Some(1));
}

#[test]
fn a_plan_says_what_orders_would_read() {
    let folder = many("plan-io");
    let bytes = fs::metadata(folder.join("many.ctf")).unwrap().len();
    let run = "plan many.json --io --sharing position --json";
    let read = |line: &serde_json::Value| (line["order"].clone(), line["bytes"].as_u64().unwrap());
    let alone: Vec<_> = answers(&folder, run).iter().map(read).collect();
    assert_eq!(alone.first(), Some(&(json!("as stored"), bytes)));
    assert!(alone.len() > 2, "{alone:?}");
    // Everything fits into memory, so no order reads anything twice.
    assert!(alone.iter().all(|(_, read)| *read == bytes), "{alone:?}");
    // Of each chunk, several ranks take sequences.
    for line in answers(&folder, &format!("{run} --workers 2")) {
        let ranks: u64 =
            line["plannedRanks"].as_array().unwrap().iter().map(|r| r["bytes"].as_u64().unwrap()).sum();
        assert_eq!(line["bytes"], ranks);
        assert!(ranks > bytes && ranks <= 2 * bytes, "{line}");
    }
    let one = answers(&folder, &format!("{run} --workers 2 --rank 1"));
    assert_eq!(one[0]["plannedRanks"].as_array().unwrap().len(), 1);
    let e = refused(&folder, &format!("{run} --step 3"), 2);
    assert!(e.contains("--io") && e.contains("--step"), "{e}");
}
