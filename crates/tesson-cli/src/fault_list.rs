//! Faults listed as they are found, up to a number.

use tesson::DataError;
use tesson_engine::Severity;
use tesson_engine::fault_facts;

use crate::output::{Output, count};

/// Lists faults, up to a number.
pub(crate) struct FaultList<'a> {
    left: u64,
    unlisted: u64,
    written: std::io::Result<()>,
    out: &'a mut Output,
}

impl FaultList<'_> {
    pub(crate) fn new(most: u64, out: &mut Output) -> FaultList<'_> {
        FaultList { left: most, unlisted: 0, written: Ok(()), out }
    }

    /// Lists a fault, or counts it once the list is full. Errors of writing are returned by [`FaultList::end`].
    pub(crate) fn push(&mut self, error: &DataError, severity: Severity) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return self.unlisted += 1,
        }
        if self.written.is_ok() {
            self.written = show(error, severity, self.out);
        }
    }

    /// Ends the list with the number of faults that were not listed.
    pub(crate) fn end(self) -> std::io::Result<()> {
        self.written?;
        if self.unlisted > 0 && !self.out.is_json() {
            self.out.line(&format!("… and {} more", count(self.unlisted)))?;
        }
        Ok(())
    }
}

/// Writes a fault with its severity.
pub(crate) fn show(error: &DataError, severity: Severity, out: &mut Output) -> std::io::Result<()> {
    if out.is_json() {
        return out.json(&json(error, severity));
    }
    let note = match severity {
        Severity::Remark => " (a remark: it is no mistake)",
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
    facts.insert("remark".into(), (severity == Severity::Remark).into());
    facts.insert("remedy".into(), tesson::errors::remedy_of(&error.clone().into()).into());
    facts.into()
}
