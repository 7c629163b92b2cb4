//! The rows of an archive.

use std::ops::Range;

use tesson_core::{ChunkAccess, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::tar_image::members::{Input, Member, Members, Stop, Tar, split};

use super::member::{Arrays, append, in_row, is_array, kind_of};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::npy::Header;
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
    restore: None,
};

/// The column of what members have in common: their names before the first `.`.
const KEY: &str = "__key__";

/// Bytes of an archive whose rows are one unit, about.
const UNIT: u64 = 4 << 20;

/// Bytes that are read with a member where the next row is wanted as well.
const AHEAD: u64 = 256 << 10;

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

/// The first samples, whose arrays tell types: all of these, and more while they are small.
const FIRST: usize = 8;
const MOST_FIRST: usize = 100;
const BYTES_OF_FIRST: u64 = 4 << 20;

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let mut header = Vec::new();
    // The members of the first sample, and what is known of those that are arrays.
    let mut found: Vec<(String, Option<Arrays>)> = Vec::new();
    let mut samples = 0;
    let walked = each_sample(file, &mut |_, sample| {
        for (extension, Member { data, .. }) in sample {
            if samples == 0 && !found.iter().any(|(name, _)| name == extension) {
                let is_read = is_array(extension) && options.declared(extension) != Some(Element::Bytes);
                found.push((extension.clone(), is_read.then(Arrays::default)));
            }
            let of_name = found.iter_mut().find(|(name, _)| name == extension);
            if let Some((_, Some(arrays))) = of_name {
                arrays.see(Header::within(file, data.clone(), &mut header)?);
            }
        }
        samples += 1;
        let end = sample.last().map_or(0, |(_, member)| member.data.end);
        let is_enough = samples >= FIRST && end >= BYTES_OF_FIRST || samples >= MOST_FIRST;
        Ok(!is_enough && found.iter().any(|(_, arrays)| arrays.is_some()))
    });
    match walked {
        // What is damaged behind the first sample is reported when the archive is indexed.
        Err(Stop::Fault(..)) if samples > 0 => {}
        other => other.map_err(|stop| error_of(stop, file))?,
    }
    let mut fields = vec![Field::new(KEY, FieldKind::Flat(Element::Text, Shape::new([])))];
    fields.extend(found.into_iter().map(|(extension, arrays)| {
        let is_ragged = options.inputs.iter().any(|s| s.column == extension && s.ragged == Some(true));
        let kind = arrays.map_or_else(|| kind_of(&extension), |arrays| arrays.kind(is_ragged));
        Field::new(extension, kind)
    }));
    if fields.len() == 1 {
        return Err(file.error(TableFault::Empty { files: 1 }, 0));
    }
    let nulls = options.nulls;
    Ok(Box::new(Archive {
        fields,
        nulls,
        wanted: Vec::new(),
        rows: Vec::new(),
        keys: String::new(),
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
    /// Where its first header begins.
    begin: u64,
    /// Where its key ends among all keys.
    key_end: u64,
}

/// Where a member lies.
#[derive(Clone, Copy)]
struct Place {
    begin: u64,
    end: u64,
}

/// The place of a member that a sample lacks.
const NOWHERE: Place = Place { begin: u64::MAX, end: u64::MAX };

struct Archive {
    fields: Vec<Field>,
    nulls: NullRule,
    /// The fields whose members are known.
    wanted: Vec<usize>,
    rows: Vec<Row>,
    /// The keys, one after the other, if they are wanted.
    keys: String,
    /// Where the members of the wanted fields lie, row by row.
    places: Vec<Place>,
    /// The first row of each unit.
    units: Vec<usize>,
}

impl Archive {
    /// Where the member of a field lies.
    fn place(&self, row: usize, field: usize) -> Option<Range<u64>> {
        let at = self.wanted.iter().position(|wanted| *wanted == field)?;
        let Place { begin, end } = self.places[row * self.wanted.len() + at];
        (begin != NOWHERE.begin).then_some(begin..end)
    }

    /// The key of a row.
    fn key(&self, row: usize) -> &str {
        let begin = row.checked_sub(1).map_or(0, |before| self.rows[before].key_end);
        &self.keys[begin as usize..self.rows[row].key_end as usize]
    }

    /// Finds the samples. Returns the end of the last one.
    fn walk(&mut self, file: FileBytes<'_>) -> (u64, Result<(), Stop>) {
        let Archive { fields, wanted, rows, keys, places, .. } = self;
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
            if has_keys {
                keys.push_str(key);
            }
            rows.push(Row { begin: sample[0].1.begin, key_end: keys.len() as u64 });
            let place =
                |(_, member): &(String, Member)| Place { begin: member.data.start, end: member.data.end };
            places.extend(found.into_iter().map(|member| member.map_or(NOWHERE, place)));
            end = sample.last().map_or(end, |(_, member)| member.data.end);
            Ok(true)
        });
        rows.shrink_to_fit();
        keys.shrink_to_fit();
        places.shrink_to_fit();
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
            let places = &self.places[first * n_wanted..last * n_wanted];
            let members: u64 = places.iter().map(|place| place.end - place.begin).sum();
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
            + self.places.capacity() * size_of::<Place>()
            + self.rows.capacity() * size_of::<Row>()
            + self.keys.capacity()
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
                    column.push_field(self.key(row).as_bytes());
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

    fn lengths(
        &self,
        unit: usize,
        rows: Range<u64>,
        field: usize,
        file: FileBytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u32>, Error> {
        let kind = &self.fields[field].kind;
        rows.map(|row| {
            // A row without such a member, or with a fault, has no sample.
            let Some(place) = self.place(self.units[unit] + row as usize, field) else { return Ok(0) };
            let header = Header::within(file, place, &mut scratch.bytes)?;
            Ok(header.and_then(|header| in_row(&header, kind)).map_or(0, |(_, samples)| samples as u32))
        })
        .collect()
    }
}
