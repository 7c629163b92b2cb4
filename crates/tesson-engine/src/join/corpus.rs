//! Loading joined sequences: each part is loaded by its own corpus, and their columns are put side by side.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, Damage, Data, DataErrorKind, Error, Fault, Fetch,
    Index, Indexed, Keys, Offsets, PartFetch, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
    StreamColumn, Values,
};
use tesson_plan::JoinedChunk;

use super::fit::fit;
use super::gather::{ColumnShape, Pick, gather};
use super::repeated;
use crate::refusal::EngineRefusal;

/// A corpus made of several.
pub(super) struct JoinedCorpus {
    parts: Vec<JoinedPart>,
    chunks: Vec<JoinedChunk>,
    index: Arc<Index>,
    /// Bytes that the columns of one stream may take when they are put in another order.
    largest: usize,
    facts: CorpusFacts,
}

impl JoinedCorpus {
    pub(super) fn new(
        parts: Vec<JoinedPart>,
        chunks: Vec<JoinedChunk>,
        index: Arc<Index>,
        largest: usize,
    ) -> JoinedCorpus {
        let memory = chunks.iter().map(JoinedChunk::bytes).sum::<usize>()
            + parts.iter().map(|p| p.indexed.index.bytes() + p.indexed.corpus.facts().memory).sum::<usize>();
        // What other parts have lies anywhere in their chunks, so they keep some of these.
        let access = match parts[0].indexed.corpus.facts().access {
            ChunkAccess::WholeOnly => ChunkAccess::WholeOnly,
            ChunkAccess::Parts | ChunkAccess::Runs | ChunkAccess::PreferWhole => ChunkAccess::Parts,
        };
        let facts = CorpusFacts::new(memory).with_access(access);
        JoinedCorpus { parts, chunks, index, largest, facts }
    }
}

/// One of the corpora.
pub(super) struct JoinedPart {
    pub(super) indexed: Indexed,
    /// Number of its first file among those of all parts.
    pub(super) first_resource: u32,
    /// Number of its first stream among those of all parts.
    pub(super) first_stream: u16,
    /// True if this part tolerates no fault, whatever the other parts do.
    pub(super) strict: bool,
    /// The shapes of the columns of its streams.
    pub(super) streams: Vec<ColumnShape>,
    /// Of each of its streams whether its one sample is repeated to the length of the first part's sequence.
    pub(super) repeated: Vec<bool>,
    /// Samples by which its sequences may differ in length from those of the first part and be given that length.
    pub(super) tolerance: Option<u32>,
    /// True if its samples join the frames of the first part; if not, a single sample joins all frames of an utterance.
    pub(super) splits: bool,
}

/// Rows with gaps of up to this many times their number are loaded in one go, with what lies between them.
const DENSE: usize = 2;

/// The memory that one worker keeps for joined corpora.
#[derive(Default)]
struct WorkerScratch {
    /// One a part.
    scratch: Vec<Scratch>,
    chunks: Vec<Vec<Chunk>>,
}

/// The chunks loaded of one part, and where in them each wanted sequence is.
struct Loaded<'a> {
    chunks: &'a mut [Chunk],
    /// `None`: the first chunk holds the wanted sequences, in order.
    picks: Option<Vec<Pick>>,
}

impl Loaded<'_> {
    fn pick(&self, i: usize) -> Pick {
        self.picks.as_ref().map_or(Some((0, i as u32)), |picks| picks[i])
    }
}

impl Corpus for JoinedCorpus {
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
        let rows: Vec<SequenceId> = match wanted {
            SequenceSelection::Range(range) => range.map(|sequence| SequenceId { chunk, sequence }).collect(),
            SequenceSelection::List(list) => {
                list.iter().map(|&sequence| SequenceId { chunk, sequence }).collect()
            }
        };
        self.assemble(&rows, fetch, scratch, out)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        self.parts.iter().all(|p| p.indexed.corpus.scattered().is_some()).then_some(self)
    }

    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error> {
        let joined = &self.chunks[chunk.index()];
        let part = &self.parts[0];
        let all = part.indexed.index.chunk(joined.chunk).n_sequences;
        let fetch = part.fetch(fetch);
        let keys =
            part.indexed.corpus.keys_of_chunk(joined.chunk, all, &fetch, scratch, &mut Chunk::empty())?;
        Ok(Some(Keys::gathered(&[keys], (0..n_sequences).map(|i| (0, joined.row(i))))))
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        // Where the first part has it; the others lie anywhere.
        self.parts[0].indexed.corpus.span(self.first(at))
    }

    fn locate(&self, at: SequenceId, fetch: &dyn Fetch) -> Result<(ResourceId, Range<u64>), Error> {
        let part = &self.parts[0];
        part.indexed.corpus.locate(self.first(at), &part.fetch(fetch))
    }

    fn save(&self, _index: &Index, _into: &mut Vec<u8>) {
        // Each part has a cache of its own.
    }
}

impl Scattered for JoinedCorpus {
    fn load_scattered(
        &self,
        rows: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        self.assemble(rows, fetch, scratch, out)
    }
}

impl JoinedPart {
    fn fetch<'a>(&self, fetch: &'a dyn Fetch) -> PartFetch<'a> {
        PartFetch { fetch, first: self.first_resource }
    }

    /// Loads sequences, `None` standing for one that does not exist.
    fn load<'a>(
        &self,
        rows: &[Option<SequenceId>],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        chunks: &'a mut Vec<Chunk>,
    ) -> Result<Loaded<'a>, Error> {
        let (corpus, fetch) = (&*self.indexed.corpus, &self.fetch(fetch));
        if chunks.is_empty() {
            chunks.push(Chunk::empty());
        }
        if let Some((chunk, range)) = run_of(rows).filter(|_| !self.splits) {
            corpus.load(chunk, SequenceSelection::Range(range), fetch, scratch, &mut chunks[0])?;
            return Ok(Loaded { chunks: &mut chunks[..1], picks: None });
        }
        let mut distinct: Vec<SequenceId> = rows.iter().copied().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut firsts = Vec::new();
        for group in distinct.chunk_by(|a, b| a.chunk == b.chunk) {
            if chunks.len() == firsts.len() {
                chunks.push(Chunk::empty());
            }
            let SequenceId { chunk, sequence: first } = group[0];
            let last = group[group.len() - 1].sequence;
            let out = &mut chunks[firsts.len()];
            if (last - first) as usize <= DENSE * group.len() {
                corpus.load(chunk, SequenceSelection::Range(first..last + 1), fetch, scratch, out)?;
                firsts.push(Group { chunk, rows: None, first });
            } else {
                let rows: Vec<u32> = group.iter().map(|row| row.sequence).collect();
                corpus.load(chunk, SequenceSelection::List(&rows), fetch, scratch, out)?;
                firsts.push(Group { chunk, rows: Some(rows), first });
            }
        }
        let pick = |row: &Option<SequenceId>| row.map(|row| Group::find(&firsts, row));
        let picks = rows.iter().map(pick).collect();
        Ok(Loaded { chunks: &mut chunks[..firsts.len()], picks: Some(picks) })
    }
}

/// A request to one chunk: all sequences from the first one on, or the listed ones.
struct Group {
    chunk: ChunkId,
    first: u32,
    rows: Option<Vec<u32>>,
}

impl Group {
    /// The group of a row that was loaded, and where it is in it. Groups ascend by chunk.
    fn find(groups: &[Group], row: SequenceId) -> (u32, u32) {
        let at = groups.partition_point(|g| g.chunk < row.chunk);
        let within = match &groups[at].rows {
            None => row.sequence - groups[at].first,
            Some(rows) => rows.partition_point(|&r| r < row.sequence) as u32,
        };
        (at as u32, within)
    }
}

/// Sequences that are asked of a part.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// The joined sequences.
    rows: &'a [SequenceId],
    /// The part's sequence for each joined one, if it has one.
    wanted: &'a [Option<SequenceId>],
}

/// The chunk and the rows, if all are there and follow each other in one chunk.
fn run_of(rows: &[Option<SequenceId>]) -> Option<(ChunkId, Range<u32>)> {
    let SequenceId { chunk, sequence: first } = (*rows.first()?)?;
    let follow = rows.iter().zip(first..).all(|(&row, sequence)| row == Some(SequenceId { chunk, sequence }));
    follow.then_some((chunk, first..first + rows.len() as u32))
}

impl JoinedCorpus {
    /// Loads joined sequences, in the order given.
    fn assemble(
        &self,
        rows: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let mut worker = take_worker_scratch(scratch, self.parts.len());
        worker.scratch.iter_mut().for_each(|own| own.notes = scratch.notes);
        let mut streams = std::mem::take(&mut out.streams).into_iter();
        *out = Chunk::empty();
        out.n_sequences = rows.len() as u32;
        let lengths = rows.iter().map(|at| self.index.length(*at));
        out.lengths = lengths.collect();
        let workers = worker.scratch.iter_mut().zip(&mut worker.chunks);
        let mut done = Ok(());
        for (number, (part, (scratch, chunks))) in self.parts.iter().zip(workers).enumerate() {
            if let Some(chunk) = chunks.first_mut() {
                // Memory of columns that were handed on comes back with the chunk they were handed on in.
                chunk.streams = streams.by_ref().take(part.streams.len()).collect();
            }
            let wanted: Vec<Option<SequenceId>> = rows.iter().map(|&row| self.row(number, row)).collect();
            done = part.load(&wanted, fetch, scratch, chunks).and_then(|loaded| {
                self.take(part, number == 0, loaded, Asked { rows, wanted: &wanted }, out)
            });
            if done.is_ok() && part.repeated.contains(&true) {
                self.repeat(part, rows, &wanted, out);
            }
            if let (Ok(()), Some(tolerance)) = (&done, part.tolerance) {
                self.fit(part, tolerance, rows, &wanted, out);
            }
            if done.is_err() {
                break;
            }
        }
        out.faults.sort_by_key(|fault| fault.sequence);
        out.notes.sort_by_key(|note| note.sequence);
        out.damaged.sort_by_key(|damage| damage.sequences.start);
        out.left_out.sort_unstable();
        out.left_out.dedup();
        worker.scratch.iter_mut().for_each(|s| scratch.warnings.merge(std::mem::take(&mut s.warnings)));
        scratch.format = Some(Box::new(worker));
        done
    }

    /// Turns columns of one sample a sequence, the last ones, into columns of samples that are repeated to the length of
    /// the first part's sequence.
    fn repeat(&self, part: &JoinedPart, rows: &[SequenceId], wanted: &[Option<SequenceId>], out: &mut Chunk) {
        let lengths = self.first_lengths(rows);
        let first = out.streams.len() - part.streams.len();
        for number in (0..part.streams.len()).filter(|&number| part.repeated[number]) {
            let (column, dim) = (&mut out.streams[first + number], part.streams[number].dim);
            for i in repeated::repeat(column, &lengths, dim) {
                let at = wanted[i as usize].expect("what has samples is there");
                let (resource, bytes) = part.indexed.corpus.span(at);
                out.faults.push(Fault {
                    sequence: i,
                    kind: DataErrorKind::NotOneSample,
                    stream: Some(part.first_stream + number as u16),
                    resource: ResourceId(resource.0.saturating_add(part.first_resource)),
                    offset: bytes.start,
                    line: None,
                    fatal: true,
                });
            }
        }
    }

    /// The lengths of joined sequences in the first part.
    fn first_lengths(&self, rows: &[SequenceId]) -> Vec<u32> {
        let length = |&row: &SequenceId| self.parts[0].indexed.index.length(self.first(row));
        rows.iter().map(length).collect()
    }

    /// Brings the sequences of a part's columns, the last ones, to the length of the first part's sequence, where they
    /// differ by no more than is tolerated. Those that differ by more are left out, with a fault.
    fn fit(
        &self,
        part: &JoinedPart,
        tolerance: u32,
        rows: &[SequenceId],
        wanted: &[Option<SequenceId>],
        out: &mut Chunk,
    ) {
        let lengths = self.first_lengths(rows);
        let first = out.streams.len() - part.streams.len();
        for number in 0..part.streams.len() {
            let column = &mut out.streams[first + number];
            let (mut differs, mut targets) = (false, lengths.clone());
            for (i, &row) in (0..).zip(wanted) {
                let (found, target) =
                    (column.samples.range(i as usize).len() as u64, &mut targets[i as usize]);
                let (Some(at), 1..) = (row, found) else { continue };
                differs |= found != u64::from(*target);
                if found.abs_diff(u64::from(*target)) <= u64::from(tolerance) {
                    continue;
                }
                let kind = DataErrorKind::LengthsDiffer { found, expected: *target, tolerance };
                *target = found as u32;
                let (resource, bytes) = part.indexed.corpus.span(at);
                out.left_out.push(i);
                out.faults.push(Fault {
                    sequence: i,
                    kind,
                    stream: Some(part.first_stream + number as u16),
                    resource: ResourceId(resource.0.saturating_add(part.first_resource)),
                    offset: bytes.start,
                    line: None,
                    fatal: part.strict,
                });
            }
            if differs {
                let nothing = StreamColumn {
                    samples: Offsets::Every(0),
                    data: Data::Dense { values: Values::Ones(0) },
                };
                *column = fit(std::mem::replace(column, nothing), &targets, part.streams[number].dim);
            }
        }
    }

    /// The sequence of the first part, which has every joined one.
    fn first(&self, at: SequenceId) -> SequenceId {
        let joined = &self.chunks[at.chunk.index()];
        SequenceId { chunk: joined.chunk, sequence: joined.row(at.sequence) }
    }

    /// The location of a joined sequence's data in one part, if that part has it.
    fn row(&self, part: usize, at: SequenceId) -> Option<SequenceId> {
        match part {
            0 => Some(self.first(at)),
            _ => self.chunks[at.chunk.index()]
                .partner(part, at.sequence)
                .map(|sequence| self.parts[part].indexed.index.sequence(sequence.into())),
        }
    }

    /// Adds what was loaded of a part; its keys, too, if they are those of the joined sequences.
    fn take(
        &self,
        part: &JoinedPart,
        keys: bool,
        loaded: Loaded<'_>,
        asked: Asked<'_>,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let n = asked.rows.len();
        if keys {
            let columns = loaded.chunks.iter().map(Chunk::absolute_keys).collect::<Vec<_>>();
            out.keys = Keys::gathered(&columns, (0..n).map(|i| loaded.pick(i).unwrap_or_default()));
            if loaded.chunks.iter().any(|chunk| !chunk.copies.is_empty()) {
                let copy = |(chunk, row): (u32, u32)| loaded.chunks[chunk as usize].copy(row as usize);
                out.copies = (0..n).map(|i| loaded.pick(i).map_or(0, copy)).collect();
            }
        }
        let marked = |c: &Chunk| {
            !(c.faults.is_empty() && c.damaged.is_empty() && c.notes.is_empty() && c.left_out.is_empty())
        };
        if part.splits {
            return self.take_frames(part, &loaded, asked, out);
        }
        if loaded.chunks.iter().any(marked) {
            for (i, (chunk, row)) in (0..n).filter_map(|i| Some((i as u32, loaded.pick(i)?))) {
                let chunk = &loaded.chunks[chunk as usize];
                let here = |fault: &Fault| part.fault(chunk, fault, i);
                let strictly = |fault: Fault| Fault { fatal: fault.fatal || part.strict, ..fault };
                out.faults.extend(chunk.faults_of(row).iter().map(here).map(strictly));
                out.notes.extend(chunk.notes.iter().filter(|note| note.sequence == row).map(here));
                if let Some(error) = chunk.damage_of(row) {
                    out.damaged.push(Damage { sequences: i..i + 1, error: error.clone() });
                }
                if chunk.is_left_out(row) {
                    out.left_out.push(i);
                }
            }
        }
        let first = out.streams.len();
        match loaded.picks {
            None => {
                let Chunk { streams, first_line, .. } = &mut loaded.chunks[0];
                streams.iter_mut().for_each(|column| column.data.shift_lines(*first_line));
                out.streams.append(streams);
            }
            Some(picks) => {
                for (stream, &shape) in part.streams.iter().enumerate() {
                    let column = gather(loaded.chunks, stream, &picks, None, shape, self.largest);
                    out.streams.push(column.ok_or_else(too_much)?);
                }
            }
        }
        for column in &mut out.streams[first..] {
            column.data.shift_resources(part.first_resource);
        }
        Ok(())
    }
}

impl JoinedCorpus {
    /// Adds one sample of each sequence that was loaded of a part: that of the joined sequence's frame. An utterance without a
    /// sample for each frame is left out: which of them is missing is not known, so each might belong to another frame. Its
    /// faults count once, with its first frame, but where none is forgiven: then no frame is delivered.
    fn take_frames(
        &self,
        part: &JoinedPart,
        loaded: &Loaded<'_>,
        Asked { rows, wanted }: Asked<'_>,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let frames: Vec<u32> =
            rows.iter().map(|at| self.chunks[at.chunk.index()].frame(at.sequence)).collect();
        let picks: Vec<Pick> = (0..rows.len()).map(|i| loaded.pick(i)).collect();
        for (i, (&pick, &frame)) in (0..).zip(picks.iter().zip(&frames)) {
            let (Some((chunk, row)), Some(place)) = (pick, wanted[i as usize]) else { continue };
            let chunk = &loaded.chunks[chunk as usize];
            if let Some(error) = chunk.damage_of(row) {
                out.damaged.push(Damage { sequences: i..i + 1, error: error.clone() });
                continue;
            }
            let counts = frame == 0 || part.strict;
            let here =
                |fault: &Fault| Fault { fatal: fault.fatal || part.strict, ..part.fault(chunk, fault, i) };
            let faults = chunk.faults_of(row);
            let incomplete = if faults.is_empty() { part.incomplete(chunk, row, place) } else { None };
            if counts {
                out.faults.extend(faults.iter().chain(&incomplete).map(here));
                let notes = chunk.notes.iter().filter(|note| note.sequence == row);
                out.notes.extend(notes.map(|note| part.fault(chunk, note, i)));
            }
            if !faults.is_empty() || incomplete.is_some() || chunk.is_left_out(row) {
                out.left_out.push(i);
            }
        }
        for (stream, &shape) in part.streams.iter().enumerate() {
            let column = gather(loaded.chunks, stream, &picks, Some(&frames), shape, self.largest);
            out.streams.push(column.ok_or_else(too_much)?);
        }
        Ok(())
    }
}

impl JoinedPart {
    /// A fault in a chunk of this part, as one of joined sequence `i`.
    fn fault(&self, chunk: &Chunk, fault: &Fault, i: u32) -> Fault {
        Fault {
            sequence: i,
            line: fault.line.map(|line| line + chunk.first_line),
            resource: ResourceId(fault.resource.0 + self.first_resource),
            stream: fault.stream.map(|s| s + self.first_stream),
            ..fault.clone()
        }
    }

    /// The fault of a sequence that is split into frames, a stream of which has other samples than one for each; streams of a
    /// single sample stand for all.
    fn incomplete(&self, chunk: &Chunk, row: u32, place: SequenceId) -> Option<Fault> {
        let counted = chunk.lengths[row as usize];
        let found = |column: &StreamColumn| column.samples.range(row as usize).len() as u64;
        let differs = |column: &StreamColumn| found(column) != u64::from(counted) && found(column) != 1;
        let stream = chunk.streams.iter().position(differs)?;
        let found = found(&chunk.streams[stream]);
        let (resource, bytes) = self.indexed.corpus.span(place);
        let kind = DataErrorKind::SamplesAndFrames { found, expected: counted };
        let stream = Some(stream as u16);
        Some(Fault { sequence: row, kind, stream, resource, offset: bytes.start, line: None, fatal: false })
    }
}

#[cold]
fn too_much() -> Error {
    EngineRefusal::JoinBeyondMemory.into()
}

/// Takes the memory that the worker has kept, sized for this many parts.
fn take_worker_scratch(scratch: &mut Scratch, n_parts: usize) -> Box<WorkerScratch> {
    let kept = scratch.format.take().and_then(|any| any.downcast::<WorkerScratch>().ok());
    let mut worker = kept.unwrap_or_default();
    worker.scratch.resize_with(n_parts, Scratch::default);
    worker.chunks.resize_with(n_parts, Vec::new);
    worker
}
