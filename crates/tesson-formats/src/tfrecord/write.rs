//! Writing TFRecord: records one after the other, nothing around them.

use std::io::{self, Write};

use super::crc::masked;

/// Bytes around the data of each record.
pub const AROUND: u64 = super::scan::AROUND as u64;

/// Writes records to anything that takes bytes.
pub struct Writer<W> {
    out: W,
    records: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// A file that begins here.
    pub fn new(out: W) -> Writer<W> {
        Writer { out, records: 0, bytes: 0 }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn record(&mut self, data: &[u8]) -> io::Result<()> {
        let length = (data.len() as u64).to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&masked(crc32c::crc32c(&length)).to_le_bytes())?;
        self.out.write_all(data)?;
        self.out.write_all(&masked(crc32c::crc32c(data)).to_le_bytes())?;
        self.records += 1;
        self.bytes += data.len() as u64 + AROUND;
        Ok(())
    }

    /// Records written.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The output that is written to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
