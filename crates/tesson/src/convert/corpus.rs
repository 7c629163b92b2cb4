//! The sequences of a source, one after the other.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tesson_core::{Element, Fetch, Key, ResourceId, StoreError, StreamInfo};
use tesson_formats::write::{Numbers, Sequence, SequenceData, StreamSpec};

use super::{ConvertError, Sequences};
use crate::{Error, Floats, Minibatch, Samples, Source};

/// Samples that are asked for at a time.
const MINIBATCH: u64 = 1024;

/// Everything that a source delivers.
pub struct Corpus {
    source: Source,
    streams: Vec<StreamSpec>,
    minibatch: Option<Minibatch>,
    /// The sequence in the minibatch, and of each stream its first sample.
    at: usize,
    starts: Vec<usize>,
}

impl Corpus {
    /// The sequences of a source that reads its data once, in order. `element` says in which type each stream is
    /// written.
    pub fn new(source: Source, element: impl Fn(&StreamInfo) -> Element) -> Corpus {
        let spec = |info: &StreamInfo| StreamSpec {
            name: info.name.clone(),
            sparse: info.sparse,
            dim: Some(info.shape.len() as u64),
            element: element(info),
        };
        let streams: Vec<StreamSpec> = source.streams().iter().map(|info| spec(info)).collect();
        let starts = vec![0; streams.len()];
        Corpus { source, streams, minibatch: None, at: 0, starts }
    }

    fn here(&self) -> &Minibatch {
        self.minibatch.as_ref().expect("a sequence is asked for behind `advance` only")
    }
}

impl Sequences for Corpus {
    fn streams(&self) -> Vec<StreamSpec> {
        self.streams.clone()
    }

    fn advance(&mut self) -> Result<bool, ConvertError> {
        if let Some(minibatch) = &self.minibatch {
            for (start, stream) in self.starts.iter_mut().zip(minibatch.streams()) {
                *start += stream.lengths()[self.at] as usize;
            }
            self.at += 1;
        }
        while self.minibatch.as_ref().is_none_or(|m| self.at == m.n_sequences()) {
            // The memory of the one before is given back first.
            self.minibatch = None;
            let Some(minibatch) = self.source.next_minibatch(MINIBATCH)? else { return Ok(false) };
            self.minibatch = Some(minibatch);
            self.at = 0;
            self.starts.fill(0);
        }
        Ok(true)
    }

    fn bytes_read(&self) -> u64 {
        self.source.stats().bytes_read
    }
}

impl Sequence for Corpus {
    fn key(&self) -> Key {
        self.here().keys().get(self.at)
    }

    fn stream(&self, stream: usize) -> SequenceData<'_> {
        let batch = &self.here().streams()[stream];
        let (start, n_samples) = (self.starts[stream], batch.lengths()[self.at]);
        let end = start + n_samples as usize;
        match batch.samples() {
            Samples::Dense { values } => {
                let dim = batch.info().shape.len();
                SequenceData::Dense { n_samples, values: numbers(values, start * dim..end * dim) }
            }
            Samples::Sparse { indptr, indices, values } => {
                let bounds = &indptr[start..=end];
                let entries = bounds[0] as usize..bounds[n_samples as usize] as usize;
                SequenceData::Sparse {
                    bounds,
                    columns: &indices[entries.clone()],
                    values: numbers(values, entries),
                }
            }
        }
    }
}

fn numbers(floats: &Floats, range: Range<usize>) -> Numbers<'_> {
    match floats {
        Floats::F32(v) => Numbers::F32(&v[range]),
        Floats::F64(v) => Numbers::F64(&v[range]),
    }
}

/// The streams of a binary file, by their names in it, and the type that each one's values are written in.
///
/// # Errors
/// A file that cannot be read, or is no binary file.
pub fn binary_elements(file: &Path) -> Result<Vec<(String, Element)>, Error> {
    let answer = |e| StoreError::new(file.into(), None, e);
    let opened = File::open(file).map_err(answer)?;
    let size = opened.metadata().map_err(answer)?.len();
    tesson_formats::cbf::elements(file, &Bytes { path: file, size, file: Mutex::new(opened) })
}

/// A file, for looking at its header.
struct Bytes<'a> {
    path: &'a Path,
    size: u64,
    file: Mutex<File>,
}

impl Fetch for Bytes<'_> {
    fn size(&self, _: ResourceId) -> u64 {
        self.size
    }

    fn read(&self, _: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let from = into.len();
        into.resize(from + (range.end - range.start) as usize, 0);
        let read = file.seek(SeekFrom::Start(range.start)).and_then(|_| file.read_exact(&mut into[from..]));
        Ok(read.map_err(|e| StoreError::new(self.path.into(), Some(range.start), e))?)
    }
}
