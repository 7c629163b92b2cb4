//! The records of a file, counted and read in runs.

use tesson_core::{DataErrorKind, Defects, Error};
use tesson_formats::record::{RecordFile, Records, Want};

use crate::table::{FileBytes, Rows, Unit};

/// Bytes of records that are read at once, about.
const AT_ONCE: u64 = 1 << 20;

/// Counts the records, which are one unit. What is wrong behind the last one is a defect.
pub(crate) fn count(
    records: &dyn RecordFile,
    file: FileBytes<'_>,
    defects: &mut Defects<'_>,
) -> Result<Vec<Unit>, Error> {
    let (rows, fault) = records.count(file.fetch)?;
    if let Some(fault) = fault {
        defects.report(fault.in_file(file.path))?;
    }
    let size = file.size()?;
    Ok(vec![Unit { rows, bytes: 0..size, decoded: size.max(rows) }])
}

/// Calls `each` with blocks of these records, in their order, until all have come, and the number of records before the block.
pub(crate) fn each_block(
    of: &dyn RecordFile,
    rows: &Rows<'_>,
    file: FileBytes<'_>,
    each: &mut dyn FnMut(usize, &Records),
) -> Result<(), Error> {
    let mut records = Records::new();
    let mut done = 0;
    for run in rows.runs() {
        let mut first = run.start;
        while first < run.end {
            of.read(Want { first, most: run.end - first, bytes: AT_ONCE }, file.fetch, &mut records)?;
            if records.is_empty() {
                let what = format!("no record {first} where {} were counted", run.end);
                return Err(file.error(DataErrorKind::Changed { what }, file.size()?));
            }
            each(done, &records);
            first += records.len() as u64;
            done += records.len();
        }
    }
    Ok(())
}
