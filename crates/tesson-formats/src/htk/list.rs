//! The utterances of script files, in columns: about twenty bytes each beside key and path.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use tesson_core::{
    DataError, DeserializerFacts, Error, Fetch, Key, Keys, ListedAt, Location, NamedResource, ResourceId,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::fault::HtkFault;
use super::options::{HtkOptions, OnDuplicate};
use super::scp::{LineRules, numeric_key};

/// The utterances that script files list, in their order.
#[derive(Clone, Default)]
pub(super) struct Utterances {
    keys: KeyColumn,
    /// The number of the file, among those that are listed.
    files: Vec<u32>,
    first_frames: Vec<u32>,
    /// Numbers of frames; 0 where the header of the file is still to say it.
    frames: Vec<u32>,
    /// Lines of the script file, from 1.
    lines: Vec<u32>,
    /// For each script file, the number of utterances up to its end.
    list_ends: Vec<u32>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utterance {
    /// The number of the file, among those that are listed.
    pub(super) file: u32,
    /// The first frame, in the file.
    pub(super) first: u32,
    /// Number of frames; 0 for all of a file whose header is still to be read.
    pub(super) frames: u32,
}

/// Keys, one after the other.
#[derive(Clone)]
enum KeyColumn {
    Texts { bytes: Vec<u8>, ends: Vec<u32> },
    Numbers(Vec<u64>),
}

impl Default for KeyColumn {
    fn default() -> KeyColumn {
        KeyColumn::Texts { bytes: Vec::new(), ends: Vec::new() }
    }
}

impl KeyColumn {
    fn text(bytes: &[u8], ends: &[u32], i: usize) -> Range<usize> {
        debug_assert!(bytes.len() >= ends[i] as usize);
        i.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[i] as usize
    }

    /// A number that is equal for equal keys.
    fn hash(&self, i: usize) -> u64 {
        match self {
            KeyColumn::Texts { bytes, ends } => xxh3_64(&bytes[KeyColumn::text(bytes, ends, i)]),
            KeyColumn::Numbers(numbers) => numbers[i],
        }
    }

    fn are_equal(&self, i: usize, j: usize) -> bool {
        match self {
            KeyColumn::Texts { bytes, ends } => {
                bytes[KeyColumn::text(bytes, ends, i)] == bytes[KeyColumn::text(bytes, ends, j)]
            }
            KeyColumn::Numbers(numbers) => numbers[i] == numbers[j],
        }
    }

    /// The keys of some, ascending.
    fn select(&self, of: impl Iterator<Item = usize>) -> Keys {
        match self {
            KeyColumn::Numbers(numbers) => Keys::Numbers(of.map(|i| numbers[i]).collect()),
            KeyColumn::Texts { bytes, ends } => {
                let (mut picked, mut picked_ends) = (Vec::new(), Vec::new());
                for i in of {
                    picked.extend_from_slice(&bytes[KeyColumn::text(bytes, ends, i)]);
                    picked_ends.push(picked.len() as u32);
                }
                Keys::Texts { bytes: picked, ends: picked_ends }
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            KeyColumn::Texts { bytes, ends } => bytes.capacity() + ends.capacity() * 4,
            KeyColumn::Numbers(numbers) => numbers.capacity() * 8,
        }
    }
}

impl Utterances {
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn get(&self, i: usize) -> Utterance {
        Utterance { file: self.files[i], first: self.first_frames[i], frames: self.frames[i] }
    }

    /// Sets the number of frames of an utterance that is a whole file.
    pub(super) fn set_frames(&mut self, i: usize, frames: u32) {
        self.frames[i] = frames;
    }

    /// The number of frames; 0 where it is not known yet.
    pub(super) fn frames(&self, i: usize) -> u32 {
        self.frames[i]
    }

    pub(super) fn key(&self, i: usize) -> Key {
        self.keys.select([i].into_iter()).get(0)
    }

    /// The keys of some utterances.
    pub(super) fn keys(&self, of: impl Iterator<Item = usize>) -> Keys {
        self.keys.select(of)
    }

    /// The line that lists an utterance.
    pub(super) fn line(&self, i: usize) -> u32 {
        self.lines[i]
    }

    /// The script file that lists an utterance, and the line.
    fn listed(&self, i: usize) -> (usize, u32) {
        (self.list_ends.partition_point(|&end| end as usize <= i), self.lines[i])
    }

    /// An error of an utterance, in its line of the script file.
    pub(super) fn line_error(&self, i: usize, fault: HtkFault, facts: &DeserializerFacts) -> DataError {
        let (list, line) = self.listed(i);
        let file = facts.resources[list].as_path().into();
        let at = Location { file, offset: 0, line: Some(line.into()) };
        DataError::new(fault, at).within(None, Some(self.key(i)))
    }

    /// An error of an utterance, at a byte of its file.
    pub(super) fn file_error(
        &self,
        i: usize,
        offset: u64,
        fault: HtkFault,
        facts: &DeserializerFacts,
    ) -> DataError {
        let (list, line) = self.listed(i);
        let listing = format!("line {line} of {} lists it", facts.resources[list].display());
        let mut name = String::new();
        let path = match facts.named.get(self.files[i], &mut name) {
            NamedResource::File { path, .. } | NamedResource::Member { name: path, .. } => path,
        };
        let at = Location { file: Path::new(path).into(), offset, line: None };
        DataError::new(fault, at).within(None, Some(self.key(i))).listed(Some(listing))
    }

    /// These of them alone, ascending.
    pub(super) fn selected(&self, kept: &[u32]) -> Utterances {
        let column = |values: &[u32]| kept.iter().map(|&i| values[i as usize]).collect();
        let keys = match self.keys.select(kept.iter().map(|&i| i as usize)) {
            Keys::Texts { mut bytes, ends } => {
                bytes.shrink_to_fit();
                KeyColumn::Texts { bytes, ends }
            }
            Keys::Numbers(numbers) => KeyColumn::Numbers(numbers),
            _ => unreachable!("keys are texts or numbers"),
        };
        Utterances {
            keys,
            files: column(&self.files),
            first_frames: column(&self.first_frames),
            frames: column(&self.frames),
            lines: column(&self.lines),
            list_ends: self.list_ends.iter().map(|&end| kept.partition_point(|&i| i < end) as u32).collect(),
        }
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        let columns = [&self.files, &self.first_frames, &self.frames, &self.lines, &self.list_ends];
        self.keys.bytes() + columns.iter().map(|column| column.capacity() * 4).sum::<usize>()
    }
}

/// The utterances of a list that are read, and those that are left out and why.
pub(super) struct Selection {
    /// The utterances that are read, ascending.
    pub(super) kept: Vec<u32>,
    /// Those that are too long, ascending.
    pub(super) too_long: Vec<u32>,
    /// Utterances left out for their keys.
    pub(super) duplicates: Vec<u32>,
    /// Utterances whose key an earlier one has, each with the first of them.
    pub(super) repeated: Vec<(u32, u32)>,
}

impl Utterances {
    /// Leaves out long utterances, then those whose keys occur again (spec/speech.md §3). Lengths that are not known
    /// are short.
    pub(super) fn select(&self, options: &HtkOptions) -> Selection {
        let is_short = |&i: &u32| u64::from(self.frames[i as usize]) <= options.max_frames;
        let (short, too_long): (Vec<u32>, Vec<u32>) = (0..self.len() as u32).partition(is_short);
        let mut by_key: Vec<(u64, u32)> = short.iter().map(|&i| (self.keys.hash(i as usize), i)).collect();
        by_key.sort_unstable();
        let (mut duplicates, mut repeated) = (Vec::new(), Vec::new());
        for group in by_key.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let mut firsts: Vec<(u32, bool)> = Vec::new();
            for &(_, i) in group {
                let same = |(first, _): &&mut (u32, bool)| self.keys.are_equal(*first as usize, i as usize);
                match firsts.iter_mut().find(same) {
                    Some((first, again)) => {
                        repeated.push((i, *first));
                        duplicates.push(i);
                        if !*again && options.on_duplicate == OnDuplicate::Drop {
                            duplicates.push(*first);
                        }
                        *again = true;
                    }
                    None => firsts.push((i, false)),
                }
            }
        }
        duplicates.sort_unstable();
        repeated.sort_unstable();
        let is_single = |i: &u32| duplicates.binary_search(i).is_err();
        let kept = short.into_iter().filter(is_single).collect();
        Selection { kept, too_long, duplicates, repeated }
    }
}

/// Bytes of a line, at most.
const LONGEST_LINE: usize = 64 << 10;

/// Bytes of a script file that are read at once.
const READ_AT_ONCE: u64 = 1 << 20;

/// Script files on their way into columns.
pub(super) struct ListReader<'a> {
    facts: &'a mut DeserializerFacts,
    numeric: bool,
    utterances: Utterances,
    /// Files by the hash of their path.
    files: HashMap<u64, Vec<u32>>,
    last_path: (String, u32),
    defects: Vec<DataError>,
}

/// The content of script files.
pub(super) struct Listed {
    pub(super) utterances: Utterances,
    /// The faults of their lines.
    pub(super) defects: Vec<DataError>,
    /// A hash of all bytes.
    pub(super) fingerprint: u64,
}

/// Reads all script files of a deserializer; the files that they list become resources of it.
///
/// # Errors
/// Unreadable storage. Bad lines are defects.
pub(super) fn read_lists(
    facts: &mut DeserializerFacts,
    options: &HtkOptions,
    fetch: &dyn Fetch,
) -> Result<Listed, Error> {
    let keys = if options.numeric_keys { KeyColumn::Numbers(Vec::new()) } else { KeyColumn::default() };
    let n_lists = facts.resources.len();
    let mut reader = ListReader {
        facts,
        numeric: options.numeric_keys,
        utterances: Utterances { keys, ..Utterances::default() },
        files: HashMap::new(),
        last_path: (String::new(), u32::MAX),
        defects: Vec::new(),
    };
    let mut hash = Xxh3::new();
    for list in 0..n_lists {
        let path = reader.facts.resources[list].display().to_string();
        let rules = LineRules::new(&path, &options.prefix, &options.root);
        reader.read_list(list, &rules, &mut hash, fetch)?;
        reader.utterances.list_ends.push(reader.utterances.len() as u32);
    }
    let ListReader { utterances, defects, .. } = reader;
    Ok(Listed { utterances, defects, fingerprint: hash.digest() })
}

/// A line of a script file.
#[derive(Clone, Copy)]
struct LineAt {
    /// The number of the script file.
    list: usize,
    /// The offset of the line's first byte.
    offset: u64,
    /// The number of the line, from 1.
    line: u32,
}

impl ListReader<'_> {
    fn read_list(
        &mut self,
        list: usize,
        rules: &LineRules,
        hash: &mut Xxh3,
        fetch: &dyn Fetch,
    ) -> Result<(), Error> {
        let id = ResourceId(list as u32);
        let size = fetch.size(id)?;
        hash.update(&size.to_le_bytes());
        let (mut bytes, mut offset, mut line) = (Vec::new(), 0, 0);
        while offset < size {
            // What is left of the piece before begins this one.
            let (keep, end) = (bytes.len(), size.min(offset + READ_AT_ONCE.min(fetch.largest())));
            fetch.read_after(id, offset..end, keep, &mut bytes)?;
            hash.update(&bytes[keep..]);
            let mut start = 0;
            while let Some(length) = memchr(&bytes[start..]) {
                line += 1;
                let at = LineAt { list, offset: offset - keep as u64 + start as u64, line };
                self.take_line(&bytes[start..start + length], rules, at);
                start += length + 1;
            }
            offset = end;
            if bytes.len() - start > LONGEST_LINE {
                let at = LineAt { list, offset: offset - (bytes.len() - start) as u64, line: line + 1 };
                self.defects.push(self.error(HtkFault::LongLine { most: LONGEST_LINE as u64 }, at));
                return Ok(());
            }
            bytes.drain(..start);
        }
        if !bytes.is_empty() {
            let at = LineAt { list, offset: size - bytes.len() as u64, line: line + 1 };
            self.take_line(&bytes, rules, at);
        }
        Ok(())
    }

    fn error(&self, fault: HtkFault, at: LineAt) -> DataError {
        let file = self.facts.resources[at.list].as_path().into();
        DataError::new(fault, Location { file, offset: at.offset, line: Some(at.line.into()) })
    }

    fn take_line(&mut self, line: &[u8], rules: &LineRules, at: LineAt) {
        if let Err(fault) = self.push(line, rules, at.list, at.line) {
            self.defects.push(self.error(fault, at));
        }
    }

    fn push(&mut self, line: &[u8], rules: &LineRules, list: usize, number: u32) -> Result<(), HtkFault> {
        let Some(line) = rules.parse(line)? else { return Ok(()) };
        match &mut self.utterances.keys {
            KeyColumn::Numbers(numbers) => match numeric_key(&line.key) {
                Some(key) => numbers.push(key),
                None => return Err(HtkFault::NotNumericKey { key: crate::images::lossy(&line.key) }),
            },
            KeyColumn::Texts { bytes, ends } => {
                let end = u32::try_from(bytes.len() + line.key.len()).map_err(|_| HtkFault::TooManyKeys)?;
                bytes.extend_from_slice(&line.key);
                ends.push(end);
            }
        }
        debug_assert_eq!(self.numeric, matches!(self.utterances.keys, KeyColumn::Numbers(_)));
        let file = self.file(line.path, ListedAt { root: ResourceId(list as u32), line: number });
        let (first, frames) = line.range.unwrap_or((0, 0));
        let utterances = &mut self.utterances;
        utterances.files.push(file);
        utterances.first_frames.push(first);
        utterances.frames.push(frames);
        utterances.lines.push(number);
        Ok(())
    }

    /// The number of a file, which becomes a resource where it is listed for the first time.
    fn file(&mut self, path: String, at: ListedAt) -> u32 {
        if self.last_path.0 == path {
            return self.last_path.1;
        }
        let named = &self.facts.named;
        let numbers = self.files.entry(xxh3_64(path.as_bytes())).or_default();
        let mut name = String::new();
        let is_same = |number: &&u32| matches!(named.get(**number, &mut name), NamedResource::File { path: p, .. } if p == path);
        let number = match numbers.iter().find(is_same) {
            Some(&number) => number,
            None => {
                let number = self.facts.push_file(&path, at).0 - self.facts.resources.len() as u32;
                numbers.push(number);
                number
            }
        };
        self.last_path = (path, number);
        number
    }
}

/// Where the first line feed is.
fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}
