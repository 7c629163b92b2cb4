//! Loaders: batches of a dataset, epoch by epoch.

use std::path::Path;

use tesson_config::Randomize;
use tesson_config::{Choices, SourceConfig};
use tesson_core::{ConfigError, Element, Error, StreamInfo, Value};
use tesson_engine::store::Store;
use tesson_engine::{Canceller, EpochReport, Epochs, RunCalls, Source, Stats};
use tesson_plan::{Demand, EqualSteps, Limit, ResumeState, Share, Sharing, StepSizes, Window};

use crate::batch::Batch;
use crate::{OpenOptions, World, config};

/// The order of the examples of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shuffle {
    /// The order of the data.
    #[default]
    Off,
    /// A uniform shuffle of the whole dataset, anew in each epoch.
    Whole,
    /// A shuffle within a window of so many chunks of storage: less memory and fewer reads, and less random.
    Chunks(u64),
    /// A shuffle within a window of so many samples.
    Samples(u64),
}

/// The options of a [`Loader`].
#[derive(Clone, Debug)]
#[must_use = "options are not a loader yet, call `open`"]
pub struct LoaderBuilder {
    config: Result<SourceConfig, Error>,
    batch_samples: Option<u64>,
    /// True if examples of similar length are grouped.
    buckets: bool,
    /// Samples of a piece, if examples are cut.
    truncate: Option<u64>,
    ranks: Ranks,
    max_errors: u64,
    options: OpenOptions,
}

/// The rank of this process, and the number of ranks.
#[derive(Clone, Debug)]
enum Ranks {
    /// Those of the launcher of this name, or of whichever there is (`auto`).
    Launched(String),
    Given(Share),
}

impl Ranks {
    fn share(&self) -> Result<Share, ConfigError> {
        let name = match self {
            Ranks::Given(share) => return Ok(*share),
            Ranks::Launched(name) => name,
        };
        let World { rank, size, origin } = crate::world(name)?;
        tracing::info!("rank {rank} of {size}, from {origin}");
        Ok(Share { workers: size, rank })
    }
}

/// The loader that a configuration describes: a file in CNTK's language (`*.cntk`), JSON or TOML. Its options stay as they are unless
/// the builder's methods set others; minibatches end with their sweep, which is an epoch.
///
/// # Errors
/// A file that cannot be read, and a configuration that means nothing.
pub fn from_path(file: impl AsRef<Path>) -> Result<LoaderBuilder, Error> {
    let file = file.as_ref().to_str().ok_or_else(|| {
        let found = format!("`{}`", file.as_ref().display());
        ConfigError::out_of_range("file", found, "a name in UTF-8")
    })?;
    of_config(file)
}

/// The loader that the text of a configuration describes, as [`from_path`] reads one from a file.
///
/// # Errors
/// Text that is no configuration.
pub fn from_str(text: &str) -> Result<LoaderBuilder, Error> {
    // A line feed tells text from the name of a file.
    of_config(&format!("{text}\n"))
}

fn of_config(given: &str) -> Result<LoaderBuilder, Error> {
    let loaded = config::load(given, &Choices::default())?;
    let reader = loaded.reader(None)?;
    let registry = crate::registry();
    let mut config = tesson_config::lower(&reader.section, &registry)?;
    if let Some(folder) = loaded.base_dir(&reader) {
        config.resolve_paths(Path::new(folder), &registry)?;
    }
    let is_sized = config.minibatches.size.is_some() || config.minibatches.size_in_sequences.is_some();
    let mut builder = LoaderBuilder::new(Ok(config));
    builder.batch_samples = is_sized.then_some(0);
    Ok(builder)
}

impl LoaderBuilder {
    pub(crate) fn new(config: Result<SourceConfig, ConfigError>) -> LoaderBuilder {
        LoaderBuilder {
            config: config.map_err(Error::from),
            batch_samples: None,
            buckets: false,
            truncate: None,
            ranks: Ranks::Launched("auto".into()),
            max_errors: 0,
            options: OpenOptions::default(),
        }
    }

    /// Changes the configuration: what this builder has no method for.
    pub fn configure(mut self, change: impl FnOnce(&mut SourceConfig)) -> LoaderBuilder {
        if let Ok(config) = &mut self.config {
            change(config);
        }
        self
    }

    /// Examples in a batch, over all ranks.
    pub fn batch_size(self, examples: u64) -> LoaderBuilder {
        self.configure(|config| config.minibatches.size_in_sequences = Some(examples))
    }

    /// Samples in a batch, over all ranks, of data whose examples have several. An example with more is a batch of its own.
    pub fn batch_samples(mut self, samples: u64) -> LoaderBuilder {
        self.batch_samples = Some(samples);
        self
    }

    /// The order of the examples; by default that of the data.
    pub fn shuffle(self, shuffle: Shuffle) -> LoaderBuilder {
        self.configure(|config| {
            let (randomize, window) = match shuffle {
                Shuffle::Off => (Randomize::Off, None),
                Shuffle::Whole => (Randomize::Global, None),
                Shuffle::Chunks(chunks) => (Randomize::Window, Some(Window::Chunks(chunks))),
                Shuffle::Samples(samples) => (Randomize::Window, Some(Window::Samples(samples))),
            };
            config.order.randomize = randomize;
            config.order.window = window.unwrap_or(config.order.window);
        })
    }

    /// The seed of the shuffle, by default 0: equal seeds give equal orders.
    pub fn seed(self, seed: u64) -> LoaderBuilder {
        self.configure(|config| config.order.seed = seed)
    }

    /// The number of epochs; by default there is no end.
    pub fn epochs(self, epochs: u64) -> LoaderBuilder {
        self.configure(|config| config.minibatches.limit = Limit::Sweeps(epochs))
    }

    /// Leaves out the last batch of each epoch if it is short; the [report](Loader::report) counts its examples.
    pub fn drop_last(self) -> LoaderBuilder {
        self.configure(|config| config.minibatches.drop_last = true)
    }

    /// Groups examples of similar length within the shuffle, so that less of a padded batch is padding.
    pub fn bucket_by_length(mut self) -> LoaderBuilder {
        self.buckets = true;
        self
    }

    /// Cuts examples into pieces of so many samples: a batch has [`batch_size`](LoaderBuilder::batch_size) rows of them, and a row
    /// continues in the same row of the next batch, for models that keep a state; [`Batch::pieces`] reads them. Several ranks share
    /// the rows, and an epoch ends where one of them has nothing left.
    pub fn truncate(mut self, samples: u64) -> LoaderBuilder {
        self.truncate = Some(samples);
        self
    }

    /// The rank of this process, from 0, and the number of ranks that share the batches; by default those of the launcher, as
    /// [`world`](LoaderBuilder::world) finds them.
    pub fn rank(mut self, rank: u64, ranks: u64) -> LoaderBuilder {
        self.ranks = Ranks::Given(Share { workers: ranks, rank });
        self
    }

    /// Reads everything in this process, also where a launcher has started several.
    pub fn alone(mut self) -> LoaderBuilder {
        self.ranks = Ranks::Given(Share::ALL);
        self
    }

    /// Takes rank and number of ranks from a launcher: `auto`, which is the default, or the name of one if several disagree, as for
    /// [`world`](crate::world).
    pub fn world(mut self, launcher: impl Into<String>) -> LoaderBuilder {
        self.ranks = Ranks::Launched(launcher.into());
        self
    }

    /// Examples with invalid data that may be left out before reading fails; by default none.
    pub fn max_errors(mut self, examples: u64) -> LoaderBuilder {
        self.max_errors = examples;
        self
    }

    /// Bytes that the loader may hold; by default 4 GiB.
    pub fn memory_limit(self, bytes: u64) -> LoaderBuilder {
        self.configure(|config| config.runtime.memory_limit = Some(bytes))
    }

    /// Worker threads; by default one for each core.
    pub fn threads(self, threads: usize) -> LoaderBuilder {
        self.configure(|config| config.runtime.threads = threads)
    }

    /// The type of floats in formats that have none of their own: [`Element::F32`], which is the default, or [`Element::F64`].
    pub fn dtype(self, element: Element) -> LoaderBuilder {
        self.configure(|config| config.defaults.precision = element)
    }

    /// The files are in this store.
    pub fn store(mut self, store: &dyn Store) -> LoaderBuilder {
        self.options.store = Some(store.shared());
        self
    }

    /// Ends opening and reading from another thread.
    pub fn canceller(mut self, canceller: Canceller) -> LoaderBuilder {
        self.options.canceller = canceller;
        self
    }

    /// Opens the data.
    ///
    /// # Errors
    /// Options that mean nothing or exclude each other, unreadable files, data that are not the format's.
    pub fn open(self) -> Result<Loader, Error> {
        let LoaderBuilder { config, mut batch_samples, buckets, truncate, ranks, max_errors, options } = self;
        let (mut config, share) = (config?, ranks.share()?);
        if let Some(steps) = truncate {
            batch_samples = Some(truncated(&mut config, steps, batch_samples, share)?);
        }
        if batch_samples.is_none() && config.minibatches.size_in_sequences.is_none() {
            return Err(ConfigError::nothing_given(
                "batch_size",
                "nothing",
                "the number of examples in a batch",
            )
            .into());
        }
        let given = batch_samples.filter(|&samples| samples > 0);
        let samples = given.unwrap_or_else(|| config.minibatches.default_sizes().at(0));
        if buckets {
            config.order.bucketing = Some(samples);
        }
        config.minibatches.cross_sweep_ends = false;
        config.order.sharing = Some(Sharing::Position);
        // Rows of other ranks continue inside examples whose beginning this one has not had: it cannot repeat any.
        let equal_steps = if config.truncation.is_on { EqualSteps::Drop } else { EqualSteps::Repeat };
        config.order.equal_steps = (share.workers > 1).then_some(equal_steps);
        if max_errors > 0 {
            config.faults.max_errors = max_errors;
            for part in &mut config.deserializers {
                if part.format.options.find("maxErrors").is_some() && part.options.get("maxErrors").is_none()
                {
                    part.options.push("maxErrors", Value::from(max_errors));
                }
            }
        }
        let mut source = options.open_finding_keys(&mut config)?;
        source.check_share(share)?;
        let demand = share.demand(samples);
        let epochs = Epochs::new(&source, demand);
        Ok(Loader { source, epochs, demand })
    }
}

/// Prepares a configuration for rows of so many steps. Returns the samples of a batch.
fn truncated(
    config: &mut SourceConfig,
    steps: u64,
    batch_samples: Option<u64>,
    share: Share,
) -> Result<u64, ConfigError> {
    if steps == 0 {
        return Err(ConfigError::out_of_range("truncate", "0", "at least 1"));
    }
    let rows = config.minibatches.size_in_sequences.take();
    let (Some(rows), None) = (rows, batch_samples.filter(|&samples| samples > 0)) else {
        let found = if rows.is_none() { "nothing" } else { "it beside batch_samples" };
        return Err(ConfigError::nothing_given("batch_size", found, "the number of rows in a batch alone"));
    };
    if rows < share.workers {
        let found = format!("{rows} rows for {} ranks", share.workers);
        return Err(ConfigError::out_of_range("batch_size", found, "at least one for each"));
    }
    config.truncation.length = steps;
    config.truncation.is_on = true;
    Ok(rows.saturating_mul(steps))
}

/// Batches of a dataset: each [epoch](Loader::epoch) has each example once, and its last batch is short.
///
/// ```
/// # fn main() -> Result<(), tesson::Error> {
/// # let file = std::env::temp_dir().join(format!("tesson-doc-loader-{}.ctf", std::process::id()));
/// # std::fs::write(&file, "|x 0\n|x 1\n|x 2\n|x 3\n|x 4\n").expect("a temporary folder");
/// # let file = file.to_str().expect("UTF-8");
/// let mut loader = tesson::read_ctf(file).dense("x", 1).loader().batch_size(2).open()?;
/// for batch in &mut loader {
///     println!("{:?}", batch?.dense::<f32>("x")?);
///     break;
/// }
/// // An epoch that was left goes on.
/// let rest: Result<Vec<usize>, _> = loader.epoch().map(|batch| Ok::<_, tesson::Error>(batch?.len())).collect();
/// assert_eq!(rest?, [2, 1]);
/// assert_eq!(loader.report()?.examples, 5);
/// # std::fs::remove_file(file).expect("the file is ours");
/// # Ok(())
/// # }
/// ```
pub struct Loader {
    source: Source,
    epochs: Epochs,
    demand: Demand,
}

impl Loader {
    /// The rest of the present epoch, or the next one if that is over.
    pub fn epoch(&mut self) -> Epoch<'_> {
        let begun = self.epochs.begin(&self.source);
        Epoch { loader: self, refused: begun.err(), is_over: false }
    }

    /// The number, from 0, of the epoch that the next batch belongs to.
    pub fn epoch_number(&self) -> u64 {
        self.epochs.epoch(&self.source)
    }

    /// The number of batches before the next one, from the start of the data on.
    ///
    /// # Errors
    /// Data that cannot be indexed.
    pub fn step(&mut self) -> Result<u64, Error> {
        self.epochs.step(&mut self.source)
    }

    /// The state after the last batch: a loader of the same data resumes from it, on any rank of any number of ranks.
    pub fn state(&self) -> &ResumeState {
        self.epochs.state(&self.source)
    }

    /// Resumes after the batch after which a state was taken.
    ///
    /// # Errors
    /// A state of other data, of another order or another seed; the loader is then as it was.
    pub fn restore(&mut self, state: &ResumeState) -> Result<(), Error> {
        self.source.restore(state)?;
        self.epochs.moved(&self.source);
        Ok(())
    }

    /// Goes to the batch before which so many others come, from the start of the data on.
    ///
    /// # Errors
    /// A step beyond the last epoch.
    pub fn skip_to(&mut self, step: u64) -> Result<(), Error> {
        let Demand { samples, workers, rank } = self.demand;
        let calls = RunCalls { sizes: StepSizes::Constant(samples), workers, rank: Some(rank) };
        self.source.skip_to(step, calls)?;
        self.epochs.moved(&self.source);
        Ok(())
    }

    /// The outcome of the present epoch so far, or of the last one if no other has begun.
    ///
    /// # Errors
    /// Data that cannot be indexed.
    pub fn report(&mut self) -> Result<EpochReport, Error> {
        self.epochs.report(&mut self.source)
    }

    /// The number of examples.
    ///
    /// # Errors
    /// Data that cannot be indexed.
    pub fn num_examples(&mut self) -> Result<u64, Error> {
        self.source.num_sequences()
    }

    /// The number of batches of the first epoch.
    ///
    /// # Errors
    /// Data that cannot be indexed.
    pub fn num_batches(&mut self) -> Result<u64, Error> {
        self.source.steps_per_sweep(self.demand)
    }

    /// The streams of the batches.
    pub fn streams(&self) -> impl Iterator<Item = &StreamInfo> {
        self.source.streams().iter().map(|stream| &**stream)
    }

    /// Counters: bytes read, examples, time waited.
    pub fn stats(&self) -> Stats {
        self.source.stats()
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Loader");
        shown.field("streams", &self.source.streams()).field("state", self.state()).finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &'a mut Loader {
    type Item = Result<Batch, Error>;
    type IntoIter = Epoch<'a>;

    fn into_iter(self) -> Epoch<'a> {
        self.epoch()
    }
}

/// The rest of an epoch of a [`Loader`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an epoch is read by iterating"]
pub struct Epoch<'a> {
    loader: &'a mut Loader,
    refused: Option<Error>,
    is_over: bool,
}

impl Iterator for Epoch<'_> {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Result<Batch, Error>> {
        if self.is_over {
            return None;
        }
        let Loader { source, epochs, .. } = &mut *self.loader;
        let next = match self.refused.take() {
            Some(e) => Err(e),
            None => epochs.next(source, &mut || false),
        };
        self.is_over = !matches!(next, Ok(Some(_)));
        next.map(|minibatch| minibatch.map(Batch::new)).transpose()
    }
}

impl std::iter::FusedIterator for Epoch<'_> {}
