//! The rows of an array.

use std::ops::Range;

use tesson_core::{
    ChunkAccess, Data, Defects, Element, Error, Offsets, Parallelism, Scratch, StreamColumn, Values,
};

use super::header::{Form, Header, MAGIC, Member};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::options::{ArrayLayout, TableOptions};
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::values::{append_bytes, no_values};

/// NumPy's files.
pub(crate) static NPY: TableFormat = TableFormat {
    name: "npy",
    extensions: &["npy"],
    compressed: WhenCompressed::Refused,
    begins: |bytes| bytes.starts_with(MAGIC),
    open,
    restore: None,
};

/// The column of an array that is no record.
const COLUMN: &str = "data";

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let mut header = Header::read(file)?;
    let size = file.size()?;
    if size < header.file_bytes() {
        return Err(file.error(TableFault::Truncated { found: size, expected: header.file_bytes() }, size));
    }
    if header.shape.len() > 1 && header.fortran_order {
        return Err(file.error(TableFault::FortranOrder { shape: header.shape_text() }, 0));
    }
    if options.arrays == ArrayLayout::Example {
        header.shape.insert(0, 1);
    }
    if header.rows().is_none() {
        return Err(file.error(TableFault::NoRows, 0));
    }
    let field = |member: &Member| {
        let name = if header.is_record { &member.name } else { COLUMN };
        let kind = match &member.form {
            Form::Number(element, _) if options.arrays == ArrayLayout::Sequence => {
                FieldKind::Ragged(*element, member.shape_in(header.row_shape()))
            }
            Form::Number(element, _) => FieldKind::Flat(*element, member.shape_in(header.row_shape())),
            Form::Other(name) => FieldKind::Other(format!("values of type `{name}`")),
        };
        Field { unit: member.unit.clone(), ..Field::new(name, kind) }
    };
    let fields = header.members.iter().map(field).collect();
    // All items of the first dimension are then one row.
    let items = if options.arrays == ArrayLayout::Sequence { header.rows() } else { None };
    Ok(Box::new(Array { header, fields, items }))
}

/// An array whose first dimension counts rows.
struct Array {
    header: Header,
    fields: Vec<Field>,
    /// The number of samples in the one row, if there is only one.
    items: Option<u64>,
}

impl Array {
    /// The column of a member.
    fn column(
        &self,
        member: &Member,
        rows: &Rows<'_>,
        file: FileBytes<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Values, Error> {
        let Form::Number(element, order) = member.form else {
            unreachable!("no stream has a column of another type")
        };
        let Header { item_bytes, data, .. } = self.header;
        let (size, items) = (self.header.row_bytes(), self.header.row_items());
        let (start, bytes) = (member.offset as usize, member.bytes() as usize);
        let n = rows.len() * items as usize * bytes / element.size();
        let mut values = no_values(element, n);
        for run in rows.runs() {
            let range = data + run.start * size..data + run.end * size;
            file.each_part(range, size, buffer, &mut |part| {
                if bytes as u64 == item_bytes {
                    append_bytes(&mut values, part, order);
                } else {
                    part.chunks_exact(item_bytes as usize)
                        .for_each(|item| append_bytes(&mut values, &item[start..start + bytes], order));
                }
            })?;
        }
        Ok(values)
    }
}

impl Table for Array {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn index(
        &mut self,
        _: &[usize],
        _: FileBytes<'_>,
        _: &dyn Parallelism,
        _: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        let (rows, size) = (self.header.rows().unwrap_or(0), self.header.row_bytes());
        let decoded = rows * size.max(1);
        let rows = if self.items.is_some() { 1 } else { rows };
        let bytes = self.header.data..self.header.file_bytes();
        Ok(vec![Unit { rows, bytes, decoded }])
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        size_of::<Array>() + self.fields.capacity() * size_of::<Field>()
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let mut read = ReadRows::default();
        let all = self.items.map(|items| Rows::Range(0..items));
        let samples = match self.items {
            Some(items) => Offsets::At(vec![0, u32::try_from(items).map_err(|_| self.too_long(file))?]),
            None => Offsets::Every(1),
        };
        let rows = all.as_ref().unwrap_or(rows);
        for (place, &field) in fields.iter().enumerate() {
            let member = &self.header.members[field];
            let values = self.column(member, rows, file, &mut scratch.bytes)?;
            let check = match member.form {
                Form::Number(Element::Bool, _) => Some(Check::Bools),
                _ if member.unit.is_some() => Some(Check::Times),
                _ => None,
            };
            if let Some(check) = check {
                self.check(check, &values, place, rows, &mut read.faults);
            }
            let data = Data::Dense { values };
            read.columns.push(StreamColumn { samples: samples.clone(), data });
        }
        read.sort();
        Ok(read)
    }

    fn lengths(
        &self,
        _: usize,
        rows: Range<u64>,
        _: usize,
        file: FileBytes<'_>,
        _: &mut Scratch,
    ) -> Result<Vec<u32>, Error> {
        // Only the one row of a sequence has a length that differs from file to file.
        let items = u32::try_from(self.items.unwrap_or(1)).map_err(|_| self.too_long(file))?;
        Ok(rows.map(|_| items).collect())
    }
}

impl Array {
    fn too_long(&self, file: FileBytes<'_>) -> Error {
        file.error(TableFault::LongSequence { items: self.items.unwrap_or(0) }, 0)
    }

    /// Makes faults of the rows with a value that its type does not have.
    fn check(
        &self,
        check: Check,
        values: &Values,
        place: usize,
        rows: &Rows<'_>,
        faults: &mut Vec<RowFault>,
    ) {
        let mut fault = |i: usize, kind: &dyn Fn(u64) -> TableFault| {
            let number = rows.get(i);
            faults.push(RowFault {
                row: if self.items.is_some() { 0 } else { i as u32 },
                field: Some(place),
                kind: kind(number).into(),
                offset: self.header.data + number * self.header.row_bytes(),
                line: None,
            });
        };
        match (check, values) {
            (Check::Bools, Values::Bytes(bytes)) => {
                if bytes.iter().all(|byte| *byte <= 1) {
                    return;
                }
                for (i, row) in bytes.chunks_exact(bytes.len() / rows.len().max(1)).enumerate() {
                    if let Some(&found) = row.iter().find(|byte| **byte > 1) {
                        fault(i, &|row| TableFault::NotBool { row, found });
                    }
                }
            }
            (Check::Times, Values::Bits64(times)) => {
                if times.iter().all(|time| *time != NO_TIME) {
                    return;
                }
                for (i, row) in times.chunks_exact(times.len() / rows.len().max(1)).enumerate() {
                    if row.contains(&NO_TIME) {
                        fault(i, &|row| TableFault::NoTime { row });
                    }
                }
            }
            _ => unreachable!("truth values are bytes, and times have 64 bits"),
        }
    }
}

/// A check of values, of a type that does not have all that its bits can say.
#[derive(Clone, Copy)]
enum Check {
    /// Truth values are bytes that are 0 or 1.
    Bools,
    /// A time is not missing.
    Times,
}

/// The bits that NumPy writes for a missing time, `NaT`.
const NO_TIME: u64 = 1 << 63;
