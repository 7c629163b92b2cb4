//! Collecting the figures of a report: a sample of the data, every fault where that is cheap, and the plan.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tesson::config::{Randomize, Value};
use tesson::store::{Store, Stores};
use tesson::{Demand, Error, Minibatch, OpenOptions, Purpose, Source, SourceConfig};
use tesson_core::{Index, Indexed, ResourceId};
use tesson_engine::{RunCalls, Severity};
use tesson_plan::{Limit, StepSizes};

use crate::certificate::certificate;
use crate::classes::class_name;
use crate::faults::{self, Faults};
use crate::figures::{Card, FileFigures, REPORT_VERSION, Report};
use crate::gallery::example;
use crate::lengths::{Lengths, Paddings};
use crate::order::{self, Grouping, KnownClasses};
use crate::picture::is_blue_first;
use crate::reading::{self, Reading};
use crate::tally::StreamTally;
use crate::ticking::ticking;

/// Values that a sample has, about, and the most and the fewest examples.
const SAMPLED_VALUES: u64 = 40_000_000;
const MOST_EXAMPLES: u64 = 20_000;
const FEWEST_EXAMPLES: u64 = 96;

/// Examples that are read at once, and how often before the next place of the data.
const AT_ONCE: u64 = 32;
const BATCHES_AT_A_PLACE: u64 = 2;

/// Examples of the gallery.
const SHOWN: u64 = 18;

/// Files that the card lists.
const FILES: usize = 20;

/// Data in storage that are decoded as a whole to find every fault.
const CHECKED_BYTES: u64 = 64 << 20;

/// The request for a report, beside the configuration.
pub struct Request<'a> {
    /// The input as it was given.
    pub input: String,
    /// Its kind in words.
    pub kind: String,
    /// The command that makes the report.
    pub command: String,
    /// The command that checks the certificate, up to the digest.
    pub certificate_command: String,
    /// The call of Python that reads the input; empty if unknown.
    pub python: String,
    /// Samples of a minibatch, over all ranks.
    pub samples: u64,
    /// Number of ranks; 1 if none is given.
    pub workers: u64,
    /// True if every example is looked at.
    pub all: bool,
    /// True to measure the speed of reading, which no other figure depends on.
    pub measures: bool,
    /// Asked again and again: true ends the report with what has been seen.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Told what is under way.
    pub progress: &'a (dyn Fn(&Stage<'_>) + Sync),
}

/// A part of making a report that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The part, such as `indexing`.
    pub what: &'a str,
    /// How much is done.
    pub done: u64,
    /// Of how much; 0 where that is unknown.
    pub total: u64,
    /// The unit that it is counted in.
    pub unit: Unit,
}

/// The unit of the progress of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of the data.
    Bytes,
    /// Examples.
    Examples,
    /// Parts of about the same work.
    Parts,
}

impl<'a> Stage<'a> {
    /// A part of which nothing is counted.
    fn begun(what: &'a str) -> Stage<'a> {
        Stage { what, done: 0, total: 0, unit: Unit::Parts }
    }
}

/// Collects the figures of a report. What fails or is interrupted on the way is missing, and [`Report::unfinished`] says why.
///
/// # Errors
/// Options that cannot be opened, and unreadable storage, where nothing can be said of the data.
pub fn collect(config: &SourceConfig, options: &OpenOptions, request: &Request<'_>) -> Result<Report, Error> {
    let (stored, budget) = as_stored(config);
    let mut report = Report {
        report_version: REPORT_VERSION,
        tesson: env!("CARGO_PKG_VERSION").to_owned(),
        card: Card {
            input: request.input.clone(),
            kind: request.kind.clone(),
            command: request.command.clone(),
            python: request.python.clone(),
            ..Card::default()
        },
        ..Report::default()
    };
    match sections(config, &stored, budget, options, request, &mut report) {
        Ok(()) => {}
        Err(Error::Cancelled) => {
            report.unfinished = Some("interrupted: this is what had been seen".to_owned());
        }
        Err(Error::Data(error)) => {
            report.unfinished = Some("the data cannot be read to their end: see the faults".to_owned());
            let faults = report.faults.get_or_insert_with(|| Faults { budget, ..Faults::default() });
            if !faults.is_complete {
                faults.push(&error, Severity::Fatal);
                (faults.faults, faults.fatal) = (faults.faults + 1, faults.fatal + 1);
                faults.judge();
            }
        }
        // Where nothing is known yet there is nothing to report.
        Err(other) if report.card.examples == 0 => return Err(other),
        Err(other) => report.unfinished = Some(tesson::errors::with_remedy(&other)),
    }
    Ok(report)
}

/// Fills in one section after the other, the cheap ones first.
fn sections(
    config: &SourceConfig,
    stored: &SourceConfig,
    budget: u64,
    options: &OpenOptions,
    request: &Request<'_>,
    report: &mut Report,
) -> Result<(), Error> {
    let mut source = open(options, Purpose::Minibatches, stored)?;
    report.streams =
        source.streams().iter().map(|info| StreamTally::new(info).end(&BTreeMap::new())).collect();
    card_of_files(&source, &mut report.card);
    let total = report.card.stored_bytes();
    let indexed =
        attended(&mut source, request, Some(("indexing", total)), |source| source.indexed().cloned());
    let indexed = match indexed {
        Err(Error::Data(error)) => {
            // The check goes on where reading stops.
            check(stored, options, request, budget, report)?;
            return Err(Error::Data(error));
        }
        other => other?,
    };
    let index = indexed.index.clone();
    card(&mut source, &index, &mut report.card)?;
    report.lengths = Some(Lengths::of(&index));
    let known = attended(&mut source, request, None, |source| {
        sample(source, stored, &indexed, budget, request, report)
    })?;
    let is_small = report.card.bytes.is_some_and(|bytes| bytes <= CHECKED_BYTES);
    if request.all || is_small || report.card.sampled >= report.card.examples {
        check(stored, options, request, budget, report)?;
    }
    drop(source);
    let mut one_sweep = config.clone();
    one_sweep.minibatches.limit = Limit::Sweeps(1);
    let mut source = open(options, Purpose::Minibatches, &one_sweep)?;
    let samples = request.samples;
    attended(&mut source, request, None, |source| {
        let mut planned = 0;
        let mut next_part = || {
            let (what, done, total) = ("planning", planned, 2 + order::parts(request.workers));
            (request.progress)(&Stage { what, done, total, unit: Unit::Parts });
            planned += 1;
        };
        next_part();
        report.padding = Some(Paddings::of(source, &index, samples)?);
        let grouping = Grouping::of(config);
        let workers = request.workers;
        report.order =
            Some(order::figures(source, &index, samples, workers, known, &grouping, &mut next_part)?);
        next_part();
        report.certificate = Some(certificate(source, config, request.certificate_command.clone())?);
        if let Some(certificate) = &mut report.certificate {
            certificate.command = format!("{} {}", request.certificate_command, certificate.digest);
        }
        Ok(())
    })?;
    if request.measures {
        (request.progress)(&Stage::begun("measuring"));
        let bytes = report.card.bytes;
        let demand = Demand { samples, workers: 1, rank: 0 };
        let interrupted = request.interrupted;
        let measure = |source: &mut Source| reading::measure(source, config, demand, bytes, interrupted);
        report.reading = match attended(&mut source, request, None, measure) {
            // What the run itself would say: a result, and no defect of the report.
            Err(Error::Data(error)) => {
                let verdict = format!("Reading stops: {}.", tesson::errors::with_remedy(&error.into()));
                Some(Reading { verdict, ..Reading::default() })
            }
            read => Some(read?),
        };
    }
    Ok(())
}

/// A configuration of the data in stored order, in small minibatches, every fault forgiven that can be; and how many the configuration
/// forgives.
fn as_stored(config: &SourceConfig) -> (SourceConfig, u64) {
    let mut stored = config.clone();
    stored.order.randomize = Randomize::Off;
    (stored.order.bucketing, stored.order.equal_steps) = (None, None);
    stored.truncation.is_on = false;
    stored.minibatches.limit = Limit::Sweeps(1);
    stored.minibatches.size_in_sequences = Some(AT_ONCE);
    (stored.minibatches.cross_sweep_ends, stored.minibatches.epoch_size) = (false, None);
    stored.faults.report = None;
    let mut budget = config.faults.max_errors;
    stored.faults.max_errors = u64::MAX;
    for deserializer in &mut stored.deserializers {
        if deserializer.format.options.find("maxErrors").is_none() {
            continue;
        }
        let is_budget = |name: &str| name.eq_ignore_ascii_case("maxErrors");
        let own = deserializer.options.0.iter().find(|(name, _)| is_budget(name.as_str()));
        if let Some((_, Value::Whole(n))) = own {
            budget = budget.max(u64::try_from(*n).unwrap_or(u64::MAX));
        }
        deserializer.options.0.retain(|(name, _)| !is_budget(name.as_str()));
        deserializer.options.push("maxErrors", Value::Whole(u64::MAX.into()));
    }
    (stored, budget)
}

fn open(options: &OpenOptions, purpose: Purpose, config: &SourceConfig) -> Result<Source, Error> {
    // A canceller ends its sources for good; each has one of its own.
    let canceller = tesson::Canceller::default();
    OpenOptions { purpose, canceller, ..options.clone() }.open(config)
}

/// Reads from a source by `act`, and cancels that when the report is interrupted. `works` is the name of a stage and its number of bytes, which
/// the report shows as progress.
fn attended<T>(
    source: &mut Source,
    request: &Request<'_>,
    works: Option<(&str, u64)>,
    act: impl FnOnce(&mut Source) -> Result<T, Error>,
) -> Result<T, Error> {
    let canceller = source.canceller();
    let stats = source.stats_reader();
    let before = stats.read().bytes_indexed;
    let tick = || {
        if (request.interrupted)() {
            canceller.cancel();
        } else if let Some((what, total)) = works {
            // Several passes, or bytes that are unpacked, may be more than there are.
            let done = (stats.read().bytes_indexed - before).min(total);
            (request.progress)(&Stage { what, done, total, unit: Unit::Bytes });
        }
    };
    // Without a thread that looks on the call ends by itself, later.
    let done = ticking(Duration::from_millis(40), tick, || act(source));
    if (request.interrupted)() { Err(Error::Cancelled) } else { done }
}

fn card_of_files(source: &Source, card: &mut Card) {
    let stores = Stores::local();
    card.n_files = source.files().count() as u64;
    card.files = source
        .files()
        .take(FILES)
        .map(|path| FileFigures {
            name: path.display().to_string(),
            bytes: stores.entry(path).ok().filter(|entry| !entry.is_folder()).map(|entry| entry.size),
        })
        .collect();
}

fn card(source: &mut Source, index: &Index, card: &mut Card) -> Result<(), Error> {
    card.chunks = index.n_chunks() as u64;
    (card.examples, card.samples) = (index.n_sequences(), index.n_samples());
    let bytes = || index.chunk_ids().map(|chunk| index.chunk(chunk).bytes).sum();
    card.bytes = (!index.assumes_bytes()).then(bytes);
    if let Some(fingerprint) = source.state().fingerprint.as_deref() {
        card.corpus = format!("{:016x}", fingerprint.corpus);
        card.options = format!("{:016x}", fingerprint.options);
    }
    Ok(())
}

fn check(
    stored: &SourceConfig,
    options: &OpenOptions,
    request: &Request<'_>,
    budget: u64,
    report: &mut Report,
) -> Result<(), Error> {
    let mut source = open(options, Purpose::Check, stored)?;
    let bytes = report.card.stored_bytes();
    // What stops it here is found again by the check, and counted.
    let _ = attended(&mut source, request, Some(("indexing", bytes)), |source| source.indexed().map(drop));
    let works = Some(("checking", bytes));
    let mut faults = attended(&mut source, request, works, |source| faults::check(source, budget))?;
    faults.judge();
    report.faults = Some(faults);
    Ok(())
}

/// The steps at which a sample is read, from the first of each run up to its end: all, or some places evenly spaced over the
/// data.
fn steps(n_steps: u64, wanted: u64) -> Vec<(u64, u64)> {
    if wanted >= n_steps {
        return vec![(0, n_steps)];
    }
    let places = wanted.div_ceil(BATCHES_AT_A_PLACE).max(1);
    let place = |i: u64| {
        let first = (u128::from(i) * u128::from(n_steps) / u128::from(places)) as u64;
        (first, (first + BATCHES_AT_A_PLACE).min(n_steps))
    };
    (0..places).map(place).collect()
}

/// Everything that a sample is counted into.
struct Sampling<'a> {
    tallies: Vec<StreamTally>,
    indexed: &'a Indexed,
    file_names: BTreeMap<u32, String>,
    /// Number and class of each example, by the stream that has classes.
    classes: HashMap<usize, HashMap<u64, i64>>,
    sampled: u64,
    /// Streams of images whose colours come in the order of OpenCV.
    blue_first: Vec<String>,
}

/// Reads a sample, and counts it. Returns the classes of its examples.
fn sample(
    source: &mut Source,
    config: &SourceConfig,
    indexed: &Indexed,
    budget: u64,
    request: &Request<'_>,
    report: &mut Report,
) -> Result<Option<KnownClasses>, Error> {
    let streams = source.streams().to_vec();
    let n = indexed.index.n_sequences();
    let names: Vec<String> = source.files().map(|path| path.display().to_string()).collect();
    let mut sampling = Sampling {
        tallies: streams.iter().map(|info| StreamTally::new(info)).collect(),
        indexed,
        file_names: BTreeMap::new(),
        classes: HashMap::new(),
        sampled: 0,
        blue_first: streams
            .iter()
            .map(|info| info.name.clone())
            .filter(|stream| is_blue_first(config, stream))
            .collect(),
    };
    let faults = RefCell::new(Faults { budget, ..Faults::default() });
    let read = read_sample(source, n, request, report, &mut sampling, &faults, &names);
    let mut faults = faults.into_inner();
    faults.faults += source.stats().faults;
    faults.judge();
    // Where nothing was looked at, nothing is known of faults.
    report.faults = (sampling.sampled > 0 || faults.faults > 0).then_some(faults);
    report.card.sampled = sampling.sampled;
    let with_classes = (0..streams.len()).find(|stream| {
        sampling
            .classes
            .get(stream)
            .is_some_and(|of| of.values().any(|class| Some(class) != of.values().next()))
    });
    let Sampling { tallies, file_names, mut classes, .. } = sampling;
    report.streams = tallies.into_iter().map(|tally| tally.end(&file_names)).collect();
    read?;
    Ok(with_classes.filter(|&stream| report.streams[stream].classes.is_some()).and_then(|stream| {
        let of = classes.remove(&stream)?;
        let names = of.values().map(|&class| (class, class_name(&streams[stream], class))).collect();
        Some(KnownClasses { stream: streams[stream].name.clone(), names, of })
    }))
}

fn read_sample(
    source: &mut Source,
    n: u64,
    request: &Request<'_>,
    report: &mut Report,
    sampling: &mut Sampling<'_>,
    faults: &RefCell<Faults>,
    names: &[String],
) -> Result<(), Error> {
    let demand = Demand { samples: Demand::ANY_SAMPLES, workers: 1, rank: 0 };
    let calls = RunCalls { sizes: StepSizes::Constant(demand.samples), workers: 1, rank: Some(0) };
    let n_steps = n.div_ceil(AT_ONCE);
    let mut wanted = if request.all { n } else { n.min(FEWEST_EXAMPLES) };
    // The first minibatch says how large examples are.
    if !request.all
        && let Ok(Some(first)) = source.next(demand)
    {
        let values: usize = first.streams().iter().map(|stream| stream.samples().values().len()).sum();
        let of_each = (values as u64 / first.n_sequences().max(1) as u64).max(1);
        wanted = n.min((SAMPLED_VALUES / of_each).clamp(FEWEST_EXAMPLES, MOST_EXAMPLES));
    }
    let stride = wanted.div_ceil(SHOWN).max(1);
    let mut next_shown = 0;
    for (first, end) in steps(n_steps, wanted.div_ceil(AT_ONCE)) {
        source.skip_to(first, calls)?;
        for step in first..end {
            if (request.interrupted)() {
                return Err(Error::Cancelled);
            }
            let minibatch = match source.next(demand) {
                Ok(Some(minibatch)) => minibatch,
                Ok(None) => break,
                Err(Error::Data(error)) => {
                    let mut faults = faults.borrow_mut();
                    faults.push(&error, Severity::Fatal);
                    (faults.faults, faults.fatal) = (faults.faults + 1, faults.fatal + 1);
                    // What comes after it in these examples is not delivered either.
                    source.skip_failed();
                    continue;
                }
                Err(other) => return Err(other),
            };
            while next_shown < sampling.sampled + minibatch.n_sequences() as u64 {
                let sequence = (next_shown - sampling.sampled) as usize;
                report.examples.push(example(&minibatch, sequence, &sampling.blue_first));
                next_shown += stride;
            }
            sampling.add(&minibatch, step * AT_ONCE, n, names);
            let (done, total) = (sampling.sampled, wanted);
            (request.progress)(&Stage { what: "reading a sample", done, total, unit: Unit::Examples });
        }
    }
    Ok(())
}

impl Sampling<'_> {
    /// Counts a minibatch whose first example has this number, if none is left out.
    fn add(&mut self, minibatch: &Minibatch, first: u64, n: u64, names: &[String]) {
        let n_sequences = minibatch.n_sequences();
        let key_of = |sequence: usize| minibatch.keys().get(sequence).to_string();
        // Numbers are known where nothing was left out.
        let is_whole = n_sequences as u64 == AT_ONCE.min(n - first);
        let files: Vec<Option<u32>> = (0..n_sequences as u64)
            .map(|i| {
                let (file, _) = self.indexed.corpus.span(self.indexed.index.sequence((first + i).min(n - 1)));
                (is_whole && file != ResourceId::NONE && names.len() > 1).then_some(file.0)
            })
            .collect();
        for file in files.iter().flatten() {
            if let Some(name) = names.get(*file as usize) {
                self.file_names.entry(*file).or_insert_with(|| name.clone());
            }
        }
        for (stream, (batch, tally)) in minibatch.streams().iter().zip(&mut self.tallies).enumerate() {
            tally.add(batch, &key_of, &|sequence| files.get(sequence).copied().flatten());
            if is_whole && let Some(classes) = tally.classes_of(batch) {
                let of = self.classes.entry(stream).or_default();
                of.extend((first..).zip(classes));
            }
        }
        self.sampled += n_sequences as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_data() {
        assert_eq!(steps(10, 10), [(0, 10)]);
        assert_eq!(steps(100, 4), [(0, 2), (50, 52)]);
        assert_eq!(steps(3, 1), [(0, 2)]);
        assert_eq!(steps(0, 3), [(0, 0)]);
    }
}
