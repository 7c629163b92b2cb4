//! Tables: how fast rows of Parquet and Arrow become minibatches, beside the crates of Arrow reading the same columns alone.

use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{ArrayRef, ListArray, PrimitiveArray, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tesson::Shuffle;

use crate::corpus::Random;
use crate::{processor_seconds, report, round};

pub(crate) const USAGE: &str = "
  tesson-bench tables make FOLDER [ROWS]         write numbers and lists, as Parquet and as files of Arrow, and numbers as CSV
  tesson-bench tables measure FOLDER [ROUNDS]    reading each, beside the crates of Arrow alone, of CSV beside a plain loop, in turns";

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of a batch when files are written.
const GROUP: usize = 64 << 10;

/// Columns of floats.
const WIDTH: usize = 16;

/// Rows of a minibatch, and of the batches that the crates of Arrow read.
const BATCH: usize = 1024;

/// Runs a job; false if there is none of this name.
pub(crate) fn run(words: &[&str]) -> Answer<bool> {
    match words {
        ["make", folder, rest @ ..] => {
            make(Path::new(folder), rest.first().map_or(Ok(1 << 20), |n| n.parse())?)?;
        }
        ["measure", folder, rest @ ..] => {
            measure(Path::new(folder), rest.first().map_or(Ok(5), |n| n.parse())?)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes files with fixed contents; an existing folder is left as it is.
fn make(folder: &Path, rows: usize) -> Answer<()> {
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    write(&folder.join("numbers"), rows, numbers)?;
    write(&folder.join("lists"), rows, lists)?;
    write_csv(&folder.join("numbers.csv"), rows)
}

/// Writes the columns of [`numbers`] as text.
fn write_csv(file: &Path, rows: usize) -> Answer<()> {
    let mut random = Random(7);
    let mut text = std::io::BufWriter::new(File::create(file)?);
    for i in 0..WIDTH {
        write!(text, "x{i},")?;
    }
    writeln!(text, "label")?;
    for _ in 0..rows {
        for _ in 0..WIDTH {
            write!(text, "{},", random.below(1 << 20) as f32 / 1024.0)?;
        }
        writeln!(text, "{}", random.below(10))?;
    }
    text.flush()?;
    Ok(())
}

/// Writes a table as `NAME.parquet` and `NAME.arrow`.
fn write(name: &Path, rows: usize, batch: fn(&mut Random, usize) -> Answer<RecordBatch>) -> Answer<()> {
    let mut random = Random(7);
    let first = batch(&mut random, GROUP.min(rows))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut table = ArrowWriter::try_new(
        File::create(name.with_extension("parquet"))?,
        first.schema(),
        Some(properties),
    )?;
    let mut file = FileWriter::try_new(File::create(name.with_extension("arrow"))?, &first.schema())?;
    let (mut next, mut written) = (first, 0);
    loop {
        table.write(&next)?;
        file.write(&next)?;
        written += next.num_rows();
        if written == rows {
            break;
        }
        next = batch(&mut random, GROUP.min(rows - written))?;
    }
    table.close()?;
    file.finish()?;
    Ok(())
}

/// Columns of floats, and one of classes.
fn numbers(random: &mut Random, rows: usize) -> Answer<RecordBatch> {
    let floats =
        |random: &mut Random| (0..rows).map(|_| random.below(1 << 20) as f32 / 1024.0).collect::<Vec<_>>();
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for i in 0..WIDTH {
        columns.push((format!("x{i}"), Arc::new(PrimitiveArray::<Float32Type>::from(floats(random)))));
    }
    let classes: Vec<i64> = (0..rows).map(|_| random.below(10) as i64).collect();
    columns.push(("label".to_owned(), Arc::new(PrimitiveArray::<Int64Type>::from(classes))));
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Lists of token numbers of different length.
fn lists(random: &mut Random, rows: usize) -> Answer<RecordBatch> {
    let mut list = |_| {
        let n = 1 + random.below(30);
        Some((0..n).map(|_| Some(random.below(50_000) as i64)).collect::<Vec<_>>())
    };
    let tokens = ListArray::from_iter_primitive::<Int64Type, _, _>((0..rows).map(&mut list));
    Ok(RecordBatch::try_from_iter([("tokens", Arc::new(tokens) as ArrayRef)])?)
}

fn measure(folder: &Path, rounds: usize) -> Answer<()> {
    for name in ["numbers.csv", "numbers.parquet", "lists.parquet", "numbers.arrow", "lists.arrow"] {
        let file = folder.join(name);
        let file = file.to_str().ok_or("a name in UTF-8")?;
        let alone = match name {
            "numbers.csv" => csv_alone,
            name if name.ends_with("parquet") => parquet_alone,
            _ => arrow_alone,
        };
        let orders = [("in order", Shuffle::Off), ("in windows", Shuffle::Chunks(8))];
        let mut limits = Vec::new();
        let mut results: Vec<Vec<f64>> = vec![Vec::new(); orders.len()];
        for _ in 0..rounds {
            limits.push(rate(|| alone(file))?);
            for ((_, shuffle), results) in orders.iter().zip(&mut results) {
                results.push(rate(|| read(file, *shuffle))?);
            }
        }
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let line = |what: &str, rates: &[f64]| {
            let of_limit = round(best(rates) / best(&limits));
            let figures = rates.iter().map(|&rate| vec![("rows_processor_s", rate), ("of_limit", of_limit)]);
            report("tables", name, &[what], figures.collect());
        };
        line(if name.ends_with("csv") { "a plain loop" } else { "the crate alone" }, &limits);
        for ((order, _), rates) in orders.iter().zip(&results) {
            line(order, rates);
        }
    }
    Ok(())
}

/// Rows for each second of all threads, which machines that are shared repeat.
fn rate(job: impl Fn() -> Answer<usize>) -> Answer<f64> {
    let start = processor_seconds();
    let rows = job()?;
    Ok(rows as f64 / (processor_seconds() - start))
}

/// Reads a sweep.
fn read(file: &str, shuffle: Shuffle) -> Answer<usize> {
    let mut loader =
        tesson::read_table(file).loader().batch_size(BATCH as u64).shuffle(shuffle).threads(1).open()?;
    let mut rows = 0;
    for batch in loader.epoch() {
        let batch = batch?;
        rows += batch.len();
        std::hint::black_box(batch.minibatch().streams().len());
    }
    Ok(rows)
}

/// Reads a file of CSV into columns, by the standard library alone.
fn csv_alone(file: &str) -> Answer<usize> {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); WIDTH + 1];
    for line in std::io::BufReader::new(File::open(file)?).lines().skip(1) {
        for (column, field) in columns.iter_mut().zip(line?.split(',')) {
            column.push(field.parse()?);
        }
    }
    Ok(std::hint::black_box(columns)[0].len())
}

/// Reads a file of Parquet into Arrow's arrays.
fn parquet_alone(file: &str) -> Answer<usize> {
    let mut rows = 0;
    for batch in
        ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.with_batch_size(BATCH).build()?
    {
        rows += std::hint::black_box(batch?).num_rows();
    }
    Ok(rows)
}

/// Reads a file of Arrow into its arrays.
fn arrow_alone(file: &str) -> Answer<usize> {
    let mut rows = 0;
    for batch in FileReader::try_new(std::io::BufReader::new(File::open(file)?), None)? {
        rows += std::hint::black_box(batch?).num_rows();
    }
    Ok(rows)
}
