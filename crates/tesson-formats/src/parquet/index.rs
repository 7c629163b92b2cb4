//! The file's end: row groups, and the column in them.

use parquet::basic::Type;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use tesson_core::{Error, Fetch, ResourceId};

use crate::record::{Fault, Problem};

/// The first and last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Rows that a group may declare: memory is allocated for them before they are read.
const MOST_ROWS: i64 = 1 << 20;

/// The column that holds examples.
const COLUMN: &str = "data";

/// Where the rows of a file are.
pub(super) struct Index {
    pub(super) metadata: ParquetMetaData,
    pub(super) column: usize,
    /// The first row of each group, and behind the last.
    pub(super) firsts: Vec<u64>,
}

impl Index {
    /// Reads a file's end; what is wrong with it is a fault of its first record.
    pub(super) fn read(resource: ResourceId, fetch: &dyn Fetch) -> Result<Result<Index, Fault>, Error> {
        let fault = |offset, problem| Ok(Err(Fault { record: 0, offset, problem }));
        let size = fetch.size(resource)?;
        let least = 2 * MAGIC.len() as u64 + 4;
        if size < least {
            return fault(0, Problem::TooShort { size, least });
        }
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        fetch.read(resource, 0..MAGIC.len() as u64, &mut begin)?;
        fetch.read(resource, size - 8..size, &mut end)?;
        if begin != MAGIC || end[4..] != *MAGIC {
            return fault(0, Problem::NoMagic);
        }
        let found = u64::from(u32::from_le_bytes(*end.first_chunk().expect("eight bytes were read")));
        let most = (size - least).min(fetch.largest());
        if found > most {
            return fault(size - 8, Problem::DescriptionSize { found, most });
        }
        let mut bytes = Vec::new();
        let begin = size - 8 - found;
        fetch.read(resource, begin..size - 8, &mut bytes)?;
        let metadata = ParquetMetaDataReader::decode_metadata(&bytes);
        let metadata = metadata.map_err(|e| Problem::BadDescription { what: e.to_string() });
        metadata.and_then(Index::of).map_or_else(|problem| fault(begin, problem), |index| Ok(Ok(index)))
    }

    fn of(metadata: ParquetMetaData) -> Result<Index, Problem> {
        let schema = metadata.file_metadata().schema_descr();
        let column = schema.columns().iter().position(|column| column.path().string() == COLUMN);
        let column = column.ok_or(Problem::NoColumn { name: COLUMN })?;
        let found = schema.column(column);
        if found.physical_type() != Type::BYTE_ARRAY || found.max_rep_level() > 0 || found.max_def_level() > 1
        {
            return Err(Problem::ColumnType { name: COLUMN });
        }
        let mut firsts = vec![0];
        for (group, found) in metadata.row_groups().iter().enumerate() {
            let rows = found.num_rows();
            if !(0..=MOST_ROWS).contains(&rows) || found.columns().len() != schema.num_columns() {
                return Err(Problem::RowCount { group, rows, most: MOST_ROWS });
            }
            firsts.push(firsts[group] + rows as u64);
        }
        Ok(Index { metadata, column, firsts })
    }

    /// Number of rows.
    pub(super) fn n_records(&self) -> u64 {
        self.firsts[self.firsts.len() - 1]
    }

    /// The group that a row is in.
    pub(super) fn group(&self, row: u64) -> usize {
        self.firsts.partition_point(|&first| first <= row) - 1
    }
}
