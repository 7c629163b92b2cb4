//! The steps through Python whose instructions are counted.

use std::process::Command;

use crate::optimised_package::OptimisedPackage;
use crate::run::tee;

/// Names of the ways of `bench/python_instructions.py`.
pub(crate) const WAYS: [&str; 3] = ["text", "batches", "examples"];

const PROGRAM: &str = "bench/python_instructions.py";

/// Settings of a release build that takes a third of the time: optimisation across crates takes as much off any step, before a change
/// and after it.
const QUICK_BUILD: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")];

/// The package that the steps run in.
pub(crate) struct Steps(OptimisedPackage);

impl Steps {
    /// With nothing built.
    ///
    /// # Errors
    /// No interpreter.
    pub(crate) fn new() -> Result<Steps, String> {
        OptimisedPackage::new().map(Steps)
    }

    /// The versions of Python and NumPy, beside the compiler the conditions of figures.
    pub(crate) fn versions(&self) -> Option<String> {
        self.0.answer(
            "import platform, numpy; print(f'Python {platform.python_version()}, NumPy {numpy.__version__}')",
        )
    }

    /// Builds the package, and runs each way once.
    ///
    /// # Errors
    /// The step that did not work.
    pub(crate) fn build(&self) -> Result<(), String> {
        self.0.build(&QUICK_BUILD)?;
        // Modules are compiled once and for all here, and not while instructions are counted.
        let runs = |way: &&str| tee(&mut self.run(&[], way, 1)).success;
        if WAYS.iter().all(runs) { Ok(()) } else { Err(format!("{PROGRAM} did not work; see above")) }
    }

    /// The command that runs `rounds` rounds of a way, under the program `runner` unless it is empty.
    pub(crate) fn run(&self, runner: &[&str], way: &str, rounds: u32) -> Command {
        let mut command = self.0.python(runner);
        command.args([PROGRAM, way, &rounds.to_string()]);
        // What hashes and names of files decide is the same each time.
        command.env("PYTHONHASHSEED", "0").env_remove("PYTHONDONTWRITEBYTECODE");
        command
    }
}
