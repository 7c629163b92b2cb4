//! WAV files: the chunks before the samples, and samples of every uncompressed encoding.
//!
//! The format puts numbers into the high bits of their containers, for any number of valid bits, with plain and with
//! extensible headers. The lower bits are then zeros, and a sample is the container's value.

use std::io::{self, Read, Seek};
use std::ops::Range;

use tesson_core::Wave;

use crate::fault::AudioFault;

/// A WAV file's header, and how its samples are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wav {
    pub(crate) header: Wave,
    encoding: Encoding,
}

/// The encoding of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// Whole numbers of 1 to 8 bytes. Those of one byte have no sign.
    Whole,
    Float32,
    Float64,
    ALaw,
    MuLaw,
}

const PCM: u16 = Wave::PCM;
const FLOAT: u16 = 3;
const A_LAW: u16 = 6;
const MU_LAW: u16 = 7;

/// Compressed formats that WAV files are met with.
const COMPRESSED: [(u16, &str); 10] = [
    (0x0002, "Microsoft ADPCM"),
    (0x0011, "IMA ADPCM"),
    (0x0014, "G.723 ADPCM"),
    (0x0031, "GSM 6.10"),
    (0x0040, "G.721 ADPCM"),
    (0x0050, "MPEG audio"),
    (0x0055, "MP3"),
    (0x00ff, "AAC"),
    (0x0161, "Windows Media Audio"),
    (0xf1ac, "FLAC"),
];

impl Wav {
    /// Reads the beginning of a file that lies at these bytes of another.
    pub(crate) fn read(file: &mut (impl Read + Seek), place: Range<u64>) -> Result<Wav, AudioFault> {
        let header = Wave::read(file, place).map_err(|what| AudioFault::NotAudio { what })?;
        Ok(Wav { encoding: Encoding::of(&header)?, header })
    }

    /// Samples of each channel.
    pub(crate) fn n_samples(&self) -> u64 {
        (self.header.data.end - self.header.data.start) / self.header.frame_bytes() as u64
    }

    /// Appends the samples that a file holds, from -1 to 1, its channels averaged.
    pub(crate) fn decode(&self, file: &[u8], mono: &mut Vec<f32>) {
        let position = |at: u64| usize::try_from(at).map_or(file.len(), |at| at.min(file.len()));
        let Wave { data, channels, width, .. } = &self.header;
        let data = &file[position(data.start)..position(data.end)];
        let width = usize::from(*width);
        let sum = |frame: &[u8]| frame.chunks_exact(width).map(|bytes| self.encoding.sample(bytes)).sum();
        let mean = |frame: &[u8]| -> f32 {
            let sum: f32 = sum(frame);
            sum / f32::from(*channels)
        };
        mono.extend(data.chunks_exact(self.header.frame_bytes()).map(mean));
    }
}

impl Encoding {
    /// How the samples of a file are written.
    ///
    /// # Errors
    /// They are compressed, or of an unknown kind.
    fn of(&Wave { format, width, bits, channels, .. }: &Wave) -> Result<Encoding, AudioFault> {
        let other = |found: String| Err(AudioFault::OtherEncoding { found });
        let Some(format) = format else { return other("samples of an unknown sub-format".into()) };
        match (format, width) {
            (PCM, 1..=8) if (1..=8 * width).contains(&bits) => Ok(Encoding::Whole),
            (FLOAT, 4) => Ok(Encoding::Float32),
            (FLOAT, 8) => Ok(Encoding::Float64),
            (A_LAW, 1) => Ok(Encoding::ALaw),
            (MU_LAW, 1) => Ok(Encoding::MuLaw),
            (PCM | FLOAT | A_LAW | MU_LAW, 0) => {
                let what =
                    format!("its samples have no whole number of bytes in each of {channels} channels");
                Err(AudioFault::NotAudio { what })
            }
            (PCM | FLOAT | A_LAW | MU_LAW, _) => {
                other(format!("samples of {bits} bits in {width} bytes (format {format})"))
            }
            _ => {
                let name = COMPRESSED.iter().find(|(number, _)| *number == format);
                let name = name.map_or("samples of an unknown kind", |(_, name)| name);
                other(format!("{name} (format {format})"))
            }
        }
    }

    /// A sample, from -1 to 1.
    fn sample(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Encoding::Whole, &[byte]) => whole(&[byte ^ 0x80]),
            (Encoding::ALaw, &[byte]) => f32::from(a_law(byte)) / 32_768.0,
            (Encoding::MuLaw, &[byte]) => f32::from(mu_law(byte)) / 32_768.0,
            (Encoding::Float32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Encoding::Float64, &[a, b, c, d, e, f, g, h]) => {
                f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32
            }
            (_, bytes) => whole(bytes),
        }
    }
}

/// A whole number with a sign, as a part of the largest.
fn whole(bytes: &[u8]) -> f32 {
    let mut high = [0; 8];
    high[8 - bytes.len()..].copy_from_slice(bytes);
    // A power of two: only whole numbers of more than 24 bits are rounded, and once.
    i64::from_le_bytes(high) as f32 / (1_u64 << 63) as f32
}

/// A sample of ITU-T G.711's A-law, in 16 bits.
fn a_law(code: u8) -> i16 {
    let code = code ^ 0x55;
    let (segment, step) = ((code >> 4) & 7, i16::from(code & 0x0f) << 4);
    let size = match segment {
        0 => step + 8,
        _ => (step + 0x108) << (segment - 1),
    };
    if code & 0x80 == 0 { -size } else { size }
}

/// A sample of ITU-T G.711's µ-law, in 16 bits.
fn mu_law(code: u8) -> i16 {
    let code = !code;
    let size = ((i16::from(code & 0x0f) << 3) + 0x84) << ((code >> 4) & 7);
    if code & 0x80 == 0 { size - 0x84 } else { 0x84 - size }
}

/// Why the beginning of a file cannot be read.
pub(crate) fn unreadable(error: io::Error) -> AudioFault {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends within its header".to_owned(),
        _ => error.to_string(),
    };
    AudioFault::NotAudio { what }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const EXTENSIBLE: u16 = 0xfffe;
    const SUB_FORMAT_END: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

    /// The chunk `fmt ` of one channel.
    fn format(format: u16, width: u16, bits: u16) -> Vec<u8> {
        let mut chunk = [format, 1].map(u16::to_le_bytes).concat();
        chunk.extend([8000, 8000 * u32::from(width)].map(u32::to_le_bytes).concat());
        chunk.extend([width, bits].map(u16::to_le_bytes).concat());
        chunk
    }

    /// An extensible chunk `fmt ` of one channel: the size of containers, and the number of valid bits.
    fn extensible(sub_format: u16, width: u16, bits: u16) -> Vec<u8> {
        let mut chunk = format(EXTENSIBLE, width, 8 * width);
        chunk.extend([22, bits, 4, 0, sub_format].map(u16::to_le_bytes).concat());
        chunk.extend(SUB_FORMAT_END);
        chunk
    }

    fn chunk(name: &[u8], body: &[u8]) -> Vec<u8> {
        let padding = &[0][..body.len() & 1];
        [name, &(body.len() as u32).to_le_bytes(), body, padding].concat()
    }

    fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
        chunk(b"RIFF", &[b"WAVE".to_vec(), chunks.concat()].concat())
    }

    fn file(format: &[u8], data: &[u8]) -> Vec<u8> {
        riff(&[chunk(b"fmt ", format), chunk(b"data", data)])
    }

    fn decoded(file: &[u8]) -> Result<Vec<f32>, AudioFault> {
        let wav = Wav::read(&mut Cursor::new(file), 0..file.len() as u64)?;
        let mut mono = Vec::new();
        wav.decode(file, &mut mono);
        Ok(mono)
    }

    #[test]
    fn whole_numbers_lie_in_the_high_bits_of_their_containers() {
        for width in 1..=8_u16 {
            for bits in 1..=8 * width {
                let numbers = [-1_i64 << 63, 0x5a5a_5a5a_5a5a_5a5a, 0, -1 << (64 - bits), i64::MAX];
                // Bits that do not count are zeros.
                let numbers = numbers.map(|number| number >> (64 - bits) << (64 - bits));
                let bytes = |number: &i64| {
                    let mut bytes = number.to_le_bytes()[8 - usize::from(width)..].to_vec();
                    bytes[0] ^= if width == 1 { 0x80 } else { 0 };
                    bytes
                };
                let data: Vec<u8> = numbers.iter().flat_map(bytes).collect();
                let expected = numbers.map(|number| (number as f64 / 2_f64.powi(63)) as f32);
                for header in [format(PCM, width, bits), extensible(PCM, width, bits)] {
                    assert_eq!(
                        decoded(&file(&header, &data)).unwrap(),
                        expected,
                        "{bits} bits in {width} bytes"
                    );
                }
            }
        }
    }

    #[test]
    fn floats_of_both_precisions_are_taken_as_they_are() {
        let numbers = [0.25_f64, -1.5, 1e-3];
        let expected = numbers.map(|number| number as f32);
        let short: Vec<u8> = expected.iter().flat_map(|x| x.to_le_bytes()).collect();
        let long: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        for header in [format, extensible] {
            assert_eq!(decoded(&file(&header(FLOAT, 4, 32), &short)).unwrap(), expected);
            assert_eq!(decoded(&file(&header(FLOAT, 8, 64), &long)).unwrap(), expected);
        }
    }

    #[test]
    fn companded_samples_are_those_of_g_711() {
        // Both ends, the steps around zero, and one from the middle of each sign, as libsndfile decodes them.
        let a = [(0xaa, 32_256), (0x2a, -32_256), (0xd5, 8), (0x55, -8), (0x80, 5504), (0x1a, -4032)];
        let mu = [(0x80, 32_124), (0x00, -32_124), (0xff, 0), (0x7e, -8), (0xe7, 260), (0x20, -7932)];
        for (tag, table) in [(A_LAW, a), (MU_LAW, mu)] {
            let codes = table.map(|(code, _)| code);
            let expected = table.map(|(_, size): (u8, i16)| f32::from(size) / 32_768.0);
            assert_eq!(decoded(&file(&format(tag, 1, 8), &codes)).unwrap(), expected, "format {tag}");
        }
    }

    #[test]
    fn compressed_samples_are_refused_by_name() {
        let found = |header: &[u8]| match decoded(&file(header, &[1; 8])) {
            Err(AudioFault::OtherEncoding { found }) => found,
            other => panic!("{other:?}"),
        };
        assert_eq!(found(&format(2, 256, 4)), "Microsoft ADPCM (format 2)");
        assert_eq!(found(&extensible(17, 4, 4)), "IMA ADPCM (format 17)");
        assert_eq!(found(&format(0x55, 1, 0)), "MP3 (format 85)");
        let mut stereo = format(0x55, 1, 0);
        stereo[2] = 2;
        assert_eq!(found(&stereo), "MP3 (format 85)");
        assert_eq!(found(&format(999, 1, 8)), "samples of an unknown kind (format 999)");
        assert_eq!(found(&format(FLOAT, 2, 16)), "samples of 16 bits in 2 bytes (format 3)");
        assert_eq!(found(&format(PCM, 2, 24)), "samples of 24 bits in 2 bytes (format 1)");
        let mut other = extensible(PCM, 2, 16);
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(found(&other), "samples of an unknown sub-format");
    }

    #[test]
    fn chunks_of_odd_length_are_followed_by_a_byte_more() {
        let (form, data) = (chunk(b"fmt ", &format(PCM, 2, 16)), chunk(b"data", &[0, 0x40, 0, 0x20]));
        let odd = chunk(b"junk", b"abc");
        for chunks in [
            [odd.clone(), form.clone(), data.clone()],
            [form.clone(), odd.clone(), data.clone()],
            [form.clone(), data.clone(), odd],
            [form, chunk(b"LIST", &[0; 4096]), data],
        ] {
            assert_eq!(decoded(&riff(&chunks)).unwrap(), [0.5, 0.25]);
        }
    }

    #[test]
    fn samples_of_open_length_reach_to_the_end_of_the_file() {
        let whole = file(&format(PCM, 2, 16), &[0, 0x40, 0, 0x20, 0]);
        let with_size = |riff: u32, data: u32| {
            let mut file = whole.clone();
            file[4..8].copy_from_slice(&riff.to_le_bytes());
            file[40..44].copy_from_slice(&data.to_le_bytes());
            decoded(&file).unwrap()
        };
        for (riff, data) in
            [(u32::MAX, u32::MAX), (0, 0), (36, 0), (0x7fff_f024, 0x7fff_f000), (0, 0x7fff_ffff)]
        {
            assert_eq!(with_size(riff, data), [0.5, 0.25, 0.0], "{data}");
        }
        // The file has the size that it declares: the recording is empty.
        assert_eq!(with_size(whole.len() as u32 - 8, 0), []);
    }

    #[test]
    fn files_beyond_4_gib_declare_their_size_in_64_bits() {
        let sizes = [100_u64, 4, 2].map(u64::to_le_bytes).concat();
        let mut file = riff(&[
            chunk(b"ds64", &sizes),
            chunk(b"fmt ", &format(PCM, 2, 16)),
            chunk(b"data", &[0, 0x40, 0, 0x20]),
            chunk(b"LIST", b"more"),
        ]);
        file[..4].copy_from_slice(b"RF64");
        let data = file.len() - 12 - 8;
        file[data..data + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decoded(&file).unwrap(), [0.5, 0.25]);
    }

    #[test]
    fn a_file_without_samples_says_what_is_missing() {
        let what = |file: &[u8]| match decoded(file) {
            Err(AudioFault::NotAudio { what }) => what,
            other => panic!("{other:?}"),
        };
        let form = chunk(b"fmt ", &format(PCM, 2, 16));
        assert_eq!(what(&riff(std::slice::from_ref(&form))), "it has no samples, the chunk `data`");
        assert_eq!(what(&riff(&[chunk(b"data", &[0; 4]), form])), "its samples come before their format");
        assert_eq!(what(&riff(&[chunk(b"fmt ", &[1, 0])])), "its chunk `fmt ` is cut off");
        assert_eq!(what(b"RIFF\0\0\0\0AVI "), "its RIFF form is `AVI `");
        assert_eq!(what(b"RIFF\0\0"), "it ends within its header");
    }
}
