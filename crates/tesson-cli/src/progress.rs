//! The progress bar: on standard error, and only where that is a terminal.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The bar that is shown now, so that log lines can be written above it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Something under way that is shown until it is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows that something of unknown length is under way.
    pub(crate) fn spinner(what: &str) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(style("{spinner} {msg} {elapsed}"));
        Progress::show(bar, what)
    }

    /// Does something of unknown length, and shows meanwhile that it is under way.
    pub(crate) fn during<T>(what: &str, act: impl FnOnce() -> T) -> T {
        let _progress = Progress::spinner(what);
        act()
    }

    /// Shows how many of `total` samples are done; `None` where there is no end.
    ///
    /// Hidden where standard output is a terminal too: the lines written there are progress enough.
    pub(crate) fn samples(what: &str, total: Option<u64>) -> Progress {
        if !stderr().is_terminal() || stdout().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
        bar.set_style(style(match total {
            Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} samples, {per_sec}, {eta} left",
            None => "{spinner} {msg} {human_pos} samples, {per_sec}",
        }));
        Progress::show(bar, what)
    }

    /// Shows how many of `total` bytes are done.
    pub(crate) fn bytes(what: &str, total: u64) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_style(style("{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left"));
        Progress::show(bar, what)
    }

    /// Shows how many of `total` examples are done.
    pub(crate) fn examples(what: &str, total: u64) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_style(style("{msg} {wide_bar} {percent} % of {human_len} examples, {per_sec}, {eta} left"));
        Progress::show(bar, what)
    }

    /// Sets the position.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    fn show(bar: ProgressBar, what: &str) -> Progress {
        bar.set_message(what.to_owned());
        // A thread ticks: there may be none for a hidden bar, nor where no thread can be started, which would be a panic.
        if !bar.is_hidden() && thread::Builder::new().spawn(|| ()).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Progress(bar)
    }

    /// This many more samples are done.
    pub(crate) fn advance(&self, samples: u64) {
        self.0.inc(samples);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Writes a line to standard error, above the bar if one is shown.
pub(crate) fn note(line: &str) {
    let bar = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(|| write_line(line)),
        None => write_line(line),
    }
}

/// The only place that writes to standard error. If it cannot be written (`2>/dev/full`, a closed pipe), messages
/// are dropped and the command continues; its exit code says how it ended.
fn write_line(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are valid")
}
