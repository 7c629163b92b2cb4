//! Loading parts of an indexed file.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, DataErrorKind, Element, Error, Fetch, Index, Indexed,
    Keys, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
};

use super::decode::{self, Cut, Decoder};
use super::directory::{self, Directory, Section, ShortRoom};
use super::record::Form;
use super::value::Real;
use super::window::Window;
use super::{FILE, Rules};
use crate::get_or_find;

/// An indexed file.
struct CbfCorpus {
    rules: Arc<Rules>,
    index: Arc<Index>,
    directories: Vec<ChunkDirectory>,
    short: ShortRoom,
    facts: CorpusFacts,
}

/// The directory of a chunk, once it is known. A walk reads all of the chunk, so that only one thread walks over it,
/// and others that need its directory wait.
#[derive(Default)]
struct ChunkDirectory {
    known: OnceLock<Directory>,
    walk: Mutex<()>,
}

/// Joins an index and what it is the index of. `walks` says that chunks may be read twice: once to find where the sequences lie.
/// `short` is the room for short records.
pub(super) fn indexed(rules: Arc<Rules>, index: Arc<Index>, walks: bool, short: ShortRoom) -> Indexed {
    let directories: Vec<ChunkDirectory> = rules.chunks.iter().map(|_| ChunkDirectory::default()).collect();
    let inside: usize = rules.chunks.iter().map(|chunk| directory::most_bytes(&rules, chunk)).sum();
    let memory = directories.capacity() * size_of::<ChunkDirectory>() + inside + short.most;
    // A walk over a chunk costs less than memory for all of it, which no cache holds. Of a chunk with streams that are left out only
    // parts are read in any case.
    let access = if walks || rules.skips() { ChunkAccess::Parts } else { ChunkAccess::PreferWhole };
    let facts = CorpusFacts::new(memory).with_access(access);
    let corpus = CbfCorpus { rules, index: Arc::clone(&index), directories, short, facts };
    Indexed { index, corpus: Arc::new(corpus) }
}

/// Consecutive sequences of a chunk.
#[derive(Clone, Debug)]
struct Run {
    chunk: ChunkId,
    sequences: Range<u32>,
}

/// The sequences that are to be loaded.
enum Wanted {
    /// A part of a chunk.
    Run([Run; 1]),
    /// Single sequences from anywhere. More of them will be wanted.
    Single(Vec<Run>),
}

impl Wanted {
    fn runs(&self) -> &[Run] {
        match self {
            Wanted::Run(run) => run,
            Wanted::Single(runs) => runs,
        }
    }
}

impl Corpus for CbfCorpus {
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
        let wanted = match wanted {
            SequenceSelection::Range(sequences) => Wanted::Run([Run { chunk, sequences }]),
            SequenceSelection::List(rows) => {
                Wanted::Single(runs(rows.iter().map(|&sequence| SequenceId { chunk, sequence })))
            }
        };
        self.load_wanted(&wanted, fetch, scratch, out)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        Some(self)
    }

    fn keys(
        &self,
        chunk: ChunkId,
        _n_sequences: u32,
        _fetch: &dyn Fetch,
        _scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        Ok(Some(Keys::Consecutive(self.rules.chunks[chunk.index()].first_sequence)))
    }

    /// Where the sequence's length stands: its samples lie in as many places as there are streams.
    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let offset = self.rules.chunks[at.chunk.index()].offset + 4 * u64::from(at.sequence);
        (FILE, offset..offset + 4)
    }

    fn save(&self, _index: &Index, _into: &mut Vec<u8>) {}
}

impl Scattered for CbfCorpus {
    fn load_scattered(
        &self,
        sequences: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        self.load_wanted(&Wanted::Single(runs(sequences.iter().copied())), fetch, scratch, out)
    }
}

/// Joins sequences that follow each other.
fn runs(wanted: impl Iterator<Item = SequenceId>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for SequenceId { chunk, sequence } in wanted {
        match runs.last_mut() {
            Some(run) if run.chunk == chunk && run.sequences.end == sequence => run.sequences.end += 1,
            _ => runs.push(Run { chunk, sequences: sequence..sequence + 1 }),
        }
    }
    runs
}

impl CbfCorpus {
    fn load_wanted(
        &self,
        wanted: &Wanted,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        match self.rules.element {
            Element::F64 => self.load_as::<f64>(wanted, fetch, scratch, out),
            _ => self.load_as::<f32>(wanted, fetch, scratch, out),
        }
    }

    fn load_as<E: Real>(
        &self,
        wanted: &Wanted,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut scratch.bytes);
        let mut decoder = Decoder::<E>::new(&self.rules, scratch, out);
        let runs = wanted.runs();
        let short = matches!(wanted, Wanted::Single(_)).then_some(&self.short);
        if short.is_some() {
            self.walk_apart(runs, short, fetch, &mut bytes);
        }
        let done = runs.iter().try_for_each(|run| {
            if self.whole(run) {
                self.load_whole(run, fetch, &mut bytes, &mut decoder)
            } else {
                self.load_part(run, short, fetch, &mut bytes, &mut decoder)
            }
        });
        scratch.bytes = bytes;
        decoder.finish(self.keys_of(runs), scratch, out);
        done
    }

    fn keys_of(&self, runs: &[Run]) -> Keys {
        let first =
            |run: &Run| self.rules.chunks[run.chunk.index()].first_sequence + u64::from(run.sequences.start);
        match runs {
            [run] => Keys::Consecutive(first(run)),
            _ => {
                Keys::Numbers(runs.iter().flat_map(|run| (first(run)..).take(run.sequences.len())).collect())
            }
        }
    }

    /// True if a run is a whole chunk that is read from its beginning to its end: that needs no directory.
    fn whole(&self, run: &Run) -> bool {
        run.sequences == (0..self.rules.chunks[run.chunk.index()].n_sequences) && !self.rules.skips()
    }

    fn load_whole<E: Real>(
        &self,
        run: &Run,
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
        decoder: &mut Decoder<'_, E>,
    ) -> Result<(), Error> {
        let chunk = &self.rules.chunks[run.chunk.index()];
        let before = decoder.lengths.len();
        let mut window = Window::new(fetch, buffer);
        window.go(chunk.offset..chunk.end);
        decoder.chunk(run.chunk, &mut window)?;
        let lengths = self.index.lengths(run.chunk);
        if (before..).zip(0..lengths.len()).all(|(i, j)| decoder.lengths[i] == lengths.get(j)) {
            return Ok(());
        }
        Err(self.changed(chunk.offset, format!("chunk {} has sequences of other lengths", run.chunk)))
    }

    /// Loads a part of a chunk. Where its directory is not known yet, short records are kept in `short` from now on.
    fn load_part<E: Real>(
        &self,
        run: &Run,
        short: Option<&ShortRoom>,
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
        decoder: &mut Decoder<'_, E>,
    ) -> Result<(), Error> {
        let all = self.index.lengths(run.chunk);
        let lengths = run.sequences.clone().map(|i| all.get(i as usize));
        let sections = match self.directory(run.chunk, short, fetch, buffer)? {
            Directory::Sound(sections) => sections,
            Directory::Damaged(error) => {
                decoder.damaged(lengths, error.clone());
                return Ok(());
            }
        };
        decoder.lengths.extend(lengths);
        let used = sections.iter().zip(&self.rules.streams).filter(|(_, stream)| !stream.skip);
        let mut window = Window::new(fetch, buffer);
        for (number, (section, stream)) in used.enumerate() {
            self.load_section(run, number, section, stream.form, &mut window, decoder)?;
        }
        decoder.end_part(
            run.sequences.len(),
            self.rules.chunks[run.chunk.index()].offset + 4 * u64::from(run.sequences.start),
        );
        Ok(())
    }

    /// Loads the run's records of one stream.
    fn load_section<'a, E: Real>(
        &self,
        run: &Run,
        number: usize,
        section: &'a Section,
        form: Form,
        window: &mut Window<'a>,
        decoder: &mut Decoder<'_, E>,
    ) -> Result<(), Error> {
        let n = self.rules.chunks[run.chunk.index()].n_sequences;
        let Range { start, end } = run.sequences;
        let stretch = section.stretch(start, end, n);
        let changed = |first: u32, cut: Cut| {
            let what =
                format!("sequence {} of chunk {} {}", first + cut.sequence, run.chunk, cut.why.describe());
            self.changed(cut.at, what)
        };
        window.go_to(stretch.bytes.clone(), section.kept(&stretch));
        let at = decode::pass_over(form, window, stretch.bytes.clone(), start - stretch.first)?
            .map_err(|cut| changed(stretch.first, cut))?;
        decoder
            .section(number, window, at..stretch.bytes.end, end - start)?
            .map_err(|cut| changed(start, cut))?;
        Ok(())
    }

    /// Walks over the chunks that need it and that no other thread walks over, so that threads whose sequences lie in the same
    /// chunks do not wait for each other at each of them. It starts with the last chunk, because blocks are loaded starting with the
    /// first.
    fn walk_apart(&self, runs: &[Run], short: Option<&ShortRoom>, fetch: &dyn Fetch, buffer: &mut Vec<u8>) {
        for run in runs.iter().rev().filter(|run| !self.whole(run)) {
            let ChunkDirectory { known, walk } = &self.directories[run.chunk.index()];
            if known.get().is_none()
                && let Ok(_walking) = walk.try_lock()
                && get_or_find(known, || directory::walk(&self.rules, run.chunk, fetch, buffer, short))
                    .is_err()
            {
                // It is found again, as an error, when the turn of the chunk comes.
                return;
            }
        }
    }

    /// The directory of a chunk; found by a walk if it is not known.
    fn directory(
        &self,
        chunk: ChunkId,
        short: Option<&ShortRoom>,
        fetch: &dyn Fetch,
        buffer: &mut Vec<u8>,
    ) -> Result<&Directory, Error> {
        let ChunkDirectory { known, walk } = &self.directories[chunk.index()];
        if let Some(directory) = known.get() {
            return Ok(directory);
        }
        let _walking = walk.lock().unwrap_or_else(PoisonError::into_inner);
        get_or_find(known, || directory::walk(&self.rules, chunk, fetch, buffer, short))
    }

    fn changed(&self, offset: u64, what: String) -> Error {
        self.rules.error(DataErrorKind::Changed { what }, offset).into()
    }
}
