//! The file's end: row groups, and the column in them.

use parquet::basic::Type;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use tesson_core::{Error, Fetch, ResourceId};

use crate::record::{Fault, Problem};

/// What a file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";

/// Rows that a group may have: what is said of their number must be believed before they are looked at.
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
        let fault = |offset, what: String| {
            Ok(Err(Fault { record: 0, offset, problem: Problem::BadDescription { what } }))
        };
        let size = fetch.size(resource)?;
        let ends = 2 * MAGIC.len() as u64 + 4;
        if size < ends {
            return fault(0, format!("the file has {size} bytes, a Parquet file has {ends} or more"));
        }
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        fetch.read(resource, 0..MAGIC.len() as u64, &mut begin)?;
        fetch.read(resource, size - 8..size, &mut end)?;
        if begin != MAGIC || end[4..] != *MAGIC {
            return fault(0, "the file does not begin and end as Parquet files do".into());
        }
        let length = u64::from(u32::from_le_bytes(*end.first_chunk().expect("eight bytes were read")));
        let most = (size - ends).min(fetch.largest());
        if length > most {
            return fault(
                size - 8,
                format!("the file's description is said to have {length} bytes of {most}"),
            );
        }
        let mut bytes = Vec::new();
        let begin = size - 8 - length;
        fetch.read(resource, begin..size - 8, &mut bytes)?;
        match ParquetMetaDataReader::decode_metadata(&bytes) {
            Ok(metadata) => match Index::of(metadata) {
                Ok(index) => Ok(Ok(index)),
                Err(what) => fault(begin, what),
            },
            Err(e) => fault(begin, format!("the file's description cannot be understood: {e}")),
        }
    }

    fn of(metadata: ParquetMetaData) -> Result<Index, String> {
        let schema = metadata.file_metadata().schema_descr();
        let column = schema.columns().iter().position(|column| column.path().string() == COLUMN);
        let Some(column) = column else {
            return Err(format!("the file has no column `{COLUMN}`"));
        };
        let found = schema.column(column);
        if found.physical_type() != Type::BYTE_ARRAY || found.max_rep_level() > 0 || found.max_def_level() > 1
        {
            return Err(format!("column `{COLUMN}` holds something else than one example a row"));
        }
        let mut firsts = vec![0];
        for (n, group) in metadata.row_groups().iter().enumerate() {
            let rows = group.num_rows();
            if !(0..=MOST_ROWS).contains(&rows) || group.columns().len() != schema.num_columns() {
                return Err(format!(
                    "row group {n} is said to have {rows} rows, at most {MOST_ROWS} are expected"
                ));
            }
            firsts.push(firsts[n] + rows as u64);
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
