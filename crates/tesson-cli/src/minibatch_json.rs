//! Minibatches as JSON, in the form of the conformance cases.

use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use tesson::{BatchKeys, Minibatch, SampleValue, SampleValues, Samples, StreamBatch};
use tesson_engine::Layout;

/// The line that ends the data.
pub(crate) fn end() -> serde_json::Value {
    json!({"end": true})
}

/// A line about a minibatch: if a sweep ends, the keys of its sequences, and its streams; with `layout` also the slots of their sequences.
pub(crate) struct Line<'a> {
    pub(crate) minibatch: &'a Minibatch,
    pub(crate) layout: bool,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("sweepEnd", &self.minibatch.sweep_end())?;
        map.serialize_entry("keys", &Keys(self.minibatch.keys()))?;
        map.serialize_entry("streams", &Streams { minibatch: self.minibatch, layout: self.layout })?;
        map.end()
    }
}

/// The keys of the sequences: numbers, or texts.
struct Keys<'a>(&'a BatchKeys);

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            BatchKeys::Numbers(numbers) => numbers.serialize(to),
            BatchKeys::Texts(texts) => to.collect_seq(texts.iter()),
        }
    }
}

/// The streams of a minibatch by their names.
pub(crate) struct Streams<'a> {
    pub(crate) minibatch: &'a Minibatch,
    pub(crate) layout: bool,
}

impl Serialize for Streams<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let stream = |batch| Stream { batch, layout: self.layout };
        to.collect_map(self.minibatch.streams().iter().map(|batch| (&batch.info().name, stream(batch))))
    }
}

struct Stream<'a> {
    batch: &'a StreamBatch,
    layout: bool,
}

impl Serialize for Stream<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let batch = self.batch;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("numberOfSequences", &batch.n_sequences())?;
        map.serialize_entry("numberOfSamples", &batch.n_samples())?;
        if self.layout {
            map.serialize_entry("layout", &layout(&batch.layout()))?;
        }
        let samples = batch.lengths().iter().scan(0, |end, &length| {
            let begin = *end;
            *end += length as usize;
            Some(begin..*end)
        });
        let sequences = samples.map(|samples| List(samples.map(|sample| Sample { batch, sample })));
        map.serialize_entry("sequences", &List(sequences))?;
        map.end()
    }
}

fn layout(layout: &Layout) -> serde_json::Value {
    let places = layout.places.iter().map(|p| (p.sequence, p.row, p.begin, p.end));
    json!({"steps": layout.steps, "rows": layout.rows, "places": places.collect::<Vec<_>>()})
}

/// The items of an iterator, as a list.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.clone())
    }
}

/// The values of a sample; of a sparse one pairs of index and value, of a ragged one its shape beside them.
pub(crate) struct Sample<'a> {
    pub(crate) batch: &'a StreamBatch,
    pub(crate) sample: usize,
}

impl Serialize for Sample<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.batch.samples() {
            Samples::Dense { values } => {
                let dim = self.batch.info().shape.len();
                to.collect_seq((self.sample * dim..(self.sample + 1) * dim).map(|i| JsonValue::at(values, i)))
            }
            Samples::Sparse { indptr, indices, values } => {
                let pairs = indptr[self.sample] as usize..indptr[self.sample + 1] as usize;
                to.collect_seq(pairs.map(|i| (indices[i], JsonValue::at(values, i))))
            }
            Samples::Ragged { values, .. } => {
                let (shape, range) = self.batch.ragged_sample(self.sample).expect("it is one of the batch");
                let mut sample = to.serialize_map(Some(2))?;
                sample.serialize_entry("shape", shape)?;
                sample.serialize_entry("values", &Numbers(values, range))?;
                sample.end()
            }
        }
    }
}

/// Some of a stream's values.
struct Numbers<'a>(&'a SampleValues, std::ops::Range<usize>);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.1.clone().map(|i| JsonValue::at(self.0, i)))
    }
}

/// A value with the fewest digits that preserve every bit. Infinities and NaN, which JSON numbers cannot express, are
/// the texts `"inf"`, `"-inf"` and `"nan"`. A byte string is an object with its hexadecimal digits: `{"hex": "00ff"}`.
struct JsonValue<'a>(SampleValue<'a>);

impl JsonValue<'_> {
    fn at(values: &SampleValues, i: usize) -> JsonValue<'_> {
        JsonValue(values.value(i))
    }
}

/// Two hexadecimal digits for each byte.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Numbers without a fraction are written as whole numbers up to this.
const WHOLE: f64 = 1e15;

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let wide = match self.0 {
            SampleValue::F32(x) => x.into(),
            SampleValue::F64(x) => x,
            SampleValue::Whole(x) => return to.serialize_i128(x),
            SampleValue::Bool(x) => return to.serialize_bool(x),
            SampleValue::Text(text) => return to.serialize_str(text),
            SampleValue::Bytes(bytes) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("hex", &hex(bytes))?;
                return map.end();
            }
        };
        match self.0 {
            _ if wide.is_nan() => to.serialize_str("nan"),
            _ if wide.is_infinite() => to.serialize_str(if wide > 0.0 { "inf" } else { "-inf" }),
            // A zero with a sign keeps its fraction: readers of JSON take `-0` for the whole number 0, which has none.
            _ if wide.to_bits() == (-0.0f64).to_bits() => to.serialize_f64(wide),
            _ if wide.fract() == 0.0 && wide.abs() < WHOLE => to.serialize_i64(wide as i64),
            SampleValue::F32(x) => to.serialize_f32(x),
            _ => to.serialize_f64(wide),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_text(x: f32) -> String {
        serde_json::to_string(&JsonValue(SampleValue::F32(x))).unwrap()
    }

    fn f64_text(x: f64) -> String {
        serde_json::to_string(&JsonValue(SampleValue::F64(x))).unwrap()
    }

    #[test]
    fn numbers_have_the_fewest_digits_that_bring_them_back() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0.0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (16_777_216.0, "16777216"),
            (0.0001, "0.0001"),
            (1.5e-7, "1.5e-7"),
            (f32::MAX, "3.4028235e+38"),
            (f32::MIN_POSITIVE, "1.1754944e-38"),
            (f32::from_bits(1), "1e-45"),
        ];
        for (x, text) in cases {
            assert_eq!(f32_text(x), text);
        }
        assert_eq!(f64_text(0.1), "0.1");
        assert_eq!(f64_text(f64::from(0.1f32)), "0.10000000149011612");
        assert_eq!(f64_text(5e-324), "5e-324");
    }

    #[test]
    fn numbers_that_json_has_not_become_texts() {
        assert_eq!(f32_text(f32::INFINITY), "\"inf\"");
        assert_eq!(f32_text(f32::NEG_INFINITY), "\"-inf\"");
        assert_eq!(f32_text(f32::NAN), "\"nan\"");
        assert_eq!(f64_text(-f64::NAN), "\"nan\"");
    }

    #[test]
    fn texts_are_texts_and_byte_strings_have_digits() {
        let json = |value| serde_json::to_string(&JsonValue(value)).unwrap();
        assert_eq!(json(SampleValue::Text("a\"ä")), r#""a\"ä""#);
        assert_eq!(json(SampleValue::Bytes(&[0, 255, 16])), r#"{"hex":"00ff10"}"#);
    }

    #[test]
    fn every_bit_comes_back() {
        // A stride through all bit patterns that meets every exponent.
        for bits in (0..=u32::MAX).step_by(65_521) {
            let x = f32::from_bits(bits);
            if x.is_finite() {
                let back: f32 = f32_text(x).parse().unwrap();
                assert_eq!(back.to_bits(), bits);
            }
        }
    }
}
