//! Writing ArrayRecord files, without seeking: chunks, then where they are.

use std::io::{self, Write};
use std::mem;

use tesson_core::varint;

use super::SIGNATURE;
use super::block::{self, BLOCK, HEADER as BLOCK_HEADER, advance};
use super::chunk::{HEADER, Header};
use super::index::MAGIC;
use crate::codecs::ZstdEncoder;
use crate::record::message::{put_bytes, put_number};

/// The compression of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// By nothing.
    None,
    /// By zstd, as TFDS has it.
    Zstd,
    /// By snappy; it is read, and written for tests.
    #[cfg(test)]
    Snappy,
    /// By brotli's form for what it does not compress; it is read, and written for tests.
    #[cfg(test)]
    Brotli,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Records in a chunk. With more than one, a single record costs decompressing all of them.
    pub group_size: u32,
    /// The compression of chunks.
    pub compression: Compression,
}

impl Compression {
    /// The byte that names the compression at the beginning of a chunk.
    fn byte(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Zstd => b'z',
            #[cfg(test)]
            Compression::Snappy => b's',
            #[cfg(test)]
            Compression::Brotli => b'b',
        }
    }
}

impl Options {
    /// TFDS' own: a chunk for each record, so that each is found at once.
    pub const TFDS: Options = Options { group_size: 1, compression: Compression::Zstd };

    /// As the footer says it.
    fn text(self) -> String {
        let compression = match self.compression {
            Compression::None => "uncompressed",
            Compression::Zstd => "zstd:1,window_log:20",
            #[cfg(test)]
            Compression::Snappy => "snappy",
            #[cfg(test)]
            Compression::Brotli => "brotli",
        };
        let group = self.group_size.max(1);
        format!(
            "group_size:{group},transpose:false,pad_to_block_boundary:false,{compression},max_parallelism:1"
        )
    }
}

/// Writes records to anything that takes bytes. A file without its end, which [`Writer::finish`] writes, is no file.
pub struct Writer<W> {
    out: W,
    options: Options,
    /// Bytes written.
    at: u64,
    /// Records of the open chunk: their sizes, and the records back to back.
    sizes: Vec<u8>,
    values: Vec<u8>,
    in_chunk: u32,
    /// The footer's entries, and their sizes.
    entries: Vec<u8>,
    entry_sizes: Vec<u8>,
    n_chunks: u64,
    pub(super) n_records: u64,
    /// Memory for a chunk's data.
    data: Vec<u8>,
    zstd: ZstdEncoder,
}

impl<W: Write> Writer<W> {
    /// A file that begins here.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn new(mut out: W, options: Options) -> io::Result<Writer<W>> {
        out.write_all(&SIGNATURE)?;
        Ok(Writer {
            out,
            options,
            at: SIGNATURE.len() as u64,
            sizes: Vec::new(),
            values: Vec::new(),
            in_chunk: 0,
            entries: Vec::new(),
            entry_sizes: Vec::new(),
            n_chunks: 0,
            n_records: 0,
            data: Vec::new(),
            zstd: ZstdEncoder::new(),
        })
    }

    /// Writes a record, or keeps it until its chunk is full.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn record(&mut self, data: &[u8]) -> io::Result<()> {
        varint::put(data.len() as u64, &mut self.sizes);
        self.values.extend_from_slice(data);
        self.in_chunk += 1;
        self.n_records += 1;
        if self.in_chunk >= self.options.group_size { self.end_chunk() } else { Ok(()) }
    }

    /// Records written.
    pub fn records(&self) -> u64 {
        self.n_records
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Writes the file's end, flushes and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.in_chunk > 0 {
            self.end_chunk()?;
        }
        let footer = self.at;
        self.footer()?;
        self.pad_to_block()?;
        self.postscript(footer)?;
        self.pad_to_block()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        let offset = self.at;
        let (sizes, values) = (mem::take(&mut self.sizes), mem::take(&mut self.values));
        let n = mem::take(&mut self.in_chunk).into();
        self.simple_chunk(&sizes, &values, n, self.options.compression)?;
        self.entry([offset, values.len() as u64, n]);
        // They keep their memory.
        (self.sizes, self.values) = (sizes, values);
        self.sizes.clear();
        self.values.clear();
        Ok(())
    }

    /// Adds a chunk to the index: its offset, the bytes and the number of its records.
    pub(super) fn entry(&mut self, fields: [u64; 3]) {
        let before = self.entries.len();
        (1..).zip(fields).for_each(|(field, value)| put_number(field, value, &mut self.entries));
        varint::put((self.entries.len() - before) as u64, &mut self.entry_sizes);
        self.n_chunks += 1;
    }

    fn footer(&mut self) -> io::Result<()> {
        let mut metadata = Vec::new();
        put_number(1, 1, &mut metadata);
        put_number(2, self.n_chunks, &mut metadata);
        put_number(3, self.n_records, &mut metadata);
        put_bytes(4, self.options.text().as_bytes(), &mut metadata);
        let mut values = Vec::new();
        put_bytes(1, &metadata, &mut values);
        let mut sizes = Vec::new();
        varint::put(values.len() as u64, &mut sizes);
        values.append(&mut self.entries);
        sizes.append(&mut self.entry_sizes);
        self.simple_chunk(&sizes, &values, self.n_chunks + 1, self.options.compression)
    }

    fn postscript(&mut self, footer: u64) -> io::Result<()> {
        let mut message = Vec::new();
        put_number(1, footer, &mut message);
        put_number(2, MAGIC, &mut message);
        let mut sizes = Vec::new();
        (0..3).for_each(|_| varint::put(message.len() as u64, &mut sizes));
        self.simple_chunk(&sizes, &message.repeat(3), 3, Compression::None)
    }

    fn simple_chunk(
        &mut self,
        sizes: &[u8],
        values: &[u8],
        n: u64,
        compression: Compression,
    ) -> io::Result<()> {
        let mut data = mem::take(&mut self.data);
        data.clear();
        if compression == Compression::None {
            data.push(0);
            varint::put(sizes.len() as u64, &mut data);
            data.extend_from_slice(sizes);
            data.extend_from_slice(values);
        } else {
            data.push(compression.byte());
            let mut part = Vec::new();
            varint::put(sizes.len() as u64, &mut part);
            self.compress(compression, sizes, &mut part)?;
            varint::put(part.len() as u64, &mut data);
            data.append(&mut part);
            varint::put(values.len() as u64, &mut data);
            self.compress(compression, values, &mut data)?;
        }
        self.chunk(b'r', &data, n, values.len() as u64)?;
        self.data = data;
        Ok(())
    }

    /// Appends what bytes are compressed to.
    fn compress(&mut self, compression: Compression, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        match compression {
            Compression::None => into.extend_from_slice(bytes),
            Compression::Zstd => self.zstd.append(bytes, into)?,
            #[cfg(test)]
            Compression::Snappy => {
                let compressed = snap::raw::Encoder::new().compress_vec(bytes);
                into.extend(compressed.expect("tests have little"));
            }
            #[cfg(test)]
            Compression::Brotli => super::tests::brotli(bytes, into),
        }
        Ok(())
    }

    /// Fills the block, so that the next one begins here.
    fn pad_to_block(&mut self) -> io::Result<()> {
        let mut room = self.at.next_multiple_of(BLOCK) - self.at;
        if room == 0 {
            return Ok(());
        }
        if room < HEADER {
            // The padding's own header does not fit: it reaches over the next block, too.
            room += BLOCK - BLOCK_HEADER;
        }
        self.chunk(b'p', &vec![0; (room - HEADER) as usize], 0, 0)
    }

    fn chunk(&mut self, kind: u8, data: &[u8], n_records: u64, decoded_size: u64) -> io::Result<()> {
        let begin = self.at;
        // Each record has a place of its own in the file, by which other readers may ask for it.
        let end = advance(begin, HEADER + data.len() as u64).max(boundary(begin + n_records));
        self.put(&Header::bytes(kind, data, n_records, decoded_size), begin, end)?;
        self.put(data, begin, end)?;
        while self.at < end {
            let zeros = [0; 64];
            let part = (end - self.at).min(self.at.next_multiple_of(BLOCK) - self.at).clamp(1, 64);
            self.put(&zeros[..part as usize], begin, end)?;
        }
        Ok(())
    }

    /// Writes bytes of a chunk, with block headers between them.
    fn put(&mut self, mut bytes: &[u8], begin: u64, end: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.at.is_multiple_of(BLOCK) {
                self.out.write_all(&block::header(begin, self.at, end))?;
                self.at += BLOCK_HEADER;
            }
            let room = (self.at / BLOCK + 1) * BLOCK - self.at;
            let (part, rest) = bytes.split_at(bytes.len().min(room as usize));
            self.out.write_all(part)?;
            self.at += part.len() as u64;
            bytes = rest;
        }
        Ok(())
    }
}

/// The first place from `at` on where a chunk can begin: not within a block header, and not right behind one, for which
/// the place in front of it stands.
fn boundary(at: u64) -> u64 {
    match at % BLOCK {
        1..=BLOCK_HEADER => at / BLOCK * BLOCK + BLOCK_HEADER + 1,
        _ => at,
    }
}
