//! `tesson report` and `tesson info --stats`: figures of the data and of the plan, as a page, as JSON and as text.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use tesson::OpenOptions;
use tesson_engine::atomic_file;
use tesson_report::text::{count, counted, dims, number, percent};
use tesson_report::{Report, Request, Stage, StreamFigures, Unit, collect, differences, page, read_report};

use crate::args::{Common, InputArgs, ReportArgs};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, size};
use crate::progress::Progress;
use crate::{calls, data, input, interrupt};

/// The page that is written where none is named.
const PAGE: &str = "report.html";

/// Bytes that a report has at most; a larger file is none.
const LARGEST_REPORT: u64 = 64 << 20;

pub(crate) fn run(args: &ReportArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    if are_two(&args.common.input)? {
        return compare(args, out);
    }
    let target = args.output.clone().or_else(|| (!out.is_json()).then(|| PathBuf::from(PAGE)));
    target.as_deref().map_or(Ok(()), |path| check_target(path, &args.common.input))?;
    let report = make(&args.common, args.minibatch_size, extensions, |request| {
        (request.all, request.measures) = (args.all, !args.no_timing);
    })?;
    if out.is_json() {
        out.json(&report)?;
    }
    if let Some(path) = &target {
        let html = page(&report);
        atomic_file::write(path, html.as_bytes()).map_err(|e| Failure::file(path, e))?;
        if !out.is_json() {
            out.pair("page", &format!("{}, {}", path.display(), size(html.len() as u64)))?;
            summary(&report, out)?;
        }
    }
    match &report.unfinished {
        Some(why) => Err(Failure::File(format!("the report is unfinished: {why}"))),
        None => Ok(()),
    }
}

/// `tesson info --stats`: the figures as text.
pub(crate) fn stats(
    common: &Common,
    minibatch_size: Option<u64>,
    extensions: &dyn Extensions,
    out: &mut Output,
) -> Result<(), Failure> {
    let report = make(common, minibatch_size, extensions, |request| request.measures = false)?;
    if out.is_json() {
        // The pictures of examples are for pages.
        return Ok(out.json(&Report { examples: Vec::new(), ..report })?);
    }
    out.line("")?;
    let (some, all) = (report.card.sampled, report.card.examples);
    let of = if some >= all {
        format!("all {}", counted(all, "example"))
    } else {
        format!("{} of {}", count(some), counted(all, "example"))
    };
    out.pair("figures of", &of)?;
    for stream in &report.streams {
        stream_text(stream, out)?;
    }
    summary(&report, out)
}

/// Collects the figures. Ctrl-C ends that with what has been seen.
fn make(
    common: &Common,
    minibatch_size: Option<u64>,
    extensions: &dyn Extensions,
    change: impl FnOnce(&mut Request<'_>),
) -> Result<Report, Failure> {
    let interrupted =
        interrupt::caught().map_err(|e| Failure::File(format!("signals cannot be caught: {e}")))?;
    let mut config = input::config(common, extensions)?;
    input::size_buckets(&mut config, &common.order, minibatch_size);
    let path = &common.input.input;
    let source = input::open(&config, &common.input);
    let streams = source.as_ref().map(|source| source.streams().to_vec()).unwrap_or_default();
    drop(source);
    let shown: Mutex<Option<(String, Progress)>> = Mutex::new(None);
    let progress = |stage: &Stage<'_>| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_none_or(|(last, _)| last != stage.what) {
            // The old one is cleared before the next is drawn.
            *shown = None;
            let next = match (stage.total, stage.unit) {
                (0, _) => Progress::spinner(stage.what),
                (total, Unit::Bytes) => Progress::bytes(stage.what, total),
                (total, Unit::Examples) => Progress::examples(stage.what, total),
                (total, Unit::Parts) => Progress::parts(stage.what, total),
            };
            *shown = Some((stage.what.to_owned(), next));
        }
        if let Some((_, bar)) = shown.as_ref().filter(|_| stage.total > 0) {
            bar.at(stage.done);
        }
    };
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    let mut request = Request {
        input: path.display().to_string(),
        kind: calls::what(common.input.kind, path).to_owned(),
        command: in_shell(&common.input.words),
        certificate_command: certificate_command(&common.input.words),
        python: calls::in_python(
            common.input.kind,
            path,
            streams.iter().map(|stream| &**stream),
            1,
            common.dataset.split.first().map(String::as_str),
        ),
        samples: input::first_size(minibatch_size, &config),
        workers: common.worker.workers.n,
        all: false,
        measures: true,
        interrupted: &is_interrupted,
        progress: &progress,
    };
    change(&mut request);
    Ok(collect(&config, &OpenOptions::default(), &request)?)
}

/// A command in the words of a shell.
fn in_shell(words: &[String]) -> String {
    let words = words.iter().map(|word| calls::in_shell(word));
    std::iter::once("tesson".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The command that checks the certificate of the report of these words, up to the digest.
pub(crate) fn certificate_command(words: &[String]) -> String {
    let mut kept = vec!["plan".to_owned()];
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--output" | "--max-errors" | "--certificate" => {
                words.next();
            }
            "--all" | "--json" | "--no-timing" => {}
            word if ["-o", "--output=", "--max-errors=", "--certificate="]
                .iter()
                .any(|option| word.starts_with(option)) => {}
            word => kept.push(word.to_owned()),
        }
    }
    kept.push("--certificate".to_owned());
    in_shell(&kept)
}

/// Refuses a page in place of a file that is no page of a report: probably the input.
fn check_target(path: &Path, input: &InputArgs) -> Result<(), Failure> {
    let is_input = path == input.input;
    // One of another version is a report, too.
    let is_report = || match load(path) {
        Ok(report) => report.is_some(),
        Err(failure) => matches!(failure, Failure::Usage(_)),
    };
    if is_input || data::exists(path) && !is_report() {
        let what = if is_input { "is the input" } else { "exists and is no report" };
        return Err(Failure::Usage(format!(
            "--output {}: the file {what}, expected a new name or an earlier report; choose another name",
            path.display()
        )));
    }
    Ok(())
}

/// The report in a file; `None` if it is none.
fn load(path: &Path) -> Result<Option<Report>, Failure> {
    let fail = |e| Failure::file(path, e);
    if data::size(path)? > LARGEST_REPORT {
        return Ok(None);
    }
    let mut file = Vec::new();
    data::stream(path).map_err(fail)?.take(LARGEST_REPORT).read_to_end(&mut file).map_err(fail)?;
    read_report(&file).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))
}

/// True if the input and the word after it are reports. Refuses a report alone, or beside something else.
pub(crate) fn are_two(input: &InputArgs) -> Result<bool, Failure> {
    let path = &input.input;
    let may_be = |path: &Path| data::exists(path) && !data::is_folder(path);
    if !["html", "htm", "json"].contains(&crate::input_kind::extension(path).as_str()) || !may_be(path) {
        return Ok(false);
    }
    if load(path)?.is_none() {
        return Ok(false);
    }
    let found = format!("{} is a report", path.display());
    let [other] = &input.arguments[..] else {
        return Err(Failure::Usage(format!("{found}; give another one after it, to see what differs")));
    };
    match load(Path::new(other))? {
        Some(_) => Ok(true),
        None => Err(Failure::Usage(format!(
            "{found}, and {other} is none; make one of it with `tesson report {other} -o {other}.html`"
        ))),
    }
}

/// Shows what differs between two reports.
fn compare(args: &ReportArgs, out: &mut Output) -> Result<(), Failure> {
    if args.output.is_some() {
        return Err(Failure::Usage(
            "--output: two reports are compared on standard output; leave it out".into(),
        ));
    }
    let paths = [args.common.input.input.clone(), PathBuf::from(&args.common.input.arguments[0])];
    let [Some(a), Some(b)] = [load(&paths[0])?, load(&paths[1])?] else {
        return Err(Failure::Usage("the reports have changed meanwhile; try again".into()));
    };
    let found = differences(&a, &b);
    if out.is_json() {
        for d in &found {
            out.json(&serde_json::json!({"of": d.of, "figure": d.figure, "values": d.values}))?;
        }
        return Ok(());
    }
    if found.is_empty() {
        out.line("no figure differs")?;
        return Ok(());
    }
    let [left, right] = paths.map(|path| path.display().to_string());
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let mut rows = vec![[String::new(), String::new(), left, right]];
    let mut last = "";
    for d in &found {
        let of = if d.of == last { String::new() } else { d.of.clone() };
        last = &d.of;
        rows.push([of, d.figure.to_owned(), shown(&d.values[0]), shown(&d.values[1])]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c] = [width(0), width(1), width(2)];
    for [of, figure, left, right] in &rows {
        out.line(format!("{of:<a$}  {figure:<b$}  {left:<c$}  {right}").trim_end())?;
    }
    Ok(())
}

/// The first lines about a report: faults, order, speed and certificate.
fn summary(report: &Report, out: &mut Output) -> Result<(), Failure> {
    if let Some(faults) = &report.faults {
        out.pair("faults", &faults.verdict)?;
    }
    let suspicious = report.streams.iter().flat_map(|s| s.suspicious.iter().map(move |what| (&s.name, what)));
    let mut head = "look at";
    for (stream, suspicion) in suspicious {
        let key = suspicion.key.as_ref().map(|key| format!(", first in `{key}`")).unwrap_or_default();
        out.pair(std::mem::take(&mut head), &format!("{stream}: {}{key}", suspicion.what))?;
    }
    if let Some(run) = report.order.as_ref().and_then(|order| order.orders.first()) {
        let distance = percent(run.mean_distance);
        let mix = run.mix_difference.map(|d| format!(", classes in windows differ by {}", percent(d)));
        out.pair(
            "order",
            &format!("{}: neighbours {distance} of the data apart{}", run.name, mix.unwrap_or_default()),
        )?;
    }
    if let Some(reading) = &report.reading {
        out.pair("reading", &reading.verdict)?;
    }
    if let Some(certificate) = &report.certificate {
        out.pair("digest", &certificate.digest)?;
    }
    Ok(())
}

/// The figures of a stream as text.
fn stream_text(stream: &StreamFigures, out: &mut Output) -> Result<(), Failure> {
    let share = |n: u64| percent(n as f64 / stream.numbers.values.max(1) as f64);
    let form = if stream.sparse { "sparse " } else { "" };
    out.pair(
        &stream.name,
        &format!(
            "{form}{} {}, {}",
            stream.dtype,
            dims(&stream.shape),
            counted(stream.numbers.values, "value")
        ),
    )?;
    if let (Some(min), Some(max), Some(mean), Some(deviation)) =
        (stream.numbers.min, stream.numbers.max, stream.numbers.mean, stream.numbers.deviation)
    {
        let numbers = [min, max, mean, deviation].map(number);
        let [min, max, mean, deviation] = numbers;
        out.pair(
            "",
            &format!("{min} to {max}, mean {mean} ± {deviation}, {} zeros", share(stream.numbers.zeros)),
        )?;
    }
    if let Some(strings) = &stream.strings {
        let (short, long) = (count(strings.shortest), counted(strings.longest, "byte"));
        out.pair("", &format!("{short} to {long}, {} on average", number(strings.mean)))?;
    }
    if let Some(fill) = stream.numbers.fill {
        out.pair("", &format!("{} of the columns filled", percent(fill)))?;
    }
    if let Some(histogram) = stream.histogram.as_ref().filter(|h| h.counts.len() > 1) {
        let (low, high) = (number(histogram.low), number(histogram.high));
        out.pair("", &format!("{low} {} {high}", blocks(&histogram.counts)))?;
    }
    if let Some(classes) = &stream.classes {
        let all: u64 = classes.found.iter().map(|class| class.n).sum();
        let listed: Vec<String> = classes
            .found
            .iter()
            .take(5)
            .map(|class| {
                format!("{} {} ({})", class.name, count(class.n), percent(class.n as f64 / all.max(1) as f64))
            })
            .collect();
        let more = if classes.occurring > 5 { ", …" } else { "" };
        out.pair("", &format!("{} classes: {}{more}", count(classes.occurring), listed.join(", ")))?;
    }
    Ok(())
}

/// Counts as a row of blocks of eight heights.
fn blocks(counts: &[u64]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    counts.iter().map(|&n| HEIGHTS[(u128::from(n) * 8).div_ceil(u128::from(most)) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_certificate_has_the_options_of_the_order() {
        let words =
            ["report", "a b.ctf", "-o", "x.html", "--shuffle", "--seed", "3", "--all", "--max-errors=5"];
        let command = certificate_command(&words.map(str::to_owned));
        assert_eq!(command, "tesson plan 'a b.ctf' --shuffle --seed 3 --certificate");
    }

    #[test]
    fn blocks_are_as_high_as_counts() {
        assert_eq!(blocks(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(blocks(&[]), "");
    }
}
