//! Opening a source: what it is made of, put together and checked.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{ConfigError, Deserializer, Element, Error, SEQUENCES_IN_MEMORY};
use tesson_plan::{Bucketing, Cursor, Fingerprint, MissingKeys, PlanRefusal, PlanSpec, ResumeState, Sharing};

use super::truncated::Truncated;
use super::{FaultRules, Source, TruncationSpec};
use crate::executor::{Canceller, ProcessGuard};
use crate::fetch::Resources;
use crate::fingerprint;
use crate::join::{self, JoinRules, Parts};
use crate::report::Report;
use crate::stats::Counters;
use crate::store::Store;
use crate::transform::{StreamTransforms, Transforms};

/// What formats may read at once under any limit, in bytes.
const LARGEST_AT_LEAST: u64 = 256 << 10;

/// Everything a source is made of.
pub struct SourceSpec {
    /// What understands the bytes. Several are joined by key; the first one gives chunks and order.
    pub deserializers: Vec<Box<dyn Deserializer>>,
    /// How several deserializers go together.
    pub join: JoinRules,
    /// Which sequence comes when.
    pub plan: PlanSpec,
    /// What is done with the samples of each stream.
    pub transforms: StreamTransforms,
    /// Every sequence must be one sample.
    pub frame_mode: bool,
    /// Sequences are cut into pieces.
    pub truncation: Option<TruncationSpec>,
    /// Type of all values.
    pub element: Element,
    /// Bytes for index, plan, blocks and packed minibatches together.
    pub memory_limit: u64,
    /// Worker threads; 0: one a core.
    pub threads: usize,
    /// Whether minibatches are made before they are asked for.
    pub prefetch: bool,
    /// How faults are handled beyond what deserializers say.
    pub faults: FaultRules,
}

impl Source {
    /// Opens a corpus: looks at its beginning, and indexes it where the order needs that.
    ///
    /// # Errors
    /// Unreadable storage, data that are not the format's, an index that does not fit into `memory_limit`.
    pub fn open(spec: SourceSpec, store: &dyn Store) -> Result<Source, Error> {
        Source::open_with(spec, store, &Canceller::new())
    }

    /// The same; `canceller` ends it, and is the source's from then on.
    ///
    /// # Errors
    /// As [`Source::open`], and [`Error::Cancelled`].
    pub fn open_with(spec: SourceSpec, store: &dyn Store, canceller: &Canceller) -> Result<Source, Error> {
        let SourceSpec {
            deserializers,
            join,
            mut plan,
            transforms,
            frame_mode,
            truncation,
            element,
            memory_limit,
            threads,
            prefetch,
            faults,
        } = spec;
        let counters = Arc::new(Counters::default());
        let largest = (memory_limit / SEQUENCES_IN_MEMORY).max(LARGEST_AT_LEAST);
        let files = join::files(&deserializers);
        let mut resources = Resources::open(files, store, counters.clone(), canceller.clone(), largest)?;
        let parts = Parts::prepare(deserializers, &mut resources, store)?;
        if truncation.is_some() {
            // Rows are filled sequence by sequence, however many samples other ranks pass meanwhile (§9.3).
            plan.local_timeline = true;
        }
        // The last minibatch of truncated reading is one of rows, which are full or not.
        let drops_last_rows = truncation.is_some() && std::mem::take(&mut plan.ending.drop_last);
        // Joined to others it is part of a corpus like any other.
        if parts.list().len() == 1 && !parts.primary().facts().composable {
            plan.order = plan.order.on_local_timeline();
        }
        if plan.bucketing.is_some() && plan.order.is_local() {
            return Err(ConfigError::refused("bucketing", &PlanRefusal::BucketingNeedsComposable).into());
        }
        if plan.equal_steps.is_some() && plan.order.is_local() && plan.sharing == Sharing::Chunk {
            return Err(ConfigError::refused("equalSteps", &PlanRefusal::EqualStepsNeedComposable).into());
        }
        let corpus =
            fingerprint::corpus(parts.list().iter().map(|part| (part.facts(), part.first)), &resources)?;
        let mut options = Identity::of(parts.identity())
            .field("frame", frame_mode)
            .field("element", element.name())
            .flag("outer", join.missing == MissingKeys::Empty);
        if let Some(truncation) = truncation {
            options = truncation.write(options);
        }
        if let Some(Bucketing { samples, sequences }) = plan.bucketing {
            options = options.field("bucketing", format_args!("{samples}/{sequences}"));
        }
        options = options.flag("hashed", join.hash_keys);
        let stored = parts.streams();
        let name = parts.primary().facts().name;
        let transforms = Transforms::new(&transforms, &stored, &parts.strict_streams(), name)?;
        let fingerprint = Fingerprint {
            corpus,
            index: None,
            order: plan.order.clone(),
            cross_sweep_ends: plan.cross_sweep_ends,
            options: fingerprint::text(&transforms.write(options).text()),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let together = plan.equal_steps.is_some() && plan.sharing == Sharing::Chunk;
        let truncated = truncation
            .map(|t| Truncated::new(t, (parts.streams().len(), memory_limit), drops_last_rows, together));
        let mut source = Source {
            streams: match truncation {
                Some(t) => transforms.outputs().iter().map(|stream| t.deliver(stream)).collect(),
                None => transforms.outputs(),
            },
            transforms: Arc::new(transforms),
            stored,
            parts,
            join,
            resources: Arc::new(resources),
            counters,
            canceller: canceller.clone(),
            plan,
            frame_mode,
            memory_limit,
            threads: if threads == 0 { cores } else { threads },
            prefetch,
            fingerprint: Arc::new(fingerprint),
            joint: None,
            truncated,
            pipeline: None,
            demand: None,
            state: ResumeState::default(),
            ended: false,
            restored: None,
            failed: None,
            process: ProcessGuard::here(),
            fault_share: faults.share,
            report: faults.report.as_deref().map(Report::open).transpose()?,
        };
        if source.may_grow() {
            source.pipeline = Some(source.growing_pipeline());
        } else {
            source.switch_to_index()?;
        }
        source.state = source.state_at(Cursor::default(), 0);
        Ok(source)
    }

    /// Whether the data can be read in order before they are indexed.
    pub(super) fn may_grow(&self) -> bool {
        self.plan.order.plans_while_indexing()
            && !self.frame_mode
            && self.truncated.is_none()
            && !self.join.hash_keys
            // Keys that must not occur again are looked at before the first minibatch.
            && self.join.repeated
            // Steps are counted in the whole of a sweep before its first one.
            && !(self.plan.equal_steps.is_some() && self.plan.sharing == Sharing::Chunk)
            && self.parts.growing()
    }
}
