//! Events of the engine as lines of standard error.

use tracing::Level;

use crate::events::listen;
use crate::progress::note;

/// Shows events up to a level from now on. The first call of a process decides.
pub(crate) fn show(trace_level: u8) {
    let most = match trace_level {
        0 => Level::ERROR,
        1 => Level::WARN,
        _ => Level::INFO,
    };
    listen(most, |level, text| {
        let name = match level {
            Level::WARN => "warning",
            Level::ERROR => "error",
            _ => "info",
        };
        note(&format!("{name}: {text}"));
    });
}
