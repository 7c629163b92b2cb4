//! The interface of a table format: a file is a table of fields and rows, and its rows are read in units.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    ChunkAccess, DataError, DataErrorKind, Defects, Element, Error, Fetch, Location, Parallelism, ResourceId,
    Scratch, Shape, StreamColumn,
};
use tesson_formats::packed::Packing;
use tesson_formats::saved::Saved;

use crate::arff;
use crate::array_record;
#[cfg(feature = "arrow")]
use crate::arrow;
use crate::compressed::WhenCompressed;
use crate::csv;
use crate::fault::TableFault;
use crate::json_lines;
use crate::libsvm;
use crate::mds;
use crate::npy;
use crate::options::TableOptions;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::tfrecord;
use crate::tokens;
use crate::vw;
use crate::webdataset;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The name, which streams refer to.
    pub(crate) name: String,
    /// The values of a row.
    pub(crate) kind: FieldKind,
    /// The names of the classes that its numbers stand for; otherwise empty.
    pub(crate) classes: Arc<[String]>,
    /// The unit that its whole numbers count, such as `timestamp[us, UTC]`.
    pub(crate) unit: Option<Arc<str>>,
}

impl Field {
    /// A field without names of classes and without a unit.
    pub(crate) fn new(name: impl Into<String>, kind: FieldKind) -> Field {
        Field { name: name.into(), kind, classes: Arc::default(), unit: None }
    }

    /// The type as errors name it.
    pub(crate) fn type_name(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} {unit}", self.kind.name()),
            None => self.kind.name(),
        }
    }
}

/// The values that a field has in each row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldKind {
    /// One sample of this shape, in [`Data::Dense`](tesson_core::Data::Dense).
    Flat(Element, Shape),
    /// Any number of samples of this shape, in [`Data::Dense`](tesson_core::Data::Dense).
    Ragged(Element, Shape),
    /// One sample of pairs of column and value, in [`Data::Sparse`](tesson_core::Data::Sparse).
    Sparse {
        /// The type of the values.
        element: Element,
        /// Number of columns.
        columns: usize,
        /// True if the file counts them from 0, false from 1.
        zero_based: bool,
    },
    /// Values that no stream can have; the format's name of their type.
    Other(String),
}

impl FieldKind {
    /// The type as errors name it.
    pub(crate) fn name(&self) -> String {
        match self {
            FieldKind::Flat(element, shape) if shape.dims().is_empty() => element.name().into(),
            FieldKind::Flat(element, shape) => format!("{} [{shape}]", element.name()),
            FieldKind::Ragged(element, shape) if shape.dims().is_empty() => {
                format!("lists of {}", element.name())
            }
            FieldKind::Ragged(element, shape) => format!("lists of {} [{shape}]", element.name()),
            FieldKind::Sparse { element, columns, .. } => format!("sparse {} [{columns}]", element.name()),
            FieldKind::Other(name) => name.clone(),
        }
    }
}

/// Rows of a table that are stored together, such as a row group or a record batch. A file of rows of one size is one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Number of rows.
    pub(crate) rows: u64,
    /// The extent in the file, about evenly divided among the rows.
    pub(crate) bytes: Range<u64>,
    /// Bytes of these fields of its rows in memory, estimated: large units become several chunks.
    pub(crate) decoded: u64,
}

/// Rows of a unit that are to be read, counted within it and ascending.
#[derive(Clone, Debug)]
pub(crate) enum Rows<'a> {
    /// Consecutive ones.
    Range(Range<u64>),
    /// The rows of these numbers, `from` being that of row `first`.
    List {
        /// A row.
        first: u64,
        /// Its number.
        from: u32,
        /// The numbers, none below `from`.
        rows: &'a [u32],
    },
}

impl Unit {
    /// The extent of some rows, if all take the same number of bytes.
    pub(crate) fn extent(&self, rows: Range<u64>) -> Range<u64> {
        let size = self.bytes.end - self.bytes.start;
        let place = |row: u64| (u128::from(size) * u128::from(row) / u128::from(self.rows.max(1))) as u64;
        self.bytes.start + place(rows.start)..self.bytes.start + place(rows.end)
    }
}

impl Rows<'_> {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Rows::Range(range) => (range.end - range.start) as usize,
            Rows::List { rows, .. } => rows.len(),
        }
    }

    /// The first half of these rows, and the second one.
    #[cfg(feature = "parquet")]
    pub(crate) fn halves(&self) -> (Rows<'_>, Rows<'_>) {
        match self {
            Rows::Range(range) => {
                let middle = range.start + (range.end - range.start) / 2;
                (Rows::Range(range.start..middle), Rows::Range(middle..range.end))
            }
            Rows::List { first, from, rows } => {
                let (one, other) = rows.split_at(rows.len() / 2);
                let list = |rows| Rows::List { first: *first, from: *from, rows };
                (list(one), list(other))
            }
        }
    }

    /// The number in its unit of a row that is counted among these.
    pub(crate) fn get(&self, i: usize) -> u64 {
        match self {
            Rows::Range(range) => range.start + i as u64,
            Rows::List { first, from, rows } => first + u64::from(rows[i] - from),
        }
    }

    /// The rows as runs of consecutive ones.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let (range, list, first, from) = match self {
            Rows::Range(range) => (Some(range.clone()), &[][..], 0, 0),
            Rows::List { first, from, rows } => (None, *rows, *first, *from),
        };
        let of_list = list.chunk_by(|one, next| one + 1 == *next);
        let of_list = of_list.map(move |run| {
            let start = first + u64::from(run[0] - from);
            start..start + run.len() as u64
        });
        range.into_iter().chain(of_list)
    }
}

/// A fault of one row. Its values are placeholders in the columns, and the row is left out of minibatches.
#[derive(Clone, Debug)]
pub(crate) struct RowFault {
    /// The row, counted among those that were read.
    pub(crate) row: u32,
    /// The field, counted among those that were read; `None` for the row as a whole.
    pub(crate) field: Option<usize>,
    /// The fault.
    pub(crate) kind: DataErrorKind,
    /// Byte offset in the file.
    pub(crate) offset: u64,
    /// Physical line from 0, in text formats.
    pub(crate) line: Option<u64>,
}

/// Rows that were read: a column for each field that was asked for.
#[derive(Debug, Default)]
pub(crate) struct ReadRows {
    /// One column a field, all of as many sequences as there are rows.
    pub(crate) columns: Vec<StreamColumn>,
    /// The faults, ascending by row.
    pub(crate) faults: Vec<RowFault>,
    /// Rows without a fault that are left out all the same, ascending and counted among those that were read.
    pub(crate) skipped: Vec<u32>,
}

impl ReadRows {
    /// Puts faults of several fields in order.
    pub(crate) fn sort(&mut self) {
        self.faults.sort_by_key(|fault| fault.row);
        self.skipped.sort_unstable();
        self.skipped.dedup();
    }
}

/// A file as its format sees it: bytes at offsets.
#[derive(Clone, Copy)]
pub(crate) struct FileBytes<'a> {
    /// The bytes of all files.
    pub(crate) fetch: &'a dyn Fetch,
    /// The file among them.
    pub(crate) resource: ResourceId,
    /// Its name, for errors.
    pub(crate) path: &'a Arc<Path>,
    /// The file that tells where things are in it, if there is one beside it.
    pub(crate) companion: Option<(ResourceId, &'a Arc<Path>)>,
}

/// Bytes that are read at once from a file that is not mapped.
const READ_BYTES: u64 = 1 << 20;

impl<'a> FileBytes<'a> {
    /// The file that tells where things are in this one.
    pub(crate) fn companion(&self) -> Option<FileBytes<'a>> {
        let (resource, path) = self.companion?;
        Some(FileBytes { resource, path, companion: None, ..*self })
    }

    /// Size of the file.
    pub(crate) fn size(&self) -> Result<u64, Error> {
        self.fetch.size(self.resource)
    }

    /// Reads bytes over the contents of a buffer.
    pub(crate) fn read_over(&self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.fetch.read_over(self.resource, range, into)
    }

    /// Passes on the bytes of records of `size` bytes that follow each other: those in place where the file is mapped, otherwise
    /// a buffer of some whole records after the other.
    pub(crate) fn each_part(
        &self,
        range: Range<u64>,
        size: u64,
        buffer: &mut Vec<u8>,
        act: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        if let Some(mapped) = self.fetch.mapped(self.resource, range.clone()) {
            act(mapped);
            return Ok(());
        }
        let at_once = (READ_BYTES / size.max(1)).max(1) * size;
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start.saturating_add(at_once));
            self.read_over(start..end, buffer)?;
            act(buffer);
            start = end;
        }
        Ok(())
    }

    /// An error of the file.
    pub(crate) fn error(&self, fault: impl Into<DataErrorKind>, offset: u64) -> Error {
        self.error_at(fault, offset, None)
    }

    /// An error of the file, of text with its physical line from 0.
    pub(crate) fn error_at(&self, fault: impl Into<DataErrorKind>, offset: u64, line: Option<u64>) -> Error {
        let at = Location { file: Arc::clone(self.path), offset, line: line.map(|line| line + 1) };
        DataError::new(fault, at).into()
    }
}

/// A file of a table format that has been opened: its fields are known.
pub(crate) trait Table: Send + Sync {
    /// The columns.
    fn fields(&self) -> &[Field];

    /// Takes over the types of the first file, where the files of the format do not declare any.
    fn assume(&mut self, _first: &[Field]) {}

    /// Finds the units, in the order of their rows. Called once, before rows are read, with the fields that will be. The result
    /// does not depend on the number of cores.
    ///
    /// # Errors
    /// Data that allow no index, unreadable storage, and defects unless they are collected.
    fn index(
        &mut self,
        fields: &[usize],
        file: FileBytes<'_>,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error>;

    /// The amount of a unit that is worth reading.
    fn access(&self) -> ChunkAccess;

    /// Bytes of memory held.
    fn memory(&self) -> usize;

    /// Appends what [`TableFormat::restore`] makes this table of; false if the format has no such function.
    fn save(&self, _into: &mut Vec<u8>) -> bool {
        false
    }

    /// Reads some fields of some rows of a unit.
    ///
    /// # Errors
    /// Unreadable storage. [`Error::Data`] says that the unit is damaged: its rows then have this error.
    fn read(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error>;

    /// The number of samples of a ragged field in each row of a unit. By default the field is read.
    ///
    /// # Errors
    /// The errors of [`Table::read`].
    fn lengths(
        &self,
        unit: usize,
        rows: Range<u64>,
        field: usize,
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u32>, Error> {
        let n = (rows.end - rows.start) as usize;
        let read = self.read(unit, &Rows::Range(rows), &[field], file, scratch)?;
        Ok((0..n).map(|row| read.columns[0].samples.range(row).len() as u32).collect())
    }
}

/// A table format.
pub(crate) struct TableFormat {
    /// The word of the option `format`.
    pub(crate) name: &'static str,
    /// The ends of file names, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// How files are opened that are compressed as a whole.
    pub(crate) compressed: WhenCompressed,
    /// True if a file begins like one of this format.
    pub(crate) begins: fn(&[u8]) -> bool,
    /// Opens a file: reads as little as says which fields it has.
    pub(crate) open: OpenTable,
    /// Makes an indexed table again of what it has saved, if indexing reads the whole file.
    pub(crate) restore: Option<RestoreTable>,
}

impl TableFormat {
    /// True if a file of this name is of the format, compressed or not.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let name = if self.compressed == WhenCompressed::Refused { &name } else { Packing::stem(&name) };
        self.extensions.iter().any(|end| name.strip_suffix(end).is_some_and(|stem| stem.ends_with('.')))
    }
}

/// Opens a file; see [`TableFormat::open`].
pub(crate) type OpenTable = fn(FileBytes<'_>, &TableOptions) -> Result<Box<dyn Table>, Error>;

/// Makes a table of what [`Table::save`] has written and of the fields of the first file, with its units; `None` if the bytes are
/// none that it could have written.
pub(crate) type RestoreTable =
    fn(&mut Saved<'_>, &[Field], &TableOptions) -> Option<(Box<dyn Table>, Vec<Unit>)>;

/// All formats.
pub(crate) static TABLE_FORMATS: &[&TableFormat] = &[
    &npy::NPY,
    &csv::CSV,
    &json_lines::JSON_LINES,
    &arff::ARFF,
    &libsvm::LIBSVM,
    &vw::VW,
    &mds::MDS,
    &tfrecord::TFRECORD,
    &array_record::ARRAY_RECORD,
    &tokens::TOKENS,
    &webdataset::WEBDATASET,
    #[cfg(feature = "arrow")]
    &arrow::ARROW,
    #[cfg(feature = "parquet")]
    &parquet::PARQUET,
];

/// Bytes of a file that tell its format, at most.
const BEGINNING: u64 = 512;

/// The format of a file: the given one, or else by the end of its name, then by its beginning.
pub(crate) fn format_of(file: FileBytes<'_>, given: Option<&str>) -> Result<&'static TableFormat, Error> {
    if let Some(format) = TABLE_FORMATS.iter().find(|format| Some(format.name) == given) {
        return Ok(format);
    }
    let name = file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if let Some(format) = TABLE_FORMATS.iter().find(|format| format.has_name(&name)) {
        return Ok(format);
    }
    let mut beginning = Vec::new();
    file.read_over(0..file.size()?.min(BEGINNING), &mut beginning)?;
    let packing = Packing::of(&beginning);
    if let Some(packing) = packing {
        beginning = packing.beginning(file.path, file.resource, file.fetch, BEGINNING as usize)?;
    }
    let is_read = |format: &TableFormat| packing.is_none() || format.compressed != WhenCompressed::Refused;
    let by_content = TABLE_FORMATS.iter().find(|format| is_read(format) && (format.begins)(&beginning));
    by_content.copied().ok_or_else(|| {
        let known = TABLE_FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        file.error(TableFault::UnknownFormat { known }, 0)
    })
}

#[cfg(test)]
mod tests {
    use tesson_core::{InMemory, OptionSet, Options, ReaderDefaults, Section, Value};

    use super::*;

    /// A file of a format of text.
    fn example(format: &str) -> &'static str {
        match format {
            "csv" => "a,b\n1,2\n3,4\n",
            "jsonl" => "{\"a\": 1}\n{\"a\": 2}\n",
            "arff" => "@relation r\n@attribute a numeric\n@data\n1\n2\n",
            "libsvm" => "1 1:0.5\n0 2:1\n",
            "vw" => "1 |f a:2\n-1 |f b\n",
            other => panic!("an example of `{other}` is missing here"),
        }
    }

    #[test]
    fn every_table_of_text_has_cheap_runs() {
        let section = Section::from_iter([("file", Value::Text("t".into()))]);
        let options = Options::new(TableOptions::TABLE, &section, "").unwrap();
        let defaults = ReaderDefaults {
            element: Element::F32,
            frame_mode: false,
            numeric_keys: true,
            cache_index: false,
            forgives: false,
        };
        let options = TableOptions::read(&options, &defaults).unwrap();
        // Of these formats alone indexing reads the whole file.
        let of_text = TABLE_FORMATS.iter().filter(|format| format.restore.is_some());
        let mut n = 0;
        for format in of_text {
            let (fetch, path) = (InMemory::new(example(format.name)), Arc::from(Path::new("t")));
            let file = FileBytes { fetch: &fetch, resource: ResourceId(0), path: &path, companion: None };
            let table = (format.open)(file, &options).unwrap_or_else(|e| panic!("{}: {e}", format.name));
            assert_eq!(
                table.access(),
                ChunkAccess::Runs,
                "{}: a second thread finds nothing to do",
                format.name
            );
            n += 1;
        }
        assert_eq!(n, 5, "CSV, JSON lines, ARFF, libsvm and VW");
    }
}
