//! The records of a file.

use tesson_core::{ChunkAccess, DataErrorKind, Defects, Error, Parallelism, Scratch};
use tesson_formats::example::{FeatureSpec, Parser, Span};
use tesson_formats::record::RecordFile;
use tesson_formats::tfrecord::TfRecordFile;

use super::column::{Growing, Missing, list_of};
use super::schema::fields;
use super::walk::{count, each_block};
use crate::compressed::WhenCompressed;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};

/// Files of records with a `tf.train.Example` each.
pub(crate) static TFRECORD: TableFormat = TableFormat {
    name: "tfrecord",
    extensions: &["tfrecord", "tfrecords"],
    // A record file unpacks by itself what is compressed as TensorFlow does.
    compressed: WhenCompressed::Refused,
    begins: |_| false,
    open,
    restore: None,
};

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let records = TfRecordFile::new(file.resource);
    let is_plain = records.is_plain(file.fetch)?;
    Ok(Box::new(Examples::open(Box::new(records), is_plain, file, options)?))
}

/// Records that are a `tf.train.Example` each.
pub(crate) struct Examples {
    records: Box<dyn RecordFile>,
    fields: Vec<Field>,
    nulls: NullRule,
    /// True if a record can be read without those before it.
    has_random_access: bool,
}

impl Examples {
    /// Looks at the first records, which tell the columns.
    ///
    /// # Errors
    /// They are no examples, or cannot be read.
    pub(crate) fn open(
        records: Box<dyn RecordFile>,
        has_random_access: bool,
        file: FileBytes<'_>,
        options: &TableOptions,
    ) -> Result<Examples, Error> {
        let fields = fields(&*records, file, options)?;
        Ok(Examples { records, fields, nulls: options.nulls, has_random_access })
    }
}

impl Table for Examples {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn assume(&mut self, first: &[Field]) {
        // Features have names, and those of this file are found by the first one's.
        self.fields = first.to_vec();
    }

    fn index(
        &mut self,
        _: &[usize],
        file: FileBytes<'_>,
        _: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Vec<Unit>, Error> {
        count(&*self.records, file, defects)
    }

    fn access(&self) -> ChunkAccess {
        if self.has_random_access { ChunkAccess::Parts } else { ChunkAccess::PreferWhole }
    }

    fn memory(&self) -> usize {
        size_of::<Examples>() + self.records.memory() + self.fields.capacity() * size_of::<Field>()
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        _: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let fields: Vec<&Field> = fields.iter().map(|&field| &self.fields[field]).collect();
        let wanted =
            fields.iter().map(|field| FeatureSpec { key: field.name.clone(), kind: list_of(&field.kind) });
        let mut parser = Parser::new(wanted.collect());
        let mut parsed = parser.columns();
        let mut columns: Vec<Growing> =
            fields.iter().map(|field| Growing::new(field, self.nulls, rows.len())).collect();
        let mut read = ReadRows::default();
        each_block(&*self.records, rows, file, &mut |done, records| {
            for (i, place) in records.places().iter().enumerate() {
                let row = (done + i) as u32;
                let fault = |field: Option<usize>, kind: DataErrorKind| RowFault {
                    row,
                    field,
                    kind,
                    offset: records.offset(i),
                    line: None,
                };
                parsed.clear();
                let span = Span { start: place.start as usize, len: place.size as usize };
                let damage = match records.fault(i) {
                    Some(fault) => Some(fault.clone().into()),
                    None => parser.parse(records.bytes(), span, &mut parsed).err().map(DataErrorKind::from),
                };
                if let Some(kind) = damage {
                    read.faults.push(fault(None, kind));
                    columns.iter_mut().for_each(|column| column.end_row(true));
                    continue;
                }
                for (place, (column, field)) in columns.iter_mut().zip(&fields).enumerate() {
                    let pushed = column.push(&parsed.of[place], 0, records.bytes(), field);
                    column.end_row(pushed.is_err());
                    match pushed {
                        Ok(()) => {}
                        Err(Missing::Value) if self.nulls == NullRule::Skip => read.skipped.push(row),
                        Err(Missing::Value) => {
                            let kind = TableFault::NoValue { column: field.name.clone() };
                            read.faults.push(fault(Some(place), kind.into()));
                        }
                        Err(Missing::Fault(kind)) => read.faults.push(fault(Some(place), kind.into())),
                    }
                }
            }
        })?;
        read.sort();
        read.columns = columns.into_iter().map(Growing::finish).collect();
        Ok(read)
    }
}
