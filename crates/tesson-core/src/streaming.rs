//! Reading in order without an index.

use crate::{Chunk, Error, Fetch, ResourceId, Scratch};

/// A run of bytes of one resource that holds whole sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRun {
    /// The resource.
    pub resource: ResourceId,
    /// Its first byte.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

/// Reads data in order without an index, which then grows from the decoded chunks.
///
/// Cutting is serial and cheap; several runs are decoded in parallel. The chunks decoded from all runs hold exactly
/// the sequences of an index pass, in its order, with its counted lengths and keys.
pub trait StreamingDecoder: Sync {
    /// Cuts the next run, of about `target` bytes; `after` is the run before it, `None` starts. Returns `None` at the end.
    /// `scratch` is overwritten.
    ///
    /// Runs are cut one after the other, so it should read only as much as is needed to find the end of the next one.
    ///
    /// # Errors
    /// The errors of [`Deserializer::index`](crate::Deserializer::index).
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error>;

    /// `true`: decoding reads the run itself, in parts that fit a cache, and gets no bytes; `false`: it gets the
    /// bytes of the run.
    fn reads_itself(&self) -> bool;

    /// Decodes a run: its `bytes`, or none if it [reads itself](StreamingDecoder::reads_itself). Lines, those of errors too,
    /// and line keys are relative to the run.
    ///
    /// # Errors
    /// Only errors that an index pass reports, too; other bad data are faults in `out`.
    fn decode(
        &self,
        run: ByteRun,
        bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;
}
