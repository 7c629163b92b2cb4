//! Running other programs: shown while they run, and kept for reading afterwards.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// What a program did.
pub(crate) struct Outcome {
    /// It ran and said so.
    pub(crate) success: bool,
    /// Its standard output, then its standard error.
    pub(crate) output: String,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The command-line tool as the tests build it.
pub(crate) fn built_tesson() -> PathBuf {
    target().join("debug").join(format!("tesson{}", env::consts::EXE_SUFFIX))
}

/// Cargo in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// A program in the root of the repository.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Shows and runs a command; its output passes through and is kept.
pub(crate) fn tee(command: &mut Command) -> Outcome {
    println!("$ {}", shown(command));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return refused(command, &e),
    };
    let stderr = child.stderr.take().expect("piped above");
    let errors = thread::spawn(move || pass(stderr, std::io::stderr()));
    let mut output = pass(child.stdout.take().expect("piped above"), std::io::stdout());
    output.push_str(&errors.join().expect("passing lines on does not panic"));
    let success = child.wait().is_ok_and(|status| status.success());
    Outcome { success, output }
}

/// Runs a command silently. `None` if it does not exist or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether `cargo NAME --version` works.
pub(crate) fn has_cargo_command(name: &str) -> bool {
    answer(&mut cargo(&[name, "--version"])).is_some()
}

fn pass(from: impl Read, mut to: impl Write) -> String {
    let mut kept = String::new();
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        // A closed terminal must not end the run: the summary still counts.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        kept.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    kept
}

fn refused(command: &Command, error: &std::io::Error) -> Outcome {
    let output = format!("{}: {error}\n", command.get_program().to_string_lossy());
    eprint!("{output}");
    Outcome { success: false, output }
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
