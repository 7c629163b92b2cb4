//! `tesson show`: one sequence by its key.

use tesson::Source;

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::host::Host;
use crate::output::{Output, count};
use crate::progress::Progress;
use crate::{input, line, log, read};

pub(crate) fn run(args: &ShowArgs, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    let config = input::config(&args.input, Some(&args.order), host)?;
    log::show(config.trace_level);
    let mut source = read::open(&config, &args.input)?;
    let shown = {
        let _progress = Progress::spinner("looking");
        source.show(&args.key, args.sweep)?
    };
    let Some(shown) = shown else {
        return Err(Failure::Usage(unknown(&args.key, &mut source)?));
    };
    let faults: Vec<String> = shown.faults.iter().map(ToString::to_string).collect();
    if out.is_json() {
        let place = shown.place.as_ref().map(|(file, offset)| (file.display().to_string(), *offset));
        let head = serde_json::json!({
            "key": args.key,
            "chunk": shown.planned.chunk,
            "sequence": shown.planned.sequence,
            "file": place.as_ref().map(|(file, _)| file),
            "offset": place.as_ref().map(|(_, offset)| offset),
            "sweep": args.sweep,
            "number": shown.when.map(|(number, _)| number),
            "position": shown.when.map(|(_, position)| position),
            "faults": faults,
        });
        // The values keep the digits that bring them back, which a tree of JSON would not.
        let mut text = head.to_string();
        text.pop();
        text.push_str(", \"streams\": ");
        line::streams(&mut text, &shown.minibatch, false);
        text.push('}');
        return Ok(out.line(&text)?);
    }
    out.pair("key", &args.key)?;
    let mut place = format!("sequence {} of chunk {}", shown.planned.sequence, shown.planned.chunk);
    if let Some((file, offset)) = &shown.place {
        place.push_str(&format!(", {} from byte {offset} on", file.display()));
    }
    out.pair("place", &place)?;
    if let Some((number, position)) = shown.when {
        let (number, position) = (count(number), count(position));
        out.pair("comes", &format!("number {number} of sweep {}, at sample {position}", args.sweep))?;
    }
    for fault in faults {
        out.pair("fault", &fault)?;
    }
    let mut text = String::new();
    for batch in shown.minibatch.streams() {
        let form = if batch.info().sparse { "sparse" } else { "dense" };
        out.pair(
            &batch.info().name,
            &format!("{} samples, {form} {}", batch.n_samples(), batch.info().shape),
        )?;
        for sample in 0..batch.n_samples() {
            text.clear();
            line::sample(&mut text, batch, sample);
            out.pair("", &text)?;
        }
    }
    Ok(())
}

/// What to say if there is no such key: some that there are.
fn unknown(key: &str, source: &mut Source) -> Result<String, Failure> {
    let n = source.num_sequences()?;
    let what = format!("--key {key}: there is no sequence with this key among {}", count(n));
    let first =
        source.next_minibatch(1)?.and_then(|m| (m.n_sequences() > 0).then(|| m.keys().get(0).to_string()));
    Ok(first.map_or(what.clone(), |first| format!("{what}; one is `{first}`")))
}
