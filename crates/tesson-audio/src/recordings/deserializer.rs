//! A list, read when a source is opened, and the headers of its recordings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{
    CompactLengths, DataError, Decoders, Defects, Deserializer, DeserializerFacts, Error, Fetch, Index,
    Indexed, Keys, ListedAt, ListedPaths, Location, NamedResource, Parallelism, ResourceId, Shape, Storage,
    StreamInfo, StreamMismatch, StreamingDecoder,
};

use super::FORMAT;
use super::corpus::{AudioCorpus, Recording};
use super::list::{KeysSeen, LineStart, each_line};
use super::options::AudioOptions;
use super::source_file::SourceFile;
use crate::decode::{Header, header};
use crate::fault::AudioFault;
use crate::log_mel::LogMel;

const LIST: ResourceId = ResourceId(0);

/// Recordings that are looked at by one job.
const AT_ONCE: usize = 64;

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
        facts.smaller_chunks = Some("lower `chunkSizeInFrames`");
        facts.frame_period = Some(options.stream.0.mel.period());
        facts.decoders = Decoders(vec![(0, Arc::new(LogMel::new(options.stream.0.mel)))]);
        Recordings { options, facts, keys: Arc::new(Keys::Consecutive(0)), defects: Vec::new() }
    }

    fn list_error(&self, fault: AudioFault, offset: u64, line: Option<u64>) -> DataError {
        let at = Location { file: self.options.list.as_path().into(), offset, line };
        DataError::new(fault, at)
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
    ) -> Result<(Vec<Recording>, BTreeMap<u32, AudioFault>), Error> {
        let n = self.facts.named.len();
        let job = |job: usize| {
            let range = job * AT_ONCE..n.min((job + 1) * AT_ONCE);
            range.map(|i| self.look(i, fetch)).collect::<Result<Vec<_>, Error>>()
        };
        let keeps_faulty = self.options.forgives || defects.are_collected();
        let (mut recordings, mut faulty) = (Vec::with_capacity(n), BTreeMap::new());
        for (i, found) in (0..n).zip(parallelism.map(n.div_ceil(AT_ONCE), job).into_iter().flat_map(flatten))
        {
            let checked = found?.and_then(|(header, bytes)| self.recording(i, header, bytes));
            match checked {
                Ok(recording) => recordings.extend(recording),
                Err(fault) if keeps_faulty => {
                    let number = i as u32;
                    recordings.push(Recording { number, frames: 1, bytes: 0 });
                    faulty.insert(number, fault);
                }
                Err(fault) => defects.report(self.file_error(i, fault))?,
            }
        }
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
    fn cut(&self, recordings: &[Recording]) -> (Index, Vec<u32>) {
        let (mut index, mut chunks) = (Index::new(), vec![0]);
        let (mut lengths, mut frames, mut bytes) = (Vec::new(), 0, 0);
        for (i, recording) in (1..).zip(recordings) {
            lengths.push(recording.frames);
            frames += u64::from(recording.frames);
            bytes += recording.bytes;
            if frames > self.options.chunk_frames || i as usize == recordings.len() {
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
        let mut bytes = Vec::new();
        fetch.read(LIST, 0..fetch.size(LIST)?, &mut bytes)?;
        let paths = ListedPaths::new(&self.options.list.to_string_lossy(), &self.options.root);
        let mut keys = KeysSeen::default();
        let (mut texts, mut ends, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut faults = Vec::new();
        each_line(&bytes, &mut |at, line| {
            let taken = line.and_then(|line| {
                keys.take(line.key, at.number, self.options.numeric_keys).map(|number| (line, number))
            });
            match taken {
                Ok((line, number)) => {
                    let listed = ListedAt { root: LIST, line: at.number };
                    self.facts.push_file(&paths.complete(line.path), listed);
                    texts.extend_from_slice(line.key.as_bytes());
                    ends.push(texts.len() as u32);
                    numbers.extend(number);
                }
                Err(fault) => faults.push((at, fault)),
            }
        });
        self.keys = Arc::new(if self.options.numeric_keys {
            Keys::Numbers(numbers)
        } else {
            Keys::Texts { bytes: texts, ends }
        });
        let error = |(at, fault): (LineStart, _)| self.list_error(fault, at.offset, Some(at.number.into()));
        self.defects = faults.into_iter().map(error).collect();
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
        if recordings.is_empty() {
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
