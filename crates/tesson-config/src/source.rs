//! The complete description of a source, which a configuration is resolved to.

mod labels;
mod minibatch;
mod order;
pub(crate) mod transforms;

use std::fmt;
use std::path::{Path, PathBuf};

use tesson_core::{
    Augmentation, ConfigError, Element, Error, FaultRules, Format, Options, ReaderDefaults, Registry,
    RuntimeSpec, Section,
};
use tesson_plan::{Bucketing, EqualSteps, JoinRules, PlanSpec, SegmentLength, Sharing, Truncation};

pub(crate) use minibatch::DEFAULT_MINIBATCH;
pub use minibatch::{FULL_DATA_SWEEP, INFINITELY_REPEAT, MinibatchConfig};
pub use order::{DEFAULT_WINDOW, OrderConfig, Randomize};
pub use transforms::{OpenTransforms, TransformConfig, Transforms, open_list};

use crate::{ConfigConflict, READER_OPTIONS, lower, paths};

/// One deserializer: its format, and its options as they were given.
#[derive(Clone)]
pub struct DeserializerConfig {
    /// The format.
    pub format: &'static Format,
    /// Options of [`Format::options`]; `type` and `module` are taken out.
    pub options: Section,
    /// Where the options stand in the configuration, for errors: `deserializers[0]`.
    pub path: String,
}

impl DeserializerConfig {
    /// An error of its options, at the place where the option stands.
    #[must_use]
    pub fn located(&self, e: ConfigError) -> ConfigError {
        let inner = e.path.strip_prefix(&self.path).and_then(|path| path.strip_prefix('.'));
        let place = inner.and_then(|path| self.options.span_of(path)).or(self.options.begins()).cloned();
        e.at(place)
    }
}

impl fmt::Debug for DeserializerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeserializerConfig")
            .field("format", &self.format.name)
            .field("options", &self.options)
            .field("path", &self.path)
            .finish()
    }
}

/// Keys whose sequences are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExcludedKeys {
    /// These, as texts.
    Listed(Vec<String>),
    /// Those in a file, one in each line.
    File(PathBuf),
}

impl ExcludedKeys {
    /// The keys. `read` reads a file.
    ///
    /// # Errors
    /// What `read` answers, and a file that is no UTF-8, with the line.
    pub fn resolve(&self, read: impl FnOnce(&Path) -> Result<Vec<u8>, Error>) -> Result<Vec<String>, Error> {
        let file = match self {
            ExcludedKeys::Listed(keys) => return Ok(keys.clone()),
            ExcludedKeys::File(file) => file,
        };
        let text = String::from_utf8(read(file)?).map_err(|e| {
            let valid = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count();
            let what = format!(
                "line {line} of {} is no UTF-8, expected a file of text with a key in each line",
                file.display()
            );
            ConfigError::new("excludeKeys", what)
        })?;
        Ok(text.lines().filter(|line| !line.is_empty()).map(String::from).collect())
    }
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// By reads at positions.
    File,
    /// Mapped into memory: for files that are promised not to change.
    Mmap,
}

/// The reader's defaults for deserializers that do not set these options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeserializerDefaults {
    /// Type of all values; by default 32-bit floats.
    pub precision: Element,
    /// True: every sequence is one sample, such as a frame of speech. Default false.
    pub frame_mode: bool,
    /// True: keys are numbers; false: they are texts. Default true.
    pub numeric_keys: bool,
    /// True: indexes are cached. Default false.
    pub cache_index: bool,
}

/// The complete description of a source. [`SourceConfig::new`] has the defaults of CNTK's Python interface.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// The deserializers. The first one is the primary: it defines chunks and order.
    pub deserializers: Vec<DeserializerConfig>,
    /// The reader's defaults for them.
    pub defaults: DeserializerDefaults,
    /// How several of them go together; by default sequences are left out that not all of them have.
    pub join: JoinRules,
    /// Sequences with these keys are left out; by default none.
    pub exclude_keys: ExcludedKeys,
    /// The order, and how workers share it.
    pub order: OrderConfig,
    /// How sequences are divided into minibatches, and where they end.
    pub minibatches: MinibatchConfig,
    /// Truncation; by default none.
    pub truncation: Option<Truncation>,
    /// Transforms of streams beside those that the streams' own sections name; by default none.
    pub transforms: Transforms,
    /// Whose random numbers transforms draw; by default those of each sequence.
    pub augmentation: Augmentation,
    /// The transforms that sections may name.
    pub(crate) registry: Registry,
    /// How faults in the data are handled; by default none is forgiven.
    pub faults: FaultRules,
    /// The memory and the threads that it may take.
    pub runtime: RuntimeSpec,
    /// How files are read; by default [`StoreKind::File`].
    pub store: StoreKind,
    /// The level of logging: 0 errors, 1 (the default) also warnings, 2 also information.
    pub trace_level: u8,
}

impl SourceConfig {
    /// A source of these deserializers with the default of everything else, as [`READER_OPTIONS`] has it.
    /// `registry` has the transforms that they may name.
    ///
    /// # Errors
    /// Options of the deserializers that decide for the source, such as a `precision` that is none.
    pub fn new(
        deserializers: Vec<DeserializerConfig>,
        registry: &Registry,
    ) -> Result<SourceConfig, ConfigError> {
        let nothing = Section::default();
        lower::resolve(&Options::new(&READER_OPTIONS, &nothing, "")?, deserializers, registry)
    }

    /// The reader's defaults for its deserializers.
    pub fn reader_defaults(&self) -> ReaderDefaults {
        let DeserializerDefaults { precision, frame_mode, numeric_keys, cache_index } = self.defaults;
        ReaderDefaults {
            element: precision,
            frame_mode,
            numeric_keys,
            cache_index,
            forgives: self.faults.forgive(),
        }
    }

    /// Everything the plan needs.
    pub fn plan_spec(&self) -> PlanSpec {
        let OrderConfig { local_timeline, bucketing, equal_steps, .. } = self.order;
        let MinibatchConfig { limit, ending, cross_sweep_ends, epoch_size, size_in_sequences, .. } =
            self.minibatches;
        let sequences = size_in_sequences.unwrap_or(u64::MAX);
        PlanSpec {
            order: self.order.spec(),
            sharing: self.order.resolved_sharing(),
            limit,
            ending,
            cross_sweep_ends,
            epoch_size,
            local_timeline,
            most_sequences: size_in_sequences,
            bucketing: bucketing.map(|samples| Bucketing { samples, sequences }),
            equal_steps,
            excluded: None,
        }
    }

    /// Refuses what excludes each other.
    ///
    /// # Errors
    /// The first option that does not fit the others.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.deserializers.is_empty() {
            let what = "found an empty list, expected a deserializer";
            return Err(ConfigError::new("deserializers", what));
        }
        if self.join.hash_keys && self.defaults.numeric_keys {
            return Err(ConfigError::refused("hashSequenceKeys", &ConfigConflict::HashedNumbers));
        }
        self.minibatches.check()?;
        self.order.check_bucketing(self.truncation.is_some())?;
        self.check_equal_steps()?;
        self.minibatches.check_epochs()?;
        self.check_truncation()
    }

    fn check_equal_steps(&self) -> Result<(), ConfigError> {
        let Some(mode) = self.order.equal_steps else { return Ok(()) };
        let by_chunk = self.order.resolved_sharing() == Sharing::Chunk;
        let (option, conflict) = if self.truncation.is_some() && !by_chunk && mode == EqualSteps::Repeat {
            ("equalSteps", ConfigConflict::RepeatedRows)
        } else if self.minibatches.ending.drop_last {
            ("dropLast", ConfigConflict::LastStepDropped)
        } else if by_chunk && self.minibatches.cross_sweep_ends {
            ("crossSweepEnds", ConfigConflict::StepsAcrossSweeps)
        } else if by_chunk && !self.order.local_timeline {
            ("localTimeline", ConfigConflict::StepsOfAllWorkers)
        } else {
            return Ok(());
        };
        Err(ConfigError::refused(option, &conflict))
    }

    fn check_truncation(&self) -> Result<(), ConfigError> {
        let Some(Truncation { length, right_splice: splice, .. }) = self.truncation else { return Ok(()) };
        if self.defaults.frame_mode {
            return Err(ConfigError::refused("frameMode", &ConfigConflict::TruncatedFrames));
        }
        if self.augmentation == Augmentation::Cntk {
            return Err(ConfigError::refused("augmentation", &ConfigConflict::TruncatedDraws));
        }
        if length == SegmentLength::Samples(0) {
            let what = "found 0, expected at least 1 sample";
            return Err(ConfigError::new("truncationLength", what));
        }
        let sizes = self.minibatches.default_sizes();
        let length = sizes.runs().iter().map(|(size, _)| length.samples(*size)).min().unwrap_or(0);
        if splice >= length {
            let conflict = ConfigConflict::SpliceTooLong { splice, length };
            return Err(ConfigError::refused("rightSplice", &conflict));
        }
        Ok(())
    }

    /// Puts a folder before all relative file names. `registry` has the transforms that the configuration may name.
    ///
    /// # Errors
    /// A folder whose name is no UTF-8.
    pub fn resolve_paths(&mut self, base_dir: &Path, registry: &Registry) -> Result<(), ConfigError> {
        for deserializer in &mut self.deserializers {
            let DeserializerConfig { format, options, path } = deserializer;
            paths::resolve(options, format.options, base_dir, registry, path)?;
        }
        for transform in self.transforms.0.iter_mut().flat_map(|(_, of_stream)| of_stream) {
            if let TransformConfig::Named { section, path } = transform {
                paths::resolve_transform(section, base_dir, registry, path)?;
            }
        }
        if let ExcludedKeys::File(file) = &mut self.exclude_keys {
            *file = base_dir.join(&*file);
        }
        if let Some(report) = &mut self.faults.report {
            *report = base_dir.join(&*report);
        }
        Ok(())
    }
}
