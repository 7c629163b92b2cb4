//! Recordings of an indexed list: read when minibatches need them, and kept as they are in their files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, Corpus, CorpusFacts, Data, Error, Fault, Fetch, Index, Keys, Offsets, Origin, ResourceId,
    Scattered, Scratch, SequenceSelection, StreamColumn,
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

/// The approximate memory of a fault with its text, in bytes.
const FAULTY_BYTES: usize = 256;

pub(super) struct AudioCorpus {
    recordings: Vec<Recording>,
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
        recordings: Vec<Recording>,
        faulty: BTreeMap<u32, AudioFault>,
        keys: Arc<Keys>,
        chunks: Vec<u32>,
    ) -> AudioCorpus {
        let memory = recordings.capacity() * size_of::<Recording>()
            + faulty.len() * FAULTY_BYTES
            + keys.bytes()
            + chunks.capacity() * 4;
        AudioCorpus { recordings, faulty, keys, chunks, facts: CorpusFacts::new(memory) }
    }

    fn of_chunk(&self, chunk: u32) -> &[Recording] {
        let chunk = chunk as usize;
        &self.recordings[self.chunks[chunk] as usize..self.chunks[chunk + 1] as usize]
    }

    fn keys_of<'a>(&self, recordings: impl Iterator<Item = &'a Recording>) -> Keys {
        Keys::gathered(std::slice::from_ref(&*self.keys), recordings.map(|recording| (0, recording.number)))
    }
}

impl Corpus for AudioCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: u32,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        _scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let of_chunk = self.of_chunk(chunk);
        let wanted: Vec<&Recording> = wanted.to_vec().into_iter().map(|i| &of_chunk[i as usize]).collect();
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

    fn keys(&self, chunk: u32, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.keys_of(self.of_chunk(chunk).iter())))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, Range<u64>) {
        let recording = self.of_chunk(chunk)[sequence as usize];
        (recording.resource(), 0..recording.bytes)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
