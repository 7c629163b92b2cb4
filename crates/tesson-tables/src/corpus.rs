//! Rows of a chunk as columns of streams.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, Damage, Data, DataError, Element, Error, Fault, Fetch,
    Index, Keys, Origin, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection, StreamColumn, Values,
};
use tesson_formats::packed::PackedFile;

use crate::columns::Columns;
use crate::compressed::with_unpacked;
use crate::deserializer;
use crate::fault::TableFault;
use crate::streams::TableColumn;
use crate::table::{FieldKind, FileBytes, RowFault, Rows, Table, Unit};
use crate::values::{Number, number};

/// A file, opened and indexed.
pub(crate) struct TableFile {
    pub(crate) table: Box<dyn Table>,
    pub(crate) units: Vec<Unit>,
    pub(crate) path: Arc<Path>,
    /// The compressed file, if it is one: the table is that of the unpacked bytes.
    pub(crate) packed: Option<PackedFile>,
}

impl TableFile {
    fn access(&self) -> ChunkAccess {
        let access = self.table.access();
        // Unpacking begins at few positions.
        if self.packed.is_some() { access.max(ChunkAccess::PreferWhole) } else { access }
    }
}

/// Consecutive rows of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) file: u32,
    /// Number of the unit in the file.
    pub(crate) unit: u32,
    /// The first row in the unit.
    pub(crate) first: u64,
    pub(crate) rows: u32,
}

impl Part {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows as usize
    }

    /// The rows in the unit.
    pub(crate) fn unit_rows(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.rows)
    }
}

/// The rows of all files in chunks.
pub(crate) struct Cut {
    pub(crate) parts: Vec<Part>,
    /// The first part of each chunk; one entry more than there are chunks.
    pub(crate) chunks: Vec<u32>,
}

impl Cut {
    /// Number of chunks.
    pub(crate) fn n_chunks(&self) -> usize {
        self.chunks.len() - 1
    }

    /// The parts of a chunk.
    pub(crate) fn parts_of(&self, chunk: usize) -> &[Part] {
        &self.parts[self.chunks[chunk] as usize..self.chunks[chunk + 1] as usize]
    }
}

/// Everything that loading needs.
pub(crate) struct TableCorpus {
    files: Vec<TableFile>,
    cut: Cut,
    columns: Arc<[TableColumn]>,
    /// The fields to read, each once.
    fields: Vec<usize>,
    /// The place of each stream's field among these.
    places: Vec<usize>,
    /// The place of the key among these.
    key: Option<usize>,
    /// `true`: keys are numbers; `false`: texts.
    numeric_keys: bool,
    index: Arc<Index>,
    facts: CorpusFacts,
}

/// The fields of streams and keys, each once.
pub(crate) fn read_fields(columns: &[TableColumn], key: Option<usize>) -> Vec<usize> {
    let mut fields: Vec<usize> = columns.iter().map(|column| column.field).chain(key).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Rows of a part that are selected.
struct Selected<'a> {
    part: &'a Part,
    rows: Rows<'a>,
}

impl TableCorpus {
    pub(crate) fn new(
        files: Vec<TableFile>,
        cut: Cut,
        columns: Arc<[TableColumn]>,
        key: Option<usize>,
        index: Arc<Index>,
    ) -> TableCorpus {
        let of_file = |file: &TableFile| {
            file.table.memory()
                + file.units.capacity() * size_of::<Unit>()
                + file.packed.as_ref().map_or(0, PackedFile::memory)
        };
        let memory = files.iter().map(of_file).sum::<usize>()
            + cut.parts.capacity() * size_of::<Part>()
            + cut.chunks.capacity() * size_of::<u32>();
        let access = files.iter().map(TableFile::access).max().unwrap_or(ChunkAccess::Parts);
        let facts = CorpusFacts::new(memory).with_access(access);
        let fields = read_fields(&columns, key);
        let place = |wanted: usize| fields.iter().position(|&field| field == wanted);
        let places = columns.iter().filter_map(|column| place(column.field)).collect();
        let key = key.and_then(place);
        TableCorpus { files, cut, columns, fields, places, key, numeric_keys: true, index, facts }
    }

    /// Makes keys texts.
    pub(crate) fn with_text_keys(self) -> TableCorpus {
        TableCorpus { numeric_keys: false, ..self }
    }

    fn parts_of(&self, chunk: ChunkId) -> &[Part] {
        self.cut.parts_of(chunk.index())
    }

    fn bytes<'a>(&'a self, part: &Part, fetch: &'a dyn Fetch) -> FileBytes<'a> {
        let path = &self.files[part.file as usize].path;
        FileBytes { fetch, resource: ResourceId(part.file), path, companion: None }
    }

    /// The part with a row of a chunk, and the row in its unit.
    fn find(&self, at: SequenceId) -> (&Part, u64) {
        let mut row = at.sequence;
        for part in self.parts_of(at.chunk) {
            if row < part.rows {
                return (part, part.first + u64::from(row));
            }
            row -= part.rows;
        }
        unreachable!("the index has no such row")
    }

    /// The selected rows of each part of a chunk, without parts of which none is selected.
    fn selected<'a>(&'a self, chunk: ChunkId, wanted: &'a SequenceSelection<'a>) -> Vec<Selected<'a>> {
        let mut first = 0_u32;
        let mut selected = Vec::new();
        for part in self.parts_of(chunk) {
            let of_part = first..first + part.rows;
            let rows = match wanted {
                SequenceSelection::Range(range) => {
                    let (start, end) = (range.start.max(first), range.end.min(of_part.end));
                    let row = |number: u32| part.first + u64::from(number - first);
                    (start < end).then(|| Rows::Range(row(start)..row(end)))
                }
                SequenceSelection::List(list) => {
                    let from = list.partition_point(|&row| row < first);
                    let to = list.partition_point(|&row| row < of_part.end);
                    let rows = &list[from..to];
                    (from < to).then_some(Rows::List { first: part.first, from: first, rows })
                }
            };
            selected.extend(rows.map(|rows| Selected { part, rows }));
            first = of_part.end;
        }
        selected
    }

    /// The field's type, as all files have it.
    fn key_element(&self, key: usize) -> Element {
        match &self.files[0].table.fields()[self.fields[key]].kind {
            FieldKind::Flat(element, _) => *element,
            _ => Element::U8,
        }
    }

    /// Keys of rows without a column of them: their numbers in the corpus.
    fn numbers(&self, chunk: ChunkId, wanted: &SequenceSelection<'_>) -> Keys {
        let first = self.index.chunk(chunk).first_sequence;
        let numbers = match wanted {
            SequenceSelection::Range(range) => Keys::Consecutive(first + u64::from(range.start)),
            SequenceSelection::List(rows) => {
                Keys::Numbers(rows.iter().map(|&row| first + u64::from(row)).collect())
            }
        };
        if self.numeric_keys {
            return numbers;
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(wanted.len()));
        for i in 0..wanted.len() {
            bytes.extend_from_slice(numbers.get(i).to_string().as_bytes());
            ends.push(bytes.len() as u32);
        }
        Keys::Texts { bytes, ends }
    }

    /// Reads the selected rows of a part.
    fn load_part(
        &self,
        selected: &Selected<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        into: &mut Filling<'_>,
    ) -> Result<(), Error> {
        let Selected { part, rows } = selected;
        let file = &self.files[part.file as usize];
        let n = rows.len();
        let bytes = self.bytes(part, fetch);
        let read = with_unpacked(bytes, file.packed.as_ref(), |bytes| {
            file.table.read(part.unit as usize, rows, &self.fields, bytes, scratch)
        });
        let read = match read {
            Ok(read) => read,
            Err(Error::Data(error)) => {
                into.damage(n, error);
                return Ok(());
            }
            Err(other) => return Err(other),
        };
        let unit = &file.units[part.unit as usize];
        let first_of_file: u64 = file.units[..part.unit as usize].iter().map(|unit| unit.rows).sum();
        let row_number = |row: usize| first_of_file + rows.get(row);
        let mut faults = read.faults;
        faults.iter_mut().for_each(|fault| fault.field = fault.field.map(|field| self.fields[field]));
        let offset = |row: usize| unit.extent(rows.get(row)..rows.get(row) + 1).start;
        let resource = ResourceId(part.file);
        let origin = |row: usize| Origin { resource, offset: offset(row), line: None, embedded: true };
        if let Some(key) = self.key {
            into.push_keys(&read.columns[key], self.key_element(key), n, &row_number, &mut faults);
        }
        let mut left: Vec<Option<StreamColumn>> = read.columns.into_iter().map(Some).collect();
        let mut made = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let place = self.places[i];
            let is_last = self.columns[i + 1..].iter().all(|other| other.field != column.field);
            let values = if is_last { left[place].take() } else { left[place].clone() };
            let values = values.expect("taken by the last stream that has it");
            let before = faults.len();
            made.push(column.make(values, n, &row_number, &origin, &mut faults));
            faults[before..].iter_mut().for_each(|fault| fault.offset = offset(fault.row as usize));
        }
        // A budget counts examples: a row with several faulty fields is one fault, that of the first.
        faults.sort_by_key(|fault| (fault.row, fault.field));
        faults.dedup_by_key(|fault| fault.row);
        into.append(made, n, faults, &read.skipped, resource);
        Ok(())
    }
}

/// A chunk while its parts are read.
struct Filling<'a> {
    columns: Columns,
    table_columns: &'a [TableColumn],
    faults: Vec<Fault>,
    left_out: Vec<u32>,
    damaged: Vec<Damage>,
    numbers: Vec<u64>,
    texts: (Vec<u8>, Vec<u32>),
    numeric_keys: bool,
}

impl Filling<'_> {
    fn damage(&mut self, n: usize, error: DataError) {
        let first = self.columns.len() as u32;
        self.columns.append_nothing(n);
        self.damaged.push(Damage { sequences: first..first + n as u32, error });
        // Any number may be the key of another row; the last ones are the least likely to be.
        if self.numeric_keys {
            self.numbers.extend((0..n as u64).map(|i| u64::MAX - u64::from(first) - i));
        } else {
            let end = self.texts.0.len() as u32;
            self.texts.1.extend((0..n).map(|_| end));
        }
    }

    fn append(
        &mut self,
        columns: Vec<StreamColumn>,
        n: usize,
        faults: Vec<RowFault>,
        skipped: &[u32],
        resource: ResourceId,
    ) {
        let first = self.columns.len() as u32;
        self.left_out.extend(faults.iter().map(|fault| first + fault.row));
        self.left_out.extend(skipped.iter().map(|row| first + row));
        self.faults.extend(faults.into_iter().map(|fault| Fault {
            sequence: first + fault.row,
            kind: fault.kind,
            stream: fault.field.and_then(|field| {
                self.table_columns.iter().position(|column| column.field == field).map(|i| i as u16)
            }),
            resource,
            offset: fault.offset,
            line: fault.line,
            fatal: false,
        }));
        self.columns.append(columns, n);
    }

    fn push_keys(
        &mut self,
        column: &StreamColumn,
        element: Element,
        n: usize,
        row_number: &dyn Fn(usize) -> u64,
        faults: &mut Vec<RowFault>,
    ) {
        match &column.data {
            Data::Dense { values: Values::Strings(texts) } => {
                (0..n).for_each(|row| self.push_text(texts.get(row)));
            }
            Data::Dense { values } => {
                for row in 0..n {
                    let key = match number(values, element, row) {
                        Number::Whole(key) => key,
                        Number::Real(_) => unreachable!("columns of keys have whole numbers"),
                    };
                    self.numbers.push(u64::try_from(key).unwrap_or_else(|_| {
                        let kind = TableFault::NegativeKey { row: row_number(row), found: key as i64 };
                        faults.push(RowFault {
                            row: row as u32,
                            field: None,
                            kind: kind.into(),
                            offset: 0,
                            line: None,
                        });
                        u64::MAX - row_number(row)
                    }));
                }
            }
            _ => unreachable!("tables have no other data"),
        }
    }

    fn push_text(&mut self, key: &[u8]) {
        self.texts.0.extend_from_slice(key);
        self.texts.1.push(self.texts.0.len() as u32);
    }
}

impl Corpus for TableCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let mut filling = Filling {
            columns: Columns::new(self.columns.iter().map(TableColumn::empty)),
            table_columns: &self.columns,
            faults: Vec::new(),
            left_out: Vec::new(),
            damaged: Vec::new(),
            numbers: Vec::new(),
            texts: (Vec::new(), Vec::new()),
            numeric_keys: self.numeric_keys,
        };
        scratch.columns.extend(out.streams.drain(..).filter_map(|column| match column.data {
            Data::Dense { values } => Some(values),
            _ => None,
        }));
        for selected in self.selected(chunk, &wanted) {
            self.load_part(&selected, fetch, scratch, &mut filling)?;
        }
        // What no column took is freed.
        scratch.columns.clear();
        let lengths = self.index.lengths(chunk);
        let lengths = match &wanted {
            SequenceSelection::Range(range) => range.clone().map(|row| lengths.get(row as usize)).collect(),
            SequenceSelection::List(rows) => rows.iter().map(|&row| lengths.get(row as usize)).collect(),
        };
        let keys = match self.key {
            None => self.numbers(chunk, &wanted),
            Some(_) if self.numeric_keys => Keys::Numbers(filling.numbers).compacted(),
            Some(_) => Keys::Texts { bytes: filling.texts.0, ends: filling.texts.1 },
        };
        *out = Chunk::new(keys, lengths, filling.columns.finish());
        filling.left_out.sort_unstable();
        filling.left_out.dedup();
        out.faults = filling.faults;
        out.left_out = filling.left_out;
        out.damaged = filling.damaged;
        Ok(())
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        _: &dyn Fetch,
        _: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let all = SequenceSelection::Range(0..n_sequences);
        Ok(self.key.is_none().then(|| self.numbers(chunk, &all)))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let (part, row) = self.find(at);
        let unit = &self.files[part.file as usize].units[part.unit as usize];
        (ResourceId(part.file), unit.extent(row..row + 1))
    }

    fn save(&self, index: &Index, into: &mut Vec<u8>) {
        deserializer::save(&self.files, index, into);
    }
}
