//! Instructions of the text kernels for each sample, and of steps through Python, counted by valgrind: figures that a busy
//! machine does not change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use crate::run::{answer, cargo, output, program, root, tee};
use crate::step_instructions::{Steps, WAYS as STEPS};

/// The committed figures.
const FIGURES: &str = "bench/instructions.txt";

const CORPORA: [&str; 4] = ["dense", "mnist", "sparse", "seq"];
const WAYS: [&str; 4] = ["in-order", "index", "chunks", "binary"];
/// The kernels that any machine has, and the best that valgrind knows.
const KERNELS: [&str; 2] = ["plain", "avx2"];

/// The first word of the figures of steps.
const PYTHON: &str = "python";

/// The change of a figure that is none, in parts of it: of kernels, and of steps, in which threads wait for each other.
const TOLERANCE: f64 = 0.03;
const STEP_TOLERANCE: f64 = 0.1;

/// Rounds of the two runs whose difference counts: what comes before the first round is in both, and so is the first,
/// which allocates.
const ROUNDS: (u32, u32) = (1, 3);

const BENCH: [&str; 5] = ["bench", "--package", "tesson-formats", "--bench", "ctf"];

const VALGRIND: [&str; 4] =
    ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];

/// Figures by their names.
type Figures = BTreeMap<String, f64>;

/// A part of the figures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Kernels,
    Steps,
}

impl Part {
    fn of(figure: &str) -> Part {
        if figure.starts_with(PYTHON) { Part::Steps } else { Part::Kernels }
    }
}

/// Counts, and compares with the committed figures or, with `--write`, replaces them.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let (mut writes, mut parts) = (false, Vec::new());
    for argument in arguments {
        match argument.as_str() {
            "--write" => writes = true,
            "kernels" => parts.push(Part::Kernels),
            "steps" => parts.push(Part::Steps),
            _ => {
                eprintln!("usage: cargo xtask instructions [--write] [kernels] [steps]");
                return ExitCode::from(2);
            }
        }
    }
    if parts.is_empty() {
        parts = vec![Part::Kernels, Part::Steps];
    }
    match count_and_compare(writes, &parts) {
        Ok(grown) => ExitCode::from(u8::from(grown > 0)),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The number of figures that have grown.
fn count_and_compare(writes: bool, parts: &[Part]) -> Result<usize, String> {
    let (Some(compiler), Some(_)) =
        (answer(program("rustc").arg("--version")), answer(program("valgrind").arg("--version")))
    else {
        println!("skipped: all figures; valgrind is not installed (apt install valgrind)");
        return Ok(0);
    };
    let compiler = format!("{}, {}", compiler.trim(), std::env::consts::ARCH);
    let text = std::fs::read_to_string(root().join(FIGURES)).unwrap_or_default();
    let mut committed = Committed::parse(&text);
    if !writes && committed.compiler != compiler {
        println!(
            "skipped: all {} figures, which are of {}; this is {compiler}",
            committed.figures.len(),
            committed.compiler
        );
        return Ok(0);
    }
    let mut figures = Figures::new();
    if parts.contains(&Part::Kernels) {
        kernels(&mut figures)?;
    }
    if parts.contains(&Part::Steps) {
        let steps = Steps::new()?;
        let versions = steps.versions().unwrap_or_default();
        if writes || committed.versions == versions {
            steps.build()?;
            for way in STEPS {
                let run = |rounds| run(&mut steps.run(&VALGRIND, way, rounds));
                let figure = counted(run).map_err(|why| format!("{PYTHON} {way}: {why}"))?;
                figures.extend(figure.map(|figure| (format!("{PYTHON} {way}"), figure)));
            }
            committed.versions = versions;
        } else {
            println!("skipped: steps, whose figures are of {}; this is {versions}", committed.versions);
        }
    }
    let is_counted = |name: &str| parts.contains(&Part::of(name));
    if writes {
        committed.compiler = compiler;
        committed.figures.retain(|name, _| !is_counted(name));
        committed.figures.append(&mut figures);
        std::fs::write(root().join(FIGURES), committed.written()).map_err(|e| format!("{FIGURES}: {e}"))?;
        return Ok(0);
    }
    committed.figures.retain(|name, _| is_counted(name));
    let (lines, grown) = compared(&committed.figures, &figures);
    print!("{lines}");
    Ok(grown)
}

/// Counts the kernels' rows.
fn kernels(figures: &mut Figures) -> Result<(), String> {
    if !tee(bench(&[]).arg("--no-run")).success {
        return Err("building the benchmark did not work; see above".to_owned());
    }
    for (corpus, way, kernels) in rows() {
        match counted(|rounds| run_kernels(corpus, way, kernels, rounds)) {
            Ok(Some(figure)) => drop(figures.insert(format!("{corpus} {way} {kernels}"), figure)),
            Ok(None) => println!("skipped: {corpus} {way} {kernels}, this machine lacks {kernels}"),
            Err(why) => return Err(format!("{corpus} {way} {kernels}: {why}")),
        }
    }
    Ok(())
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let ways = CORPORA.into_iter().flat_map(|corpus| WAYS.map(|way| (corpus, way)));
    // Lines are found, and binary chunks decoded, by the same code under all kernels.
    ways.flat_map(|(corpus, way)| KERNELS.map(|kernels| (corpus, way, kernels)))
        .filter(|(_, way, kernels)| !matches!(*way, "index" | "binary") || *kernels == KERNELS[1])
}

/// The instructions for each sample of runs of so many rounds; `None` if the machine lacks the kernels.
fn counted(run: impl Fn(u32) -> Result<Option<(u64, u64)>, String>) -> Result<Option<f64>, String> {
    let (few, many) = ROUNDS;
    let Some((before, samples)) = run(few)? else { return Ok(None) };
    let Some((after, _)) = run(many)? else { return Ok(None) };
    Ok(Some(after.saturating_sub(before) as f64 / f64::from(many - few) / samples as f64))
}

/// The benchmark, compiled in the same way everywhere: what an incremental build inlines depends on the builds before it.
fn bench(options: &[&str]) -> Command {
    let mut command = cargo(options);
    command.args(BENCH).env("CARGO_INCREMENTAL", "0");
    command
}

fn run_kernels(corpus: &str, way: &str, kernels: &str, rounds: u32) -> Result<Option<(u64, u64)>, String> {
    let runner = format!("target.'cfg(all())'.runner = '{}'", VALGRIND.join(" "));
    let mut command = bench(&["--config", &runner]);
    command.args(["--", "instructions", corpus, way, kernels, &rounds.to_string()]);
    run(&mut command)
}

/// The instructions of a whole run, and its samples.
fn run(command: &mut Command) -> Result<Option<(u64, u64)>, String> {
    let (success, text) = output(command);
    match (success, refs(&text), samples(&text)) {
        (true, _, _) if text.contains("lacks ") => Ok(None),
        (true, Some(refs), Some(samples)) => Ok(Some((refs, samples))),
        _ => Err(format!("no count in\n{text}")),
    }
}

/// `==12== I   refs:      524,283,166`
fn refs(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("==") && line.contains("refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

fn samples(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("samples "))?.parse().ok()
}

/// The committed figures, and what they hold for.
#[derive(Debug, Default, PartialEq)]
struct Committed {
    compiler: String,
    /// Of steps: Python and NumPy.
    versions: String,
    figures: Figures,
}

impl Committed {
    fn parse(text: &str) -> Committed {
        let of =
            |start: &str| text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or("none").to_owned();
        let figures = text.lines().filter(|line| !line.starts_with('#'));
        let figures = figures.filter_map(|line| {
            let (name, figure) = line.rsplit_once(' ')?;
            Some((name.trim_end().to_string(), figure.parse().ok()?))
        });
        Committed { compiler: of("# of "), versions: of("# steps of "), figures: figures.collect() }
    }

    fn written(&self) -> String {
        let mut text = format!(
            "# Instructions for each sample, by corpus, way and kernels, and for each step through Python. `cargo xtask instructions`\n\
             # compares them, `cargo xtask instructions --write` writes them; they hold for one compiler, steps for one Python, too.\n\
             # of {}\n# steps of {}\n",
            self.compiler, self.versions
        );
        for (name, figure) in &self.figures {
            let _ = writeln!(text, "{name:<24} {figure:>10.1}");
        }
        text
    }
}

/// A line for each figure and a sum, and the number of figures that have grown.
fn compared(committed: &Figures, figures: &Figures) -> (String, usize) {
    let (mut lines, mut grown, mut skipped) = (String::new(), 0, 0);
    for (name, now) in figures {
        let Some(before) = committed.get(name) else {
            grown += 1;
            let _ = writeln!(lines, "FAIL {name}: {now:.1}, not in {FIGURES}; add it with `--write`");
            continue;
        };
        let change = now / before - 1.0;
        let tolerance = if Part::of(name) == Part::Steps { STEP_TOLERANCE } else { TOLERANCE };
        let verdict = match change {
            c if c > tolerance => "FAIL",
            c if c < -tolerance => "less, commit it with `--write`:",
            _ => "ok  ",
        };
        grown += usize::from(change > tolerance);
        let _ = writeln!(lines, "{verdict} {name}: {before:.1} to {now:.1}, {:+.1} %", change * 100.0);
    }
    for name in committed.keys().filter(|name| !figures.contains_key(*name)) {
        skipped += 1;
        let _ = writeln!(lines, "skipped: {name}, not counted here");
    }
    let _ = writeln!(lines, "{} figures, {grown} failed, {skipped} skipped", figures.len());
    (lines, grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(&str, f64)]) -> Figures {
        of.iter().map(|(name, figure)| (name.to_string(), *figure)).collect()
    }

    #[test]
    fn a_figure_that_grows_beyond_the_tolerance_fails() {
        let before = figures(&[("a x plain", 100.0), ("b x plain", 100.0), ("c x plain", 100.0)]);
        let now = figures(&[("a x plain", 102.9), ("b x plain", 103.1), ("c x plain", 90.0)]);
        let (lines, grown) = compared(&before, &now);
        assert_eq!(grown, 1, "{lines}");
        assert!(lines.contains("ok   a x plain") && lines.contains("FAIL b x plain"), "{lines}");
        assert!(lines.contains("--write`: c x plain"), "{lines}");
    }

    #[test]
    fn steps_differ_by_more_where_threads_wait() {
        let before = figures(&[("python text", 100.0), ("python batches", 100.0)]);
        let (lines, grown) =
            compared(&before, &figures(&[("python text", 109.0), ("python batches", 111.0)]));
        assert_eq!(grown, 1, "{lines}");
        assert!(lines.contains("ok   python text") && lines.contains("FAIL python batches"), "{lines}");
    }

    #[test]
    fn a_figure_without_a_count_is_skipped_by_name_and_a_new_one_fails() {
        let (lines, grown) = compared(&figures(&[("a x avx2", 1.0)]), &figures(&[("b x avx2", 1.0)]));
        assert_eq!(grown, 1);
        assert!(lines.contains("skipped: a x avx2") && lines.contains("FAIL b x avx2"), "{lines}");
        assert!(lines.ends_with("1 figures, 1 failed, 1 skipped\n"), "{lines}");
    }

    #[test]
    fn figures_that_are_written_are_read_back() {
        let all = Committed {
            compiler: "rustc 1".to_string(),
            versions: "Python 3, NumPy 2".to_string(),
            figures: figures(&[
                ("dense in-order plain", 1234.5),
                ("seq index avx2", 60.0),
                ("python text", 1.0),
            ]),
        };
        assert_eq!(Committed::parse(&all.written()), all);
    }

    #[test]
    fn the_count_of_valgrind_is_found_between_other_lines() {
        let text = "samples 40\n==7== \n==7== I   refs:      524,283,166\n";
        assert_eq!((refs(text), samples(text)), (Some(524_283_166), Some(40)));
    }
}
