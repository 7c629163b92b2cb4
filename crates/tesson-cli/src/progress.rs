//! The progress bar: on standard error, and only where that is a terminal.

use std::fmt;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tesson_report::Unit;
use tesson_report::text::count;

/// The bar that is shown now, so that log lines can be written above it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The time from one drawing to the next.
const TICK: Duration = Duration::from_millis(100);

/// How long something takes before [`Progress::later`] shows it.
const MOMENT: Duration = Duration::from_millis(500);

const OF_BYTES: &str =
    "{msg} {wide_bar} {percent} % of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
const OF_EXAMPLES: &str = "{msg} {wide_bar} {percent} % of {human_len} examples, {rate}, {eta} left";

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

    /// Does something of `total` bytes, of which `done` tells how many are done, and shows that meanwhile. Without a total, or without a thread that
    /// looks, it is shown that something is under way.
    pub(crate) fn watching<T>(
        what: &str,
        total: Option<u64>,
        done: impl Fn() -> u64 + Sync,
        act: impl FnOnce() -> T,
    ) -> T {
        let Some(total) = total.filter(|&total| total > 0 && stderr().is_terminal()) else {
            return Progress::during(what, act);
        };
        // Several passes, or bytes that are unpacked, may be more than there are.
        Progress::bytes(what, total).ticking(|bar| bar.set_position(done().min(total)), act)
    }

    /// Does something that goes through examples, of which `done` tells how many it has, and shows their rate meanwhile; where the time is limited,
    /// also how much of it is over.
    pub(crate) fn rating<T>(
        what: &str,
        time: Option<Duration>,
        done: impl Fn() -> u64 + Sync,
        act: impl FnOnce() -> T,
    ) -> T {
        let bar = match time {
            _ if !stderr().is_terminal() => ProgressBar::hidden(),
            Some(time) => ProgressBar::new(time.as_millis() as u64),
            None => ProgressBar::new_spinner(),
        };
        bar.set_style(style(match time {
            Some(_) => "{msg} {wide_bar} {percent} %, {eta} left",
            None => "{spinner} {msg} {elapsed}",
        }));
        let started = Instant::now();
        let tick = |bar: &ProgressBar| {
            let elapsed = started.elapsed();
            let rate = (done() as f64 / elapsed.as_secs_f64().max(1e-3)) as u64;
            bar.set_message(format!("{what}, {} examples/s", count(rate)));
            if time.is_some() {
                bar.set_position(elapsed.as_millis() as u64);
            }
        };
        Progress::show(bar, what).ticking(tick, act)
    }

    /// Does something of `total` parts, of which `done` returns how many are done, and shows the progress on a terminal as soon as it has taken
    /// longer than a moment.
    pub(crate) fn later<T>(
        what: &str,
        unit: Unit,
        total: u64,
        done: impl Fn() -> u64 + Sync,
        act: impl FnOnce() -> T,
    ) -> T {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_style(style(if unit == Unit::Bytes { OF_BYTES } else { OF_EXAMPLES }));
        let started = Instant::now();
        let tick = |bar: &ProgressBar| {
            if bar.is_hidden() && started.elapsed() >= MOMENT {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(done().min(total));
        };
        let shown = Progress::show(bar, what);
        tesson_report::ticking(TICK, || tick(&shown.0), act)
    }

    /// Does something, and calls `tick` again and again meanwhile, unless nothing is shown or no thread can be started.
    fn ticking<T>(self, tick: impl Fn(&ProgressBar) + Sync, act: impl FnOnce() -> T) -> T {
        if self.0.is_hidden() {
            return act();
        }
        tesson_report::ticking(TICK, || tick(&self.0), act)
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
            Some(_) => "{msg} {wide_bar} {percent} % of {human_len} samples, {rate}, {eta} left",
            None => "{spinner} {msg} {human_pos} samples, {rate}",
        }));
        Progress::show(bar, what)
    }

    /// Shows how many of `total` bytes are done.
    pub(crate) fn bytes(what: &str, total: u64) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_style(style(OF_BYTES));
        Progress::show(bar, what)
    }

    /// Shows how many of `total` equally large parts are done.
    pub(crate) fn parts(what: &str, total: u64) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_style(style("{msg} {wide_bar} {percent} %, {eta} left"));
        Progress::show(bar, what)
    }

    /// Shows how many of `total` examples are done.
    pub(crate) fn examples(what: &str, total: u64) -> Progress {
        let bar = if stderr().is_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_style(style(OF_EXAMPLES));
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
            bar.enable_steady_tick(TICK);
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
    let style = ProgressStyle::with_template(template).expect("the templates above are valid");
    // The bar's own rate has four digits after the point.
    style.with_key("rate", |state: &ProgressState, text: &mut dyn fmt::Write| {
        // It is for people, and missing where it cannot be written.
        let _ = write!(text, "{}/s", count(state.per_sec() as u64));
    })
}
