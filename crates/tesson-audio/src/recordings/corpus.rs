//! Recordings of an indexed list: read when minibatches need them, and kept as they are in their files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, Data, Error, Fault, Fetch, Index, Keys, Offsets, Origin, ResourceId,
    Scattered, Scratch, SequenceId, SequenceSelection, StreamColumn,
};

use crate::fault::AudioFault;

/// A recording that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recording {
    /// Its number in the list.
    pub(super) number: u32,
    pub(super) frames: u32,
    /// Bytes of its file, 0 of one that cannot be read.
    pub(super) bytes: u64,
}

impl Recording {
    fn resource(&self) -> ResourceId {
        ResourceId(1 + self.number)
    }
}

/// Recordings that are read, packed.
#[derive(Default)]
pub(super) struct RecordingList {
    /// Their numbers in the list; empty where all up to now are read.
    numbers: Vec<u32>,
    frames: Vec<u32>,
    /// Bytes of their files, of which larger ones are apart.
    bytes: Vec<u32>,
    large: BTreeMap<u32, u64>,
}

impl RecordingList {
    /// Appends a recording, whose number is larger than those before.
    pub(super) fn push(&mut self, recording: Recording) {
        let i = self.len();
        if self.numbers.is_empty() && recording.number != i {
            self.numbers.extend(0..i);
        }
        if recording.number != i || !self.numbers.is_empty() {
            self.numbers.push(recording.number);
        }
        self.frames.push(recording.frames);
        self.bytes.push(u32::try_from(recording.bytes).unwrap_or(u32::MAX));
        if recording.bytes >= u32::MAX.into() {
            self.large.insert(i, recording.bytes);
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.frames.len() as u32
    }

    pub(super) fn get(&self, i: u32) -> Recording {
        let at = i as usize;
        let bytes = match self.bytes[at] {
            u32::MAX => self.large[&i],
            bytes => bytes.into(),
        };
        let number = self.numbers.get(at).copied().unwrap_or(i);
        Recording { number, frames: self.frames[at], bytes }
    }

    /// Gives back memory that no recording takes.
    pub(super) fn shrink(&mut self) {
        [&mut self.numbers, &mut self.frames, &mut self.bytes].into_iter().for_each(Vec::shrink_to_fit);
    }

    /// Bytes of memory that they take.
    fn memory(&self) -> usize {
        let columns = self.numbers.capacity() + self.frames.capacity() + self.bytes.capacity();
        columns * size_of::<u32>() + self.large.len() * 32
    }
}

/// The approximate memory of a fault with its text, in bytes.
pub(super) const FAULTY_BYTES: usize = 256;

pub(super) struct AudioCorpus {
    recordings: RecordingList,
    /// Faults of recordings that cannot be read, by number in the list.
    faulty: BTreeMap<u32, AudioFault>,
    /// The keys of all lines.
    keys: Arc<Keys>,
    /// The number of each chunk's first recording, and of all.
    chunks: Vec<u32>,
    facts: CorpusFacts,
}

impl AudioCorpus {
    pub(super) fn new(
        recordings: RecordingList,
        faulty: BTreeMap<u32, AudioFault>,
        keys: Arc<Keys>,
        chunks: Vec<u32>,
    ) -> AudioCorpus {
        let memory = recordings.memory() + faulty.len() * FAULTY_BYTES + keys.bytes() + chunks.capacity() * 4;
        AudioCorpus { recordings, faulty, keys, chunks, facts: CorpusFacts::new(memory) }
    }

    /// The recordings of a chunk, by number among those that are read.
    fn of_chunk(&self, chunk: ChunkId) -> Range<u32> {
        let chunk = chunk.index();
        self.chunks[chunk]..self.chunks[chunk + 1]
    }

    fn keys_of(&self, recordings: impl Iterator<Item = Recording>) -> Keys {
        Keys::gathered(std::slice::from_ref(&*self.keys), recordings.map(|recording| (0, recording.number)))
    }
}

impl Corpus for AudioCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        _scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let first = self.of_chunk(chunk).start;
        let wanted: Vec<Recording> =
            wanted.to_vec().into_iter().map(|i| self.recordings.get(first + i)).collect();
        let mut column = out.take_recordings();
        let (mut faults, mut ends) = (Vec::new(), vec![0]);
        for (sequence, recording) in (0..).zip(&wanted) {
            let resource = recording.resource();
            let origin = Origin { resource, offset: 0, line: None, embedded: false };
            let read = |bytes: &mut Vec<u8>| fetch.read(resource, 0..fetch.size(resource)?, bytes);
            let fault = match self.faulty.get(&recording.number) {
                Some(fault) => Some(fault.clone()),
                None => match column.push_recording(origin, read) {
                    Ok(()) => None,
                    Err(Error::Store(e)) => Some(AudioFault::Unreadable { what: e.source.to_string() }),
                    Err(other) => return Err(other),
                },
            };
            if let Some(fault) = fault {
                // The sequence keeps its place in the plan.
                let empty: Result<(), Error> = column.push_recording(origin, |_| Ok(()));
                empty?;
                let kind = fault.into();
                faults.push(Fault {
                    sequence,
                    kind,
                    stream: None,
                    resource,
                    offset: 0,
                    line: None,
                    fatal: false,
                });
            }
            column.push_sequence(0..recording.frames);
            ends.push(ends[sequence as usize] + recording.frames);
        }
        *out = Chunk::new(
            self.keys_of(wanted.iter().copied()),
            wanted.iter().map(|recording| recording.frames).collect(),
            vec![StreamColumn { samples: Offsets::At(ends), data: Data::Recordings(column) }],
        );
        out.left_out = faults.iter().map(|fault| fault.sequence).collect();
        out.faults = faults;
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.keys_of(self.of_chunk(chunk).map(|i| self.recordings.get(i)))))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let recording = self.recordings.get(self.of_chunk(at.chunk).start + at.sequence);
        (recording.resource(), 0..recording.bytes)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
