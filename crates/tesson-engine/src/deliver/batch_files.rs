//! The files that the sequences of minibatches begin in.
//!
//! For the next editor: a minibatch only keeps which sequences it has, eight bytes each. Their files are looked up when somebody
//! asks, which few loops do, and then once for each file.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tesson_core::{ResourceId, SequenceId};

use super::corpus_index::CorpusIndex;
use crate::fetch::Resources;

/// The resources of the byte runs that have been cut of a corpus that grows: that of run `k` at place `k`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunResources(Arc<RwLock<Vec<ResourceId>>>);

impl RunResources {
    /// The next byte run is one of this resource.
    pub(super) fn push(&self, resource: ResourceId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(resource);
    }

    fn get(&self, run: u32) -> ResourceId {
        let runs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        runs.get(run as usize).copied().unwrap_or(ResourceId::NONE)
    }
}

/// Says which file a sequence of a minibatch begins in: of the first deserializer, where several are joined.
pub(crate) struct BatchFiles {
    corpus_index: CorpusIndex,
    resources: Arc<Resources>,
}

impl BatchFiles {
    pub(super) fn new(corpus_index: CorpusIndex, resources: Arc<Resources>) -> BatchFiles {
        BatchFiles { corpus_index, resources }
    }

    /// The file of each sequence; `None` of those that are in none.
    pub(crate) fn of(&self, sequences: &[SequenceId]) -> Vec<Option<Arc<Path>>> {
        let mut known: HashMap<ResourceId, Option<Arc<Path>>> = HashMap::new();
        let mut file =
            |resource| known.entry(resource).or_insert_with(|| self.resources.path(resource)).clone();
        sequences.iter().map(|&sequence| file(self.resource(sequence))).collect()
    }

    fn resource(&self, sequence: SequenceId) -> ResourceId {
        match &self.corpus_index {
            CorpusIndex::Indexed(blocks) => blocks.corpus.span(sequence).0,
            CorpusIndex::Growing(runs) => runs.get(sequence.chunk.0),
        }
    }
}

impl fmt::Debug for BatchFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchFiles").finish_non_exhaustive()
    }
}

/// Where the sequences of a minibatch come from.
#[derive(Clone, Debug, Default)]
pub struct BatchOrigins {
    pub(crate) sequences: Vec<SequenceId>,
    pub(crate) files: Option<Arc<BatchFiles>>,
}

impl BatchOrigins {
    /// The file that each sequence begins in, in the order of the minibatch: of the first deserializer, where several are joined. `None`
    /// for sequences that are in no file.
    pub fn files(&self) -> Vec<Option<Arc<Path>>> {
        match &self.files {
            Some(files) => files.of(&self.sequences),
            None => vec![None; self.sequences.len()],
        }
    }
}
