//! Differences between two reports.

use serde_json::Value;

use crate::figures::{REPORT_VERSION, Report};
use crate::text::{count, dims, number, percent};

/// A figure that differs between two reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The owner of the figure: the data, or a stream.
    pub of: String,
    /// The figure.
    pub figure: &'static str,
    /// It in both reports; `None` where one has none.
    pub values: [Option<String>; 2],
}

/// The mark before the figures that a page holds, and after them.
pub(crate) const FIGURES_BEGIN: &str = "<script type=\"application/json\" id=\"figures\">";
pub(crate) const FIGURES_END: &str = "</script>";

/// The report in a file: its JSON, or the page that holds it. `None` if it is no report.
///
/// # Errors
/// A report of another version: a sentence.
pub fn read_report(file: &[u8]) -> Result<Option<Report>, String> {
    let text = String::from_utf8_lossy(file);
    let json = match text.split_once(FIGURES_BEGIN) {
        Some((_, rest)) => rest.split(FIGURES_END).next().unwrap_or_default(),
        None => &text,
    };
    let Ok(value) = serde_json::from_str::<Value>(json) else { return Ok(None) };
    let Some(version) = value.get("reportVersion") else { return Ok(None) };
    if version.as_u64() != Some(REPORT_VERSION.into()) {
        return Err(format!("found a report of version {version}, expected {REPORT_VERSION}; make it anew"));
    }
    serde_json::from_value(value).map(Some).map_err(|e| format!("the report is incomplete: {e}"))
}

/// The figures that differ, those of the data first.
pub fn differences(a: &Report, b: &Report) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |of: &str, figures: [Vec<(&'static str, Option<String>)>; 2]| {
        let [a, b] = figures;
        for ((figure, a), (_, b)) in a.into_iter().zip(b) {
            if a != b {
                found.push(Difference { of: of.to_owned(), figure, values: [a, b] });
            }
        }
    };
    compare("data", [of_data(a), of_data(b)]);
    let names = a.streams.iter().chain(&b.streams).map(|stream| &stream.name);
    let mut seen: Vec<&String> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
            compare(name, [a, b].map(|report| of_stream(report, name)));
        }
    }
    found
}

fn of_data(report: &Report) -> Vec<(&'static str, Option<String>)> {
    let Report { card, lengths, faults, order, certificate, padding, .. } = report;
    let order = order.as_ref().and_then(|order| order.orders.first());
    vec![
        ("bytes", card.bytes.map(count)),
        ("files", Some(count(card.n_files))),
        ("chunks", Some(count(card.chunks))),
        ("examples", Some(count(card.examples))),
        ("samples", Some(count(card.samples))),
        ("content", Some(card.corpus.clone())),
        ("options", Some(card.options.clone())),
        ("longest", lengths.as_ref().map(|lengths| count(lengths.max.into()))),
        ("padding", padding.as_ref().map(|padding| percent(padding.without.padded))),
        ("faults", faults.as_ref().map(|faults| count(faults.faults))),
        ("repeated keys", faults.as_ref().map(|faults| count(faults.repeated_keys))),
        ("order", order.map(|order| order.name.clone())),
        ("mean distance", order.map(|order| format!("{:.3}", order.mean_distance))),
        ("digest", certificate.as_ref().map(|certificate| certificate.digest.clone())),
    ]
}

fn of_stream(report: &Report, name: &str) -> Vec<(&'static str, Option<String>)> {
    let stream = report.streams.iter().find(|stream| stream.name == name);
    let classes = stream.and_then(|stream| stream.classes.as_ref());
    let share = |n: u64, of: u64| percent(n as f64 / of.max(1) as f64);
    let of = |value: &dyn Fn(&crate::figures::StreamFigures) -> Option<String>| stream.and_then(value);
    vec![
        ("type", of(&|s| Some(format!("{}{}", if s.sparse { "sparse " } else { "" }, s.dtype)))),
        ("shape", of(&|s| Some(dims(&s.shape)))),
        ("zeros", of(&|s| Some(share(s.numbers.zeros, s.numbers.values)))),
        ("not a number", of(&|s| Some(count(s.numbers.nan)))),
        ("infinite", of(&|s| Some(count(s.numbers.infinite)))),
        ("smallest", of(&|s| s.numbers.min.map(number))),
        ("largest", of(&|s| s.numbers.max.map(number))),
        ("mean", of(&|s| s.numbers.mean.map(number))),
        ("deviation", of(&|s| s.numbers.deviation.map(number))),
        ("fill", of(&|s| s.numbers.fill.map(percent))),
        ("classes", classes.map(|classes| count(classes.occurring))),
        ("most frequent", classes.and_then(|c| c.found.first()).map(|class| class.name.clone())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Numbers, StreamFigures};

    fn report(examples: u64, mean: f64) -> Report {
        let mut report = Report { report_version: REPORT_VERSION, ..Report::default() };
        report.card.examples = examples;
        let numbers = Numbers { mean: Some(mean), ..Numbers::default() };
        report.streams.push(StreamFigures { name: "x".into(), numbers, ..StreamFigures::default() });
        report
    }

    #[test]
    fn what_differs_is_listed_with_both_values() {
        let found = differences(&report(3, 0.5), &report(4, 0.25));
        let text: Vec<String> =
            found.iter().map(|d| format!("{} {} {:?}", d.of, d.figure, d.values)).collect();
        assert_eq!(
            text,
            [r#"data examples [Some("3"), Some("4")]"#, r#"x mean [Some("0.5"), Some("0.25")]"#]
        );
        assert_eq!(differences(&report(3, 0.5), &report(3, 0.5)), []);
    }

    #[test]
    fn a_report_is_read_from_its_json_and_from_its_page() {
        let json = serde_json::to_string(&report(3, 0.5)).expect("a report is JSON");
        let page = format!("<p>{FIGURES_BEGIN}{json}{FIGURES_END}</p>");
        for file in [json.as_str(), page.as_str()] {
            let read = read_report(file.as_bytes()).expect("this version").expect("a report");
            assert_eq!(read.card.examples, 3);
        }
        assert!(read_report(b"|x 1 2").expect("no report").is_none());
        assert!(read_report(br#"{"reportVersion": 99}"#).is_err());
    }
}
