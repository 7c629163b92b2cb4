//! Tables: how fast rows become minibatches: of Parquet and Arrow beside the crates of Arrow reading the same columns alone, of text
//! beside plain loops of the standard library.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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
use crate::{peak_rss, processor_seconds, report, round};

pub(crate) const USAGE: &str = "
  tesson-bench tables make FOLDER [ROWS]         write numbers and lists, as Parquet, as files of Arrow and as text
  tesson-bench tables measure FOLDER [ROUNDS] [FILE]
                                                 reading each or one, beside the crates of Arrow alone, text beside plain loops, in turns
  tesson-bench tables peak FOLDER FILE           peak memory of reading a file in order and in windows";

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
            let rounds = rest.first().map_or(Ok(5), |n| n.parse())?;
            let measured = FILES.iter().filter(|(name, ..)| rest.get(1).is_none_or(|only| only == name));
            measured.into_iter().try_for_each(|file| measure(Path::new(folder), *file, rounds))?;
        }
        ["peak", folder, name] => {
            let file = FILES.iter().find(|file| file.0 == *name).ok_or("no file of this name")?;
            peak(Path::new(folder), *file)?;
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
    write_csv(&folder.join("numbers.csv"), rows)?;
    write_arff(&folder.join("numbers.arff"), rows / 2)?;
    write_sparse_arff(&folder.join("sparse.arff"), rows / 2)?;
    write_pairs(&folder.join("features.vw"), rows / 4, |text, i, value| write!(text, " f{i}:{value}"), "|a")?;
    write_pairs(&folder.join("features.svm"), rows / 4, |text, i, value| write!(text, " {i}:{value}"), "")
}

/// Writes the columns of [`numbers`] as text.
fn write_csv(file: &Path, rows: usize) -> Answer<()> {
    let mut text = BufWriter::new(File::create(file)?);
    for i in 0..WIDTH {
        write!(text, "x{i},")?;
    }
    writeln!(text, "label")?;
    write_rows(text, rows)
}

/// Writes the columns of [`numbers`] as ARFF.
fn write_arff(file: &Path, rows: usize) -> Answer<()> {
    let mut text = BufWriter::new(File::create(file)?);
    writeln!(text, "@relation numbers")?;
    for i in 0..WIDTH {
        writeln!(text, "@attribute x{i} numeric")?;
    }
    writeln!(text, "@attribute label {{0,1,2,3,4,5,6,7,8,9}}\n@data")?;
    write_rows(text, rows)
}

/// Writes rows of numbers and a class.
fn write_rows(mut text: BufWriter<File>, rows: usize) -> Answer<()> {
    let mut random = Random(7);
    for _ in 0..rows {
        for _ in 0..WIDTH {
            write!(text, "{},", random.below(1 << 20) as f32 / 1024.0)?;
        }
        writeln!(text, "{}", random.below(10))?;
    }
    text.flush()?;
    Ok(())
}

/// Numbers in a row of sparse ARFF, and attributes.
const GIVEN: u64 = 20;
const ATTRIBUTES: u64 = 256;

/// Writes rows of ARFF that leave zeros out.
fn write_sparse_arff(file: &Path, rows: usize) -> Answer<()> {
    let mut random = Random(7);
    let mut text = BufWriter::new(File::create(file)?);
    writeln!(text, "@relation sparse")?;
    for i in 0..ATTRIBUTES {
        writeln!(text, "@attribute x{i} numeric")?;
    }
    writeln!(text, "@data")?;
    for _ in 0..rows {
        for i in 0..GIVEN {
            let step = ATTRIBUTES / GIVEN;
            let begin = if i == 0 { "{" } else { "," };
            write!(text, "{begin}{} {}", i * step + random.below(step), 1 + random.below(999))?;
        }
        writeln!(text, "}}")?;
    }
    text.flush()?;
    Ok(())
}

/// Features of a row of sparse text, and numbers that they have.
const FEATURES: u64 = 30;
const NUMBERS: u64 = 100_000;

/// Writes rows of a label and of features that ascend.
fn write_pairs(
    file: &Path,
    rows: usize,
    pair: fn(&mut BufWriter<File>, u64, f64) -> io::Result<()>,
    before: &str,
) -> Answer<()> {
    let mut random = Random(7);
    let mut text = BufWriter::new(File::create(file)?);
    for _ in 0..rows {
        write!(text, "{} {before}", 2 * random.below(2) as i64 - 1)?;
        for i in 0..FEATURES {
            let step = NUMBERS / FEATURES;
            let number = 1 + i * step + random.below(step);
            pair(&mut text, number, random.below(1 << 10) as f64 / 1000.0)?;
        }
        writeln!(text)?;
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

/// A file, the streams that are read of it or all, and a bare way of reading it.
type Measured = (&'static str, &'static [&'static str], fn(&str) -> Answer<usize>);

const FILES: &[Measured] = &[
    ("numbers.csv", &[], csv_alone),
    ("numbers.arff", &[], arff_alone),
    ("sparse.arff", &[], sparse_arff_alone),
    ("features.vw", &["label", "features"], vw_alone),
    ("features.svm", &[], svm_alone),
    ("numbers.parquet", &[], parquet_alone),
    ("lists.parquet", &[], parquet_alone),
    ("numbers.arrow", &[], arrow_alone),
    ("lists.arrow", &[], arrow_alone),
];

/// Orders, and the threads that read.
const WAYS: [(&str, Shuffle, usize); 3] = [
    ("in order", Shuffle::Off, 1),
    ("in windows", Shuffle::Chunks(8), 1),
    ("in order, two threads", Shuffle::Off, 2),
];

fn measure(folder: &Path, (name, streams, alone): Measured, rounds: usize) -> Answer<()> {
    let file = folder.join(name);
    let file = file.to_str().ok_or("a name in UTF-8")?;
    let mut limits = Vec::new();
    let mut results: Vec<Vec<[f64; 2]>> = vec![Vec::new(); WAYS.len()];
    for _ in 0..rounds {
        limits.push(rates(|| alone(file))?);
        for (&(_, shuffle, threads), results) in WAYS.iter().zip(&mut results) {
            results.push(rates(|| read(file, streams, shuffle, threads))?);
        }
    }
    let best = |rates: &[[f64; 2]]| rates.iter().map(|rates| rates[0]).fold(0.0, f64::max);
    let line = |what: &str, rates: &[[f64; 2]]| {
        let of_limit = round(best(rates) / best(&limits));
        let figures = rates.iter().map(|&[processor, clock]| {
            vec![("rows_processor_s", processor), ("rows_s", clock), ("of_limit", of_limit)]
        });
        report("tables", name, &[what], figures.collect());
    };
    let is_text = !name.ends_with("parquet") && !name.ends_with("arrow");
    line(if is_text { "a plain loop" } else { "the crate alone" }, &limits);
    WAYS.iter().zip(&results).for_each(|((way, ..), rates)| line(way, rates));
    Ok(())
}

/// Reads a file, and prints how much memory that took at most so far.
fn peak(folder: &Path, (name, streams, _): Measured) -> Answer<()> {
    let file = folder.join(name);
    let file = file.to_str().ok_or("a name in UTF-8")?;
    for (way, shuffle, threads) in WAYS {
        read(file, streams, shuffle, threads)?;
        report("tables", name, &[way], vec![vec![("peak_MB", peak_rss())]]);
    }
    Ok(())
}

/// Rows for each second of all threads, which machines that are shared repeat, and of the clock.
fn rates(job: impl Fn() -> Answer<usize>) -> Answer<[f64; 2]> {
    let (start, clock) = (processor_seconds(), Instant::now());
    let rows = job()? as f64;
    Ok([rows / (processor_seconds() - start), rows / clock.elapsed().as_secs_f64()])
}

/// Reads a sweep.
fn read(file: &str, streams: &[&str], shuffle: Shuffle, threads: usize) -> Answer<usize> {
    let table = streams.iter().fold(tesson::read_table(file), |table, name| table.column(name));
    let mut loader = table.loader().batch_size(BATCH as u64).shuffle(shuffle).threads(threads).open()?;
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
    columns_alone(lines(file)?.skip(1))
}

/// Reads a file of dense ARFF likewise, whatever its header says.
fn arff_alone(file: &str) -> Answer<usize> {
    columns_alone(lines(file)?.skip(WIDTH + 3))
}

fn columns_alone(lines: impl Iterator<Item = io::Result<String>>) -> Answer<usize> {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); WIDTH + 1];
    for line in lines {
        for (column, field) in columns.iter_mut().zip(line?.split(',')) {
            column.push(field.parse()?);
        }
    }
    Ok(std::hint::black_box(columns)[0].len())
}

/// Reads a file of sparse ARFF into pairs.
fn sparse_arff_alone(file: &str) -> Answer<usize> {
    pairs_alone(
        lines(file)?.skip(ATTRIBUTES as usize + 2),
        |line| line.trim_matches(['{', '}']),
        ',',
        ' ',
        |name| Ok(name.parse()?),
    )
}

/// Reads lines of Vowpal Wabbit into pairs, names by a hash of another kind.
fn vw_alone(file: &str) -> Answer<usize> {
    let hash = |name: &str| {
        let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        Ok(name.bytes().fold(0x811c_9dc5, hash) & ((1 << 18) - 1))
    };
    pairs_alone(lines(file)?, |line| line.split_once("|a ").map_or(line, |(_, pairs)| pairs), ' ', ':', hash)
}

/// Reads lines of libsvm into pairs.
fn svm_alone(file: &str) -> Answer<usize> {
    pairs_alone(
        lines(file)?,
        |line| line.trim_start_matches(|c| c != ' '),
        ' ',
        ':',
        |name| Ok(name.parse()?),
    )
}

fn pairs_alone(
    lines: impl Iterator<Item = io::Result<String>>,
    pairs: fn(&str) -> &str,
    between: char,
    within: char,
    number: fn(&str) -> Answer<u32>,
) -> Answer<usize> {
    let (mut rows, mut columns, mut values) = (0, Vec::new(), Vec::<f64>::new());
    for line in lines {
        for pair in pairs(&line?).split(between).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once(within).ok_or("a pair")?;
            columns.push(number(name)?);
            values.push(value.parse()?);
        }
        rows += 1;
    }
    std::hint::black_box((columns, values));
    Ok(rows)
}

fn lines(file: &str) -> io::Result<impl Iterator<Item = io::Result<String>>> {
    Ok(BufReader::new(File::open(file)?).lines())
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
    for batch in FileReader::try_new(BufReader::new(File::open(file)?), None)? {
        rows += std::hint::black_box(batch?).num_rows();
    }
    Ok(rows)
}
