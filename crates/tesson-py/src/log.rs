//! Events of the engine become records of Python's `logging`.
//!
//! Threads of the engine never touch Python: an event is put into a queue, and the caller of the source empties the
//! queue when its call is over. Each source has a queue and a trace level of its own: its calls, and the threads that work
//! for them, are in its [span](source_span). Events outside of any span are logged from warnings on, by the next call of
//! whatever kind.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tesson_core::Spelling;
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span;
use tracing::{Event, Level, Metadata, Span, Subscriber};
use tracing_core::span::Current;

use crate::errors;

/// Records kept for the next call, at most; what comes when a queue is full is counted and left out.
const KEPT: usize = 1000;

static WAITING: AtomicBool = AtomicBool::new(false);
static FIRST: Process = Process::new();
/// The last number that a span was given. Those of sources that a child inherits are not given again.
static LAST_SPAN: AtomicU64 = AtomicU64::new(0);

/// The queues of a process, and those of its child: a fork may have come while a thread held the lock, which no thread of the
/// child releases.
struct Process {
    queues: Mutex<Queues>,
    child: OnceLock<&'static Process>,
}

impl Process {
    const fn new() -> Process {
        let queues =
            Queues { spans: BTreeMap::new(), outside: Queue::new(Level::WARN, Spelling::Configurations) };
        Process { queues: Mutex::new(queues), child: OnceLock::new() }
    }

    fn current() -> &'static Process {
        let mut process = &FIRST;
        while let Some(child) = process.child.get() {
            process = child;
        }
        process
    }
}

/// The metadata of the spans of sources, which are all of one kind.
static SPAN: OnceLock<&'static Metadata<'static>> = OnceLock::new();

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

struct Queue {
    records: VecDeque<(Level, String)>,
    lost: u64,
    /// The least important level that is kept.
    most: Level,
    /// How its texts name options.
    spelling: Spelling,
}

impl Queue {
    const fn new(most: Level, spelling: Spelling) -> Queue {
        Queue { records: VecDeque::new(), lost: 0, most, spelling }
    }

    fn push(&mut self, level: Level, text: String) {
        if self.records.len() < KEPT {
            self.records.push_back((level, text));
        } else {
            self.lost += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.lost == 0
    }
}

struct Queues {
    /// By the number of the span, each with its users.
    spans: BTreeMap<u64, (Queue, usize)>,
    /// Of events outside of any span.
    outside: Queue,
}

impl Queues {
    fn of(&mut self, span: Option<u64>) -> &mut Queue {
        match span.and_then(|span| self.spans.get_mut(&span)) {
            Some((queue, _)) => queue,
            None => &mut self.outside,
        }
    }

    /// Sets whether there is anything for anybody.
    fn note_waiting(&self) {
        let is_waiting = !self.outside.is_empty() || self.spans.values().any(|(queue, _)| !queue.is_empty());
        WAITING.store(is_waiting, Ordering::Release);
    }
}

fn queues() -> MutexGuard<'static, Queues> {
    Process::current().queues.lock().unwrap_or_else(PoisonError::into_inner)
}

fn innermost() -> Option<u64> {
    ENTERED.with_borrow(|entered| entered.last().copied())
}

struct Forwarder;

impl Subscriber for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("tesson")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn event(&self, event: &Event<'_>) {
        let level = *event.metadata().level();
        let (most, spelling) = {
            let mut queues = queues();
            let queue = queues.of(innermost());
            (queue.most, queue.spelling)
        };
        if level > most {
            return;
        }
        let mut text = Text::default();
        spelling.within(|| event.record(&mut text));
        queues()
            .of(innermost())
            .push(level, tesson_core::readable(&(text.message + &text.values)).into_owned());
        WAITING.store(true, Ordering::Release);
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        SPAN.get_or_init(|| span.metadata());
        let mut of_source = OfSource { trace_level: 1, by_keywords: false };
        span.record(&mut of_source);
        let most = [Level::ERROR, Level::WARN, Level::INFO][of_source.trace_level.min(2) as usize];
        let queue = Queue::new(most, errors::spelling(of_source.by_keywords));
        let number = LAST_SPAN.fetch_add(1, Ordering::Relaxed) + 1;
        queues().spans.insert(number, (queue, 1));
        span::Id::from_u64(number)
    }

    fn clone_span(&self, span: &span::Id) -> span::Id {
        if let Some((_, users)) = queues().spans.get_mut(&span.into_u64()) {
            *users += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: span::Id) -> bool {
        let (mut queues, number) = (queues(), span.into_u64());
        let Some((_, users)) = queues.spans.get_mut(&number) else { return false };
        *users -= 1;
        let is_over = *users == 0;
        if is_over && let Some((left, _)) = queues.spans.remove(&number) {
            // Its threads may have logged something after the last call.
            queues.outside.lost += left.lost;
            left.records.into_iter().for_each(|(level, text)| queues.outside.push(level, text));
        }
        is_over
    }

    fn current_span(&self) -> Current {
        match (innermost(), SPAN.get()) {
            (Some(span), Some(metadata)) => Current::new(span::Id::from_u64(span), metadata),
            _ => Current::none(),
        }
    }

    fn enter(&self, span: &span::Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &span::Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|&number| number == span.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
}

/// The values of a span.
struct OfSource {
    trace_level: u64,
    by_keywords: bool,
}

impl Visit for OfSource {
    fn record_u64(&mut self, _: &Field, value: u64) {
        self.trace_level = value;
    }

    fn record_bool(&mut self, _: &Field, value: bool) {
        self.by_keywords = value;
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

/// A span for all that a source does, by which its events are known. `trace_level`: 0 errors, 1 warnings too, 2 everything.
/// `by_keywords`: options are named as keyword arguments.
pub(crate) fn source_span(trace_level: u8, by_keywords: bool) -> Span {
    tracing::info_span!(target: "tesson", "source", trace_level = u64::from(trace_level), by_keywords)
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
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    if IS_INSTALLED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    // The error says that another subscriber is there, which the program has chosen.
    if tracing::subscriber::set_global_default(Forwarder).is_ok()
        && let Ok(register) = py.import("os")?.getattr("register_at_fork")
    {
        let hooks = PyDict::new(py);
        hooks.set_item("after_in_child", wrap_pyfunction!(begin_child, py)?)?;
        register.call((), Some(&hooks))?;
    }
    Ok(())
}

/// Begins new queues in the child of a fork: what waits is its parent's to log.
#[pyfunction]
fn begin_child() {
    // No other thread is here to begin them, too.
    let _ = Process::current().child.set(Box::leak(Box::new(Process::new())));
    WAITING.store(false, Ordering::Release);
}

/// Hands what waits outside of sources to `logging.getLogger("tesson")`.
pub(crate) fn flush(py: Python<'_>) {
    flush_source(py, &Span::none());
}

/// Hands the waiting records of a source, then those from outside of sources, to `logging`.
pub(crate) fn flush_source(py: Python<'_>, source: &Span) {
    if !WAITING.load(Ordering::Acquire) {
        return;
    }
    let own = source.id().map(|span| span.into_u64());
    let (mut records, mut lost) = (VecDeque::new(), 0);
    {
        let mut queues = queues();
        for span in [own, None] {
            let queue = queues.of(span);
            records.append(&mut queue.records);
            lost += std::mem::take(&mut queue.lost);
        }
        queues.note_waiting();
    }
    if records.is_empty() && lost == 0 {
        return;
    }
    // A handler that raises must not cost the caller the minibatch that has just been read.
    if let Err(e) = forward(py, records, lost).or_else(|e| postpone_interrupt(py, e)) {
        e.write_unraisable(py, None);
    }
}

/// Lets Ctrl-C that came while a handler ran come again once the caller is back in Python.
fn postpone_interrupt(py: Python<'_>, e: PyErr) -> PyResult<()> {
    if e.is_instance_of::<PyKeyboardInterrupt>(py) {
        py.import("_thread")?.call_method0("interrupt_main").map(drop)
    } else {
        Err(e)
    }
}

fn forward(py: Python<'_>, records: VecDeque<(Level, String)>, lost: u64) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("tesson",))?;
    for (level, message) in records {
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
