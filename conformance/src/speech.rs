//! Features of speech read plainly, for cases whose sentences say that Tesson reads what the reference refuses: whole
//! utterances of big-endian files without qualifiers, in one minibatch.

use std::fs;

use serde_json::{Value, json};

use crate::Case;

/// The answers to a case of one stream that is read to the end in one minibatch.
///
/// # Errors
/// What is not read here.
pub(crate) fn plainly_read(case: &Case) -> Result<Vec<Value>, String> {
    let input = case.deserializers().first().and_then(|d| d["input"].as_object());
    let (name, stream) = input.and_then(|input| input.iter().next()).ok_or("no stream")?;
    let script = stream["scpFile"].as_str().ok_or("no script file")?;
    let lines = fs::read_to_string(case.dir.join(script)).map_err(|e| e.to_string())?;
    let full = lines.lines().filter(|line| !line.trim().is_empty());
    let sequences = full.map(|line| utterance(case, line)).collect::<Result<Vec<_>, _>>()?;
    let samples: usize = sequences.iter().map(Vec::len).sum();
    let stream =
        json!({"numberOfSequences": sequences.len(), "numberOfSamples": samples, "sequences": sequences});
    Ok(vec![json!({"sweepEnd": true, "streams": {name: stream}}), json!({"end": true})])
}

/// The frames that a line lists: `name=file[first,last]`, or a file.
fn utterance(case: &Case, line: &str) -> Result<Vec<Vec<f32>>, String> {
    let listed = line.split_once('=').map_or(line, |(_, listed)| listed);
    let (file, range) = listed.split_once('[').map_or((listed, None), |(file, range)| (file, Some(range)));
    let bytes = fs::read(case.dir.join(file)).map_err(|e| e.to_string())?;
    let frame = usize::from(u16::from_be_bytes([bytes[8], bytes[9]]));
    let frames: Vec<Vec<f32>> = bytes[12..]
        .chunks_exact(frame)
        .map(|frame| frame.chunks_exact(4).map(|b| f32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect())
        .collect();
    let Some(range) = range else { return Ok(frames) };
    let (first, last) = range.trim_end_matches(']').split_once(',').ok_or("no range")?;
    let number = |text: &str| text.parse::<usize>().map_err(|e| e.to_string());
    Ok(frames[number(first)?..=number(last)?].to_vec())
}

/// Recorded answers whose samples keep their first values alone.
pub(crate) fn with_first_values(mut lines: Vec<Value>, n: usize) -> Vec<Value> {
    let streams = lines.iter_mut().filter_map(|line| line.get_mut("streams")?.as_object_mut());
    let sequences =
        streams.flat_map(|streams| streams.values_mut()).filter_map(|s| s["sequences"].as_array_mut());
    for sample in sequences.flatten().filter_map(Value::as_array_mut).flatten() {
        if let Some(values) = sample.as_array_mut() {
            values.truncate(n);
        }
    }
    lines
}
