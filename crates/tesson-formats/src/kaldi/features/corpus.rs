//! Matrices of indexed utterances: read when minibatches need them, and kept as they are in their files.

use std::iter;
use std::ops::Range;

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, Data, Error, Fetch, Index, Keys, LeftOut, Offsets, Origin,
    ResourceId, Scattered, Scratch, SequenceId, SequenceSelection, StreamColumn,
};

use super::utterances::Utterance;
use crate::utterance::{chunks, reads};

pub(super) struct KaldiCorpus {
    utterances: Vec<Utterance>,
    keys: Keys,
    /// The number of each chunk's first utterance, and of all.
    chunks: Vec<u32>,
    /// True if each frame is a sequence.
    by_frame: bool,
    facts: CorpusFacts,
}

/// An utterance that is read, and the number of sequences that it gives.
struct Wanted {
    utterance: usize,
    n_sequences: u32,
}

impl KaldiCorpus {
    pub(super) fn new(
        utterances: Vec<Utterance>,
        keys: Keys,
        chunks: Vec<u32>,
        by_frame: bool,
        left_out: Vec<LeftOut>,
    ) -> KaldiCorpus {
        let memory = utterances.capacity() * size_of::<Utterance>() + keys.bytes() + chunks.capacity() * 4;
        KaldiCorpus {
            utterances,
            keys,
            chunks,
            by_frame,
            facts: CorpusFacts::new(memory).with_left_out(left_out),
        }
    }

    fn utterances_of(&self, chunk: ChunkId) -> Range<usize> {
        self.chunks[chunk.index()] as usize..self.chunks[chunk.index() + 1] as usize
    }

    fn n_frames(&self, utterance: usize) -> u32 {
        self.utterances[utterance].part.rows
    }

    /// The keys of sequences that are these utterances, or frames of them.
    fn keys_of(&self, wanted: &[Wanted]) -> Keys {
        let picks = wanted.iter().map(|wanted| (0, wanted.utterance as u32));
        let keys = Keys::gathered(std::slice::from_ref(&self.keys), picks);
        if !self.by_frame {
            return keys;
        }
        let ends = wanted.iter().scan(0, |end, wanted| {
            *end += wanted.n_sequences;
            Some(*end)
        });
        Keys::Runs { keys: Box::new(keys), ends: ends.collect() }
    }

    /// Where the matrix of an utterance lies.
    fn bytes_of(&self, utterance: usize) -> (ResourceId, Range<u64>) {
        let Utterance { resource, offset, size, .. } = &self.utterances[utterance];
        (*resource, *offset..offset + size)
    }
}

impl Corpus for KaldiCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        selected: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let utterances = self.utterances_of(chunk);
        let mut wanted: Vec<Wanted> = Vec::new();
        // Of each sequence, those of its utterance that it has.
        let mut frames: Vec<Range<u32>> = Vec::with_capacity(selected.len());
        if self.by_frame {
            let n_frames = |utterance| self.n_frames(utterance);
            chunks::each_frame(utterances.start, n_frames, selected, |utterance, frame| {
                match wanted.last_mut() {
                    Some(last) if last.utterance == utterance => last.n_sequences += 1,
                    _ => wanted.push(Wanted { utterance, n_sequences: 1 }),
                }
                frames.push(frame..frame + 1);
            });
        } else {
            chunks::each_utterance(utterances, selected, |utterance| {
                wanted.push(Wanted { utterance, n_sequences: 1 });
                frames.push(0..self.n_frames(utterance));
            })
        }
        let kept = scratch.format.take().and_then(|any| any.downcast::<Vec<u8>>().ok());
        let mut buffer = kept.unwrap_or_default();
        let mut column = out.take_recordings();
        let mut rest = frames.iter();
        let range = |i: usize| self.bytes_of(wanted[i].utterance);
        let read = reads::read_each(fetch, wanted.len(), range, &mut buffer, |i, matrix| {
            let Wanted { utterance, n_sequences } = wanted[i];
            let Utterance { resource, offset, part, .. } = &self.utterances[utterance];
            let origin = Origin { resource: *resource, offset: *offset, line: None, embedded: true };
            column.push_recording(origin, |into| {
                into.extend_from_slice(&part.to_bytes());
                into.extend_from_slice(matrix);
                Ok::<(), Error>(())
            })?;
            rest.by_ref().take(n_sequences as usize).for_each(|frames| column.push_sequence(frames.clone()));
            Ok(())
        });
        scratch.format = Some(buffer);
        read?;
        let lengths: Vec<u32> = frames.iter().map(|frames| frames.len() as u32).collect();
        let ends = lengths.iter().scan(0, |end, n| {
            *end += n;
            Some(*end)
        });
        let samples =
            if self.by_frame { Offsets::Every(1) } else { Offsets::At(iter::once(0).chain(ends).collect()) };
        *out = Chunk::new(
            self.keys_of(&wanted),
            lengths,
            vec![StreamColumn { samples, data: Data::Recordings(column) }],
        );
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        let of = |utterance| Wanted { utterance, n_sequences: self.n_frames(utterance) };
        Ok(Some(self.keys_of(&self.utterances_of(chunk).map(of).collect::<Vec<_>>())))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let SequenceId { chunk, sequence } = at;
        let mut of = self.utterances_of(chunk).start + sequence as usize;
        if self.by_frame {
            let (first, only) =
                (self.utterances_of(chunk).start, SequenceSelection::Range(sequence..sequence + 1));
            chunks::each_frame(first, |i| self.n_frames(i), only, |utterance, _| of = utterance);
        }
        self.bytes_of(of)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
