//! Minibatches as lines of JSON, in the form of the conformance cases.

use std::fmt::Write;

use tesson::{Floats, Layout, Minibatch, Samples, StreamBatch};

use crate::number::{put_f32, put_f64};

/// Overwrites `out` with a minibatch: whether a sweep ends, and each stream's sequences; with `layout` also how they
/// lie side by side.
pub(crate) fn minibatch(out: &mut String, minibatch: &Minibatch, layout: bool) {
    out.clear();
    put(out, format_args!("{{\"sweepEnd\": {}, \"streams\": ", minibatch.sweep_end()));
    streams(out, minibatch, layout);
    out.push('}');
}

/// Appends the streams of a minibatch.
pub(crate) fn streams(out: &mut String, minibatch: &Minibatch, layout: bool) {
    out.push('{');
    for (i, batch) in minibatch.streams().iter().enumerate() {
        separate(out, i);
        stream(out, batch, layout);
    }
    out.push('}');
}

/// The line that ends the data.
pub(crate) const END: &str = r#"{"end": true}"#;

/// The line of an error.
pub(crate) fn error(what: &str) -> String {
    serde_json::json!({ "error": what }).to_string()
}

fn stream(out: &mut String, batch: &StreamBatch, layout: bool) {
    let name = serde_json::Value::from(batch.info().name.as_str());
    put(
        out,
        format_args!(
            "{name}: {{\"numberOfSequences\": {}, \"numberOfSamples\": {}, ",
            batch.n_sequences(),
            batch.n_samples()
        ),
    );
    if layout {
        put_layout(out, &batch.layout());
    }
    out.push_str("\"sequences\": [");
    let mut first = 0;
    for (i, &length) in batch.lengths().iter().enumerate() {
        separate(out, i);
        let samples = first..first + length as usize;
        first = samples.end;
        out.push('[');
        for (t, sample) in samples.enumerate() {
            separate(out, t);
            self::sample(out, batch, sample);
        }
        out.push(']');
    }
    out.push_str("]}");
}

/// Appends a sample.
pub(crate) fn sample(out: &mut String, batch: &StreamBatch, sample: usize) {
    out.push('[');
    match batch.samples() {
        Samples::Dense { values } => {
            let dim = batch.info().shape.len();
            for (k, i) in (sample * dim..(sample + 1) * dim).enumerate() {
                separate(out, k);
                put_value(out, values, i);
            }
        }
        Samples::Sparse { indptr, indices, values } => {
            for (k, i) in (indptr[sample] as usize..indptr[sample + 1] as usize).enumerate() {
                separate(out, k);
                put(out, format_args!("[{}, ", indices[i]));
                put_value(out, values, i);
                out.push(']');
            }
        }
    }
    out.push(']');
}

fn put_value(out: &mut String, values: &Floats, i: usize) {
    match values {
        Floats::F32(v) => put_f32(out, v[i]),
        Floats::F64(v) => put_f64(out, v[i]),
    }
}

fn put_layout(out: &mut String, layout: &Layout) {
    put(
        out,
        format_args!("\"layout\": {{\"steps\": {}, \"rows\": {}, \"places\": [", layout.steps, layout.rows),
    );
    for (i, p) in layout.places.iter().enumerate() {
        separate(out, i);
        put(out, format_args!("[{}, {}, {}, {}]", p.sequence, p.row, p.begin, p.end));
    }
    out.push_str("]}, ");
}

fn separate(out: &mut String, i: usize) {
    if i > 0 {
        out.push_str(", ");
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}
