//! Opening a source: from a configuration to the engine.

use std::fmt;
use std::sync::Arc;

use tesson_config::{DeserializerConfig, SourceConfig, StoreKind};
use tesson_core::identity::Identity;
use tesson_core::{Error, OptionSet, Options};
use tesson_engine::file_patterns::expand;
use tesson_engine::store::{MmapStore, Store, Stores, read_whole};
use tesson_engine::{Canceller, Purpose, Source, SourceSpec, StreamTransforms, kernels_from_environment};

/// Opens what a configuration describes.
///
/// ```
/// # fn main() -> Result<(), tesson::Error> {
/// # let file = std::env::temp_dir().join(format!("tesson-doc-source-{}.ctf", std::process::id()));
/// # std::fs::write(&file, "|x 1 2\n|x 3 4\n|x 5 6\n").expect("a temporary file");
/// let mut config = tesson::config::from_json(&format!(
///     r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "{}", "input":
///         {{"x": {{"dim": 2, "format": "dense"}}}}}}], "maxSweeps": 1}}"#,
///     file.display(),
/// ))?;
/// let mut source = tesson::open(&config)?;
/// while let Some(minibatch) = source.next_minibatch(2)? {
///     let x = minibatch.stream("x").expect("the configuration names it");
///     println!("{} samples: {:?}", x.n_samples(), x.samples());
/// }
/// # std::fs::remove_file(&file).expect("the file is ours");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Options that cannot be opened, unreadable files, data that are not the format's.
pub fn open(config: &SourceConfig) -> Result<Source, Error> {
    OpenOptions::default().open(config)
}

/// How a source is opened, beside what its configuration says.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Where its files are; by default the store that the configuration names, with local files.
    pub store: Option<Arc<dyn Store>>,
    /// The purpose of opening; by default minibatches.
    pub purpose: Purpose,
    /// Ends opening from another thread, and is the source's from then on.
    pub canceller: Canceller,
}

impl OpenOptions {
    /// Opens for minibatches, with the files of a store.
    pub fn in_store(store: &dyn Store) -> OpenOptions {
        OpenOptions { store: Some(store.shared()), ..OpenOptions::default() }
    }

    /// Opens for another purpose, with the files of the configuration's store.
    pub fn to(purpose: Purpose) -> OpenOptions {
        OpenOptions { purpose, ..OpenOptions::default() }
    }

    /// Opens what a configuration describes. Patterns are replaced by the names of the store that match.
    ///
    /// # Errors
    /// The errors of [`open`], and [`Error::Cancelled`].
    pub fn open(&self, config: &SourceConfig) -> Result<Source, Error> {
        match &self.store {
            Some(store) => self.assemble(config, &**store),
            None => self.assemble(config, &stores(config.store)),
        }
    }

    /// Opens what a configuration describes, and makes keys texts in it if the column of keys of a table has texts: only an open
    /// table says so.
    ///
    /// # Errors
    /// The errors of [`OpenOptions::open`].
    pub fn open_finding_keys(&self, config: &mut SourceConfig) -> Result<Source, Error> {
        match self.open(config) {
            Err(Error::Data(error)) if error.code() == "table.key-kind" && config.defaults.numeric_keys => {
                config.defaults.numeric_keys = false;
                self.open(config)
            }
            opened => opened,
        }
    }

    fn assemble(&self, config: &SourceConfig, store: &dyn Store) -> Result<Source, Error> {
        kernels_from_environment()?;
        let mut config = config.clone();
        for (i, d) in config.deserializers.iter_mut().enumerate() {
            if d.path.is_empty() {
                d.path = format!("deserializers[{i}]");
            }
            expand(store, &mut d.options, d.format.options, &d.path)?;
        }
        config.check()?;
        let defaults = config.reader_defaults();
        let open = |d: &DeserializerConfig| {
            let options = Options::new(d.format.options, &d.options, d.path.clone())?;
            (d.format.open)(&options, &defaults).map_err(|e| d.located(e))
        };
        let spec = SourceSpec {
            deserializers: config.deserializers.iter().map(open).collect::<Result<_, _>>()?,
            join: config.join.rules(),
            plan: config.plan_spec(),
            exclude_keys: config.exclude_keys.resolve(|path| Ok(read_whole(store, path)?))?,
            transforms: StreamTransforms {
                streams: config.open_transforms(store)?,
                seed: config.order.seed,
                augmentation: config.augmentation,
            },
            frame_mode: config.defaults.frame_mode,
            truncation: config.truncation.spec(),
            sizes_change: config.minibatches.size.as_ref().is_some_and(|sizes| sizes.runs().len() > 1),
            identity: config.identify(Identity::default()),
            runtime: config.runtime,
            faults: config.faults.clone(),
            purpose: self.purpose,
        };
        spec.open(store, &self.canceller).map_err(|e| match e {
            Error::Config(e) => config.located(e).into(),
            other => other,
        })
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenOptions");
        shown.field("purpose", &self.purpose).field("canceller", &self.canceller).finish_non_exhaustive()
    }
}

/// The stores of a configuration that is given none.
fn stores(kind: StoreKind) -> Stores {
    match kind {
        StoreKind::File => Stores::local(),
        StoreKind::Mmap => Stores::new(Arc::new(MmapStore)),
    }
}
