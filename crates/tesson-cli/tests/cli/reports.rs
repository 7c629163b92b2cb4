//! `tesson report`, `info --stats` and `plan --certificate`. Tests of the Python package open the page in a browser.

use std::fs;

use crate::common::{answers, command, folder, lines, refused, stderr, tesson};

/// 300 sequences of three classes, one class after the other.
fn classes(test: &str) -> std::path::PathBuf {
    let folder = folder(test);
    let row = |i: u32| format!("{i} |x {} {}.5 7 |y {}:1\n", i % 10, i % 4, i / 100);
    fs::write(folder.join("train.ctf"), (0..300).map(row).collect::<String>()).unwrap();
    folder
}

#[test]
fn a_report_has_the_figures_of_the_data() {
    let folder = classes("report-figures");
    let report = &answers(&folder, "report train.ctf --json --no-timing")[0];
    assert_eq!(report["card"]["examples"], 300);
    assert_eq!(report["card"]["sampled"], 300);
    let x = &report["streams"][0];
    assert_eq!((&x["values"], &x["min"], &x["max"]), (&900.into(), &0.0.into(), &9.0.into()));
    assert_eq!(x["constantColumns"], 1);
    let y = &report["streams"][1]["classes"];
    assert_eq!((&y["occurring"], &y["found"][0]["n"]), (&3.into(), &100.into()));
    assert_eq!(report["faults"]["faults"], 0);
    // Stored class after class: a window of one chunk, which is all of the data here, mixes them.
    assert!(report["order"]["orders"][0]["mixDifference"].as_f64().unwrap() < 0.2, "{report}");
    let stored = &answers(&folder, "report train.ctf --json --no-timing --randomize false")[0];
    assert!(stored["order"]["orders"][0]["mixDifference"].as_f64().unwrap() > 0.5);
}

#[test]
fn equal_data_give_equal_reports() {
    let folder = classes("report-equal");
    let report = |args: &str| answers(&folder, &format!("report train.ctf --json --no-timing {args}"));
    let plain = |args: &str| {
        let mut report = report(args).remove(0);
        (report["card"]["command"], report["certificate"]["command"]) = Default::default();
        report
    };
    assert_eq!(plain(""), plain("--threads 1"));
}

#[test]
fn a_page_shows_itself_and_is_compared_with_another() {
    let folder = classes("report-pages");
    let made = tesson(&folder, "report train.ctf -o a.html");
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert_eq!(tesson(&folder, "report train.ctf -o b.html --seed 7").status.code(), Some(0));
    let page = fs::read_to_string(folder.join("a.html")).unwrap();
    assert!(page.len() < 2_000_000);
    let compared = tesson(&folder, "report a.html b.html");
    let text = String::from_utf8(compared.stdout).unwrap();
    assert!(text.contains("digest") && !text.contains("examples"), "{text}");
    let same = tesson(&folder, "report a.html a.html");
    assert_eq!(String::from_utf8(same.stdout).unwrap(), "no figure differs\n");
    let e = refused(&folder, "report a.html", 2);
    assert!(e.contains("give another one after it"), "{e}");
    let e = refused(&folder, "report a.html train.ctf", 2);
    assert!(e.contains("make one of it"), "{e}");
    // An input is never replaced, nor anything else that is no report.
    let e = refused(&folder, "report train.ctf -o train.ctf", 2);
    assert!(e.contains("is the input"), "{e}");
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let e = refused(&folder, "report train.ctf -o notes.txt", 2);
    assert!(e.contains("exists and is no report"), "{e}");
}

#[test]
fn faults_are_in_the_report_with_what_the_run_does_with_them() {
    let folder = classes("report-faults");
    let broken =
        fs::read_to_string(folder.join("train.ctf")).unwrap().replace("100 |x 0 0.5", "100 |x oops 0.5");
    fs::write(folder.join("train.ctf"), broken).unwrap();
    let report = &answers(&folder, "report train.ctf --json --no-timing")[0];
    let faults = &report["faults"];
    assert_eq!((&faults["faults"], &faults["listed"][0]["line"]), (&1.into(), &101.into()));
    assert!(faults["verdict"].as_str().unwrap().contains("`--max-errors 1`"), "{faults}");
    let report = &answers(&folder, "report train.ctf --json --no-timing --max-errors 1")[0];
    assert!(report["faults"]["verdict"].as_str().unwrap().contains("reads on"), "{report}");
    assert_eq!(report["card"]["sampled"], 299);
}

#[test]
fn a_certificate_is_checked_on_another_machine() {
    let folder = classes("report-certificate");
    let report = &answers(&folder, "report train.ctf --json --no-timing --seed 5")[0];
    let digest = report["certificate"]["digest"].as_str().unwrap();
    let plan = |args: &str| format!("plan train.ctf --seed 5 --certificate {args}");
    assert_eq!(answers(&folder, &(plan("") + " --json"))[0]["digest"], *digest);
    assert_eq!(answers(&folder, &(plan(digest) + " --json"))[0]["matches"], true);
    let e = refused(&folder, &format!("plan train.ctf --seed 6 --certificate {digest}"), 1);
    assert!(e.contains("the order is another one"), "{e}");
    let e = refused(&folder, &plan("xyz"), 2);
    assert!(e.contains("expected 32 hexadecimal digits"), "{e}");
}

#[test]
fn info_shows_the_figures_as_text() {
    let folder = classes("report-stats");
    let text = String::from_utf8(tesson(&folder, "info train.ctf --stats").stdout).unwrap();
    for part in ["figures of  all 300 examples", "3 classes: ", "1 of 3 columns have one value", "No faults"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn buckets_and_pieces_are_in_the_order_and_in_the_certificate() {
    let folder = folder("report-grouping");
    let row = |i: u32| (0..=i % 9).map(|t| format!("{i} |x {t}\n")).collect::<String>();
    fs::write(folder.join("train.ctf"), (0..200).map(row).collect::<String>()).unwrap();
    let report =
        |args: &str| answers(&folder, &format!("report train.ctf --json --no-timing {args}")).remove(0);
    let (plain, buckets) = (report("--shuffle"), report("--shuffle --bucketing 400"));
    assert_eq!(
        buckets["order"]["orders"][0]["name"],
        "this run: shuffled as a whole, in buckets of 400 samples"
    );
    assert_eq!(buckets["certificate"]["grouping"]["words"], "in buckets of 400 samples");
    assert_eq!(plain["certificate"]["grouping"], serde_json::Value::Null);
    // What is drawn is the order of the buckets.
    assert_ne!(plain["order"]["orders"][0]["points"], buckets["order"]["orders"][0]["points"]);
    let digests =
        [&plain, &buckets, &report("--shuffle --bucketing 500")].map(|r| r["certificate"]["digest"].clone());
    assert!(digests[0] != digests[1] && digests[1] != digests[2], "{digests:?}");
    let digest = digests[1].as_str().unwrap();
    let plan = format!("plan train.ctf --shuffle --bucketing 400 --certificate {digest} --json");
    assert_eq!(answers(&folder, &plan)[0]["matches"], true);
    // Of pieces, an example counts where it begins: each once, over the ranks.
    let pieces = report("--set truncationLength=4 --batch-size 8");
    assert_eq!(pieces["order"]["grouping"]["words"], "cut into pieces of 4 samples");
    let ranks = pieces["order"]["ranks"].as_array().unwrap();
    assert_eq!(ranks.iter().map(|rank| rank["examples"].as_u64().unwrap()).sum::<u64>(), 200, "{ranks:?}");
}

#[test]
fn a_prepared_dataset_is_reported_in_the_order_of_a_loader() {
    let folder = folder("report-prepared");
    let dataset = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tfds/numbers/1.0.0");
    let report = format!("report {dataset} --json --no-timing --shuffle --seed 3 --batch-size 2");
    let report = &answers(&folder, &report)[0];
    assert_eq!(report["order"]["orders"][0]["name"], "this run: shuffled as a whole");
    let command = report["certificate"]["command"].as_str().unwrap();
    assert!(command.contains("--shuffle --seed 3 --batch-size 2"), "{command}");
    // The command of the page works as it is printed.
    let checked = command.strip_prefix("tesson ").unwrap();
    assert_eq!(answers(&folder, &format!("{checked} --json"))[0]["matches"], true);
    assert_eq!(report["streams"][0]["dtype"], "int64");
    let info = String::from_utf8(tesson(&folder, &format!("info {dataset}")).stdout).unwrap();
    assert!(info.contains("features    n: int64 []\n            name: string []\n"), "{info}");
    let e = refused(&folder, &format!("plan {dataset} --shuffle --seed 3"), 2);
    assert!(e.contains("--shuffle") && e.contains("`--op shuffle=BUFFER`"), "{e}");
}

/// Ctrl-C while a report is made: as soon as the command catches it.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_report_leaves_a_page_of_what_was_seen() {
    let folder = folder("report-interrupted");
    let row = |i: u32| format!("{i} |x {} {}.5 7 |y {}:1\n", i % 10, i % 4, i % 3);
    fs::write(folder.join("train.ctf"), (0..400_000).map(row).collect::<String>()).unwrap();
    let mut command = command(&folder, "report train.ctf --all --stream x:3 --stream y:3:sparse --threads 1");
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let field = |status: &str, name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    // Interrupts are signal 2, the second bit. Threads are started after they are caught.
    let is_caught = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = field(&status, "SigCgt:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
        mask.is_some_and(|mask| mask & 2 != 0) && field(&status, "Threads:").is_some_and(|n| n != "1")
    };
    while !is_caught() {
        std::thread::yield_now();
    }
    let interrupt =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the report is unfinished: interrupted"), "{}", stderr(&output));
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("This report is unfinished") && page.ends_with("</body></html>\n"));
    // And it is a report, which can be compared.
    let compared = tesson(&folder, "report report.html report.html --json");
    assert_eq!((compared.status.code(), lines(&compared).len()), (Some(0), 0));
}
