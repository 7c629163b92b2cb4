//! WAV files: the chunks at their beginning, which say how samples are written and where they lie.

use std::io::{self, Read, Seek};
use std::ops::Range;

/// The header of a WAV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Samples of each channel in a second.
    pub rate: u32,
    /// Channels, at least one.
    pub channels: u16,
    /// The number of the format, which an extensible header has further on; `None` for a sub-format without a number.
    pub format: Option<u16>,
    /// Bytes of a sample, in whose high bits whole numbers lie; 0 if those of all channels are no multiple of it.
    pub width: u16,
    /// Bits of a sample that count.
    pub bits: u16,
    /// The bytes of the samples, as declared: a file that is cut off ends before.
    pub data: Range<u64>,
}

/// Sizes that programs declare which write to a pipe and cannot come back: the chunk reaches to the end of the file.
const OPEN_SIZES: [u32; 3] = [u32::MAX, 0x7fff_ffff, 0x7fff_f000];

/// Bytes of a chunk that are looked at, at most.
const LONGEST_CHUNK: u32 = 64;

/// The format of an extensible header, and where its sub-format stands, after the plain header.
const EXTENSIBLE: u16 = 0xfffe;
const SUB_FORMAT: usize = 24;

/// Bytes of a sub-format that follow the two of the format.
const SUB_FORMAT_END: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

impl Wave {
    /// The format of whole numbers.
    pub const PCM: u16 = 1;

    /// Reads the chunks of a file up to its samples. The file may lie within another, whose bytes `place` it has; it is read from
    /// where it stands, its beginning.
    ///
    /// # Errors
    /// The fault of the file, as a clause with the subject "it".
    pub fn read(file: &mut (impl Read + Seek), place: Range<u64>) -> Result<Wave, String> {
        let mut start = [0; 12];
        read_exact(file, &mut start)?;
        let [_, _, _, _, sizes @ .., _, _, _, _] = start;
        if start[8..] != *b"WAVE" {
            return Err(format!("its RIFF form is `{}`", start[8..].escape_ascii()));
        }
        let is_whole = u64::from(u32::from_le_bytes(sizes)) + 8 == place.end - place.start;
        let (mut at, mut form, mut long_size) = (place.start + 12, None, None);
        while at + 8 <= place.end {
            let mut head = [0; 8];
            read_exact(file, &mut head)?;
            let [a, b, c, d, sizes @ ..] = head;
            let (name, declared) = ([a, b, c, d], u32::from_le_bytes(sizes));
            at += 8;
            if name == *b"data" {
                let Some(Form { rate, channels, format, width, bits }) = form else {
                    return Err("its samples come before their format".into());
                };
                // A chunk without bytes, in a file of the declared size, is a recording without samples.
                let is_open = OPEN_SIZES.contains(&declared) || declared == 0 && !is_whole;
                let end = match long_size {
                    Some(long) if declared == u32::MAX => at.saturating_add(long),
                    _ if is_open => place.end,
                    _ => at + u64::from(declared),
                };
                return Ok(Wave { rate, channels, format, width, bits, data: at..end });
            }
            let mut body = Vec::new();
            if [*b"fmt ", *b"ds64"].contains(&name) {
                file.take(declared.min(LONGEST_CHUNK).into()).read_to_end(&mut body).map_err(unreadable)?;
            }
            match &name {
                b"fmt " => form = Some(Form::of(&body)?),
                b"ds64" => long_size = field(&body, 8).map(u64::from_le_bytes),
                _ => {}
            }
            // A chunk of odd length has a byte more, which the length leaves out.
            let whole = u64::from(declared) + u64::from(declared & 1);
            let rest = whole - body.len() as u64;
            file.seek_relative(rest as i64).map_err(unreadable)?;
            at += whole;
        }
        Err("it has no samples, the chunk `data`".into())
    }

    /// Bytes of one sample of all channels.
    pub fn frame_bytes(&self) -> usize {
        usize::from(self.channels) * usize::from(self.width)
    }
}

/// The content of the chunk `fmt `.
struct Form {
    rate: u32,
    channels: u16,
    format: Option<u16>,
    width: u16,
    bits: u16,
}

impl Form {
    fn of(chunk: &[u8]) -> Result<Form, String> {
        let word = |at| field(chunk, at).map(u16::from_le_bytes);
        let (Some(format), Some(channels), Some(rate), Some(frame), Some(bits)) =
            (word(0), word(2), field(chunk, 4).map(u32::from_le_bytes), word(12), word(14))
        else {
            return Err("its chunk `fmt ` is cut off".into());
        };
        let format = match chunk.get(SUB_FORMAT..SUB_FORMAT + 16) {
            Some(&[a, b, ref end @ ..]) if format == EXTENSIBLE => {
                (*end == SUB_FORMAT_END).then(|| u16::from_le_bytes([a, b]))
            }
            _ => Some(format),
        };
        if channels == 0 || rate == 0 {
            return Err(format!("it declares {channels} channels and {rate} samples a second"));
        }
        let width = if frame.is_multiple_of(channels) { frame / channels } else { 0 };
        Ok(Form { rate, channels, format, width, bits })
    }
}

/// A field of a chunk.
fn field<const N: usize>(chunk: &[u8], at: usize) -> Option<[u8; N]> {
    chunk.get(at..)?.first_chunk().copied()
}

fn read_exact(file: &mut impl Read, into: &mut [u8]) -> Result<(), String> {
    file.read_exact(into).map_err(unreadable)
}

fn unreadable(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends within its header".to_owned(),
        _ => error.to_string(),
    }
}
