//! The index pass over text files: names and last labels of all entries, on several cores.
//!
//! A file is divided into ranges; a line belongs to the range that its first byte lies in. A range cannot know whether its
//! first line is a name or a label, but after the first line that is neither a dot nor a header, labels follow in both
//! cases. So each range is scanned from there on, and the few lines before it are read again when ranges are put together,
//! in order. The result does not depend on how files were divided or read.

use std::path::{Path, PathBuf};

use tesson_core::{
    DataError, DataErrorKind, Defects, Error, Fetch, Index, Location, Parallelism, ResourceId,
};

use super::binary;
use super::label::Times;
use super::options::Encoding;
use super::scan::{Finding, Findings, Scanner, content, is_ordinary};
use super::table::{LabelChunk, Table, TableRules};
use crate::kaldi::alignments;
use crate::lines::{LIMIT, LineFile, Reads, lines};

/// How files are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Bytes of a range.
    pub(super) range: u64,
    /// Bytes of a read.
    pub(super) read: u64,
}

impl Default for Cut {
    fn default() -> Cut {
        Cut { range: 8 << 20, read: 256 << 10 }
    }
}

/// The input of indexing and its rules.
pub(super) struct Subject<'a> {
    /// The label files, each with its resource.
    pub(super) files: &'a [(PathBuf, ResourceId)],
    pub(super) encoding: Encoding,
    pub(super) times: Times,
    pub(super) rules: TableRules,
    pub(super) cut: Cut,
}

/// Entries without labels that are logged one by one.
const LOGGED: usize = 10;

/// A part of a file.
#[derive(Clone, Copy)]
struct Range {
    file: usize,
    start: u64,
    end: u64,
    is_last: bool,
}

/// The findings in a range.
struct Part {
    /// Where the lines end that have to be read again.
    prefix_end: u64,
    /// The scanner that read the lines after them.
    scanner: Option<Scanner>,
}

/// Indexes all files: chunks, their index, and the memory that they take.
pub(super) fn index(
    subject: &Subject<'_>,
    fetch: &dyn Fetch,
    parallelism: &dyn Parallelism,
    defects: &mut Defects<'_>,
) -> Result<(Index, Vec<LabelChunk>, usize), Error> {
    let mut table = Table::new(subject.rules);
    match subject.encoding {
        Encoding::Binary => {
            for (path, file) in subject.files {
                binary::index(path, *file, fetch, &mut table)?;
                table.next_file();
            }
        }
        Encoding::Alignments => {
            for (path, file) in subject.files {
                alignments::index(path, *file, fetch, &mut table)?;
                table.next_file();
            }
        }
        Encoding::Text => subject.text(fetch, parallelism, defects, &mut table)?,
    }
    let (index, chunks, memory) = table.finish();
    if chunks.is_empty() {
        let at = Location { file: subject.files[0].0.as_path().into(), offset: 0, line: None };
        defects.report(DataError::new(DataErrorKind::NoSequences, at))?;
    }
    Ok((index, chunks, memory))
}

impl Subject<'_> {
    fn text(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
        table: &mut Table,
    ) -> Result<(), Error> {
        // In waves, so that what ranges have found is held for a few of them only.
        let wave = parallelism.width().max(1) * 2;
        let room = (parallelism.memory() / (4 * wave as u64)).max(1 << 12);
        let cut = Cut { range: self.cut.range.min(room), read: self.cut.read.min(room) };
        let most_findings = if defects.are_collected() { usize::MAX } else { LOGGED };
        let ranges = self.ranges(cut, fetch)?;
        let mut scanner = Scanner::new(self.times, most_findings);
        for wave in ranges.chunks(wave) {
            let parts = parallelism.map(wave.len(), |i| self.scan(wave[i], cut, most_findings, fetch));
            for (&range, part) in wave.iter().zip(parts) {
                self.add(range, part?, &mut scanner, table, fetch)?;
                fetch.progress(range.end - range.start);
                if range.is_last {
                    self.end_file(range.file, scanner, defects)?;
                    scanner = Scanner::new(self.times, most_findings);
                    table.next_file();
                }
            }
            if fetch.cancelled() {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    /// The ranges of all files.
    fn ranges(&self, cut: Cut, fetch: &dyn Fetch) -> Result<Vec<Range>, Error> {
        let mut ranges = Vec::new();
        for (file, (_, resource)) in self.files.iter().enumerate() {
            let size = fetch.size(*resource)?;
            let mut start: u64 = 0;
            loop {
                let end = start.saturating_add(cut.range).min(size);
                ranges.push(Range { file, start, end, is_last: end == size });
                if end == size {
                    break;
                }
                start = end;
            }
        }
        Ok(ranges)
    }

    /// Calls `each` for the lines that begin in a part of a file.
    fn lines(
        &self,
        file: usize,
        reads: Reads,
        fetch: &dyn Fetch,
        mut each: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let limit = fetch.largest().min(LIMIT);
        let too_large = |found, offset| {
            self.error(file, DataErrorKind::SequenceBeyondMemory { found, limit }, offset, None)
        };
        let line_file = LineFile { file: self.files[file].1, first: 0 };
        lines(line_file, fetch, reads, too_large, |line| each(line.bytes, line.offset).map(|()| true))
    }

    fn scan(&self, range: Range, cut: Cut, most_findings: usize, fetch: &dyn Fetch) -> Result<Part, Error> {
        let Range { file, start, end, .. } = range;
        let mut part = Part { prefix_end: end, scanner: None };
        if start == end {
            return Ok(part);
        }
        let reads = Reads { from: start, end, bytes: cut.read };
        self.lines(file, reads, fetch, |line, offset| {
            match &mut part.scanner {
                Some(scanner) => {
                    scanner.line(line, offset).map_err(|kind| self.error(file, kind, offset, None))?;
                }
                None if content(line, offset).is_some_and(is_ordinary) => {
                    part.prefix_end = offset + line.len() as u64;
                    part.scanner = Some(Scanner::within_entry(self.times, most_findings));
                }
                None => {}
            }
            Ok(())
        })?;
        Ok(part)
    }

    /// Puts a range behind those before it, which `scanner` has gone through.
    fn add(
        &self,
        range: Range,
        part: Part,
        scanner: &mut Scanner,
        table: &mut Table,
        fetch: &dyn Fetch,
    ) -> Result<(), Error> {
        let Range { file, start, end, .. } = range;
        if start == end {
            return Ok(());
        }
        let reads = Reads { from: start, end: part.prefix_end, bytes: PREFIX_READ };
        self.lines(file, reads, fetch, |line, offset| {
            let number = scanner.lines;
            scanner.line(line, offset).map_err(|kind| self.error(file, kind, offset, Some(number)))
        })?;
        let mut push = |entry: super::table::Entry, key: &[u8]| {
            let pushed = table.push(entry, key);
            pushed.map_err(|fault| self.error(file, fault.into(), entry.offset, Some(entry.line)))
        };
        let Some(mut rest) = part.scanner else { return scanner.entries.drain(0, push) };
        let offset = part.prefix_end;
        let before = scanner.adopt(&mut rest).map_err(|kind| self.error(file, kind, offset, None))?;
        scanner.entries.drain(0, &mut push)?;
        rest.entries.drain(before, &mut push)?;
        scanner.entries.take_open_key(&mut rest.entries);
        Ok(())
    }

    /// Tells what was found in a file that keeps entries from having labels.
    fn end_file(&self, file: usize, mut scanner: Scanner, defects: &mut Defects<'_>) -> Result<(), Error> {
        scanner.finish().map_err(|kind| self.error(file, kind, 0, Some(0)))?;
        let Findings { list, more, .. } = scanner.findings;
        for Finding { fault, offset, line } in list {
            let error = self.data_error(file, fault.into(), offset, Some(line));
            if defects.are_collected() {
                defects.report(error)?;
            } else {
                tracing::warn!("{error}");
            }
        }
        if more > 0 {
            tracing::warn!("{}: {more} more entries have no labels", self.files[file].0.display());
        }
        Ok(())
    }

    fn data_error(&self, file: usize, kind: DataErrorKind, offset: u64, line: Option<u64>) -> DataError {
        let path: &Path = &self.files[file].0;
        DataError::new(kind, Location { file: path.into(), offset, line: line.map(|line| line + 1) })
    }

    fn error(&self, file: usize, kind: DataErrorKind, offset: u64, line: Option<u64>) -> Error {
        self.data_error(file, kind, offset, line).into()
    }
}

/// Bytes that are read at once to read the first lines of a range again.
const PREFIX_READ: u64 = 4 << 10;
