//! The speed of reading a prepared dataset, compared with bare loops on the same files.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tesson::store::Stores;
use tesson_convert::records::{End, RecordKind, Records, RecordsFile};
use tesson_formats::example::Span;
use tesson_image::decode as images;
use tesson_prepared::{ExampleBatch, OnDamage, Reader, ReaderLimits};
use tesson_tfds::features::{Batch, Decoder, Limits, Schema, Selection};
use tesson_tfds::reading::{Plan, Reading};

use super::Answer;
use super::make::{Content, HEIGHT, WIDTH, directory};
use crate::corpus::Random;
use crate::{processor_seconds, report};

type Figures = Vec<(&'static str, f64)>;

/// A measurement: examples that were gone over, and nothing that is not part of it.
type Job<'a> = Box<dyn Fn() -> Answer<u64> + 'a>;
type Jobs<'a> = Vec<(&'static str, Job<'a>)>;

/// Everything, in turns.
pub(super) fn all(content: Content, folder: &Path, rounds: usize) -> Answer<()> {
    let folder = directory(content, folder);
    let shards = shards(&folder)?;
    let blocks = if content == Content::Shards { Vec::new() } else { blocks(&shards)? };
    in_turns(content, &shards, jobs(content, &folder, &shards, &blocks), rounds)
}

/// Reading alone, in turns; one thread is the limit of the others. Without all records in memory, which would be beside it.
pub(super) fn reading(content: Content, folder: &Path, rounds: usize) -> Answer<()> {
    let folder = directory(content, folder);
    in_turns(content, &shards(&folder)?, reading_jobs(content, &folder), rounds)
}

/// One round of each job, then the next.
fn in_turns(content: Content, shards: &[PathBuf], jobs: Jobs<'_>, rounds: usize) -> Answer<()> {
    let bytes: u64 = shards.iter().map(|path| Ok(fs::metadata(path)?.len())).sum::<Answer<u64>>()?;
    let mut measured: Vec<Vec<Figures>> = jobs.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        let mut limit = None;
        for ((_, job), results) in jobs.iter().zip(&mut measured) {
            let (start, processor) = (Instant::now(), processor_seconds());
            let n = job()? as f64;
            let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - processor);
            // Examples that were gone over; a bare loop over bytes sees none, and goes over all.
            let limit = *limit.get_or_insert(n / seconds);
            results.push(vec![
                ("examples_s", n / seconds),
                ("examples_processor_s", n / processor),
                ("of_limit", n / seconds / limit),
                ("MB_s", bytes as f64 / 1e6 / seconds),
                ("ms", seconds * 1e3),
            ]);
        }
    }
    for ((name, _), mut results) in jobs.into_iter().zip(measured) {
        if name == "open" {
            // It goes over nothing: only its time means something.
            results.iter_mut().for_each(|figures| figures.retain(|(name, _)| *name == "ms"));
        }
        report("tfds", &format!("{}: {name}", content.name()), &[], results);
    }
    Ok(())
}

fn jobs<'a>(content: Content, folder: &'a Path, shards: &'a [PathBuf], blocks: &'a [Records]) -> Jobs<'a> {
    let examples: u64 = blocks.iter().map(|block| block.len() as u64).sum();
    let mut jobs: Jobs<'a> = Vec::new();
    match content {
        Content::Shards => {}
        Content::Images => {
            jobs.push(("limit: the decoder of pictures alone", Box::new(|| decode_images(folder, blocks))));
        }
        Content::Integers | Content::Blobs => {
            let limit = move || sums(shards).map(|()| examples);
            jobs.push(("limit: plain reads and one checksum over all bytes", Box::new(limit)));
        }
    }
    if content != Content::Shards {
        jobs.push(("records", Box::new(|| records(shards))));
        jobs.push(("decoding, of records in memory", Box::new(|| decode(folder, blocks))));
    }
    jobs.extend(reading_jobs(content, folder));
    jobs.push(("random places", Box::new(move || places(folder, content, 1))));
    jobs.push(("random places, 2 threads", Box::new(move || places(folder, content, 2))));
    jobs.push(("open", Box::new(|| open(folder, 1).map(|_| 0))));
    jobs
}

fn reading_jobs(content: Content, folder: &Path) -> Jobs<'_> {
    vec![
        ("reading, 1 thread", Box::new(move || read(folder, content, 1))),
        ("reading, 2 threads", Box::new(move || read(folder, content, 2))),
        ("reading, two readers of 1 thread", Box::new(move || read_twice(folder, content))),
    ]
}

fn shards(folder: &Path) -> Answer<Vec<PathBuf>> {
    let mut shards = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().contains(".tfrecord-") {
            shards.push(path);
        }
    }
    shards.sort();
    Ok(shards)
}

fn open_shard(path: &Path) -> Answer<RecordsFile> {
    Ok(RecordsFile::open(&Stores::local(), path, RecordKind::TfRecord, tesson_engine::DEFAULT_MEMORY_LIMIT)?)
}

/// All records, in memory.
fn blocks(shards: &[PathBuf]) -> Answer<Vec<Records>> {
    let mut blocks = Vec::new();
    for path in shards {
        let (file, mut next) = (open_shard(path)?, 0);
        loop {
            let mut block = Records::new();
            file.read(next, u64::MAX, &mut block)?;
            next += block.len() as u64;
            let is_last = *block.end() != End::More;
            blocks.push(block);
            if is_last {
                break;
            }
        }
    }
    Ok(blocks)
}

/// Reads in pieces into one buffer, and a checksum over each piece.
fn sums(shards: &[PathBuf]) -> Answer<()> {
    let mut buffer = vec![0; 512 << 10];
    let mut all = 0;
    for path in shards {
        let mut file = File::open(path)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => all ^= crc32c::crc32c(&buffer[..n]),
            }
        }
    }
    std::hint::black_box(all);
    Ok(())
}

/// Records alone, both checksums of each checked.
fn records(shards: &[PathBuf]) -> Answer<u64> {
    let mut n = 0;
    for path in shards {
        let block = |block: &Records| {
            n += block.len() as u64;
            Ok::<_, tesson::Error>(())
        };
        open_shard(path)?.for_each_block(block)?;
    }
    Ok(n)
}

fn spans(block: &Records) -> impl Iterator<Item = Span> + Clone {
    block.places().iter().map(|place| Span { start: place.start as usize, len: place.size as usize })
}

fn schema(folder: &Path, raw: &[&str]) -> Answer<Arc<Schema>> {
    let features =
        tesson_prepared::features_of(&Stores::local(), &tesson_prepared::open(&Stores::local(), folder)?)?;
    let raw = raw.iter().map(|name| (*name).to_owned()).collect();
    Ok(Arc::new(Schema::new(&features, &Selection { features: None, raw })?))
}

/// Decodes records in memory to columns, in batches of a good size.
fn decode(folder: &Path, blocks: &[Records]) -> Answer<u64> {
    let schema = schema(folder, &[])?;
    let mut decoder = Decoder::new(Arc::clone(&schema), Limits::default());
    let mut batch = Batch::new(&schema);
    let mut n = 0;
    for block in blocks {
        let all: Vec<Span> = spans(block).collect();
        for some in all.chunks(1024) {
            batch.clear();
            decoder.decode(block.bytes(), some.iter().copied(), &mut batch).map_err(|e| e.error)?;
            n += batch.rows() as u64;
        }
    }
    Ok(n)
}

/// The files of images, in memory, by their decoder alone, into one buffer.
fn decode_images(folder: &Path, blocks: &[Records]) -> Answer<u64> {
    let schema = schema(folder, &["image"])?;
    let column = schema.column("image").ok_or("there is a picture")?;
    let mut decoder = Decoder::new(Arc::clone(&schema), Limits::default());
    let want = images::Want { channels: Some(3), depth: images::Depth::Eight, limit: 1 << 30 };
    let mut pixels = Vec::with_capacity(WIDTH * HEIGHT * 3);
    let mut batch = Batch::new(&schema);
    let mut n = 0;
    for block in blocks {
        batch.clear();
        decoder.decode(block.bytes(), spans(block), &mut batch).map_err(|e| e.error)?;
        let tesson_tfds::features::Data::Strings { bytes, ends } = &batch.columns[column].data else {
            return Err("files are bytes".into());
        };
        let mut from = 0;
        for end in ends {
            pixels.clear();
            images::decode(&bytes[from..*end], want, &mut pixels)?;
            (from, n) = (*end, n + 1);
        }
    }
    Ok(n)
}

fn open(folder: &Path, threads: usize) -> Answer<Reader> {
    let dataset = Arc::new(tesson_prepared::open(&Stores::local(), folder)?);
    let reading = Reading::of(tesson_tfds::split::Selection::parse("train")?);
    let plan = Plan::new(&dataset, &reading, &mut tesson_prepared::random_seed)?;
    let means = ReaderLimits { threads, ..ReaderLimits::default() };
    Ok(Reader::with(&Stores::local(), dataset, plan, schema(folder, &[])?, OnDamage::Fail, means)?)
}

/// Examples of a batch.
fn batch_size(content: Content) -> usize {
    match content {
        Content::Integers | Content::Shards => 1024,
        Content::Blobs | Content::Images => 32,
    }
}

/// An epoch in the order of a dataset that is read as it comes: 16 files in turns, 16 examples each.
fn read(folder: &Path, content: Content, threads: usize) -> Answer<u64> {
    let mut reader = open(folder, threads)?;
    let mut rows = ExampleBatch::new(reader.schema());
    let mut n = 0;
    loop {
        rows.clear();
        reader.read(batch_size(content), &mut rows)?;
        n += rows.len() as u64;
        if rows.is_empty() {
            return Ok(n);
        }
    }
}

/// Reads two epochs in parallel, by readers that share nothing but the machine: a bound for two threads of one
/// reader.
fn read_twice(folder: &Path, content: Content) -> Answer<u64> {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| read(folder, content, 1).map_err(|error| error.to_string()));
        let own = read(folder, content, 1)?;
        let other = other.join().map_err(|_| "a reader panicked")??;
        Ok(own + other)
    })
}

/// Examples at places that follow no order, a batch at a time.
fn places(folder: &Path, content: Content, threads: usize) -> Answer<u64> {
    let mut reader = open(folder, threads)?;
    let mut rows = ExampleBatch::new(reader.schema());
    let (mut random, size) = (Random(3), batch_size(content));
    let len = reader.split_len();
    let batches = (len / size as u64 / 4).clamp(1, 32);
    for _ in 0..batches {
        let places: Vec<u64> = (0..size).map(|_| random.below(len)).collect();
        rows.clear();
        reader.read_at(&places, &mut rows)?;
    }
    Ok(batches * size as u64)
}
