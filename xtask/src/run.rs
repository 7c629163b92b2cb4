//! Running other programs: shown while they run, and kept for reading afterwards.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::tally::Tally;

/// The time limit of a program: a deadlock in a test must not hold a CI machine for hours.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The outcome of a program.
pub(crate) struct Outcome {
    /// True if it ran and exited with success.
    pub(crate) success: bool,
    /// Its standard output and standard error, line by line as they came.
    pub(crate) output: String,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root")
}

/// The target folder of cargo.
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

/// Shows and runs a command; its output passes through and is kept. One that hangs is ended.
pub(crate) fn tee(command: &mut Command) -> Outcome {
    println!("$ {}", shown(command));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return refused(command, &e),
    };
    let kept = Arc::new(Mutex::new(String::new()));
    let (over, ends) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    pass(stdout.expect("piped above"), std::io::stdout(), kept.clone(), over.clone());
    pass(stderr.expect("piped above"), std::io::stderr(), kept.clone(), over);
    let in_time = (0..2).all(|_| ends.recv_timeout(LONGEST).is_ok());
    if !in_time {
        println!("FAIL still running after {} minutes, ended: {}", LONGEST.as_secs() / 60, shown(command));
        // It may have ended by itself just now.
        let _ = child.kill();
    }
    let success = child.wait().is_ok_and(|status| status.success()) && in_time;
    let output = kept.lock().expect("passing lines on does not panic").clone();
    Outcome { success, output }
}

/// Shows and runs a command; one check, which its success passes.
pub(crate) fn passes(command: &mut Command) -> Tally {
    Tally::one(tee(command).success)
}

/// Runs a command silently. `None` if it does not exist or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command silently, as long as it takes: whether it succeeded, and its standard output and standard error.
pub(crate) fn output(command: &mut Command) -> (bool, String) {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(e) => return (false, refused(command, &e).output),
    };
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), text.concat())
}

/// True if `cargo NAME --version` works.
pub(crate) fn has_cargo_command(name: &str) -> bool {
    answer(&mut cargo(&[name, "--version"])).is_some()
}

/// Passes lines on and keeps them, in a new thread, and signals when there are no more.
fn pass(
    from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    kept: Arc<Mutex<String>>,
    over: mpsc::Sender<()>,
) {
    // Not joined: a program that was ended may leave child processes that hold its output open.
    thread::spawn(move || {
        let mut lines = BufReader::new(from);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            // A closed terminal must not end the run: the summary still counts.
            let _ = to.write_all(&line).and_then(|()| to.flush());
            kept.lock().expect("nobody panics with it").push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        // If the program was ended, the receiver is gone.
        let _ = over.send(());
    });
}

fn refused(command: &Command, error: &std::io::Error) -> Outcome {
    let output = format!("{}: {error}\n", command.get_program().to_string_lossy());
    eprint!("{output}");
    Outcome { success: false, output }
}

/// A command as a person would type it: its name, and its arguments.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
