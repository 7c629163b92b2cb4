//! Python: the repository's environment in `.venv`, the extension in it, and its tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use crate::run::{answer, passes, program, root, tee};
use crate::tally::Tally;

/// The oldest Python that the wheel serves (abi3-py311).
pub(crate) const OLDEST: (u32, u32) = (3, 11);

const INSTALL: &str = "Python 3.11 or newer with `venv`: `apt install python3-venv`, `brew install python`, or \
                       https://www.python.org; name another interpreter in PYTHON";

/// Makes the environment and builds the extension into it.
pub(crate) fn main(_: &[String]) -> ExitCode {
    match ready() {
        Ok(python) => {
            println!("{} has tesson", python.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

const TESTS: &str = "crates/tesson-py/python/tests";

/// The number of kills for tests that kill runs, in CI; by default it is 50.
const FEW_KILLS: &str = "--kills=3";

/// Runs the Python tests without those of frameworks, since their threads conflict with a test that forks.
pub(crate) fn tests() -> Tally {
    with_python(|python| {
        let frameworks = ["jax", "torch", "ray"].map(|name| format!("--ignore-glob=*/test_{name}*.py"));
        pytest(python, &frameworks)
    })
}

/// Runs the tests of `tesson.jax`.
pub(crate) fn jax() -> Tally {
    with_python(|python| pytest(python, &[&tests_of("jax")[..], &[FEW_KILLS.into()]].concat()))
}

/// A framework that is too large to be installed for the tests of Tesson.
struct Framework {
    /// The beginning of the names of its tests.
    name: &'static str,
    called: &'static str,
    /// The arguments of `pip install`.
    packages: &'static str,
    /// The options that all of its tests are run with.
    whole: &'static [&'static str],
}

const TORCH: Framework =
    Framework { name: "torch", called: "PyTorch", packages: "torch torchdata", whole: &[] };
const RAY: Framework =
    Framework { name: "ray", called: "Ray", packages: "'ray[data,train]' torch", whole: &["--cluster"] };

impl Framework {
    /// Runs its tests if it is installed.
    fn tests(&self) -> Tally {
        with_python(|python| {
            if self.is_installed(python) {
                pytest(python, &[&tests_of(self.name)[..], &[FEW_KILLS.into()]].concat())
            } else {
                println!("skipped: {}", self.is_missing(python));
                Tally { skipped: tests_of(self.name).len() as u64, ..Tally::default() }
            }
        })
    }

    /// Runs its tests with all kills; without it that is a failure.
    fn all_tests(&self) -> Tally {
        with_python(|python| {
            if self.is_installed(python) {
                let whole = self.whole.iter().map(ToString::to_string);
                pytest(python, &tests_of(self.name).into_iter().chain(whole).collect::<Vec<_>>())
            } else {
                println!("{}", self.is_missing(python));
                Tally::one(false)
            }
        })
    }

    fn is_installed(&self, python: &PathBuf) -> bool {
        answer(program(python).args(["-c", &format!("import {}", self.name)])).is_some()
    }

    fn is_missing(&self, python: &Path) -> String {
        let Framework { called, packages, .. } = self;
        format!("{called} is not installed; `{} -m pip install {packages}` installs it", python.display())
    }
}

/// Runs the tests of `tesson.torch` if PyTorch is installed.
pub(crate) fn torch() -> Tally {
    TORCH.tests()
}

/// Runs all that `tesson.torch` is tested with; without PyTorch that is a failure.
pub(crate) fn all_of_torch() -> Tally {
    TORCH.all_tests()
}

/// Runs the tests of `tesson.ray` if Ray is installed.
pub(crate) fn ray() -> Tally {
    RAY.tests()
}

/// Runs all that `tesson.ray` is tested with; without Ray that is a failure.
pub(crate) fn all_of_ray() -> Tally {
    RAY.all_tests()
}

/// The files with the tests of a framework.
fn tests_of(framework: &str) -> Vec<String> {
    let beginning = format!("test_{framework}");
    let names = fs::read_dir(root().join(TESTS)).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let own = names.filter(|name| name.starts_with(&beginning) && name.ends_with(".py"));
    let mut own: Vec<String> = own.map(|name| format!("{TESTS}/{name}")).collect();
    own.sort();
    own
}

fn pytest(python: &PathBuf, arguments: &[String]) -> Tally {
    // A test that hangs shows where, and its output appears at once.
    let pytest = ["-u", "-m", "pytest", "-q", "-ra", "-o", "faulthandler_timeout=120"];
    let outcome = tee(program(python).args(pytest).args(arguments));
    Tally::read(&outcome.output).of_program(outcome.success)
}

/// Checks the stubs against the built module, and the package's own types.
pub(crate) fn stubs() -> Tally {
    with_python(|python| {
        // The one module with a stub; others may import frameworks that are not installed.
        passes(program(python).args(["-m", "mypy.stubtest", "tesson._tesson"]))
            + passes(program(python).args(["-m", "mypy"]))
    })
}

/// Counts with a ready interpreter; one failure if there is none.
pub(crate) fn with_python(count: impl FnOnce(&PathBuf) -> Tally) -> Tally {
    match ready() {
        Ok(python) => count(&python),
        Err(why) => {
            println!("{why}");
            Tally::one(false)
        }
    }
}

/// The interpreter of `.venv`, with everything installed and the extension built, once a run.
pub(crate) fn ready() -> Result<PathBuf, String> {
    static READY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    READY.get_or_init(prepare).clone()
}

/// An interpreter that is new enough.
pub(crate) fn find() -> Result<PathBuf, String> {
    let named = env::var_os("PYTHON").map(PathBuf::from);
    let candidates = named.into_iter().chain(["python3", "python"].map(PathBuf::from));
    let ask = "import sys, venv, ensurepip; print(*sys.version_info[:2])";
    let fits = |python: &PathBuf| {
        answer(program(python).args(["-c", ask])).and_then(|v| version(&v)).is_some_and(|v| v >= OLDEST)
    };
    candidates.into_iter().find(fits).ok_or_else(|| INSTALL.to_owned())
}

/// The numbers of `3 11`.
pub(crate) fn version(words: &str) -> Option<(u32, u32)> {
    let (major, minor) = words.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The interpreter of `.venv`, with everything installed but the extension.
pub(crate) fn interpreter() -> Result<PathBuf, String> {
    environment(&folder(), "xtask/python-requirements.txt")
}

fn prepare() -> Result<PathBuf, String> {
    let python = interpreter()?;
    build_extension(&python)?;
    Ok(python)
}

fn folder() -> PathBuf {
    root().join(".venv")
}

/// The interpreter of an environment in this folder that has what a list of the repository requires.
pub(crate) fn environment(folder: &Path, list: &str) -> Result<PathBuf, String> {
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(inside);
    if answer(program(&python).arg("--version")).is_none() {
        must(program(find()?).args(["-m", "venv", "--clear"]).arg(folder), "making a Python environment")?;
    }
    install_requirements(&python, &folder.join("installed.txt"), list)?;
    Ok(python)
}

fn install_requirements(python: &Path, note: &Path, list: &str) -> Result<(), String> {
    let required = fs::read_to_string(root().join(list)).map_err(|e| format!("{list}: {e}"))?;
    // The installed requirements are recorded, so that a second run needs no network.
    if fs::read_to_string(note).is_ok_and(|installed| installed == required) {
        return Ok(());
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", list];
    must(
        program(python).args(pip),
        &format!("installing the packages of {list} (this needs a network once)"),
    )?;
    fs::write(note, required).map_err(|e| format!("{}: {e}", note.display()))
}

fn build_extension(python: &PathBuf) -> Result<(), String> {
    // The dev profile and the shared target folder, so that nothing is built again that the Rust tests have built.
    let mut maturin = program(python);
    maturin.args(["-m", "maturin", "develop", "--quiet"]).env("VIRTUAL_ENV", folder());
    must(&mut maturin, "building the extension")
}

fn must(command: &mut Command, what: &str) -> Result<(), String> {
    if tee(command).success { Ok(()) } else { Err(format!("{what} did not work; see above")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version("3 11\n"), Some((3, 11)));
        assert!(version("3 9").unwrap() < OLDEST);
        assert!(version("3 100").unwrap() > OLDEST);
        assert_eq!(version("three"), None);
    }

    #[test]
    fn each_requirement_has_its_reason() {
        for list in [include_str!("../python-requirements.txt"), include_str!("../site-requirements.txt")] {
            let mut above = "";
            for line in list.lines() {
                assert!(line.is_empty() || line.starts_with('#') || above.starts_with('#'), "{line}");
                above = line;
            }
        }
    }
}
