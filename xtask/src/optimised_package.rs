//! The package of Python with an extension as users have it: what figures of Python are measured in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{answer, cargo, program, root, target, tee};

/// A copy of the package's modules beside an optimised extension, and an interpreter.
pub(crate) struct OptimisedPackage {
    python: PathBuf,
    /// The folder that the package is imported from.
    folder: PathBuf,
}

impl OptimisedPackage {
    /// With nothing built.
    ///
    /// # Errors
    /// No interpreter.
    pub(crate) fn new() -> Result<OptimisedPackage, String> {
        let python = crate::python::interpreter()?;
        Ok(OptimisedPackage { python, folder: target().join("optimised") })
    }

    /// Builds the extension, with these variables of the environment, and puts it beside a copy of the package's modules.
    ///
    /// # Errors
    /// The step that did not work.
    pub(crate) fn build(&self, settings: &[(&str, &str)]) -> Result<(), String> {
        let mut build = cargo(&["build", "--release", "--package", "tesson-py"]);
        build.env("CARGO_INCREMENTAL", "0").envs(settings.iter().copied());
        if !tee(&mut build).success {
            return Err("building the extension did not work; see above".to_owned());
        }
        let io = |e: std::io::Error| format!("{}: {e}", self.folder.display());
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(io)?;
        }
        let package = self.folder.join("tesson");
        copy_modules(&root().join("crates/tesson-py/python/tesson"), &package).map_err(io)?;
        let built = target().join("release/lib_tesson.so");
        fs::copy(&built, package.join("_tesson.abi3.so")).map_err(|e| format!("{}: {e}", built.display()))?;
        Ok(())
    }

    /// The interpreter, which will import this package, under the program `runner` unless it is empty.
    pub(crate) fn python(&self, runner: &[&str]) -> Command {
        let mut command = match runner {
            [first, rest @ ..] => {
                let mut command = program(first);
                command.args(rest).arg(&self.python);
                command
            }
            [] => program(&self.python),
        };
        command.env("PYTHONPATH", &self.folder);
        command
    }

    /// The answer of a program of one line.
    pub(crate) fn answer(&self, line: &str) -> Option<String> {
        answer(self.python(&[]).args(["-c", line])).map(|text| text.trim().to_owned())
    }

    /// True if a module can be imported.
    pub(crate) fn has(&self, module: &str) -> bool {
        self.answer(&format!("import {module}")).is_some()
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
