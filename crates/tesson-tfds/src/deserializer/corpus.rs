//! Records of a chunk to columns, with what is wrong with them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    Chunk, Corpus, DataError, DataErrorKind, Element, Error, Fault, Fetch, Index, Location, ResourceId,
    Scratch, Wanted,
};
use tesson_formats::example::Span;
use tesson_formats::record::{self, RecordFile, Want};

use super::column::Stream;
use crate::features::{Batch, Decoder, Limits, Schema};
use crate::ids::Ids;

/// Bytes of records that are decoded together, about.
const BLOCK_BYTES: u64 = 1 << 20;

/// A run of records of a file: a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) resource: u32,
    /// The first record in the file, and how many there are.
    pub(super) first: u64,
    pub(super) n: u32,
    /// Records of the whole file, as the dataset says.
    pub(super) of: u64,
    /// The first record's number in the whole dataset, and in its split.
    pub(super) record: u64,
    pub(super) number: u64,
}

impl Slice {
    /// Where its records lie in a file of `size` bytes, if all take the same.
    pub(super) fn bytes(&self, size: u64) -> Range<u64> {
        let end = self.first + u64::from(self.n);
        self.place(size, self.first)..self.place(size, end)
    }

    fn place(&self, size: u64, record: u64) -> u64 {
        (u128::from(size) * u128::from(record) / u128::from(self.of.max(1))) as u64
    }
}

/// What examples are called.
pub(super) enum Keys {
    /// By their numbers in their split.
    Numbers,
    /// By `tfds_id`.
    Ids(Ids),
}

/// What loading needs to know.
pub(super) struct Records {
    pub(super) files: Vec<Box<dyn RecordFile>>,
    pub(super) paths: Vec<Arc<Path>>,
    pub(super) keys: Keys,
    pub(super) slices: Vec<Slice>,
    pub(super) schema: Arc<Schema>,
    pub(super) streams: Vec<Stream>,
    pub(super) element: Element,
}

/// The same, once the files' sizes are known.
pub(super) struct Indexed {
    records: Arc<Records>,
    sizes: Vec<u64>,
}

impl Indexed {
    pub(super) fn new(records: Arc<Records>, fetch: &dyn Fetch) -> Indexed {
        let sizes = (0..records.files.len()).map(|i| fetch.size(ResourceId(i as u32))).collect();
        Indexed { records, sizes }
    }
}

/// What a worker keeps from one chunk to the next.
struct Work {
    block: record::Records,
    decoder: Decoder,
    batch: Batch,
}

impl Work {
    /// The one that was left in the scratch memory, if it is for this schema.
    fn take(scratch: &mut Scratch, schema: &Arc<Schema>) -> Box<Work> {
        let left = scratch.format.take().and_then(|left| left.downcast::<Work>().ok());
        left.filter(|work| Arc::ptr_eq(work.decoder.schema(), schema)).unwrap_or_else(|| {
            let decoder = Decoder::new(Arc::clone(schema), Limits::default());
            Box::new(Work { block: record::Records::new(), decoder, batch: Batch::new(schema) })
        })
    }
}

impl Corpus for Indexed {
    fn load(
        &self,
        chunk: u32,
        wanted: Wanted<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let records = &*self.records;
        let slice = records.slices[chunk as usize];
        let file = &records.files[slice.resource as usize];
        *out = Chunk::empty();
        out.streams = records.streams.iter().map(|stream| stream.empty(records.element)).collect();
        let mut work = Work::take(scratch, &records.schema);
        let rows: Vec<u64> = match &wanted {
            Wanted::Range(range) => range.clone().map(|row| slice.first + u64::from(row)).collect(),
            Wanted::Rows(rows) => rows.iter().map(|&row| slice.first + u64::from(row)).collect(),
        };
        let mut done = 0;
        while done < rows.len() {
            match &wanted {
                Wanted::Range(_) => {
                    let want =
                        Want { first: rows[done], most: (rows.len() - done) as u64, bytes: BLOCK_BYTES };
                    file.read(want, fetch, &mut work.block)?;
                }
                Wanted::Rows(_) => file.read_rows(&rows[done..], fetch, &mut work.block)?,
            }
            if work.block.is_empty() {
                // One by one they are faults in their places, whatever else was wanted.
                file.read_rows(&rows[done..], fetch, &mut work.block)?;
            }
            if work.block.is_empty() {
                return Err(records.unreadable(&slice, rows[done]));
            }
            done += work.block.len();
            records.append(&slice, &mut work, out);
        }
        scratch.format = Some(work);
        out.lengths = vec![1; rows.len()];
        out.keys = records.keys(&slice, &rows);
        Ok(())
    }

    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, Range<u64>) {
        let slice = &self.records.slices[chunk as usize];
        let one = Slice { first: slice.first + u64::from(sequence), n: 1, ..*slice };
        (ResourceId(slice.resource), one.bytes(self.sizes[slice.resource as usize]))
    }

    fn bytes(&self) -> usize {
        let files: usize = self.records.files.iter().map(|file| file.memory()).sum();
        files + self.records.slices.len() * size_of::<Slice>() + self.sizes.len() * size_of::<u64>()
    }

    fn save(&self, _index: &Index, _into: &mut Vec<u8>) {}
}

impl Records {
    fn keys(&self, slice: &Slice, rows: &[u64]) -> tesson_core::Keys {
        let ids = match &self.keys {
            Keys::Numbers => {
                let number = |row: &u64| slice.number + (row - slice.first);
                return tesson_core::Keys::Numbers(rows.iter().map(number).collect()).compacted();
            }
            Keys::Ids(ids) => ids,
        };
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            bytes.extend(ids.id(slice.record + (row - slice.first)).unwrap_or_default().into_bytes());
            ends.push(bytes.len() as u32);
        }
        tesson_core::Keys::Texts { bytes, ends }
    }

    /// Decodes the records of a block behind those that the chunk has.
    fn append(&self, slice: &Slice, work: &mut Work, out: &mut Chunk) {
        let mut at = 0;
        while at < work.block.len() {
            if let Some(fault) = work.block.fault(at) {
                let (kind, offset) = (fault.kind(), fault.offset);
                self.leave_out(slice, kind, offset, None, out);
                at += 1;
                continue;
            }
            let sound = (at..work.block.len()).take_while(|&i| work.block.fault(i).is_none()).count();
            let places = work.block.places()[at..at + sound].iter();
            let spans = places.map(|p| Span { start: p.start as usize, len: p.size as usize });
            work.batch.clear();
            let decoded = work.decoder.decode(work.block.bytes(), spans, &mut work.batch);
            let mut good = work.batch.rows();
            let mut wrong = decoded.err().map(|failed| {
                let stream = failed.error.path.as_ref().and_then(|path| self.stream_of(path));
                let record = work.block.number(at + failed.record);
                (DataErrorKind::Malformed { what: format!("record {record}: {}", failed.error) }, stream)
            });
            let before = out.n_sequences as usize;
            for (i, stream) in self.streams.iter().enumerate() {
                if let Err((row, class)) = stream.append(&work.batch, &mut out.streams[i])
                    && row < good
                {
                    let (index, dim) = (class.to_string(), stream.shape[0] as u64);
                    good = row;
                    wrong = Some((DataErrorKind::IndexOutOfRange { index, dim }, Some(i as u16)));
                }
            }
            for (stream, column) in self.streams.iter().zip(&mut out.streams) {
                stream.truncate(column, before + good);
            }
            out.n_sequences += good as u32;
            at += good;
            if let Some((kind, stream)) = wrong {
                self.leave_out(slice, kind, work.block.offset(at), stream, out);
                at += 1;
            }
        }
    }

    /// A file that gives nothing for a record, not even what is wrong with it.
    fn unreadable(&self, slice: &Slice, record: u64) -> Error {
        let file = Arc::clone(&self.paths[slice.resource as usize]);
        let what = format!("record {record} cannot be read");
        DataError::new(DataErrorKind::Malformed { what }, Location { file, offset: 0, line: None }).into()
    }

    fn stream_of(&self, path: &str) -> Option<u16> {
        let column = self.schema.column(path)?;
        self.streams.iter().position(|stream| stream.is_of(column)).map(|i| i as u16)
    }

    /// Puts zeros in the place of a sequence that cannot be had.
    fn leave_out(
        &self,
        slice: &Slice,
        kind: DataErrorKind,
        offset: u64,
        stream: Option<u16>,
        out: &mut Chunk,
    ) {
        let (sequence, resource) = (out.n_sequences, ResourceId(slice.resource));
        out.faults.push(Fault { sequence, kind, stream, resource, offset, line: None, fatal: false });
        out.left_out.push(sequence);
        for (stream, column) in self.streams.iter().zip(&mut out.streams) {
            stream.blank(column);
        }
        out.n_sequences += 1;
    }
}
