//! Signals that end the command: unfinished files are removed first.

/// Removes unfinished files when a signal ends the process (Ctrl-C, `kill`, a closed terminal), which then ends by that
/// signal as it would without this.
///
/// # Errors
/// What the system answers.
#[cfg(unix)]
pub(crate) fn remove_unfinished_files() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            tesson::files::remove_unfinished();
            // It ends the process; if it could not, the next signal would try again.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Other systems end the process at once.
#[cfg(not(unix))]
pub(crate) fn remove_unfinished_files() -> std::io::Result<()> {
    Ok(())
}
