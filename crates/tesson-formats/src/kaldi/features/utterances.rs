//! The utterances that script files and archives list, and their faults.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    DataError, DataErrorKind, DeserializerFacts, Error, Fetch, Key, Keys, ListedAt, ListedPaths, Location,
    NamedResource, ResourceId,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::matrix::{Found, Part};
use super::options::FeatureOptions;
use super::script::{self, Line};
use crate::htk::scp::numeric_key;
use crate::images::lossy;
use crate::kaldi::fault::KaldiFault;
use crate::lines::{LineFile, Reads, lines};

/// Bytes of a script file that are read at once.
const READ_AT_ONCE: u64 = 256 << 10;

/// Rows that a range may go beyond the last one, as Kaldi lets it: times of segments are rounded.
const ROW_TOLERANCE: u32 = 3;

/// An utterance that is listed.
#[derive(Clone, Debug)]
pub(super) struct Utterance {
    pub(super) resource: ResourceId,
    /// The byte that its matrix begins at.
    pub(super) offset: u64,
    /// Bytes of the matrix; 0 before it has been looked at.
    pub(super) size: u64,
    /// The rows and columns that are read; before the matrix has been looked at, the numbers of these that the line names, or 0.
    pub(super) part: Part,
    columns: u32,
    listed: Option<ListedIn>,
}

/// The script file that lists an utterance, and the line, by number and by its first byte.
#[derive(Clone, Copy, Debug)]
struct ListedIn {
    list: u32,
    line: u32,
    offset: u64,
}

impl Utterance {
    /// One of an archive.
    pub(super) fn in_archive(resource: ResourceId, offset: u64) -> Utterance {
        let part = Part { first_row: 0, rows: 0, first_column: 0 };
        Utterance { resource, offset, size: 0, part, columns: 0, listed: None }
    }

    /// Takes in what its matrix is.
    ///
    /// # Errors
    /// A part that the matrix does not have, and frames of another length than the stream's.
    pub(super) fn take(&mut self, found: Found, dim: u32) -> Result<(), KaldiFault> {
        let (rows, has) = (self.part.rows, found.rows);
        if has == 0 {
            return Err(KaldiFault::NoRows);
        }
        let end = u64::from(self.part.first_row) + u64::from(rows);
        if rows > 0 && (end > u64::from(has) + u64::from(ROW_TOLERANCE) || self.part.first_row >= has) {
            return Err(KaldiFault::RangeBeyondMatrix { last: self.part.first_row + (rows - 1), has });
        }
        let last_row = if rows > 0 { end.min(has.into()) as u32 } else { has };
        let (first_column, columns) = (self.part.first_column, self.columns);
        if u64::from(first_column) + u64::from(columns) > u64::from(found.columns) {
            let last = first_column + (columns - 1);
            return Err(KaldiFault::RangeBeyondMatrix { last, has: found.columns });
        }
        let columns = self.columns_of(found);
        if columns != dim {
            return Err(KaldiFault::OtherDim { found: columns, expected: dim });
        }
        self.part.rows = last_row - self.part.first_row;
        (self.columns, self.size) = (columns, found.size);
        Ok(())
    }

    /// The number of columns that are read of a matrix.
    pub(super) fn columns_of(&self, found: Found) -> u32 {
        if self.columns > 0 { self.columns } else { found.columns }
    }

    /// An error of it: at a byte of the file that its matrix lies in; without an offset in the line that lists it, or at the
    /// beginning of an utterance that no line lists.
    pub(super) fn error(
        &self,
        key: &[u8],
        offset: Option<u64>,
        kind: DataErrorKind,
        facts: &DeserializerFacts,
    ) -> DataError {
        let list = |listed: ListedIn| (facts.resources[listed.list as usize].as_path(), listed);
        let key = Some(Key::Text(String::from_utf8_lossy(key).into_owned()));
        let named = self.resource.0.checked_sub(facts.resources.len() as u32);
        let mut name = String::new();
        let path = match named.map(|number| facts.named.get(number, &mut name)) {
            Some(NamedResource::File { path, .. } | NamedResource::Member { name: path, .. }) => {
                Path::new(path)
            }
            None => facts.resources[self.resource.0 as usize].as_path(),
        };
        match (offset, self.listed.map(list)) {
            (None, Some((list, ListedIn { line, offset, .. }))) => {
                let at = Location { file: list.into(), offset, line: Some(line.into()) };
                DataError::new(kind, at).within(None, key)
            }
            (offset, listed) => {
                let at = Location { file: path.into(), offset: offset.unwrap_or(self.offset), line: None };
                let listing =
                    listed.map(|(list, at)| format!("line {} of {} lists it", at.line, list.display()));
                DataError::new(kind, at).within(None, key).listed(listing)
            }
        }
    }
}

/// Utterances with their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Utterances {
    pub(super) all: Vec<Utterance>,
    keys: Vec<u8>,
    ends: Vec<usize>,
}

impl Utterances {
    pub(super) fn push(&mut self, key: &[u8], utterance: Utterance) {
        self.all.push(utterance);
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
    }

    pub(super) fn key(&self, i: usize) -> &[u8] {
        &self.keys[i.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[i]]
    }

    /// Appends others.
    pub(super) fn append(&mut self, others: Utterances) {
        let start = self.keys.len();
        self.keys.extend_from_slice(&others.keys);
        self.ends.extend(others.ends.iter().map(|end| start + end));
        self.all.extend(others.all);
    }

    /// The first of each key, and the others.
    pub(super) fn without_repeated(self) -> (Utterances, Vec<(Utterance, Vec<u8>)>) {
        let (mut first, mut again) = (Utterances::default(), Vec::new());
        let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(self.all.len());
        for i in 0..self.all.len() {
            let (key, utterance) = (self.key(i), self.all[i].clone());
            let same = seen.entry(xxh3_64(key)).or_default();
            if same.iter().any(|&before| self.key(before) == key) {
                again.push((utterance, key.to_vec()));
            } else {
                same.push(i);
                first.push(key, utterance);
            }
        }
        (first, again)
    }

    /// The keys as a column; numbers, if all are.
    pub(super) fn column(&self, are_numbers: bool) -> Keys {
        if are_numbers {
            let number = |i| numeric_key(self.key(i)).expect("keys that are no numbers are left out");
            Keys::Numbers((0..self.all.len()).map(number).collect())
        } else {
            Keys::Texts { bytes: self.keys.clone(), ends: self.ends.iter().map(|&end| end as u32).collect() }
        }
    }
}

/// Checks a key.
pub(super) fn check_key(key: &[u8], are_numbers: bool) -> Result<(), KaldiFault> {
    if are_numbers && numeric_key(key).is_none() {
        Err(KaldiFault::NotNumericKey { key: lossy(key) })
    } else {
        Ok(())
    }
}

/// Reads script files: what they list, the faults of their lines, and a hash of all of them.
pub(super) fn read_lists(
    facts: &mut DeserializerFacts,
    options: &FeatureOptions,
    fetch: &dyn Fetch,
) -> Result<(Utterances, Vec<DataError>), Error> {
    let (mut utterances, mut defects, mut hash) = (Utterances::default(), Vec::new(), Xxh3::new());
    let mut numbers: HashMap<String, ResourceId> = HashMap::new();
    for list in 0..facts.resources.len() as u32 {
        let id = ResourceId(list);
        let size = fetch.size(id)?;
        let paths = ListedPaths::new(&facts.resources[list as usize].to_string_lossy(), &options.root);
        let file = Arc::<Path>::from(facts.resources[list as usize].as_path());
        let too_long = |found, offset| {
            let kind = DataErrorKind::SequenceBeyondMemory { found, limit: fetch.largest() };
            DataError::new(kind, Location { file: file.clone(), offset, line: None }).into()
        };
        let mut number = 0;
        let reads = Reads { from: 0, end: size, bytes: READ_AT_ONCE };
        lines(LineFile { file: id, first: 0 }, fetch, reads, too_long, |line| {
            number += 1;
            hash.update(line.bytes);
            let offset = line.offset;
            let line = line.bytes.strip_suffix(b"\n").unwrap_or(line.bytes);
            let parsed = script::parse(line).and_then(|line| {
                line.as_ref().map_or(Ok(()), |line| check_key(line.key.as_bytes(), options.numeric_keys))?;
                Ok(line)
            });
            match parsed {
                Ok(None) => {}
                Ok(Some(line)) => {
                    let path = paths.rooted(line.path);
                    let at = ListedAt { root: id, line: number };
                    let resource = *numbers.entry(path).or_insert_with_key(|path| facts.push_file(path, at));
                    utterances.push(
                        line.key.as_bytes(),
                        listed(&line, resource, ListedIn { list, line: number, offset }),
                    );
                }
                Err(fault) => {
                    let file = facts.resources[list as usize].as_path().into();
                    defects.push(DataError::new(fault, Location { file, offset, line: Some(number.into()) }));
                }
            }
            Ok(true)
        })?;
        hash.update(&size.to_le_bytes());
    }
    facts.fingerprint = Some(hash.digest());
    Ok((utterances, defects))
}

fn listed(line: &Line<'_>, resource: ResourceId, at: ListedIn) -> Utterance {
    let part = |range: &Option<std::ops::RangeInclusive<u32>>| {
        range.as_ref().map_or((0, 0), |range| (*range.start(), range.end() - range.start() + 1))
    };
    let ((first_row, rows), (first_column, columns)) = (part(&line.rows), part(&line.columns));
    Utterance {
        resource,
        offset: line.offset,
        size: 0,
        part: Part { first_row, rows, first_column },
        columns,
        listed: Some(at),
    }
}
