//! Faults of the data, and what a run does with them.

use serde::{Deserialize, Serialize};
use tesson::{DataError, Error, Source};
use tesson_engine::{Severity, fault_facts};

use crate::text::{count, counted};

/// Faults of the data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Faults {
    /// True if every example was decoded to find them; false: only those of the sample are known.
    pub is_complete: bool,
    /// Number of faults.
    pub faults: u64,
    /// Those among them that no budget forgives.
    pub fatal: u64,
    /// Number of notes: out of the ordinary, and read all the same.
    pub notes: u64,
    /// Keys that occur again in their file.
    pub repeated_keys: u64,
    /// Faults that the run forgives.
    pub budget: u64,
    /// The way that the run treats them.
    pub verdict: String,
    /// The first faults and notes.
    pub listed: Vec<FaultFigures>,
}

/// A fault and where it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultFigures {
    /// `fault`, `fatal`, `note` or `remark`.
    pub severity: String,
    /// The fault in words.
    pub fault: String,
    /// Its stable code.
    pub code: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The byte, from 0.
    pub offset: u64,
    /// The stream.
    pub stream: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// The remedy.
    pub remedy: String,
}

/// Faults that are listed.
const LISTED: usize = 50;

/// Decodes every example, and counts what is wrong.
pub(crate) fn check(source: &mut Source, budget: u64) -> Result<Faults, Error> {
    let mut faults = Faults { is_complete: true, budget, ..Faults::default() };
    let mut each = |error: &DataError, severity: Severity| faults.push(error, severity);
    match source.check(&mut each) {
        Ok(checked) => {
            (faults.faults, faults.fatal) = (checked.faults, checked.fatal);
            faults.notes = checked.notes;
        }
        // No index can be made: this is what every run would say.
        Err(Error::Data(error)) => {
            faults.push(&error, Severity::Fatal);
            (faults.faults, faults.fatal) = (faults.faults + 1, faults.fatal + 1);
        }
        Err(other) => return Err(other),
    }
    Ok(faults)
}

impl Faults {
    /// Adds a fault to the list, the worst first where it is full.
    pub(crate) fn push(&mut self, error: &DataError, severity: Severity) {
        self.repeated_keys +=
            u64::from(matches!(error.kind(), tesson_core::DataErrorKind::RepeatedKey { .. }));
        let figures = fault(error, severity);
        if self.listed.len() < LISTED {
            self.listed.push(figures);
        } else if matches!(severity, Severity::Fault | Severity::Fatal) {
            let is_lesser = |f: &FaultFigures| f.severity == "note" || f.severity == "remark";
            if let Some(lesser) = self.listed.iter().rposition(is_lesser) {
                self.listed.remove(lesser);
                self.listed.push(figures);
            }
        }
    }

    /// Sets the verdict: how a run treats the faults.
    pub(crate) fn judge(&mut self) {
        let (budget, faults) = (counted(self.budget, "fault"), counted(self.faults, "fault"));
        let looked = if self.is_complete { "all of the data" } else { "the sample" };
        self.verdict = match (self.faults, self.fatal) {
            (0, _) if self.is_complete => "No faults: a run reads all of the data.".to_owned(),
            (0, _) => "No faults in the sample; `tesson check` or `--all` looks at everything.".to_owned(),
            (_, fatal) if fatal > 0 => {
                format!("A run stops: {} of {faults} in {looked} cannot be tolerated.", count(fatal))
            }
            (n, _) if n <= self.budget => {
                format!(
                    "A run leaves the examples of {faults} in {looked} out and reads on: it tolerates {budget}."
                )
            }
            (1, _) => format!("A run stops at the only fault in {looked}; `--max-errors 1` reads past it."),
            (n, _) if self.budget == 0 => {
                format!(
                    "A run stops at the first of {faults} in {looked}; `--max-errors {n}` reads past all of them."
                )
            }
            (n, _) => format!(
                "A run tolerates {budget} and stops at the next, of {} in {looked}; `--max-errors {n}` reads past all of them.",
                count(n)
            ),
        };
    }
}

fn fault(error: &DataError, severity: Severity) -> FaultFigures {
    let facts = fault_facts(error);
    let text = |name: &str| match &facts[name] {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    FaultFigures {
        severity: match severity {
            Severity::Remark => "remark",
            Severity::Note => "note",
            Severity::Fault => "fault",
            Severity::Fatal => "fatal",
        }
        .to_owned(),
        fault: text("fault").unwrap_or_default(),
        code: text("code").unwrap_or_default(),
        file: text("file").unwrap_or_default(),
        line: error.at().line,
        offset: error.at().offset,
        stream: text("stream"),
        key: text("key"),
        remedy: tesson::errors::remedy_of(&error.clone().into()),
    }
}
