//! WAV and FLAC files, decoded to one channel.

use std::io::{self, BufRead, Cursor, Read, Seek};

use claxon::{FlacReader, FlacReaderOptions};

use crate::fault::AudioFault;
use crate::wav::{Wav, unreadable};

/// The format that the header of a file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Samples of each channel in a second.
    pub(crate) rate: u32,
    /// Samples of each channel.
    pub(crate) n_samples: u64,
}

/// A file after its header has been read.
enum Opened<R: Read> {
    Wav(Wav),
    Flac(FlacReader<R>),
}

impl<R: BufRead + Seek> Opened<R> {
    /// Reads the header of a file of `size` bytes.
    fn new(mut file: R, size: u64) -> Result<Opened<R>, AudioFault> {
        let begin = skip_id3(&mut file)?;
        let start = file.fill_buf().map_err(unreadable)?;
        match start.get(..4) {
            Some(b"RIFF" | b"RF64" | b"BW64") => {
                Wav::read(&mut file, begin..size.max(begin)).map(Opened::Wav)
            }
            Some(b"fLaC") => {
                let options = FlacReaderOptions { metadata_only: false, read_vorbis_comment: false };
                let flac = FlacReader::new_ext(file, options);
                flac.map(Opened::Flac).map_err(|e| AudioFault::NotAudio { what: e.to_string() })
            }
            _ => {
                let found = start[..start.len().min(4)].escape_ascii();
                Err(AudioFault::NotAudio { what: format!("it begins with `{found}`") })
            }
        }
    }

    fn header(&self) -> Result<Header, AudioFault> {
        let (rate, n_samples) = match self {
            Opened::Wav(file) => (file.header.rate, Some(file.n_samples())),
            Opened::Flac(file) => (file.streaminfo().sample_rate, file.streaminfo().samples),
        };
        match n_samples.filter(|_| rate > 0) {
            Some(n_samples) => Ok(Header { rate, n_samples }),
            None => Err(AudioFault::NotAudio { what: "its rate or length is not said".into() }),
        }
    }
}

/// Skips a tag that programs for music put before recordings: `ID3`, a version, flags, and its length in four times 7 bits.
/// Returns the bytes that it has.
fn skip_id3(file: &mut (impl BufRead + Seek)) -> Result<u64, AudioFault> {
    const FOOTER: u8 = 0x10;
    let Some(&[b'I', b'D', b'3', _, _, flags, a, b, c, d]) =
        file.fill_buf().map_err(unreadable)?.first_chunk()
    else {
        return Ok(0);
    };
    let length = [a, b, c, d].iter().fold(0, |length, &byte| length << 7 | i64::from(byte & 0x7f));
    let footer = if flags & FOOTER == 0 { 0 } else { 10 };
    let all = 10 + length + footer;
    file.seek_relative(all).map_err(unreadable)?;
    Ok(all as u64)
}

/// Reads the format that the header of a file of `size` bytes declares.
pub(crate) fn header(file: impl Read + Seek, size: u64) -> Result<Header, AudioFault> {
    Opened::new(io::BufReader::with_capacity(HEADER_BYTES, file), size)?.header()
}

/// Bytes that are read at once where only the beginning is wanted.
const HEADER_BYTES: usize = 1 << 10;

/// Memory of a thread, kept from file to file.
#[derive(Default)]
pub(crate) struct Decoded {
    /// The samples from -1 to 1, channels averaged.
    pub(crate) mono: Vec<f32>,
    block: Vec<i32>,
}

impl Decoded {
    /// Decodes a file. It has to have as many samples as its beginning says.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Result<Header, AudioFault> {
        self.mono.clear();
        let opened = Opened::new(Cursor::new(bytes), bytes.len() as u64)?;
        let header = opened.header()?;
        match opened {
            Opened::Wav(file) => file.decode(bytes, &mut self.mono),
            Opened::Flac(file) => self.decode_flac(file, header.n_samples)?,
        }
        match self.mono.len() as u64 {
            n if n == header.n_samples => Ok(header),
            found => Err(AudioFault::OtherLength { found, expected: header.n_samples }),
        }
    }

    fn decode_flac(&mut self, mut file: FlacReader<Cursor<&[u8]>>, n_samples: u64) -> Result<(), AudioFault> {
        let scale = scale(file.streaminfo().bits_per_sample);
        let mut blocks = file.blocks();
        while (self.mono.len() as u64) <= n_samples {
            let block = match blocks.read_next_or_eof(std::mem::take(&mut self.block)) {
                Ok(Some(block)) => block,
                Ok(None) | Err(claxon::Error::IoError(_)) => return Ok(()),
                Err(e) => return Err(AudioFault::Corrupt { what: e.to_string() }),
            };
            let n_channels = block.channels();
            self.mono.extend((0..block.duration()).map(|i| {
                let sum: f32 = (0..n_channels).map(|channel| block.sample(channel, i) as f32 * scale).sum();
                sum / n_channels as f32
            }));
            self.block = block.into_buffer();
        }
        Ok(())
    }
}

/// The factor that scales an integer of `bits` bits to between -1 and 1.
fn scale(bits: u32) -> f32 {
    1.0 / (1_u64 << bits.saturating_sub(1).min(32)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAV: &[u8] = include_bytes!("../../../examples/speech/recordings/zero.wav");
    const FLAC: &[u8] = include_bytes!("../../../examples/speech/recordings/zero.flac");

    /// A WAV file of two channels of 16 bits.
    fn stereo(frames: &[[i16; 2]]) -> Vec<u8> {
        let data = 4 * frames.len() as u32;
        let mut file = [&b"RIFF"[..], &(36 + data).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
        [1u16, 2].iter().for_each(|x| file.extend(x.to_le_bytes()));
        [8000u32, 32_000].iter().for_each(|x| file.extend(x.to_le_bytes()));
        [4u16, 16].iter().for_each(|x| file.extend(x.to_le_bytes()));
        file.extend(b"data");
        file.extend(data.to_le_bytes());
        file.extend(frames.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
        file
    }

    #[test]
    fn flac_has_the_samples_of_wav() {
        let (mut wav, mut flac) = (Decoded::default(), Decoded::default());
        let header = Header { rate: 22_050, n_samples: (WAV.len() as u64 - 44) / 2 };
        assert_eq!((wav.decode(WAV).unwrap(), flac.decode(FLAC).unwrap()), (header, header));
        assert_eq!(wav.mono, flac.mono);
        let first = i16::from_le_bytes([WAV[44 + 8000], WAV[45 + 8000]]);
        assert_eq!(wav.mono[4000], f32::from(first) / 32_768.0);
        assert_eq!(super::header(Cursor::new(FLAC), FLAC.len() as u64).unwrap(), header);
    }

    #[test]
    fn recordings_may_follow_a_tag() {
        let (mut plain, mut tagged) = (Decoded::default(), Decoded::default());
        for (kind, flags, more) in [(FLAC, 0, 0), (FLAC, 0x10, 10), (WAV, 0, 0), (WAV, 0x10, 10)] {
            plain.decode(kind).unwrap();
            let tag = [&b"ID3\x04\0"[..], &[flags, 0, 0, 1, 2], &vec![b'x'; 130 + more]].concat();
            let file = [&tag, kind].concat();
            tagged.decode(&file).unwrap();
            assert_eq!(tagged.mono, plain.mono);
            assert_eq!(super::header(Cursor::new(&file), file.len() as u64).unwrap().rate, 22_050);
        }
        // Another file may have such a tag, or a tag may be cut off.
        for rest in [&b"\xff\xfb\x90\0"[..], b""] {
            let tag = [b"ID3\x04\0\0\0\0\0\x04abcd", rest].concat();
            let error = tagged.decode(&tag).unwrap_err();
            assert!(matches!(error, AudioFault::NotAudio { .. }), "{error}");
        }
    }

    #[test]
    fn channels_are_averaged() {
        let mut decoded = Decoded::default();
        decoded.decode(&stereo(&[[16_384, 0], [-16_384, 16_384], [100, 300]])).unwrap();
        assert_eq!(decoded.mono, [0.25, 0.0, 200.0 / 32_768.0]);
    }

    #[test]
    fn no_file_that_is_cut_off_or_changed_is_decoded_beyond_its_length() {
        let mut decoded = Decoded::default();
        for file in [WAV, FLAC] {
            for end in (0..file.len()).step_by(997) {
                assert!(decoded.decode(&file[..end]).is_err(), "{end} bytes");
            }
            for at in (0..file.len().min(2000)).chain((2000..file.len()).step_by(331)) {
                let mut changed = file.to_vec();
                changed[at] ^= 0x55;
                let n = decoded.decode(&changed).map(|header| header.n_samples);
                assert!(n.is_err() || n == Ok(decoded.mono.len() as u64), "byte {at}");
            }
        }
    }
}
