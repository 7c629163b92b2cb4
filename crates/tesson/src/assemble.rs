//! From a configuration to the engine's source.

use tesson_config::{DeserializerConfig, SourceConfig, StoreKind};
use tesson_core::{Error, Options};
use tesson_engine::store::{FileStore, MmapStore, Store, read_whole};
use tesson_engine::{
    Canceller, DEFAULT_MEMORY_LIMIT, FaultRules, JoinRules, Source, SourceSpec, StreamTransforms,
    TruncationSpec, kernels_from_environment,
};

use crate::files;

/// Opens a source on the files of the configured store, after names that are patterns have been replaced by those of the
/// files that match.
pub(crate) fn open_files(config: &SourceConfig, canceller: &Canceller) -> Result<Source, Error> {
    let store: &dyn Store = match config.store {
        StoreKind::File => &FileStore,
        StoreKind::Mmap => &MmapStore,
    };
    let mut config = config.clone();
    for d in &mut config.deserializers {
        files::expand(&mut d.options, d.format.options, &d.path)?;
    }
    open_in(&config, store, canceller)
}

/// Opens a source on a store.
pub(crate) fn open_in(
    config: &SourceConfig,
    store: &dyn Store,
    canceller: &Canceller,
) -> Result<Source, Error> {
    kernels_from_environment()?;
    config.check()?;
    let defaults = config.reader_defaults();
    let open = |d: &DeserializerConfig| {
        let options = Options::new(d.format.options, &d.options, d.path.clone())?;
        (d.format.open)(&options, &defaults).map_err(|e| d.located(e))
    };
    let spec = SourceSpec {
        deserializers: config.deserializers.iter().map(open).collect::<Result<_, _>>()?,
        join: JoinRules {
            missing: config.missing_keys,
            repeated: !config.unique_keys,
            hash_keys: config.hash_sequence_keys,
        },
        plan: config.plan_spec(),
        transforms: StreamTransforms {
            streams: config.open_transforms(&|path| Ok(read_whole(store, path)?))?,
            seed: config.randomization_seed,
        },
        frame_mode: config.frame_mode,
        truncation: config.truncation.map(|t| TruncationSpec {
            length: t.length,
            right_splice: t.right_splice,
            keep_sparse: t.keep_sparse,
        }),
        element: config.precision,
        memory_limit: config.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT),
        threads: config.threads,
        prefetch: config.prefetch,
        faults: FaultRules { share: config.max_error_share, report: config.quarantine.clone() },
    };
    Source::open_with(spec, store, canceller)
}
