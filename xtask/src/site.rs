//! The site: the manual as pages of HTML, with MkDocs in an environment of its own.

use std::process::ExitCode;

use crate::python;
use crate::run::{program, target, tee};

/// Builds the site; a warning, such as of a link that leads nowhere, is a failure.
pub(crate) fn main(_: &[String]) -> ExitCode {
    let python = match python::environment(&target().join("site-venv"), "xtask/site-requirements.txt") {
        Ok(python) => python,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let site = target().join("site");
    let mut command = program(python);
    command.args(["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]).arg(&site);
    // MkDocs' theme announces other programs on every run.
    let built = tee(command.env("NO_MKDOCS_2_WARNING", "1")).success;
    if built {
        println!("{}", site.join("index.html").display());
    }
    ExitCode::from(u8::from(!built))
}
