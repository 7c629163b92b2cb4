//! The tokens of windows and documents.

use std::ops::Range;

use tesson_core::{
    ChunkAccess, Data, Defects, Element, Error, Offsets, Parallelism, Scratch, Shape, StreamColumn,
};

use super::megatron::MegatronIndex;
use super::options::TokenOptions;
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::npy::{Form, Header};
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, Rows, Table, TableFormat, Unit};
use crate::values::{ByteOrder, append_bytes, no_values};

/// Files of tokens. Neither their names nor their beginnings tell them.
pub(crate) static TOKENS: TableFormat = TableFormat {
    name: "tokens",
    extensions: &[],
    compressed: WhenCompressed::Refused,
    begins: |_| false,
    open,
    restore: None,
};

/// The columns: tokens, and for windows the ones after each of them.
const COLUMNS: [&str; 2] = ["tokens", "labels"];

/// Bytes that one core looks through for the ends of documents.
const PART_BYTES: u64 = 16 << 20;

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let tokens = Tokens::find(file, &options.tokens)?;
    let TokenOptions { window, stride, end_of_text, .. } = options.tokens;
    let kind = |window: u64| FieldKind::Flat(tokens.element, Shape::new([window as usize]));
    if let Some(window) = window {
        let fields = COLUMNS.map(|name| Field::new(name, kind(window))).to_vec();
        return Ok(Box::new(Windows { tokens, window, stride: stride.unwrap_or(window), fields }));
    }
    if end_of_text.is_none() && file.companion.is_none() {
        return Err(file.error(TableFault::NoDocuments, 0));
    }
    let field = Field::new(COLUMNS[0], FieldKind::Ragged(tokens.element, Shape::new([])));
    let documents = DocumentList::default();
    Ok(Box::new(Documents { tokens, end_of_text, documents, fields: vec![field] }))
}

/// Where tokens are in a file.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    element: Element,
    order: ByteOrder,
    /// The first byte.
    start: u64,
    /// Number of tokens.
    n: u64,
}

impl Tokens {
    fn find(file: FileBytes<'_>, options: &TokenOptions) -> Result<Tokens, Error> {
        let (size, mut begin) = (file.size()?, Vec::new());
        file.read_over(0..size.min(6), &mut begin)?;
        if begin == *crate::npy::MAGIC {
            return Tokens::of_array(file, size);
        }
        let element = match file.companion() {
            Some(index) => MegatronIndex::element(index)?,
            None => options.element.unwrap_or(Element::U16),
        };
        let bytes = element.size() as u64;
        if size % bytes != 0 {
            let fault = TableFault::TokenBytes { size, dtype: element.name() };
            return Err(file.error(fault, size - size % bytes));
        }
        Ok(Tokens { element, order: ByteOrder::Little, start: 0, n: size / bytes })
    }

    fn of_array(file: FileBytes<'_>, size: u64) -> Result<Tokens, Error> {
        let header = Header::read(file)?;
        let form = match (header.members.as_slice(), header.is_record, header.shape.as_slice()) {
            ([member], false, [n]) => match &member.form {
                Form::Number(element, order) if !element.is_float() && *element != Element::F16 => {
                    Some((*element, *order, *n))
                }
                _ => None,
            },
            _ => None,
        };
        let Some((element, order, n)) = form else {
            return Err(file.error(TableFault::TokenArray { shape: header.shape_text() }, 0));
        };
        if size < header.file_bytes() {
            return Err(
                file.error(TableFault::Truncated { found: size, expected: header.file_bytes() }, size)
            );
        }
        Ok(Tokens { element, order, start: header.data, n })
    }

    fn bytes(&self) -> u64 {
        self.element.size() as u64
    }

    /// The bytes of some tokens.
    fn range(&self, tokens: Range<u64>) -> Range<u64> {
        self.start + tokens.start * self.bytes()..self.start + tokens.end * self.bytes()
    }
}

/// Windows of equal length.
struct Windows {
    tokens: Tokens,
    window: u64,
    stride: u64,
    fields: Vec<Field>,
}

impl Table for Windows {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn index(
        &mut self,
        fields: &[usize],
        _: FileBytes<'_>,
        _: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        // A window needs the token after it, which is a label.
        let rows = self.tokens.n.checked_sub(self.window + 1).map_or(0, |rest| rest / self.stride + 1);
        let bytes = self.tokens.range(0..rows * self.stride.min(self.window + 1));
        let decoded = rows.saturating_mul(fields.len() as u64 * self.window * self.tokens.bytes());
        Ok(vec![Unit { rows, bytes, decoded }])
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        size_of::<Windows>()
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let Windows { tokens, window, stride, .. } = self;
        let n = rows.len() * *window as usize;
        let mut values: Vec<_> = fields.iter().map(|_| no_values(tokens.element, n)).collect();
        let row_bytes = ((window + 1) * tokens.bytes()) as usize;
        for run in rows.runs() {
            // Windows that overlap are read one by one, from memory or the system's cache.
            for row in run {
                let first = row * stride;
                let range = tokens.range(first..first + window + 1);
                let mapped = file.fetch.mapped(file.resource, range.clone());
                let bytes = match mapped {
                    Some(bytes) => bytes,
                    None => {
                        file.read_over(range, &mut scratch.bytes)?;
                        scratch.bytes.as_slice()
                    }
                };
                let one = tokens.bytes() as usize;
                for (values, &field) in values.iter_mut().zip(fields) {
                    let start = field * one;
                    append_bytes(values, &bytes[start..start + row_bytes - one], tokens.order);
                }
            }
        }
        let column = |values| StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } };
        Ok(ReadRows { columns: values.into_iter().map(column).collect(), ..ReadRows::default() })
    }
}

/// The places of documents.
#[derive(Debug, Default)]
struct DocumentList {
    lengths: Vec<u32>,
    /// The first byte of each; empty where they follow each other.
    starts: Vec<u64>,
    /// The first token of every 1024th where they follow each other.
    marks: Vec<u64>,
}

/// Documents between two marks.
const MARK: usize = 1024;

impl DocumentList {
    /// Documents that follow each other.
    fn following(lengths: Vec<u32>) -> DocumentList {
        let mut first = 0;
        let marks = lengths.chunks(MARK).map(|part| {
            let mark = first;
            first += part.iter().map(|&n| u64::from(n)).sum::<u64>();
            mark
        });
        let marks = marks.collect();
        DocumentList { lengths, starts: Vec::new(), marks }
    }

    /// The bytes of a document.
    fn range(&self, document: usize, tokens: &Tokens) -> Range<u64> {
        let bytes = u64::from(self.lengths[document]) * tokens.bytes();
        if let Some(&start) = self.starts.get(document) {
            return start..start + bytes;
        }
        let mark = document / MARK;
        let before = self.lengths[mark * MARK..document].iter().map(|&n| u64::from(n)).sum::<u64>();
        let start = tokens.range(self.marks[mark] + before..self.marks[mark] + before).start;
        start..start + bytes
    }
}

/// Documents of any length.
struct Documents {
    tokens: Tokens,
    end_of_text: Option<i64>,
    documents: DocumentList,
    fields: Vec<Field>,
}

impl Documents {
    /// The tokens of each document, as the number that ends one tells.
    fn count(&self, end: i64, file: FileBytes<'_>, parallelism: &dyn Parallelism) -> Result<Vec<u32>, Error> {
        let per_part = PART_BYTES / self.tokens.bytes();
        let n_parts = self.tokens.n.div_ceil(per_part) as usize;
        let (mut lengths, mut open) = (Vec::new(), 0_u64);
        let too_long = |at: u64| file.error(TableFault::LongDocument, self.tokens.range(at..at).start);
        let width = parallelism.width().max(1);
        for first in (0..n_parts).step_by(width) {
            let found = parallelism.map(width.min(n_parts - first), |i| {
                let start = (first + i) as u64 * per_part;
                self.ends(end, start..self.tokens.n.min(start + per_part), file)
            });
            for (i, ends) in found.into_iter().enumerate() {
                let start = (first + i) as u64 * per_part;
                let mut last = start;
                for at in ends? {
                    open += at + 1 - last;
                    lengths.push(u32::try_from(open).map_err(|_| too_long(at))?);
                    (open, last) = (0, at + 1);
                }
                open += self.tokens.n.min(start + per_part) - last;
            }
        }
        if open > 0 {
            lengths.push(u32::try_from(open).map_err(|_| too_long(self.tokens.n))?);
        }
        Ok(lengths)
    }

    /// The places of the tokens that end documents.
    fn ends(&self, end: i64, tokens: Range<u64>, file: FileBytes<'_>) -> Result<Vec<u64>, Error> {
        let size = self.tokens.element.size();
        let pattern = match self.tokens.order {
            ByteOrder::Little => end.to_le_bytes()[..size].to_vec(),
            ByteOrder::Big => end.to_be_bytes()[8 - size..].to_vec(),
        };
        let (mut ends, mut at, mut buffer) = (Vec::new(), tokens.start, Vec::new());
        file.each_part(self.tokens.range(tokens), size as u64, &mut buffer, &mut |part| {
            for token in part.chunks_exact(size) {
                if token == pattern {
                    ends.push(at);
                }
                at += 1;
            }
        })?;
        file.fetch.progress(buffer.len() as u64);
        Ok(ends)
    }
}

impl Table for Documents {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn index(
        &mut self,
        _: &[usize],
        file: FileBytes<'_>,
        parallelism: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        self.documents = match (file.companion(), self.end_of_text) {
            (Some(index), None) => {
                let index = MegatronIndex::read(index, file.size()?)?;
                DocumentList { lengths: index.lengths, starts: index.starts, marks: Vec::new() }
            }
            (_, Some(end)) => DocumentList::following(self.count(end, file, parallelism)?),
            (None, None) => unreachable!("refused when it was opened"),
        };
        let bytes = self.tokens.range(0..self.tokens.n);
        let rows = self.documents.lengths.len() as u64;
        let decoded = bytes.end - bytes.start + 4 * rows;
        Ok(vec![Unit { rows, bytes, decoded }])
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        let DocumentList { lengths, starts, marks } = &self.documents;
        lengths.capacity() * 4 + (starts.capacity() + marks.capacity()) * 8
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let (mut values, mut ends) = (no_values(self.tokens.element, 0), vec![0_u32]);
        let size = self.tokens.bytes();
        for document in rows.runs().flatten() {
            let range = self.documents.range(document as usize, &self.tokens);
            file.each_part(range, size, &mut scratch.bytes, &mut |part| {
                append_bytes(&mut values, part, self.tokens.order);
            })?;
            ends.push(values.len() as u32);
        }
        let column = StreamColumn { samples: Offsets::At(ends), data: Data::Dense { values } };
        Ok(ReadRows { columns: fields.iter().map(|_| column.clone()).collect(), ..ReadRows::default() })
    }

    fn lengths(
        &self,
        _: usize,
        rows: Range<u64>,
        _: usize,
        _: FileBytes<'_>,
        _: &mut Scratch,
    ) -> Result<Vec<u32>, Error> {
        Ok(self.documents.lengths[rows.start as usize..rows.end as usize].to_vec())
    }
}
