//! `tesson check`: every byte looked at, every fault listed.

use tesson::config::Randomize;
use tesson::{DataError, Error, SourceConfig};
use tesson_engine::{Checked, Severity, fault_facts};

use crate::args::{CheckArgs, InputArgs};
use crate::failure::Failure;
use crate::output::{Output, count};
use crate::progress::Progress;
use crate::{dataset, input, log, records};

pub(crate) fn run(args: &CheckArgs, out: &mut Output) -> Result<(), Failure> {
    if dataset::check::is_directory(&args.input) {
        return dataset::check::check(&args.input, out);
    }
    if let Some(files) = records::files(&args.input)? {
        return records::check(&files, out);
    }
    let mut config = input::config(&args.input, None)?;
    // Stored order opens at once; the check makes the index itself, and shows what is wrong with it.
    config.randomize = Randomize::Off;
    log::show(config.trace_level);
    let Some(checked) = check(&config, &args.input, out)? else { return Err(Failure::FaultsFound) };
    if out.is_json() {
        let summary = serde_json::json!({
            "sequences": checked.sequences,
            "leftOut": checked.left_out,
            "faults": checked.faults,
            "fatal": checked.fatal,
            "notes": checked.notes,
        });
        out.line(&summary.to_string())?;
    } else {
        out.line(&sentence(&checked))?;
    }
    if checked.faults + checked.notes > 0 { Err(Failure::FaultsFound) } else { Ok(()) }
}

/// What has been found; `None` if the data allow no index, which is then the only fault listed.
fn check(config: &SourceConfig, input: &InputArgs, out: &mut Output) -> Result<Option<Checked>, Failure> {
    let _progress = Progress::spinner("checking");
    let mut written = Ok(());
    let checked = tesson::Source::open(config).and_then(|mut source| {
        source.check(&mut |error, severity| {
            if written.is_ok() {
                written = show(error, severity, out);
            }
        })
    });
    written?;
    match checked {
        Ok(checked) => Ok(Some(checked)),
        Err(Error::Data(error)) => {
            show(&error, Severity::Fatal, out)?;
            Ok(None)
        }
        Err(e) => Err(input::beside(&e, input).unwrap_or(e.into())),
    }
}

/// Writes what is wrong, and how bad it is.
pub(crate) fn show(error: &DataError, severity: Severity, out: &mut Output) -> std::io::Result<()> {
    if out.is_json() {
        return out.line(&json(error, severity).to_string());
    }
    let note = match severity {
        Severity::Note => " (a note: it is read all the same)",
        Severity::Fault => "",
        Severity::Fatal => " (fatal: no `maxErrors` forgives it)",
    };
    out.line(&format!("{error}{note}"))
}

fn json(error: &DataError, severity: Severity) -> serde_json::Value {
    let mut facts = fault_facts(error);
    facts.insert("fatal".into(), (severity == Severity::Fatal).into());
    facts.insert("note".into(), (severity == Severity::Note).into());
    facts.into()
}

fn sentence(checked: &Checked) -> String {
    let sequences = count(checked.sequences);
    let notes = match checked.notes {
        0 => String::new(),
        n => format!(", {} notes", count(n)),
    };
    if checked.faults == 0 {
        return format!("{sequences} sequences, no faults{notes}");
    }
    let fatal = match checked.fatal {
        0 => format!("`maxErrors` {} would read on", count(checked.faults)),
        n => format!("{} of them fatal", count(n)),
    };
    format!("{sequences} sequences, {} faults, {fatal}{notes}", count(checked.faults))
}
