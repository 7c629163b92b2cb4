//! `tesson read` on a prepared dataset: its examples, in the order of TFDS.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tesson::Error;
use tesson_prepared::{ExampleBatch, Reader, ReaderLimits, Restoring};
use tesson_tfds::features::{Schema, Selection, node};

use super::open;
use crate::args::{Common, ReadArgs, WorkerArgs};
use crate::data;
use crate::failure::Failure;
use crate::input::memory_limit;
use crate::output::{JsonList, Output, counted};
use crate::{restoring, state_file};

/// Examples that are read at once, which are also a minibatch of several workers by default.
const AT_ONCE: u64 = 64;

/// Characters of an example that people are shown.
const SHOWN: usize = 200;

pub(crate) fn run(args: &ReadArgs, out: &mut Output) -> Result<(), Failure> {
    args.save_state.as_deref().map_or(Ok(()), |path| state_file::check(path, "--save-state"))?;
    let mut reader = reader(args)?;
    if let Some(path) = &args.state {
        let how = Restoring { force: args.force, interrupted: &mut || false };
        let saved = state_file::load(path, "--state ", |json| {
            let of_source = "it is the state of minibatches, not of a prepared dataset";
            match (json["tfds"].is_null(), json["sweep"].is_null()) {
                (false, _) => Ok(json),
                (true, false) => Err(of_source.to_owned()),
                (true, true) => Err("`tfds` is missing".to_owned()),
            }
        })?;
        let place = saved["stream"]["delivered"].as_u64().unwrap_or(0);
        restoring::passing(place, reader.passed(), || reader.restore_json_with(&saved, how))
            .map_err(|e| Failure::of_state(path, e.into()))?;
    }
    if let Some((epoch, place)) = args.start_at {
        restoring::passing(place, reader.passed(), || reader.seek(Some(epoch), place))?;
    }
    let endless = reader.traversal_len().is_none() && args.common.dataset.at.is_none();
    if endless && args.common.order.take.is_none() {
        return Err(Failure::Usage(
            "the order has no end; say with --take how many examples are wanted".into(),
        ));
    }
    let with_ids = args.common.dataset.config()?.add_tfds_id;
    let begun = Instant::now();
    let read = match &args.common.dataset.at {
        Some(places) => at(&mut reader, places, with_ids, out),
        None => traversals(args, &mut reader, with_ids, out),
    };
    // After an error too: the state is that after the last example.
    if let Some(path) = &args.save_state {
        let state = reader.state();
        let saved =
            if args.include_buffers { reader.to_json_with_buffers(&state)? } else { reader.to_json(&state) };
        state_file::save(path, &saved)?;
    }
    let n = read?;
    if !out.is_json() {
        let seconds = begun.elapsed().as_secs_f64();
        let rate = counted((n as f64 / seconds.max(1e-9)) as u64, "example");
        out.line(&format!("\n{} in {seconds:.3} s: {rate}/s", counted(n, "example")))?;
        if reader.skipped() > 0 {
            out.line(&format!("{} left out", counted(reader.skipped(), "damaged record")))?;
        }
    }
    Ok(())
}

fn reader(args: &ReadArgs) -> Result<Reader, Failure> {
    let Common { input, dataset: options, .. } = &args.common;
    let dataset = Arc::new(open(&args.common)?);
    let plan = options.plan(&dataset)?;
    let features = tesson_prepared::features_of(&data::stores(), &dataset)?;
    let schema = Arc::new(Schema::new(&features, &Selection::default())?);
    let threads = input.threads.map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let limits = ReaderLimits { threads, memory_limit: memory_limit(input)? };
    Ok(Reader::with(&data::stores(), dataset, plan, schema, options.on_damage(), limits)?)
}

/// The examples at positions of the split.
fn at(reader: &mut Reader, places: &str, with_ids: bool, out: &mut Output) -> Result<u64, Failure> {
    let number = |text: &str| {
        let wrong =
            || format!("--at: found `{text}`, expected positions in the split such as `3,0,2`, or `all`");
        text.trim().parse().map_err(|_| Failure::Usage(wrong()))
    };
    let places: Vec<u64> = match places {
        "all" => (0..reader.split_len()).collect(),
        list => list.split(',').map(number).collect::<Result<_, _>>()?,
    };
    let mut rows = ExampleBatch::new(reader.schema());
    let mut shown = Shown::begin(with_ids, out)?;
    let mut read = Ok(());
    for chunk in places.chunks(AT_ONCE as usize) {
        rows.clear();
        read = reader.read_at(chunk, &mut rows);
        shown.add(reader, &rows, out)?;
        if read.is_err() {
            break;
        }
    }
    shown.end(out)?;
    read?;
    Ok(places.len() as u64)
}

/// Appends the next examples; of several workers this one's part of a minibatch that all of them get
/// (spec/tfds.md §12.5). Returns how many examples all workers get.
fn read_share(
    worker: WorkerArgs,
    reader: &mut Reader,
    wanted: u64,
    rows: &mut ExampleBatch,
) -> Result<u64, Error> {
    if worker.workers.n == 1 {
        reader.read(wanted as usize, rows)?;
        return Ok(rows.len() as u64);
    }
    Ok(reader.read_share(wanted as usize, worker.workers.n as usize, worker.rank() as usize, rows)? as u64)
}

/// One traversal after the other; each is the next pass of every shuffle in it.
fn traversals(
    args: &ReadArgs,
    reader: &mut Reader,
    with_ids: bool,
    out: &mut Output,
) -> Result<u64, Failure> {
    let examples = |epoch| args.minibatch_size.as_ref().map_or(AT_ONCE, |sizes| sizes.at(epoch));
    let mut rows = ExampleBatch::new(reader.schema());
    let mut n = 0;
    for epoch in 0..args.epochs.or(args.common.order.sweeps).unwrap_or(1) {
        if epoch > 0 {
            reader.begin();
        }
        let mut left = args.common.order.take.unwrap_or(u64::MAX);
        let mut shown = Shown::begin(with_ids, out)?;
        let read = loop {
            rows.clear();
            let wanted = left.min(examples(epoch));
            let read = read_share(args.common.worker, reader, wanted, &mut rows);
            shown.add(reader, &rows, out)?;
            n += rows.len() as u64;
            let given = match read {
                Ok(given) => given,
                Err(error) => break Err(error),
            };
            left -= given;
            if left == 0 || given < wanted {
                break Ok(());
            }
        };
        shown.end(out)?;
        read?;
    }
    Ok(n)
}

/// Writes the examples of a traversal as they are read: a line each for people, one list in all as JSON.
struct Shown {
    list: Option<JsonList>,
    /// True if `tfds_id` is one of their features (`add_tfds_id`).
    with_ids: bool,
}

impl Shown {
    fn begin(with_ids: bool, out: &mut Output) -> Result<Shown, Failure> {
        let list = out.is_json().then(|| JsonList::begin("examples", out)).transpose()?;
        Ok(Shown { list, with_ids })
    }

    fn add(&mut self, reader: &Reader, rows: &ExampleBatch, out: &mut Output) -> Result<(), Failure> {
        for row in 0..rows.len() {
            let mut example = node(&rows.batch.value(reader.schema(), row));
            let mut fields = example["fields"].take();
            let id = reader.id(rows, row);
            if let Some(list) = &mut self.list {
                if self.with_ids {
                    fields["tfds_id"] = json!({"dtype": "string", "shape": [], "data": [id]});
                }
                list.push(&fields, out)?;
                continue;
            }
            let mut text = fields.to_string();
            if let Some((end, _)) = text.char_indices().nth(SHOWN) {
                text.truncate(end);
                text.push('…');
            }
            out.line(&format!("{id}  {text}"))?;
        }
        Ok(())
    }

    fn end(self, out: &mut Output) -> Result<(), Failure> {
        Ok(self.list.map_or(Ok(()), |list| list.end(out))?)
    }
}
