//! The recorded text cases in plain order: what the index and the decoder give, against what CNTK 2.7 answered.
//!
//! Minibatches, orders and checkpoints are the engine's; here a case is all its sequences, one after the other.

use std::path::Path;

use serde_json::Value as Json;
use tesson_case_lookup::CaseFolder;
use tesson_core::{Defects, OptionSet, Options, ReaderDefaults, Registry, Value};

use crate::files::DataFile;

use super::super::options::CtfOptions;
use super::super::{Ctf, FORMAT, Rules};
use super::harness::{Cores, Memory, SETTING};
use tesson_core::{Chunk, Data, Element, Fault, Scratch, SequenceSelection, StreamColumn, Values};

fn option(json: &Json) -> Value {
    match json {
        Json::String(s) => Value::Text(s.clone()),
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or(Value::Real(n.as_f64().unwrap()), |n| Value::Whole(n.into())),
        Json::Object(o) => Value::Section(o.iter().map(|(k, v)| (k.as_str(), option(v))).collect()),
        other => panic!("an option is {other}"),
    }
}

/// The case's sequences, stream by stream, or that it fails.
type Answer = Result<Vec<(String, Vec<Json>)>, String>;

fn ours(case: &Path, source: &Json, lenient: bool) -> Answer {
    let Value::Section(mut section) = option(&source["deserializers"][0]) else { panic!("no section") };
    section.0.retain(|(name, _)| name != "type" && name != "module");
    if lenient {
        section.0.retain(|(name, _)| name != "rules");
    }
    let file = section.get("file").and_then(|f| if let Value::Text(t) = f { Some(t.clone()) } else { None });
    let double = source["precision"].as_str() == Some("double");
    let frame_mode = source["frameMode"].as_bool() == Some(true);
    let defaults =
        ReaderDefaults { element: if double { Element::F64 } else { Element::F32 }, frame_mode, ..SETTING };
    let options = Options::new(CtfOptions::TABLE, &section, "").map_err(|e| e.to_string())?;
    let resolved = CtfOptions::read(&options, &defaults).map_err(|e| e.to_string())?;
    let mut ctf = Ctf::new(resolved.clone().into(), &Rules::new(&resolved), &resolved.files[0]);
    let memory = Memory::new(std::fs::read(case.join(file.unwrap_or_default())).map_err(|e| e.to_string())?);
    ctf.prepare(&memory).map_err(|e| e.to_string())?;
    let indexed = ctf.index(&memory, &Cores(2), &mut Defects::Refuse).map_err(|e| e.to_string())?;
    let mut streams: Vec<(String, Vec<Json>)> =
        ctf.streams().iter().map(|s| (s.name.clone(), Vec::new())).collect();
    let (mut scratch, mut chunk, mut budget) = (Scratch::default(), Chunk::empty(), resolved.max_errors);
    for c in indexed.index.chunk_ids() {
        let n = indexed.index.chunk(c).n_sequences;
        let wanted = SequenceSelection::Range(0..n);
        indexed.corpus.load(c, wanted, &memory, &mut scratch, &mut chunk).map_err(|e| e.to_string())?;
        for i in 0..n {
            if frame_mode && chunk.lengths[i as usize] > 1 {
                return Err("non-frame sequence".into());
            }
            charge(chunk.faults_of(i), &mut budget)?;
            if chunk.is_left_out(i) {
                continue;
            }
            for ((_, all), (column, info)) in streams.iter_mut().zip(chunk.streams.iter().zip(ctf.streams()))
            {
                let samples = column.samples.range(i as usize);
                all.push(samples.map(|s| sample(column, info.shape.len(), s)).collect());
            }
        }
    }
    Ok(streams)
}

fn charge(faults: &[Fault], budget: &mut u64) -> Result<(), String> {
    for fault in faults {
        *budget = match budget.checked_sub(1) {
            Some(left) if !fault.fatal => left,
            _ => return Err(fault.kind.to_string()),
        };
    }
    Ok(())
}

fn sample(column: &StreamColumn, dim: usize, s: usize) -> Json {
    let number = |values: &Values, at: usize| match values {
        Values::F32(v) => as_recorded(f64::from(v[at])),
        Values::F64(v) => as_recorded(v[at]),
        other => panic!("decoded as {other:?}"),
    };
    match &column.data {
        Data::Dense { values } => (0..dim).map(|d| number(values, s * dim + d)).collect(),
        Data::Sparse { rows, columns, values } => rows
            .range(s)
            .map(|p| (columns[p], number(values, p)))
            .filter(|(_, v)| v.as_f64() != Some(0.0))
            .map(|(c, v)| Json::from(vec![Json::from(c), v]))
            .collect(),
        other => panic!("the format stores no {other:?}"),
    }
}

/// Numbers as in the recorded answers: no -0, infinities as words.
fn as_recorded(x: f64) -> Json {
    match x {
        _ if x.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        0.0 => Json::from(0.0),
        _ => Json::from(x),
    }
}

fn recorded(lines: &str, names: &[String]) -> Answer {
    let mut streams: Vec<(String, Vec<Json>)> = names.iter().map(|n| (n.clone(), Vec::new())).collect();
    for line in lines.lines().map(|l| serde_json::from_str::<Json>(l).unwrap()) {
        if let Some(error) = line.get("error") {
            return Err(error.to_string());
        }
        for (name, all) in &mut streams {
            if let Some(sequences) = line["streams"][name.as_str()]["sequences"].as_array() {
                all.extend(sequences.iter().cloned());
            }
        }
    }
    Ok(streams)
}

/// Equal as numbers of the case's type, however they are printed.
fn same(a: &Json, b: &Json, double: bool) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, double))
        }
        (Json::Number(_), Json::Number(_)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if double { a == b } else { a as f32 == b as f32 }
        }
        _ => a == b,
    }
}

/// Why a case cannot be told from its sequences alone.
fn skipped(source: &Json) -> Option<&'static str> {
    let sweeps = source["maxSweeps"].as_u64().unwrap_or(1);
    if source["deserializers"].as_array().is_some_and(|d| d.len() > 1) {
        Some("joins deserializers")
    } else if source["randomize"].as_bool() == Some(true) {
        Some("an order of its own")
    } else if sweeps != 1 || source.get("maxSamples").is_some() {
        Some("several sweeps")
    } else {
        None
    }
}

#[test]
fn recorded_cases_are_answered_as_cntk_did() {
    assert!(Registry::new(&[&FORMAT]).find("CNTKTextFormatReader", "").is_ok());
    let (mut wrong, mut n) = (Vec::new(), 0);
    for CaseFolder { name, path: case } in tesson_case_lookup::cases("cntk/ctf") {
        let request: Json = serde_json::from_slice(&std::fs::read(case.join("case.json")).unwrap()).unwrap();
        let source = &request["source"];
        let double = source["precision"].as_str() == Some("double");
        for lenient in [false, true] {
            let label = if lenient { format!("{name}-lenient") } else { name.clone() };
            if let Some(why) = skipped(source) {
                eprintln!("skipped {label}: {why}");
                continue;
            }
            let answers = ["lenient.jsonl", "tesson.jsonl", "expected.jsonl"];
            let answers = &answers[usize::from(!lenient)..];
            let path = answers.iter().map(|a| case.join(a)).find(|p| p.is_file()).unwrap();
            let names: Vec<String> = source["deserializers"][0]["input"]
                .as_object()
                .map_or(Vec::new(), |o| o.keys().cloned().collect());
            let expected = recorded(&std::fs::read_to_string(path).unwrap(), &names);
            let found = ours(&case, source, lenient);
            let equal = match (&expected, &found) {
                (Ok(a), Ok(b)) => {
                    a.len() == b.len()
                        && a.iter().zip(b).all(|(a, b)| {
                            a.0 == b.0
                                && a.1.len() == b.1.len()
                                && a.1.iter().zip(&b.1).all(|(a, b)| same(a, b, double))
                        })
                }
                (Err(_), Err(_)) => true,
                _ => false,
            };
            n += 1;
            if !equal {
                wrong.push(format!("{label}:\n  expected {expected:?}\n  found    {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {n} differ\n{}", wrong.len(), wrong.join("\n"));
}
