//! Comparing an answer with the expected one.

use std::collections::BTreeMap;

use serde_json::Value;

/// The type that the numbers of a case were recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

/// Compares all answers to a case with the expected ones.
///
/// # Errors
/// The first line that differs, and how.
pub fn compare_all(expected: &[Value], found: &[Value], element: Element) -> Result<(), String> {
    for (i, (expected, found)) in expected.iter().zip(found).enumerate() {
        compare(expected, found, element)
            .map_err(|what| format!("line {}: {what}\nexpected {expected}\n   found {found}", i + 1))?;
    }
    if expected.len() == found.len() {
        return Ok(());
    }
    let more = expected.get(found.len()).or(found.get(expected.len())).expect("one is longer");
    Err(format!(
        "{} lines are expected, {} found; the first too many or missing: {more}",
        expected.len(),
        found.len()
    ))
}

/// Compares one answer with the expected one: a minibatch, the end, an error (in any words), or the answer to a
/// checkpoint, restore or reopening. The order of keys, the sign of zero, explicit zeros of sparse samples and states'
/// further fields make no difference.
///
/// # Errors
/// The difference, and where it is.
pub fn compare(expected: &Value, found: &Value, element: Element) -> Result<(), String> {
    if expected.get("error").is_some() {
        return match found.get("error") {
            Some(_) => Ok(()),
            None => Err("an error is expected".into()),
        };
    }
    if let Some(error) = found.get("error") {
        return Err(format!("an error where none is expected: {error}"));
    }
    for name in ["end", "checkpoint", "restore", "reopen", "sweepEnd"] {
        same(expected.get(name), found.get(name)).map_err(|what| format!("`{name}`: {what}"))?;
    }
    if let Some(state) = expected.get("state") {
        compare_states(state, &found["state"])?;
    }
    match expected.get("streams") {
        Some(streams) => compare_streams(streams, &found["streams"], element),
        None => Ok(()),
    }
}

fn same(expected: Option<&Value>, found: Option<&Value>) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let show = |v: Option<&Value>| v.map_or("nothing".to_string(), Value::to_string);
    Err(format!("{} is expected, {} found", show(expected), show(found)))
}

fn compare_states(expected: &Value, found: &Value) -> Result<(), String> {
    let fields = expected.as_object().ok_or("the expected state is no object")?;
    fields.iter().try_for_each(|(name, value)| {
        same(Some(value), found.get(name)).map_err(|what| format!("state, `{name}`: {what}"))
    })
}

fn compare_streams(expected: &Value, found: &Value, element: Element) -> Result<(), String> {
    let (expected, found) = (object(expected)?, object(found)?);
    let names = |streams: &BTreeMap<&str, &Value>| streams.keys().map(|n| n.to_string()).collect::<Vec<_>>();
    if names(&expected) != names(&found) {
        return Err(format!("streams {:?} are expected, {:?} found", names(&expected), names(&found)));
    }
    expected.iter().try_for_each(|(name, stream)| {
        compare_stream(stream, found[name], element).map_err(|what| format!("stream `{name}`, {what}"))
    })
}

fn object(value: &Value) -> Result<BTreeMap<&str, &Value>, String> {
    let object = value.as_object().ok_or_else(|| format!("{value} is no object"))?;
    Ok(object.iter().map(|(name, value)| (name.as_str(), value)).collect())
}

fn compare_stream(expected: &Value, found: &Value, element: Element) -> Result<(), String> {
    for name in ["numberOfSequences", "numberOfSamples"] {
        same(expected.get(name), found.get(name)).map_err(|what| format!("`{name}`: {what}"))?;
    }
    if let Some(layout) = expected.get("layout") {
        same(Some(layout), found.get("layout")).map_err(|what| format!("`layout`: {what}"))?;
    }
    let (expected, found) = (list(&expected["sequences"])?, list(&found["sequences"])?);
    same_length("sequences", expected, found)?;
    for (s, (expected, found)) in expected.iter().zip(found).enumerate() {
        compare_sequence(expected, found, element).map_err(|what| format!("sequence {s}, {what}"))?;
    }
    Ok(())
}

fn compare_sequence(expected: &Value, found: &Value, element: Element) -> Result<(), String> {
    let (expected, found) = (list(expected)?, list(found)?);
    same_length("samples", expected, found)?;
    for (t, (expected, found)) in expected.iter().zip(found).enumerate() {
        let (expected, found) = (sample(expected, element)?, sample(found, element)?);
        if expected != found {
            return Err(format!("sample {t}: {expected:?} is expected, {found:?} found"));
        }
    }
    Ok(())
}

fn list(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{value} is no list"))
}

fn same_length(what: &str, expected: &[Value], found: &[Value]) -> Result<(), String> {
    if expected.len() == found.len() {
        return Ok(());
    }
    Err(format!("{} {what} are expected, {} found", expected.len(), found.len()))
}

/// A sample in the form in which two are compared. A sample without any value is both dense and sparse.
#[derive(Debug, PartialEq)]
enum Sample {
    Empty,
    Dense(Vec<Number>),
    Sparse(BTreeMap<u64, Number>),
}

fn sample(json: &Value, element: Element) -> Result<Sample, String> {
    let entries = list(json)?;
    if !entries.iter().any(Value::is_array) {
        let values: Vec<Number> = entries.iter().map(|v| number(v, element)).collect::<Result<_, _>>()?;
        return Ok(if values.is_empty() { Sample::Empty } else { Sample::Dense(values) });
    }
    let mut pairs = BTreeMap::new();
    for entry in entries {
        let [index, value] = list(entry)? else { return Err(format!("{entry} is no pair")) };
        let index = index.as_u64().ok_or_else(|| format!("{index} is no index"))?;
        let value = number(value, element)?;
        let sum = pairs.get(&index).map_or(value, |earlier: &Number| earlier.plus(value, element));
        pairs.insert(index, sum);
    }
    pairs.retain(|_, value| *value != Number(0));
    Ok(if pairs.is_empty() { Sample::Empty } else { Sample::Sparse(pairs) })
}

/// The bits of a value as a 64-bit float, after rounding to the element type; one zero, one NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Number(u64);

impl Number {
    fn new(value: f64, element: Element) -> Number {
        let value = match element {
            Element::F32 => f64::from(value as f32),
            Element::F64 => value,
        };
        match value {
            0.0 => Number(0),
            v if v.is_nan() => Number(f64::NAN.to_bits()),
            v => Number(v.to_bits()),
        }
    }

    fn plus(self, other: Number, element: Element) -> Number {
        // The sum of two 32-bit floats is rounded once: 64 bits hold it with all digits that rounding looks at.
        Number::new(f64::from_bits(self.0) + f64::from_bits(other.0), element)
    }
}

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f64::from_bits(self.0).fmt(f)
    }
}

fn number(json: &Value, element: Element) -> Result<Number, String> {
    let value = match json {
        Value::Number(n) => n.as_f64(),
        Value::String(word) => match word.as_str() {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "nan" => Some(f64::NAN),
            _ => None,
        },
        _ => None,
    };
    value.map(|v| Number::new(v, element)).ok_or_else(|| format!("{json} is no number"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn batch(sequences: Value) -> Value {
        json!({"sweepEnd": true, "streams": {"x": {"numberOfSequences": 1, "numberOfSamples": 1, "sequences": sequences}}})
    }

    fn agree(expected: &Value, found: &Value) -> bool {
        compare(expected, found, Element::F32).is_ok()
    }

    fn samples_agree(expected: Value, found: Value) -> bool {
        agree(&batch(json!([[expected]])), &batch(json!([[found]])))
    }

    #[test]
    fn the_sign_of_zero_makes_no_difference_and_any_other_bit_does() {
        assert!(samples_agree(json!([0]), json!([-0.0])));
        assert!(samples_agree(json!([0.1]), json!([0.10000000149011612])));
        assert!(!samples_agree(json!([0.1]), json!([0.100000009])));
        assert!(samples_agree(json!(["inf", "nan", "-inf"]), json!(["inf", "nan", "-inf"])));
        assert!(!samples_agree(json!(["inf"]), json!(["-inf"])));
    }

    #[test]
    fn doubles_are_compared_as_doubles() {
        let (a, b) = (batch(json!([[[0.1]]])), batch(json!([[[0.10000000149011612]]])));
        assert!(compare(&a, &b, Element::F64).is_err());
    }

    #[test]
    fn sparse_samples_are_compared_without_zeros_and_with_repeated_indices_added_up() {
        assert!(samples_agree(json!([[1, 5], [3, 3]]), json!([[3, 1], [3, 2], [0, 0], [1, 5]])));
        assert!(samples_agree(json!([]), json!([[4, 0]])));
        assert!(!samples_agree(json!([[1, 5]]), json!([[2, 5]])));
    }

    #[test]
    fn dense_and_sparse_samples_are_never_equal() {
        assert!(!samples_agree(json!([1, 2]), json!([[0, 1], [1, 2]])));
    }

    #[test]
    fn the_words_of_an_error_and_the_order_of_keys_make_no_difference() {
        assert!(agree(&json!({"error": "a"}), &json!({"error": "b"})));
        assert!(!agree(&json!({"error": "a"}), &json!({"end": true})));
        assert!(!agree(&json!({"end": true}), &json!({"error": "a"})));
        assert!(!agree(&json!({"end": true}), &batch(json!([[[1]]]))));
        assert!(!agree(&batch(json!([[[1]]])), &json!({"end": true})));
    }

    #[test]
    fn recorded_fields_of_a_state_must_agree_and_others_are_free() {
        let expected = json!({"checkpoint": "a", "state": {"minibatchSourcePosition": 5}});
        assert!(agree(
            &expected,
            &json!({"state": {"more": 1, "minibatchSourcePosition": 5}, "checkpoint": "a"})
        ));
        assert!(!agree(&expected, &json!({"checkpoint": "a", "state": {"minibatchSourcePosition": 6}})));
        assert!(!agree(&expected, &json!({"checkpoint": "a", "state": {}})));
    }

    #[test]
    fn counts_names_and_layouts_must_agree() {
        let one = batch(json!([[[1]]]));
        let change = |field: &str, value: Value| {
            let mut other = one.clone();
            other["streams"]["x"][field] = value;
            other
        };
        assert!(!agree(&one, &change("numberOfSamples", json!(2))));
        assert!(!agree(&one, &change("sequences", json!([[[1]], [[1]]]))));
        assert!(agree(&one, &change("layout", json!({"rows": 1}))));
        assert!(!agree(&change("layout", json!({"rows": 1})), &one));
        let renamed = json!({"sweepEnd": true, "streams": {"y": one["streams"]["x"]}});
        assert!(!agree(&one, &renamed));
    }

    #[test]
    fn a_missing_line_is_an_error() {
        let lines = [batch(json!([[[1]]])), json!({"end": true})];
        assert!(compare_all(&lines, &lines, Element::F32).is_ok());
        assert!(compare_all(&lines, &lines[..1], Element::F32).unwrap_err().contains("2 lines are expected"));
        assert!(compare_all(&lines[..1], &lines, Element::F32).unwrap_err().contains("1 lines are expected"));
    }
}
