//! Opening a source: what it is made of, put together and checked.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Deserializer, Error, FaultRules, RuntimeSpec, SEQUENCES_IN_MEMORY, StreamInfo,
};
use tesson_memory::process_memory::ProcessMemory;
use tesson_plan::{Cursor, JoinRules, PlanRefusal, PlanSpec, Sharing, Truncation};

use super::faults::FaultLedger;
use super::position::Position;
use super::runtime::Runtime;
use super::truncated::{Truncated, delivered};
use super::{Source, SourceCorpus, SourceStreams, identity};
use crate::executor::{Canceller, ProcessGuard};
use crate::fetch::Resources;
use crate::fingerprint;
use crate::join::{self, Parts};
use crate::pack::Pools;
use crate::refusal::EngineRefusal;
use crate::stats::Counters;
use crate::store::Store;
use crate::transform::{StreamTransforms, Transforms};

/// The bytes that formats may read at once, however small the limit.
const LARGEST_AT_LEAST: u64 = 256 << 10;

/// Everything a source is made of.
pub struct SourceSpec {
    /// Deserializers, which turn bytes into sequences. Several are joined by key; the first one gives chunks and order.
    pub deserializers: Vec<Box<dyn Deserializer>>,
    /// How several deserializers go together.
    pub join: JoinRules,
    /// Which sequence comes when.
    pub plan: PlanSpec,
    /// Sequences with these keys are left out, compared as texts.
    pub exclude_keys: Vec<String>,
    /// The transforms of each stream's samples.
    pub transforms: StreamTransforms,
    /// Every sequence must be one sample.
    pub frame_mode: bool,
    /// Sequences are cut into segments.
    pub truncation: Option<Truncation>,
    /// True if sizes of minibatches change from epoch to epoch: unfinished sequences then continue in another number of slots,
    /// which is refused otherwise.
    pub sizes_change: bool,
    /// The options that sequences, keys and values depend on beside deserializers and transforms, as their declarations say it:
    /// states hold a hash of it.
    pub identity: Identity,
    /// The memory and the threads that it may take.
    pub runtime: RuntimeSpec,
    /// How faults are handled beyond what deserializers say.
    pub faults: FaultRules,
    /// The purpose of opening the source.
    pub purpose: Purpose,
}

/// The purpose of opening a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Minibatches.
    #[default]
    Minibatches,
    /// A [check](Source::check), which indexes the corpus and lists everything that keeps it from being indexed.
    Check,
    /// Writing its sequences in another format: those of labels, too, without what they are labels of.
    Conversion,
}

impl SourceSpec {
    /// Opens a corpus: looks at its beginning, and indexes it where the order needs that. `canceller` ends the call, and is the
    /// source's from then on.
    ///
    /// # Errors
    /// Unreadable storage, data that are not the format's, an index that does not fit into `memory_limit`, and
    /// [`Error::Cancelled`].
    pub fn open(self, store: &dyn Store, canceller: &Canceller) -> Result<Source, Error> {
        Source::assemble(self, store, canceller)
    }
}

impl Source {
    fn assemble(mut spec: SourceSpec, store: &dyn Store, canceller: &Canceller) -> Result<Source, Error> {
        let counters = Arc::new(Counters::default());
        let runtime = Runtime::new(spec.runtime);
        let process_memory = Arc::new(ProcessMemory::new(runtime.memory_limit));
        let largest = (runtime.memory_limit / SEQUENCES_IN_MEMORY).max(LARGEST_AT_LEAST);
        spec.deserializers.iter_mut().for_each(|deserializer| deserializer.locate(store));
        spec.check_first()?;
        let files = join::files(&spec.deserializers);
        let mut resources = Resources::open(files, store, counters.clone(), canceller.clone(), largest)?;
        let deserializers = std::mem::take(&mut spec.deserializers);
        let parts = Parts::prepare(deserializers, &mut resources, store, spec.faults.max_errors)?;
        // The last minibatch of truncated reading is one of slots, which are full or not.
        let drops_last = spec.truncation.is_some() && std::mem::take(&mut spec.plan.ending.drop_last);
        spec.fit_plan(&parts)?;
        let corpus =
            fingerprint::corpus(parts.list().iter().map(|part| (part.facts(), part.first)), &resources)?;
        let stored = parts.streams();
        let name = parts.primary().facts().name;
        let transforms =
            Transforms::new(&spec.transforms, &parts.decoders(), &stored, &parts.strict_streams(), name)?;
        let fingerprint = identity::fingerprint(&spec, corpus, &parts, &transforms);
        let former_options = identity::former_options(&spec, &parts, &transforms);
        if let Some(ragged) = stored.iter().find(|stream| stream.ragged && spec.truncation.is_some()) {
            let refusal = EngineRefusal::RaggedTruncated { stream: ragged.name.clone() };
            return Err(ConfigError::refused("truncated", &refusal).into());
        }
        let position = Position::new(fingerprint, spec.plan.sharing);
        let memory_limit = usize::try_from(runtime.memory_limit).unwrap_or(usize::MAX);
        let pools = Pools::new(stored.len(), memory_limit);
        let mut source = Source {
            truncated: spec.truncated(pools, drops_last),
            streams: SourceStreams {
                stored,
                delivered: spec.delivered_streams(&transforms),
                transforms: Arc::new(transforms),
            },
            corpus: SourceCorpus { parts, join: spec.join, exclude_keys: spec.exclude_keys, joint: None },
            resources: Arc::new(resources),
            counters,
            process_memory,
            canceller: canceller.clone(),
            plan: spec.plan,
            frame_mode: spec.frame_mode,
            runtime,
            faults: FaultLedger::open(&spec.faults)?,
            former_options,
            pipeline: None,
            position,
            process: ProcessGuard::here(),
        };
        if source.may_grow() {
            source.pipeline = Some(source.growing_pipeline());
        } else if spec.purpose != Purpose::Check {
            source.switch_to_index()?;
        }
        // Where there is an index, it is part of what states belong to.
        source.position.stand_at(Cursor::default());
        Ok(source)
    }

    /// True if the data can be read in order before they are indexed.
    pub(super) fn may_grow(&self) -> bool {
        self.plan.order.plans_while_indexing()
            && !self.frame_mode
            && self.truncated.is_none()
            && !self.corpus.join.hash_keys
            // Keys that must not occur again are looked at before the first minibatch.
            && self.corpus.join.repeated
            // Which sequences have a key is known once all are indexed.
            && self.corpus.exclude_keys.is_empty()
            // Steps are counted in the whole of a sweep before its first one.
            && !(self.plan.equal_steps.is_some() && self.plan.sharing == Sharing::Chunk)
            && self.corpus.parts.growing()
    }
}

impl SourceSpec {
    /// Makes sure that the first deserializer has sequences of its own. One that has not can be checked and converted all the
    /// same.
    fn check_first(&self) -> Result<(), ConfigError> {
        let first = self.deserializers.first().map(|first| first.facts());
        match first.filter(|first| first.needs_another_first && self.purpose == Purpose::Minibatches) {
            None => Ok(()),
            Some(first) => {
                let refusal = EngineRefusal::NeedsAnotherFirst { format: first.name };
                Err(ConfigError::refused("deserializers[0]", &refusal))
            }
        }
    }

    /// Makes the plan one for these deserializers and for truncation, or refuses what they cannot be read with.
    fn fit_plan(&mut self, parts: &Parts) -> Result<(), ConfigError> {
        let plan = &mut self.plan;
        if self.truncation.is_some() {
            // Slots are filled sequence by sequence, however many samples other ranks pass meanwhile
            // (spec/engine.md §9.3).
            plan.local_timeline = true;
        }
        // Joined to others it is part of a corpus like any other.
        if parts.list().len() == 1 && !parts.primary().facts().composable {
            plan.order = plan.order.on_local_timeline();
        }
        if plan.bucketing.is_some() && plan.order.is_local() {
            return Err(ConfigError::refused("bucketing", &PlanRefusal::BucketingNeedsComposable));
        }
        if plan.equal_steps.is_some() && plan.order.is_local() && plan.sharing == Sharing::Chunk {
            return Err(ConfigError::refused("equalSteps", &PlanRefusal::EqualStepsNeedComposable));
        }
        Ok(())
    }

    fn delivered_streams(&self, transforms: &Transforms) -> Vec<Arc<StreamInfo>> {
        match &self.truncation {
            Some(t) => transforms.outputs().iter().map(|stream| delivered(t, stream)).collect(),
            None => transforms.outputs(),
        }
    }

    fn truncated(&self, pools: Pools, drops_last: bool) -> Option<Box<Truncated>> {
        let truncation = self.truncation.clone()?;
        let carries = self.sizes_change || truncation.length.changes_by_epoch();
        Some(Box::new(Truncated::new(truncation, pools, &self.plan, drops_last, carries)))
    }
}
