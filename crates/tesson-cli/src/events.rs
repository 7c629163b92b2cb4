//! Events of the engine as text, for standard error or for Python's logging.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Calls `take` with each event up to a level: its message, then its other fields as `name=value`. If the process
/// already has a subscriber, from an earlier call or its own, that one stays.
pub fn listen(most: Level, take: impl Fn(Level, String) + Send + Sync + 'static) {
    let _ = tracing::subscriber::set_global_default(Listener { most, take });
}

struct Listener<F> {
    most: Level,
    take: F,
}

impl<F: Fn(Level, String) + 'static> Subscriber for Listener<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.most && metadata.target().starts_with("tesson")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let text = text.message + &text.fields;
        (self.take)(*event.metadata().level(), tesson_core::readable(&text).into_owned());
    }

    // Spans are not enabled; all of them are the same to us.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a string takes any text");
    }
}
