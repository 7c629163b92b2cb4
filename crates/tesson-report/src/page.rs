//! The page of a report: one HTML file that needs nothing else.

use std::fmt::Write;

use crate::compare::{FIGURES_BEGIN, FIGURES_END};
use crate::faults::Faults;
use crate::figures::{Card, Certificate, Classes, Example, Form, OrderFigures, Report, StreamFigures, View};
use crate::lengths::{Lengths, Paddings};
use crate::reading::Reading;
use crate::svg::{self, escape};
use crate::text::{count, counted, dims, number, percent, size};

/// Bytes of the pictures of a page: with everything else it stays below 2 MB.
const PICTURE_BYTES: usize = 1_200_000;

/// Draws a report.
pub fn page(report: &Report) -> String {
    let mut sections = vec![("card", "The data", card(report))];
    sections.push(("streams", "Streams", streams(report)));
    sections.push(("lengths", "Lengths and padding", lengths(report)));
    sections.push(("gallery", "Examples", gallery(&report.examples)));
    sections.push(("faults", "Faults", section_of(report.faults.as_ref(), faults)));
    sections.push(("order", "Order", section_of(report.order.as_ref(), order)));
    sections.push(("ranks", "Ranks", section_of(report.order.as_ref(), ranks)));
    sections.push(("reading", "Reading", section_of(report.reading.as_ref(), reading)));
    sections.push((
        "certificate",
        "Resume certificate",
        section_of(report.certificate.as_ref(), certificate),
    ));
    let mut html = String::new();
    let title = escape(&report.card.input);
    let css = include_str!("style.css");
    write!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}: report</title><link rel=\"icon\" href=\"data:,\"><style>{css}</style></head><body>\n<header><h1>{title}</h1>{}",
        subtitle(report)
    )
    .expect("a string takes any text");
    html.push_str("</header><nav>");
    for (id, name, _) in &sections {
        write!(html, "<a href=\"#{id}\">{name}</a>").expect("a string takes any text");
    }
    html.push_str("</nav><main>\n");
    for (id, name, inside) in &sections {
        writeln!(html, "<section id=\"{id}\"><h2>{name}</h2>{inside}</section>")
            .expect("a string takes any text");
    }
    html.push_str("</main>");
    write!(
        html,
        "<footer>Made by Tesson {} with <code>{}</code>. The page holds its figures: <code>tesson report A B</code> compares two.</footer>",
        escape(&report.tesson),
        escape(&report.card.command)
    )
    .expect("a string takes any text");
    // Pictures are in the page already.
    let figures = Report { examples: Vec::new(), ..report.clone() };
    let json = serde_json::to_string(&figures).expect("figures are numbers and texts");
    // Nothing in them may end the element, or begin another.
    let json = json.replace('<', "\\u003c");
    write!(html, "{FIGURES_BEGIN}{json}{FIGURES_END}").expect("a string takes any text");
    html.push_str("</body></html>\n");
    html
}

/// A sentence that says what to look for.
fn look(text: &str) -> String {
    format!("<p class=\"look\">{text}</p>")
}

/// Text whose words in backticks are code.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(i, part): (usize, &str)| match i % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    // Without its partner a backtick is one.
    if text.matches('`').count() % 2 == 1 { escape(text) } else { parts.map(part).collect() }
}

/// A section, or why it is missing.
fn section_of<T>(figures: Option<&T>, draw: impl FnOnce(&T) -> String) -> String {
    figures.map_or_else(|| look("Not part of this report: see the note at the top of the page."), draw)
}

fn subtitle(report: &Report) -> String {
    let Card { kind, examples, sampled, .. } = &report.card;
    let looked = match (*examples, *sampled) {
        (_, 0) => "no example".to_owned(),
        (all, some) if some >= all => format!("all {}", counted(all, "example")),
        (all, some) => format!("a sample of {} of {}", count(some), counted(all, "example")),
    };
    let mut html = format!("<p class=\"look\">{}; figures of {looked}.</p>", escape(kind));
    if let Some(why) = &report.unfinished {
        write!(html, "<p class=\"verdict bad\">This report is unfinished: {}.</p>", prose(why))
            .expect("a string takes any text");
    }
    html
}

/// Names and values in large print.
fn facts(facts: &[(&str, String)]) -> String {
    let fact =
        |(name, value): &(&str, String)| format!("<div><span>{name}</span><b>{}</b></div>", escape(value));
    format!("<div class=\"facts\">{}</div>", facts.iter().map(fact).collect::<String>())
}

fn card(report: &Report) -> String {
    let Card { files, n_files, bytes, chunks, examples, samples, corpus, options, command, python, .. } =
        &report.card;
    let mut html = look("Is this the data that you mean, all of it, in the types that you expect?");
    // Without an index nothing has been counted yet.
    let is_counted = *chunks > 0 || report.unfinished.is_none();
    let counted_in = |n: u64| if is_counted { count(n) } else { "unknown".to_owned() };
    html.push_str(&facts(&[
        ("examples", counted_in(*examples)),
        ("samples", counted_in(*samples)),
        ("in storage", bytes.map_or_else(|| "unknown".to_owned(), size)),
        ("files", count(*n_files)),
        ("chunks", counted_in(*chunks)),
        ("streams", count(report.streams.len() as u64)),
    ]));
    html.push_str("<div class=\"scroll\"><table><tr><th>file</th><th class=\"n\">bytes</th></tr>");
    for file in files {
        let bytes = file.bytes.map_or_else(String::new, count);
        write!(html, "<tr><td><code>{}</code></td><td class=\"n\">{bytes}</td></tr>", escape(&file.name))
            .expect("a string takes any text");
    }
    html.push_str("</table></div>");
    let more = n_files.saturating_sub(files.len() as u64);
    if more > 0 {
        write!(html, "<p class=\"look\">and {} more</p>", counted(more, "file"))
            .expect("a string takes any text");
    }
    if !corpus.is_empty() {
        write!(html, "<p class=\"look\">Fingerprint: files <code>{corpus}</code>, options <code>{options}</code>; states are bound to both.</p>")
            .expect("a string takes any text");
    }
    write!(html, "<pre>{}</pre>", escape(command)).expect("a string takes any text");
    if !python.is_empty() {
        write!(html, "<pre>{}</pre>", escape(python)).expect("a string takes any text");
    }
    html
}

fn streams(report: &Report) -> String {
    let mut html = look(
        "Look for values on another scale than you expect, columns that never change, values that are not a number, and classes \
         that are missing or rare.",
    );
    // The lengths of a single stream are those of the next section.
    let has_lengths = report.streams.len() > 1;
    report.streams.iter().for_each(|stream| html.push_str(&stream_html(stream, has_lengths)));
    html
}

fn stream_html(stream: &StreamFigures, has_lengths: bool) -> String {
    let form = if stream.sparse { "sparse " } else { "" };
    let mut html = format!(
        "<div class=\"stream\"><div><h3>{} <span class=\"tag\">{form}{} {}</span></h3><dl>",
        escape(&stream.name),
        stream.dtype,
        dims(&stream.shape)
    );
    let of_values =
        |n: u64| format!("{} ({})", count(n), percent(n as f64 / stream.numbers.values.max(1) as f64));
    let name = match (stream.sparse, &stream.strings) {
        (true, _) => "entries",
        (_, Some(_)) => "strings",
        _ => "values",
    };
    let mut pairs = vec![("samples", count(stream.samples)), (name, count(stream.numbers.values))];
    // Neither the entries of classes, which are all 1, nor the mean of their numbers say anything.
    let is_one_hot = stream.sparse && stream.numbers.min == stream.numbers.max || stream.classes.is_some();
    if let (Some(min), Some(max), false) = (stream.numbers.min, stream.numbers.max, is_one_hot) {
        pairs.push(("range", format!("{} to {}", number(min), number(max))));
    }
    if let (Some(mean), Some(deviation), false) = (stream.numbers.mean, stream.numbers.deviation, is_one_hot)
    {
        pairs.push(("mean", format!("{} ± {}", number(mean), number(deviation))));
    }
    if let Some(strings) = &stream.strings {
        let (short, long) = (count(strings.shortest), counted(strings.longest, "byte"));
        pairs.push(("lengths", format!("{short} to {long}, {} on average", number(strings.mean))));
        pairs.push(("empty", of_values(strings.empty)));
    } else {
        if !is_one_hot {
            pairs.push(("zeros", of_values(stream.numbers.zeros)));
        }
        for (name, n) in [("not a number", stream.numbers.nan), ("infinite", stream.numbers.infinite)] {
            if n > 0 {
                pairs.push((name, of_values(n)));
            }
        }
    }
    if let Some(fill) = stream.numbers.fill {
        pairs.push(("fill", format!("{} of the columns", percent(fill))));
    }
    if let Some(classes) = &stream.classes {
        let declared = classes.declared.map_or_else(String::new, |n| format!(" of {}", count(n)));
        pairs.push(("classes", format!("{}{declared} occur", count(classes.occurring))));
    }
    if stream.samples == 0 {
        pairs = vec![("samples", "none was looked at".to_owned())];
    }
    for (name, value) in pairs {
        write!(html, "<dt>{name}</dt><dd>{value}</dd>").expect("a string takes any text");
    }
    html.push_str("</dl>");
    if !stream.suspicious.is_empty() {
        html.push_str("<ul class=\"warn-text\">");
        for suspicion in &stream.suspicious {
            let key = suspicion.key.as_ref().map(|key| format!(", first in <code>{}</code>", escape(key)));
            write!(html, "<li>{}{}</li>", escape(&suspicion.what), key.unwrap_or_default())
                .expect("a string takes any text");
        }
        html.push_str("</ul>");
    }
    html.push_str("</div><div>");
    if let Some(histogram) = stream.histogram.as_ref().filter(|h| h.counts.len() > 1) {
        let what = if stream.strings.is_some() { "lengths in bytes" } else { "values" };
        write!(html, "<figure>{}<figcaption>{what}</figcaption></figure>", svg::histogram(histogram, what))
            .expect("a string takes any text");
    }
    if let Some(lengths) = stream.lengths.as_ref().filter(|h| has_lengths && h.counts.len() > 1) {
        let what = "samples of an example";
        write!(html, "<figure>{}<figcaption>{what}</figcaption></figure>", svg::histogram(lengths, what))
            .expect("a string takes any text");
    }
    if let Some(classes) = &stream.classes {
        html.push_str(&classes_html(classes));
    }
    html.push_str("</div></div>");
    html
}

fn classes_html(classes: &Classes) -> String {
    let most = classes.found.iter().map(|class| class.n).max().unwrap_or(1).max(1);
    let mut html = String::from("<div class=\"classes\">");
    for class in &classes.found {
        let name = escape(&class.name);
        write!(
            html,
            "<span class=\"name\" title=\"{name}\">{name}</span><span class=\"track\"><i style=\"width:{:.1}%\"></i></span><span class=\"n\">{}</span>",
            100.0 * class.n as f64 / most as f64,
            count(class.n)
        )
        .expect("a string takes any text");
    }
    html.push_str("</div>");
    let unlisted = classes.occurring - classes.found.len() as u64;
    if unlisted > 0 {
        write!(html, "<p class=\"look\">and {} rarer</p>", count(unlisted)).expect("a string takes any text");
    }
    if classes.by_file.is_empty() {
        return html;
    }
    html.push_str("<details><summary>by file</summary><div class=\"scroll\"><table><tr><th>file</th>");
    let shown = classes.found.iter().take(10);
    shown.clone().for_each(|class| {
        write!(html, "<th class=\"n\">{}</th>", escape(&class.name)).expect("a string takes any text");
    });
    html.push_str("</tr>");
    for file in &classes.by_file {
        write!(html, "<tr><td><code>{}</code></td>", escape(&file.file)).expect("a string takes any text");
        for n in file.counts.iter().take(shown.len()) {
            write!(html, "<td class=\"n\">{}</td>", count(*n)).expect("a string takes any text");
        }
        html.push_str("</tr>");
    }
    html.push_str("</table></div></details>");
    html
}

fn lengths(report: &Report) -> String {
    let mut html = look("Look at what padding costs: cells without a sample are computed, and thrown away.");
    match &report.lengths {
        Some(Lengths { min, max, mean, .. }) if min != max => {
            html.push_str(&facts(&[
                ("shortest", count((*min).into())),
                ("mean", number(*mean)),
                ("longest", count((*max).into())),
            ]));
        }
        Some(Lengths { max, .. }) => {
            write!(html, "<p>Every example has {}.</p>", counted((*max).into(), "sample"))
                .expect("a string takes any text");
        }
        None => return section_of(None::<&()>, |()| String::new()),
    }
    let grouping = report.order.as_ref().and_then(|order| order.grouping.as_ref());
    if let Some(grouping) = grouping.filter(|grouping| grouping.is_cut) {
        write!(html, "<p>Examples are {}; what follows is of whole ones.</p>", escape(&grouping.words))
            .expect("a string takes any text");
    }
    if let Some(histogram) = report.lengths.as_ref().and_then(|lengths| lengths.histogram.as_ref()) {
        let what = "samples of an example";
        write!(html, "<figure>{}<figcaption>{what}</figcaption></figure>", svg::histogram(histogram, what))
            .expect("a string takes any text");
    }
    let is_padded = |padding: &&Paddings| padding.without.padded > 0.0;
    if let Some(padding) = report.padding.as_ref().filter(is_padded) {
        html.push_str(&padding_html(padding));
    }
    html
}

fn padding_html(padding: &Paddings) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><tr><th>minibatches</th><th class=\"n\">padded</th><th class=\"n\">several in a row</th></tr>",
    );
    let mut rows = vec![("as they come", padding.without)];
    rows.extend(padding.with.map(|(_, with)| ("grouped by length (<code>bucketing</code>)", with)));
    for (name, share) in rows {
        let (padded, packed) = (percent(share.padded), percent(share.packed));
        write!(html, "<tr><td>{name}</td><td class=\"n\">{padded}</td><td class=\"n\">{packed}</td></tr>")
            .expect("a string takes any text");
    }
    html.push_str("</table></div>");
    html
}

fn gallery(examples: &[Example]) -> String {
    let mut html = look(
        "Look at some examples, evenly spaced over the sample: would you know the class from what you see?",
    );
    if examples.is_empty() {
        html.push_str("<p>No example was read.</p>");
        return html;
    }
    let is_wide = |view: &View| match view.form {
        Form::Map | Form::Wave => true,
        Form::Text => view.content.chars().count() > 60,
        Form::Image => false,
    };
    let wide = if examples.iter().any(|example| example.views.iter().any(is_wide)) { " wide" } else { "" };
    write!(html, "<div class=\"gallery{wide}\">").expect("a string takes any text");
    let mut bytes = 0;
    for example in examples {
        bytes += example.views.iter().map(|view| view.content.len()).sum::<usize>();
        if bytes > PICTURE_BYTES {
            break;
        }
        write!(html, "<div class=\"example\"><h3>{}</h3>", escape(&example.key))
            .expect("a string takes any text");
        example.views.iter().for_each(|view| html.push_str(&view_html(view)));
        html.push_str("</div>");
    }
    html.push_str("</div>");
    html
}

fn view_html(view: &View) -> String {
    let (name, caption, content) = (escape(&view.stream), escape(&view.caption), escape(&view.content));
    match view.form {
        Form::Image => format!(
            "<div class=\"view image\"><img src=\"{content}\" alt=\"{name}\"><b>{name}</b> <small>{caption}</small></div>"
        ),
        Form::Map => format!(
            "<div class=\"view map\"><img src=\"{content}\" alt=\"{name}\"><b>{name}</b> <small>{caption}</small></div>"
        ),
        Form::Wave => format!(
            "<div class=\"view\">{}<b>{name}</b> <small>{caption}</small></div>",
            svg::wave(&view.content, &view.stream)
        ),
        Form::Text => {
            format!("<div class=\"view\"><b>{name}</b> <small>{caption}</small><br>{content}</div>")
        }
    }
}

fn faults(faults: &Faults) -> String {
    let mut html = look("What is damaged, where, and whether a run reads past it.");
    let class = match (faults.faults, faults.fatal) {
        (0, _) => "good",
        (n, 0) if n <= faults.budget => "warn",
        _ => "bad",
    };
    write!(html, "<p class=\"verdict {class}\">{}</p>", prose(&faults.verdict))
        .expect("a string takes any text");
    if faults.repeated_keys > 0 {
        let keys = counted(faults.repeated_keys, "key");
        write!(html, "<p class=\"warn-text\">{keys} again in the same file: examples that <code>show</code> and joins cannot tell apart.</p>")
            .expect("a string takes any text");
    }
    if faults.listed.is_empty() {
        return html;
    }
    html.push_str(
        "<div class=\"scroll\"><table><tr><th></th><th>found</th><th>where</th><th>stream</th><th>key</th><th>remedy</th></tr>",
    );
    for fault in &faults.listed {
        let line = fault.line.map_or_else(String::new, |line| format!(":{line}"));
        let option = |text: &Option<String>| escape(text.as_deref().unwrap_or(""));
        let class = if ["fault", "fatal"].contains(&fault.severity.as_str()) { "bad-text" } else { "" };
        write!(
            html,
            "<tr><td class=\"{class}\">{}</td><td>{}</td><td><code>{}{line}</code><br><small>byte {}</small></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&fault.severity),
            prose(&fault.fault),
            escape(&fault.file),
            count(fault.offset),
            option(&fault.stream),
            option(&fault.key),
            prose(&fault.remedy)
        )
        .expect("a string takes any text");
    }
    html.push_str("</table></div>");
    let found = faults.faults + faults.notes;
    let listed = faults.listed.len() as u64;
    if found > listed {
        write!(
            html,
            "<p class=\"look\">The first {} of {}; <code>tesson check</code> lists all.</p>",
            count(listed),
            count(found)
        )
        .expect("a string takes any text");
    }
    html
}

fn order(order: &OrderFigures) -> String {
    let mut html = look(
        "Each point is an example: from left to right when it comes, upwards where it is stored. A good shuffle fills the square \
         evenly, a poor one keeps to the diagonal; below, how far neighbours lie apart in storage (the line is a uniform shuffle), \
         and the classes in windows along the run.",
    );
    if let Some(grouping) = &order.grouping {
        write!(
            html,
            "<p class=\"verdict\">Minibatches of this run are made {}: {}.</p>",
            escape(&grouping.words),
            if grouping.is_cut {
                "the order is that in which examples begin, side by side in slots"
            } else {
                "examples of similar length come together, so neighbours are alike in that"
            }
        )
        .expect("a string takes any text");
    }
    html.push_str("<div class=\"orders\">");
    for panel in &order.orders {
        let name = escape(&panel.name);
        write!(
            html,
            "<figure><h3>{name}</h3>{}<figcaption>when it comes, and where it is stored</figcaption>{}<figcaption>mean distance {} of the data</figcaption>",
            svg::scatter(&panel.points, &panel.name),
            svg::distances(&panel.distances, "distances in storage"),
            percent(panel.mean_distance)
        )
        .expect("a string takes any text");
        if let Some(difference) = panel.mix_difference {
            write!(
                html,
                "{}<figcaption>classes in windows differ by {} from all of them</figcaption>",
                svg::mix(&panel.mix, "classes in windows"),
                percent(difference)
            )
            .expect("a string takes any text");
        }
        html.push_str("</figure>");
    }
    html.push_str("</div>");
    if let Some(stream) = &order.class_stream {
        write!(html, "<div class=\"legend\"><span>{}:</span>", escape(stream))
            .expect("a string takes any text");
        for (i, class) in order.classes.iter().enumerate() {
            let class_number = if class == "others" { 6 } else { i };
            write!(html, "<span><i class=\"c{class_number}\"></i>{}</span>", escape(class))
                .expect("a string takes any text");
        }
        html.push_str("</div>");
    }
    html
}

fn ranks(order: &OrderFigures) -> String {
    let mut html =
        look("Which rank reads what: unequal steps make a job wait at the end of an epoch, or hang.");
    if order.ranks.is_empty() {
        html.push_str("<p>Minibatches have another number of slots in each epoch, so there is no plan for all of them.</p>");
        return html;
    }
    let asked = if order.ranks_are_assumed { " (an example: give <code>--workers N</code>)" } else { "" };
    let (class, steps) = if order.has_equal_steps {
        ("good", "all make as many steps")
    } else if order.ranks.iter().any(|rank| rank.examples == 0) {
        (
            "bad",
            "some get nothing, as ranks share chunks; <code>--sharing position</code> shares each minibatch",
        )
    } else {
        ("bad", "they make unequal steps; <code>--equal-steps repeat</code> or <code>drop</code> evens them")
    };
    write!(html, "<p class=\"verdict {class}\">With {}{asked} {steps}.</p>", counted(order.workers, "rank"))
        .expect("a string takes any text");
    html.push_str(
        "<div class=\"scroll\"><table><tr><th>rank</th><th class=\"n\">steps</th><th class=\"n\">examples</th><th class=\"n\">samples</th>\
         <th class=\"n\">in the last minibatch</th><th>from where in storage</th></tr>",
    );
    for rank in &order.ranks {
        write!(
            html,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            rank.rank,
            count(rank.steps),
            count(rank.examples),
            count(rank.samples),
            count(rank.last),
            svg::places(&rank.places, "from where in storage")
        )
        .expect("a string takes any text");
    }
    html.push_str("</table></div>");
    let more = order.workers.saturating_sub(order.ranks.len() as u64);
    if more > 0 {
        write!(html, "<p class=\"look\">and {} like them</p>", counted(more, "rank"))
            .expect("a string takes any text");
    }
    html
}

fn reading(reading: &Reading) -> String {
    let mut html =
        look("How fast minibatches come on this machine, and what a training loop would wait for.");
    write!(html, "<p class=\"verdict\">{}</p>", prose(&reading.verdict)).expect("a string takes any text");
    if reading.is_too_short() {
        return html;
    }
    let per_second = |n: u64| n as f64 / reading.seconds.max(1e-9);
    let mut figures = vec![
        ("examples", format!("{}/s", count(per_second(reading.examples) as u64))),
        ("read", format!("{}/s", size(per_second(reading.bytes_read) as u64))),
    ];
    figures
        .extend(reading.storage_rate.map(|rate| ("a plain read gets", format!("{}/s", size(rate as u64)))));
    figures.extend([("waiting", percent(reading.waited)), ("requests", count(reading.requests))]);
    if let Some(used) = reading.bytes_used.filter(|&used| used > 0 && reading.bytes_read > 0) {
        figures.push(("read for a byte used", number(reading.bytes_read as f64 / used as f64)));
    }
    html.push_str(&facts(&figures));
    let minibatches = counted(reading.minibatches, "minibatch");
    write!(html, "<p class=\"look\">Measured over {minibatches} in {:.2} s.</p>", reading.seconds)
        .expect("a string takes any text");
    html
}

fn certificate(certificate: &Certificate) -> String {
    let mut html = look(
        "A machine that prints the same digest reads the same examples in the same order, so that a state saved here resumes there.",
    );
    let Certificate {
        order, order_version, grouping, examples, first, last, positions, digest, command, ..
    } = certificate;
    write!(
        html,
        "<div class=\"scroll\"><table><tr><th>order</th><td>{} (version {order_version})</td></tr>",
        escape(order)
    )
    .expect("a string takes any text");
    let keys = |keys: &[String]| escape(&keys.join(", "));
    let grouping = grouping.as_ref().map(|grouping| ("minibatches", escape(&grouping.words)));
    for (name, value) in grouping.into_iter().chain([
        ("first keys", keys(first)),
        ("last keys", keys(last)),
        (
            "digest",
            format!(
                "<code>{digest}</code> of {} of {}",
                counted(*positions, "position"),
                counted(*examples, "example")
            ),
        ),
    ]) {
        write!(html, "<tr><th>{name}</th><td>{value}</td></tr>").expect("a string takes any text");
    }
    write!(html, "</table></div><pre>{}</pre>", escape(command)).expect("a string takes any text");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_data_cannot_become_elements() {
        let mut report = Report::default();
        report.card.input = "<script>alert(1)</script>".to_owned();
        report.card.command = "</script><img src=x>".to_owned();
        let html = page(&report);
        assert!(!html.contains("<script>alert") && !html.contains("<img src=x>"), "{html}");
        assert_eq!(html.matches("<script").count(), 1);
        assert_eq!(html.matches("</script>").count(), 1);
    }

    #[test]
    fn every_section_is_there_even_if_nothing_is_known() {
        let html = page(&Report::default());
        for id in
            ["card", "streams", "lengths", "gallery", "faults", "order", "ranks", "reading", "certificate"]
        {
            assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }
}
