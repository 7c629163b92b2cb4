//! Images of an indexed map: each is a chunk of its own, read from its file when it is needed and kept encoded.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkAccess, ChunkId, Corpus, CorpusFacts, DataErrorKind, Error, Fault, Fetch, Index, Keys,
    Origin, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection,
};

use super::fault::ImageMapFault;
use super::listed_images::ListedImages;
use crate::images::{ImageColumns, ImageOptions, ImageStream};

/// The images of a map. Chunk `i` is view `i % copies` of image `i / copies`.
pub(super) struct MapCorpus {
    images: Arc<ListedImages>,
    /// Sequences that each image is.
    copies: u32,
    streams: Vec<ImageStream>,
    facts: CorpusFacts,
}

impl MapCorpus {
    /// `names`: bytes of memory that the names of classes take.
    pub(super) fn new(
        images: Arc<ListedImages>,
        copies: u32,
        options: &ImageOptions,
        names: usize,
    ) -> MapCorpus {
        let facts = CorpusFacts::new(images.bytes() + names).with_access(ChunkAccess::WholeOnly);
        MapCorpus { images, copies, streams: options.streams.clone(), facts }
    }

    /// The image that a chunk is a view of.
    fn image(&self, chunk: ChunkId) -> u32 {
        chunk.0 / self.copies
    }
}

impl Corpus for MapCorpus {
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
        if wanted.is_empty() {
            *out = Chunk::empty();
            return Ok(());
        }
        let image = self.image(chunk);
        let resource = self.images.resource(image);
        // A resource that cannot be opened says so when it is read.
        let embedded = self.images.has_archives() && fetch.is_embedded(resource).unwrap_or(true);
        let mut columns = ImageColumns::recycled(out);
        let origin = Origin { resource, offset: 0, line: None, embedded };
        let read = columns.images.push_with(origin, |bytes| fetch.read_whole(resource, bytes));
        let faults = match read {
            Ok(()) => Vec::new(),
            Err(error) => {
                let kind = match error {
                    Error::Store(error) => {
                        ImageMapFault::Unreadable { what: error.source.to_string() }.into()
                    }
                    Error::Data(error)
                        if matches!(error.kind(), DataErrorKind::SequenceBeyondMemory { .. }) =>
                    {
                        error.kind().clone()
                    }
                    other => return Err(other),
                };
                // The sequence keeps its place in the plan.
                columns.images.push(&[], origin);
                vec![Fault { sequence: 0, kind, stream: None, resource, offset: 0, line: None, fatal: false }]
            }
        };
        columns.labels.push(self.images.label(image));
        *out = columns.into_chunk(&self.streams, self.images.key(image));
        out.copies = if self.copies == 1 { Vec::new() } else { vec![chunk.0 % self.copies] };
        out.left_out = if faults.is_empty() { Vec::new() } else { vec![0] };
        out.faults = faults;
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.images.key(self.image(chunk))))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        (self.images.resource(self.image(at.chunk)), 0..0)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
