//! Images within files, such as lines in Base64 or members of a tar archive: read chunk by chunk, kept encoded.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, DataErrorKind, Error, Fault, Fetch, Index, Indexed,
    Keys, Origin, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
};

use super::{ImageColumns, ImageOptions, ImageStream, KeyColumn, KeyTable, VIEWS};
use crate::near::NearBytes;

/// The file among the resources.
pub(crate) const FILE: ResourceId = ResourceId(0);

/// Bytes of a chunk, at most, unless one image has more.
const CHUNK: u64 = 32 << 20;

/// Where an image lies, and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EmbeddedImage {
    /// Where its bytes begin in the file.
    pub(crate) begin: u64,
    /// How many these are.
    pub(crate) len: u32,
    pub(crate) label: u32,
    /// The line, from 0, in files of lines.
    pub(crate) line: u32,
}

/// The images of a file, in its order.
#[derive(Default)]
pub(crate) struct TableBuilder {
    images: Vec<EmbeddedImage>,
    keys: KeyColumn,
    /// The first image of each chunk.
    chunks: Vec<u32>,
    /// Where the chunk begins in the file, and where its last image ends.
    chunk: (u64, u64),
    /// Bytes of each chunk that is complete.
    sizes: Vec<u64>,
}

impl TableBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Appends an image; `span` are all bytes of the file that belong to it. Without a key its number is the key.
    pub(crate) fn push(&mut self, key: Option<&[u8]>, number: u64, span: Range<u64>, image: EmbeddedImage) {
        self.keys.push(key, number);
        if self.chunks.is_empty() || span.end - self.chunk.0 > CHUNK {
            self.end_chunk();
            self.chunks.push(self.images.len() as u32);
            self.chunk.0 = span.start;
        }
        self.chunk.1 = span.end;
        self.images.push(image);
    }

    fn end_chunk(&mut self) {
        if !self.chunks.is_empty() {
            self.sizes.push(self.chunk.1 - self.chunk.0);
        }
    }

    /// The index, and what loads the images: `unpack` appends a file of an image, made of its bytes.
    pub(crate) fn finish(mut self, options: &ImageOptions, form: Form) -> Indexed {
        self.end_chunk();
        self.chunks.push(self.images.len() as u32);
        let copies = if options.multi_view { VIEWS } else { 1 };
        let mut index = Index::new();
        for (chunk, &bytes) in self.chunks.windows(2).zip(&self.sizes) {
            let n = (chunk[1] - chunk[0]) * copies;
            index.push(CompactLengths::new(&vec![1; n as usize]), bytes);
        }
        index.seal();
        let TableBuilder { images, keys, chunks, .. } = self;
        let keys = keys.finish(options.numeric_keys);
        let memory = images.capacity() * size_of::<EmbeddedImage>() + keys.bytes() + chunks.capacity() * 4;
        let (streams, facts) = (options.streams.clone(), CorpusFacts::new(memory));
        let corpus = EmbeddedImages { images, keys, chunks, copies, streams, form, facts };
        Indexed { index: Arc::new(index), corpus: Arc::new(corpus) }
    }
}

/// How images lie in their file.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// Appends the file of an image, made of its bytes.
    pub(crate) unpack: fn(&[u8], &mut Vec<u8>) -> Result<(), DataErrorKind>,
    /// True if each image is a line.
    pub(crate) has_lines: bool,
}

/// An indexed file. Sequence `i` of a chunk is view `i % copies` of the chunk's image `i / copies`.
struct EmbeddedImages {
    images: Vec<EmbeddedImage>,
    keys: KeyTable,
    /// The first image of each chunk, and the number of images.
    chunks: Vec<u32>,
    copies: u32,
    streams: Vec<ImageStream>,
    form: Form,
    facts: CorpusFacts,
}

impl EmbeddedImages {
    /// The number of the image of a chunk's sequence.
    fn image(&self, SequenceId { chunk, sequence }: SequenceId) -> usize {
        (self.chunks[chunk.index()] + sequence / self.copies) as usize
    }

    fn keys_of(&self, images: impl Iterator<Item = usize>) -> Keys {
        self.keys.gathered(images.map(|number| number as u32))
    }
}

impl Corpus for EmbeddedImages {
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
        let sequences = wanted.to_vec();
        let mut near = NearBytes::new(FILE, std::mem::take(&mut scratch.bytes));
        let mut columns = ImageColumns::recycled(out);
        let (mut faults, mut left_out, mut last) = (Vec::new(), Vec::new(), None);
        for (i, &sequence) in (0..).zip(&sequences) {
            let number = self.image(SequenceId { chunk, sequence });
            if last == Some(number) {
                columns.images.repeat_last();
                if left_out.last() == Some(&(i - 1)) {
                    left_out.push(i);
                }
                continue;
            }
            last = Some(number);
            let EmbeddedImage { begin, len, line, .. } = self.images[number];
            // Neighbours that are wanted, too, are read at once.
            let next = sequences[i as usize..].iter().map(|&next| {
                let image = self.images[self.image(SequenceId { chunk, sequence: next })];
                image.begin + u64::from(image.len)
            });
            let stored = near.get(begin..begin + u64::from(len), next, fetch)?;
            let line = self.form.has_lines.then_some(line.into());
            let origin = Origin { resource: FILE, offset: begin, line, embedded: true };
            if let Err(kind) = columns.images.push_with(origin, |into| (self.form.unpack)(stored, into)) {
                columns.images.push(&[], origin);
                left_out.push(i);
                faults.push(Fault {
                    sequence: i,
                    kind,
                    stream: None,
                    resource: FILE,
                    offset: begin,
                    line,
                    fatal: false,
                });
            }
        }
        scratch.bytes = near.into_buffer();
        let numbers = || sequences.iter().map(|&sequence| self.image(SequenceId { chunk, sequence }));
        columns.labels.extend(numbers().map(|number| self.images[number].label));
        let copies = sequences.iter().map(|sequence| sequence % self.copies);
        *out = columns.into_chunk(&self.streams, self.keys_of(numbers()));
        out.copies = if self.copies == 1 { Vec::new() } else { copies.collect() };
        out.faults = faults;
        out.left_out = left_out;
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, n: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.keys_of((0..n).map(|sequence| self.image(SequenceId { chunk, sequence })))))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let EmbeddedImage { begin, len, .. } = self.images[self.image(at)];
        (FILE, begin..begin + u64::from(len))
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
