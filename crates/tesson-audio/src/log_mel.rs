//! Logarithmic energies of mel filters, as Kaldi's `compute-fbank-feats` computes them without dither.
//!
//! A frame of `W` samples begins every `S` samples while a whole frame is left: `N` samples, which lie between -1 and
//! 1, have `1 + (N − W) / S` frames. For each frame
//!
//! 1. the mean is subtracted;
//! 2. each sample loses `preemphasis` times the one before it, the first one of itself;
//! 3. sample `i` is multiplied by `(0.5 − 0.5 cos(2πi / (W − 1)))^0.85`;
//! 4. zeros make it as long as the next power of two, `P`, of which the squared magnitudes of the Fourier transform are the
//!    powers at the frequencies `k · rate / P`, `k < P / 2`;
//! 5. filter `m` of `M` weights these: a triangle in mel, `1127 ln(1 + f / 700)`, from corner `m` over corner `m +
//!    1`, where
//!    it is 1, to corner `m + 2`, of `M + 2` corners evenly spaced from the lowest to the highest frequency;
//! 6. the natural logarithm of the sum is the value, of at least `2^-23`.

use std::ops::Range;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use tesson_core::{
    Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform, UserError,
};

use crate::decode::Decoded;
use crate::fault::AudioFault;
use crate::spec::LogMelSpec;

/// A filter: the first of the powers that it weighs, and their weights.
struct Filter {
    first: usize,
    weights: Vec<f32>,
}

/// Decodes recordings to frames of energies.
pub(crate) struct LogMel {
    spec: LogMelSpec,
    taper: Vec<f32>,
    filters: Vec<Filter>,
    fft: Arc<dyn Fft<f32>>,
}

/// Memory of a thread.
#[derive(Default)]
struct Workspace {
    decoded: Decoded,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    powers: Vec<f32>,
    values: Vec<f32>,
}

impl LogMel {
    pub(crate) fn new(spec: LogMelSpec) -> LogMel {
        let padded = (spec.window as usize).next_power_of_two();
        // The library is built without its kernels for particular processors, so all processors give the same bits.
        let fft = FftPlanner::new().plan_fft_forward(padded);
        let last = f64::from(spec.window.max(2) - 1);
        let taper = |i: u32| {
            let turn = libm::cos(std::f64::consts::TAU * f64::from(i) / last);
            libm::pow(0.5 - 0.5 * turn, 0.85) as f32
        };
        LogMel { spec, taper: (0..spec.window).map(taper).collect(), filters: filters(&spec, padded), fft }
    }

    /// Appends the energies of some frames of samples.
    fn append(&self, samples: &[f32], own: Range<usize>, workspace: &mut Workspace) {
        let Workspace { spectrum, scratch, powers, values, .. } = workspace;
        let (window, shift) = (self.spec.window as usize, self.spec.shift as usize);
        let preemphasis = self.spec.preemphasis as f32;
        scratch.resize(self.fft.get_inplace_scratch_len(), Complex::default());
        for frame in own {
            let frame = &samples[frame * shift..frame * shift + window];
            let mean = frame.iter().sum::<f32>() / window as f32;
            spectrum.clear();
            let mut before = frame[0] - mean;
            spectrum.extend(frame.iter().zip(&self.taper).map(|(sample, taper)| {
                let sample = sample - mean;
                let emphasized = sample - preemphasis * std::mem::replace(&mut before, sample);
                Complex::new(emphasized * taper, 0.0)
            }));
            spectrum.resize(self.fft.len(), Complex::default());
            self.fft.process_with_scratch(spectrum, scratch);
            powers.clear();
            powers.extend(spectrum[..self.fft.len() / 2].iter().map(Complex::norm_sqr));
            values.extend(self.filters.iter().map(|filter| {
                let powers = &powers[filter.first..filter.first + filter.weights.len()];
                let energy: f32 = powers.iter().zip(&filter.weights).map(|(p, w)| p * w).sum();
                libm::logf(energy.max(f32::EPSILON))
            }));
        }
    }

    fn decode(&self, bytes: &[u8], own: Range<usize>, workspace: &mut Workspace) -> Result<(), AudioFault> {
        let header = workspace.decoded.decode(bytes)?;
        if header.rate != self.spec.rate {
            return Err(AudioFault::OtherRate { found: header.rate, expected: self.spec.rate });
        }
        let frames = self.spec.n_frames(header.n_samples);
        if own.end as u64 > frames {
            return Err(AudioFault::Changed { found: frames, expected: own.end as u64 });
        }
        workspace.values.clear();
        let samples = std::mem::take(&mut workspace.decoded.mono);
        self.append(&samples, own, workspace);
        workspace.decoded.mono = samples;
        Ok(())
    }
}

fn mel(hertz: f64) -> f64 {
    1127.0 * libm::log(1.0 + hertz / 700.0)
}

fn filters(spec: &LogMelSpec, padded: usize) -> Vec<Filter> {
    let (lowest, highest) = (mel(spec.lowest), mel(spec.highest));
    let step = (highest - lowest) / f64::from(spec.filters + 1);
    let filter = |m: u32| {
        let left = lowest + f64::from(m) * step;
        let (centre, right) = (left + step, left + 2.0 * step);
        let weight = |k: usize| {
            let at = mel(k as f64 * f64::from(spec.rate) / padded as f64);
            let weight = if at <= centre { (at - left) / step } else { (right - at) / step };
            (at > left && at < right).then_some(weight as f32)
        };
        let first = (0..padded / 2).find(|&k| weight(k).is_some()).unwrap_or(0);
        Filter { first, weights: (first..padded / 2).map_while(weight).collect() }
    };
    (0..spec.filters).map(filter).collect()
}

impl Transform for LogMel {
    fn name(&self) -> &str {
        "log mel"
    }

    fn identity(&self) -> String {
        self.spec.identity()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        Ok(input.clone().with_values(input.floats()).with_dims([Some(self.spec.filters as usize)]))
    }

    fn sees_context(&self) -> bool {
        true
    }

    fn draws(&self) -> bool {
        false
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        _draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let InputValues::Encoded(bytes) = input.values else { return Err("it takes recordings".into()) };
        let kept = scratch.format.take().and_then(|any| any.downcast::<Workspace>().ok());
        let mut workspace = kept.unwrap_or_default();
        let decoded = self.decode(bytes, input.own, &mut workspace);
        if decoded.is_ok() {
            match output.values {
                OutputValues::F32(into) => into.extend_from_slice(&workspace.values),
                OutputValues::F64(into) => into.extend(workspace.values.iter().map(|&x| f64::from(x))),
                _ => return Err("it makes floats".into()),
            }
        }
        scratch.format = Some(workspace);
        decoded.map_err(|fault| fault.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> LogMelSpec {
        LogMelSpec {
            rate: 8000,
            filters: 12,
            window: 200,
            shift: 80,
            lowest: 20.0,
            highest: 4000.0,
            preemphasis: 0.97,
        }
    }

    #[test]
    fn frames_are_those_that_are_whole() {
        let n = |samples| spec().n_frames(samples);
        assert_eq!([n(0), n(199), n(200), n(279), n(280), n(1000)], [0, 0, 1, 1, 2, 11]);
    }

    /// The formula at the top of this file, term by term in 64 bits.
    fn by_the_formula(spec: &LogMelSpec, samples: &[f64], frame: usize) -> Vec<f64> {
        let (window, shift) = (spec.window as usize, spec.shift as usize);
        let frame = &samples[frame * shift..frame * shift + window];
        let mean = frame.iter().sum::<f64>() / window as f64;
        let centred: Vec<f64> = frame.iter().map(|x| x - mean).collect();
        let tapered: Vec<f64> = (0..window)
            .map(|i| {
                let turn = (std::f64::consts::TAU * i as f64 / (window - 1) as f64).cos();
                (centred[i] - spec.preemphasis * centred[i.saturating_sub(1)]) * (0.5 - 0.5 * turn).powf(0.85)
            })
            .collect();
        let padded = window.next_power_of_two();
        let power = |k: usize| {
            let part = |f: fn(f64) -> f64| -> f64 {
                let angle = |i: usize| std::f64::consts::TAU * (k * i % padded) as f64 / padded as f64;
                tapered.iter().enumerate().map(|(i, x)| x * f(angle(i))).sum()
            };
            part(f64::cos).powi(2) + part(f64::sin).powi(2)
        };
        let powers: Vec<f64> = (0..padded / 2).map(power).collect();
        let mel = |f: f64| 1127.0 * (1.0 + f / 700.0).ln();
        let corner = |m: usize| {
            mel(spec.lowest) + m as f64 * (mel(spec.highest) - mel(spec.lowest)) / f64::from(spec.filters + 1)
        };
        let energy = |m: usize| -> f64 {
            let weight = |k: usize| {
                let at = mel(k as f64 * f64::from(spec.rate) / padded as f64);
                let (rising, falling) = (
                    (at - corner(m)) / (corner(m + 1) - corner(m)),
                    (corner(m + 2) - at) / (corner(m + 2) - corner(m + 1)),
                );
                rising.min(falling).max(0.0)
            };
            powers.iter().enumerate().map(|(k, power)| weight(k) * power).sum()
        };
        (0..spec.filters as usize).map(|m| energy(m).max(f64::from(f32::EPSILON)).ln()).collect()
    }

    #[test]
    fn energies_are_those_of_the_formula() {
        let noise = (0..1000_u32).map(|i| {
            let mixed = i.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519);
            let tone = (f64::from(i) * 0.3).sin() * 0.5;
            (tone + (f64::from(mixed >> 8) / f64::from(1 << 24) - 0.5) * 0.01) as f32
        });
        let mut samples: Vec<f32> = noise.collect();
        // The energies of silence have a least value.
        samples[720..].fill(0.25);
        let (spec, mut workspace) = (spec(), Workspace::default());
        LogMel::new(spec).append(&samples, 0..11, &mut workspace);
        let wide: Vec<f64> = samples.iter().map(|&x| f64::from(x)).collect();
        let expected: Vec<f64> = (0..11).flat_map(|frame| by_the_formula(&spec, &wide, frame)).collect();
        assert_eq!(workspace.values.len(), expected.len());
        for (i, (&found, expected)) in workspace.values.iter().zip(&expected).enumerate() {
            assert!((f64::from(found) - expected).abs() < 1e-3, "value {i}: {found}, {expected}");
        }
        assert_eq!(workspace.values.last(), Some(&libm::logf(f32::EPSILON)));
    }

    #[test]
    fn some_frames_alone_have_the_same_values() {
        let samples: Vec<f32> = (0..1000_u32).map(|i| (i as f32 * 0.7).sin()).collect();
        let mel = LogMel::new(spec());
        let (mut all, mut some) = (Workspace::default(), Workspace::default());
        mel.append(&samples, 0..11, &mut all);
        mel.append(&samples, 3..5, &mut some);
        assert_eq!(some.values, all.values[3 * 12..5 * 12]);
    }
}
