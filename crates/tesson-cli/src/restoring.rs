//! The progress of going to a saved position, for the command and for the Python package: on standard error, where that is a terminal, and
//! only if it takes longer than a moment.

use std::io::{IsTerminal, stderr};

use tesson::Source;
use tesson_report::Unit;

use crate::input;
use crate::progress::Progress;

/// Begins the line.
const WHAT: &str = "going to the position";

/// Goes past `total` examples, of which `passed` returns how many are done, and shows the progress.
pub fn passing<T>(total: u64, passed: impl Fn() -> u64 + Sync, act: impl FnOnce() -> T) -> T {
    if !stderr().is_terminal() {
        return act();
    }
    let before = passed();
    Progress::later(WHAT, Unit::Examples, total, || passed() - before, act)
}

/// Restores a source, which may have to index its data first, and shows the progress.
pub fn indexing<T>(source: &mut Source, act: impl FnOnce(&mut Source) -> T) -> T {
    let total = stderr().is_terminal().then(|| input::stored_bytes(source)).flatten();
    let Some(total) = total.filter(|_| !source.is_indexed()) else { return act(source) };
    let stats = source.stats_reader();
    let before = stats.read().bytes_indexed;
    Progress::later(WHAT, Unit::Bytes, total, move || stats.read().bytes_indexed - before, || act(source))
}
