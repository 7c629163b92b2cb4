//! The deserializer of label files: what it reads before it indexes them.

use std::path::PathBuf;

use tesson_core::{
    DataError, DataErrorKind, Defects, Deserializer, DeserializerFacts, Element, Error, Fetch, Format,
    Indexed, ListedAt, Location, OptionName, Parallelism, RepeatedKeys, ResourceId, Shape, StreamInfo,
    StreamMismatch, StreamingDecoder,
};
use xxhash_rust::xxh3::Xxh3;

use super::corpus::{self, CorpusParts};
use super::fault::MlfFault;
use super::index::{self, Cut, Subject};
use super::options::{LabelFiles, LabelOptions};
use super::runs::LabelRules;
use super::states::States;
use crate::images::lossy;

const CHUNK_SIZE_IN_BYTES: OptionName = OptionName::new("chunkSizeInBytes");

const DEFINES_MB_SIZE: OptionName = OptionName::new("definesMBSize");

/// Label files.
pub(super) struct Labels {
    options: LabelOptions,
    facts: DeserializerFacts,
    /// The label files with their resources, once they are known.
    files: Vec<(PathBuf, ResourceId)>,
    states: Option<States>,
    cut: Cut,
}

/// Bytes of a list of states or of files, at most.
const MOST_LIST_BYTES: u64 = 64 << 20;

/// The first resource: a label file, or the list of these.
const FIRST: ResourceId = ResourceId(0);

impl Labels {
    pub(super) fn new(format: &'static Format, options: LabelOptions) -> Labels {
        if options.stream.frames.ignores_size {
            tracing::warn!(
                "stream `{}`: {DEFINES_MB_SIZE} is ignored, since CNTK 2.7 does not read it for labels; minibatches count \
                 the longest stream of a sequence, or the stream of another deserializer that has {DEFINES_MB_SIZE}",
                options.stream.source.name
            );
        }
        let mut resources = match &options.stream.source.files {
            LabelFiles::Listed(files) => files.clone(),
            LabelFiles::InFile(list) => vec![list.clone()],
        };
        resources.extend(options.stream.states.clone());
        let source = &options.stream.source;
        let stream = if source.as_numbers {
            StreamInfo::dense(&source.name, Shape::new([]), Element::I64)
        } else {
            StreamInfo::sparse(&source.name, source.dim as usize, options.element)
        };
        let mut facts = DeserializerFacts::new(format.name, resources, vec![stream], options.identity());
        facts.defines_size = options.defines_size;
        // CNTK has no other way; as numbers labels are data like any others.
        facts.needs_another_first = !source.as_numbers;
        facts.length_tolerance = options.stream.frames.tolerance;
        facts.needs_frame_period = options.stream.period_of_features;
        facts.looks_at_named = matches!(options.stream.source.files, LabelFiles::InFile(_));
        if options.table.frame_mode {
            facts.repeated_keys = RepeatedKeys::InTurn;
        }
        facts.smaller_chunks = Some(|| format!("choose a smaller {CHUNK_SIZE_IN_BYTES}"));
        Labels { options, facts, files: Vec::new(), states: None, cut: Cut::default() }
    }

    /// Sets another division of files into ranges.
    #[cfg(test)]
    pub(super) fn with_cut(self, cut: Cut) -> Labels {
        Labels { cut, ..self }
    }

    /// A list, whole.
    fn list(&self, resource: ResourceId, fetch: &dyn Fetch) -> Result<Vec<u8>, Error> {
        let (found, limit) = (fetch.size(resource)?, fetch.largest().min(MOST_LIST_BYTES));
        if found > limit {
            return Err(self.error(resource, DataErrorKind::SequenceTooLarge { found, limit }, 0, None));
        }
        let mut list = Vec::new();
        fetch.read_over(resource, 0..found, &mut list)?;
        Ok(list)
    }

    fn error(&self, resource: ResourceId, kind: DataErrorKind, offset: u64, line: Option<u64>) -> Error {
        let file = self.facts.resources[resource.0 as usize].as_path().into();
        DataError::new(kind, Location { file, offset, line: line.map(|line| line + 1) }).into()
    }

    /// The files that a list names.
    fn listed(&mut self, list: &[u8]) -> Result<(), Error> {
        let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
        let mut offset = 0;
        for (number, line) in (0..).zip(list.split_inclusive(|&byte| byte == b'\n')) {
            let at = offset;
            offset += line.len() as u64;
            let line = line.trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            let path = std::str::from_utf8(line).map_err(|_| {
                self.error(FIRST, MlfFault::NotUtf8 { found: lossy(line) }.into(), at, Some(number))
            })?;
            let listed_at = ListedAt { root: FIRST, line: number as u32 + 1 };
            let resource = self.facts.push_file(path, listed_at);
            self.files.push((path.into(), resource));
        }
        if self.files.is_empty() { Err(self.error(FIRST, MlfFault::NoFiles.into(), 0, None)) } else { Ok(()) }
    }
}

impl Deserializer for Labels {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let mut lists = Xxh3::new();
        if let (LabelFiles::InFile(_), Some(known)) =
            (&self.options.stream.source.files, self.facts.fingerprint)
        {
            // The second time: the files of the list can be read.
            lists.update(&known.to_le_bytes());
            for (_, file) in &self.files {
                lists.update(&fetch.size(*file)?.to_le_bytes());
            }
            self.facts.fingerprint = Some(lists.digest());
            return Ok(());
        }
        match self.options.stream.source.files.clone() {
            LabelFiles::Listed(files) => {
                self.files = (0..).map(ResourceId).zip(files).map(|(id, file)| (file, id)).collect();
            }
            LabelFiles::InFile(_) => {
                let list = self.list(FIRST, fetch)?;
                lists.update(&list);
                self.listed(&list)?;
            }
        }
        if self.options.stream.states.is_some() {
            let resource = ResourceId(self.facts.resources.len() as u32 - 1);
            let list = self.list(resource, fetch)?;
            lists.update(&list);
            let states = States::parse(&list)
                .map_err(|twice| self.error(resource, twice.fault.into(), twice.offset, Some(twice.line)))?;
            if states.len() <= self.options.stream.source.dim as usize {
                self.facts.streams[0].classes = states.names().into();
            }
            self.states = Some(states);
        }
        self.facts.fingerprint = Some(lists.digest());
        Ok(())
    }

    fn take_frame_period(&mut self, period: u32) {
        self.options.stream.times.period = period.into();
        self.facts.identity = self.options.identity();
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let options = &self.options;
        let subject = Subject {
            files: &self.files,
            encoding: options.encoding,
            times: options.stream.times,
            rules: options.table,
            cut: self.cut,
        };
        let (index, chunks, memory) = index::index(&subject, fetch, parallelism, defects)?;
        let parts = CorpusParts {
            rules: LabelRules {
                encoding: options.encoding,
                times: options.stream.times,
                states: self.states.clone(),
                dim: options.stream.source.dim,
            },
            files: self.files.iter().map(|(_, resource)| *resource).collect(),
            phone_boundaries: options.stream.frames.phone_boundaries,
            as_numbers: options.stream.source.as_numbers,
        };
        Ok(corpus::indexed(parts, index, chunks, memory))
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}
