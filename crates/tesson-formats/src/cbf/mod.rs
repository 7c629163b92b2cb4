//! CNTK's binary format: chunks of dense and sparse sequences, with a table of the chunks at the end.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the option table, and what options mean |
//! | `layout` | header and chunk table, and whether they can be |
//! | `record` | one sequence of one stream: its size |
//! | `column`, `value` | records to columns, numbers to the type asked for |
//! | `decode` | chunks to columns, with what is wrong with them |
//! | `fault` | the kinds of faults, their codes and texts |
//! | `index` | the lengths in front of the chunks |
//! | `directory` | where a chunk's sequences lie, for reading some of them |
//! | `corpus` | loading parts of an indexed file |
//! | `streaming` | reading in order without an index |
//! | `window` | as much of a chunk at once as fits a core's cache |
//! | `order` | whether entries are in order |
//! | `write`, `walk`, `chunk_queue` | the way back: chunks put together of encoded sequences |
//! | `encode`, `records` | sequences to bytes |
//!
//! In a chunk the streams lie one after the other, and only a walk over the sequences before it finds where a sequence
//! begins. Chunks for which there is memory are therefore read whole; of others a directory is made when they are first used.

mod chunk_queue;
mod column;
mod corpus;
mod decode;
mod directory;
mod encode;
mod fault;
mod index;
mod layout;
mod options;
mod order;
mod record;
mod records;
mod streaming;
#[cfg(test)]
mod tests;
mod value;
mod walk;
mod window;
pub mod write;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tesson_core::identity::{Identity, List, Quoted};
use tesson_core::{
    ChunkId, ConfigError, DataError, DataErrorKind, Defects, Deserializer, Element, Error, Fetch, Format,
    Indexed, Key, Location, OptionSet, Options, Parallelism, ReaderDefaults, ResourceId, Shape, StreamInfo,
    StreamMismatch, StreamingDecoder, format_of, repeated_name,
};

use crate::files::{DataFile, Files};
use directory::ShortRoom;
pub use fault::CbfFault;
use layout::{ChunkPlace, Declared, Layout};
pub use options::CbfRefusal;
use options::{CbfOptions, Input};
use record::{Broken, Form};

/// The registry's entry.
pub static FORMAT: Format = format_of::<CbfOptions>(
    "CNTKBinaryFormatDeserializer",
    "Binary: chunks of dense and sparse sequences, as written by `tesson convert` and CNTK's ctf2bin.",
    open,
)
.with_aliases(&["CNTKBinaryReader", "CBFDeserializer"]);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let options = Arc::new(CbfOptions::read(options, defaults)?);
    let files = Files::new(FORMAT.name, &options.files, |file| Cbf::new(Arc::clone(&options), &file));
    Ok(Box::new(files.with_facts(|facts| {
        facts.keep_in_memory = options.keep;
        facts.smaller_chunks =
            Some(|| "write the file again with smaller chunks (`tesson convert --chunk-size`)".into());
    })))
}

/// The streams of a file, by their names in it, and the type that each one's values are written in.
///
/// # Errors
/// Those of opening the file.
pub fn elements(file: &Path, fetch: &dyn Fetch) -> Result<Vec<(String, Element)>, Error> {
    let layout = Layout::read(&file.into(), fetch)?;
    let element = |form: Form| if form.double { Element::F64 } else { Element::F32 };
    Ok(layout.streams.into_iter().map(|stream| (stream.name, element(stream.form))).collect())
}

/// The one resource.
const FILE: ResourceId = ResourceId(0);

/// A stream of the file.
#[derive(Clone, Debug)]
struct Stream {
    /// Its name where it is delivered; where it is not, that in the file.
    name: String,
    form: Form,
    /// It is not delivered.
    skip: bool,
}

/// The rules for decoding, settled by [`Deserializer::prepare`].
#[derive(Clone, Debug)]
struct Rules {
    file: Arc<Path>,
    element: Element,
    /// In the order of the file.
    streams: Vec<Stream>,
    chunks: Vec<ChunkPlace>,
    /// The chunks with sequences, in the order of the file.
    by_offset: Vec<u32>,
    /// All chunks are small enough to be read whole.
    small_chunks: bool,
    /// Lengths that do not add up to the table's sum are listed as defects, and count as they are.
    checking: bool,
}

impl Rules {
    /// The streams that are delivered.
    fn used(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|stream| !stream.skip)
    }

    /// The streams up to the last one that is used.
    fn streams_read(&self) -> &[Stream] {
        let n = self.streams.iter().rposition(|stream| !stream.skip).map_or(0, |last| last + 1);
        &self.streams[..n]
    }

    /// True if a stream is left out.
    fn skips(&self) -> bool {
        self.streams.iter().any(|stream| stream.skip)
    }

    /// The chunk with sequences that begins at `offset`.
    fn chunk_at(&self, offset: u64) -> usize {
        let at = self.by_offset.partition_point(|&c| self.chunks[c as usize].offset < offset);
        self.by_offset[at] as usize
    }

    /// Compares the lengths in front of a chunk with the table (spec/cbf.md §3), unless that is done already.
    fn check_lengths(&self, number: ChunkId, lengths: &[u32]) -> Result<(), DataError> {
        if self.checking { Ok(()) } else { self.compare_lengths(number, lengths) }
    }

    fn compare_lengths(&self, number: ChunkId, lengths: &[u32]) -> Result<(), DataError> {
        let place = &self.chunks[number.index()];
        let sum: u64 = lengths.iter().map(|&n| u64::from(n)).sum();
        if sum == u64::from(place.n_samples) {
            return Ok(());
        }
        let fault = CbfFault::LengthsDisagree { chunk: number.0, sum, listed: place.n_samples };
        Err(self.error(fault, place.offset))
    }

    /// The error of a chunk whose records do not lie where they must. `sequence` is counted within the chunk.
    fn damage(&self, number: ChunkId, sequence: u32, stream: usize, offset: u64, why: Broken) -> DataError {
        let place = &self.chunks[number.index()];
        let (sequences, why) = (place.n_sequences, why.describe());
        let fault = CbfFault::DamagedChunk { chunk: number.0, sequence, sequences, why };
        let key = Key::Number(place.first_sequence + u64::from(sequence));
        self.error(fault, offset).within(Some(self.streams[stream].name.clone()), Some(key))
    }

    fn error(&self, kind: impl Into<DataErrorKind>, offset: u64) -> DataError {
        DataError::new(kind, Location { file: Arc::clone(&self.file), offset, line: None })
    }
}

/// A binary file as a corpus.
struct Cbf {
    options: Arc<CbfOptions>,
    /// The streams that are delivered.
    streams: Vec<StreamInfo>,
    rules: Arc<Rules>,
}

impl Cbf {
    fn new(options: Arc<CbfOptions>, file: &Path) -> Cbf {
        let rules = Rules {
            file: file.into(),
            element: options.element,
            streams: Vec::new(),
            chunks: Vec::new(),
            by_offset: Vec::new(),
            small_chunks: false,
            checking: false,
        };
        Cbf { options, streams: Vec::new(), rules: Arc::new(rules) }
    }

    /// The file's streams under the names that the options give them (spec/cbf.md §4).
    fn name_streams(&self, layout: &Layout) -> Result<Vec<Stream>, Error> {
        let inputs: HashMap<&str, &Input> =
            self.options.inputs.iter().map(|input| (input.alias.as_str(), input)).collect();
        let stream = |declared: &Declared| {
            let input = inputs.get(declared.name.as_str());
            let (name, skip) = input.map_or((&declared.name, false), |input| (&input.name, input.skip));
            Stream { name: name.clone(), form: declared.form, skip }
        };
        let streams: Vec<Stream> = layout.streams.iter().map(stream).collect();
        let delivered: Vec<&str> =
            streams.iter().filter(|stream| !stream.skip).map(|stream| stream.name.as_str()).collect();
        if let Some((_, again)) = repeated_name(delivered.iter().copied()) {
            let name = delivered[again].to_string();
            return Err(self.rules.error(CbfFault::RepeatedStream { name }, 0).into());
        }
        if streams.iter().all(|stream| stream.skip) {
            return Err(ConfigError::refused("input", &CbfRefusal::NothingLeft).into());
        }
        Ok(streams)
    }
}

impl DataFile for Cbf {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn identity(&self) -> String {
        // What the file says of its streams is part of the corpus.
        let streams = self.rules.streams.iter();
        let streams: Vec<String> = streams.map(|s| format!("({}, {})", Quoted(&s.name), s.skip)).collect();
        let identity = Identity::new("cbf", 1).part().word(self.options.element.name());
        identity.word(List(&streams)).text()
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let layout = Layout::read(&self.rules.file, fetch)?;
        let streams = self.name_streams(&layout)?;
        let info = |stream: &Stream| {
            let shape = Shape::new([stream.form.dim as usize]);
            StreamInfo::dense(&stream.name, shape, self.options.element).with_sparse(stream.form.sparse)
        };
        self.streams = streams.iter().filter(|stream| !stream.skip).map(info).collect();
        let largest = streaming::LARGEST.min(fetch.largest() / streaming::AT_ONCE);
        let small_chunks = layout.chunks.iter().all(|chunk| chunk.bytes() <= largest);
        let rules = Arc::make_mut(&mut self.rules);
        (rules.streams, rules.small_chunks) = (streams, small_chunks);
        (rules.chunks, rules.by_offset) = (layout.chunks, layout.by_offset);
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let mut rules = Arc::clone(&self.rules);
        if defects.are_collected() {
            Arc::make_mut(&mut rules).checking = true;
        }
        let (index, found) = index::index(&rules, fetch, parallelism)?;
        found.into_iter().try_for_each(|defect| defects.report(defect))?;
        let short = ShortRoom::of(&rules, self.options.files.len(), fetch);
        Ok(corpus::indexed(rules, Arc::new(index), fetch.is_local(FILE), short))
    }

    // The file's chunk table is its index.
    fn restore(&self, _saved: &[u8]) -> Option<Indexed> {
        None
    }

    // The file declares its streams itself.
    fn mismatches(&self, _fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        // Of large chunks, and of those with streams that are left out, only parts are read.
        if self.rules.small_chunks && !self.rules.skips() { Some(self) } else { None }
    }
}
