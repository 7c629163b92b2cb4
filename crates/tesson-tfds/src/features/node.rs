//! Examples as JSON, in the form that `tesson read --json` prints and conformance cases use.

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::dtype::DType;
use super::number::Number;
use super::value::{Array, Slice, Value};

/// The largest array that is written in full; a larger one is written as a digest and some of its values.
const LARGE: usize = 4096;

/// A part of an example.
///
/// An array is `{"dtype", "shape", "data"}`, a ragged one `{"dtype", "row_lengths", "values"}`, a dict `{"fields"}`, a nested
/// stream `{"dataset"}`. Large arrays have `sha256` of their little-endian values and `spot`, pairs of flat index and
/// value, in place of `data`.
pub fn node(value: &Value<'_>) -> Json {
    match value {
        Value::Dict(members) => {
            let members: Map<String, Json> =
                members.iter().map(|(name, value)| ((*name).to_owned(), node(value))).collect();
            json!({ "fields": members })
        }
        Value::Array(of) => array(of),
        Value::Ragged(ragged) => json!({
            "dtype": ragged.values.dtype.name(),
            "row_lengths": ragged.row_lengths,
            "values": array(&ragged.values),
        }),
        Value::Stream(stream) => {
            let elements: Vec<Json> = stream.iter().map(|element| node(&element)).collect();
            json!({ "dataset": elements })
        }
    }
}

fn array(array: &Array<'_>) -> Json {
    let (dtype, shape) = (array.dtype.name(), &array.shape);
    match array.values {
        Slice::Fixed(bytes) => {
            let size = array.dtype.size().unwrap_or(1);
            let values = bytes.len() / size;
            let one = |i: usize| number(array.dtype, &bytes[i * size..][..size]);
            if values > LARGE {
                let spot: Vec<Json> = [0, values / 2, values - 1].map(|i| json!([i, one(i)])).into();
                return json!({ "dtype": dtype, "shape": shape, "sha256": digest(bytes), "spot": spot });
            }
            json!({ "dtype": dtype, "shape": shape, "data": (0..values).map(one).collect::<Vec<_>>() })
        }
        strings => {
            let data: Vec<Json> = strings.strings().map(text).collect();
            json!({ "dtype": dtype, "shape": shape, "data": data })
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value of a fixed size, from its bytes.
fn number(dtype: DType, bytes: &[u8]) -> Json {
    let real = if matches!(dtype, DType::Float32 | DType::Complex64) { single } else { float };
    match Number::of(dtype, bytes) {
        Number::Whole(n) if dtype == DType::Bool => json!(n != 0),
        Number::Whole(n) => i64::try_from(n).map_or_else(|_| json!(n as u64), |n| json!(n)),
        Number::Real(x) => real(x),
        Number::Complex(x, y) => json!([real(x), real(y)]),
    }
}

/// A 32-bit float, with the fewest digits that bring it back.
fn single(value: f64) -> Json {
    float((value as f32).to_string().parse().unwrap_or(value))
}

/// JSON has no infinities and nothing that is no number: these are words.
fn float(value: f64) -> Json {
    match value {
        v if v.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        v => json!(v),
    }
}

/// A byte string: as text if it can be read, else in base 64.
fn text(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => json!(text),
        _ => json!({ "b64": base64(bytes) }),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::cast::from_half;
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_base_64() {
        assert_eq!(text("bêta\n".as_bytes()), json!("bêta\n"));
        assert_eq!(text(&[0xff]), json!({ "b64": "/w==" }));
        assert_eq!(text(&[0, 1]), json!({ "b64": "AAE=" }));
        assert_eq!(text(b"\0\x01\x02"), json!({ "b64": "AAEC" }));
    }

    #[test]
    fn floats_come_back() {
        assert_eq!(number(DType::Float32, &0.1f32.to_le_bytes()), json!(0.1));
        assert_eq!(number(DType::Float32, &f32::NEG_INFINITY.to_le_bytes()), json!("-inf"));
        assert_eq!(from_half(0x3c01), 1.0009765625);
        assert_eq!(from_half(0xfc00), f64::NEG_INFINITY);
        assert_eq!(from_half(0x0001), 2f64.powi(-24));
    }
}
