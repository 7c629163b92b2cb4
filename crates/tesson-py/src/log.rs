//! Events of the engine become records of Python's `logging`.
//!
//! Threads of the engine never touch Python: an event is put into a queue, and the caller of the source empties the
//! queue when its call is over. Each source has a queue of its own, as it has a trace level: its calls, and the threads that work
//! for them, are in its [span](source_span). What is outside of any span waits for the next call of whatever kind.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span;
use tracing::{Event, Level, Metadata, Span, Subscriber};
use tracing_core::span::Current;

/// Records kept for the next call, at most; what comes when a queue is full is counted and left out.
const KEPT: usize = 1000;

static WAITING: AtomicBool = AtomicBool::new(false);
static QUEUES: Mutex<Queues> =
    Mutex::new(Queues { of_spans: BTreeMap::new(), outside: Queue::new(), spans: BTreeMap::new(), last: 0 });

/// What is known of the spans of sources, which are all of one kind.
static SPAN: OnceLock<&'static Metadata<'static>> = OnceLock::new();

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Queue {
    records: VecDeque<(Level, String)>,
    lost: u64,
}

impl Queue {
    const fn new() -> Queue {
        Queue { records: VecDeque::new(), lost: 0 }
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.lost == 0
    }
}

struct Queues {
    /// By the number of the span. A span without a queue has nothing that waits.
    of_spans: BTreeMap<u64, Queue>,
    /// Of events outside of any span.
    outside: Queue,
    /// Spans that there are, and their users.
    spans: BTreeMap<u64, usize>,
    /// The last number that a span was given.
    last: u64,
}

impl Queues {
    fn of(&mut self, span: Option<u64>) -> &mut Queue {
        match span.filter(|span| self.spans.contains_key(span)) {
            Some(span) => self.of_spans.entry(span).or_default(),
            None => &mut self.outside,
        }
    }

    /// Sets whether there is anything for anybody.
    fn note_waiting(&self) {
        WAITING.store(!self.of_spans.is_empty() || !self.outside.is_empty(), Ordering::Release);
    }
}

fn queues() -> MutexGuard<'static, Queues> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut text = Text::default();
        event.record(&mut text);
        let mut queues = queues();
        let queue = queues.of(innermost());
        if queue.records.len() < KEPT {
            queue.records.push_back((*event.metadata().level(), text.message + &text.values));
        } else {
            queue.lost += 1;
        }
        WAITING.store(true, Ordering::Release);
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        SPAN.get_or_init(|| span.metadata());
        let mut queues = queues();
        queues.last += 1;
        let number = queues.last;
        queues.spans.insert(number, 1);
        span::Id::from_u64(number)
    }

    fn clone_span(&self, span: &span::Id) -> span::Id {
        if let Some(users) = queues().spans.get_mut(&span.into_u64()) {
            *users += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: span::Id) -> bool {
        let (mut queues, number) = (queues(), span.into_u64());
        let Some(users) = queues.spans.get_mut(&number) else { return false };
        *users -= 1;
        let is_over = *users == 0;
        if is_over {
            // Nobody asks for what its source had to say.
            queues.spans.remove(&number);
            queues.of_spans.remove(&number);
            queues.note_waiting();
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

/// A span for all that a source does, so that what it has to say is told apart from what others have.
pub(crate) fn source_span() -> Span {
    tracing::info_span!(target: "tesson", "source")
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

/// Hands what waits outside of sources to `logging.getLogger("tesson")`.
///
/// `trace_level` is the caller's: 0 errors, 1 warnings too, 2 everything.
pub(crate) fn flush(py: Python<'_>, trace_level: u8) {
    flush_source(py, &Span::none(), trace_level, false);
}

/// The same, after what waits of a source; `by_keywords` brings options into the spelling of keyword arguments.
pub(crate) fn flush_source(py: Python<'_>, source: &Span, trace_level: u8, by_keywords: bool) {
    if !WAITING.load(Ordering::Acquire) {
        return;
    }
    let (own, outside) = {
        let mut queues = queues();
        let own = source.id().and_then(|span| queues.of_spans.remove(&span.into_u64())).unwrap_or_default();
        let outside = std::mem::take(&mut queues.outside);
        queues.note_waiting();
        (own, outside)
    };
    let lost = own.lost + outside.lost;
    let most = [Level::ERROR, Level::WARN, Level::INFO][usize::from(trace_level.min(2))];
    let records = own.records.into_iter().chain(outside.records).filter(|(level, _)| *level <= most);
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

fn forward(
    py: Python<'_>,
    records: impl Iterator<Item = (Level, String)>,
    lost: u64,
    by_keywords: bool,
) -> PyResult<()> {
    let mut records = records.peekable();
    if records.peek().is_none() && lost == 0 {
        return Ok(());
    }
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
