//! All benchmarks in one command, and the page of the run that it writes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::optimised_package::OptimisedPackage;
use crate::run::{Outcome, answer, cargo, program, root, shown, target, tee};

/// The parts of a run: a name, its heading, and the function that measures it.
type Part = (&'static str, &'static str, fn(&mut Run) -> bool);

const PARTS: &[Part] = &[
    ("text", "Text", text),
    ("binary", "Binary files", binary),
    ("speech", "Speech", speech),
    ("datasets", "Prepared datasets", datasets),
    ("images", "Images", images),
    ("tables", "Tables, beside Arrow's crates", tables),
    ("layers", "Layers alone", layers),
    ("python", "Python, beside other packages", python),
];

/// The kinds of corpora of bench/README.md.
const KINDS: &[&str] = &["dense", "mnist", "sparse", "seq"];

/// Programs of Python, each with packages that it cannot do without.
const PROGRAMS: &[(&str, &[&str], &[&str])] = &[
    ("bench/python_overhead.py", &["--json"], &["numpy"]),
    ("bench/python_examples.py", &["--json"], &["numpy"]),
    ("bench/python_loaders.py", &[], &["pyarrow"]),
    ("bench/python_tables.py", &[], &["polars", "pyarrow"]),
];

/// Makes the corpora once, measures all parts or some, and writes the page of the run.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let (mut megabytes, mut chosen) = ("200", Vec::new());
    for argument in arguments {
        if argument.parse::<u32>().is_ok() {
            megabytes = argument;
        } else if let Some(part) = PARTS.iter().find(|part| part.0 == argument) {
            chosen.push(part);
        } else {
            let names: Vec<&str> = PARTS.iter().map(|part| part.0).collect();
            eprintln!("usage: cargo xtask bench [MEGABYTES] [PART…]; parts: {}", names.join(", "));
            return ExitCode::from(2);
        }
    }
    if chosen.is_empty() {
        chosen = PARTS.iter().collect();
    }
    if !tee(&mut cargo(&["build", "--release", "--package", "tesson-bench"])).success {
        return ExitCode::FAILURE;
    }
    let mut run = Run::new(megabytes);
    let mut success = std::fs::create_dir_all(&run.corpora).is_ok();
    for (_, heading, measure) in chosen {
        success &= measure(&mut run);
        run.end_part(heading);
    }
    match run.write() {
        Ok(page) => println!("{} has the figures", page.display()),
        Err(e) => {
            eprintln!("the page of the run cannot be written: {e}");
            success = false;
        }
    }
    ExitCode::from(u8::from(!success))
}

/// A run, and what of its page is written.
struct Run {
    /// Size of each corpus of text.
    megabytes: String,
    /// The folder of the corpora.
    corpora: PathBuf,
    page: String,
    /// Figures of the part that is being measured.
    part: Figures,
}

/// Figures of a part, as its page shows them.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    /// Rows of the table.
    rows: String,
    /// Lines below it that are no rows.
    rest: String,
}

impl Run {
    fn new(megabytes: &str) -> Run {
        let mut page = format!("# All benchmarks, {} MB of text a corpus\n\n", megabytes);
        let _ = writeln!(page, "{}. Load when they began: {}.", conditions(), load());
        Run {
            megabytes: megabytes.to_owned(),
            corpora: target().join("bench"),
            page,
            part: Figures::default(),
        }
    }

    fn corpus(&self, name: &str) -> String {
        self.corpora.join(name).to_string_lossy().into_owned()
    }

    /// The corpus of a kind, as text or binary, made if there is none.
    fn corpus_of(&self, kind: &str, extension: &str) -> Option<String> {
        let corpus = self.corpus(&format!("{kind}-{}.{extension}", self.megabytes));
        let make = || tee(&mut tesson_bench(&["corpus", kind, &self.megabytes, &corpus])).success;
        (Path::new(&corpus).exists() || make()).then_some(corpus)
    }

    /// Runs commands of the benchmarks' program until one fails, and adds their figures.
    fn measure(&mut self, commands: &[&[&str]]) -> bool {
        commands.iter().all(|arguments| self.add(&mut tesson_bench(arguments)))
    }

    /// Runs a command and adds its figures.
    fn add(&mut self, command: &mut Command) -> bool {
        let Outcome { success, output } = tee(command);
        // Corpora are named without their folder, which is of this machine.
        let place = format!("{}/", self.corpora.display());
        self.part.add(&shown(command).replace(&place, ""), &output);
        if !success {
            let _ = writeln!(self.part.rest, "**Failed**: `{}`\n", shown(command).replace(&place, ""));
        }
        success
    }

    /// Takes the figures of a part into the page.
    fn end_part(&mut self, heading: &str) {
        let Figures { rows, rest } = std::mem::take(&mut self.part);
        let _ = writeln!(self.page, "\n## {heading}\n");
        if !rows.is_empty() {
            let _ = writeln!(self.page, "| command | median (least to largest) |\n|---|---|\n{rows}");
        }
        self.page += &rest;
    }

    /// Writes the page beside those of other runs.
    fn write(mut self) -> std::io::Result<PathBuf> {
        let _ = writeln!(self.page, "Load when they ended: {}.", load());
        let folder = root().join("bench/runs");
        let name = format!("{}-{}", today(), machine());
        let taken = |name: &str| folder.join(name).exists() || folder.join(format!("{name}.md")).exists();
        let others = ('b'..='z').map(|letter| format!("{name}-{letter}"));
        let free = std::iter::once(name.clone()).chain(others).find(|name| !taken(name)).unwrap_or(name);
        let page = folder.join(format!("{free}.md"));
        std::fs::write(&page, self.page)?;
        Ok(page)
    }
}

fn text(run: &mut Run) -> bool {
    KINDS.iter().all(|kind| {
        let Some(corpus) = run.corpus_of(kind, "ctf") else { return false };
        run.measure(&[
            &["limit", &corpus],
            &["read", kind, &corpus, "--threads", "1"],
            &["read", kind, &corpus],
            &["read", kind, &corpus, "--threads", "1", "--randomize", "window"],
            &["read", kind, &corpus, "--randomize", "window"],
            &["first", kind, &corpus, "--randomize", "window"],
            &["step", kind, &corpus],
        ])
    })
}

fn binary(run: &mut Run) -> bool {
    KINDS.iter().all(|kind| {
        let Some(output) = run.corpus_of(kind, "cbf") else { return false };
        run.measure(&[
            &["limit", &output],
            &["read", kind, &output, "--threads", "1"],
            &["read", kind, &output, "--threads", "1", "--randomize", "window"],
        ])
    })
}

fn speech(run: &mut Run) -> bool {
    let archives = run.corpus("archives");
    tee(&mut tesson_bench(&["speech", "make", &archives, "200"])).success
        && run.measure(&[&["speech", "measure", &archives]])
}

fn datasets(run: &mut Run) -> bool {
    let datasets = run.corpus("datasets");
    tee(&mut tesson_bench(&["tfds", "make", "integers", &datasets])).success
        && run.measure(&[
            &["tfds", "measure", "integers", &datasets],
            &["tfds", "reading", "integers", &datasets],
        ])
}

fn images(run: &mut Run) -> bool {
    let images = run.corpus("jpegs");
    tee(&mut tesson_bench(&["images", "make", &images])).success
        && run.measure(&[&["images", "measure", &images]])
}

fn tables(run: &mut Run) -> bool {
    let tables = run.corpus("tables");
    tee(&mut tesson_bench(&["tables", "make", &tables])).success
        && run.measure(&[&["tables", "measure", &tables]])
}

fn layers(run: &mut Run) -> bool {
    ["tesson-formats", "tesson-memory", "tesson-plan"]
        .iter()
        .all(|package| run.add(&mut cargo(&["bench", "--quiet", "--package", package, "--benches"])))
}

/// A program whose packages are not installed is named and left out; the loaders do so with each of their peers.
fn python(run: &mut Run) -> bool {
    let package = match OptimisedPackage::new().and_then(|package| package.build(&[]).map(|()| package)) {
        Ok(package) => package,
        Err(why) => {
            eprintln!("{why}");
            return false;
        }
    };
    PROGRAMS.iter().all(|(file, arguments, needed)| {
        let missing = needed.iter().find(|module| !package.has(module));
        if let Some(missing) = missing {
            let _ = writeln!(run.part.rest, "`{file}`: skipped, {missing} is not installed.\n");
            return true;
        }
        run.add(package.python(&[]).arg(file).args(*arguments))
    })
}

fn tesson_bench(arguments: &[&str]) -> Command {
    let tool = target()
        .join("release")
        .join(Path::new("tesson-bench").with_extension(std::env::consts::EXE_EXTENSION));
    let mut command = program(tool);
    command.args(arguments);
    command
}

impl Figures {
    /// Adds the output of a command: its lines of JSON as rows, the others as they are.
    fn add(&mut self, command: &str, output: &str) {
        let mut others = String::new();
        for line in output.lines() {
            match serde_json::from_str::<Value>(line) {
                Ok(Value::Object(line)) => {
                    // What the command names already need not be said again.
                    let texts = line.iter().filter(|(name, _)| *name != "command");
                    let texts = texts.filter_map(|(_, value)| value.as_str());
                    let texts: String =
                        texts.filter(|text| !command.contains(*text)).flat_map(|text| [" ", text]).collect();
                    let numbers =
                        line.iter().filter_map(|(name, value)| Some(format!("{name} {}", number(value)?)));
                    let numbers = numbers.collect::<Vec<_>>().join("; ");
                    let _ = writeln!(self.rows, "| `{command}`{texts} | {numbers} |");
                }
                _ if line.trim().is_empty() => {}
                _ => others.extend(["    ", line, "\n"]),
            }
        }
        if !others.is_empty() {
            let _ = writeln!(self.rest, "`{command}`:\n\n{others}");
        }
    }
}

/// A value as the table shows it; `None` for text.
fn number(value: &Value) -> Option<String> {
    let named = |name| value.get(name).and_then(number);
    match value {
        Value::String(_) => None,
        Value::Object(all) => Some(match (named("median"), named("min"), named("max")) {
            (Some(median), Some(least), Some(largest)) => format!("{median} ({least} to {largest})"),
            _ => {
                let all = all.iter().filter_map(|(name, value)| Some(format!("{name} {}", number(value)?)));
                all.collect::<Vec<_>>().join("; ")
            }
        }),
        Value::Array(all) => Some(all.iter().filter_map(number).collect::<Vec<_>>().join(", ")),
        // Decimals of large figures are noise.
        Value::Number(large) if large.as_f64().is_some_and(|x| x.abs() >= 1000.0) => {
            Some(format!("{:.0}", large.as_f64()?))
        }
        other => Some(other.to_string()),
    }
}

/// The machine, the compiler and the commit that figures hold for.
fn conditions() -> String {
    let known = |command: &mut Command| answer(command).map_or("?".to_owned(), |text| text.trim().to_owned());
    let commit = known(program("git").args(["rev-parse", "--short", "HEAD"]));
    let changed =
        answer(program("git").args(["status", "--porcelain"])).is_some_and(|files| !files.is_empty());
    format!(
        "{}, {} cores, {}; {}; commit {commit}{}",
        processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores(),
        std::env::consts::OS,
        known(program("rustc").arg("--version")),
        if changed { " with changes" } else { "" },
    )
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The name of the processor, where the system says it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(name.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// The name of the machine in names of pages, such as `xeon-2-cores`.
fn machine() -> String {
    let name = processor().unwrap_or_default().to_lowercase();
    let families = ["xeon", "epyc", "ryzen", "core", "apple", "neoverse"];
    let family = families.into_iter().find(|family| name.contains(family));
    format!("{}-{}-cores", family.unwrap_or(std::env::consts::ARCH), cores())
}

/// The load of the machine, by the system's own averages.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// The date, as names of pages have it.
fn today() -> String {
    let days = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    date(days.map_or(0, |time| time.as_secs() / 86_400))
}

/// The date of a day, counted from 1970-01-01.
fn date(mut day: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_json_are_rows_and_others_stay() {
        let output = "Benchmarking\n\n{\"what\":\"read\",\"kind\":\"dense\",\"command\":\"read x\",\"rounds\":5,\
                      \"MB_per_s\":{\"median\":3.5,\"min\":1,\"max\":4.0}}\n{\"loader\":\"tf.data\",\"skipped\":\"no module\"}\n";
        let mut figures = Figures::default();
        figures.add("bench read dense x", output);
        let rows = "| `bench read dense x` | rounds 5; MB_per_s 3.5 (1 to 4.0) |\n\
                    | `bench read dense x` tf.data no module |  |\n";
        let rest = "`bench read dense x`:\n\n    Benchmarking\n\n";
        assert_eq!(figures, Figures { rows: rows.into(), rest: rest.into() });
    }

    #[test]
    fn a_date_has_its_year_month_and_day() {
        let days = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (10_957, "2000-01-01"),
            (11_016, "2000-02-29"),
            (20_785, "2026-11-28"),
        ];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }
}
