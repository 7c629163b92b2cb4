//! Pictures of an indexed file: read and decoded from Base64 chunk by chunk, kept as files of pictures.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, Corpus, CorpusFacts, Data, Error, Fault, Fetch, Index, Keys, Offsets, Origin, ResourceId,
    Scattered, Scratch, SequenceSelection, StreamColumn, Values,
};

use super::index::{FILE, Picture, Table};
use super::line::decode;
use super::options::Base64Options;
use crate::near::NearBytes;
use crate::pictures::{PictureStream, VIEWS, recycled};

/// An indexed file. Sequence `i` of a chunk is view `i % copies` of the chunk's picture `i / copies`.
pub(super) struct Base64Corpus {
    pictures: Vec<Picture>,
    keys: Keys,
    chunks: Vec<u32>,
    copies: u32,
    streams: Vec<PictureStream>,
    facts: CorpusFacts,
}

impl Base64Corpus {
    pub(super) fn new(table: Table, options: &Base64Options) -> (Arc<Index>, Base64Corpus) {
        let Table { pictures, keys, chunks, index } = table;
        let memory = pictures.capacity() * size_of::<Picture>() + keys.bytes() + chunks.capacity() * 4;
        let copies = if options.pictures.multi_view { VIEWS } else { 1 };
        let (streams, facts) = (options.pictures.streams.clone(), CorpusFacts::new(memory));
        (Arc::new(index), Base64Corpus { pictures, keys, chunks, copies, streams, facts })
    }

    /// The number of the picture of a chunk's sequence.
    fn picture(&self, chunk: u32, sequence: u32) -> usize {
        (self.chunks[chunk as usize] + sequence / self.copies) as usize
    }

    fn keys_of(&self, pictures: impl Iterator<Item = usize>) -> Keys {
        Keys::gathered(std::slice::from_ref(&self.keys), pictures.map(|number| (0, number as u32)))
    }
}

impl Corpus for Base64Corpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: u32,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let sequences = wanted.to_vec();
        let mut text = NearBytes::new(FILE, std::mem::take(&mut scratch.bytes));
        let mut pictures = recycled(out);
        let (mut faults, mut left_out, mut last) = (Vec::new(), Vec::new(), None);
        for (i, &sequence) in (0..).zip(&sequences) {
            let number = self.picture(chunk, sequence);
            if last == Some(number) {
                pictures.repeat_last();
                if left_out.last() == Some(&(i - 1)) {
                    left_out.push(i);
                }
                continue;
            }
            last = Some(number);
            let Picture { begin, len, line, .. } = self.pictures[number];
            // Neighbours that are wanted, too, are read at once.
            let next = sequences[i as usize..].iter().map(|&next| {
                let picture = self.pictures[self.picture(chunk, next)];
                picture.begin + u64::from(picture.len)
            });
            let encoded = text.get(begin..begin + u64::from(len), next, fetch)?;
            let origin = Origin { resource: FILE, offset: begin, line: Some(line.into()), embedded: true };
            if let Err(fault) = pictures.push_with(origin, |into| decode(encoded, into)) {
                pictures.push(&[], origin);
                left_out.push(i);
                faults.push(Fault {
                    sequence: i,
                    kind: fault.into(),
                    stream: None,
                    resource: FILE,
                    offset: begin,
                    line: Some(line.into()),
                    fatal: false,
                });
            }
        }
        scratch.bytes = text.into_buffer();
        let numbers = || sequences.iter().map(|&sequence| self.picture(chunk, sequence));
        let mut pictures = Some(pictures);
        let data = |stream: &PictureStream| match stream {
            PictureStream::Pictures(_) => Data::Encoded(pictures.take().expect("one stream is of pictures")),
            PictureStream::Labels(_) => {
                let columns: Vec<u32> = numbers().map(|number| self.pictures[number].label).collect();
                Data::Sparse { rows: Offsets::Every(1), values: Values::Ones(columns.len()), columns }
            }
        };
        let columns = self.streams.iter().map(data);
        let streams = columns.map(|data| StreamColumn { samples: Offsets::Every(1), data }).collect();
        let copies = sequences.iter().map(|sequence| sequence % self.copies);
        *out = Chunk::new(self.keys_of(numbers()), vec![1; sequences.len()], streams);
        out.copies = if self.copies == 1 { Vec::new() } else { copies.collect() };
        out.faults = faults;
        out.left_out = left_out;
        Ok(())
    }

    fn keys(&self, chunk: u32, n: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.keys_of((0..n).map(|sequence| self.picture(chunk, sequence)))))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, Range<u64>) {
        let Picture { begin, len, .. } = self.pictures[self.picture(chunk, sequence)];
        (FILE, begin..begin + u64::from(len))
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
