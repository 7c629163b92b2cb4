//! Sound files: WAV with whole numbers as samples (spec/tfds.md §6.3).

use super::super::cast;
use super::super::dtype::DType;

/// Appends the samples of a file as values of a type; its channels are mixed or repeated to the requested number.
/// Returns the number of samples and of channels.
///
/// Samples keep their size: those of 16 bits reach from −32768 to 32767. Samples of 8 bits count from the middle, those of
/// 24 bits are the upper bytes of 32 bits.
pub(super) fn decode(
    file: &[u8],
    channels: Option<usize>,
    dtype: DType,
    out: &mut Vec<u8>,
) -> Result<(usize, usize), String> {
    let Wave { format, data } = Wave::of(file)?;
    let wanted = channels.unwrap_or(format.channels);
    let mix = Mix::of(format.channels, wanted)?;
    let frame = format.channels * format.width;
    if !data.len().is_multiple_of(frame) {
        return Err(format!("{} bytes of samples, {frame} for each instant are expected", data.len()));
    }
    let mut one = vec![0_i64; format.channels];
    let mut mixed = Vec::with_capacity(data.len() / frame * wanted);
    for bytes in data.chunks_exact(frame) {
        for (sample, bytes) in one.iter_mut().zip(bytes.chunks_exact(format.width)) {
            *sample = sample_of(bytes);
        }
        match mix {
            Mix::None => mixed.extend_from_slice(&one),
            Mix::Repeat => mixed.extend(std::iter::repeat_n(one[0], wanted)),
            // Halves are rounded down, as the mean of two channels is elsewhere.
            Mix::Mean => mixed.push(one.iter().sum::<i64>().div_euclid(one.len() as i64)),
        }
    }
    match dtype {
        DType::Float16 | DType::Float32 | DType::Float64 => {
            let floats: Vec<f32> = mixed.iter().map(|v| *v as f32).collect();
            cast::floats(dtype, &floats, out);
        }
        _ if dtype.stored_in().is_some() => cast::ints(dtype, &mixed, out),
        _ => return Err(format!("samples of type `{}`", dtype.name())),
    }
    Ok((data.len() / frame, wanted))
}

#[derive(Clone, Copy)]
enum Mix {
    None,
    Repeat,
    Mean,
}

impl Mix {
    fn of(found: usize, wanted: usize) -> Result<Mix, String> {
        match (found, wanted) {
            _ if found == wanted => Ok(Mix::None),
            (1, _) => Ok(Mix::Repeat),
            (_, 1) => Ok(Mix::Mean),
            _ => Err(format!("{found} channels, expected {wanted}")),
        }
    }
}

/// A whole number of 1 to 4 bytes. A single byte has no sign.
fn sample_of(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(a) - 128,
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c] => i64::from(i32::from_le_bytes([0, a, b, c])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => 0,
    }
}

#[derive(Clone, Copy)]
struct Format {
    channels: usize,
    /// Bytes of a sample.
    width: usize,
}

struct Wave<'a> {
    format: Format,
    data: &'a [u8],
}

/// Samples as whole numbers, and the extended form of the header, which declares them further on.
const PCM: u16 = 1;
const EXTENSIBLE: u16 = 0xfffe;

impl<'a> Wave<'a> {
    /// Walks over the chunks of a RIFF file. Lengths beyond the file are errors, but that of the samples: programs that
    /// write to a pipe leave it open.
    fn of(file: &'a [u8]) -> Result<Wave<'a>, String> {
        let [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', rest @ ..] = file else {
            return Err("the file is no WAV; other files are not decoded, `raw` hands them out".to_owned());
        };
        let (mut rest, mut format) = (rest, None);
        while let [a, b, c, d, l0, l1, l2, l3, body @ ..] = rest {
            let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]) as usize;
            match (&[*a, *b, *c, *d], format) {
                (b"data", Some(format)) => {
                    let open = length == u32::MAX as usize || length == 0 && !body.is_empty();
                    let data = if open { Some(body) } else { body.get(..length) };
                    let data =
                        data.ok_or_else(|| format!("{length} bytes of samples, {} are left", body.len()))?;
                    return Ok(Wave { format, data });
                }
                (b"fmt ", _) => format = Some(Format::of(body.get(..length).unwrap_or_default())?),
                _ => {}
            }
            rest = body.get(length + (length & 1)..).unwrap_or_default();
        }
        Err("the file has no samples".to_owned())
    }
}

impl Format {
    fn of(chunk: &[u8]) -> Result<Format, String> {
        let word = |at: usize| chunk.get(at..at + 2).map(|w| u16::from_le_bytes([w[0], w[1]]));
        let (Some(mut tag), Some(channels), Some(bits)) = (word(0), word(2), word(14)) else {
            return Err("the chunk `fmt ` is cut".to_owned());
        };
        if tag == EXTENSIBLE {
            tag = word(24).unwrap_or(tag);
        }
        if tag != PCM || !matches!(bits, 8 | 16 | 24 | 32) || channels == 0 {
            return Err(format!(
                "{channels} channels of {bits} bits in form {tag}, expected whole numbers of 8, 16, 24 or 32 bits"
            ));
        }
        Ok(Format { channels: usize::from(channels), width: usize::from(bits / 8) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these samples, 16 bits each.
    fn file(channels: u16, samples: &[i16]) -> Vec<u8> {
        let mut fmt = [1_u16, channels].map(u16::to_le_bytes).concat();
        fmt.extend([16_000_u32, 32_000 * u32::from(channels)].map(u32::to_le_bytes).concat());
        fmt.extend([channels * 2, 16].map(u16::to_le_bytes).concat());
        let data: Vec<u8> = samples.iter().flat_map(|s| s.to_le_bytes()).collect();
        let chunk = |name: &[u8], body: &[u8]| [name, &(body.len() as u32).to_le_bytes(), body].concat();
        let body =
            [b"WAVE".to_vec(), chunk(b"LIST", &[1, 2, 3, 4]), chunk(b"fmt ", &fmt), chunk(b"data", &data)];
        chunk(b"RIFF", &body.concat())
    }

    fn decoded(file: &[u8], channels: Option<usize>) -> Result<Vec<i16>, String> {
        let mut out = Vec::new();
        decode(file, channels, DType::Int16, &mut out)?;
        Ok(out.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect())
    }

    #[test]
    fn channels_are_mixed_or_repeated() {
        let stereo = file(2, &[1, 2, -3, -4, 32767, 32767]);
        assert_eq!(decoded(&stereo, None), Ok(vec![1, 2, -3, -4, 32767, 32767]));
        assert_eq!(decoded(&stereo, Some(1)), Ok(vec![1, -4, 32767]));
        assert_eq!(decoded(&file(1, &[5, -6]), Some(2)), Ok(vec![5, 5, -6, -6]));
        assert!(decoded(&file(3, &[1, 2, 3]), Some(2)).is_err());
    }

    #[test]
    fn cut_files_are_refused() {
        let whole = file(2, &[1, 2, 3, 4]);
        for cut in 0..whole.len() {
            assert!(decoded(&whole[..cut], None).is_err(), "cut to {cut} bytes");
        }
        assert!(decoded(&whole, None).is_ok());
    }
}
