//! The `tesson` command, built where the tests of this package can find it, with the format that only its cases have: as in
//! a program of a user's own.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use tesson::ConfigError;
use tesson_cli::Extensions;
use tesson_core::Registry;
use tesson_core::Section;

struct Cases;

impl Extensions for Cases {
    fn registry(&self) -> Registry {
        tesson_conformance::registry()
    }

    fn resolve(&self, _: &mut Section, _: Option<&Path>) -> Result<(), ConfigError> {
        Ok(())
    }
}

fn main() -> ExitCode {
    let code = tesson_cli::main_with(&Cases, std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}
