//! Files of one format as one corpus.
//!
//! Each file is understood by itself; here their chunks are numbered one file after the other. So sequences never run from
//! one file into the next, and an id that is in two files is two sequences.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tesson_core::identity::Identity;
use tesson_core::{
    ByteRun, Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, DataError, Defects, Deserializer,
    DeserializerFacts, Error, Fault, Fetch, FormatFaults, Index, Indexed, Keys, Location, OneCore,
    OptionName, Parallelism, PartFetch, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
    StreamInfo, StreamMismatch, StreamingDecoder,
};

const INPUT: OptionName = OptionName::new("input");

tesson_core::error_kinds! {
    /// A fault of files that are to be one corpus.
    pub enum FilesFault {
        /// Two of the files have different streams.
        OtherStreams {
            found: String = "`x` 3".into(),
            file: String = "part-0.cbf".into(),
            expected: String = "`x` 2".into(),
        }
            = "files.other-streams": "the streams are {found}, those of {file} are {expected}; files that are one \
                corpus have the same"
            => in manual "Give files of equal streams, or leave streams out with {INPUT}.",
    }
}

impl FormatFaults for FilesFault {}

/// One file of a format whose files do not depend on each other: its only resource is number 0. The methods are those of
/// [`Deserializer`]; what all files have in common is in the facts of [`Files`].
pub(crate) trait DataFile: Send + Sync + 'static {
    /// The streams, final after preparing.
    fn streams(&self) -> &[StreamInfo];

    /// See [`DeserializerFacts::identity`]; final after preparing.
    fn identity(&self) -> String;

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error>;

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error>;

    fn restore(&self, saved: &[u8]) -> Option<Indexed>;

    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error>;

    fn streaming(&self) -> Option<&dyn StreamingDecoder>;
}

/// The deserializer of a format whose files do not depend on each other; file `k` is resource `k`.
pub(crate) struct Files<F> {
    facts: DeserializerFacts,
    files: Vec<F>,
    /// True if all can be read without an index, which is asked for each run of bytes.
    streaming: bool,
}

/// The index of one file, and the defects found while indexing it.
type FileIndex = (Result<Indexed, Error>, Vec<DataError>);

/// One of the files.
fn only(fetch: &dyn Fetch, file: usize) -> PartFetch<'_> {
    PartFetch { fetch, first: file as u32 }
}

impl<F: DataFile> Files<F> {
    /// Files by name, each opened by `open`.
    pub(crate) fn new(name: &'static str, paths: &[PathBuf], open: impl Fn(PathBuf) -> F) -> Files<F> {
        let files: Vec<F> = paths.iter().cloned().map(open).collect();
        let streams = files[0].streams().to_vec();
        let facts = DeserializerFacts::new(name, paths.to_vec(), streams, String::new());
        Files { facts, files, streaming: false }
    }

    /// Sets facts that the options decide.
    pub(crate) fn with_facts(mut self, set: impl FnOnce(&mut DeserializerFacts)) -> Files<F> {
        set(&mut self.facts);
        self
    }

    /// Checks that all files have the streams of the first.
    fn check_streams(&self) -> Result<(), Error> {
        let first = self.files[0].streams();
        let Some(file) = self.files.iter().position(|file| file.streams() != first) else { return Ok(()) };
        let fault = FilesFault::OtherStreams {
            found: listed(self.files[file].streams()),
            file: self.facts.resources[0].display().to_string(),
            expected: listed(first),
        };
        let at = Location { file: self.facts.resources[file].as_path().into(), offset: 0, line: None };
        Err(DataError::new(fault, at).into())
    }

    /// Indexes each file: one after the other on all cores, or, where there are many, each on one core.
    fn index_each(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        collect: bool,
    ) -> impl Iterator<Item = FileIndex> {
        let n = self.files.len();
        let indexed: Vec<OnceLock<FileIndex>> = (0..n).map(|_| OnceLock::new()).collect();
        let index = |file: usize, parallelism: &dyn Parallelism| {
            let found = indexed[file].get_or_init(|| {
                let mut found = Vec::new();
                let mut defects = if collect { Defects::Collect(&mut found) } else { Defects::Refuse };
                let indexed = self.files[file].index(&only(fetch, file), parallelism, &mut defects);
                (indexed, found)
            });
            found.0.is_ok()
        };
        if n >= 2 * parallelism.width() {
            let one = OneCore { memory: parallelism.memory() / parallelism.width().max(1) as u64 };
            parallelism.run(n, &|file| {
                index(file, &one);
            });
        } else {
            (0..n).all(|file| index(file, parallelism));
        }
        // What follows the first error does not count.
        indexed.into_iter().map_while(OnceLock::into_inner)
    }
}

fn listed(streams: &[StreamInfo]) -> String {
    let one = |s: &StreamInfo| format!("`{}` {}{}", s.name, if s.sparse { "sparse " } else { "" }, s.shape);
    streams.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl<F: DataFile> Deserializer for Files<F> {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        for (number, file) in self.files.iter_mut().enumerate() {
            file.prepare(&only(fetch, number))?;
        }
        self.streaming = self.files.iter().all(|file| file.streaming().is_some());
        self.facts.streams = self.files[0].streams().to_vec();
        self.facts.identity = self.files[0].identity();
        if self.files.len() > 1 {
            let one = std::mem::take(&mut self.facts.identity);
            self.facts.identity = Identity::of(one).field("files", self.files.len()).text();
        }
        self.check_streams()
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        if let [file] = self.files.as_slice() {
            return file.index(fetch, parallelism, defects);
        }
        let mut parts = Vec::with_capacity(self.files.len());
        for (indexed, found) in self.index_each(fetch, parallelism, defects.are_collected()) {
            found.into_iter().try_for_each(|defect| defects.report(defect))?;
            parts.push(indexed?);
        }
        Ok(concatenated(parts))
    }

    fn restore(&self, mut saved: &[u8]) -> Option<Indexed> {
        if let [file] = self.files.as_slice() {
            return file.restore(saved);
        }
        let mut parts = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let (n, rest) = saved.split_first_chunk()?;
            let (one, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*n)).ok()?)?;
            parts.push(file.restore(one)?);
            saved = rest;
        }
        saved.is_empty().then(|| concatenated(parts))
    }

    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        let mut left: Option<Vec<StreamMismatch>> = None;
        for (number, file) in self.files.iter().enumerate() {
            let found = file.mismatches(&only(fetch, number))?;
            // A stream is as declared if it is in one of the files.
            let still = |m: &StreamMismatch| found.iter().any(|other| other.stream == m.stream);
            match &mut left {
                None => left = Some(found),
                Some(left) => left.retain(still),
            }
            if left.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        Ok(left.unwrap_or_default())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        match self.files.as_slice() {
            [file] => file.streaming(),
            _ if self.streaming => Some(self),
            _ => None,
        }
    }
}

impl<F: DataFile> Files<F> {
    fn decoder(&self, file: usize) -> &dyn StreamingDecoder {
        self.files[file].streaming().expect("asked for before anything is cut")
    }
}

impl<F: DataFile> StreamingDecoder for Files<F> {
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error> {
        let mut before = after.map(|run| ByteRun { resource: ResourceId(0), ..run });
        for file in after.map_or(0, |run| run.resource.0 as usize)..self.files.len() {
            if let Some(run) = self.decoder(file).cut(before.take(), target, &only(fetch, file), scratch)? {
                return Ok(Some(ByteRun { resource: ResourceId(file as u32), ..run }));
            }
        }
        Ok(None)
    }

    fn reads_itself(&self) -> bool {
        self.decoder(0).reads_itself()
    }

    fn decode(
        &self,
        run: ByteRun,
        bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let file = run.resource.0 as usize;
        let own = ByteRun { resource: ResourceId(0), ..run };
        self.decoder(file).decode(own, bytes, &only(fetch, file), scratch, out)?;
        renumber_resources(out, file);
        Ok(())
    }
}

/// Numbers the resource of what one file has decoded among all files.
fn renumber_resources(out: &mut Chunk, file: usize) {
    let renumber = |fault: &mut Fault| fault.resource.0 += file as u32;
    out.faults.iter_mut().for_each(renumber);
    out.notes.iter_mut().for_each(renumber);
}

/// The index and corpus of several files, chunks numbered one file after the other.
fn concatenated(parts: Vec<Indexed>) -> Indexed {
    let mut index = Index::new();
    let mut first_chunk = vec![0];
    for part in &parts {
        for chunk in part.index.chunk_ids() {
            index.push(part.index.lengths(chunk).clone(), part.index.chunk(chunk).bytes);
        }
        first_chunk.push(index.n_chunks() as u32);
    }
    index.seal();
    let memory = |part: &Indexed| part.index.bytes() + part.corpus.facts().memory;
    let all = first_chunk.capacity() * 4 + parts.iter().map(memory).sum::<usize>();
    let access = parts.iter().map(|part| part.corpus.facts().access).max().unwrap_or(ChunkAccess::Parts);
    let facts = CorpusFacts::new(all).with_access(access);
    Indexed { index: Arc::new(index), corpus: Arc::new(Concatenated { parts, first_chunk, facts }) }
}

/// The files' corpora.
struct Concatenated {
    parts: Vec<Indexed>,
    /// Number of each file's first chunk; one entry more than there are files.
    first_chunk: Vec<u32>,
    facts: CorpusFacts,
}

impl Concatenated {
    /// The file of a chunk, its corpus, and the chunk's number there.
    fn find(&self, chunk: ChunkId) -> (usize, &dyn Corpus, ChunkId) {
        let file = self.first_chunk.partition_point(|&first| first <= chunk.0) - 1;
        (file, &*self.parts[file].corpus, ChunkId(chunk.0 - self.first_chunk[file]))
    }
}

impl Corpus for Concatenated {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let (file, corpus, own) = self.find(chunk);
        corpus.load(own, wanted, &only(fetch, file), scratch, out)?;
        renumber_resources(out, file);
        Ok(())
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let (file, corpus, own) = self.find(chunk);
        corpus.keys(own, n_sequences, &only(fetch, file), scratch)
    }

    // Sequences of several files would have to be put back in order after they are decoded, which costs what it saves.
    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let (file, corpus, chunk) = self.find(at.chunk);
        (ResourceId(file as u32), corpus.span(SequenceId { chunk, ..at }).1)
    }

    fn locate(&self, at: SequenceId, fetch: &dyn Fetch) -> Result<(ResourceId, Range<u64>), Error> {
        let (file, corpus, chunk) = self.find(at.chunk);
        let (_, bytes) = corpus.locate(SequenceId { chunk, ..at }, &only(fetch, file))?;
        Ok((ResourceId(file as u32), bytes))
    }

    fn save(&self, _index: &Index, into: &mut Vec<u8>) {
        for part in &self.parts {
            let at = into.len();
            into.extend([0; 8]);
            part.corpus.save(&part.index, into);
            let n = (into.len() - at - 8) as u64;
            into[at..at + 8].copy_from_slice(&n.to_le_bytes());
        }
    }
}
