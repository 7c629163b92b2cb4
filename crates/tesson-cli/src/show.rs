//! `tesson show`: sequences by their key.

use serde::ser::{Serialize, SerializeMap, Serializer};
use tesson::{Source, SourceConfig};
use tesson_engine::Shown;
use tesson_report::text::dims;

use crate::args::ShowArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input;
use crate::minibatch_json::{Sample, Streams};
use crate::output::{Output, count, counted};
use crate::progress::Progress;
use crate::terminal::Terminal;

pub(crate) fn run(args: &ShowArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let (config, mut source) = input::open_adjusted(&args.common, extensions, |_| {})?;
    let found = Progress::during("looking", || source.show(&args.key, args.sweep, MOST))?;
    if found.sequences.is_empty() {
        return Err(Failure::Usage(unknown(&args.key, &mut source)?));
    }
    for (number, shown) in (1..).zip(&found.sequences) {
        if out.is_json() {
            json(args, shown, found.occurrences, out)?
        } else {
            text(args, &config, shown, number, found.occurrences, out)?
        }
    }
    let unshown = found.occurrences - found.sequences.len() as u64;
    if unshown > 0 && !out.is_json() {
        out.line(&format!("… and {} more with this key", count(unshown)))?;
    }
    Ok(())
}

/// Sequences of one key that are shown.
const MOST: usize = 10;

fn json(args: &ShowArgs, shown: &Shown, occurrences: u64, out: &mut Output) -> std::io::Result<()> {
    let place = shown.place.as_ref().map(|(file, offset)| (file.display().to_string(), *offset));
    let faults: Vec<String> = shown.faults.iter().map(ToString::to_string).collect();
    let head = serde_json::json!({
        "key": args.key,
        "occurrences": occurrences,
        "chunk": shown.planned.chunk.0,
        "sequence": shown.planned.sequence,
        "file": place.as_ref().map(|(file, _)| file),
        "offset": place.as_ref().map(|(_, offset)| offset),
        "sweep": args.sweep,
        "number": shown.when.map(|(number, _)| number),
        "position": shown.when.map(|(_, position)| position),
        "faults": faults,
    });
    out.json(&Line { head: &head, streams: Streams { minibatch: &shown.minibatch, layout: false } })
}

/// The facts of a sequence and its streams. Streams are written directly, since a tree of JSON would round their
/// values.
struct Line<'a> {
    head: &'a serde_json::Value,
    streams: Streams<'a>,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in self.head.as_object().into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("streams", &self.streams)?;
        map.end()
    }
}

/// Shows a sequence, which is number `number` of the `occurrences` of its key.
fn text(
    args: &ShowArgs,
    config: &SourceConfig,
    shown: &Shown,
    number: u64,
    occurrences: u64,
    out: &mut Output,
) -> std::io::Result<()> {
    let again = match occurrences {
        1 => String::new(),
        n => format!(" ({} of {} sequences with this key)", count(number), count(n)),
    };
    out.pair("key", &format!("{}{again}", args.key))?;
    let mut place = format!("sequence {} of chunk {}", shown.planned.sequence, shown.planned.chunk);
    if let Some((file, offset)) = &shown.place {
        place.push_str(&format!(", {} from byte {offset} on", file.display()));
    }
    out.pair("place", &place)?;
    if let Some((number, position)) = shown.when {
        let (number, position) = (count(number), count(position));
        out.pair("comes", &format!("number {number} of sweep {}, at sample {position}", args.sweep))?;
    }
    for fault in &shown.faults {
        out.pair("fault", &fault.to_string())?;
    }
    let terminal = Terminal::of(args.pictures, out);
    for batch in shown.minibatch.streams() {
        let form = if batch.info().sparse { "sparse" } else { "dense" };
        out.pair(
            &batch.info().name,
            &format!(
                "{}, {form} {}",
                counted(batch.n_samples() as u64, "sample"),
                dims(batch.info().shape.dims())
            ),
        )?;
        for sample in 0..batch.n_samples() {
            match terminal {
                Some(terminal) => {
                    let lines = terminal.sample(batch, sample, config);
                    lines.iter().try_for_each(|line| out.below(line))?;
                }
                None => out.below(&serde_json::to_string(&Sample { batch, sample })?)?,
            }
        }
    }
    Ok(())
}

/// The message for an unknown key, with one that exists.
fn unknown(key: &str, source: &mut Source) -> Result<String, Failure> {
    let n = source.num_sequences()?;
    let what = format!("--key {key}: there is no sequence with this key among {}", count(n));
    let first =
        source.next_minibatch(1)?.and_then(|m| (m.n_sequences() > 0).then(|| m.keys().get(0).to_string()));
    Ok(first.map_or(what.clone(), |first| format!("{what}; one is `{first}`")))
}
