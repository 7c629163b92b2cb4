//! Events of the engine become records of Python's `logging`.
//!
//! Threads of the engine never touch Python: an event is put into a queue, and the caller of the source empties the
//! queue when its call is over.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

/// Records kept for the next call, at most; what comes when the queue is full is counted and left out.
const KEPT: usize = 1000;

static WAITING: AtomicBool = AtomicBool::new(false);
static QUEUE: Mutex<Queue> = Mutex::new(Queue { records: VecDeque::new(), lost: 0 });

struct Queue {
    records: VecDeque<(Level, String)>,
    lost: u64,
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Forwarder;

impl Subscriber for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO && metadata.target().starts_with("tesson")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let mut queue = queue();
        if queue.records.len() < KEPT {
            queue.records.push_back((*event.metadata().level(), text.message + &text.values));
        } else {
            queue.lost += 1;
        }
        WAITING.store(true, Ordering::Release);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        // Spans are not enabled above; the number is never looked at.
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// An event as text: its message, then its other values as ` name=value`.
#[derive(Default)]
struct Text {
    message: String,
    values: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.values, " {name}={value:?}"),
        };
        written.expect("a String takes everything");
    }
}

/// Listens from now on, unless other code in this process listens already.
pub(crate) fn install() {
    // The error says that another subscriber is there: an earlier call's, or one that the program has chosen.
    let _ = tracing::subscriber::set_global_default(Forwarder);
}

/// Hands what has been put into the queue to `logging.getLogger("tesson")`.
///
/// `trace_level` is the caller's: 0 errors, 1 warnings too, 2 everything.
pub(crate) fn flush(py: Python<'_>, trace_level: u8) {
    flush_spelt(py, trace_level, false);
}

/// The same; `by_keywords` brings options into the spelling of keyword arguments.
pub(crate) fn flush_spelt(py: Python<'_>, trace_level: u8, by_keywords: bool) {
    if !WAITING.load(Ordering::Acquire) {
        return;
    }
    let (mut records, lost) = {
        let mut queue = queue();
        WAITING.store(false, Ordering::Release);
        (std::mem::take(&mut queue.records), std::mem::take(&mut queue.lost))
    };
    let most = [Level::ERROR, Level::WARN, Level::INFO][usize::from(trace_level.min(2))];
    records.retain(|(level, _)| *level <= most);
    // A handler that raises must not cost the caller the minibatch that has just been read.
    if let Err(e) = forward(py, records, lost, by_keywords).or_else(|e| postpone_interrupt(py, e)) {
        e.write_unraisable(py, None);
    }
}

/// Lets Ctrl-C that came while a handler ran come again once the caller is back in Python.
fn postpone_interrupt(py: Python<'_>, e: PyErr) -> PyResult<()> {
    match e.is_instance_of::<PyKeyboardInterrupt>(py) {
        true => py.import("_thread")?.call_method0("interrupt_main").map(drop),
        false => Err(e),
    }
}

fn forward(py: Python<'_>, records: VecDeque<(Level, String)>, lost: u64, by_keywords: bool) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("tesson",))?;
    for (level, mut message) in records {
        if by_keywords {
            message = py.import("tesson.spelling")?.call_method1("spelt", (message,))?.extract()?;
        }
        logger.call_method1("log", (number(level), "%s", message))?;
    }
    if lost > 0 {
        logger.call_method1("warning", ("%d more messages were left out", lost))?;
    }
    Ok(())
}

/// A level as Python's `logging` numbers it.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        _ => 20,
    }
}
