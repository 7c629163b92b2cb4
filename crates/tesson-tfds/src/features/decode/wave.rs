//! Sound files: WAV with whole numbers as samples (spec/tfds.md §6.3).

use std::io::Cursor;

use tesson_core::Wave;

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
    let (wave, data) = opened(file)?;
    let (found, width) = (usize::from(wave.channels), usize::from(wave.width));
    let wanted = channels.unwrap_or(found);
    let mix = Mix::of(found, wanted)?;
    let frame = wave.frame_bytes();
    if !data.len().is_multiple_of(frame) {
        return Err(format!("{} bytes of samples, {frame} for each instant are expected", data.len()));
    }
    let mut one = vec![0_i64; found];
    let mut mixed = Vec::with_capacity(data.len() / frame * wanted);
    for bytes in data.chunks_exact(frame) {
        for (sample, bytes) in one.iter_mut().zip(bytes.chunks_exact(width)) {
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

/// The header of a file, and its samples.
fn opened(file: &[u8]) -> Result<(Wave, &[u8]), String> {
    if !file.starts_with(b"RIFF") && !file.starts_with(b"RF64") {
        return Err("the file is no WAV; other files are not decoded, `raw` hands them out".to_owned());
    }
    let wave = Wave::read(&mut Cursor::new(file), 0..file.len() as u64)
        .map_err(|what| format!("the file is no usable WAV: {what}"))?;
    let Wave { format, width, bits, channels, .. } = wave;
    if format != Some(Wave::PCM) || !matches!(width, 1..=4) || !(1..=8 * width).contains(&bits) {
        let form = format.map_or("an unknown form".to_owned(), |format| format!("form {format}"));
        return Err(format!(
            "{channels} channels of {bits} bits in {form}, expected whole numbers of 8, 16, 24 or 32 bits"
        ));
    }
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    match file.get(place(wave.data.start)..place(wave.data.end)) {
        Some(data) => Ok((wave, data)),
        None => Err(format!(
            "{} bytes of samples, {} are left",
            wave.data.end - wave.data.start,
            file.len() as u64 - wave.data.start
        )),
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
    fn samples_lie_in_the_high_bits_of_their_containers() {
        // 24 bits in four bytes, as a plain header declares them.
        let mut wide = file(1, &[0, 0x4000, 0x0100, -2]);
        wide[44..46].copy_from_slice(&4_u16.to_le_bytes());
        wide[46..48].copy_from_slice(&24_u16.to_le_bytes());
        let mut out = Vec::new();
        assert_eq!(decode(&wide, None, DType::Int32, &mut out), Ok((2, 1)));
        let samples = [0x4000_0000_i32, -0x1_ff00].map(i32::to_le_bytes).concat();
        assert_eq!(out, samples);
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
