//! The program as a reader of cases: `tesson read --json`, a process for each step or minibatch.
//!
//! Only a state file passes from one process to the next, so a case with several steps also tests resuming in a fresh
//! process. Anything that exists in one process alone is not shown: a minibatch that could not be packed is tried
//! again by the next process and not skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

use serde_json::{Value, json};

use crate::reader::error;
use crate::{Case, Reader, Request, Times};

/// Reads a case by running a program.
pub struct Cli {
    program: PathBuf,
    config: Value,
    dir: PathBuf,
    /// The folder of the configuration and states.
    folder: PathBuf,
    /// True if the state file belongs to a source that is open.
    open: bool,
    stopped: bool,
}

/// `tesson`'s exit code for errors of data and storage; those of usage and configuration have another.
const DATA_ERROR: i32 = 1;

impl Cli {
    /// A reader for a case, with a folder for its files, which is emptied.
    ///
    /// # Errors
    /// The file system's error.
    pub fn new(program: &Path, case: &Case, folder: &Path) -> io::Result<Cli> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let cli = Cli {
            program: program.to_path_buf(),
            config: case.source.clone().into(),
            dir: case.dir.clone(),
            folder: folder.to_path_buf(),
            open: false,
            stopped: false,
        };
        fs::write(cli.config_file(), cli.config.to_string())?;
        Ok(cli)
    }

    /// True if an error of data has ended a process, after which there is no state to resume from. Later requests
    /// were not answered.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    fn config_file(&self) -> PathBuf {
        self.folder.join("source.json")
    }

    fn state_file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("read").arg(self.config_file()).args(["--json", "--layout", "--base-dir"]).arg(&self.dir);
        // With the reference's random draws there are no states: such a case is one reading from the start.
        if self.config["augmentation"] == "cntk" {
            return command;
        }
        command.arg("--save-state").arg(self.state_file());
        if self.open {
            command.arg("--state").arg(self.state_file());
        }
        command
    }

    /// Opens the source, and closes it again.
    fn look(&mut self) -> Result<(), String> {
        let (lines, _) = answers(self.command().args(["--take", "0"]))?;
        match lines.iter().find_map(|line| line.get("error")) {
            Some(what) => Err(what.to_string()),
            None => Ok(()),
        }
    }

    /// Runs one process. `take` is the number of minibatches; without it, it reads to the end.
    fn read(&mut self, request: &Request, take: Option<u64>) -> Vec<Value> {
        let (Some(samples), None) = (request.samples, request.sequences) else {
            return vec![error("the program takes sizes in samples only")];
        };
        let mut command = self.command();
        let numbers =
            [("--minibatch-size", samples), ("--workers", request.workers), ("--rank", request.rank)];
        for (name, number) in numbers.into_iter().chain(take.map(|n| ("--take", n))) {
            command.arg(name).arg(number.to_string());
        }
        match answers(&mut command) {
            Ok((lines, code)) => {
                self.stopped |= code == Some(DATA_ERROR);
                lines
            }
            Err(what) => vec![error(what)],
        }
    }
}

impl Reader for Cli {
    fn open(&mut self) -> Result<(), String> {
        self.open = false;
        self.look()?;
        self.open = true;
        Ok(())
    }

    fn next(&mut self, request: &Request, times: Times) -> Vec<Value> {
        let (take, n) = match times {
            Times::UntilEnd => (None, 1),
            Times::Repeat(n) => (Some(1), n),
        };
        let mut answers = Vec::new();
        for _ in 0..n {
            if !self.stopped {
                answers.extend(self.read(request, take));
            }
        }
        answers
    }

    fn state(&mut self) -> Result<Value, String> {
        let text = fs::read_to_string(self.state_file()).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| format!("the state that was saved: {e}"))
    }

    fn restore(&mut self, state: &Value) -> Result<(), String> {
        fs::write(self.state_file(), state.to_string()).map_err(|e| e.to_string())?;
        self.look()
    }
}

/// The answers that a process printed, and its exit code. An error on standard error alone is an answer, too.
fn answers(command: &mut Command) -> Result<(Vec<Value>, Option<i32>), String> {
    let Output { status, stdout, stderr } = command.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8(stdout).map_err(|e| e.to_string())?;
    let parse = |line: &str| serde_json::from_str(line).map_err(|e| format!("no line of JSON: {e}: {line}"));
    let mut lines: Vec<Value> = text.lines().map(parse).collect::<Result<_, _>>()?;
    let said = lines.iter().any(|line| line.get("error").is_some());
    if said == status.success() {
        let what =
            format!("exit code {:?}, {} on standard error", status.code(), String::from_utf8_lossy(&stderr));
        if said {
            return Err(format!("an error was printed, but {what}"));
        }
        lines.push(json!({"error": what}));
    }
    Ok((lines, status.code()))
}
