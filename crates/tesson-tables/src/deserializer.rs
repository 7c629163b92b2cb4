//! Files to tables, columns to streams, rows to chunks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::store::Store;
use tesson_core::{
    CompactLengths, ConfigError, DataError, Defects, Deserializer, DeserializerFacts, Element, Error, Fetch,
    Format, Index, IndexCache, Indexed, OneCore, OptionName, OptionSet, Options, Parallelism, ReaderDefaults,
    ResourceId, Scratch, StreamMismatch, StreamingDecoder, format_of,
};
use tesson_formats::saved::{Saved, save_lengths};

use crate::compressed::{self, with_unpacked};
use crate::corpus::{Cut, Part, TableCorpus, TableFile, read_fields};
use crate::fault::TableFault;
use crate::folder::TableFiles;
use crate::options::TableOptions;
use crate::streams::{TableColumn, columns_of, field_of};
use crate::table::{self, Field, FieldKind, FileBytes, Unit};

const CHUNK_SIZE_IN_BYTES: OptionName = OptionName::new("chunkSizeInBytes");

/// The registry's entry.
pub static FORMAT: Format = format_of::<TableOptions>(
    "TableDeserializer",
    "Tables: files whose rows are examples and whose columns are streams, such as NumPy arrays.",
    open,
);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let options = TableOptions::read(options, defaults)?;
    let mut facts = DeserializerFacts::new(FORMAT.name, options.files.clone(), Vec::new(), "");
    facts.max_errors = options.max_errors;
    facts.keep_in_memory = options.chunks.keep;
    facts.defines_size = options.inputs.iter().any(|stream| stream.defines_size);
    facts.smaller_chunks = Some(|| format!("choose a smaller {CHUNK_SIZE_IN_BYTES}"));
    let files = TableFiles::named(&options.files);
    let known =
        Known { format: None, columns: Arc::default(), fields: Vec::new(), key: None, is_compressed: false };
    Ok(Box::new(TableDeserializer { facts, options, files, unlocated: None, known }))
}

/// Files whose rows are the examples of one corpus.
struct TableDeserializer {
    facts: DeserializerFacts,
    options: TableOptions,
    files: TableFiles,
    /// Why files could not be found.
    unlocated: Option<Error>,
    known: Known,
}

/// Facts that the first file tells.
struct Known {
    /// The format of all files.
    format: Option<&'static table::TableFormat>,
    columns: Arc<[TableColumn]>,
    fields: Vec<Field>,
    /// The field of keys.
    key: Option<usize>,
    /// True if the file is compressed as a whole.
    is_compressed: bool,
}

impl TableDeserializer {
    fn file<'a>(&'a self, number: usize, fetch: &'a dyn Fetch) -> FileBytes<'a> {
        let TableFiles { paths, companions, .. } = &self.files;
        let companion = companions[number].map(|at| (ResourceId(at as u32), &paths[at]));
        FileBytes { fetch, resource: ResourceId(number as u32), path: &paths[number], companion }
    }

    /// Opens a file and finds its units.
    fn indexed(
        &self,
        number: usize,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<TableFile, Error> {
        let file = self.file(number, fetch);
        let format = self.known.format.expect("prepared before it is indexed");
        let packed = compressed::packed(file, format)?;
        // Parts that are asked for out of order would be unpacked again and again.
        let one = OneCore { memory: parallelism.memory() / parallelism.width().max(1) as u64 };
        let parallelism = if packed.is_some() { &one } else { parallelism };
        let (table, units) = with_unpacked(file, packed.as_ref(), |file| {
            let mut table = (format.open)(file, &self.options)?;
            table.assume(&self.known.fields);
            self.check_fields(table.fields(), file)?;
            let fields = read_fields(&self.known.columns, self.known.key);
            let units = table.index(&fields, file, parallelism, defects)?;
            Ok::<_, Error>((table, units))
        })?;
        Ok(TableFile { table, units, path: Arc::clone(&self.files.paths[number]), packed })
    }

    /// Checks that a file has the fields of the first one.
    fn check_fields(&self, fields: &[Field], file: FileBytes<'_>) -> Result<(), Error> {
        let used = read_fields(&self.known.columns, self.known.key);
        // The numbers of fields are those in the first file.
        let first = &self.known.fields;
        if used.iter().all(|&i| fields.get(i) == Some(&first[i])) {
            return Ok(());
        }
        let listed = |fields: &[Field]| {
            let one =
                |&i: &usize| fields.get(i).map(|field| format!("`{}` {}", field.name, field.type_name()));
            used.iter().filter_map(one).collect::<Vec<_>>().join(", ")
        };
        let (found, expected) = (listed(fields), listed(first));
        let other = self.files.paths[0].display().to_string();
        Err(file.error(TableFault::OtherColumns { file: other, found, expected }, 0))
    }

    /// Opens all files: one after the other on all cores, or, where there are many or compressed ones, each on one core.
    fn tables(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Vec<TableFile>, Error> {
        let n = self.files.n;
        let takes_one_core = n > 1 && self.known.is_compressed;
        if n < 2 * parallelism.width() && !takes_one_core {
            return (0..n).map(|file| self.indexed(file, fetch, parallelism, defects)).collect();
        }
        let one = OneCore { memory: parallelism.memory() / parallelism.width().max(1) as u64 };
        let collect = defects.are_collected();
        let found = parallelism.map(n, |file| {
            let mut found = Vec::new();
            let mut defects = if collect { Defects::Collect(&mut found) } else { Defects::Refuse };
            let indexed = self.indexed(file, fetch, &one, &mut defects);
            // Read once, where the results are taken.
            Mutex::new(Some((indexed, found)))
        });
        let mut files = Vec::with_capacity(n);
        for result in found {
            let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
            let (file, found) = result.expect("taken once");
            found.into_iter().try_for_each(|defect: DataError| defects.report(defect))?;
            files.push(file?);
        }
        Ok(files)
    }

    /// The counted lengths of a chunk's rows.
    fn lengths(
        &self,
        parts: &[Part],
        files: &[TableFile],
        fetch: &dyn Fetch,
    ) -> Result<CompactLengths, Error> {
        let columns = &self.known.columns;
        let main = self.main();
        let counted = |i: usize| main.is_none_or(|main| main == i);
        let least =
            (0..columns.len()).filter(|&i| counted(i)).map(|i| columns[i].constant()).max().unwrap_or(1);
        let varying =
            columns.iter().enumerate().filter(|(i, column)| counted(*i) && column.varies(&self.known.fields));
        let varying: Vec<&TableColumn> = varying.map(|(_, column)| column).collect();
        let n: usize = parts.iter().map(Part::len).sum();
        if varying.is_empty() {
            return Ok(CompactLengths::constant(least, n as u32));
        }
        // A row without samples counts as one: every example has its place in an order.
        let least = if self.only_varying(main) { 1 } else { least };
        let mut lengths = vec![least; n];
        let (mut scratch, mut at) = (Scratch::default(), 0);
        for part in parts {
            let file = &files[part.file as usize];
            let bytes = self.file(part.file as usize, fetch);
            for column in &varying {
                let rows = part.unit_rows();
                let found = with_unpacked(bytes, file.packed.as_ref(), |bytes| {
                    file.table.lengths(part.unit as usize, rows, column.field, bytes, &mut scratch)
                });
                match found {
                    Ok(found) => lengths[at..]
                        .iter_mut()
                        .zip(found)
                        .for_each(|(length, found)| *length = (*length).max(column.samples(found))),
                    // Reported when its rows are read.
                    Err(Error::Data(_)) => {}
                    Err(other) => return Err(other),
                }
            }
            at += part.len();
        }
        Ok(CompactLengths::new(&lengths))
    }

    /// The index and the corpus of files that have been indexed.
    fn corpus(&self, files: Vec<TableFile>, cut: Cut, lengths: Vec<CompactLengths>) -> Indexed {
        let mut index = Index::new();
        for (chunk, lengths) in lengths.into_iter().enumerate() {
            let bytes = |part: &Part| {
                let extent = files[part.file as usize].units[part.unit as usize].extent(part.unit_rows());
                extent.end - extent.start
            };
            index.push(lengths, cut.parts_of(chunk).iter().map(bytes).sum());
        }
        index.seal();
        let index = Arc::new(index);
        let columns = Arc::clone(&self.known.columns);
        let corpus = TableCorpus::new(files, cut, columns, self.known.key, Arc::clone(&index));
        let corpus = if self.options.numeric_keys { corpus } else { corpus.with_text_keys() };
        Indexed { index, corpus: Arc::new(corpus) }
    }

    /// True if all streams that count have any number of samples.
    fn only_varying(&self, main: Option<usize>) -> bool {
        let counted = |i: usize| main.is_none_or(|main| main == i);
        let columns = self.known.columns.iter().enumerate().filter(|(i, _)| counted(*i));
        columns.into_iter().all(|(_, column)| column.varies(&self.known.fields))
    }

    /// The stream that defines sizes.
    fn main(&self) -> Option<usize> {
        let main = self.options.inputs.iter().find(|stream| stream.defines_size)?;
        self.known.columns.iter().position(|column| column.info.name == main.name)
    }
}

/// Cuts the units of all files into chunks of about so many bytes: large ones into several of equal size, small ones together.
fn cut(files: &[TableFile], chunk_bytes: u64) -> Cut {
    let (mut parts, mut chunks): (Vec<Part>, Vec<u32>) = (Vec::new(), vec![0]);
    let (mut held, mut rows_held) = (0, 0);
    for (number, file) in files.iter().enumerate() {
        for (unit, Unit { rows, decoded, .. }) in file.units.iter().enumerate() {
            let pieces = decoded.div_ceil(chunk_bytes).max(rows.div_ceil(MOST_ROWS)).clamp(1, (*rows).max(1));
            for piece in 0..pieces {
                let place = |piece: u64| (u128::from(*rows) * u128::from(piece) / u128::from(pieces)) as u64;
                let Range { start, end } = place(piece)..place(piece + 1);
                if start == end {
                    continue;
                }
                let bytes = decoded / pieces;
                if rows_held > 0 && (held + bytes > chunk_bytes || rows_held + (end - start) > MOST_ROWS) {
                    chunks.push(parts.len() as u32);
                    (held, rows_held) = (0, 0);
                }
                (held, rows_held) = (held + bytes, rows_held + (end - start));
                let (file, unit) = (number as u32, unit as u32);
                parts.push(Part { file, unit, first: start, rows: (end - start) as u32 });
            }
        }
    }
    if rows_held > 0 {
        chunks.push(parts.len() as u32);
    }
    Cut { parts, chunks }
}

/// Rows of a chunk, at most.
const MOST_ROWS: u64 = 1 << 24;

impl Deserializer for TableDeserializer {
    fn locate(&mut self, store: &dyn Store) {
        match TableFiles::located(&self.options, store) {
            Ok(files) => {
                self.facts.resources = files.paths.iter().map(|path| path.to_path_buf()).collect();
                self.files = files;
            }
            Err(error) => {
                self.facts.resources.clear();
                self.unlocated = Some(error);
            }
        }
    }

    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        if let Some(error) = self.unlocated.take() {
            return Err(error);
        }
        let file = self.file(0, fetch);
        let format = table::format_of(file, self.options.format)?;
        let is_compressed = compressed::packing_of(file, format)?.is_some();
        let table = compressed::open_for_columns(format, file, &self.options)?;
        let fields = table.fields().to_vec();
        let columns = columns_of(self.options.streams(), &fields).map_err(|fault| file.error(fault, 0))?;
        let key = self.options.key.as_deref();
        let key = key.map(|name| key_field(name, &fields, self.options.numeric_keys)).transpose();
        let key = key.map_err(|fault| file.error(fault, 0))?;
        self.facts.streams = columns.iter().map(|column| column.info.clone()).collect();
        let streams = self.facts.streams.iter();
        let text = self.options.identity().part().field("format", format.name).field("files", self.files.n);
        let text = streams.fold(text.part(), |text, stream| {
            text.word(&stream.name).word(stream.element.name()).word(format_args!("[{}]", stream.shape))
        });
        self.facts.identity = text.text();
        if format.restore.is_some() && !is_compressed {
            self.facts.index_cache = IndexCache::enabled(self.options.chunks.cache_index);
        }
        self.options.libsvm.settle(&fields);
        self.known = Known { format: Some(format), columns: columns.into(), fields, key, is_compressed };
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let files = self.tables(fetch, parallelism, defects)?;
        let cut = cut(&files, self.options.chunks.bytes);
        if cut.parts.is_empty() {
            let empty = TableFault::Empty { files: self.files.n as u64 };
            return Err(self.file(0, fetch).error(empty, 0));
        }
        let n_chunks = cut.n_chunks();
        let mut all = Vec::with_capacity(n_chunks);
        for first in (0..n_chunks).step_by(CHUNKS_AT_ONCE) {
            let n = CHUNKS_AT_ONCE.min(n_chunks - first);
            let lengths = parallelism.map(n, |i| {
                if fetch.cancelled() {
                    return Err(Error::Cancelled);
                }
                self.lengths(cut.parts_of(first + i), &files, fetch)
            });
            for lengths in lengths {
                all.push(lengths?);
            }
        }
        Ok(self.corpus(files, cut, all))
    }

    fn restore(&self, saved: &[u8]) -> Option<Indexed> {
        let restore = self.known.format?.restore?;
        let mut saved = Saved(saved);
        if saved.take()? != VERSION.to_le_bytes() || saved.number()? != self.files.n as u64 {
            return None;
        }
        let mut files = Vec::with_capacity(self.files.n);
        for number in 0..self.files.n {
            let (table, units) = restore(&mut saved, &self.known.fields, &self.options)?;
            let path = Arc::clone(&self.files.paths[number]);
            files.push(TableFile { table, units, path, packed: None });
        }
        let cut = cut(&files, self.options.chunks.bytes);
        let mut lengths = Vec::with_capacity(cut.n_chunks());
        for chunk in 0..cut.n_chunks() {
            let n = cut.parts_of(chunk).iter().map(Part::len).sum::<usize>() as u32;
            lengths.push(saved.lengths(n)?.filter(|lengths| !lengths.has_zero())?);
        }
        (saved.0.is_empty() && !lengths.is_empty()).then(|| self.corpus(files, cut, lengths))
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

/// The version of the kept form of indices.
const VERSION: u32 = 1;

/// Appends an index: the version, the number of files, what each table saves, and the lengths of each chunk's rows. Nothing, if one of
/// the files cannot be restored.
pub(crate) fn save(files: &[TableFile], index: &Index, into: &mut Vec<u8>) {
    let start = into.len();
    into.extend(VERSION.to_le_bytes());
    into.extend((files.len() as u64).to_le_bytes());
    // The positions in compressed files from which unpacking can begin are not kept.
    if !files.iter().all(|file| file.packed.is_none() && file.table.save(into)) {
        into.truncate(start);
        return;
    }
    index.chunk_ids().for_each(|chunk| save_lengths(Some(index.lengths(chunk)), into));
}

/// Chunks whose lengths are counted before the next ones are given to workers.
const CHUNKS_AT_ONCE: usize = 1024;

/// The field of keys.
fn key_field(name: &str, fields: &[Field], numeric: bool) -> Result<usize, TableFault> {
    let number = field_of(name, fields)?;
    let column = name.to_owned();
    match &fields[number].kind {
        FieldKind::Flat(Element::Text, shape) if shape.len() == 1 => text_key(number, column, numeric),
        FieldKind::Flat(element, shape)
            if shape.len() == 1
                && !element.is_float()
                && !matches!(element, Element::F16 | Element::Bool | Element::Bytes) =>
        {
            if numeric {
                return Ok(number);
            }
            Err(TableFault::KeyKind { column, found: "numbers", expected: "true" })
        }
        other => Err(TableFault::KeyType { column, found: other.name() }),
    }
}

/// A field of texts as keys.
fn text_key(number: usize, column: String, numeric: bool) -> Result<usize, TableFault> {
    if numeric {
        return Err(TableFault::KeyKind { column, found: "texts", expected: "false" });
    }
    Ok(number)
}
