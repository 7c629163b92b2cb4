//! The order of sequences, and how workers share it.

use tesson_core::{ConfigError, OptionKind, Section, Value, Words, options};
use tesson_plan::{ChunkWindow, EqualSteps, Global, OrderSpec, Sharing, Window};

use crate::ConfigConflict;
use crate::lower::{WHOLE_SET, minibatch_size, order};

/// The window where none is given, as in CNTK's Python interface.
pub const DEFAULT_WINDOW: Window = Window::Chunks(128);

/// The order of the sequences in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomize {
    /// As stored.
    Off,
    /// Shuffled within [`OrderConfig::window`].
    Window,
    /// Shuffled as a whole, without a window.
    Global,
}

/// Words of `randomize`.
pub(crate) static ORDERS: Words<Randomize, 6> = Words::new([
    ("true", Randomize::Window),
    ("false", Randomize::Off),
    ("auto", Randomize::Window),
    ("window", Randomize::Window),
    ("none", Randomize::Off),
    ("global", Randomize::Global),
]);

/// Words of `sharing`.
static SHARING: Words<Sharing, 2> = Words::new([("chunk", Sharing::Chunk), ("position", Sharing::Position)]);

/// Words of `equalSteps`.
static EQUAL_STEPS: Words<Option<EqualSteps>, 4> = Words::new([
    ("false", None),
    ("drop", Some(EqualSteps::Drop)),
    ("repeat", Some(EqualSteps::Repeat)),
    ("empty", Some(EqualSteps::Empty)),
]);

options! {
    /// The order of sequences, and the way in which workers share it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OrderConfig(options) {
        /// The order of a sweep.
        pub randomize: Randomize = "randomize" in ORDERS, "true"
            => "Order of each sweep: shuffled within a window (`true`, `auto`, `window`), as stored (`false`, `none`), or \
             shuffled as a whole (`global`)."
            [read order(options)?.0]
            [describe as |order| match order.randomize {
                Randomize::Off => Value::Bool(false),
                Randomize::Window => Value::Bool(true),
                Randomize::Global => Value::Text("global".to_owned()),
            }];
        // Where several options are wrong, the error names the same one as in earlier releases, which read these between the others.
        expect options.whole_if_given("epochSize");
        /// Seed of the first sweep's order; each further sweep adds 1.
        pub seed: u64 = "randomizationSeed", "0"
            => "Seed of the order of the first sweep; each further sweep adds 1.";
        /// The window of [`Randomize::Window`].
        pub window: Window = "randomizationWindow": OptionKind::Whole, optional
            => "Size of the shuffling window, in chunks, or in samples with `sampleBasedRandomizationWindow`; by default 128 \
             chunks; 0 turns shuffling off."
            [read order(options)?.1]
            [describe with |order, _, section| {
                order.describe_window(section);
                Ok(())
            }];
        _ = "sampleBasedRandomizationWindow": OptionKind::Bool, "false"
            => "Count `randomizationWindow` in samples instead of chunks; without `randomizationWindow` the window is then the \
             whole data set."
            [describe never];
        _ = "randomizationWindowInChunks": OptionKind::Whole, optional
            => "Size of the shuffling window in chunks; if `randomizationWindowInSamples` is 0 as well, shuffling is off."
            [describe never];
        _ = "randomizationWindowInSamples": OptionKind::Whole, optional
            => "Size of the shuffling window in samples."
            [describe never];
        /// The way in which workers share the data; `None`: by position under [`Randomize::Global`] and in buckets, else by chunk.
        pub sharing: Option<Sharing> = "sharing" in SHARING, optional
            => "How workers share the data: each takes whole chunks (`chunk`), as the reference does, or every n-th sequence of \
             each minibatch (`position`, the default for `global` order and `bucketing`).";
        expect options.bool("crossSweepEnds");
        /// True if each worker fills its own share, false if a minibatch ends when all workers together have enough
        /// samples.
        pub local_timeline: bool = "localTimeline", "true"
            => "Whether each worker fills its own share (true), or a minibatch ends when all workers together have enough \
             samples (false)."
            [listed after "equalSteps"];
        expect minibatch_size(options);
        expect options.whole_if_given("minibatchSizeInSequences");
        /// The way in which all workers give the same number of minibatches, if they do. Under sharing by chunk minibatches must not
        /// cross the ends of sweeps.
        pub equal_steps: Option<EqualSteps> = "equalSteps" in EQUAL_STEPS, "false"
            => "Give all workers the same number of minibatches in each sweep: leave out minibatches for which not all have data \
             (`drop`), or give a worker without data its own sequences again (`repeat`) or empty minibatches (`empty`).";
        /// Samples of a bucket of sequences of similar length, if there are buckets.
        pub bucketing: Option<u64> = "bucketing": OptionKind::Text, "false"
            => "Group sequences of similar length within the shuffling window to reduce padding: number of samples in a bucket, \
             best the size of a minibatch, or `true` for `minibatchSize`, `minibatchSizeInSequences` or 256."
            [listed after "minibatchSizeInSequences"]
            // By default as large as a minibatch, which is known when all else is.
            [read None];
    }
}

impl OrderConfig {
    /// The order, as the plan knows it.
    pub fn spec(&self) -> OrderSpec {
        let OrderConfig { seed, window, .. } = *self;
        match self.randomize {
            Randomize::Off => OrderSpec::AsStored,
            Randomize::Window => OrderSpec::ChunkWindow(ChunkWindow { window, seed }),
            Randomize::Global => OrderSpec::Global(Global { seed }),
        }
    }

    /// The window of an order that has one; `all` is the whole data set.
    fn describe_window(&self, section: &mut Section) {
        let (size, in_samples) = match (self.randomize, self.window) {
            (Randomize::Window, Window::Samples(n)) => (n, true),
            (Randomize::Window, Window::Chunks(n)) => (n, false),
            _ => return,
        };
        let size = if size < WHOLE_SET { Value::Whole(size.into()) } else { Value::Text("all".to_owned()) };
        section.push("randomizationWindow", size);
        section.push("sampleBasedRandomizationWindow", Value::Bool(in_samples));
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

    /// Refuses buckets that are empty, or of what has none.
    pub(super) fn check_bucketing(&self, truncates: bool) -> Result<(), ConfigError> {
        let conflict = match self.bucketing {
            Some(0) => {
                return Err(ConfigError::out_of_range("bucketing", "0", "at least 1 sample in a bucket"));
            }
            Some(_) if self.randomize == Randomize::Off => ConfigConflict::BucketsAsStored,
            Some(_) if truncates => ConfigConflict::BucketsOfPieces,
            _ => return Ok(()),
        };
        Err(ConfigError::refused("bucketing", &conflict))
    }
}
