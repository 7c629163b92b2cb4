//! Random access to what a gzip file unpacks to.
//!
//! One pass over the file keeps points at which unpacking can begin: the state of the decoder, its window of 32 KiB included.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::UnpackError;
use super::resource::{Unpacked, UnpackedBytes};
use flate2::Crc;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use tesson_core::{Error, Fetch, ResourceId};

/// Unpacked bytes from one point to the next, at least.
const SPACING: u64 = 32 << 20;

/// Points of a file, at most; then every second one is dropped.
const MOST_POINTS: usize = 64;

/// Bytes that are read, or unpacked, at once.
const STEP: usize = 64 << 10;

/// A state from which unpacking goes on.
#[derive(Clone)]
struct Point {
    /// The next byte of the file.
    packed: u64,
    /// How many bytes have been unpacked before.
    unpacked: u64,
    /// The decoder, unless a gzip header is next.
    decoder: Option<Box<InflateState>>,
}

impl Point {
    const BEGIN: Point = Point { packed: 0, unpacked: 0, decoder: None };
}

/// A gzip file that has been unpacked once.
pub(crate) struct Gunzip {
    resource: ResourceId,
    /// The first is the beginning.
    points: Vec<Point>,
    /// Where reading ended last: in order it goes on there.
    recent: Mutex<Point>,
    size: u64,
}

impl Gunzip {
    /// Unpacks the whole file once. Its checksums are compared.
    pub(crate) fn new(resource: ResourceId, fetch: &dyn Fetch) -> Result<Gunzip, UnpackError> {
        Gunzip::with_spacing(SPACING, resource, fetch)
    }

    fn with_spacing(
        mut spacing: u64,
        resource: ResourceId,
        fetch: &dyn Fetch,
    ) -> Result<Gunzip, UnpackError> {
        let mut unpacker = Unpacker::new(resource, fetch, Point::BEGIN)?;
        unpacker.checksum = Some(Crc::new());
        let mut points = vec![Point::BEGIN];
        let (mut out, mut reported) = (vec![0; STEP], 0);
        while unpacker.unpack(&mut out)? > 0 {
            let point = &unpacker.point;
            fetch.progress(point.packed - reported);
            reported = point.packed;
            if fetch.cancelled() {
                return Err(Error::Cancelled.into());
            }
            if point.unpacked - points[points.len() - 1].unpacked < spacing {
                continue;
            }
            points.push(point.clone());
            if points.len() > MOST_POINTS {
                let mut number = 0..;
                points.retain(|_| number.next().is_some_and(|number| number % 2 == 0));
                spacing *= 2;
            }
        }
        let size = unpacker.point.unpacked;
        Ok(Gunzip { resource, points, recent: Mutex::new(Point::BEGIN), size })
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        (self.points.len() + 1) * (size_of::<Point>() + size_of::<InflateState>())
    }

    /// The unpacked file, as a resource. An error names `file`.
    pub(crate) fn unpacked<'a>(
        &'a self,
        file: &'a Path,
        fetch: &'a dyn Fetch,
    ) -> Unpacked<'a, GunzipReader<'a>> {
        Unpacked { file, fetch, bytes: GunzipReader { gunzip: self, fetch, unpacker: Mutex::new(None) } }
    }

    /// The last point before a byte.
    fn point_before(&self, offset: u64) -> Point {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &self.points[self.points.partition_point(|point| point.unpacked <= offset) - 1];
        let is_better = (kept.unpacked..=offset).contains(&recent.unpacked);
        if is_better { recent.clone() } else { kept.clone() }
    }
}

/// Reads of an unpacked file. Those that follow each other are unpacked in one go.
pub(crate) struct GunzipReader<'a> {
    gunzip: &'a Gunzip,
    fetch: &'a dyn Fetch,
    unpacker: Mutex<Option<Unpacker<'a>>>,
}

impl Drop for GunzipReader<'_> {
    fn drop(&mut self) {
        let unpacker = self.unpacker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(unpacker) = unpacker {
            *self.gunzip.recent.lock().unwrap_or_else(PoisonError::into_inner) = unpacker.point;
        }
    }
}

impl UnpackedBytes for GunzipReader<'_> {
    fn size(&self) -> u64 {
        self.gunzip.size
    }

    fn fill(&self, offset: u64, into: &mut [u8]) -> Result<(), UnpackError> {
        let mut place = self.unpacker.lock().unwrap_or_else(PoisonError::into_inner);
        let point = self.gunzip.point_before(offset);
        let goes_on = |u: &Unpacker<'_>| (point.unpacked..=offset).contains(&u.point.unpacked);
        // An error leaves nothing half done behind.
        let mut unpacker = match place.take().filter(goes_on) {
            Some(unpacker) => unpacker,
            None => Unpacker::new(self.gunzip.resource, self.fetch, point)?,
        };
        unpacker.fill(offset, into)?;
        *place = Some(unpacker);
        Ok(())
    }
}

/// Unpacks the first bytes of a file, `most` of them or all that there are.
pub(crate) fn beginning(
    resource: ResourceId,
    fetch: &dyn Fetch,
    most: usize,
) -> Result<Vec<u8>, UnpackError> {
    let mut unpacker = Unpacker::new(resource, fetch, Point::BEGIN)?;
    super::unpack_up_to(most, |out| unpacker.unpack(out))
}

/// Unpacks from a point on.
struct Unpacker<'a> {
    resource: ResourceId,
    fetch: &'a dyn Fetch,
    /// Bytes of the file.
    size: u64,
    point: Point,
    /// Bytes of the file from the point on, after those that are used.
    read: Vec<u8>,
    used: usize,
    /// Of the gzip member so far, where it is compared.
    checksum: Option<Crc>,
}

impl<'a> Unpacker<'a> {
    fn new(resource: ResourceId, fetch: &'a dyn Fetch, point: Point) -> Result<Unpacker<'a>, Error> {
        let size = fetch.size(resource)?;
        Ok(Unpacker { resource, fetch, size, point, read: Vec::new(), used: 0, checksum: None })
    }

    /// Fills `into` with the bytes from `offset` on, which is not before the point.
    fn fill(&mut self, offset: u64, into: &mut [u8]) -> Result<(), UnpackError> {
        let mut skipped = vec![0; STEP.min((offset - self.point.unpacked) as usize)];
        while self.point.unpacked < offset {
            let most = skipped.len().min((offset - self.point.unpacked) as usize);
            self.unpack_some(&mut skipped[..most])?;
        }
        let mut filled = 0;
        while filled < into.len() {
            filled += self.unpack_some(&mut into[filled..])?;
            if self.fetch.cancelled() {
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
            if self.point.decoder.is_none() && !self.header()? {
                return Ok(0);
            }
            self.read_on()?;
            let decoder = self.point.decoder.as_mut().expect("the header is read");
            let result = inflate(decoder, &self.read[self.used..], out, MZFlush::None);
            self.skip(result.bytes_consumed);
            self.point.unpacked += result.bytes_written as u64;
            if let Some(checksum) = &mut self.checksum {
                checksum.update(&out[..result.bytes_written]);
            }
            match result.status {
                Ok(MZStatus::StreamEnd) => self.trailer()?,
                Ok(_) => {}
                Err(MZError::Buf) if self.point.packed < self.size => {}
                Err(MZError::Buf) => return Err(self.damaged("the file ends within compressed data")),
                Err(_) => return Err(self.damaged("its compressed data are damaged")),
            }
            if result.bytes_written > 0 {
                return Ok(result.bytes_written);
            }
        }
    }

    /// Reads more of the file where nothing is left of what has been read.
    fn read_on(&mut self) -> Result<(), Error> {
        if self.used == self.read.len() && self.point.packed < self.size {
            let most = (STEP as u64).min(self.fetch.largest().max(1));
            let end = self.size.min(self.point.packed + most);
            self.fetch.read_over(self.resource, self.point.packed..end, &mut self.read)?;
            self.used = 0;
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.used += bytes;
        self.point.packed += bytes as u64;
    }

    fn byte(&mut self) -> Result<u8, UnpackError> {
        self.read_on()?;
        let Some(&byte) = self.read.get(self.used) else {
            return Err(self.damaged("the file ends within a gzip header or trailer"));
        };
        self.skip(1);
        Ok(byte)
    }

    /// Reads the header of a gzip member (RFC 1952); false at the end of the file, which zeros may fill up.
    fn header(&mut self) -> Result<bool, UnpackError> {
        self.read_on()?;
        if matches!(self.read.get(self.used), None | Some(0)) {
            return Ok(false);
        }
        if [self.byte()?, self.byte()?, self.byte()?] != [0x1F, 0x8B, 8] {
            return Err(self.damaged("expected a gzip header"));
        }
        let flags = self.byte()?;
        self.skip_bytes(6)?;
        if flags & 4 != 0 {
            let extra = u16::from_le_bytes([self.byte()?, self.byte()?]);
            self.skip_bytes(extra)?;
        }
        // A name, and a comment.
        for flag in [8, 16] {
            while flags & flag != 0 && self.byte()? != 0 {}
        }
        if flags & 2 != 0 {
            self.skip_bytes(2)?;
        }
        self.point.decoder = Some(InflateState::new_boxed(DataFormat::Raw));
        Ok(true)
    }

    fn skip_bytes(&mut self, n: u16) -> Result<(), UnpackError> {
        (0..n).try_for_each(|_| self.byte().map(drop))
    }

    /// Reads what ends a gzip member.
    fn trailer(&mut self) -> Result<(), UnpackError> {
        self.point.decoder = None;
        let mut words = [0; 2];
        for word in &mut words {
            *word = u32::from_le_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]);
        }
        if let Some(checksum) = &mut self.checksum {
            if words != [checksum.sum(), checksum.amount()] {
                return Err(self.damaged("its checksum is another one"));
            }
            checksum.reset();
        }
        Ok(())
    }

    fn damaged(&self, what: &str) -> UnpackError {
        UnpackError::Damaged(self.point.packed, what.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::write::GzEncoder;
    use flate2::{Compression, GzBuilder};
    use tesson_core::{InMemory, LOOKAHEAD};

    use super::*;

    const FILE: ResourceId = ResourceId(0);

    /// Bytes that compress somewhat.
    fn bytes(n: usize) -> Vec<u8> {
        (0..n as u64).map(|i| (i.wrapping_mul(i) >> 7) as u8 & 0x3F).collect()
    }

    fn finished(mut encoder: GzEncoder<Vec<u8>>, bytes: &[u8]) -> Vec<u8> {
        encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        finished(GzEncoder::new(Vec::new(), Compression::default()), bytes)
    }

    /// All that a file unpacks to, or what is wrong with it.
    fn all(packed: &[u8]) -> Result<Vec<u8>, String> {
        let file = InMemory::new(packed);
        let gunzip = Gunzip::new(FILE, &file).map_err(|error| match error {
            UnpackError::Damaged(offset, what) => format!("{offset}: {what}"),
            UnpackError::Error(error) => error.to_string(),
        })?;
        let (unpacked, mut out) = (gunzip.unpacked(Path::new("f"), &file), Vec::new());
        unpacked.read_after(FILE, 0..gunzip.size, 0, &mut out).map_err(|e| e.to_string())?;
        Ok(out)
    }

    #[test]
    fn any_part_is_read_in_any_order() {
        let whole = bytes(3_000_000);
        let packed = [gzip(&whole[..700_001]), gzip(b""), gzip(&whole[700_001..])].concat();
        let file = InMemory::new(&packed[..]);
        for spacing in [1, 100_000, u64::MAX] {
            let gunzip = Gunzip::with_spacing(spacing, FILE, &file).ok().unwrap();
            assert!(gunzip.points.len() <= MOST_POINTS);
            assert_eq!(gunzip.points.len() == 1, spacing == u64::MAX);
            let (mut at, mut out) = (1u64, b"kept".to_vec());
            for _ in 0..4 {
                let unpacked = gunzip.unpacked(Path::new("f"), &file);
                for _ in 0..25 {
                    at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let start = (at >> 33) % 2_990_000;
                    let end = start + (at >> 50) % 9_000;
                    unpacked.read_after(FILE, start..end, 4, &mut out).unwrap();
                    assert_eq!(&out[..4], b"kept");
                    assert!(out[4..] == whole[start as usize..end as usize], "{start}..{end} of {spacing}");
                }
                // In order, some bytes apart.
                for start in (0..500_000u64).step_by(7_919) {
                    unpacked.read_after(FILE, start..start + 100, 4, &mut out).unwrap();
                    assert!(out[4..] == whole[start as usize..start as usize + 100], "{start}");
                }
            }
        }
    }

    #[test]
    fn headers_may_have_all_their_fields() {
        let encoder = GzBuilder::new().filename("a name").comment("words").extra(vec![7; 300]);
        let mut packed = finished(encoder.write(Vec::new(), Compression::fast()), b"content");
        assert_eq!(all(&packed).as_deref(), Ok(&b"content"[..]));
        // With a checksum of the header, and filled up with zeros.
        packed[3] |= 2;
        let end = 12 + 300 + "a name".len() + 1 + "words".len() + 1;
        packed.splice(end..end, [1, 2]);
        packed.extend([0; 1000]);
        assert_eq!(all(&packed).as_deref(), Ok(&b"content"[..]));
    }

    /// A cut or changed file is refused, or unpacks to the same: what is of no meaning may have changed.
    #[test]
    fn no_damage_goes_unnoticed() {
        let whole = bytes(2_000);
        let packed = gzip(&whole);
        assert_eq!(all(&packed), Ok(whole.clone()));
        for n in 1..packed.len() {
            assert!(all(&packed[..n]).is_err(), "cut after {n} bytes");
        }
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut changed = packed.clone();
                changed[at] ^= 1 << bit;
                assert!(
                    all(&changed).is_ok_and(|found| found == whole) || all(&changed).is_err(),
                    "{at}:{bit}"
                );
            }
        }
    }

    #[test]
    fn reads_beyond_the_limit_are_refused() {
        let packed = gzip(&vec![0; 1 << 20]);
        let file = InMemory { largest: 1 << 10, ..InMemory::new(&packed[..]) };
        let gunzip = Gunzip::new(FILE, &file).ok().unwrap();
        let (unpacked, mut out) = (gunzip.unpacked(Path::new("f"), &file), Vec::new());
        assert!(unpacked.read_after(FILE, 0..(1 << 10) + LOOKAHEAD, 0, &mut out).is_ok());
        assert!(unpacked.read_after(FILE, 0..(1 << 10) + LOOKAHEAD + 1, 0, &mut out).is_err());
    }
}
