//! The codecs.

use std::io::{self, Cursor, Read, Write};
use std::mem;

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, FrameCompressor, MatchGeneratorDriver};

use super::Wrapping;

/// Bytes that a zstd frame may keep to refer back to, whatever it decompresses to.
const WINDOW: u64 = 8 << 20;

/// Decompressors of parts, which keep their memory.
#[derive(Default)]
pub(crate) struct Decoders {
    zstd: FrameDecoder,
    snappy: snap::raw::Decoder,
}

impl Decoders {
    /// Decompresses zstd into `room`; returns how many bytes that makes.
    pub(crate) fn zstd(&mut self, part: &[u8], room: &mut [u8]) -> Result<usize, String> {
        self.zstd.set_max_window_size((room.len() as u64).max(WINDOW));
        self.zstd.decode_all(part, room).map_err(|e| format!("zstd: {e}"))
    }

    /// Decompresses snappy into `room`; returns how many bytes that makes.
    pub(crate) fn snappy(&mut self, part: &[u8], room: &mut [u8]) -> Result<usize, String> {
        self.snappy.decompress(part, room).map_err(|e| format!("snappy: {e}"))
    }

    /// Appends what brotli decompresses to, at most `limit` bytes.
    pub(crate) fn brotli(&mut self, part: &[u8], limit: u64, into: &mut Vec<u8>) -> Result<(), String> {
        let decoder = brotli_decompressor::Decompressor::new(part, 4 << 10);
        decoder.take(limit).read_to_end(into).map(drop).map_err(|e| format!("brotli: {e}"))
    }
}

/// A compressor that keeps its memory.
pub(crate) struct ZstdEncoder(FrameCompressor<Cursor<Vec<u8>>, Vec<u8>, MatchGeneratorDriver>);

impl ZstdEncoder {
    pub(crate) fn new() -> ZstdEncoder {
        ZstdEncoder(FrameCompressor::new(CompressionLevel::Fastest))
    }

    /// Appends what bytes are compressed to.
    pub(crate) fn append(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        let ZstdEncoder(compressor) = self;
        compressor.set_source(Cursor::new(bytes.to_vec()));
        compressor.set_drain(mem::take(into));
        compressor.compress();
        *into = compressor.take_drain().unwrap_or_default();
        let mut rest = [0; 1];
        debug_assert!(
            compressor.source_mut().is_none_or(|s| matches!(s.read(&mut rest), Ok(0))),
            "all of it is compressed"
        );
        Ok(())
    }
}

/// Decompresses a file that is compressed as a whole, as its bytes come.
pub(crate) enum Inflater {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
}

impl Inflater {
    pub(crate) fn new(wrapping: Wrapping) -> Inflater {
        match wrapping {
            Wrapping::Gzip => Inflater::Gzip(MultiGzDecoder::new(Vec::new())),
            Wrapping::Zlib => Inflater::Zlib(ZlibDecoder::new(Vec::new())),
        }
    }

    /// The decompressed bytes that were not taken yet.
    pub(crate) fn out(&self) -> &Vec<u8> {
        match self {
            Inflater::Gzip(d) => d.get_ref(),
            Inflater::Zlib(d) => d.get_ref(),
        }
    }

    pub(crate) fn out_mut(&mut self) -> &mut Vec<u8> {
        match self {
            Inflater::Gzip(d) => d.get_mut(),
            Inflater::Zlib(d) => d.get_mut(),
        }
    }

    /// Takes the next bytes of the file.
    pub(crate) fn take(&mut self, bytes: &[u8], is_last: bool) -> io::Result<()> {
        match self {
            Inflater::Gzip(d) => {
                d.write_all(bytes).and_then(|()| if is_last { d.try_finish() } else { Ok(()) })
            }
            Inflater::Zlib(d) => {
                d.write_all(bytes).and_then(|()| if is_last { d.try_finish() } else { Ok(()) })
            }
        }
    }
}
