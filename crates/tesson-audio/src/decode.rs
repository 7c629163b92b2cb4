//! WAV and FLAC files, decoded to one channel.

use std::io;

use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;

use crate::fault::AudioFault;

/// What the beginning of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Samples of each channel in a second.
    pub(crate) rate: u32,
    /// Samples of each channel.
    pub(crate) n_samples: u64,
}

/// Memory of a thread, kept from file to file.
#[derive(Default)]
pub(crate) struct Decoded {
    /// The samples from -1 to 1, channels averaged.
    pub(crate) mono: Vec<f32>,
    interleaved: Vec<f32>,
}

struct Opened<'a> {
    reader: Box<dyn FormatReader + 'a>,
    track: u32,
    codec: AudioCodecParameters,
    header: Header,
}

fn open<'a>(source: Box<dyn MediaSource + 'a>) -> Result<Opened<'a>, AudioFault> {
    let stream = MediaSourceStream::new(source, Default::default());
    let (format, metadata) = (FormatOptions::default(), MetadataOptions::default());
    let reader = symphonia::default::get_probe().probe(&Hint::new(), stream, format, metadata);
    let reader = reader.map_err(|e| AudioFault::NotAudio { what: text(&e) })?;
    let missing = |what: &str| AudioFault::NotAudio { what: what.into() };
    let track = reader.default_track(TrackType::Audio).ok_or_else(|| missing("it has no sound"))?;
    let codec = track.codec_params.as_ref().and_then(|codec| codec.audio());
    let codec = codec.ok_or_else(|| missing("its encoding is not said"))?.clone();
    let rate = codec.sample_rate.filter(|&rate| rate > 0).ok_or_else(|| missing("its rate is not said"))?;
    let n_samples = track.num_frames.ok_or_else(|| missing("its length is not said"))?;
    let track = track.id;
    Ok(Opened { reader, track, codec, header: Header { rate, n_samples } })
}

/// Reads what the beginning of a file says.
pub(crate) fn header<'a>(source: impl MediaSource + 'a) -> Result<Header, AudioFault> {
    open(Box::new(source)).map(|opened| opened.header)
}

impl Decoded {
    /// Decodes a file. It has to have as many samples as its beginning says.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Result<Header, AudioFault> {
        self.mono.clear();
        let Opened { mut reader, track, codec, header } = open(Box::new(io::Cursor::new(bytes)))?;
        let corrupt = |e: Error| AudioFault::Corrupt { what: text(&e) };
        let decoder =
            symphonia::default::get_codecs().make_audio_decoder(&codec, &AudioDecoderOptions::default());
        let mut decoder = decoder.map_err(|e| AudioFault::NotAudio { what: text(&e) })?;
        while let Some(packet) = reader.next_packet().or_else(at_end).map_err(corrupt)? {
            if packet.track_id != track {
                continue;
            }
            let samples = decoder.decode(&packet).map_err(corrupt)?;
            let channels = samples.spec().channels().count().max(1);
            samples.copy_to_vec_interleaved(&mut self.interleaved);
            let share = 1.0 / channels as f32;
            let mean = |channels: &[f32]| channels.iter().sum::<f32>() * share;
            match channels {
                1 => self.mono.extend_from_slice(&self.interleaved),
                _ => self.mono.extend(self.interleaved.chunks_exact(channels).map(mean)),
            }
            if self.mono.len() as u64 > header.n_samples {
                break;
            }
        }
        match self.mono.len() as u64 {
            n if n == header.n_samples => Ok(header),
            found => Err(AudioFault::OtherLength { found, expected: header.n_samples }),
        }
    }
}

/// A file that ends early is found out by its length.
fn at_end<T>(error: Error) -> Result<Option<T>, Error> {
    match error {
        Error::IoError(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        error => Err(error),
    }
}

fn text(error: &Error) -> String {
    error.to_string()
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
        assert_eq!(super::header(io::Cursor::new(FLAC)).unwrap(), header);
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
