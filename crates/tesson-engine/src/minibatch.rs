//! Minibatches, as they are delivered.

use std::path::Path;
use std::sync::Arc;

use tesson_core::{Chunk, StreamInfo, did_you_mean};
use tesson_plan::{BatchShare, ResumeState};

use crate::arrays::Arrays;
use crate::batch_keys::BatchKeys;
use crate::deliver::{BatchFiles, BatchOrigins};
use crate::pack::{self, Item, Pools, Source};
use crate::pairing::{PairingError, check_lengths, check_single_entries};
use crate::samples::{Samples, StreamBatch};

/// One minibatch: its streams, and the state to continue after it.
#[derive(Debug)]
pub struct Minibatch {
    pub(crate) arrays: Arrays,
    pub(crate) files: Option<Arc<BatchFiles>>,
    pub(crate) share: Option<BatchShare>,
    pub(crate) sweep_end: bool,
    pub(crate) sweeps_ended: u64,
    pub(crate) resume: ResumeState,
}

impl Minibatch {
    /// A minibatch of all sequences of a chunk, in its order, for callers that make minibatches without a source. There is
    /// no state to continue from.
    ///
    /// The chunk's columns are as a deserializer of these streams makes them.
    pub fn of_chunk(streams: &[Arc<StreamInfo>], chunk: &Chunk, sweep_end: bool) -> Minibatch {
        let items: Vec<Item> = (0..chunk.n_sequences).map(|row| Item { held: 0, row }).collect();
        let sources = [Source::of(chunk, 0)];
        let mut arrays = Arrays::new(Vec::new(), BatchKeys::default());
        pack::pack(streams, &items, &sources, &Pools::new(streams.len(), usize::MAX), &mut arrays.streams);
        pack::keys(&items, &sources, &mut arrays.keys);
        let sweeps_ended = sweep_end.into();
        Minibatch {
            arrays,
            files: None,
            share: None,
            sweep_end,
            sweeps_ended,
            resume: ResumeState::default(),
        }
    }

    /// The streams, in the order of the configuration.
    pub fn streams(&self) -> &[StreamBatch] {
        &self.arrays.streams
    }

    /// The stream of this name.
    pub fn stream(&self, name: &str) -> Option<&StreamBatch> {
        self.arrays.streams.iter().find(|s| s.info.name == name)
    }

    /// Number of sequences. 0 is possible: a worker's share may be empty though others' are not.
    pub fn n_sequences(&self) -> usize {
        self.arrays.keys.len()
    }

    /// Number of sequences that begin in it: all, but for pieces of truncated ones.
    pub fn n_begun(&self) -> usize {
        match self.arrays.streams.first().and_then(StreamBatch::truncated_layout) {
            Some(layout) => layout.places.iter().filter(|place| place.begin >= 0).count(),
            None => self.n_sequences(),
        }
    }

    /// How many sequences ranks have of the minibatch that this is a part of. `None` unless several share it by position, and for
    /// truncated sequences, which ranks share by slots.
    ///
    /// Damaged sequences of other ranks are known, and not counted, where damage is forgiven.
    pub fn share(&self) -> Option<BatchShare> {
        self.share
    }

    /// The keys of the sequences.
    pub fn keys(&self) -> &BatchKeys {
        &self.arrays.keys
    }

    /// The file that each sequence begins in: of the first deserializer, where several are joined. `None` for sequences that are in no
    /// file. Looked up by the call.
    pub fn sources(&self) -> Vec<Option<Arc<Path>>> {
        match &self.files {
            Some(files) => files.of(&self.arrays.sequences),
            None => vec![None; self.n_sequences()],
        }
    }

    /// Takes out what [`Minibatch::sources`] looks up, for callers that [take it apart](Minibatch::into_parts).
    pub fn take_origins(&mut self) -> BatchOrigins {
        BatchOrigins { sequences: std::mem::take(&mut self.arrays.sequences), files: self.files.take() }
    }

    /// True if a sweep ends in or with this minibatch.
    pub fn sweep_end(&self) -> bool {
        self.sweep_end
    }

    /// How many sweeps end with this minibatch. On the local timeline of a single worker the end is counted where the samples of
    /// the sweep end, which [`Minibatch::sweep_end`] may say one minibatch later, as CNTK does.
    pub fn sweeps_ended(&self) -> u64 {
        self.sweeps_ended
    }

    /// The state that continues after this minibatch.
    pub fn resume(&self) -> &ResumeState {
        &self.resume
    }

    /// The minibatch with arrays of its own.
    pub(crate) fn copied(&self) -> Minibatch {
        let mut arrays = Arrays::new(self.arrays.streams.clone(), self.arrays.keys.clone());
        arrays.sequences.clone_from(&self.arrays.sequences);
        let Minibatch { share, sweep_end, sweeps_ended, ref files, ref resume, .. } = *self;
        Minibatch { arrays, files: files.clone(), share, sweep_end, sweeps_ended, resume: resume.clone() }
    }

    /// Takes the minibatch apart: streams, keys, the end of a sweep, and the state after it.
    pub fn into_parts(self) -> (Vec<StreamBatch>, BatchKeys, bool, ResumeState) {
        let (streams, keys) = self.arrays.into_parts();
        (streams, keys, self.sweep_end, self.resume)
    }

    /// Streams whose samples pair: sample `i` of each belongs to the same sequence, and to the same place in it.
    ///
    /// # Errors
    /// The first sequence that has more samples of one of them than of another; and a name of no stream.
    pub fn paired<const N: usize>(&self, names: [&str; N]) -> Result<[&StreamBatch; N], PairingError> {
        let found: Vec<&StreamBatch> =
            names.iter().map(|name| self.expect_stream(name)).collect::<Result<_, _>>()?;
        let lengths: Vec<(&str, &[u32])> = found.iter().map(|s| (&*s.info().name, s.lengths())).collect();
        check_lengths(self.keys(), &lengths)?;
        Ok(std::array::from_fn(|i| found[i]))
    }

    /// The classes of a sparse stream of one-hot samples: the column of each sample's only entry.
    ///
    /// # Errors
    /// The first sample that has not exactly one entry; and a name of no sparse stream.
    pub fn class_indices(&self, name: &str) -> Result<&[i32], PairingError> {
        let stream = self.expect_stream(name)?;
        match stream.samples() {
            Samples::Sparse { indptr, indices, .. } => {
                check_single_entries(self.keys(), name, stream.lengths(), indptr)?;
                Ok(indices)
            }
            Samples::Dense { .. } | Samples::Ragged { .. } => Err(PairingError::Stream {
                what: format!("stream `{name}` is dense, expected a sparse one, whose entries have columns"),
            }),
        }
    }

    fn expect_stream(&self, name: &str) -> Result<&StreamBatch, PairingError> {
        self.stream(name).ok_or_else(|| {
            let names: Vec<&str> = self.streams().iter().map(|s| &*s.info().name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            let what = format!("no stream `{name}`, there are {}{hint}", names.join(", "));
            PairingError::Stream { what }
        })
    }
}
