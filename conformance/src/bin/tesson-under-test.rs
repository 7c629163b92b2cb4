//! The `tesson` command, built where the tests of this package can find it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = tesson_cli::main(std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}
