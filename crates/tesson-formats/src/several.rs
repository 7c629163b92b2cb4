//! Several files of one format as one corpus, one behind the other.
//!
//! Each file is a deserializer of its own; here their chunks are counted through. So sequences never run from one file
//! into the next, and an id that is in two files is two sequences.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tesson_core::identity::Identity;
use tesson_core::{
    ByteRun, Chunk, Corpus, DataError, DataErrorKind, Deserializer, Error, Fault, Fetch, Index, Indexed,
    Keys, Location, Parallelism, PartFetch, Repeated, ResourceId, Scratch, SequenceSelection, StreamInfo,
    StreamMismatch, StreamingDecoder,
};

/// Opens files as one corpus, each by `open`.
pub(crate) fn open<D: Deserializer + 'static>(
    files: &[PathBuf],
    open: impl Fn(PathBuf) -> D,
) -> Box<dyn Deserializer> {
    match files {
        [file] => Box::new(open(file.clone())),
        _ => {
            let parts = files.iter().cloned().map(open).collect();
            Box::new(Several { parts, files: files.to_vec(), in_pieces: false })
        }
    }
}

/// One deserializer a file; file `k` is resource `k`.
struct Several<D> {
    parts: Vec<D>,
    files: Vec<PathBuf>,
    /// Whether all can be read in pieces, which is asked for each piece.
    in_pieces: bool,
}

/// The resource of one file.
fn only(fetch: &dyn Fetch, file: usize) -> PartFetch<'_> {
    PartFetch { fetch, first: file as u32 }
}

/// Puts what one file's deserializer has decoded among all files.
fn placed(out: &mut Chunk, file: usize) {
    let place = |fault: &mut Fault| fault.resource.0 += file as u32;
    out.faults.iter_mut().for_each(place);
    out.notes.iter_mut().for_each(place);
}

impl<D: Deserializer> Several<D> {
    /// Whether all files have the streams of the first.
    fn check_streams(&self) -> Result<(), Error> {
        let first = self.parts[0].streams();
        let Some(file) = self.parts.iter().position(|part| part.streams() != first) else { return Ok(()) };
        let what = format!(
            "the streams are {}, those of {} are {}; files that are one corpus have the same",
            listed(self.parts[file].streams()),
            self.files[0].display(),
            listed(first)
        );
        let at = Location { file: self.files[file].as_path().into(), offset: 0, line: None };
        Err(DataError::new(DataErrorKind::Malformed { what }, at).into())
    }

    fn together(&self, parts: Vec<Indexed>) -> Indexed {
        let mut index = Index::new();
        let mut first_chunk = vec![0];
        for part in &parts {
            for chunk in 0..part.index.n_chunks() {
                index.push(part.index.lengths(chunk).clone(), part.index.chunk(chunk).bytes);
            }
            first_chunk.push(index.n_chunks() as u32);
        }
        index.seal();
        let whole_chunks = parts.iter().any(|part| part.corpus.whole_chunks());
        Indexed {
            index: Arc::new(index),
            corpus: Arc::new(SeveralCorpus { parts, first_chunk, whole_chunks }),
        }
    }
}

fn listed(streams: &[StreamInfo]) -> String {
    let one = |s: &StreamInfo| format!("`{}` {}{}", s.name, if s.sparse { "sparse " } else { "" }, s.shape);
    streams.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl<D: Deserializer> Deserializer for Several<D> {
    fn name(&self) -> &'static str {
        self.parts[0].name()
    }

    fn streams(&self) -> &[StreamInfo] {
        self.parts[0].streams()
    }

    fn resources(&self) -> &[PathBuf] {
        &self.files
    }

    fn identity(&self) -> String {
        Identity::of(self.parts[0].identity()).field("files", self.files.len()).text()
    }

    fn smaller_chunks(&self) -> Option<&'static str> {
        self.parts[0].smaller_chunks()
    }

    fn max_errors(&self) -> u64 {
        self.parts[0].max_errors()
    }

    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        let mut left: Option<Vec<StreamMismatch>> = None;
        for (part, first) in self.parts.iter().zip(0..) {
            let found = part.mismatches(&PartFetch { fetch, first })?;
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

    fn keep_in_memory(&self) -> bool {
        self.parts[0].keep_in_memory()
    }

    fn cache_index(&self) -> bool {
        self.parts[0].cache_index()
    }

    fn can_cache_index(&self) -> bool {
        self.parts[0].can_cache_index()
    }

    fn defines_size(&self) -> bool {
        self.parts[0].defines_size()
    }

    fn repeated_keys(&self) -> Repeated {
        self.parts[0].repeated_keys()
    }

    fn composable(&self) -> bool {
        self.parts[0].composable()
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        for (file, part) in self.parts.iter_mut().enumerate() {
            part.prepare(&only(fetch, file))?;
        }
        self.in_pieces = self.parts.iter().all(|part| part.streaming().is_some());
        self.check_streams()
    }

    fn index(&self, fetch: &dyn Fetch, parallelism: &dyn Parallelism) -> Result<Indexed, Error> {
        let n = self.parts.len();
        let indexed: Vec<OnceLock<Result<Indexed, Error>>> = (0..n).map(|_| OnceLock::new()).collect();
        let index = |file: usize, parallelism: &dyn Parallelism| {
            indexed[file].get_or_init(|| self.parts[file].index(&only(fetch, file), parallelism)).is_ok()
        };
        if n >= 2 * parallelism.width() {
            let memory = parallelism.memory() / parallelism.width().max(1) as u64;
            parallelism.run(n, &|file| {
                index(file, &OneCore { memory });
            });
        } else {
            // Few files: all cores work on each.
            (0..n).all(|file| index(file, parallelism));
        }
        // The first error counts, in the order of the files.
        let parts = indexed.into_iter().map_while(OnceLock::into_inner);
        Ok(self.together(parts.collect::<Result<_, _>>()?))
    }

    fn restore(&self, mut saved: &[u8]) -> Option<Indexed> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let (n, rest) = saved.split_first_chunk()?;
            let (one, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*n)).ok()?)?;
            parts.push(part.restore(one)?);
            saved = rest;
        }
        saved.is_empty().then(|| self.together(parts))
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        if self.in_pieces { Some(self) } else { None }
    }
}

/// One core, for the files that are indexed side by side.
struct OneCore {
    memory: u64,
}

impl Parallelism for OneCore {
    fn width(&self) -> usize {
        1
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(job);
    }
}

impl<D: Deserializer> Several<D> {
    fn pieces_of(&self, file: usize) -> &dyn StreamingDecoder {
        self.parts[file].streaming().expect("asked for before anything is cut")
    }
}

impl<D: Deserializer> StreamingDecoder for Several<D> {
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error> {
        let mut before = after.map(|piece| ByteRun { resource: ResourceId(0), ..piece });
        for file in after.map_or(0, |piece| piece.resource.0 as usize)..self.parts.len() {
            if let Some(piece) =
                self.pieces_of(file).cut(before.take(), target, &only(fetch, file), scratch)?
            {
                return Ok(Some(ByteRun { resource: ResourceId(file as u32), ..piece }));
            }
        }
        Ok(None)
    }

    fn reads_itself(&self) -> bool {
        self.pieces_of(0).reads_itself()
    }

    fn decode(
        &self,
        piece: ByteRun,
        bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let file = piece.resource.0 as usize;
        let own = ByteRun { resource: ResourceId(0), ..piece };
        self.pieces_of(file).decode(own, bytes, &only(fetch, file), scratch, out)?;
        placed(out, file);
        Ok(())
    }
}

/// The files' corpora, chunks counted through.
struct SeveralCorpus {
    parts: Vec<Indexed>,
    /// Number of each file's first chunk; one entry more than there are files.
    first_chunk: Vec<u32>,
    /// Whether any of them has chunks only as a whole.
    whole_chunks: bool,
}

impl SeveralCorpus {
    /// The file of a chunk, its corpus, and the chunk's number there.
    fn find(&self, chunk: u32) -> (usize, &dyn Corpus, u32) {
        let file = self.first_chunk.partition_point(|&first| first <= chunk) - 1;
        (file, &*self.parts[file].corpus, chunk - self.first_chunk[file])
    }
}

impl Corpus for SeveralCorpus {
    fn load(
        &self,
        chunk: u32,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let (file, corpus, own) = self.find(chunk);
        corpus.load(own, wanted, &only(fetch, file), scratch, out)?;
        placed(out, file);
        Ok(())
    }

    fn keys(
        &self,
        chunk: u32,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<Keys, Error> {
        let (file, corpus, own) = self.find(chunk);
        corpus.keys(own, n_sequences, &only(fetch, file), scratch, out)
    }

    fn reads_whole(&self, chunk: u32, largest: u64) -> bool {
        let (_, corpus, own) = self.find(chunk);
        corpus.reads_whole(own, largest)
    }

    fn whole_chunks(&self) -> bool {
        self.whole_chunks
    }

    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, std::ops::Range<u64>) {
        let (file, corpus, own) = self.find(chunk);
        (ResourceId(file as u32), corpus.span(own, sequence).1)
    }

    fn bytes(&self) -> usize {
        let part = |part: &Indexed| part.index.bytes() + part.corpus.bytes();
        self.first_chunk.capacity() * 4 + self.parts.iter().map(part).sum::<usize>()
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
