//! ArrayRecord files without a description: features of `tf.train.Example`s are columns; records of any other kind are a column of bytes.

use tesson_core::{ChunkAccess, Defects, Element, Error, Parallelism, Scratch, Shape};
use tesson_formats::array_record::{ArrayRecordFile, SIGNATURE};
use tesson_formats::record::{RecordFile, Records};

use crate::compressed::WhenCompressed;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes, ReadRows, RowFault, Rows, Table, TableFormat, Unit};
use crate::text::ColumnBuilder;
use crate::tfrecord::Examples;
use crate::tfrecord::walk::{count, each_block};

/// Files with an index of their records.
pub(crate) static ARRAY_RECORD: TableFormat = TableFormat {
    name: "array_record",
    extensions: &["array_record", "arrayrecord"],
    compressed: WhenCompressed::Refused,
    begins: |bytes| bytes.starts_with(&SIGNATURE),
    open,
    restore: None,
};

/// The column of records that are no examples.
const RECORD: &str = "record";

fn open(file: FileBytes<'_>, options: &TableOptions) -> Result<Box<dyn Table>, Error> {
    let records = || Box::new(ArrayRecordFile::new(file.resource));
    let wants_records = options.streams().is_some_and(|asked| asked.iter().all(|s| s.column == RECORD));
    if !wants_records {
        match Examples::open(records(), true, file, options) {
            Ok(examples) => return Ok(Box::new(examples)),
            // The first record is no example. One that is damaged is found when it is read.
            Err(Error::Data(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let fields = [Field::new(RECORD, FieldKind::Flat(Element::Bytes, Shape::new([])))];
    Ok(Box::new(Plain { records: records(), fields }))
}

/// Records as they are.
struct Plain {
    records: Box<ArrayRecordFile>,
    fields: [Field; 1],
}

impl Table for Plain {
    fn fields(&self) -> &[Field] {
        &self.fields
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
        ChunkAccess::Parts
    }

    fn memory(&self) -> usize {
        size_of::<Plain>() + self.records.memory()
    }

    fn read(
        &self,
        _: usize,
        rows: &Rows<'_>,
        fields: &[usize],
        file: FileBytes<'_>,
        _: &mut Scratch,
    ) -> Result<ReadRows, Error> {
        let mut read = ReadRows::default();
        let mut columns: Vec<ColumnBuilder> =
            fields.iter().map(|_| ColumnBuilder::new(&self.fields[0].kind, rows.len())).collect();
        each_block(&*self.records, rows, file, &mut |done, records: &Records| {
            for (i, record) in records.iter().enumerate() {
                let Some(fault) = records.fault(i) else {
                    for column in &mut columns {
                        column.push_field(record);
                        column.end_row();
                    }
                    continue;
                };
                columns.iter_mut().for_each(ColumnBuilder::end_faulty_row);
                let (row, kind) = ((done + i) as u32, fault.clone().into());
                read.faults.push(RowFault { row, field: None, kind, offset: records.offset(i), line: None });
            }
        })?;
        read.sort();
        read.columns = columns.into_iter().map(ColumnBuilder::finish).collect();
        Ok(read)
    }
}
