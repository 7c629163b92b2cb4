//! Frames of indexed utterances: read from their files when minibatches need them, and kept as they are there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, Damage, Data, DataError, DeserializerFacts, Element, Error, Fetch,
    Index, Keys, LeftOut, Offsets, Origin, RecordingColumn, ResourceId, Scattered, Scratch, SequenceId,
    SequenceSelection, StreamColumn, Values,
};

use super::frames::only_sample;
use super::header::{Encoding, FileKind, HeaderRules};
use super::list::Utterances;
use super::options::Verify;
use super::verify::{HeaderSource, Trouble, each_file};
use crate::utterance::window::Window;
use crate::utterance::{chunks, reads};

/// The utterances of a source.
pub(super) struct HtkCorpus {
    pub(super) utterances: Arc<Utterances>,
    /// The number of each chunk's first utterance, and of all.
    pub(super) chunks: Vec<u32>,
    pub(super) shape: Shape,
    /// The deserializer's: for errors.
    pub(super) source: DeserializerFacts,
    /// How each file stores its values, as far as that is known.
    encodings: Vec<AtomicU8>,
    /// True for each chunk whose files have been checked.
    verified: Vec<AtomicBool>,
    facts: CorpusFacts,
}

/// The rules by which frames become sequences.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) kind: FileKind,
    pub(super) rules: HeaderRules,
    pub(super) window: Window,
    /// True if each frame is a sequence.
    pub(super) by_frame: bool,
    /// True if an utterance is one frame that is repeated.
    pub(super) is_expanded: bool,
    pub(super) element: Element,
}

/// Frames of an utterance that are read together, and the sequences that are made of them.
struct Piece {
    /// The utterance.
    utterance: usize,
    /// Frames of it, those around sequences too.
    frames: Range<u32>,
    /// The sequences: these frames of it, or each a sequence of its own.
    own: Vec<u32>,
}

/// A callback for a piece that has been read, with its encoding, the bytes that scale its values, and its frames.
type EachPiece<'a> = dyn FnMut(&Piece, Encoding, &[u8], &[u8]) + 'a;

/// Memory that a worker keeps.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    /// The vectors that scale the values of a file.
    scale: Option<(u32, Vec<u8>)>,
}

impl HtkCorpus {
    pub(super) fn new(
        utterances: Arc<Utterances>,
        chunks: Vec<u32>,
        shape: Shape,
        source: DeserializerFacts,
        left_out: Vec<LeftOut>,
    ) -> HtkCorpus {
        let encodings: Vec<AtomicU8> = (0..source.named.len()).map(|_| AtomicU8::new(0)).collect();
        let verified: Vec<AtomicBool> = (1..chunks.len()).map(|_| AtomicBool::new(false)).collect();
        let memory = utterances.bytes() + chunks.capacity() * 4 + encodings.capacity() + verified.capacity();
        HtkCorpus {
            utterances,
            chunks,
            shape,
            source,
            encodings,
            verified,
            facts: CorpusFacts::new(memory).with_left_out(left_out),
        }
    }

    fn utterances_of(&self, chunk: ChunkId) -> Range<usize> {
        self.chunks[chunk.index()] as usize..self.chunks[chunk.index() + 1] as usize
    }

    /// Looks at the files of a chunk, when the first part of it is read: a chunk that has a bad one cannot be read at all
    /// (spec/speech.md §5.2), whichever part of it is wanted.
    fn verify(&self, chunk: ChunkId, fetch: &dyn Fetch) -> Result<Option<DataError>, Error> {
        let verified = &self.verified[chunk.index()];
        if verified.load(Ordering::Acquire) {
            return Ok(None);
        }
        let Shape { kind, rules, .. } = &self.shape;
        let mut bad = None;
        let utterances = self.utterances_of(chunk);
        let headers = HeaderSource { facts: &self.source, rules, fetch };
        each_file(&self.utterances, utterances, headers, &mut |of, looked| {
            if bad.is_some() {
                return Ok(());
            }
            let mut trouble = |i: usize, trouble| match trouble {
                Trouble::Fault(offset, fault) => {
                    bad = Some(self.utterances.file_error(i, offset, fault, &self.source));
                    Ok(())
                }
                Trouble::Error(error) => Err(error),
            };
            let looked = match looked {
                Ok(looked) => looked,
                Err(found) => return trouble(of.start, found),
            };
            let file = self.utterances.get(of.start).file;
            self.encodings[file as usize].store(looked.header.encoding.byte(), Ordering::Relaxed);
            let check =
                |i: usize| looked.check(kind, self.utterances.get(i), Verify::Header).map_err(|e| (i, e));
            match of.clone().try_for_each(check) {
                Ok(()) => Ok(()),
                Err((i, found)) => trouble(i, found),
            }
        })?;
        verified.store(bad.is_none(), Ordering::Release);
        Ok(bad)
    }

    /// The encoding of a file whose chunk has been looked at.
    fn encoding(&self, file: u32) -> Encoding {
        let byte = self.encodings[file as usize].load(Ordering::Relaxed);
        Encoding::of(byte).expect("its header has been read")
    }

    /// The piece that a sequence lies in.
    fn piece(&self, SequenceId { chunk, sequence }: SequenceId) -> Piece {
        self.pieces(chunk, SequenceSelection::Range(sequence..sequence + 1)).swap_remove(0)
    }

    /// The pieces that selected sequences lie in.
    fn pieces(&self, chunk: ChunkId, wanted: SequenceSelection<'_>) -> Vec<Piece> {
        let utterances = self.utterances_of(chunk);
        let mut pieces: Vec<Piece> = Vec::new();
        if !self.shape.by_frame {
            chunks::each_utterance(utterances, wanted, |utterance| {
                let frames = 0..self.utterances.frames(utterance);
                pieces.push(Piece { utterance, frames, own: Vec::new() });
            });
            return pieces;
        }
        let n_frames = |utterance| self.utterances.frames(utterance);
        chunks::each_frame(utterances.start, n_frames, wanted, |utterance, frame| {
            let frames = self.shape.window.around(frame..frame + 1, n_frames(utterance));
            match pieces.last_mut() {
                Some(last) if last.utterance == utterance && frames.start <= last.frames.end => {
                    last.frames.end = last.frames.end.max(frames.end);
                    last.own.push(frame);
                }
                _ => pieces.push(Piece { utterance, frames, own: vec![frame] }),
            }
        });
        pieces
    }

    /// The file of a piece, and where in it its frames lie.
    fn bytes_of(&self, piece: &Piece) -> (ResourceId, Range<u64>) {
        let of = self.utterances.get(piece.utterance);
        let (encoding, values) = (self.encoding(of.file), self.shape.kind.values);
        let frame = encoding.frame_bytes(values);
        let at = |n: u32| encoding.data(values) + (u64::from(of.first) + u64::from(n)) * frame;
        (self.resource(of.file), at(piece.frames.start)..at(piece.frames.end))
    }

    /// A file, among all that are read.
    fn resource(&self, file: u32) -> ResourceId {
        ResourceId(self.source.resources.len() as u32 + file)
    }

    /// Where a piece comes from.
    fn origin(&self, piece: &Piece) -> Origin {
        let (resource, bytes) = self.bytes_of(piece);
        Origin { resource, offset: bytes.start, line: None, embedded: true }
    }

    /// Reads pieces, those that lie beside each other at once, and calls `each` with them in order.
    fn read(
        &self,
        pieces: &[Piece],
        fetch: &dyn Fetch,
        buffers: &mut Buffers,
        each: &mut EachPiece<'_>,
    ) -> Result<(), Error> {
        let Buffers { bytes, scale } = buffers;
        reads::read_each(
            fetch,
            pieces.len(),
            |i| self.bytes_of(&pieces[i]),
            bytes,
            |i, frames| {
                let file = self.utterances.get(pieces[i].utterance).file;
                let encoding = self.encoding(file);
                self.read_scale(file, encoding, fetch, scale)?;
                let scale = scale.as_ref().map_or(&[][..], |(_, bytes)| bytes);
                each(&pieces[i], encoding, scale, frames);
                Ok(())
            },
        )
    }

    /// Reads the vectors that scale the values of a file, if it has any.
    fn read_scale(
        &self,
        file: u32,
        encoding: Encoding,
        fetch: &dyn Fetch,
        scale: &mut Option<(u32, Vec<u8>)>,
    ) -> Result<(), Error> {
        if !encoding.is_scaled() {
            *scale = None;
            return Ok(());
        }
        if scale.as_ref().is_some_and(|(of, _)| *of == file) {
            return Ok(());
        }
        let (end, mut bytes) = (encoding.data(self.shape.kind.values), Vec::new());
        let start = end - encoding.scale_bytes(self.shape.kind.values);
        fetch.read(self.resource(file), start..end, &mut bytes)?;
        *scale = Some((file, bytes));
        Ok(())
    }

    /// The column of a stream whose sequences are frames of recordings.
    fn recordings(
        &self,
        pieces: &[Piece],
        fetch: &dyn Fetch,
        buffers: &mut Buffers,
        out: &mut Chunk,
    ) -> Result<StreamColumn, Error> {
        let mut column = out.take_recordings();
        let bytes_of = |piece: &Piece| {
            let (_, bytes) = self.bytes_of(piece);
            let file = self.utterances.get(piece.utterance).file;
            1 + self.encoding(file).scale_bytes(self.shape.kind.values) + (bytes.end - bytes.start)
        };
        // Headers may declare more than the file has.
        let bytes = pieces.iter().map(bytes_of).fold(0, u64::saturating_add).min(fetch.largest()) as usize;
        let n =
            if self.shape.by_frame { pieces.iter().map(|piece| piece.own.len()).sum() } else { pieces.len() };
        column.reserve(pieces.len(), bytes, n);
        self.read(pieces, fetch, buffers, &mut |piece, encoding, scale, frames| {
            let pushed: Result<(), ()> = column.push_recording(self.origin(piece), |into| {
                into.push(encoding.byte());
                into.extend_from_slice(scale);
                into.extend_from_slice(frames);
                Ok(())
            });
            pushed.expect("appending to a vector succeeds");
            if self.shape.by_frame {
                piece.own.iter().for_each(|frame| {
                    let frame = frame - piece.frames.start;
                    column.push_sequence(frame..frame + 1);
                })
            } else {
                column.push_sequence(piece.frames.clone())
            }
        })?;
        let samples = if self.shape.by_frame { Offsets::Every(1) } else { offsets(pieces) };
        Ok(StreamColumn { samples, data: Data::Recordings(column) })
    }

    /// The column of a stream whose samples are repeated.
    fn repeated(
        &self,
        pieces: &[Piece],
        fetch: &dyn Fetch,
        buffers: &mut Buffers,
    ) -> Result<StreamColumn, Error> {
        let (mut values, mut recording) = (Vec::new(), Vec::new());
        self.read(pieces, fetch, buffers, &mut |_, encoding, scale, frames| {
            recording.clear();
            recording.push(encoding.byte());
            recording.extend_from_slice(scale);
            recording.extend_from_slice(frames);
            only_sample(&recording, self.shape.window, &mut values);
        })?;
        let values = match self.shape.element {
            Element::F64 => Values::F64(values.into_iter().map(f64::from).collect()),
            _ => Values::F32(values),
        };
        Ok(StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } })
    }

    /// The keys of the sequences of pieces.
    fn keys_of(&self, pieces: &[Piece]) -> Keys {
        let keys = self.utterances.keys(pieces.iter().map(|piece| piece.utterance));
        if !self.shape.by_frame {
            return keys;
        }
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.own.len() as u32;
            Some(*end)
        });
        Keys::Runs { keys: Box::new(keys), ends: ends.collect() }
    }

    /// Sequences of a chunk that cannot be read.
    fn damaged(&self, n: u32, pieces: &[Piece], error: DataError) -> Chunk {
        let data = if self.shape.is_expanded {
            Data::Dense { values: Values::F32(Vec::new()) }
        } else {
            let mut column = RecordingColumn::default();
            let nowhere = Origin { resource: ResourceId::NONE, offset: 0, line: None, embedded: true };
            let empty: Result<(), ()> = column.push_recording(nowhere, |_| Ok(()));
            empty.expect("nothing is appended");
            (0..n).for_each(|_| column.push_sequence(0..0));
            Data::Recordings(column)
        };
        let streams = vec![StreamColumn { samples: Offsets::Every(0), data }];
        let mut chunk = Chunk::new(self.keys_of(pieces), self.lengths(pieces), streams);
        chunk.damaged = vec![Damage { sequences: 0..n, error }];
        chunk
    }

    fn lengths(&self, pieces: &[Piece]) -> Vec<u32> {
        if self.shape.by_frame {
            vec![1; pieces.iter().map(|piece| piece.own.len()).sum()]
        } else {
            pieces.iter().map(|piece| piece.frames.len() as u32).collect()
        }
    }
}

/// Where the frames of each piece begin.
fn offsets(pieces: &[Piece]) -> Offsets {
    let mut ends = Vec::with_capacity(pieces.len() + 1);
    ends.push(0);
    let mut end = 0;
    for piece in pieces {
        end += piece.frames.len() as u32;
        ends.push(end);
    }
    Offsets::At(ends)
}

impl Corpus for HtkCorpus {
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
        let n = wanted.len() as u32;
        let pieces = self.pieces(chunk, wanted);
        if let Some(error) = self.verify(chunk, fetch)? {
            *out = self.damaged(n, &pieces, error);
            return Ok(());
        }
        let kept = scratch.format.take().and_then(|any| any.downcast::<Buffers>().ok());
        let mut buffers = kept.unwrap_or_default();
        let column = if self.shape.is_expanded {
            self.repeated(&pieces, fetch, &mut buffers)
        } else {
            self.recordings(&pieces, fetch, &mut buffers, out)
        };
        scratch.format = Some(buffers);
        *out = Chunk::new(self.keys_of(&pieces), self.lengths(&pieces), vec![column?]);
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        let utterances = self.utterances_of(chunk);
        let keys = self.utterances.keys(utterances.clone());
        if !self.shape.by_frame {
            return Ok(Some(keys));
        }
        let ends = utterances.scan(0, |end, i| {
            *end += self.utterances.frames(i);
            Some(*end)
        });
        Ok(Some(Keys::Runs { keys: Box::new(keys), ends: ends.collect() }))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let piece = self.piece(at);
        let file = self.utterances.get(piece.utterance).file;
        let is_known = Encoding::of(self.encodings[file as usize].load(Ordering::Relaxed)).is_some();
        (self.resource(file), if is_known { self.bytes_of(&piece).1 } else { 0..0 })
    }

    fn locate(&self, at: SequenceId, fetch: &dyn Fetch) -> Result<(ResourceId, Range<u64>), Error> {
        let i = self.piece(at).utterance;
        let encoding = &self.encodings[self.utterances.get(i).file as usize];
        if Encoding::of(encoding.load(Ordering::Relaxed)).is_none() {
            // The header says where frames begin.
            let headers = HeaderSource { facts: &self.source, rules: &self.shape.rules, fetch };
            each_file(&self.utterances, i..i + 1, headers, &mut |_, looked| match looked {
                Ok(looked) => {
                    encoding.store(looked.header.encoding.byte(), Ordering::Relaxed);
                    Ok(())
                }
                Err(Trouble::Error(Error::Cancelled)) => Err(Error::Cancelled),
                Err(_) => Ok(()),
            })?;
        }
        Ok(self.span(at))
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
