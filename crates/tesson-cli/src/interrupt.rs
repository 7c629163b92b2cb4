//! Signals: one that ends the command removes unfinished files first; a file that grows too large is an error of
//! writing it.

/// Removes unfinished files when a signal ends the process (Ctrl-C, `kill`, a closed terminal), which then ends by that
/// signal as it would without this.
///
/// # Errors
/// The system's error.
#[cfg(unix)]
pub(crate) fn remove_unfinished_files() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            tesson_engine::atomic_file::remove_unfinished();
            // It ends the process; if it could not, the next signal would try again.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Makes a file beyond the limit of the process (`ulimit -f`) an error of writing it. By default the signal would end
/// the process at once; if it has a handler, the system call fails instead.
///
/// # Errors
/// The system's error.
#[cfg(unix)]
pub(crate) fn outlive_large_files() -> std::io::Result<()> {
    use std::sync::Arc;

    // The flag is the least that a handler can do.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).map(drop)
}

/// Catches Ctrl-C: the flag is set, and a second one ends the process.
///
/// # Errors
/// The system's error.
#[cfg(unix)]
pub(crate) fn caught() -> std::io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    use signal_hook::consts::SIGINT;

    let flag = std::sync::Arc::default();
    // In this order: the first signal finds the flag unset.
    signal_hook::flag::register_conditional_shutdown(SIGINT, 130, std::sync::Arc::clone(&flag))?;
    signal_hook::flag::register(SIGINT, std::sync::Arc::clone(&flag))?;
    Ok(flag)
}

/// Other systems end the process at once.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) fn caught() -> std::io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    Ok(std::sync::Arc::default())
}

/// Other systems have no such signal.
#[cfg(not(unix))]
pub(crate) fn outlive_large_files() -> std::io::Result<()> {
    Ok(())
}

/// Other systems end the process at once.
#[cfg(not(unix))]
pub(crate) fn remove_unfinished_files() -> std::io::Result<()> {
    Ok(())
}
