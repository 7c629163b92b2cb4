//! `tesson check`: every byte looked at, every fault listed.

use tesson::config::Randomize;
use tesson::{DataError, Error, SourceConfig};
use tesson_engine::{Checked, Severity, fault_facts};

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::host::Host;
use crate::kind::InputKind;
use crate::output::{Output, count, counted};
use crate::progress::Progress;
use crate::{dataset, input, log, records};

pub(crate) fn run(args: &CheckArgs, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    match args.input.kind {
        InputKind::Dataset => return dataset::check::check(args, out),
        InputKind::Records => return records::check(&records::files(&args.input)?, args.list, out),
        _ => {}
    }
    let mut config = input::config(&args.input, None, host)?;
    // Stored order opens at once; the check makes the index itself, and shows what is wrong with it.
    config.randomize = Randomize::Off;
    log::show(config.trace_level);
    let Some(checked) = check(&config, args, out)? else { return Err(Failure::FaultsFound) };
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
fn check(config: &SourceConfig, args: &CheckArgs, out: &mut Output) -> Result<Option<Checked>, Failure> {
    let _progress = Progress::spinner("checking");
    let mut listed = Listed::new(args.list, out);
    let opened = tesson::Source::open(config);
    if let Ok(source) = &opened {
        // Samples of another size are what is to be listed.
        input::expect_streams(source, &args.input, false)?;
    }
    let checked =
        opened.and_then(|mut source| source.check(&mut |error, severity| listed.tell(error, severity)));
    listed.end()?;
    match checked {
        Ok(checked) => Ok(Some(checked)),
        Err(Error::Data(error)) => {
            show(&error, Severity::Fatal, out)?;
            Ok(None)
        }
        Err(e) => Err(input::explained(e, &args.input)),
    }
}

/// Lists what is wrong, up to a number.
pub(crate) struct Listed<'a> {
    left: u64,
    unlisted: u64,
    written: std::io::Result<()>,
    out: &'a mut Output,
}

impl Listed<'_> {
    pub(crate) fn new(most: u64, out: &mut Output) -> Listed<'_> {
        Listed { left: most, unlisted: 0, written: Ok(()), out }
    }

    /// One more. What cannot be written is told at the end.
    pub(crate) fn tell(&mut self, error: &DataError, severity: Severity) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return self.unlisted += 1,
        }
        if self.written.is_ok() {
            self.written = show(error, severity, self.out);
        }
    }

    /// Says how many were not listed.
    pub(crate) fn end(self) -> std::io::Result<()> {
        self.written?;
        if self.unlisted > 0 && !self.out.is_json() {
            self.out.line(&format!("… and {} more", count(self.unlisted)))?;
        }
        Ok(())
    }
}

/// Writes what is wrong, and how bad it is.
fn show(error: &DataError, severity: Severity, out: &mut Output) -> std::io::Result<()> {
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
    let sequences = counted(checked.sequences, "sequence");
    let some = |n: u64, text: String| if n == 0 { String::new() } else { format!(", {text}") };
    let left_out = format!("{} left out", count(checked.left_out));
    let notes = some(checked.left_out, left_out) + &some(checked.notes, counted(checked.notes, "note"));
    if checked.faults == 0 {
        return format!("{sequences}, no faults{notes}");
    }
    let fatal = match checked.fatal {
        0 => format!("`maxErrors` {} would read on", count(checked.faults)),
        n => format!("{} of them fatal", count(n)),
    };
    format!("{sequences}, {}, {fatal}{notes}", counted(checked.faults, "fault"))
}
