//! What the engine has to say beside its answers, on standard error.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::progress::note;

/// Shows events up to a level from now on. The first call of a process decides.
pub(crate) fn show(trace_level: u8) {
    let most = match trace_level {
        0 => Level::ERROR,
        1 => Level::WARN,
        _ => Level::INFO,
    };
    // A host that has a subscriber of its own (Python's bridge) keeps it.
    let _ = tracing::subscriber::set_global_default(Log { most });
}

struct Log {
    most: Level,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.most && metadata.target().starts_with("tesson")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        note(&format!("{}: {}", event.metadata().level().as_str().to_ascii_lowercase(), line.0));
    }

    // Spans are not shown; all of them are the same to us.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event as text: the message, then its other fields as `name=value`.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.expect("a string takes any text");
    }
}
