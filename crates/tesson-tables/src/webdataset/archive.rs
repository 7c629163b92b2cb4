//! The rows of an archive.

use std::ops::Range;

use tesson_core::{ChunkAccess, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::tar_image::members::{Input, Member, Members, Stop, Tar, split};

use super::member::{append, is_array, kind_of};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::text::ColumnBuilder;

/// Tar archives.
pub(crate) static WEBDATASET: TableFormat = TableFormat {
    name: "webdataset",
    extensions: &["tar", "tgz"],
    compressed: WhenCompressed::Whole,
    begins: |bytes| bytes.get(257..262) == Some(b"ustar"),
    open,
};

/// The column of what members have in common: their names before the first `.`.
const KEY: &str = "__key__";

/// Bytes of an archive whose rows are one unit, about.
const UNIT: u64 = 4 << 20;

/// Bytes that are read with a member where the next row is wanted as well.
const AHEAD: u64 = 256 << 10;

/// The largest array that tells its type.
const LARGEST_ARRAY: u64 = 1 << 30;

/// Takes a sample: its key, and its members by extension. Returns false if no other one is wanted.
type Act<'a> = dyn FnMut(&str, &[(String, Member)]) -> Result<bool, Stop> + 'a;

/// Passes on each sample.
fn each_sample(file: FileBytes<'_>, act: &mut Act<'_>) -> Result<(), Stop> {
    let input = Input::new(file.fetch, file.resource)?;
    let mut archive = Tar::new(&input);
    let mut members = Members::new(&input, &mut archive)?;
    let (mut key, mut sample, mut passed) = (String::new(), Vec::new(), 0);
    while let Some(member) = members.next()? {
        file.fetch.progress(member.data.end - passed);
        passed = member.data.end;
        if file.fetch.cancelled() {
            return Err(Error::Cancelled.into());
        }
        let names = split(&member.name);
        if names.as_ref().is_none_or(|(of, _)| *of != key) {
            if !sample.is_empty() && !act(&key, &sample)? {
                return Ok(());
            }
            sample.clear();
        }
        if let Some((of, extension)) = names {
            key = of;
            sample.push((extension, member));
        }
    }
    if !sample.is_empty() {
        act(&key, &sample)?;
    }
    Ok(())
}

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let mut bytes = Vec::new();
    let mut fields = vec![Field::new(KEY, FieldKind::Flat(Element::Text, Shape::new([])))];
    let walked = each_sample(file, &mut |_, sample| {
        for (extension, Member { data, .. }) in sample {
            if fields.iter().any(|field| field.name == *extension) {
                continue;
            }
            let is_read = is_array(extension) && data.end - data.start <= LARGEST_ARRAY;
            if is_read {
                file.read_over(data.clone(), &mut bytes)?;
            }
            fields.push(Field::new(extension, kind_of(extension, is_read.then_some(&bytes[..]))));
        }
        Ok(false)
    });
    walked.map_err(|stop| error_of(stop, file))?;
    if fields.len() == 1 {
        return Err(file.error(TableFault::Empty { files: 1 }, 0));
    }
    let nulls = options.nulls;
    Ok(Box::new(Archive {
        fields,
        nulls,
        wanted: Vec::new(),
        rows: Vec::new(),
        places: Vec::new(),
        units: Vec::new(),
    }))
}

fn error_of(stop: Stop, file: FileBytes<'_>) -> Error {
    match stop {
        Stop::Error(error) => error,
        Stop::Fault(offset, fault) => file.error(fault, offset),
    }
}

/// A sample.
struct Row {
    /// The key, if it is wanted.
    key: Box<str>,
    /// Where its first header begins.
    begin: u64,
}

struct Archive {
    fields: Vec<Field>,
    nulls: NullRule,
    /// The fields whose members are known.
    wanted: Vec<usize>,
    rows: Vec<Row>,
    /// Where the members of the wanted fields lie, row by row.
    places: Vec<Option<Range<u64>>>,
    /// The first row of each unit.
    units: Vec<usize>,
}

impl Archive {
    /// Where the member of a field lies.
    fn place(&self, row: usize, field: usize) -> Option<Range<u64>> {
        let at = self.wanted.iter().position(|wanted| *wanted == field)?;
        self.places[row * self.wanted.len() + at].clone()
    }

    /// Finds the samples. Returns the end of the last one.
    fn walk(&mut self, file: FileBytes<'_>) -> (u64, Result<(), Stop>) {
        let Archive { fields, wanted, rows, places, .. } = self;
        let names: Vec<&str> = wanted.iter().map(|&field| fields[field].name.as_str()).collect();
        let has_keys = names.contains(&KEY);
        let mut end = 0;
        let walked = each_sample(file, &mut |key, sample| {
            let of_field = |name: &&str| sample.iter().rfind(|(extension, _)| extension == *name);
            let found: Vec<_> = names.iter().map(of_field).collect();
            if let Some((_, member)) = found.iter().flatten().find(|(_, member)| member.is_sparse) {
                let fault = tesson_formats::tar_image::TarImageFault::Sparse { member: member.name.clone() };
                return Err(Stop::Fault(member.begin, fault));
            }
            let key = if has_keys { key.into() } else { "".into() };
            rows.push(Row { key, begin: sample[0].1.begin });
            places.extend(found.into_iter().map(|member| Some(member?.1.data.clone())));
            end = sample.last().map_or(end, |(_, member)| member.data.end);
            Ok(true)
        });
        (end, walked)
    }
}

impl Table for Archive {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn assume(&mut self, first: &[Field]) {
        // Members have extensions, and those of this archive are found by the first one's.
        self.fields = first.to_vec();
    }

    fn index(
        &mut self,
        fields: &[usize],
        file: FileBytes<'_>,
        _: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        self.wanted = fields.to_vec();
        let (end, walked) = self.walk(file);
        match walked.map_err(|stop| error_of(stop, file)) {
            // Nothing behind it can be found.
            Err(Error::Data(error)) => defects.report(error)?,
            other => other?,
        }
        let begin = |row: usize| self.rows.get(row).map_or(end, |row| row.begin);
        for row in 0..self.rows.len() {
            if self.units.last().is_none_or(|&first| begin(row) - begin(first) >= UNIT) {
                self.units.push(row);
            }
        }
        let n_wanted = self.wanted.len();
        let unit = |(number, &first): (usize, &usize)| {
            let last = self.units.get(number + 1).copied().unwrap_or(self.rows.len());
            let places = self.places[first * n_wanted..last * n_wanted].iter().flatten();
            let members: u64 = places.map(|place| place.end - place.start).sum();
            let rows = (last - first) as u64;
            Unit { rows, bytes: begin(first)..begin(last), decoded: members + rows }
        };
        Ok(self.units.iter().enumerate().map(unit).collect())
    }

    fn access(&self) -> ChunkAccess {
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        size_of::<Archive>()
            + self.places.capacity() * size_of::<Option<Range<u64>>>()
            + self.rows.iter().map(|row| size_of::<Row>() + row.key.len()).sum::<usize>()
            + self.fields.capacity() * size_of::<Field>()
    }

    fn read(
        &self,
        unit: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let first = self.units[unit];
        let size = file.size()?;
        let mut columns: Vec<ColumnBuilder> =
            fields.iter().map(|&field| ColumnBuilder::new(&self.fields[field].kind, rows.len())).collect();
        let mut read = ReadRows::default();
        let mut near = 0..0;
        for i in 0..rows.len() {
            let number = rows.get(i);
            let row = first + number as usize;
            let next_is_wanted = i + 1 < rows.len() && rows.get(i + 1) == number + 1;
            for (at, (column, &field)) in columns.iter_mut().zip(fields).enumerate() {
                let Field { name, kind, .. } = &self.fields[field];
                let fault = |kind: TableFault, offset: u64| RowFault {
                    row: i as u32,
                    field: Some(at),
                    kind: kind.into(),
                    offset,
                    line: None,
                };
                if name == KEY {
                    column.push_field(self.rows[row].key.as_bytes());
                    column.end_row();
                    continue;
                }
                let Some(place) = self.place(row, field) else {
                    if column.fill(self.nulls) {
                        column.end_row();
                        continue;
                    }
                    column.end_faulty_row();
                    if self.nulls == NullRule::Skip {
                        read.skipped.push(i as u32);
                    } else {
                        let kind = TableFault::Null { column: name.clone(), row: row as u64 };
                        read.faults.push(fault(kind, self.rows[row].begin));
                    }
                    continue;
                };
                if place.start < near.start || near.end < place.end {
                    let ahead = if next_is_wanted { place.start + AHEAD } else { 0 };
                    near = place.start..place.end.max(ahead.min(size));
                    file.read_over(near.clone(), &mut scratch.bytes)?;
                }
                let bytes =
                    &scratch.bytes[(place.start - near.start) as usize..(place.end - near.start) as usize];
                match append(bytes, name, kind, column) {
                    Ok(()) => column.end_row(),
                    Err(found) => {
                        column.end_faulty_row();
                        let (column, dtype) = (name.clone(), kind.name());
                        read.faults.push(fault(TableFault::BadValue { column, found, dtype }, place.start));
                    }
                }
            }
        }
        read.sort();
        read.columns = columns.into_iter().map(ColumnBuilder::finish).collect();
        Ok(read)
    }
}
