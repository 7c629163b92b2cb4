//! Examples to be looked at: images as images, samples over time as waves and maps, the rest as words.

use std::fmt::Write;
use std::ops::Range;

use tesson::{Minibatch, SampleValue, SampleValues, Samples, StreamBatch};

use crate::classes::class_name;
use crate::figures::{Example, Form, View};
use crate::picture::Picture;
use crate::text::{counted, dims, number, shortened};

/// Pixels of an image's longer side.
const IMAGE_SIDE: usize = 128;

/// Pixels of a map, over time and over values.
const MAP_SIDES: [usize; 2] = [320, 80];

/// The least length of what is drawn as a wave, and its points.
const SHORTEST_WAVE: usize = 64;
const WAVE_POINTS: usize = 300;

/// Values that are written, and characters of a text.
const VALUES: usize = 12;
const CHARACTERS: usize = 400;

/// A sequence of a minibatch as an example. `blue_first` are the streams whose colours come in the order of OpenCV.
pub(crate) fn example(minibatch: &Minibatch, sequence: usize, blue_first: &[String]) -> Example {
    let view = |batch: &StreamBatch| {
        let before: usize = batch.lengths()[..sequence].iter().map(|&n| n as usize).sum();
        let samples = before..before + batch.lengths()[sequence] as usize;
        view(batch, samples, blue_first.contains(&batch.info().name))
    };
    let views = minibatch.streams().iter().map(view).collect();
    Example { key: shortened(&minibatch.keys().get(sequence).to_string(), 80), views }
}

fn view(batch: &StreamBatch, samples: Range<usize>, is_blue_first: bool) -> View {
    let info = batch.info();
    let shape = match samples.len() {
        1 => batch.ragged_sample(samples.start).map(|(shape, _)| dims(shape)),
        _ => None,
    };
    let shape = shape.unwrap_or_else(|| dims(info.shape.dims()));
    let caption = match samples.len() {
        1 => format!("{} {shape}", info.element.name()),
        n => format!("{} of {} {shape}", counted(n as u64, "sample"), info.element.name()),
    };
    let of = |form, content| View { stream: info.name.clone(), caption: caption.clone(), form, content };
    let image = (samples.len() == 1)
        .then(|| Picture::of_sample(batch, samples.start, is_blue_first, IMAGE_SIDE))
        .flatten();
    if let Some(uri) = image.and_then(|picture| picture.data_uri()) {
        return of(Form::Image, uri);
    }
    if let Some(uri) = Picture::of_map(batch, samples.clone(), MAP_SIDES).and_then(|map| map.data_uri()) {
        return of(Form::Map, uri);
    }
    match wave(batch, samples.clone()) {
        Some(points) => of(Form::Wave, points),
        None => of(Form::Text, words(batch, samples)),
    }
}

/// The heights of a wave: of one value in many samples.
fn wave(batch: &StreamBatch, samples: Range<usize>) -> Option<String> {
    let Samples::Dense { values } = batch.samples() else { return None };
    let is_wave =
        batch.info().shape.len() == 1 && samples.len() >= SHORTEST_WAVE && batch.info().element.is_float();
    if !is_wave {
        return None;
    }
    let finite = || samples.clone().map(|i| values.get(i)).filter(|v| v.is_finite());
    let (low, high) = finite().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let step = samples.len().div_ceil(WAVE_POINTS);
    let height = |i| 100.0 * (values.get(i) - low) / (high - low).max(f64::MIN_POSITIVE);
    let points = samples.step_by(step).map(height).filter(|h| h.is_finite());
    Some(points.map(|h| format!("{h:.0}")).collect::<Vec<_>>().join(" "))
}

/// The first values of a sequence in words.
fn words(batch: &StreamBatch, samples: Range<usize>) -> String {
    let mut text = String::new();
    let mut left = VALUES;
    for sample in samples.clone() {
        if left == 0 {
            text.push_str(" …");
            break;
        }
        if sample > samples.start {
            text.push_str(" | ");
        }
        sample_words(batch, sample, &mut left, &mut text);
    }
    if samples.is_empty() { "no sample".to_owned() } else { shortened(&text, CHARACTERS) }
}

fn sample_words(batch: &StreamBatch, sample: usize, left: &mut usize, text: &mut String) {
    let info = batch.info();
    let range = match batch.samples() {
        Samples::Dense { .. } => sample * info.shape.len()..(sample + 1) * info.shape.len(),
        Samples::Sparse { indptr, .. } => indptr[sample] as usize..indptr[sample + 1] as usize,
        Samples::Ragged { .. } => batch.ragged_sample(sample).map_or(0..0, |(_, range)| range),
    };
    let shown = range.start..range.end.min(range.start + *left);
    *left -= shown.len();
    let is_cut = shown.end < range.end;
    for i in shown.clone() {
        if i > shown.start {
            text.push(' ');
        }
        match batch.samples() {
            Samples::Sparse { indices, values, .. } => {
                let (index, value) = (indices[i], values.get(i));
                if value == 1.0 && range.len() == 1 {
                    text.push_str(&class_name(info, index.into()));
                } else {
                    write!(text, "{index}:{}", number(value)).expect("a string takes any text");
                }
            }
            samples => push_value(samples.values(), i, info.shape.len() == 1, batch, text),
        }
    }
    if is_cut {
        text.push_str(" …");
    }
}

/// Appends a value; the number of a class with its name.
fn push_value(values: &SampleValues, i: usize, is_scalar: bool, batch: &StreamBatch, text: &mut String) {
    match values.value(i) {
        SampleValue::Text(value) => text.push_str(value),
        SampleValue::Bytes(bytes) => {
            // Texts are often stored as bytes.
            let is_text = |value: &&str| !value.is_empty() && !value.chars().any(char::is_control);
            if let Some(value) = std::str::from_utf8(bytes).ok().filter(is_text) {
                return text.push_str(value);
            }
            let hex: Vec<String> = bytes.iter().take(16).map(|b| format!("{b:02x}")).collect();
            let more = if bytes.len() > 16 { "…" } else { "" };
            write!(text, "{}: {}{more}", counted(bytes.len() as u64, "byte"), hex.concat())
                .expect("a string takes any text");
        }
        SampleValue::Bool(value) => text.push_str(if value { "true" } else { "false" }),
        SampleValue::Whole(value) => {
            text.push_str(&value.to_string());
            let name = usize::try_from(value).ok().and_then(|n| batch.info().classes.get(n));
            if let Some(name) = name.filter(|_| is_scalar) {
                write!(text, " ({name})").expect("a string takes any text");
            }
        }
        other => text.push_str(&number(other.rounded())),
    }
}
