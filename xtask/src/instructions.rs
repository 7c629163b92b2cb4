//! Instructions for each sample of the text kernels, counted by valgrind: figures that a busy machine does not change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use crate::run::{answer, cargo, output, program, root, tee};

/// The committed figures.
const FIGURES: &str = "bench/instructions.txt";

const CORPORA: [&str; 4] = ["dense", "mnist", "sparse", "seq"];
const WAYS: [&str; 4] = ["in-order", "index", "chunks", "binary"];
/// The kernels that any machine has, and the best that valgrind knows.
const KERNELS: [&str; 2] = ["plain", "avx2"];

/// The change of a figure that is none, in parts of it.
const TOLERANCE: f64 = 0.03;

/// Rounds of the two runs whose difference counts: what comes before the first round is in both, and so is the first,
/// which allocates.
const ROUNDS: (u32, u32) = (1, 3);

const BENCH: [&str; 5] = ["bench", "--package", "tesson-formats", "--bench", "ctf"];

/// Counts, and compares with the committed figures or, with `--write`, replaces them.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let writes = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => {
            eprintln!("usage: cargo xtask instructions [--write]");
            return ExitCode::from(2);
        }
    };
    let (Some(compiler), Some(_)) =
        (answer(program("rustc").arg("--version")), answer(program("valgrind").arg("--version")))
    else {
        println!("skipped: all figures; valgrind is not installed (apt install valgrind)");
        return ExitCode::SUCCESS;
    };
    let compiler = format!("{}, {}", compiler.trim(), std::env::consts::ARCH);
    let committed = std::fs::read_to_string(root().join(FIGURES)).unwrap_or_default();
    let (made_by, committed) = parsed(&committed);
    if !writes && made_by != compiler {
        println!("skipped: all {} figures, which are of {made_by}; this is {compiler}", committed.len());
        return ExitCode::SUCCESS;
    }
    if !tee(bench(&[]).arg("--no-run")).success {
        return ExitCode::FAILURE;
    }
    let mut figures = BTreeMap::new();
    for (corpus, way, kernels) in rows() {
        match counted(corpus, way, kernels) {
            Ok(Some(figure)) => drop(figures.insert(format!("{corpus} {way} {kernels}"), figure)),
            Ok(None) => println!("skipped: {corpus} {way} {kernels}, this machine lacks {kernels}"),
            Err(why) => {
                eprintln!("{corpus} {way} {kernels}: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    if writes {
        return match std::fs::write(root().join(FIGURES), written(&compiler, &figures)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("{FIGURES}: {e}");
                ExitCode::FAILURE
            }
        };
    }
    let (lines, grown) = compared(&committed, &figures);
    print!("{lines}");
    ExitCode::from(u8::from(grown > 0))
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let ways = CORPORA.into_iter().flat_map(|corpus| WAYS.map(|way| (corpus, way)));
    // Lines are found, and binary chunks decoded, by the same code under all kernels.
    ways.flat_map(|(corpus, way)| KERNELS.map(|kernels| (corpus, way, kernels)))
        .filter(|(_, way, kernels)| !matches!(*way, "index" | "binary") || *kernels == KERNELS[1])
}

/// The instructions for each sample; `None` if the machine lacks the kernels.
fn counted(corpus: &str, way: &str, kernels: &str) -> Result<Option<f64>, String> {
    let (few, many) = ROUNDS;
    let Some((before, samples)) = run(corpus, way, kernels, few)? else { return Ok(None) };
    let Some((after, _)) = run(corpus, way, kernels, many)? else { return Ok(None) };
    Ok(Some(after.saturating_sub(before) as f64 / f64::from(many - few) / samples as f64))
}

/// The benchmark, compiled in the same way everywhere: what an incremental build inlines depends on the builds before it.
fn bench(options: &[&str]) -> Command {
    let mut command = cargo(options);
    command.args(BENCH).env("CARGO_INCREMENTAL", "0");
    command
}

/// The instructions of a whole run, and its samples.
fn run(corpus: &str, way: &str, kernels: &str, rounds: u32) -> Result<Option<(u64, u64)>, String> {
    let runner = "target.'cfg(all())'.runner = \
                  'valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null'";
    let mut command = bench(&["--config", runner]);
    command.args(["--", "instructions", corpus, way, kernels, &rounds.to_string()]);
    let (success, text) = output(&mut command);
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

/// The compiler of committed figures, and the figures by their names.
fn parsed(text: &str) -> (String, BTreeMap<String, f64>) {
    let compiler = text.lines().find_map(|line| line.strip_prefix("# of ")).unwrap_or("no compiler");
    let figures = text.lines().filter(|line| !line.starts_with('#'));
    let figures = figures.filter_map(|line| {
        let (name, figure) = line.rsplit_once(' ')?;
        Some((name.trim_end().to_string(), figure.parse().ok()?))
    });
    (compiler.to_string(), figures.collect())
}

fn written(compiler: &str, figures: &BTreeMap<String, f64>) -> String {
    let mut text = format!(
        "# Instructions for each sample, by corpus, way and kernels. `cargo xtask instructions` compares them,\n\
         # `cargo xtask instructions --write` writes them; they hold for one compiler.\n# of {compiler}\n"
    );
    for (name, figure) in figures {
        let _ = writeln!(text, "{name:<24} {figure:>10.1}");
    }
    text
}

/// A line for each figure and a sum, and the number of figures that have grown.
fn compared(committed: &BTreeMap<String, f64>, figures: &BTreeMap<String, f64>) -> (String, usize) {
    let (mut lines, mut grown, mut skipped) = (String::new(), 0, 0);
    for (name, now) in figures {
        let Some(before) = committed.get(name) else {
            grown += 1;
            let _ = writeln!(lines, "FAIL {name}: {now:.1}, not in {FIGURES}; add it with `--write`");
            continue;
        };
        let change = now / before - 1.0;
        let verdict = match change {
            c if c > TOLERANCE => "FAIL",
            c if c < -TOLERANCE => "less, commit it with `--write`:",
            _ => "ok  ",
        };
        grown += usize::from(change > TOLERANCE);
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

    fn figures(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
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
    fn a_figure_without_a_count_is_skipped_by_name_and_a_new_one_fails() {
        let (lines, grown) = compared(&figures(&[("a x avx2", 1.0)]), &figures(&[("b x avx2", 1.0)]));
        assert_eq!(grown, 1);
        assert!(lines.contains("skipped: a x avx2") && lines.contains("FAIL b x avx2"), "{lines}");
        assert!(lines.ends_with("1 figures, 1 failed, 1 skipped\n"), "{lines}");
    }

    #[test]
    fn figures_that_are_written_are_read_back() {
        let all = figures(&[("dense in-order plain", 1234.5), ("seq index avx2", 60.0)]);
        assert_eq!(parsed(&written("rustc 1", &all)), ("rustc 1".to_string(), all));
    }

    #[test]
    fn the_count_of_valgrind_is_found_between_other_lines() {
        let text = "samples 40\n==7== \n==7== I   refs:      524,283,166\n";
        assert_eq!((refs(text), samples(text)), (Some(524_283_166), Some(40)));
    }
}
