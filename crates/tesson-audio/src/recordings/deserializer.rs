//! A list, read when a source is opened, and the headers of its recordings.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{
    CompactLengths, DataError, Decoders, Defects, Deserializer, DeserializerFacts, Error, Fetch, Index,
    Indexed, Keys, ListedAt, ListedPaths, Location, NamedResource, NamedResources, OptionName, Parallelism,
    ResourceId, SEQUENCES_IN_MEMORY, Shape, Storage, StreamInfo, StreamMismatch, StreamingDecoder,
};

use super::FORMAT;
use super::corpus::{AudioCorpus, FAULTY_BYTES, Recording, RecordingList};
use super::list::{KeysSeen, LineStart, PIECE, each_line};
use super::options::AudioOptions;
use crate::decode::{Header, header};
use crate::fault::AudioFault;
use crate::log_mel::LogMel;

const CHUNK_SIZE_IN_FRAMES: OptionName = OptionName::new("chunkSizeInFrames");

const LIST: ResourceId = ResourceId(0);

/// Recordings that are looked at by one job.
const AT_ONCE: usize = 64;

/// Jobs whose findings are in memory at once.
const JOBS: usize = 256;

/// Lines between two looks at how much memory they take.
const LOOK: u32 = 4096;

/// The recordings of a list. Recording `i` is named resource `i`.
pub(super) struct Recordings {
    options: AudioOptions,
    facts: DeserializerFacts,
    keys: Arc<Keys>,
    /// The faults of the list.
    defects: Vec<DataError>,
}

impl Recordings {
    pub(super) fn new(options: AudioOptions) -> Recordings {
        let shape = Shape::new([options.stream.0.mel.filters as usize]);
        let stream =
            StreamInfo::dense(&options.stream.0.name, shape, options.element).stored_as(Storage::Recordings);
        let list = vec![options.list.clone()];
        let mut facts = DeserializerFacts::new(FORMAT.name, list, vec![stream], options.identity());
        facts.defines_size = options.stream.0.defines_size;
        facts.smaller_chunks = Some(|| format!("lower {CHUNK_SIZE_IN_FRAMES}"));
        facts.frame_period = Some(options.stream.0.mel.period());
        facts.decoders = Decoders(vec![(0, Arc::new(LogMel::new(options.stream.0.mel)))]);
        Recordings { options, facts, keys: Arc::new(Keys::Consecutive(0)), defects: Vec::new() }
    }

    fn list_error(&self, fault: AudioFault, offset: u64, line: Option<u64>) -> DataError {
        list_error(&self.options.list, fault, offset, line)
    }

    /// An error of a listed file.
    fn file_error(&self, i: usize, fault: AudioFault) -> DataError {
        let mut name = String::new();
        let (NamedResource::File { path, at } | NamedResource::Member { name: path, at, .. }) =
            self.facts.named.get(i as u32, &mut name);
        let listing = format!("line {} of {} lists it", at.line, self.options.list.display());
        let at = Location { file: Path::new(path).into(), offset: 0, line: None };
        DataError::new(fault, at).within(None, Some(self.keys.get(i))).listed(Some(listing))
    }

    /// Reads the header of a recording, and the size of its file.
    fn look(&self, i: usize, fetch: &dyn Fetch) -> Result<Result<(Header, u64), AudioFault>, Error> {
        let resource = ResourceId(1 + i as u32);
        let size = match fetch.size(resource) {
            Ok(size) => size,
            Err(Error::Store(e)) => return Ok(Err(AudioFault::Unreadable { what: e.source.to_string() })),
            Err(other) => return Err(other),
        };
        let failed = Mutex::new(None);
        let found = header(SourceFile::new(fetch, resource, size, &failed), size);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Error::Store(e)) => Ok(Err(AudioFault::Unreadable { what: e.source.to_string() })),
            Some(other) => Err(other),
            None => Ok(found.map(|header| (header, size))),
        }
    }

    /// The recordings that are read, with their frames, and the faults of some by their numbers in the list. If
    /// faults may be forgiven or are listed, a recording that cannot be read stays in the corpus with a length of one
    /// frame.
    fn looked_at(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<(RecordingList, BTreeMap<u32, AudioFault>), Error> {
        let n = self.facts.named.len();
        let n_jobs = n.div_ceil(AT_ONCE);
        let job = |job: usize| {
            let range = job * AT_ONCE..n.min((job + 1) * AT_ONCE);
            range.map(|i| self.look(i, fetch)).collect::<Result<Vec<_>, Error>>()
        };
        let keeps_faulty = self.options.forgives || defects.are_collected();
        let (mut recordings, mut faulty) = (RecordingList::default(), BTreeMap::new());
        let rounds = (0..n_jobs).step_by(JOBS);
        let found = rounds.flat_map(|first| {
            parallelism.map(JOBS.min(n_jobs - first), |i| job(first + i)).into_iter().flat_map(flatten)
        });
        for (i, found) in (0..n).zip(found) {
            let checked = found?.and_then(|(header, bytes)| self.recording(i, header, bytes));
            match checked {
                Ok(recording) => recording.into_iter().for_each(|recording| recordings.push(recording)),
                Err(fault) if keeps_faulty => {
                    let number = i as u32;
                    recordings.push(Recording { number, frames: 1, bytes: 0 });
                    faulty.insert(number, fault);
                }
                Err(fault) => defects.report(self.file_error(i, fault))?,
            }
        }
        recordings.shrink();
        Ok((recordings, faulty))
    }

    /// A recording, unless it is left out.
    fn recording(&self, i: usize, header: Header, bytes: u64) -> Result<Option<Recording>, AudioFault> {
        let Header { rate, n_samples } = header;
        let mel = &self.options.stream.0.mel;
        if rate != mel.rate {
            return Err(AudioFault::OtherRate { found: rate, expected: mel.rate });
        }
        if !(self.options.min_samples..=self.options.max_samples).contains(&n_samples) {
            return Ok(None);
        }
        match u32::try_from(mel.n_frames(n_samples)) {
            Ok(0) => Err(AudioFault::TooShort { samples: n_samples, window: mel.window }),
            Ok(frames) if frames < 1 << 30 => Ok(Some(Recording { number: i as u32, frames, bytes })),
            _ => Err(AudioFault::TooLong { samples: n_samples }),
        }
    }

    /// Cuts chunks, each as soon as it has more frames than it should.
    fn cut(&self, recordings: &RecordingList) -> (Index, Vec<u32>) {
        let (mut index, mut chunks) = (Index::new(), vec![0]);
        let (mut lengths, mut frames, mut bytes) = (Vec::new(), 0, 0);
        for i in 1..=recordings.len() {
            let recording = recordings.get(i - 1);
            lengths.push(recording.frames);
            frames += u64::from(recording.frames);
            bytes += recording.bytes;
            if frames > self.options.chunk_frames || i == recordings.len() {
                index.push(CompactLengths::new(&lengths), bytes);
                chunks.push(i);
                lengths.clear();
                (frames, bytes) = (0, 0);
            }
        }
        index.seal();
        (index, chunks)
    }
}

/// An error of the list.
fn list_error(list: &Path, fault: AudioFault, offset: u64, line: Option<u64>) -> DataError {
    DataError::new(fault, Location { file: list.into(), offset, line })
}

/// The line that lists a recording.
fn line_of(named: &NamedResources, recording: u32) -> u32 {
    let (NamedResource::File { at, .. } | NamedResource::Member { at, .. }) =
        named.get(recording, &mut String::new());
    at.line
}

/// The results of a job one by one, or the error that ended it.
fn flatten<T>(results: Result<Vec<T>, Error>) -> Vec<Result<T, Error>> {
    match results {
        Ok(results) => results.into_iter().map(Ok).collect(),
        Err(e) => vec![Err(e)],
    }
}

impl Deserializer for Recordings {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let Recordings { options, facts, .. } = self;
        let size = fetch.size(LIST)?;
        let limit = fetch.largest().saturating_mul(SEQUENCES_IN_MEMORY);
        let paths = ListedPaths::new(&options.list.to_string_lossy(), &options.root);
        let error =
            |at: LineStart, fault| list_error(&options.list, fault, at.offset, Some(at.number.into()));
        let too_long = |at, limit| error(at, AudioFault::LongLine { limit }).into();
        // Of a list of which so much has been read.
        let beyond_memory = |at: LineStart, bytes: u64| {
            let needed = u128::from(bytes) * u128::from(size) / u128::from(at.offset.max(1));
            let needed = u64::try_from(needed).unwrap_or(u64::MAX);
            error(at, AudioFault::ListBeyondMemory { lines: at.number.into(), bytes, limit, needed })
        };
        let mut keys = KeysSeen::default();
        let (mut numbers, mut defects) = (Vec::new(), Vec::new());
        let (mut last, mut listed) = (LineStart { offset: 0, number: 0 }, 0_u32);
        each_line(fetch, LIST, PIECE, &too_long, &mut |at, line| {
            let named = &facts.named;
            let taken = line.and_then(|line| {
                let number = keys.take(line.key, at.number, options.numeric_keys, |i| line_of(named, i));
                number.map(|number| (line, number))
            });
            match taken {
                Ok((line, number)) => {
                    let listed = ListedAt { root: LIST, line: at.number };
                    facts.push_file(&paths.complete(line.path), listed);
                    numbers.extend(number);
                }
                Err(fault) => defects.push(error(at, fault)),
            }
            // Lines without an entry do not come here.
            (last, listed) = (at, listed.wrapping_add(1));
            if !listed.is_multiple_of(LOOK) {
                return Ok(());
            }
            let apart = numbers.capacity() * size_of::<u64>() + defects.len() * FAULTY_BYTES;
            match (facts.named.bytes() + keys.bytes() + apart) as u64 {
                bytes if bytes <= limit => Ok(()),
                // Where lines are wrong, that is what is said.
                bytes if defects.is_empty() => Err(beyond_memory(at, bytes).into()),
                _ => Err(defects.swap_remove(0).into()),
            }
        })?;
        self.keys = Arc::new(if options.numeric_keys {
            Keys::Numbers(numbers)
        } else {
            let (bytes, ends) = keys.into_texts();
            let ends = ends.into_iter().map(u32::try_from).collect::<Result<_, _>>();
            let ends = ends.map_err(|_| beyond_memory(last, bytes.len() as u64))?;
            Keys::Texts { bytes, ends }
        });
        self.defects = defects;
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        self.defects.iter().try_for_each(|defect| defects.report(defect.clone()))?;
        let (recordings, faulty) = self.looked_at(fetch, parallelism, defects)?;
        if recordings.len() == 0 {
            let listed = self.facts.named.len() as u64;
            defects.report(self.list_error(AudioFault::NothingToRead { listed }, 0, None))?;
        }
        let (index, chunks) = self.cut(&recordings);
        let corpus = AudioCorpus::new(recordings, faulty, self.keys.clone(), chunks);
        Ok(Indexed { index: Arc::new(index), corpus: Arc::new(corpus) })
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

/// A listed file, read as far as a decoder asks for it.
struct SourceFile<'a> {
    fetch: &'a dyn Fetch,
    resource: ResourceId,
    size: u64,
    at: u64,
    buffer: Vec<u8>,
    /// The error that stopped a read; a decoder passes on only its text.
    error: &'a Mutex<Option<Error>>,
}

impl<'a> SourceFile<'a> {
    fn new(
        fetch: &'a dyn Fetch,
        resource: ResourceId,
        size: u64,
        error: &'a Mutex<Option<Error>>,
    ) -> SourceFile<'a> {
        SourceFile { fetch, resource, size, at: 0, buffer: Vec::new(), error }
    }
}

impl Read for SourceFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = (self.size.saturating_sub(self.at)).min(into.len() as u64);
        if let Err(e) = self.fetch.read_over(self.resource, self.at..self.at + n, &mut self.buffer) {
            let what = e.to_string();
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            return Err(io::Error::other(what));
        }
        into[..n as usize].copy_from_slice(&self.buffer);
        self.at += n;
        Ok(n as usize)
    }
}

impl Seek for SourceFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(from) => self.size.checked_add_signed(from),
            SeekFrom::Current(from) => self.at.checked_add_signed(from),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
