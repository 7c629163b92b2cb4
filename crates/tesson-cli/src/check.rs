//! `tesson check`: every byte looked at, every fault listed.

use tesson::config::Randomize;
use tesson::{Error, OpenOptions, Purpose, SourceConfig};
use tesson_engine::{Checked, Severity};

use crate::args::CheckArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::fault_list::{self, FaultList};
use crate::input_kind::InputKind;
use crate::output::{Output, count, counted};
use crate::{input, log};

pub(crate) fn run(args: &CheckArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let mut config = input::config(&args.common, extensions)?;
    // Stored order opens at once; the check makes the index itself and reports its faults.
    config.order.randomize = Randomize::Off;
    log::show(config.trace_level);
    let Some(checked) = check(&config, args, out)? else { return Err(Failure::FaultsFound) };
    if out.is_json() {
        let summary = serde_json::json!({
            "sequences": checked.sequences,
            "leftOut": checked.left_out,
            "faults": checked.faults,
            "fatal": checked.fatal,
            "notes": checked.notes,
            "remarks": checked.remarks,
        });
        out.json(&summary)?;
    } else {
        out.line(&sentence(&checked, args.common.input.kind))?;
    }
    if checked.faults + checked.notes > 0 { Err(Failure::FaultsFound) } else { Ok(()) }
}

/// The result of the check; `None` if no index can be made, which is then the only fault listed.
fn check(config: &SourceConfig, args: &CheckArgs, out: &mut Output) -> Result<Option<Checked>, Failure> {
    let mut listed = FaultList::new(args.list, out);
    let opened = OpenOptions::to(Purpose::Check).open(config);
    if let Ok(source) = &opened {
        // Samples of another size are among the faults to be listed.
        input::expect_streams(source, &args.common.input, false)?;
    }
    let checked = opened.and_then(|mut source| {
        // What stops it here is found again below, and listed.
        let _ = input::while_working(&mut source, "indexing", |source| source.indexed().map(drop));
        input::while_working(&mut source, "checking", |source| {
            source.check(&mut |error, severity| listed.push(error, severity))
        })
    });
    listed.end()?;
    match checked {
        Ok(checked) => Ok(Some(checked)),
        Err(Error::Data(error)) => {
            fault_list::show(&error, Severity::Fatal, out)?;
            Ok(None)
        }
        Err(e) => Err(input::explained(e, &args.common.input)),
    }
}

fn sentence(checked: &Checked, kind: InputKind) -> String {
    let sequences = counted(checked.sequences, "sequence");
    let some = |n: u64, what: &str| if n == 0 { String::new() } else { format!(", {}", counted(n, what)) };
    let left_out = some(checked.left_out, "sequence");
    let notes = some(checked.notes, "note") + &some(checked.remarks, "remark");
    if checked.faults == 0 {
        let left_out = if left_out.is_empty() { left_out } else { left_out + " left out" };
        // "No faults" goes with exit code 0.
        return match checked.notes {
            0 => format!("{sequences}, no faults{left_out}{notes}"),
            _ => format!(
                "{sequences}{left_out}{notes}; all of it is read, and notes make the exit code 1, too"
            ),
        };
    }
    let n = checked.faults;
    let faults = counted(n, "fault");
    if checked.fatal > 0 {
        return format!("{sequences}, {faults}, {} of them fatal{notes}", count(checked.fatal));
    }
    // What reads the data has the option; configurations have it themselves.
    let option = match kind {
        InputKind::Text | InputKind::Listed => format!("--max-errors {n}"),
        _ => format!("maxErrors = {n}"),
    };
    let them = if n == 1 { "it" } else { "them" };
    let leaves = if left_out.is_empty() { left_out } else { format!(" and leaves {} out", &left_out[2..]) };
    format!("{sequences}, {faults}{notes}; `{option}` reads past {them}{leaves}")
}
