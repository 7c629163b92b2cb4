//! The interface that a user implements.

use tesson_core::{Keys, StreamColumn, StreamInfo, UserError};

/// A dataset that a user's code supplies as decoded chunks.
///
/// Chunks are numbered from 0. What one holds must be a function of its number alone: it is read again after it was
/// evicted, in later sweeps, and after a state was restored, perhaps in another process. Calls
/// come from worker threads, one at a time unless [`ChunkSource::is_thread_safe`] says otherwise.
pub trait ChunkSource: Send + Sync {
    /// The name in errors, usually that of its type.
    fn name(&self) -> &str;

    /// The streams. Their [`element`](StreamInfo::element) is ignored, and the reader decides it (`precision`), unless the source
    /// [keeps types](ChunkSource::keeps_types).
    fn streams(&self) -> Vec<StreamInfo>;

    /// Number of chunks. Called once, when the source is opened.
    ///
    /// # Errors
    /// Any error of the source.
    fn n_chunks(&self) -> Result<u32, UserError>;

    /// Decodes a chunk: one column a stream, in the order of [`ChunkSource::streams`], all of equally many sequences.
    ///
    /// A sparse sample's columns may come in any order; values of one column are added up. A stream may have no sample
    /// in a sequence.
    ///
    /// # Errors
    /// Any error of the source.
    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError>;

    /// The number, from 0, of the stream whose samples alone count for the size of minibatches (`definesMBSize`). By
    /// default a sequence counts as many samples as its longest stream has.
    fn counted_stream(&self) -> Option<usize> {
        None
    }

    /// The counted length of each sequence in a chunk, at least 1, if it is known without decoding: the samples of
    /// [`ChunkSource::counted_stream`], else of the longest stream. Where it is not, indexing reads every chunk once.
    ///
    /// # Errors
    /// Any error of the source.
    fn lengths(&self, _chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        Ok(None)
    }

    /// The key of each sequence in a chunk, by which it is joined to sequences of other deserializers. By default
    /// sequences are numbered over all chunks, from 0.
    ///
    /// # Errors
    /// Any error of the source.
    fn keys(&self, _chunk: u32) -> Result<Option<Keys>, UserError> {
        Ok(None)
    }

    /// A stable text of everything that changes what the chunks hold, such as file names or options. A saved state is
    /// refused where this text, the name, the streams or the number of chunks differ.
    fn identity(&self) -> String {
        String::new()
    }

    /// True if minibatches have the values of each stream in the type that the stream declares, whatever the reader's `precision` is.
    fn keeps_types(&self) -> bool {
        false
    }

    /// True if several threads may call at the same time.
    fn is_thread_safe(&self) -> bool {
        false
    }
}
