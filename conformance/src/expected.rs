//! The answers that Tesson must give to a case.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::oracle::Dealing;
use crate::speech::{plainly_read, with_first_values};
use crate::{Case, From, Rules, Step, Times, run};

/// The answers that Tesson must give to a case: the recorded ones, or, if it is meant to differ, those of
/// `tesson.jsonl` or `lenient.jsonl`, or the recorded ones changed as the sentence of the deviation says.
///
/// # Errors
/// Files that cannot be read, and a deviation without answers and with a sentence that is not known here.
pub fn expected(case: &Case, rules: Rules) -> Result<Vec<Value>, String> {
    let own = match rules {
        Rules::Lenient => ["lenient.jsonl", "tesson.jsonl"].as_slice(),
        Rules::AsWritten => ["tesson.jsonl"].as_slice(),
    };
    if let Some(file) = own.iter().map(|name| case.dir.join(name)).find(|file| file.is_file()) {
        return lines(&file);
    }
    let recorded = lines(&case.dir.join("expected.jsonl"))?;
    match &case.deviation {
        None => Ok(recorded),
        Some(sentence) => {
            let deviation =
                Deviation::of(sentence).ok_or_else(|| format!("unknown deviation: {sentence}"))?;
            deviation.apply(case, recorded)
        }
    }
}

/// The expected answers where the reference stops at a fault earlier than Tesson.
///
/// spec/ctf.md §9: "Tesson charges a fault at the minibatch that holds its sequence, in plan order (the
/// reference: when the chunk is read, so up to a chunk or a window earlier). Deviation." So minibatches may come
/// between the last that the reference delivered and the error, if that was the fate of a reading that had begun well;
/// they are taken as found. Everything before, and that there is an error in the end, is as expected; that error must
/// be a fault with a place in the data, which is what the sentence is about.
#[must_use]
pub fn with_later_fault(mut expected: Vec<Value>, found: &[Value]) -> Vec<Value> {
    let is_error = |line: Option<&Value>| line.is_some_and(|l| l.get("error").is_some());
    let is_minibatch = |line: &Value| line.get("streams").is_some();
    let [.., before, last] = expected.as_slice() else { return expected };
    let begun_well = is_minibatch(before) && is_error(Some(last));
    let Some(between) = found.get(expected.len() - 1..found.len().saturating_sub(1)) else { return expected };
    let error = found.last().and_then(|line| line.get("error")?.as_str());
    let is_fault = error.is_some_and(|words| words.contains(" (byte "));
    if begun_well && is_fault && between.iter().all(is_minibatch) {
        let at = expected.len() - 1;
        expected.splice(at..at, between.iter().cloned());
    }
    expected
}

/// The expected answers with the pictures that were found, where these may differ from the recorded ones and do so no
/// more than they may.
///
/// # Errors
/// Pictures that differ by more: other numbers of them or of their values, and values that no picture has.
pub fn with_allowed_pictures(
    case: &Case,
    mut expected: Vec<Value>,
    found: &[Value],
) -> Result<Vec<Value>, String> {
    let most = match case.deviation.as_deref().and_then(Deviation::of) {
        Some(Deviation::OneOff) => 1.0,
        Some(Deviation::FitsEveryTarget) => {
            // Nothing was recorded: the pictures have to come, and in the shape that the configuration says.
            return match found.iter().find_map(|line| line.get("error")) {
                Some(error) => Err(format!("a picture does not fit: {error}")),
                None => {
                    let (expected, mut values) = (scaled_values(case), Vec::new());
                    flatten(&found[0]["streams"]["features"]["sequences"][0], &mut values);
                    if expected == Some(values.len()) {
                        Ok(found.to_vec())
                    } else {
                        Err(format!("a picture has {} values, {expected:?} are expected", values.len()))
                    }
                }
            };
        }
        _ => return Ok(expected),
    };
    let is_pictures = |stream: &Value| stream.get("transforms").is_some();
    let inputs = case.deserializers().iter().filter_map(|d| d["input"].as_object()).flatten();
    let Some((name, _)) = inputs.into_iter().find(|(_, stream)| is_pictures(stream)) else {
        return Ok(expected);
    };
    for (expected, found) in expected.iter_mut().zip(found) {
        let (Some(recorded), Some(pictures)) =
            (expected.pointer_mut(&format!("/streams/{name}")), found.pointer(&format!("/streams/{name}")))
        else {
            continue;
        };
        let (mut one, mut other) = (Vec::new(), Vec::new());
        flatten(&recorded["sequences"], &mut one);
        flatten(&pictures["sequences"], &mut other);
        if one.len() != other.len() {
            return Err(format!("{} values of pictures, {} are expected", other.len(), one.len()));
        }
        let beyond = |(a, b): (&f64, &f64)| (a - b).abs() > most || !(0.0..=255.0).contains(b);
        if let Some((expected, found)) = one.iter().zip(&other).find(|&pair| beyond(pair)) {
            return Err(format!("a value of a picture is {found}, {expected} ± {most} is expected"));
        }
        recorded["sequences"] = pictures["sequences"].clone();
    }
    Ok(expected)
}

/// The number of values of a picture that a case scales.
fn scaled_values(case: &Case) -> Option<usize> {
    let transforms = case.deserializers().first()?.pointer("/input/features/transforms")?.as_array()?;
    let scale = transforms.iter().find(|transform| transform["type"] == "Scale")?;
    ["width", "height", "channels"].iter().map(|name| Some(scale[name].as_u64()? as usize)).product()
}

/// All numbers in lists of lists.
fn flatten(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, into)),
        value => into.extend(value.as_f64()),
    }
}

fn lines(file: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let full = text.lines().filter(|line| !line.trim().is_empty());
    full.map(|line| serde_json::from_str(line).map_err(|e| format!("{}: {e}", file.display()))).collect()
}

/// The sentences about what Tesson does instead of the recorded behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deviation {
    /// "Tesson restores exactly: the four minibatches after the restore are the four recorded right after the
    /// checkpoint."
    RestoresExactly { minibatches: usize },
    /// "Where the reference says error, Tesson hands out an empty minibatch (no sequences, sweepEnd as computed) and
    /// goes on."
    EmptyMinibatch,
    /// "Tesson keeps the dealing of an unchanged size: by running number since the start of the data; every sequence
    /// goes to exactly one rank."
    DealsByRunningNumber,
    /// Options and messages that the reference lacks; the recorded answers are those of their defaults.
    AsRecorded,
    /// "A value may differ by at most 1 from the reference."
    OneOff,
    /// "Tesson fails when the pipeline is built."
    FailsWhenBuilt,
    /// "… when the reference would fail, so every picture fits every target."
    FitsEveryTarget,
    /// "Tesson skips blank lines." "Tesson reads the whole file, …" "Tesson tries the other byte order …, and reads this file."
    /// "Tesson separates columns at runs of blanks and tabs and reads this utterance."
    ReadsFeatures,
    /// "Tesson sees that dim is already the full dimension (the documented meaning) and gives 6 values."
    FirstValues(usize),
    /// "Tesson refuses all three lines, naming file and line." "Tesson refuses the utterance (error, or left out under
    /// maxErrors): …"
    RefusesLines,
}

impl Deviation {
    fn of(sentence: &str) -> Option<Deviation> {
        let has = |phrase: &str| sentence.contains(phrase);
        if has("restores exactly")
            && has("minibatches after the restore are the")
            && has("after the checkpoint")
        {
            let count = sentence.split_whitespace().find_map(number)?;
            Some(Deviation::RestoresExactly { minibatches: count })
        } else if has("Where the reference says error") && has("an empty minibatch") {
            Some(Deviation::EmptyMinibatch)
        } else if has("the dealing") && has("by running number since the start of the data") {
            Some(Deviation::DealsByRunningNumber)
        } else if has("may differ by at most 1 from the reference") {
            Some(Deviation::OneOff)
        } else if has("Tesson fails when the pipeline is built") {
            Some(Deviation::FailsWhenBuilt)
        } else if has("every picture fits every target") {
            Some(Deviation::FitsEveryTarget)
        } else if has("Tesson skips blank lines")
            || has("Tesson reads the whole file")
            || has("Tesson tries the other byte order")
            || has("Tesson separates columns at runs of blanks and tabs and reads this utterance")
        {
            Some(Deviation::ReadsFeatures)
        } else if has("dim is already the full dimension") {
            Some(Deviation::FirstValues(sentence.split_whitespace().find_map(number)?))
        } else if has("Tesson refuses all three lines") || has("Tesson refuses the utterance") {
            Some(Deviation::RefusesLines)
        } else {
            let known = [
                // The cases are read with `augmentation = "cntk"`.
                "Random draws",
                "Tesson names the map line too",
                "Tesson treats a file the same wherever it lies",
                "Tesson's default decoder must not",
                "Tesson accepts the same lines but reports",
                "Tesson sets multiViewCrop itself",
                "Tesson refuses a truncated picture",
                "The reference process dies; Tesson reports an error",
            ];
            known.into_iter().any(has).then_some(Deviation::AsRecorded)
        }
    }

    fn apply(self, case: &Case, recorded: Vec<Value>) -> Result<Vec<Value>, String> {
        match self {
            Deviation::RestoresExactly { minibatches } => restores_exactly(case, recorded, minibatches),
            Deviation::EmptyMinibatch => Ok(recorded.into_iter().map(|line| no_error(case, line)).collect()),
            Deviation::DealsByRunningNumber => Ok(run(case, &mut Dealing::new(case)?)),
            Deviation::ReadsFeatures => plainly_read(case),
            Deviation::FirstValues(n) => Ok(with_first_values(recorded, n)),
            Deviation::RefusesLines => Ok(vec![json!({"error": "lines are refused"})]),
            Deviation::FailsWhenBuilt => Ok(vec![json!({"error": "the pipeline cannot be built"})]),
            Deviation::AsRecorded | Deviation::OneOff | Deviation::FitsEveryTarget => Ok(recorded),
        }
    }
}

fn number(word: &str) -> Option<usize> {
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    words.iter().position(|w| *w == word).map(|i| i + 1).or_else(|| word.parse().ok())
}

/// Replaces the answers recorded after a restore by those recorded after its checkpoint.
fn restores_exactly(case: &Case, mut lines: Vec<Value>, minibatches: usize) -> Result<Vec<Value>, String> {
    let steps = lines_of_steps(case, &lines);
    for (at, step) in case.steps.iter().enumerate() {
        let Step::Restore(From::Label(label)) = step else { continue };
        let saved = case.steps.iter().position(|s| matches!(s, Step::Checkpoint(l) if l == label));
        let saved = saved.ok_or_else(|| format!("no checkpoint has the label `{label}`"))?;
        // The answers to a step begin where those to the step before it end.
        let (from, to) = (steps[saved].end, steps[at].end);
        if to + minibatches > lines.len() || from + minibatches > steps[at].start {
            return Err(format!("fewer than {minibatches} minibatches are recorded for `{label}`"));
        }
        for i in 0..minibatches {
            lines[to + i] = lines[from + i].clone();
        }
    }
    Ok(lines)
}

/// The range of lines that answers each step.
fn lines_of_steps(case: &Case, lines: &[Value]) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let is_last = |line: &Value| line.get("end").is_some() || line.get("error").is_some();
    let count = |step: &Step, rest: &[Value]| match step {
        Step::Next(_, Times::Repeat(n)) => *n as usize,
        Step::Next(_, Times::UntilEnd) => rest.iter().position(is_last).map_or(rest.len(), |i| i + 1),
        _ => 1,
    };
    let range = |step: &Step| {
        let start = at;
        at = (start + count(step, &lines[start.min(lines.len())..])).min(lines.len());
        start..at
    };
    case.steps.iter().map(range).collect()
}

/// Replaces an error by an empty minibatch. A round without own sequences ends only with its sweep, so it has the end
/// of a sweep.
fn no_error(case: &Case, line: Value) -> Value {
    if line.get("error").is_none() {
        return line;
    }
    let inputs = case.deserializers().iter().filter_map(|d| d["input"].as_object());
    let empty = json!({"numberOfSequences": 0, "numberOfSamples": 0, "sequences": []});
    let streams = inputs.flat_map(|input| input.keys()).map(|name| (name.clone(), empty.clone()));
    json!({"sweepEnd": true, "streams": streams.collect::<serde_json::Map<_, _>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(steps: &str) -> Case {
        let source = r#"{"deserializers": [{"type": "CNTKTextFormatDeserializer", "input": {"x": {}}}]}"#;
        Case::parse(Path::new("."), &format!(r#"{{"source": {source}, "steps": {steps}}}"#)).unwrap()
    }

    #[test]
    fn sentences_are_recognized_by_what_they_say() {
        let sentence = "Tesson restores exactly: the 3 minibatches after the restore are the 3 recorded right after the checkpoint.";
        assert_eq!(Deviation::of(sentence), Some(Deviation::RestoresExactly { minibatches: 3 }));
        assert_eq!(
            Deviation::of(&sentence.replace('3', "two")),
            Some(Deviation::RestoresExactly { minibatches: 2 })
        );
        assert_eq!(Deviation::of("Tesson does something else."), None);
    }

    #[test]
    fn an_exact_restore_repeats_what_followed_the_checkpoint() {
        let case = case(
            r#"[{"next": {}, "repeat": 1}, {"checkpoint": "a"}, {"next": {}, "repeat": 2}, {"reopen": true},
                {"restore": "a"}, {"next": {}, "until": "end"}]"#,
        );
        let lines = |after: [i32; 2]| {
            vec![
                json!(1),
                json!({"checkpoint": "a"}),
                json!(2),
                json!(3),
                json!({"reopen": true}),
                json!({"restore": "a"}),
                json!(after[0]),
                json!(after[1]),
                json!({"end": true}),
            ]
        };
        assert_eq!(restores_exactly(&case, lines([8, 9]), 2).unwrap(), lines([2, 3]));
        assert!(restores_exactly(&case, lines([8, 9]), 4).unwrap_err().contains("fewer than 4"));
    }

    #[test]
    fn a_fault_may_be_charged_later_but_not_forgotten() {
        let (one, two, error, end) = (
            json!({"streams": 1}),
            json!({"streams": 2}),
            json!({"error": "f:2 (byte 5): x"}),
            json!({"end": true}),
        );
        let expected = vec![one.clone(), error.clone()];
        let later = [one.clone(), two.clone(), error.clone()];
        let other = [one.clone(), two.clone(), json!({"error": "out of memory"})];
        assert_eq!(with_later_fault(expected.clone(), &other), expected);
        assert_eq!(with_later_fault(expected.clone(), &later), later);
        assert_eq!(with_later_fault(expected.clone(), &[one.clone(), two.clone(), end.clone()]), expected);
        assert_eq!(with_later_fault(expected.clone(), &expected), expected);
        assert_eq!(with_later_fault(vec![error.clone()], &later), vec![error]);
        assert_eq!(with_later_fault(vec![one.clone(), end.clone()], &later), [one, end]);
    }

    #[test]
    fn an_error_becomes_an_empty_minibatch_of_all_streams() {
        let case = case("[]");
        let found = no_error(&case, json!({"error": "shape"}));
        assert_eq!(found["streams"]["x"]["numberOfSequences"], 0);
        assert_eq!(no_error(&case, json!({"end": true})), json!({"end": true}));
    }
}
