//! The complete description of a source, which a configuration is resolved to.

mod defaults;
mod join;
mod labels;
mod minibatch;
mod order;
pub(crate) mod transforms;
mod truncation;

use std::fmt;
use std::path::{Path, PathBuf};

use tesson_core::{
    Augmentation, ConfigError, Error, FaultRules, Format, OptionKind, OptionSet, OptionTable, Options,
    ReaderDefaults, Registry, RuntimeSpec, Section, Value, Words, options,
};
use tesson_plan::{Bucketing, EqualSteps, PlanSpec, SegmentLength, Sharing, Truncation};

pub use defaults::DeserializerDefaults;
pub(crate) use defaults::PRECISIONS;
pub use join::JoinConfig;
pub(crate) use minibatch::DEFAULT_MINIBATCH;
pub use minibatch::{FULL_DATA_SWEEP, INFINITELY_REPEAT, MinibatchConfig};
pub(crate) use order::ORDERS;
pub use order::{DEFAULT_WINDOW, OrderConfig, Randomize};
pub use transforms::{OpenTransforms, TransformConfig, Transforms, open_list};
pub use truncation::TruncationConfig;

use crate::{ConfigConflict, ReaderRefusal, lower, paths};

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
    /// Those of `read`, and a file that is no UTF-8, with the line.
    pub fn resolve(&self, read: impl FnOnce(&Path) -> Result<Vec<u8>, Error>) -> Result<Vec<String>, Error> {
        let file = match self {
            ExcludedKeys::Listed(keys) => return Ok(keys.clone()),
            ExcludedKeys::File(file) => file,
        };
        let text = String::from_utf8(read(file)?).map_err(|e| {
            let valid = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count();
            let file = file.display().to_string();
            ConfigError::refused("excludeKeys", &ReaderRefusal::KeysNotUtf8 { line, file })
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

/// Words of `augmentation`.
static AUGMENTATIONS: Words<Augmentation, 2> =
    Words::new([("sequence", Augmentation::Sequence), ("cntk", Augmentation::Cntk)]);

/// Words of `store`.
static STORES: Words<StoreKind, 2> = Words::new([("file", StoreKind::File), ("mmap", StoreKind::Mmap)]);

/// Words of `pathsRelativeTo`: true where names start from the folder of the configuration's file.
pub(crate) static PATH_BASES: Words<bool, 2> = Words::new([("workingDirectory", false), ("config", true)]);

/// The deserializers and the registry that the options of a reader are read with.
#[derive(Clone, Debug)]
pub struct ReaderContext {
    /// The deserializers, the primary one first: some decide for the reader.
    pub(crate) deserializers: Vec<DeserializerConfig>,
    /// The transforms that sections may name.
    pub(crate) registry: Registry,
}

options! {
    /// The complete description of a source. [`SourceConfig::new`] has the defaults of CNTK's Python interface.
    #[non_exhaustive]
    #[derive(Clone, Debug)]
    pub struct SourceConfig(options, reader: ReaderContext) {
        /// The deserializers. The first one is the primary: it defines chunks and order.
        pub let deserializers: Vec<DeserializerConfig> = reader.deserializers.clone();
        _ = "deserializers": OptionKind::Formats, required
            => "The data to read: a list of sections, each with a `type` and the options of that type.";
        _ = "primary": OptionKind::Text, optional
            => "The deserializer that defines chunks and order, and whose streams come first: its number from 0, its type or one \
             of its streams.";
        /// The order, and the way in which workers share it.
        ..pub order: OrderConfig => [within &()];
        /// The division of sequences into minibatches, and their end.
        ..pub minibatches: MinibatchConfig => [within &()]
            [identity after "keepSparse" with |config, text| {
                let buckets = config.plan_spec().bucketing;
                text.maybe("bucketing", buckets.map(|Bucketing { samples, sequences }| format!("{samples}/{sequences}")))
            }];
        // Where several options are wrong, the error names the same one as in earlier releases, which read some of them earlier.
        expect options.bool("frameMode");
        /// Transforms of streams beside those that the streams' own sections name.
        pub transforms: Transforms = "transforms": OptionKind::Object, optional
            => "Transforms of the samples of streams: a section with a list of transforms for each stream."
            [read transforms::lower(options)?]
            [describe never];
        /// The random numbers that transforms draw.
        pub augmentation: Augmentation = "augmentation" in AUGMENTATIONS, "sequence"
            => "Random draws of transforms: by sequence, equal for any size, any rank and after a resume (`sequence`), or as the \
             reference draws (`cntk`), for comparisons only, as these draws depend on all earlier minibatches: no state can be \
             restored, one minibatch is made at a time, and an interrupted call has to be repeated before a call of another \
             size.";
        /// Truncation.
        ..pub truncation: TruncationConfig => [within &()];
        expect lower::precision(options, &reader.deserializers);
        expect lower::numeric_keys(options, &reader.deserializers);
        /// The join of several deserializers.
        ..pub join: JoinConfig => [within &()];
        /// Sequences with these keys are left out.
        pub exclude_keys: ExcludedKeys = "excludeKeys": OptionKind::Keys, optional
            => "A list of keys, or the name of a file with a key on each line, whose sequences are left out, as invalid ones \
             are, so that all others keep their minibatch; a state resumes under any list."
            [read lower::excluded_keys(options)?]
            [describe never];
        /// The rules for faults in the data.
        ..pub faults: FaultRules => [within &()];
        /// The reader's defaults for its deserializers.
        ..pub defaults: DeserializerDefaults;
        /// The level of logging: 0 errors, 1 also warnings, 2 also information.
        pub trace_level: u8 = "traceLevel": OptionKind::Whole, optional
            => "Amount of logging: 0 errors, 1 also warnings (the default), 2 also information."
            [read lower::trace_level(options, &reader.deserializers)?]
            [describe as |source| Value::Whole(source.trace_level.into())];
        /// The memory and the threads that it may take.
        ..pub runtime: RuntimeSpec => [within &()];
        /// The way in which files are read.
        pub store: StoreKind = "store" in STORES, "file"
            => "How files are read; `mmap` maps them into memory and is only for files that do not change.";
        expect lower::bucketing(options, &minibatches);
        _: Option<bool> = "multiThreadedDeserialization" | "multithreadedDeserializer", optional
            => "Accepted; has no effect: deserialization always uses all threads."
            [describe with |_, options, section| {
                section.push(
                    "multiThreadedDeserialization",
                    Value::Bool(options.bool("multiThreadedDeserialization")?),
                );
                Ok(())
            }];
        _: Option<bool> = "checkData", optional
            => "Accepted; has no effect: keys are always reconciled.";
        _: Option<String> = "module", optional
            => "The Python module that registers the type; it is imported, which runs its code, so read such configurations only \
             from people you trust; has no effect beside a built-in type."
            [listed after "pathsRelativeTo"];
        // Its meaning is known to the caller, who knows where the file lies.
        _: bool = "pathsRelativeTo" in PATH_BASES, "workingDirectory"
            => "Folder from which relative file names start: the working directory, or the folder of the configuration's file.";
        _: u64 = "verbosity", "0"
            => "Accepted; has no effect: see `traceLevel`."
            [listed after "checkData"];
        /// The transforms that sections may name.
        pub(crate) let registry: Registry = reader.registry.clone();
    }
}

/// The options of a reader section, with the defaults of CNTK's Python interface.
pub static READER_OPTIONS: &OptionTable = SourceConfig::TABLE;

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
        lower::resolve(&Options::new(READER_OPTIONS, &nothing, "")?, deserializers, registry)
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
        let MinibatchConfig { limit, cross_sweep_ends, epoch_size, size_in_sequences, .. } = self.minibatches;
        let sequences = size_in_sequences.unwrap_or(u64::MAX);
        PlanSpec {
            order: self.order.spec(),
            sharing: self.order.resolved_sharing(),
            limit,
            ending: self.minibatches.ending(),
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
            return Err(ConfigError::nothing_given("deserializers", "an empty list", "a deserializer"));
        }
        if self.join.hash_keys && self.defaults.numeric_keys {
            return Err(ConfigError::refused("hashSequenceKeys", &ConfigConflict::HashedNumbers));
        }
        self.minibatches.check()?;
        self.order.check_bucketing(self.truncation.is_on)?;
        self.check_equal_steps()?;
        self.minibatches.check_epochs(self.truncation.spec().as_ref())?;
        self.check_truncation()
    }

    fn check_equal_steps(&self) -> Result<(), ConfigError> {
        let Some(mode) = self.order.equal_steps else { return Ok(()) };
        let by_chunk = self.order.resolved_sharing() == Sharing::Chunk;
        // The last minibatch of a sweep is that of all workers there.
        let of_sweeps = !by_chunk && !self.minibatches.cross_sweep_ends && !self.truncation.is_on;
        let (option, conflict) = if self.truncation.is_on && !by_chunk && mode == EqualSteps::Repeat {
            ("equalSteps", ConfigConflict::RepeatedRows)
        } else if self.minibatches.drop_last && !of_sweeps {
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
        let Some(Truncation { length, right_splice: splice, .. }) = self.truncation.spec() else {
            return Ok(());
        };
        if self.defaults.frame_mode {
            return Err(ConfigError::refused("frameMode", &ConfigConflict::TruncatedFrames));
        }
        if self.augmentation == Augmentation::Cntk {
            return Err(ConfigError::refused("augmentation", &ConfigConflict::TruncatedDraws));
        }
        if length == SegmentLength::Samples(0) {
            return Err(ConfigError::out_of_range("truncationLength", "0", "at least 1 sample"));
        }
        let sizes = self.minibatches.default_sizes();
        if length.changes_by_epoch() && self.order.equal_steps.is_some() {
            return Err(ConfigError::refused("equalSteps", &ConfigConflict::StepsOfOtherSlots));
        }
        let length = minibatch::lengths(&length, &sizes).min().unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_name_and_one_sentence() {
        let mut names: Vec<&str> = READER_OPTIONS.0.iter().flat_map(|o| o.names()).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        assert_eq!(names.len(), n);
        for o in READER_OPTIONS.0 {
            assert!(o.help.ends_with('.') && !o.help.contains(". "), "{}: {}", o.name, o.help);
        }
    }
}
