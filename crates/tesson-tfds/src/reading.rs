//! The plan for reading a split: its files, their order, and the operations on the examples (spec/tfds.md §8).

use std::num::NonZeroU64;

use serde_json::Value;
use tesson_core::ConfigError;
use tesson_plan::{GlobalSeeds, SeedPair, Seeding, Span, Stream, StreamOp, StreamSpec};

use crate::info::{Dataset, Shard};
use crate::json::{integer, wide_integer};
use crate::read_config::{ReadConfig, Sort};
use crate::refusal::{ReadingRefusal, SplitRefusal};
use crate::split::{FileInstruction, Selection, file_instructions};

/// An operation on examples as users write it; see [`StreamOp`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// `shuffle(buffer_size, seed, reshuffle_each_iteration)`.
    Shuffle {
        /// Examples that each one is drawn from.
        buffer_size: NonZeroU64,
        /// The shuffle's own seed.
        seed: Option<i128>,
        /// Each pass has another order.
        reshuffle: bool,
    },
    /// `repeat(n)`; -1 is for ever.
    Repeat(i64),
    /// `skip(n)`.
    Skip(i64),
    /// `take(n)`; -1 is all.
    Take(i64),
    /// `shard(num_shards, index)`.
    Shard {
        /// Into how many shares the stream is dealt.
        num_shards: NonZeroU64,
        /// The number of this share, from 0.
        index: u64,
    },
    /// `prefetch(…)`: reads ahead; no order depends on it.
    Prefetch,
}

/// A request to read a dataset: a split, options, and operations on the examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The split.
    pub selection: Selection,
    /// The files are shuffled.
    pub shuffle_files: bool,
    /// The options for reading files.
    pub config: ReadConfig,
    /// The operations on the examples, in this order.
    pub ops: Vec<Op>,
    /// The argument of `tf.random.set_seed`, if that was called just before.
    pub global_seed: Option<i128>,
}

impl Reading {
    /// A split, read as it is read where nothing else is said.
    pub fn of(selection: Selection) -> Reading {
        Reading {
            selection,
            shuffle_files: false,
            config: ReadConfig::default(),
            ops: Vec::new(),
            global_seed: None,
        }
    }
}

/// A seed that was missing and so was drawn. Set explicitly, it yields the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnSeed {
    /// The path of its option, such as `read_config.shuffle_seed` or `ops[0].seed`.
    pub path: String,
    /// The seed.
    pub seed: i128,
}

/// The plan of a split: the records that are read of each file, and everything that decides their order. Nothing is
/// left open.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The records that are read of each file, after the sort function; [`crate::ids::Ids`] are made from these.
    pub files: Vec<FileInstruction>,
    /// The numbers of the files that this pipeline reads (spec/tfds.md §8.8).
    pub own: Vec<usize>,
    /// Seeds that were missing and so were drawn.
    pub drawn: Vec<DrawnSeed>,
    /// True if missing files are errors when they are reached, and not at the beginning.
    pub lazy: bool,
    spec: StreamSpec,
}

impl Plan {
    /// Makes a plan. `draw` supplies random bits for each missing seed.
    ///
    /// # Errors
    /// [`ConfigError`] for a split, a read configuration or operations that are invalid for this dataset.
    pub fn new(
        dataset: &Dataset,
        reading: &Reading,
        draw: &mut dyn FnMut() -> u64,
    ) -> Result<Plan, ConfigError> {
        let config = &reading.config;
        let parts = reading.selection.resolve(dataset)?;
        let files = sorted(file_instructions(&parts, dataset)?, config.sort.as_ref())?;
        if files.is_empty() {
            return Err(ConfigError::refused("split", &SplitRefusal::Empty));
        }
        let own = own_files(&files, config)?;
        let cycle = cycle(dataset, reading)?;
        let mut seeds = Seeds { global: reading.global_seed.map(GlobalSeeds::new), draw, drawn: Vec::new() };
        let shuffle_files = reading.shuffle_files.then(|| Seeding {
            pair: seeds.pair(config.shuffle_seed, || "read_config.shuffle_seed".into()),
            reshuffle: config.shuffle_reshuffle_each_iteration,
        });
        if reading.shuffle_files && own.len() == 1 && dataset.idle_shuffle.is_first() {
            tracing::warn!("shuffle_files changes nothing: there is one file; shuffle the examples instead");
        }
        let ops = reading.ops.iter().enumerate().map(|(i, op)| seeds.op(i, *op)).collect();
        let checks = config.assert_cardinality && config.input_context.is_none() && !config.repeat_filenames;
        let total = files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.take));
        let total = total.ok_or_else(|| ConfigError::refused("split", &SplitRefusal::TooMany))?;
        let drawn = seeds.drawn;
        let spec = StreamSpec {
            files: Vec::new(),
            shuffle_files,
            repeat_files: config.repeat_filenames,
            cycle,
            block: config.interleave_block_length,
            expected: checks.then_some(total),
            ops,
        };
        let mut plan = Plan { files, own, drawn, lazy: config.lazy, spec };
        plan.spec.files = plan.spans(dataset, &|shard| shard.len);
        Ok(plan)
    }

    /// The stream if every shard holds as many records as the dataset declares.
    pub fn spec(&self) -> &StreamSpec {
        &self.spec
    }

    /// The stream of record numbers, at its beginning.
    ///
    /// # Errors
    /// An operation that means nothing.
    pub fn stream(&self) -> Result<Stream, ConfigError> {
        self.stream_of(self.spec.clone())
    }

    /// The stream if shards hold as many records as `len_of` returns.
    ///
    /// # Errors
    /// The errors of [`Plan::stream`].
    pub fn stream_with(
        &self,
        dataset: &Dataset,
        len_of: &dyn Fn(&Shard) -> u64,
    ) -> Result<Stream, ConfigError> {
        self.stream_of(StreamSpec { files: self.spans(dataset, len_of), ..self.spec.clone() })
    }

    fn stream_of(&self, spec: StreamSpec) -> Result<Stream, ConfigError> {
        Stream::new(spec).map_err(|error| ConfigError::refused("ops", &error))
    }

    /// The span that is delivered of each file, for the numbers of records that `len_of` returns. Takes are applied
    /// to all files or to none (spec/tfds.md §8.2).
    fn spans(&self, dataset: &Dataset, len_of: &dyn Fn(&Shard) -> u64) -> Vec<Span> {
        let to_the_end = self.files.iter().all(FileInstruction::reaches_the_end);
        let span = |&place: &usize| {
            let file = &self.files[place];
            let shard = file.shard(dataset);
            let left = len_of(shard).saturating_sub(file.skip);
            Span { first: shard.first + file.skip, len: if to_the_end { left } else { left.min(file.take) } }
        };
        self.own.iter().map(span).collect()
    }
}

fn sorted(plan: Vec<FileInstruction>, sort: Option<&Sort>) -> Result<Vec<FileInstruction>, ConfigError> {
    match sort {
        None => Ok(plan),
        Some(Sort::Reverse) => Ok(plan.into_iter().rev().collect()),
        Some(Sort::List(list)) => {
            let place = |s: &crate::read_config::Sorted| {
                let file = plan.get(s.place).ok_or_else(|| {
                    let refusal = ReadingRefusal::NoPlace { place: s.place, files: plan.len() };
                    ConfigError::refused("read_config.interleave_sort", &refusal)
                })?;
                Ok(FileInstruction { skip: s.skip, take: s.take, ..*file })
            };
            list.iter().map(place).collect()
        }
    }
}

fn own_files(files: &[FileInstruction], config: &ReadConfig) -> Result<Vec<usize>, ConfigError> {
    let Some(context) = config.input_context else { return Ok((0..files.len()).collect()) };
    let n = context.n_pipelines.get();
    if n > 1 && (files.len() as u64) < n {
        let refusal = ReadingRefusal::FewFiles { pipelines: n, files: files.len() };
        return Err(ConfigError::refused("read_config.input_context", &refusal));
    }
    Ok((0..files.len()).filter(|&place| place as u64 % n == context.pipeline).collect())
}

fn cycle(dataset: &Dataset, reading: &Reading) -> Result<NonZeroU64, ConfigError> {
    const SIXTEEN: NonZeroU64 = NonZeroU64::new(16).expect("it is not 0");
    let (given, ordered) = (reading.config.interleave_cycle_length, dataset.info.disable_shuffling);
    let cycle = given.unwrap_or(if ordered { NonZeroU64::MIN } else { SIXTEEN });
    if !ordered {
        return Ok(cycle);
    }
    let broken = [
        (reading.shuffle_files, "shuffle_files"),
        (cycle != NonZeroU64::MIN, "read_config.interleave_cycle_length"),
    ];
    for (_, path) in broken.into_iter().filter(|(is_broken, _)| *is_broken) {
        if reading.config.enable_ordering_guard {
            return Err(ConfigError::refused(path, &ReadingRefusal::LosesOrder));
        }
        tracing::warn!("{path}: the dataset's order means something (`disable_shuffling`) and would be lost");
    }
    Ok(cycle)
}

/// The source of seeds, in the order in which shuffles are made (spec/tfds.md §8.4).
struct Seeds<'a> {
    global: Option<GlobalSeeds>,
    draw: &'a mut dyn FnMut() -> u64,
    drawn: Vec<DrawnSeed>,
}

impl Seeds<'_> {
    fn pair(&mut self, own: Option<i128>, path: impl FnOnce() -> String) -> SeedPair {
        let global = self.global.as_ref().map(GlobalSeeds::seed);
        let seed = match (own, &mut self.global) {
            (Some(seed), _) => seed,
            (None, Some(global)) => global.draw().into(),
            (None, None) => {
                // As many bits as TensorFlow keeps.
                let seed = i128::from((self.draw)() % ((1 << 31) - 1));
                self.drawn.push(DrawnSeed { path: path(), seed });
                seed
            }
        };
        SeedPair::new(seed, global)
    }

    fn op(&mut self, i: usize, op: Op) -> StreamOp {
        match op {
            Op::Shuffle { buffer_size, seed, reshuffle } => {
                let pair = self.pair(seed, || format!("ops[{i}].seed"));
                StreamOp::Shuffle { buffer: buffer_size, seeding: Seeding { pair, reshuffle } }
            }
            Op::Repeat(n) => StreamOp::Repeat(n),
            Op::Skip(n) => StreamOp::Skip(n),
            Op::Take(n) => StreamOp::Take(n),
            Op::Shard { num_shards, index } => StreamOp::Shard { count: num_shards, index },
            Op::Prefetch => StreamOp::Prefetch,
        }
    }
}

impl Op {
    /// Converts the operation for a stream under a global seed. `draw` supplies random bits for a shuffle without a
    /// seed.
    pub fn stream_op(self, global_seed: Option<i128>, draw: &mut dyn FnMut() -> u64) -> StreamOp {
        Seeds { global: global_seed.map(GlobalSeeds::new), draw, drawn: Vec::new() }.op(0, self)
    }

    /// Reads the JSON form: an object with one field, such as `{"take": 5}` or `{"shuffle": {"buffer_size": 8,
    /// "seed": 3}}`.
    ///
    /// # Errors
    /// [`ConfigError`] at `path` for anything else.
    pub fn from_json(value: &Value, path: &str) -> Result<Op, ConfigError> {
        let wrong = |refusal: ReadingRefusal| ConfigError::refused(path, &refusal);
        let entry =
            value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.iter().next());
        let Some((name, value)) = entry else {
            return Err(wrong(ReadingRefusal::NoOperation { found: value.to_string() }));
        };
        let fields = match name.as_str() {
            "shard" => r#"`{"num_shards": 4, "index": 0}`"#,
            _ => r#"`{"buffer_size": 1000, "seed": 1}`"#,
        };
        if ["shard", "shuffle"].contains(&name.as_str()) && !value.is_object() {
            return Err(wrong(ReadingRefusal::NoFields { found: value.to_string(), fields }));
        }
        let whole = |value: &Value| {
            let what = || wrong(ReadingRefusal::WholeNumber { of: name.clone(), found: value.to_string() });
            // `None`, as in `repeat(None)`, is for ever.
            if value.is_null() { Ok(-1) } else { integer(value).ok_or_else(what) }
        };
        let at_least_one = |field: &str| {
            let found = value.get(field).unwrap_or(&Value::Null);
            let what = || {
                let (field, of, found) = (field.to_owned(), name.clone(), found.to_string());
                wrong(ReadingRefusal::AtLeastOne { field, of, found })
            };
            integer(found).and_then(|n| NonZeroU64::new(n.try_into().ok()?)).ok_or_else(what)
        };
        match name.as_str() {
            "repeat" => whole(value).map(Op::Repeat),
            "skip" => whole(value).map(Op::Skip),
            "take" => whole(value).map(Op::Take),
            "shard" => {
                let num_shards = at_least_one("num_shards")?;
                let found = value.get("index").unwrap_or(&Value::Null);
                let index = found.as_u64().filter(|i| *i < num_shards.get()).ok_or_else(|| {
                    let last = num_shards.get() - 1;
                    wrong(ReadingRefusal::ShareIndex { found: found.to_string(), last })
                })?;
                Ok(Op::Shard { num_shards, index })
            }
            "shuffle" => {
                let seed = match value.get("seed") {
                    None | Some(Value::Null) => None,
                    Some(seed) => {
                        let (of, found) = ("seed".to_owned(), seed.to_string());
                        let what = || wrong(ReadingRefusal::WholeNumber { of, found });
                        Some(wide_integer(seed).ok_or_else(what)?)
                    }
                };
                let reshuffle =
                    value.get("reshuffle_each_iteration").and_then(Value::as_bool).unwrap_or(true);
                Ok(Op::Shuffle { buffer_size: at_least_one("buffer_size")?, seed, reshuffle })
            }
            "prefetch" => Ok(Op::Prefetch),
            other => Err(wrong(ReadingRefusal::UnknownOperation { name: other.to_owned() })),
        }
    }
}
