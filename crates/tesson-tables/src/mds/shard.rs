//! The rows of a shard.

use std::ops::Range;

use tesson_core::{
    ChunkAccess, Data, Defects, Element, Error, Offsets, Parallelism, Scratch, StreamColumn, Values,
};

use super::header::{Header, bytes_of};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::values::{ByteOrder, append_bytes, no_values};

/// Shards of Mosaic's datasets.
pub(crate) static MDS: TableFormat = TableFormat {
    name: "mds",
    extensions: &["mds"],
    compressed: WhenCompressed::WholeAndNamed,
    begins: |_| false,
    open,
    restore: None,
};

fn open(file: FileBytes<'_>, _: &TableOptions) -> Result<Box<dyn Table>, Error> {
    Ok(Box::new(Shard { header: Header::read(file)? }))
}

struct Shard {
    header: Header,
}

/// Bytes of samples that are read at once, about.
const AT_ONCE: u64 = 1 << 20;

impl Shard {
    /// The extent of some samples.
    fn extent(&self, rows: Range<u64>) -> Range<u64> {
        let offset = |row: u64| u64::from(self.header.offsets[row as usize]);
        offset(rows.start)..offset(rows.end)
    }

    /// Where each column lies in a sample; nothing if they do not add up to it.
    fn columns(&self, sample: &[u8], into: &mut Vec<Range<usize>>) -> Option<()> {
        into.clear();
        let n_open = self.header.sizes.iter().filter(|size| size.is_none()).count();
        let mut at = 4 * n_open;
        let mut open = sample.get(..at)?.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes).into());
        for size in &self.header.sizes {
            let size = usize::try_from(size.or_else(|| open.next())?).ok()?;
            let end = at.checked_add(size).filter(|end| *end <= sample.len())?;
            into.push(at..end);
            at = end;
        }
        (at == sample.len()).then_some(())
    }
}

impl Table for Shard {
    fn fields(&self) -> &[Field] {
        &self.header.fields
    }

    fn index(
        &mut self,
        _: &[usize],
        _: FileBytes<'_>,
        _: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        let rows = self.header.offsets.len() as u64 - 1;
        let bytes = self.extent(0..rows);
        Ok(vec![Unit { rows, decoded: (bytes.end - bytes.start).max(rows), bytes }])
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        size_of::<Shard>()
            + self.header.offsets.capacity() * 4
            + self.header.fields.capacity() * size_of::<Field>()
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let element = |field: usize| match &self.header.fields[field].kind {
            FieldKind::Flat(element, _) | FieldKind::Ragged(element, _) => *element,
            FieldKind::Sparse { .. } | FieldKind::Other(_) => {
                unreachable!("no stream has a column of another type")
            }
        };
        let mut columns: Vec<Values> = fields.iter().map(|&field| no_values(element(field), 0)).collect();
        let (mut read, mut parts, mut number) = (ReadRows::default(), Vec::new(), 0);
        for run in rows.runs() {
            let mut first = run.start;
            while first < run.end {
                // Some samples at once, one at least.
                let end = self.extent(first..first + 1).start + AT_ONCE;
                let more = self.header.offsets[first as usize..=run.end as usize]
                    .partition_point(|at| u64::from(*at) <= end);
                let last = (first + more as u64 - 1).clamp(first + 1, run.end);
                let extent = self.extent(first..last);
                file.read_over(extent.clone(), &mut scratch.bytes)?;
                for row in first..last {
                    let own = self.extent(row..row + 1);
                    let sample = &scratch.bytes
                        [(own.start - extent.start) as usize..(own.end - extent.start) as usize];
                    let fault = |field: Option<usize>, kind: TableFault| RowFault {
                        row: number,
                        field,
                        kind: kind.into(),
                        offset: own.start,
                        line: None,
                    };
                    let is_whole = self.columns(sample, &mut parts).is_some();
                    if !is_whole {
                        read.faults
                            .push(fault(None, TableFault::BadSample { row, bytes: own.end - own.start }));
                    }
                    for (place, (values, &field)) in columns.iter_mut().zip(fields).enumerate() {
                        let bytes = if is_whole { &sample[parts[field].clone()] } else { &[] };
                        match (values, element(field)) {
                            (Values::Strings(strings), Element::Text) => match std::str::from_utf8(bytes) {
                                Ok(_) => strings.push(bytes),
                                Err(error) => {
                                    let byte = error.valid_up_to() as u64;
                                    read.faults.push(fault(Some(place), TableFault::NoText { row, byte }));
                                    strings.append_empty(1);
                                }
                            },
                            (Values::Strings(strings), _) => strings.push(bytes),
                            (values, _) if is_whole => append_bytes(values, bytes, ByteOrder::Little),
                            (values, _) => {
                                let size = bytes_of(&self.header.fields[field].kind).unwrap_or(0);
                                append_bytes(values, &vec![0; size as usize], ByteOrder::Little);
                            }
                        }
                    }
                    number += 1;
                }
                first = last;
            }
        }
        let column = |values| StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } };
        read.columns = columns.into_iter().map(column).collect();
        Ok(read)
    }
}
