//! The speed of conversion to the binary format, compared with its bounds: reading the same text, and writing as many
//! bytes.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use tesson::Element;
use tesson_convert::{Corpus, Form};
use tesson_engine::atomic_file::Existing;

use crate::{Measured, Options, open, processor_seconds, read};

/// Bytes that the bare writer hands over at once, from one buffer that stays in a core's cache.
const PIECE: usize = 256 << 10;

/// Reads, converts, and writes as many bytes as conversion did, one after the other. The file is gone before each of
/// them, so that none pays for the one before.
pub(crate) fn round(config: &Value, options: &Options, bytes: u64, output: &Path) -> Measured {
    let mut results = read(config, options, bytes)?;
    results.truncate(2);
    remove(output)?;
    let (start, processor) = (Instant::now(), processor_seconds());
    let written = write_binary(config, output)?;
    let converted = (start.elapsed().as_secs_f64(), processor_seconds() - processor);
    remove(output)?;
    let bare = write(output, written)?;
    remove(output)?;
    let mb = bytes as f64 / 1e6;
    let read = (mb / results[0].1, mb / results[1].1);
    results[0].0 = "read_MB_s";
    results[1].0 = "read_MB_processor_s";
    results.extend([
        ("convert_MB_s", mb / converted.0),
        ("convert_MB_processor_s", mb / converted.1),
        ("output_MB", written as f64 / 1e6),
        ("write_MB_s", written as f64 / 1e6 / bare),
        ("share_of_read", read.0 / converted.0),
        ("share_of_read_processor", read.1 / converted.1),
        // The share if one thread did nothing but reading and bare writing.
        ("most_processor", read.1 / (read.1 + bare)),
    ]);
    Ok(results)
}

/// Writes a corpus as a binary file; the number of its bytes. Ending its threads and giving its memory back is part of the work.
pub(crate) fn write_binary(config: &Value, output: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let mut corpus = Corpus::new(open(config)?, |_| Element::F32);
    Ok(tesson_convert::write(&mut corpus, output, Existing::Replace, Form::BINARY, &mut |_| {})?.bytes)
}

/// The seconds for writing `bytes` bytes to a new file.
fn write(path: &Path, bytes: u64) -> std::io::Result<f64> {
    let piece = vec![1; PIECE];
    let start = Instant::now();
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let n = left.min(PIECE as u64);
        file.write_all(&piece[..n as usize])?;
        left -= n;
    }
    drop(file);
    Ok(start.elapsed().as_secs_f64())
}

fn remove(path: &Path) -> std::io::Result<()> {
    if fs::exists(path)? { fs::remove_file(path) } else { Ok(()) }
}
