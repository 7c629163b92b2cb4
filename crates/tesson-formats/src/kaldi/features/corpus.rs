//! Matrices of indexed utterances: read when minibatches need them, and kept as they are in their files.

use std::ops::Range;

use tesson_core::{
    Chunk, Corpus, CorpusFacts, Data, Error, Fetch, Index, Keys, LeftOut, Offsets, Origin, RecordingColumn,
    ResourceId, Scattered, Scratch, SequenceSelection, StreamColumn,
};

use super::utterances::Utterance;
use crate::utterance::chunks;

pub(super) struct KaldiCorpus {
    utterances: Vec<Utterance>,
    keys: Keys,
    /// The number of each chunk's first utterance, and of all.
    chunks: Vec<u32>,
    /// Whether each frame is a sequence.
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

    fn utterances_of(&self, chunk: u32) -> Range<usize> {
        self.chunks[chunk as usize] as usize..self.chunks[chunk as usize + 1] as usize
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

    /// Reads the matrix of an utterance behind those before it.
    fn read(&self, utterance: usize, fetch: &dyn Fetch, column: &mut RecordingColumn) -> Result<(), Error> {
        let Utterance { resource, offset, size, part, .. } = &self.utterances[utterance];
        let origin = Origin { resource: *resource, offset: *offset, line: None, embedded: true };
        column.push_recording(origin, |into| {
            into.extend_from_slice(&part.to_bytes());
            fetch.read(*resource, *offset..offset + size, into)
        })
    }
}

impl Corpus for KaldiCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: u32,
        selected: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        _scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let utterances = self.utterances_of(chunk);
        let mut column = out.take_recordings();
        let (mut wanted, mut lengths, mut ends): (Vec<Wanted>, _, _) = (Vec::new(), Vec::new(), vec![0]);
        let n_sequences = selected.len() as u32;
        let mut failed = Ok(());
        let mut take = |utterance: usize, frames: Range<u32>| {
            match wanted.last_mut() {
                Some(last) if self.by_frame && last.utterance == utterance => last.n_sequences += 1,
                _ => {
                    wanted.push(Wanted { utterance, n_sequences: 1 });
                    if failed.is_ok() {
                        failed = self.read(utterance, fetch, &mut column);
                    }
                }
            }
            if failed.is_ok() {
                lengths.push(frames.len() as u32);
                ends.push(ends.last().copied().unwrap_or(0) + frames.len() as u32);
                column.push_sequence(frames);
            }
        };
        match self.by_frame {
            true => chunks::each_frame(
                utterances.start,
                |i| self.n_frames(i),
                selected,
                |utterance, frame| {
                    take(utterance, frame..frame + 1);
                },
            ),
            false => chunks::each_utterance(utterances, selected, |utterance| {
                take(utterance, 0..self.n_frames(utterance));
            }),
        }
        failed?;
        let samples = if self.by_frame { Offsets::Every(1) } else { Offsets::At(ends) };
        *out = Chunk {
            n_sequences,
            lengths,
            keys: self.keys_of(&wanted),
            streams: vec![StreamColumn { samples, data: Data::Recordings(column) }],
            ..Chunk::empty()
        };
        Ok(())
    }

    fn keys(&self, chunk: u32, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        let of = |utterance| Wanted { utterance, n_sequences: self.n_frames(utterance) };
        Ok(Some(self.keys_of(&self.utterances_of(chunk).map(of).collect::<Vec<_>>())))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, Range<u64>) {
        let mut of = self.utterances_of(chunk).start + sequence as usize;
        if self.by_frame {
            let (first, only) =
                (self.utterances_of(chunk).start, SequenceSelection::Range(sequence..sequence + 1));
            chunks::each_frame(first, |i| self.n_frames(i), only, |utterance, _| of = utterance);
        }
        let Utterance { resource, offset, size, .. } = &self.utterances[of];
        (*resource, *offset..offset + size)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
