//! What a configuration means: the complete description of a source.

use std::fmt;
use std::path::{Path, PathBuf};

use tesson_core::{
    Augmentation, ConfigError, Element, Error, Format, Options, ReaderDefaults, Registry, Section,
};
use tesson_plan::{
    Bucketing, ChunkWindow, Demand, Ending, EqualSteps, Global, LastSequence, Limit, MissingKeys, OrderSpec,
    PlanSpec, Sharing, Window,
};

use crate::{ConfigConflict, READER_OPTIONS, Schedule, TransformConfig, Transforms, lower, paths};

/// The window where none is given, as in CNTK's Python interface.
pub const DEFAULT_WINDOW: Window = Window::Chunks(128);

/// Samples of a minibatch where neither a call nor the configuration gives a size (spec/engine.md §14).
const DEFAULT_MINIBATCH: u64 = 256;

/// "No end", as a value of `maxSamples` and `maxSweeps`.
pub const INFINITELY_REPEAT: u64 = u64::MAX;

/// "One sweep", as a value of `maxSamples`.
pub const FULL_DATA_SWEEP: u64 = u64::MAX - 1;

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

/// The order of the sequences in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomize {
    /// As stored.
    Off,
    /// Shuffled within [`SourceConfig::randomization_window`].
    Window,
    /// Shuffled as a whole, without a window.
    Global,
}

/// Sequences cut into pieces of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Samples of a sequence in one minibatch, at least 1.
    pub length: u64,
    /// Samples by which a piece repeats the end of the piece before it, fewer than `length`.
    pub right_splice: u64,
    /// Whether sparse streams stay sparse; otherwise they become dense, as in the reference.
    pub keep_sparse: bool,
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

/// The complete description of a source. [`SourceConfig::new`] has the defaults of CNTK's Python interface.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// What is read. The first one is the primary: it defines chunks and order.
    pub deserializers: Vec<DeserializerConfig>,
    /// The order; by default [`Randomize::Window`].
    pub randomize: Randomize,
    /// Seed of the first sweep's order; each further sweep adds 1. Default 0.
    pub randomization_seed: u64,
    /// The window of [`Randomize::Window`]; by default 128 chunks.
    pub randomization_window: Window,
    /// How workers share the data; `None` (the default): by position under [`Randomize::Global`] and in buckets, else by
    /// chunk.
    pub sharing: Option<Sharing>,
    /// Whether a minibatch may hold the end of one sweep and the beginning of the next. Default true.
    pub cross_sweep_ends: bool,
    /// Whether each worker cuts its share by itself. Default true.
    pub local_timeline: bool,
    /// Where the data end; by default nowhere.
    pub limit: Limit,
    /// Samples of an epoch over all workers, whose end ends a minibatch, too; `None` (the default): one sweep.
    pub epoch_size: Option<u64>,
    /// Sizes of minibatches by epoch, for calls that give none; by default none.
    pub minibatch_size: Option<Schedule>,
    /// Sequences that a minibatch of all workers may hold, at least 1; by default any number.
    pub minibatch_size_in_sequences: Option<u64>,
    /// Samples of a bucket of sequences of similar length; by default there are no buckets.
    pub bucketing: Option<u64>,
    /// Whether all workers give the same number of minibatches, and how; by default they do not. Under sharing by chunk
    /// minibatches must not cross the ends of sweeps.
    pub equal_steps: Option<EqualSteps>,
    /// How the data end there; by default the last sequence is given whole, and the last minibatch whatever it holds.
    pub ending: Ending,
    /// Whether every sequence is one sample, such as a frame of speech. Default false.
    pub frame_mode: bool,
    /// Transforms of streams beside those that the streams' own sections name; by default none.
    pub transforms: Transforms,
    /// Whose random numbers transforms draw; by default those of each sequence.
    pub augmentation: Augmentation,
    /// The transforms that sections may name.
    pub(crate) registry: Registry,
    /// Truncation; by default none.
    pub truncation: Option<Truncation>,
    /// Type of all values; by default 32-bit floats.
    pub precision: Element,
    /// Whether keys are numbers. Default true.
    pub use_numeric_sequence_keys: bool,
    /// Whether text keys are kept as hashes. Default false.
    pub hash_sequence_keys: bool,
    /// How sequences are handled that not all deserializers have; by default they are left out.
    pub missing_keys: MissingKeys,
    /// The share of the first deserializer's sequences that another one may lack (`maxMissing`).
    pub max_missing: f64,
    /// Whether a key may occur only once in each deserializer behind the first.
    pub unique_keys: bool,
    /// Sequences with these keys are left out; by default none.
    pub exclude_keys: ExcludedKeys,
    /// Invalid sequences that are left out before reading fails. Default 0.
    pub max_errors: u64,
    /// Share of the sequences passed that may be faulty, where budgets forgive fewer. Default 0.
    pub max_error_share: f64,
    /// A file to which forgiven faults are appended, a line of JSON each; by default none.
    pub quarantine: Option<PathBuf>,
    /// Whether indexes are cached, where a deserializer says nothing else. Default false.
    pub cache_index: bool,
    /// What is logged: 0 errors, 1 (the default) warnings, 2 information too.
    pub trace_level: u8,
    /// Whether minibatches are made before they are asked for. Default true.
    pub prefetch: bool,
    /// Bytes of memory for everything together; `None` (the default) leaves it to the engine.
    pub memory_limit: Option<u64>,
    /// Worker threads; 0 (the default) is one a core.
    pub threads: usize,
    /// How files are read; by default [`StoreKind::File`].
    pub store: StoreKind,
}

impl SourceConfig {
    /// A source of these deserializers with the default of everything else, as [`READER_OPTIONS`] has it.
    pub fn new(deserializers: Vec<DeserializerConfig>) -> SourceConfig {
        let nothing = Section::default();
        let defaults = Options::new(&READER_OPTIONS, &nothing, "")
            .and_then(|options| lower::resolve(&options, Vec::new(), &Registry::default()));
        SourceConfig { deserializers, ..defaults.expect("the table's defaults are right") }
    }

    /// What the reader decides for its deserializers.
    pub fn reader_defaults(&self) -> ReaderDefaults {
        ReaderDefaults {
            element: self.precision,
            frame_mode: self.frame_mode,
            numeric_keys: self.use_numeric_sequence_keys,
            cache_index: self.cache_index,
            forgives: self.max_errors > 0 || self.max_error_share > 0.0,
        }
    }

    /// The order, as the plan knows it.
    pub fn order(&self) -> OrderSpec {
        let seed = self.randomization_seed;
        match self.randomize {
            Randomize::Off => OrderSpec::AsStored,
            Randomize::Window => {
                OrderSpec::ChunkWindow(ChunkWindow { window: self.randomization_window, seed })
            }
            Randomize::Global => OrderSpec::Global(Global { seed }),
        }
    }

    /// How workers share the data, with the default of the order.
    pub fn resolved_sharing(&self) -> Sharing {
        let by_order = match self.randomize {
            Randomize::Global => Sharing::Position,
            // A bucket is a minibatch of all workers together.
            Randomize::Window if self.bucketing.is_some() => Sharing::Position,
            Randomize::Off | Randomize::Window => Sharing::Chunk,
        };
        self.sharing.unwrap_or(by_order)
    }

    /// Everything the plan needs.
    pub fn plan_spec(&self) -> PlanSpec {
        PlanSpec {
            order: self.order(),
            sharing: self.resolved_sharing(),
            limit: self.limit,
            ending: self.ending,
            cross_sweep_ends: self.cross_sweep_ends,
            epoch_size: self.epoch_size,
            local_timeline: self.local_timeline,
            most_sequences: self.minibatch_size_in_sequences,
            bucketing: self.bucketing.map(|samples| Bucketing {
                samples,
                sequences: self.minibatch_size_in_sequences.unwrap_or(u64::MAX),
            }),
            equal_steps: self.equal_steps,
            excluded: None,
        }
    }

    /// Sizes of minibatches in samples for who gives none: as configured; any number where only sequences are limited;
    /// else 256 (spec/engine.md §14).
    ///
    /// # Panics
    /// Never: the default sizes are possible ones.
    pub fn default_sizes(&self) -> Schedule {
        let samples = match self.minibatch_size_in_sequences {
            Some(_) => Demand::ANY_SAMPLES,
            None => DEFAULT_MINIBATCH,
        };
        let default = || Schedule::constant(samples).expect("the default is a possible size");
        self.minibatch_size.clone().unwrap_or_else(default)
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
        if self.hash_sequence_keys && self.use_numeric_sequence_keys {
            return Err(ConfigError::refused("hashSequenceKeys", &ConfigConflict::HashedNumbers));
        }
        if self.epoch_size.is_some() && self.ending.last_sequence != LastSequence::Whole {
            return Err(ConfigError::refused("maxSamplesEnd", &ConfigConflict::EpochsEndAfterSequences));
        }
        if self.minibatch_size_in_sequences == Some(0) {
            let what = "found 0, expected at least 1 sequence";
            return Err(ConfigError::new("minibatchSizeInSequences", what));
        }
        self.check_bucketing()?;
        self.check_equal_steps()?;
        self.check_epochs()?;
        self.check_truncation()
    }

    fn check_bucketing(&self) -> Result<(), ConfigError> {
        let conflict = match self.bucketing {
            Some(0) => {
                let what = "found 0, expected at least 1 sample in a bucket";
                return Err(ConfigError::new("bucketing", what));
            }
            Some(_) if self.randomize == Randomize::Off => ConfigConflict::BucketsAsStored,
            Some(_) if self.truncation.is_some() => ConfigConflict::BucketsOfPieces,
            _ => return Ok(()),
        };
        Err(ConfigError::refused("bucketing", &conflict))
    }

    fn check_equal_steps(&self) -> Result<(), ConfigError> {
        let Some(mode) = self.equal_steps else { return Ok(()) };
        let by_chunk = self.resolved_sharing() == Sharing::Chunk;
        let (option, conflict) = if self.truncation.is_some() && !by_chunk && mode == EqualSteps::Repeat {
            ("equalSteps", ConfigConflict::RepeatedRows)
        } else if self.ending.drop_last {
            ("dropLast", ConfigConflict::LastStepDropped)
        } else if by_chunk && self.cross_sweep_ends {
            ("crossSweepEnds", ConfigConflict::StepsAcrossSweeps)
        } else if by_chunk && !self.local_timeline {
            ("localTimeline", ConfigConflict::StepsOfAllWorkers)
        } else {
            return Ok(());
        };
        Err(ConfigError::refused(option, &conflict))
    }

    fn check_epochs(&self) -> Result<(), ConfigError> {
        let sizes = self.minibatch_size.iter().flat_map(|schedule| schedule.runs());
        let least = sizes.map(|(size, _)| *size).max().unwrap_or(0);
        match self.epoch_size {
            Some(samples) if samples < least => {
                Err(ConfigError::refused("epochSize", &ConfigConflict::EpochTooShort { samples, least }))
            }
            _ => Ok(()),
        }
    }

    fn check_truncation(&self) -> Result<(), ConfigError> {
        let Some(Truncation { length, right_splice: splice, .. }) = self.truncation else { return Ok(()) };
        if self.frame_mode {
            return Err(ConfigError::refused("frameMode", &ConfigConflict::TruncatedFrames));
        }
        if self.augmentation == Augmentation::Cntk {
            return Err(ConfigError::refused("augmentation", &ConfigConflict::TruncatedDraws));
        }
        if length == 0 {
            let what = "found 0, expected at least 1 sample";
            return Err(ConfigError::new("truncationLength", what));
        }
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
        if let Some(quarantine) = &mut self.quarantine {
            *quarantine = base_dir.join(&*quarantine);
        }
        Ok(())
    }
}
