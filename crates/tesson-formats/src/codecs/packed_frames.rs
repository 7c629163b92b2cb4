//! Random access to what a file of Zstandard frames unpacks to.
//!
//! A decoder cannot be copied, so unpacking begins at a frame. One pass over the file keeps where frames begin, and decoders
//! that have stopped within a frame wait for reads after that position: reading in order unpacks each byte once.

use std::io::{self, Read};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tesson_core::{Error, Fetch, ResourceId};
use xxhash_rust::xxh64::Xxh64;

use super::UnpackError;
use super::resource::{Unpacked, UnpackedBytes};

/// Bytes that a frame may keep to refer back to: RFC 8878 recommends that decoders take as many, and level 19 uses them.
const WINDOW: u64 = 8 << 20;

/// Unpacked bytes from one kept frame to the next, at least.
const SPACING: u64 = 256 << 10;

/// Kept frames, at most; then every second one is dropped.
const MOST_FRAMES: usize = 4096;

/// Decoders of a file that wait, at most.
const MOST_WAITING: usize = 2;

/// Bytes that are read, or unpacked, at once.
const STEP: usize = 64 << 10;

/// Where a frame begins.
#[derive(Clone, Copy, Debug)]
struct Frame {
    packed: u64,
    unpacked: u64,
}

/// A file of Zstandard frames that has been unpacked once.
pub(crate) struct Unzstd {
    resource: ResourceId,
    /// The first is the beginning.
    frames: Vec<Frame>,
    size: u64,
    waiting: Mutex<Vec<Position>>,
}

/// A position from which unpacking goes on.
struct Position {
    packed: u64,
    unpacked: u64,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl Position {
    fn at(frame: Frame) -> Position {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Position { packed: frame.packed, unpacked: frame.unpacked, decoder, is_in_frame: false }
    }
}

impl Unzstd {
    /// Unpacks the whole file once. Its checksums are compared.
    pub(crate) fn new(resource: ResourceId, fetch: &dyn Fetch) -> Result<Unzstd, UnpackError> {
        Unzstd::with_spacing(SPACING, resource, fetch)
    }

    fn with_spacing(
        mut spacing: u64,
        resource: ResourceId,
        fetch: &dyn Fetch,
    ) -> Result<Unzstd, UnpackError> {
        let begin = Frame { packed: 0, unpacked: 0 };
        let mut unpacker = Unpacker::new(resource, fetch, Position::at(begin))?;
        unpacker.check = Some(Check::new());
        let mut frames = vec![begin];
        let (mut out, mut reported) = (vec![0; STEP], 0);
        while unpacker.unpack(&mut out)? > 0 {
            let packed = unpacker.source.position;
            fetch.progress(packed - reported);
            reported = packed;
            if fetch.cancelled() {
                return Err(Error::Cancelled.into());
            }
            let frame = unpacker.frame;
            if frame.unpacked - frames[frames.len() - 1].unpacked < spacing {
                continue;
            }
            frames.push(frame);
            if frames.len() > MOST_FRAMES {
                let mut number = 0..;
                frames.retain(|_| number.next().is_some_and(|number| number % 2 == 0));
                spacing *= 2;
            }
        }
        let size = unpacker.unpacked;
        Ok(Unzstd { resource, frames, size, waiting: Mutex::new(Vec::new()) })
    }

    /// Bytes of memory held, waiting decoders included.
    pub(crate) fn memory(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>() + MOST_WAITING * self.size.min(2 * WINDOW) as usize
    }

    /// Takes the position that is closest before a byte.
    fn take_before(&self, offset: u64) -> Position {
        let frame = self.frames[self.frames.partition_point(|frame| frame.unpacked <= offset) - 1];
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_better = |position: &Position| (frame.unpacked..=offset).contains(&position.unpacked);
        let numbers = (0..waiting.len()).filter(|&i| is_better(&waiting[i]));
        match numbers.max_by_key(|&i| waiting[i].unpacked) {
            Some(number) => waiting.remove(number),
            None => Position::at(frame),
        }
    }

    /// Keeps a position for later reads; the one that was kept first makes room.
    fn keep(&self, position: Position) {
        if !position.is_in_frame {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == MOST_WAITING {
            waiting.remove(0);
        }
        waiting.push(position);
    }

    /// The unpacked file, as a resource. An error names `file`.
    pub(crate) fn unpacked<'a>(
        &'a self,
        file: &'a Path,
        fetch: &'a dyn Fetch,
    ) -> Unpacked<'a, UnzstdReader<'a>> {
        Unpacked { file, fetch, bytes: UnzstdReader { file: self, fetch, unpacker: Mutex::new(None) } }
    }
}

/// Reads of an unpacked file. Those that follow each other are unpacked in one go.
pub(crate) struct UnzstdReader<'a> {
    file: &'a Unzstd,
    fetch: &'a dyn Fetch,
    unpacker: Mutex<Option<Unpacker<'a>>>,
}

impl UnpackedBytes for UnzstdReader<'_> {
    fn size(&self) -> u64 {
        self.file.size
    }

    fn fill(&self, offset: u64, into: &mut [u8]) -> Result<(), UnpackError> {
        let mut place = self.unpacker.lock().unwrap_or_else(PoisonError::into_inner);
        // An error leaves nothing half done behind.
        let mut unpacker = match place.take() {
            Some(unpacker) if unpacker.unpacked <= offset && !self.has_frame(unpacker.unpacked..offset) => {
                unpacker
            }
            other => {
                other.into_iter().for_each(|unpacker| self.file.keep(unpacker.into_position()));
                Unpacker::new(self.file.resource, self.fetch, self.file.take_before(offset))?
            }
        };
        unpacker.fill(offset, into)?;
        *place = Some(unpacker);
        Ok(())
    }
}

impl UnzstdReader<'_> {
    /// True if a kept frame begins after the first and up to the last of these bytes.
    fn has_frame(&self, bytes: Range<u64>) -> bool {
        let upto = |offset| self.file.frames.partition_point(|frame: &Frame| frame.unpacked <= offset);
        upto(bytes.start) < upto(bytes.end)
    }
}

impl Drop for UnzstdReader<'_> {
    fn drop(&mut self) {
        let unpacker = self.unpacker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        unpacker.into_iter().for_each(|unpacker| self.file.keep(unpacker.into_position()));
    }
}

/// Unpacks the first bytes of a file, `most` of them or all that there are.
pub(crate) fn beginning(
    resource: ResourceId,
    fetch: &dyn Fetch,
    most: usize,
) -> Result<Vec<u8>, UnpackError> {
    let mut unpacker = Unpacker::new(resource, fetch, Position::at(Frame { packed: 0, unpacked: 0 }))?;
    super::unpack_up_to(most, |out| unpacker.unpack(out))
}

/// The bytes of a file, one after the other.
struct Source<'a> {
    resource: ResourceId,
    fetch: &'a dyn Fetch,
    size: u64,
    /// The next byte.
    position: u64,
    /// Bytes of the file, after those that are used.
    read: Vec<u8>,
    used: usize,
    /// Why the last read failed.
    error: Option<Error>,
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.read.len() && self.position < self.size {
            let most = (STEP as u64).min(self.fetch.largest().max(1));
            let range = self.position..self.size.min(self.position + most);
            if let Err(error) = self.fetch.read_over(self.resource, range, &mut self.read) {
                self.error = Some(error);
                return Err(io::Error::other("the file cannot be read"));
            }
            self.used = 0;
        }
        let n = into.len().min(self.read.len() - self.used);
        into[..n].copy_from_slice(&self.read[self.used..self.used + n]);
        self.used += n;
        self.position += n as u64;
        Ok(n)
    }
}

/// The unpacked frame so far, to be compared with its checksum and its size.
struct Check {
    hash: Xxh64,
    bytes: u64,
}

impl Check {
    fn new() -> Check {
        Check { hash: Xxh64::new(0), bytes: 0 }
    }
}

/// Unpacks from a position on.
struct Unpacker<'a> {
    source: Source<'a>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// Bytes unpacked so far, counted from the beginning of the file.
    unpacked: u64,
    /// The frame that was begun last.
    frame: Frame,
    check: Option<Check>,
}

impl<'a> Unpacker<'a> {
    fn new(resource: ResourceId, fetch: &'a dyn Fetch, from: Position) -> Result<Unpacker<'a>, Error> {
        let Position { packed, unpacked, decoder, is_in_frame } = from;
        let size = fetch.size(resource)?;
        let source =
            Source { resource, fetch, size, position: packed, read: Vec::new(), used: 0, error: None };
        let frame = Frame { packed, unpacked };
        Ok(Unpacker { source, decoder, is_in_frame, unpacked, frame, check: None })
    }

    fn into_position(self) -> Position {
        let Unpacker { source, decoder, is_in_frame, unpacked, .. } = self;
        Position { packed: source.position, unpacked, decoder, is_in_frame }
    }

    fn fill(&mut self, offset: u64, into: &mut [u8]) -> Result<(), UnpackError> {
        let mut skipped = vec![0; STEP.min((offset - self.unpacked) as usize)];
        while self.unpacked < offset {
            let most = skipped.len().min((offset - self.unpacked) as usize);
            self.unpack_some(&mut skipped[..most])?;
        }
        let mut filled = 0;
        while filled < into.len() {
            filled += self.unpack_some(&mut into[filled..])?;
            if self.source.fetch.cancelled() {
                return Err(Error::Cancelled.into());
            }
        }
        Ok(())
    }

    fn unpack_some(&mut self, out: &mut [u8]) -> Result<usize, UnpackError> {
        match self.unpack(out)? {
            0 => Err(self.damaged("it ends too early")),
            n => Ok(n),
        }
    }

    /// Unpacks the next bytes; 0 at the end.
    fn unpack(&mut self, out: &mut [u8]) -> Result<usize, UnpackError> {
        loop {
            if !self.is_in_frame && !self.begin_frame()? {
                return Ok(0);
            }
            let n = self.decoder.read(out).map_err(|error| self.damaged(&error.to_string()))?;
            if n > 0 {
                self.unpacked += n as u64;
                if let Some(check) = &mut self.check {
                    check.hash.update(&out[..n]);
                    check.bytes += n as u64;
                }
                return Ok(n);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
            decoded.map(drop).map_err(|error| self.failed(&error))?;
        }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin_frame(&mut self) -> Result<bool, UnpackError> {
        loop {
            if self.source.position == self.source.size {
                return Ok(false);
            }
            self.frame = Frame { packed: self.source.position, unpacked: self.unpacked };
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink());
                    if skipped.is_err() || skipped.is_ok_and(|n| n < length.into()) {
                        return Err(self.failed(&FrameDecoderError::FailedToSkipFrame));
                    }
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    /// Ends a frame; compares its checksum and size where all of it has been unpacked.
    fn end_frame(&mut self) -> Result<(), UnpackError> {
        self.is_in_frame = false;
        let Some(check) = self.check.as_mut().map(|check| mem::replace(check, Check::new())) else {
            return Ok(());
        };
        let declared = self.decoder.content_size();
        if declared != 0 && declared != check.bytes {
            return Err(
                self.damaged(&format!("a frame declares {declared} bytes and unpacks to {}", check.bytes))
            );
        }
        match self.decoder.get_checksum_from_data() {
            Some(sum) if sum != check.hash.digest() as u32 => {
                Err(self.damaged("its checksum is another one"))
            }
            _ => Ok(()),
        }
    }

    /// The error of a decoder, or that of the read that made it fail.
    fn failed(&mut self, error: &FrameDecoderError) -> UnpackError {
        if let Some(error) = self.source.error.take() {
            return error.into();
        }
        match error {
            FrameDecoderError::WindowSizeTooBig { requested, max } => self.damaged(&format!(
                "its window has {requested} bytes, expected at most {max}, as levels up to 19 without `--long` have"
            )),
            _ if self.source.position == self.source.size => {
                self.damaged("the file ends within compressed data")
            }
            other => self.damaged(&other.to_string()),
        }
    }

    fn damaged(&self, what: &str) -> UnpackError {
        UnpackError::Damaged(self.source.position, what.into())
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use tesson_core::InMemory;

    use super::*;

    const FILE: ResourceId = ResourceId(0);

    fn bytes(n: usize) -> Vec<u8> {
        (0..n as u64).map(|i| (i.wrapping_mul(i) >> 7) as u8 & 0x3F).collect()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn all(packed: &[u8]) -> Result<Vec<u8>, String> {
        let file = InMemory::new(packed);
        let why = |error| match error {
            UnpackError::Damaged(offset, what) => format!("{offset}: {what}"),
            UnpackError::Error(error) => error.to_string(),
        };
        let unzstd = Unzstd::new(FILE, &file).map_err(why)?;
        let mut out = vec![0; unzstd.size as usize];
        unzstd.unpacked(Path::new("f"), &file).bytes.fill(0, &mut out).map_err(why)?;
        Ok(out)
    }

    #[test]
    fn any_part_is_read_in_any_order() {
        let whole = bytes(1_500_000);
        // A frame to be skipped, and an empty one, among the others.
        let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let frames = [&whole[..700_001], b"", &whole[700_001..700_100], &whole[700_100..]];
        let packed = [vec![skipped], frames.map(zstd).to_vec()].concat().concat();
        let file = InMemory::new(&packed[..]);
        for spacing in [1, u64::MAX] {
            let unzstd = Unzstd::with_spacing(spacing, FILE, &file).ok().unwrap();
            assert_eq!((unzstd.size, unzstd.frames.len() > 1), (1_500_000, spacing == 1));
            let (mut at, mut out) = (1_u64, Vec::new());
            for _ in 0..4 {
                let reader = unzstd.unpacked(Path::new("f"), &file).bytes;
                for _ in 0..10 {
                    at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let start = (at >> 33) as usize % 1_490_000;
                    out.resize((at >> 50) as usize % 9_000, 0);
                    assert!(reader.fill(start as u64, &mut out).is_ok());
                    assert!(out[..] == whole[start..start + out.len()], "{start} of {spacing}");
                }
                out.resize(100, 0);
                for start in (0..500_000).step_by(7_919) {
                    assert!(reader.fill(start as u64, &mut out).is_ok());
                    assert!(out[..] == whole[start..start + 100], "{start}");
                }
            }
            assert!(unzstd.waiting.lock().unwrap().len() <= MOST_WAITING);
        }
    }

    #[test]
    fn no_damage_goes_unnoticed() {
        let whole = bytes(2_000);
        let packed = zstd(&whole);
        assert_eq!(all(&packed), Ok(whole.clone()));
        for n in 1..packed.len() {
            assert!(all(&packed[..n]).is_err(), "cut after {n} bytes");
        }
    }

    #[test]
    fn a_large_window_is_refused() {
        // A frame of 16 MiB to refer back to.
        let error = all(&[0x28, 0xB5, 0x2F, 0xFD, 0x00, 14 << 3, 1, 0, 0]).unwrap_err();
        assert!(error.contains("its window has 16777216 bytes, expected at most 8388608"), "{error}");
    }
}
