//! The steps through Python whose instructions are counted, and the package that they run in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{answer, cargo, program, root, target, tee};

/// Names of the ways of `bench/python_instructions.py`.
pub(crate) const WAYS: [&str; 3] = ["text", "batches", "examples"];

const PROGRAM: &str = "bench/python_instructions.py";

/// Settings of a release build that takes a third of the time: optimisation across crates takes as much off any step, before a change
/// and after it.
const QUICK_BUILD: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")];

/// The package with an optimised extension, and an interpreter.
pub(crate) struct Steps {
    python: PathBuf,
    /// The folder that the package is imported from.
    package: PathBuf,
}

impl Steps {
    /// With nothing built.
    ///
    /// # Errors
    /// No interpreter.
    pub(crate) fn new() -> Result<Steps, String> {
        let python = crate::python::interpreter()?;
        Ok(Steps { python, package: target().join("instructions") })
    }

    /// The versions of Python and NumPy, beside the compiler the conditions of figures.
    pub(crate) fn versions(&self) -> Option<String> {
        let ask =
            "import platform, numpy; print(f'Python {platform.python_version()}, NumPy {numpy.__version__}')";
        answer(program(&self.python).args(["-c", ask])).map(|versions| versions.trim().to_owned())
    }

    /// Builds the extension, and puts it beside a copy of the package's modules.
    ///
    /// # Errors
    /// The step that did not work.
    pub(crate) fn build(&self) -> Result<(), String> {
        let mut build = cargo(&["build", "--release", "--package", "tesson-py"]);
        build.env("CARGO_INCREMENTAL", "0").envs(QUICK_BUILD);
        if !tee(&mut build).success {
            return Err("building the extension did not work; see above".to_owned());
        }
        let io = |e: std::io::Error| format!("{}: {e}", self.package.display());
        if self.package.exists() {
            fs::remove_dir_all(&self.package).map_err(io)?;
        }
        let package = self.package.join("tesson");
        copy_modules(&root().join("crates/tesson-py/python/tesson"), &package).map_err(io)?;
        let built = target().join("release/lib_tesson.so");
        fs::copy(&built, package.join("_tesson.abi3.so")).map_err(|e| format!("{}: {e}", built.display()))?;
        // Modules are compiled once and for all here, and not while instructions are counted.
        let runs = |way: &&str| tee(&mut self.run(&[], way, 1)).success;
        if WAYS.iter().all(runs) { Ok(()) } else { Err(format!("{PROGRAM} did not work; see above")) }
    }

    /// The command that runs `rounds` rounds of a way, under the program `runner` unless it is empty.
    pub(crate) fn run(&self, runner: &[&str], way: &str, rounds: u32) -> Command {
        let mut command = match runner {
            [first, rest @ ..] => {
                let mut command = program(first);
                command.args(rest).arg(&self.python);
                command
            }
            [] => program(&self.python),
        };
        command.args([PROGRAM, way, &rounds.to_string()]);
        // What hashes and names of files decide is the same each time.
        command
            .env("PYTHONPATH", &self.package)
            .env("PYTHONHASHSEED", "0")
            .env_remove("PYTHONDONTWRITEBYTECODE");
        command
    }
}

/// Copies the modules of a package: no extension, and nothing compiled.
fn copy_modules(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() && name != "__pycache__" {
            copy_modules(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
