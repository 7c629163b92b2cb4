//! `tesson info`: the contents of a dataset.

use std::sync::Arc;

use serde_json::{Value, json};
use tesson::{Demand, Key, Source, StreamInfo};
use tesson_core::{Index, LeftOut};
use tesson_plan::{JoinReport, Limit, PartReport};
use tesson_report::text::dims;
use tesson_report::{Lengths, Padding, Paddings};

use crate::args::InfoArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::label_counts::LabelCounts;
use crate::output::{Output, count, counted, size};
use crate::{calls, input, report};

pub(crate) fn run(args: &InfoArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let common = &args.common;
    let (config, mut source) = input::open_adjusted(common, extensions, |config| {
        input::size_buckets(config, &args.common.order, args.minibatch_size);
        config.minibatches.limit = Limit::Sweeps(1);
    })?;
    let (index, memory) = {
        let indexed = input::while_working(&mut source, "indexing", |source| source.indexed().cloned())?;
        (indexed.index.clone(), (indexed.index.bytes() + indexed.corpus.facts().memory) as u64)
    };
    let lengths = Lengths::of(&index);
    let minibatch_size = input::first_size(args.minibatch_size, &config);
    let padding = Paddings::of(&mut source, &index, minibatch_size)?;
    let join = source.join_report()?.cloned();
    let left_out = source.left_out()?;
    let labels = LabelCounts::of(&config)?;
    let input = &common.input;
    let streams = source.streams().iter().map(|stream| &**stream);
    let how = How {
        what: calls::what(input.kind, &input.input),
        python: calls::in_python(input.kind, &input.input, streams, lengths.max, None),
        command: calls::by_command(input.kind, &input.input, &input.streams),
    };
    let info = Info { index: &index, memory, left_out, join, labels, lengths, padding, how };
    out.answer(&info.json(&source), &info.pairs(&source))?;
    if args.stats {
        drop(source);
        report::stats(common, args.minibatch_size, extensions, out)?;
    }
    Ok(())
}

/// The kind of the input, and the calls that read it.
struct How {
    what: &'static str,
    /// The call of Python that describes it.
    python: String,
    /// The command that prints its batches.
    command: String,
}

struct Info<'a> {
    index: &'a Index,
    /// Bytes of memory that the index takes.
    memory: u64,
    /// The sequences that each deserializer leaves out.
    left_out: Vec<Vec<LeftOut>>,
    /// The sequences that could not be joined, if there are several deserializers.
    join: Option<JoinReport>,
    labels: Option<LabelCounts>,
    lengths: Lengths,
    padding: Paddings,
    how: How,
}

impl Info<'_> {
    fn pairs(&self, source: &Source) -> Vec<(&'static str, String)> {
        let mut pairs: Vec<(&str, String)> = source.streams().iter().map(|s| ("", describe(s))).collect();
        pairs[0].0 = "streams";
        pairs.insert(0, ("input", self.how.what.to_owned()));
        let named = source.streams().iter().filter(|s| !s.classes.is_empty());
        pairs.extend(named.map(|s| ("classes", format!("of {}: {}", s.name, class_names(&s.classes)))));
        let speech = self.speech(source);
        let mut head = "left out";
        for (i, left_out) in self.left_out.iter().enumerate() {
            for LeftOut { reason, n, first } in left_out {
                let sequences = counted(*n, "sequence");
                let text = format!("{sequences} {reason} in deserializer {i}{}", some(first));
                pairs.push((std::mem::take(&mut head), text));
            }
        }
        let mut head = "missing";
        for (i, part) in (1..).zip(self.join.iter().flat_map(|join| &join.parts)) {
            let of = |n: u64, what: &str, first: &[Key]| {
                format!("{}{what} in deserializer {i}{}", counted(n, "key"), some(first))
            };
            pairs.push((std::mem::take(&mut head), of(part.missing, "", &part.first_missing)));
            if let Some((key, _)) = &part.first_short {
                let short = counted(part.short, "utterance");
                let first = some(std::slice::from_ref(key));
                pairs.push(("", format!("{short} with too few frames in deserializer {i}{first}")));
            }
            if let Some((key, [here, first])) = part.first_unequal.as_ref().filter(|_| speech.is_some()) {
                let unequal = counted(part.unequal, "utterance");
                let of = format!("first `{key}` with {here} for {first}");
                pairs.push(("", format!("{unequal} of another length in deserializer {i}, {of}")));
            }
            if part.repeated > 0 {
                pairs.push(("", of(part.repeated, " repeated", &part.first_repeated)));
            }
        }
        let index = self.index;
        let Lengths { min, max, mean, .. } = self.lengths;
        let Paddings { without, with, .. } = &self.padding;
        let shares = |padding: &Padding| {
            let (padded, packed) = (100.0 * padding.padded, 100.0 * padding.packed);
            format!("{padded:.1} % of {}, {packed:.1} % with sequences side by side", size_of(&self.padding))
        };
        let longest = counted(max.into(), "sample");
        let lengths = if min == max {
            format!("{longest} each")
        } else {
            format!("{min} to {longest}, {mean:.1} on average")
        };
        let stored = bytes(index).map_or(String::new(), |bytes| format!("{} in storage, ", size(bytes)));
        if let Some(Speech { hours, period_ms }) = speech {
            let frames = count(index.n_samples());
            let utterances = if max == 1 {
                String::new()
            } else {
                format!(" in {}", counted(index.n_sequences(), "utterance"))
            };
            pairs
                .push(("speech", format!("{hours:.2} hours, {frames} frames of {period_ms} ms{utterances}")));
        }
        pairs.extend(self.labels.iter().map(|labels| ("labels", labels.text())));
        pairs.extend([
            ("chunks", count(index.n_chunks() as u64)),
            ("sequences", count(index.n_sequences())),
            ("samples", format!("{} a sweep", count(index.n_samples()))),
            ("lengths", lengths),
            ("bytes", format!("{stored}{} of index in memory", size(self.memory))),
        ]);
        // Sequences of one length are never padded.
        if min != max {
            pairs.push(("padding", shares(without)));
        }
        if let Some((_, padding)) = with.as_ref().filter(|_| min != max) {
            let saved = 100.0 * (without.padded - padding.padded);
            let saves = if self.padding.is_on { "saves" } else { "would save" };
            pairs.push(("in buckets", format!("{}; `bucketing` {saves} {saved:.1} %", shares(padding))));
        }
        pairs.push(("in Python", self.how.python.clone()));
        pairs.push(("command", self.how.command.clone()));
        pairs
    }

    fn json(&self, source: &Source) -> Value {
        let stream = |s: &Arc<StreamInfo>| {
            let mut stream = json!({"name": s.name, "shape": s.shape.dims(), "dtype": s.element.name(), "sparse": s.sparse});
            if s.any_length {
                stream["ragged"] = true.into();
            }
            if !s.classes.is_empty() {
                stream["classes"] = json!(s.classes.to_vec());
            }
            if let Some(unit) = &s.unit {
                stream["unit"] = json!(&**unit);
            }
            stream
        };
        let keys = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>();
        let part = |part: &PartReport| {
            json!({
                "missing": part.missing, "firstMissing": keys(&part.first_missing),
                "short": part.short, "unequal": part.unequal,
                "repeated": part.repeated, "firstRepeated": keys(&part.first_repeated),
            })
        };
        let left_out =
            |of: &LeftOut| json!({"reason": of.reason, "sequences": of.n, "first": keys(&of.first)});
        let left_out = |part: &Vec<LeftOut>| part.iter().map(left_out).collect::<Vec<_>>();
        let join = self.join.as_ref().map(|join| {
            let parts: Vec<Value> = join.parts.iter().map(part).collect();
            json!({"sequences": join.sequences, "joined": join.joined, "parts": parts})
        });
        let mut info = json!({
            "streams": source.streams().iter().map(stream).collect::<Vec<_>>(),
            "leftOut": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
            "join": join,
            "chunks": self.index.n_chunks(),
            "sequences": self.index.n_sequences(),
            "samples": self.index.n_samples(),
            "lengths": {"min": self.lengths.min, "mean": self.lengths.mean, "max": self.lengths.max},
            "bytes": bytes(self.index),
            "indexBytes": self.memory,
            "padding": padding_json(&self.padding),
            "python": self.how.python,
            "command": self.how.command,
        });
        if let Some(labels) = &self.labels {
            info["labels"] = labels.json();
        }
        if let Some(speech) = self.speech(source) {
            info["hours"] = json!(speech.hours);
        }
        info
    }

    /// The length of the recordings, if samples are frames of some.
    fn speech(&self, source: &Source) -> Option<Speech> {
        let period_ms = f64::from(source.frame_period()?) / 1e4;
        Some(Speech { hours: self.index.n_samples() as f64 * period_ms / 3.6e6, period_ms })
    }
}

/// Recordings of a sweep.
struct Speech {
    hours: f64,
    /// The time from one frame to the next.
    period_ms: f64,
}

/// The first few of some keys, for a line of text.
fn some(keys: &[Key]) -> String {
    let named: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    if named.is_empty() { String::new() } else { format!(", first {}", named.join(", ")) }
}

/// Names of classes that a line of text lists.
const CLASSES_LISTED: usize = 20;

/// The first names of classes, each with its number.
fn class_names(names: &[String]) -> String {
    let mut listed: Vec<String> = names
        .iter()
        .take(CLASSES_LISTED)
        .enumerate()
        .map(|(number, name)| format!("{number} {name}"))
        .collect();
    if names.len() > CLASSES_LISTED {
        listed.push(format!("… {} {}", names.len() - 1, names[names.len() - 1]));
    }
    listed.join(", ")
}

fn describe(stream: &StreamInfo) -> String {
    let form = match stream {
        StreamInfo { any_length: true, sparse: false, .. } => "ragged",
        StreamInfo { any_length: true, .. } => "ragged sparse",
        StreamInfo { sparse: true, .. } => "sparse",
        _ => "dense",
    };
    let unit = stream.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
    format!("{} {form} {} {}{unit}", stream.name, dims(stream.shape.dims()), stream.element.name())
}

/// The size of the data in storage, if it is known.
fn bytes(index: &Index) -> Option<u64> {
    (!index.assumes_bytes()).then(|| index.chunk_ids().map(|c| index.chunk(c).bytes).sum())
}

/// The size of minibatches in words.
fn size_of(padding: &Paddings) -> String {
    let samples = counted(padding.samples, "sample");
    match padding.sequences {
        None => format!("minibatches of {samples}"),
        Some(n) if padding.samples == Demand::ANY_SAMPLES => {
            format!("minibatches of {}", counted(n, "sequence"))
        }
        Some(n) => format!("minibatches of {samples}, in {}", counted(n, "sequence")),
    }
}

fn padding_json(padding: &Paddings) -> Value {
    let shares = |p: &Padding| json!({"padded": p.padded, "packed": p.packed});
    let now = padding.with.as_ref().filter(|_| padding.is_on).map_or(&padding.without, |(_, with)| with);
    let mut answer = shares(now);
    answer["minibatchSize"] = padding.samples.into();
    answer["withoutBucketing"] = shares(&padding.without);
    if let Some((samples, with)) = &padding.with {
        answer["withBucketing"] = shares(with);
        answer["withBucketing"]["bucketing"] = (*samples).into();
    }
    answer
}
