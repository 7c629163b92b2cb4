//! Converting a file of records to another format, record by record.

use std::io::{self, BufWriter};
use std::path::Path;

use tesson_core::Error;
use tesson_engine::atomic_file::{AtomicFile, Existing, NewFile};
use tesson_formats::record::End;
use tesson_formats::{array_record, tfrecord};

use super::{Records, RecordsFile};
use crate::ConvertError;

/// The format in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    /// TFRecord.
    TfRecord,
    /// ArrayRecord, in so large and so compressed chunks.
    ArrayRecord(array_record::write::Options),
}

/// A summary of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertedRecords {
    /// Number of records.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Bytes that are handed to the system at once.
const BUFFER: usize = 1 << 20;

/// An unfinished file, under a temporary name until it is complete; removed if it is never finished.
pub struct RecordOutput {
    writer: Writer,
    guard: AtomicFile,
}

enum Writer {
    TfRecord(tfrecord::write::Writer<BufWriter<NewFile>>),
    ArrayRecord(Box<array_record::write::Writer<BufWriter<NewFile>>>),
}

impl RecordOutput {
    /// Begins a file.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn create(path: &Path, form: RecordForm) -> io::Result<RecordOutput> {
        let (guard, file) = AtomicFile::create(path)?;
        let out = BufWriter::with_capacity(BUFFER, file);
        let writer = match form {
            RecordForm::TfRecord => Writer::TfRecord(tfrecord::write::Writer::new(out)),
            RecordForm::ArrayRecord(options) => {
                Writer::ArrayRecord(Box::new(array_record::write::Writer::new(out, options)?))
            }
        };
        Ok(RecordOutput { writer, guard })
    }

    /// Writes the next record.
    ///
    /// # Errors
    /// The system's errors; a record that the format cannot hold.
    pub fn record(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.writer {
            Writer::TfRecord(writer) => writer.record(data),
            Writer::ArrayRecord(writer) => writer.record(data),
        }
    }

    /// Completes the file, flushes it to storage, and renames it to its name; returns its size.
    ///
    /// # Errors
    /// The system's errors.
    pub fn finish(self, existing: Existing) -> io::Result<u64> {
        let file = match self.writer {
            Writer::TfRecord(writer) => writer.finish()?,
            Writer::ArrayRecord(writer) => writer.finish()?,
        };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_data()?;
        let size = file.size()?;
        self.guard.commit(existing)?;
        Ok(size)
    }
}

/// Writes the records of a file to another one, which appears under its name when it is complete. `progress` is
/// called with the number of records read.
///
/// # Errors
/// Damaged records, unreadable storage, an output that cannot be written. An old file of that name is then unchanged.
pub fn convert(
    input: &RecordsFile,
    output: &Path,
    existing: Existing,
    form: RecordForm,
    progress: &mut dyn FnMut(u64),
) -> Result<ConvertedRecords, ConvertError> {
    let failed = |e| ConvertError::file(output, e);
    let mut out = RecordOutput::create(output, form).map_err(failed)?;
    let mut records = 0;
    input.for_each_block(|block| {
        undamaged(input, block)?;
        block.iter().try_for_each(|record| out.record(record)).map_err(failed)?;
        records += block.len() as u64;
        progress(records);
        Ok::<(), ConvertError>(())
    })?;
    Ok(ConvertedRecords { records, bytes: out.finish(existing).map_err(failed)? })
}

/// Reads two files side by side and compares their records.
///
/// # Errors
/// The first difference ([`ConvertError::Differs`]), damage, unreadable storage.
pub fn verify(
    input: &RecordsFile,
    output: &RecordsFile,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ConvertError> {
    let (mut block, mut first, mut at) = (Records::new(), 0, 0);
    output.read(0, u64::MAX, &mut block)?;
    input.for_each_block(|expected| {
        undamaged(input, expected)?;
        for record in expected.iter() {
            if at == block.len() {
                first += at as u64;
                at = 0;
                output.read(first, u64::MAX, &mut block)?;
                undamaged(output, &block)?;
            }
            if at == block.len() || block.get(at) != record {
                return Err(ConvertError::Differs(format!("record {}", first + at as u64)));
            }
            at += 1;
        }
        progress(first + at as u64);
        Ok(())
    })?;
    let (records, fault) = output.count()?;
    match fault {
        Some(fault) => Err(Error::from(fault.in_file(output.path())).into()),
        None if records != first + at as u64 => {
            Err(ConvertError::Differs(format!("{records} records were written")))
        }
        None => Ok(()),
    }
}

/// Refuses a damaged block.
///
/// # Errors
/// Its first damage.
pub fn undamaged(file: &RecordsFile, block: &Records) -> Result<(), Error> {
    let at_the_end = if let End::Damaged(fault) = block.end() { Some(fault) } else { None };
    match block.faults().first().map(|(_, fault)| fault).or(at_the_end) {
        Some(fault) => Err(fault.in_file(file.path()).into()),
        None => Ok(()),
    }
}
