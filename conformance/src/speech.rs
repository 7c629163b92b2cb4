//! Features of speech: as a corpus of archives, and read plainly for the cases with a deviation by which Tesson reads
//! files that the reference refuses: whole utterances of big-endian files without qualifiers, in one minibatch.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::Case;

/// The answers to a case of features, and perhaps of labels, that is read to the end in one minibatch.
///
/// # Errors
/// A case with properties that this plain reader does not support.
pub(crate) fn plainly_read(case: &Case) -> Result<Vec<Value>, String> {
    let stream_of = |d: &Value| {
        let (name, stream) = d["input"].as_object()?.iter().next()?;
        Some((name.clone(), stream.clone()))
    };
    let [features, labels @ ..] = case.deserializers() else { return Err("no deserializer".into()) };
    let (name, stream) = stream_of(features).ok_or("no stream")?;
    let labels = labels.first().and_then(stream_of);
    let classes = labels.as_ref().map(|(_, stream)| classes_of(case, stream)).transpose()?;
    let script = stream["scpFile"].as_str().ok_or("no script file")?;
    let lines = fs::read_to_string(case.dir.join(script)).map_err(|e| e.to_string())?;
    let full = lines.lines().filter(|line| !line.trim().is_empty());
    let key = |line: &str| {
        let name = line.split('=').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(key, _)| key).to_owned()
    };
    let is_labelled = |line: &&str| classes.as_ref().is_none_or(|classes| classes.contains_key(&key(line)));
    let full: Vec<&str> = full.filter(is_labelled).collect();
    let frames = full.iter().map(|line| utterance(case, line)).collect::<Result<Vec<_>, _>>()?;
    let mut streams = serde_json::Map::from_iter([(name, stream_of_sequences(&json!(frames)))]);
    if let (Some((name, _)), Some(classes)) = (labels, &classes) {
        let of_frames: Vec<&Vec<Value>> = full.iter().map(|line| &classes[&key(line)]).collect();
        streams.insert(name, stream_of_sequences(&json!(of_frames)));
    }
    Ok(vec![json!({"sweepEnd": true, "streams": streams}), json!({"end": true})])
}

fn stream_of_sequences(sequences: &Value) -> Value {
    let lengths = sequences.as_array().into_iter().flatten().filter_map(|s| Some(s.as_array()?.len()));
    let (n, samples) = (lengths.clone().count(), lengths.sum::<usize>());
    json!({"numberOfSequences": n, "numberOfSamples": samples, "sequences": sequences})
}

/// The classes of each frame of all utterances of a master label file with times.
fn classes_of(case: &Case, stream: &Value) -> Result<BTreeMap<String, Vec<Value>>, String> {
    let read = |option: &str| {
        let file = stream[option].as_str().ok_or("no file")?;
        fs::read_to_string(case.dir.join(file)).map_err(|e| e.to_string())
    };
    let (states, labels) = (read("labelMappingFile")?, read("mlfFile")?);
    let (mut utterances, mut last) = (BTreeMap::new(), String::new());
    for line in labels.lines().skip(1) {
        if let Some(name) = line.strip_prefix('"') {
            last = name.split('.').next().unwrap_or_default().to_owned();
        }
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [start, end, state] = columns[..] else { continue };
        let frame = |time: &str| time.parse::<usize>().map(|time| time / 100_000).map_err(|e| e.to_string());
        let class = states.lines().position(|name| name == state).ok_or("no such state")?;
        let frames = (frame(start)?..frame(end)?).map(|_| json!([[class, 1]]));
        utterances.entry(last.clone()).or_insert_with(Vec::new).extend(frames);
    }
    Ok(utterances)
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

/// Recorded answers with only the first values of each sample.
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

/// Utterances in an archive.
const IN_ARCHIVE: usize = 12;

/// The list of the corpus.
pub const LIST: &str = "features.scp";

/// The storage of an archive's values.
#[derive(Clone, Copy)]
enum Form {
    Big,
    Little,
    /// 16-bit numbers with their scale.
    Compressed,
}

/// An archive of frames of two values.
fn archive(frames: &[[f32; 2]], form: Form) -> Vec<u8> {
    let is_little = matches!(form, Form::Little);
    let mut bytes = Vec::new();
    let mut put = |big: &[u8]| if is_little { bytes.extend(big.iter().rev()) } else { bytes.extend(big) };
    let (count, size, kind) = match form {
        Form::Compressed => (frames.len() as u32 + 4, 4u16, 9u16 | 0o2000),
        _ => (frames.len() as u32, 8, 9),
    };
    put(&count.to_be_bytes());
    put(&100_000u32.to_be_bytes());
    put(&size.to_be_bytes());
    put(&kind.to_be_bytes());
    if let Form::Compressed = form {
        [0.5f32, 2.0, 3.0, 0.0].iter().for_each(|x| put(&x.to_be_bytes()));
        frames.iter().flatten().for_each(|x| put(&(*x as i16).to_be_bytes()));
    } else {
        frames.iter().flatten().for_each(|x| put(&x.to_be_bytes()));
    }
    bytes
}

/// The corpus of these lengths as archives of each form, [`LIST`] that lists them, and `reversed.scp` that lists them from the
/// last to the first, with one more. Utterance `i` has the key `3 · i`.
pub(crate) fn files(lengths: &[u32]) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for (number, lengths) in lengths.chunks(IN_ARCHIVE).enumerate() {
        let (mut frames, name) = (Vec::new(), format!("{number}.htk"));
        for (i, &length) in (IN_ARCHIVE * number..).zip(lengths) {
            lines.push(format!(
                "{}={name}[{},{}]\n",
                3 * i,
                frames.len(),
                frames.len() + length as usize - 1
            ));
            frames.extend((0..length).map(|t| [(100 * i) as f32 + t as f32, -(t as f32)]));
        }
        files.push((name, archive(&frames, [Form::Big, Form::Compressed, Form::Little][number % 3])));
    }
    files.push((LIST.into(), lines.concat().into_bytes()));
    let others = lines.iter().rev().cloned().chain(["1=0.htk[0,0]\n".to_owned()]);
    files.push(("reversed.scp".into(), others.collect::<String>().into_bytes()));
    files.push(("labels.mlf".into(), labels(lengths, 3)));
    files.push(("labels.bin".into(), binary_labels(lengths, 3)));
    files.extend(matrices(lengths));
    files
}

/// Archives of Kaldi's with the corpus, in turns of 32-bit numbers, compressed numbers and text, and a script file of them.
/// Utterance `i` has the key `3 · i`.
pub fn matrices(lengths: &[u32]) -> [(String, Vec<u8>); 3] {
    let mut archives = [Vec::new(), Vec::new()];
    let mut lines = [String::new(), String::new()];
    for (i, &length) in lengths.iter().enumerate() {
        let number = 2 * i / lengths.len();
        let (archive, lines) = (&mut archives[number], &mut lines[number]);
        archive.extend(format!("{} ", 3 * i).into_bytes());
        writeln!(lines, "{} {}.ark:{}", 3 * i, number + 1, archive.len()).expect("strings take everything");
        let sizes = [(length as i32).to_le_bytes(), 2i32.to_le_bytes()];
        let value = |k: u32| (97 * i as u32 + 5 * k) % 256;
        match i % 3 {
            0 => {
                archive.extend([b"\0BFM \x04", &sizes[0][..], b"\x04", &sizes[1]].concat());
                (0..2 * length).for_each(|k| archive.extend((value(k) as f32).to_le_bytes()));
            }
            1 => {
                archive.extend([b"\0BCM3 ", &(-1f32).to_le_bytes()[..], &2f32.to_le_bytes()].concat());
                archive.extend(sizes.concat());
                archive.extend((0..2 * length).map(|k| value(k) as u8));
            }
            _ => {
                let rows: Vec<String> =
                    (0..length).map(|t| format!("  {} -{}", value(2 * t), value(2 * t + 1))).collect();
                archive.extend(format!("[\n{} ]\n", rows.join("\n")).into_bytes());
            }
        }
    }
    let [first, second] = archives;
    let script = [lines[1].as_str(), &lines[0]].concat().into_bytes();
    [("1.ark".into(), first), ("2.ark".into(), second), ("matrices.scp".into(), script)]
}

/// The runs of the labels of an utterance: a class and its frames.
fn runs(i: usize, length: u32) -> Vec<(u16, u32)> {
    let class = (i % 10) as u16;
    if length == 1 { vec![(class, 1)] } else { vec![(class, 1), (9 - class, length - 1)] }
}

/// A master label file of the corpus; the key of utterance `i` is `step · i`.
pub fn labels(lengths: &[u32], step: usize) -> Vec<u8> {
    let mut text = "#!MLF!#\n".to_owned();
    for (i, &length) in lengths.iter().enumerate() {
        writeln!(text, "\"*/{}.lab\"", step * i).expect("strings take everything");
        let mut start = 0;
        for (class, frames) in runs(i, length) {
            let end = start + frames;
            writeln!(text, "{start}00000 {end}00000 s {class}").expect("strings take everything");
            start = end;
        }
        text.push_str(".\n");
    }
    text.into_bytes()
}

/// Labels in CNTK's binary form.
pub fn binary_labels(lengths: &[u32], step: usize) -> Vec<u8> {
    let mut bytes = b"MLF\x02\0".to_vec();
    for (i, &length) in lengths.iter().enumerate() {
        let (key, runs) = ((step * i).to_string(), runs(i, length));
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend((runs.len() as u16).to_le_bytes());
        for (class, frames) in runs {
            bytes.extend(class.to_le_bytes());
            bytes.extend((frames as u16).to_le_bytes());
        }
    }
    bytes
}

/// One archive of the whole corpus, and the list of it.
pub fn one_archive(lengths: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let (mut frames, mut list) = (Vec::new(), String::new());
    for (i, &length) in lengths.iter().enumerate() {
        writeln!(list, "{i}=all.htk[{},{}]", frames.len(), frames.len() + length as usize - 1)
            .expect("strings take everything");
        frames.extend((0..length).map(|t| [(100 * i) as f32 + t as f32, -(t as f32)]));
    }
    (archive(&frames, Form::Big), list.into_bytes())
}
