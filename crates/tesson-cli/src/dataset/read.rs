//! `tesson read` on a prepared dataset: its examples, in the order in which TFDS gives them.

use std::path::Path;
use std::sync::Arc;
use std::{fs, time::Instant};

use serde_json::{Value, json};
use tesson::Error;
use tesson::tfds::features::{Schema, Selection, node};
use tesson::tfds::{self, Plan, Reader, Rows};

use super::open;
use crate::args::ReadArgs;
use crate::failure::Failure;
use crate::output::{Output, count};
use crate::progress::note;
use crate::read::replace;

/// Examples that are read at once. What is read does not depend on it.
const AT_ONCE: u64 = 64;

/// Characters of an example that people are shown.
const SHOWN: usize = 200;

pub(crate) fn run(args: &ReadArgs, out: &mut Output) -> Result<(), Failure> {
    let mut reader = reader(args)?;
    if let Some(path) = &args.state {
        reader.restore_json(&load(path)?).map_err(Error::from)?;
    }
    let endless = reader.traversal_len().is_none() && args.dataset.at.is_none();
    if endless && args.take.is_none() {
        return Err(Failure::Usage(
            "the order has no end; say with --take how many examples are wanted".into(),
        ));
    }
    let begun = Instant::now();
    let read = match &args.dataset.at {
        Some(places) => at(&mut reader, places, out),
        None => traversals(args, &mut reader, out),
    };
    // Also behind an error: the state is that behind the last example.
    if let Some(path) = &args.save_state {
        replace(path, &reader.to_json(&reader.state()).to_string())?;
    }
    let n = read?;
    if !out.is_json() {
        let seconds = begun.elapsed().as_secs_f64();
        let rate = count((n as f64 / seconds.max(1e-9)) as u64);
        out.line(&format!("\n{} examples in {seconds:.3} s: {rate} examples/s", count(n)))?;
        if reader.skipped() > 0 {
            out.line(&format!("{} damaged records were left out", count(reader.skipped())))?;
        }
    }
    Ok(())
}

fn reader(args: &ReadArgs) -> Result<Reader, Failure> {
    let dataset = Arc::new(open(&args.input, &args.dataset)?);
    let plan = Plan::new(&dataset, &args.dataset.reading()?, &mut tfds::random_seed)?;
    for drawn in &plan.drawn {
        note(&format!("{} was not given; {} was drawn", drawn.path, drawn.seed));
    }
    let features = tfds::features_of(&dataset)?;
    let schema = Arc::new(Schema::new(&features, &Selection::default())?);
    Ok(Reader::new(dataset, plan, schema, args.dataset.on_damage())?)
}

/// The examples at places of the split.
fn at(reader: &mut Reader, places: &str, out: &mut Output) -> Result<u64, Failure> {
    let number = |text: &str| {
        text.trim().parse().map_err(|_| Failure::Usage(format!("--at: `{text}` is no place in the split")))
    };
    let places: Vec<u64> = match places {
        "all" => (0..reader.split_len()).collect(),
        list => list.split(',').map(number).collect::<Result<_, _>>()?,
    };
    let mut rows = Rows::new(reader.schema());
    let mut shown = Vec::new();
    let mut read = Ok(());
    for chunk in places.chunks(AT_ONCE as usize) {
        rows.clear();
        read = reader.read_at(chunk, &mut rows);
        show(reader, &rows, &mut shown, out)?;
        if read.is_err() {
            break;
        }
    }
    end(shown, out)?;
    read?;
    Ok(places.len() as u64)
}

/// One traversal after the other; each is the next pass of every shuffle in it.
fn traversals(args: &ReadArgs, reader: &mut Reader, out: &mut Output) -> Result<u64, Failure> {
    let mut rows = Rows::new(reader.schema());
    let mut n = 0;
    for epoch in 0..args.epochs.unwrap_or(1) {
        if epoch > 0 {
            reader.begin();
        }
        let mut left = args.take.unwrap_or(u64::MAX);
        let mut shown = Vec::new();
        let read = loop {
            rows.clear();
            let wanted = left.min(AT_ONCE);
            let read = reader.read(wanted as usize, &mut rows);
            show(reader, &rows, &mut shown, out)?;
            (n, left) = (n + rows.len() as u64, left - rows.len() as u64);
            if read.is_err() || left == 0 || (rows.len() as u64) < wanted {
                break read;
            }
        };
        end(shown, out)?;
        read?;
    }
    Ok(n)
}

/// Shows examples, or keeps them for the one line that JSON has.
fn show(reader: &Reader, rows: &Rows, shown: &mut Vec<Value>, out: &mut Output) -> Result<(), Failure> {
    for row in 0..rows.len() {
        let mut example = node(&rows.batch.value(reader.schema(), row));
        let fields = example["fields"].take();
        if out.is_json() {
            shown.push(fields);
            continue;
        }
        let mut text = fields.to_string();
        if let Some((end, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        out.line(&format!("{}  {text}", reader.id(rows, row)))?;
    }
    Ok(())
}

fn end(shown: Vec<Value>, out: &mut Output) -> Result<(), Failure> {
    if out.is_json() {
        out.line(&json!({"examples": shown}).to_string())?;
    }
    Ok(())
}

fn load(path: &Path) -> Result<Value, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, &e))?;
    serde_json::from_str(&text)
        .map_err(|e| Failure::Usage(format!("{}: no saved state: {e}", path.display())))
}
