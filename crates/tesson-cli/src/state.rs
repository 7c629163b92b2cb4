//! `tesson state`: saved states in words, what differs between them, and one state made of those of all ranks.

use std::path::Path;

use serde_json::{Map, Value};
use tesson::{ResumeState, merge_states};
use tesson_plan::{Fingerprint, Window};

use crate::args::StateArgs;
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::state_file;

/// One thing that a state says, with its name and in words.
type Fact = (&'static str, String);

/// A state of either kind that is saved as JSON.
enum Saved {
    /// The state of a source of minibatches, or of a loader.
    Minibatches(Box<ResumeState>),
    /// The state of a prepared dataset.
    Examples(Value),
}

pub(crate) fn run(args: &StateArgs, out: &mut Output) -> Result<(), Failure> {
    args.merge.as_deref().map_or(Ok(()), |path| state_file::check(path, "--merge"))?;
    let states: Vec<Saved> = args.files.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
    let facts: Vec<Vec<Fact>> = states.iter().map(Saved::facts).collect();
    for (path, facts) in args.files.iter().zip(&facts) {
        show(path, facts, out)?;
    }
    if facts.len() > 1 {
        differences(args, &facts, out)?;
    }
    args.merge.as_deref().map_or(Ok(()), |path| merge(args, &states, path, out))
}

fn load(path: &Path) -> Result<Saved, Failure> {
    state_file::load(path, "", |json| {
        if !json["tfds"].is_null() {
            return Ok(Saved::Examples(json));
        }
        let state = ResumeState::from_json(&json).map_err(|e| format!("{} is {}", e.what, e.state))?;
        Ok(Saved::Minibatches(Box::new(state)))
    })
}

impl Saved {
    fn facts(&self) -> Vec<Fact> {
        match self {
            Saved::Minibatches(state) => of_minibatches(state),
            Saved::Examples(json) => of_examples(json),
        }
    }
}

fn of_minibatches(state: &ResumeState) -> Vec<Fact> {
    let cursor = &state.cursor;
    let position = format!("{} of all ranks before the next minibatch", counted(cursor.position, "sample"));
    let Some(fingerprint) = state.fingerprint.as_deref() else {
        return vec![
            ("state of", "a position and nothing else, as CNTK saves it".into()),
            ("position", position),
        ];
    };
    let mut facts = vec![
        ("state of", "a source of minibatches, or a loader".into()),
        ("position", position),
        ("epoch", format!("{}, {} into it", cursor.sweep, counted(cursor.sequence, "sequence"))),
        ("faults", state.faults.to_string()),
    ];
    facts.push(match state.share {
        Some(share) => (
            "resumes",
            format!("on rank {} of {} alone, or merged with the others", share.rank, share.workers),
        ),
        None => ("resumes", "on any number of ranks".into()),
    });
    if let Some(rows) = &state.rows {
        facts.push((
            "truncated",
            format!("{} with what is left of their sequences", counted(rows.slots.len() as u64, "slot")),
        ));
    }
    if let Some(consumed) = &state.consumed {
        let layers = counted(consumed.layers.len() as u64, "time");
        facts.push((
            "merged",
            format!("{layers}; sequences beyond the position that a rank has read are left out"),
        ));
    }
    if cursor.steps.is_running() {
        facts.push(("equal steps", "within an epoch in which ranks take equally many".into()));
    }
    facts.extend(of_fingerprint(fingerprint));
    facts
}

fn of_fingerprint(fingerprint: &Fingerprint) -> Vec<Fact> {
    let order = &fingerprint.order;
    let mut words = format!("{} (version {})", order.name(), order.version());
    if let Some(seed) = order.seed() {
        words += &format!(", seed {seed}");
    }
    match order.window() {
        Some(Window::Chunks(n)) => words += &format!(", windows of {}", counted(n, "chunk")),
        Some(Window::Samples(n)) => words += &format!(", windows of {}", counted(n, "sample")),
        None => {}
    }
    let ends =
        if fingerprint.cross_sweep_ends { "run on into the next epoch" } else { "end with their epoch" };
    let mut facts = vec![
        ("order", words),
        ("minibatches", ends.into()),
        ("data", format!("{:016x} (a hash of sizes and ends of the files)", fingerprint.corpus)),
    ];
    facts.extend(
        fingerprint.index.map(|index| ("index", format!("{index:016x} (a hash of chunks and lengths)"))),
    );
    facts.push((
        "options",
        format!("{:016x} (a hash of those that change order or values)", fingerprint.options),
    ));
    facts
}

fn of_examples(json: &Value) -> Vec<Fact> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts = vec![("state of", "a prepared dataset".to_owned())];
    let stream = &json["stream"];
    if let Some(delivered) = stream["delivered"].as_u64() {
        let ended = if stream["ended"] == true { ", which has ended" } else { "" };
        facts.push(("position", format!("{} into the pass{ended}", counted(delivered, "example"))));
    }
    let passes = stream["started"].as_array().filter(|passes| !passes.is_empty());
    facts.extend(passes.map(|passes| {
        let numbers: Vec<String> = passes.iter().map(Value::to_string).collect();
        ("passes", format!("{} (of each shuffle, before this one)", numbers.join(", ")))
    }));
    if !json["buffers"].is_null() {
        facts.push(("buffers", "the contents of shuffle buffers are in the state".into()));
    }
    let named = [("dataset", "dataset"), ("files", "files"), ("order", "order")];
    facts.extend(
        named
            .into_iter()
            .filter(|(_, name)| !json[*name].is_null())
            .map(|(fact, name)| (fact, text(&json[name]))),
    );
    facts
}

fn show(path: &Path, facts: &[Fact], out: &mut Output) -> Result<(), Failure> {
    if out.is_json() {
        let facts: Map<String, Value> =
            facts.iter().map(|(name, words)| ((*name).into(), words.as_str().into())).collect();
        out.json(&serde_json::json!({"file": path.to_string_lossy(), "state": facts}))?;
    } else {
        out.line(&path.to_string_lossy())?;
        for (name, words) in facts {
            out.line(&format!("  {name:<12}{words}"))?;
        }
    }
    Ok(())
}

/// Shows the facts that are not the same in all states, in the order in which they were met.
fn differences(args: &StateArgs, facts: &[Vec<Fact>], out: &mut Output) -> Result<(), Failure> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in facts.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let word =
        |facts: &[Fact], name: &str| facts.iter().find(|(n, _)| *n == name).map(|(_, words)| words.clone());
    names.retain(|name| facts.iter().any(|other| word(other, name) != word(&facts[0], name)));
    if out.is_json() {
        return Ok(out.json(&serde_json::json!({"differs": names}))?);
    }
    if names.is_empty() {
        return Ok(out.line("no difference")?);
    }
    out.line("differences")?;
    for name in names {
        out.line(&format!("  {name}"))?;
        for (path, facts) in args.files.iter().zip(facts) {
            let words = word(facts, name).unwrap_or_else(|| "nothing".into());
            out.line(&format!("    {}: {words}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes the one state of which the others are those of all ranks.
fn merge(args: &StateArgs, states: &[Saved], to: &Path, out: &mut Output) -> Result<(), Failure> {
    let mut ranks = Vec::new();
    for (path, state) in args.files.iter().zip(states) {
        let Saved::Minibatches(state) = state else {
            let what = "the state of a prepared dataset, which is the same for all ranks; expected states of minibatches";
            return Err(Failure::Usage(format!("--merge: {} is {what}", path.display())));
        };
        ranks.push((**state).clone());
    }
    let merged = merge_states(&ranks).map_err(|e| Failure::State("--merge".into(), e))?;
    state_file::save(to, &merged.to_json())?;
    show(to, &of_minibatches(&merged), out)
}
