//! Reading runs and single records of a file.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tesson_core::{Error, Fetch, ResourceId};

use crate::get_or_find;
use crate::record::{End, Fault, Problem, RecordFile, RecordSpan, Records, Want, block_limit, indexed};

use super::group::Group;
use super::index::Index;

/// A Parquet file with one example a row.
pub struct ParquetFile {
    resource: ResourceId,
    index: OnceLock<Result<Index, Fault>>,
    /// A group that has been read in part: the rest is likely wanted next.
    begun: Mutex<Option<Arc<Group>>>,
}

impl ParquetFile {
    /// The file that a resource is. Nothing is read.
    pub fn new(resource: ResourceId) -> ParquetFile {
        ParquetFile { resource, index: OnceLock::new(), begun: Mutex::new(None) }
    }

    fn index(&self, fetch: &dyn Fetch) -> Result<&Result<Index, Fault>, Error> {
        get_or_find(&self.index, || Index::read(self.resource, fetch))
    }

    fn group(&self, index: &Index, number: usize, fetch: &dyn Fetch) -> Result<Arc<Group>, Error> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match begun.filter(|group| group.number == number) {
            Some(group) => Ok(group),
            None => Ok(Arc::new(Group::read(index, number, self.resource, fetch)?)),
        }
    }

    fn keep(&self, group: Option<Arc<Group>>) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = group;
    }
}

/// Adds a row of a group to a block; false if there is no room for it.
fn append(index: &Index, group: &Group, row: u64, limit: u64, into: &mut Records) -> bool {
    let start = into.bytes.len();
    let problem = match &group.rows {
        Err(problem) => problem.clone(),
        Ok(rows) => match &rows[(row - index.firsts[group.number]) as usize] {
            Some(data) if (start + data.len()) as u64 <= limit => {
                into.begin_chunk(row, group.offset);
                into.places.push(RecordSpan { start: start as u32, size: data.len() as u32 });
                into.bytes.extend_from_slice(data.data());
                return true;
            }
            Some(_) if start > 0 => return false,
            Some(data) => Problem::TooLarge { found: data.len() as u64, limit },
            None => Problem::NoExample,
        },
    };
    into.push_lost(row, group.offset, problem);
    true
}

impl RecordFile for ParquetFile {
    fn read(&self, want: Want, fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        into.clear();
        let Some(index) = indexed(self.index(fetch)?, None, into) else { return Ok(()) };
        let wanted_end = want.first.saturating_add(want.most);
        let end = wanted_end.min(index.n_records());
        let mut next = want.first;
        while next < end {
            let group = self.group(index, index.group(next), fetch)?;
            let behind = index.firsts[group.number + 1];
            let mut fits = |row: &u64| {
                let full = *row > want.first && into.bytes.len() as u64 >= want.bytes;
                !full && append(index, &group, *row, block_limit(fetch), into)
            };
            let (from, until) = (next, behind.min(end));
            next += (from..until).take_while(&mut fits).count() as u64;
            self.keep((next < behind).then_some(group));
            if next < until {
                break;
            }
        }
        into.end = if next == index.n_records() && next < wanted_end { End::File } else { End::More };
        Ok(())
    }

    fn read_rows(&self, rows: &[u64], fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        into.clear();
        let Some(index) = indexed(self.index(fetch)?, Some(rows), into) else { return Ok(()) };
        for &row in rows {
            if row >= index.n_records() {
                into.push_lost(row, 0, Problem::Absent { records: index.n_records() });
                continue;
            }
            let group = self.group(index, index.group(row), fetch)?;
            let fits = append(index, &group, row, block_limit(fetch), into);
            self.keep(Some(group));
            if !fits {
                break;
            }
        }
        Ok(())
    }

    fn count(&self, fetch: &dyn Fetch) -> Result<(u64, Option<Fault>), Error> {
        Ok(match self.index(fetch)? {
            Ok(index) => (index.n_records(), None),
            Err(fault) => (0, Some(fault.clone())),
        })
    }

    fn random_access(&self, _: &dyn Fetch) -> Result<bool, Error> {
        Ok(true)
    }

    fn memory(&self) -> usize {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.index.get().and_then(|index| index.as_ref().ok());
        begun.as_ref().map_or(0, |group| group.memory())
            + index.map_or(0, |index| index.metadata.memory_size())
    }
}
