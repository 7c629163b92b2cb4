//! Arrow's files and streams: record batches at offsets.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use tesson_core::{ChunkAccess, Defects, Error, Parallelism, Scratch};

use super::column::Collected;
use super::leaf::{Leaf, leaves};
use super::memory::Lent;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::{NullRows, NullRule};
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};

/// The first bytes of a file, and the last ones.
const MAGIC: &[u8; 6] = b"ARROW1";

/// The first bytes of each message, since version 5 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Arrow's files (also Feather) and streams.
pub(crate) static ARROW: TableFormat = TableFormat {
    name: "arrow",
    extensions: &["arrow", "feather", "ipc", "arrows"],
    compressed: WhenCompressed::Refused,
    begins: |bytes| bytes.starts_with(MAGIC) || bytes.starts_with(&CONTINUATION),
    open,
    restore: None,
};

fn bad(file: FileBytes<'_>, what: impl ToString, offset: u64) -> Error {
    file.error(TableFault::BadHeader { format: "arrow", what: what.to_string() }, offset)
}

/// Bytes of the metadata of a message or a file, at most.
const MOST_METADATA: u64 = 256 << 20;

/// A message: its metadata, and the body after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: u64,
    metadata: u32,
    body: u64,
}

impl Place {
    fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.metadata) + self.body
    }

    fn block(&self) -> Block {
        Block::new(self.offset as i64, self.metadata as i32, self.body as i64)
    }
}

/// A file whose schema has been read.
struct ArrowTable {
    schema: SchemaRef,
    version: MetadataVersion,
    fields: Vec<Field>,
    leaves: Vec<Leaf>,
    nulls: NullRule,
    /// The messages of a file, as its footer lists them; a stream's are found one after the other.
    listed: Option<Messages>,
    /// The first byte after the schema of a stream.
    after_schema: u64,
    decoder: Option<FileDecoder>,
    batches: Vec<(Place, Unit, u64)>,
}

/// Messages of a file.
#[derive(Default)]
struct Messages {
    dictionaries: Vec<Place>,
    batches: Vec<Place>,
}

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let size = file.size()?;
    let mut begin = Vec::new();
    file.read_over(0..size.min(8), &mut begin)?;
    let mut table = if begin.starts_with(MAGIC) { of_file(file, size)? } else { of_stream(file, size)? };
    table.nulls = options.nulls;
    Ok(Box::new(table))
}

fn table(schema: SchemaRef, version: MetadataVersion) -> ArrowTable {
    let (fields, leaves) = leaves(&schema);
    ArrowTable {
        schema,
        version,
        fields,
        leaves,
        nulls: NullRule::Refuse,
        listed: None,
        after_schema: 0,
        decoder: None,
        batches: Vec::new(),
    }
}

/// Reads the footer of a file.
fn of_file(file: FileBytes<'_>, size: u64) -> Result<ArrowTable, Error> {
    let cut = "the file does not end with `ARROW1`: it was not written to its end";
    if size < 18 {
        return Err(bad(file, cut, size));
    }
    let mut end = Vec::new();
    file.read_over(size - 10..size, &mut end)?;
    if end[4..] != *MAGIC {
        return Err(bad(file, cut, size - 6));
    }
    let found = u64::from(u32::from_le_bytes(*end.first_chunk().expect("ten bytes were read")));
    if found > (size - 18).min(MOST_METADATA) {
        return Err(bad(file, format!("the footer declares {found} bytes, the file has {size}"), size - 10));
    }
    let start = size - 10 - found;
    let mut bytes = Vec::new();
    file.read_over(start..size - 10, &mut bytes)?;
    let footer = root_as_footer(&bytes).map_err(|e| bad(file, e, start))?;
    let schema = footer.schema().ok_or_else(|| bad(file, "the footer has no schema", start))?;
    let schema = try_fb_to_schema(schema).map_err(|e| bad(file, e, start))?;
    let mut table = table(Arc::new(schema), footer.version());
    let outside = || bad(file, "the footer lists a block outside of the file", start);
    let dictionaries = places(footer.dictionaries().into_iter().flatten(), size).ok_or_else(outside)?;
    let batches = places(footer.recordBatches().into_iter().flatten(), size).ok_or_else(outside)?;
    table.listed = Some(Messages { dictionaries, batches });
    Ok(table)
}

/// The blocks of a footer, unless one lies outside of the file.
fn places<'a>(blocks: impl Iterator<Item = &'a Block>, size: u64) -> Option<Vec<Place>> {
    let place = |block: &Block| {
        let offset = u64::try_from(block.offset()).ok()?;
        let metadata = u32::try_from(block.metaDataLength()).ok().filter(|n| *n >= 8)?;
        let body = u64::try_from(block.bodyLength()).ok()?;
        let end = offset.checked_add(metadata.into())?.checked_add(body)?;
        (end <= size).then_some(Place { offset, metadata, body })
    };
    blocks.map(place).collect()
}

/// A message of a stream.
struct StreamMessage {
    place: Place,
    /// The metadata, with the bytes before them that say how long they are.
    bytes: Vec<u8>,
    /// Where the metadata begin in the bytes.
    start: usize,
}

impl StreamMessage {
    fn metadata(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Reads the message at an offset; `None` for the end of the stream.
fn message_at(file: FileBytes<'_>, offset: u64, size: u64) -> Result<Option<StreamMessage>, Error> {
    let mut bytes = Vec::new();
    file.read_over(offset..size.min(offset + 8), &mut bytes)?;
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|word| u32::from_le_bytes(*word.first_chunk().expect("four bytes")))
    };
    let (prefix, length) = match (word(0), word(4)) {
        (Some(u32::MAX), Some(length)) => (8, length),
        (Some(u32::MAX), None) => return Err(bad(file, "the stream ends within a message", offset)),
        (Some(length), _) => (4, length),
        (None, _) => return Ok(None),
    };
    if length == 0 {
        return Ok(None);
    }
    let end = offset + prefix + u64::from(length);
    if u64::from(length) > MOST_METADATA || end > size {
        return Err(bad(
            file,
            format!("a message declares {length} bytes of metadata, {} are left", size - offset),
            offset,
        ));
    }
    file.read_over(offset..end, &mut bytes)?;
    let place = Place { offset, metadata: (end - offset) as u32, body: 0 };
    let mut found = StreamMessage { place, bytes, start: prefix as usize };
    let message = root_as_message(found.metadata()).map_err(|e| bad(file, e, offset))?;
    let body = u64::try_from(message.bodyLength()).ok();
    let body = body.filter(|body| end.checked_add(*body).is_some_and(|end| end <= size));
    found.place.body =
        body.ok_or_else(|| bad(file, "the stream ends within the body of a message", offset))?;
    Ok(Some(found))
}

/// Reads the schema at the beginning of a stream.
fn of_stream(file: FileBytes<'_>, size: u64) -> Result<ArrowTable, Error> {
    let first = message_at(file, 0, size)?.ok_or_else(|| bad(file, "the file has no message", 0))?;
    let message = root_as_message(first.metadata()).map_err(|e| bad(file, e, 0))?;
    let schema = message.header_as_schema().ok_or_else(|| bad(file, "the first message is no schema", 0))?;
    let schema = try_fb_to_schema(schema).map_err(|e| bad(file, e, 0))?;
    let mut table = table(Arc::new(schema), message.version());
    table.after_schema = first.place.range().end;
    Ok(table)
}

/// All messages of a stream.
fn messages(file: FileBytes<'_>, mut offset: u64) -> Result<Messages, Error> {
    let (size, mut found) = (file.size()?, Messages::default());
    while let Some(next) = message_at(file, offset, size)? {
        let message = root_as_message(next.metadata()).map_err(|e| bad(file, e, offset))?;
        match message.header_type() {
            MessageHeader::RecordBatch => found.batches.push(next.place),
            // Batches before it have another dictionary then, which random access would have to find.
            MessageHeader::DictionaryBatch if !found.batches.is_empty() => {
                let what = "a dictionary changes after the first batch; write the table with one dictionary, or without";
                return Err(bad(file, what, offset));
            }
            MessageHeader::DictionaryBatch => found.dictionaries.push(next.place),
            other => return Err(bad(file, format!("found a message of type {other:?}"), offset)),
        }
        offset = next.place.range().end;
    }
    Ok(found)
}

impl ArrowTable {
    /// Reads a message whole.
    fn buffer(&self, place: &Place, file: FileBytes<'_>) -> Result<Buffer, Error> {
        let mut bytes = Vec::new();
        file.read_over(place.range(), &mut bytes)?;
        Ok(bytes.into())
    }

    fn damaged(&self, unit: usize, what: impl ToString, file: FileBytes<'_>) -> Error {
        let (unit, offset) = (format!("record batch {unit}"), self.batches[unit].0.offset);
        file.error(TableFault::DamagedUnit { unit, what: what.to_string() }, offset)
    }

    /// The number of rows of a batch.
    fn rows(place: &Place, file: FileBytes<'_>) -> Result<u64, Error> {
        let metadata = place.offset..place.offset + u64::from(place.metadata);
        let mut bytes = Vec::new();
        file.read_over(metadata, &mut bytes)?;
        let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let message = root_as_message(&bytes[start..]).map_err(|e| bad(file, e, place.offset))?;
        let batch = message.header_as_record_batch();
        let batch = batch.ok_or_else(|| bad(file, "a block is no record batch", place.offset))?;
        let rows = u64::try_from(batch.length()).ok().filter(|rows| *rows < 1 << 31);
        rows.ok_or_else(|| bad(file, format!("a batch declares {} rows", batch.length()), place.offset))
    }
}

impl Table for ArrowTable {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn index(
        &mut self,
        fields: &[usize],
        file: FileBytes<'_>,
        _: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        let found = match self.listed.take() {
            Some(listed) => listed,
            None => messages(file, self.after_schema)?,
        };
        let roots: Vec<usize> = fields.iter().map(|&field| self.leaves[field].root).collect();
        let mut decoder = FileDecoder::new(Arc::clone(&self.schema), self.version);
        for place in &found.dictionaries {
            let buffer = self.buffer(place, file)?;
            let read = catch_unwind(AssertUnwindSafe(|| decoder.read_dictionary(&place.block(), &buffer)));
            let read = read.map_err(|_| "a dictionary is invalid".to_owned());
            read.and_then(|read| read.map_err(|e| e.to_string())).map_err(|e| bad(file, e, place.offset))?;
        }
        self.decoder = Some(decoder.with_projection(roots));
        let mut first = 0;
        for place in &found.batches {
            let rows = ArrowTable::rows(place, file)?;
            let size = |field: &usize| match &self.fields[*field].kind {
                FieldKind::Flat(element, shape) if !element.is_string() => {
                    rows.saturating_mul((element.size() * shape.len()) as u64)
                }
                // Of the batch's bytes each column may have all.
                _ => place.body + 40 * rows,
            };
            let decoded = fields.iter().map(size).fold(0, u64::saturating_add);
            self.batches.push((*place, Unit { rows, bytes: place.range(), decoded }, first));
            first += rows;
        }
        Ok(self.batches.iter().map(|(_, unit, _)| unit.clone()).collect())
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::PreferWhole
    }

    fn memory(&self) -> usize {
        self.batches.capacity() * size_of::<(Place, Unit, u64)>()
    }

    fn read(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let (place, whole, first) = &self.batches[unit];
        let Scratch { bytes, columns: left, .. } = scratch;
        file.read_over(place.range(), bytes)?;
        let (lent, buffer) = Lent::new(std::mem::take(bytes));
        let buffer = Buffer::from(buffer);
        let decoder = self.decoder.as_ref().expect("indexed before it is read");
        let mut decode = || -> Result<Vec<Collected>, String> {
            let batch = decoder.read_record_batch(&place.block(), &buffer).map_err(|e| e.to_string())?;
            let batch = batch.filter(|batch| batch.num_rows() as u64 == whole.rows);
            let batch = batch.ok_or("it has another number of rows than it declares")?;
            let mut columns = Vec::with_capacity(fields.len());
            for (place, &field) in fields.iter().enumerate() {
                let mut collected = Collected::new_in(left, &self.fields[field], self.nulls, rows.len());
                for run in rows.runs() {
                    let array = batch.column(place).slice(run.start as usize, (run.end - run.start) as usize);
                    collected.append(&array, &self.leaves[field])?;
                }
                columns.push(collected);
            }
            Ok(columns)
        };
        let decoded = catch_unwind(AssertUnwindSafe(&mut decode));
        let decoded = decoded.unwrap_or_else(|_| Err("its buffers are invalid".into()));
        drop(buffer);
        lent.take_back(bytes);
        let mut read = ReadRows::default();
        for (place, collected) in
            decoded.map_err(|what| self.damaged(unit, what, file))?.into_iter().enumerate()
        {
            let (column, null_rows) = collected.finish();
            let nulls = NullRows { field: (&self.fields[fields[place]].name, place), rows: null_rows };
            let offset = |row: u64| whole.extent(row..row + 1).start;
            nulls.report(self.nulls, rows, *first, &offset, &mut read);
            read.columns.push(column);
        }
        read.sort();
        Ok(read)
    }
}
