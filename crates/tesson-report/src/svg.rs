//! Drawings of a page, as SVG that takes its colours from the page's style.

use std::fmt::Write;

use crate::figures::Histogram;
use crate::text::{count, number};

/// Escapes text for HTML and for attributes in quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Not allowed in HTML, however it is escaped.
            c if c.is_control() && c != '\n' && c != '\t' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A drawing, whose text is for those who do not see it.
fn svg(class: &str, [width, height]: [f64; 2], title: &str, inside: &str) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{}</title>{inside}</svg>",
        escape(title)
    )
}

const CHART: [f64; 2] = [420.0, 150.0];
const BASE: f64 = 128.0;
const TOP: f64 = 16.0;

/// A histogram. Where one bin has more than a hundred times the usual count its height is logarithmic.
pub(crate) fn histogram(histogram: &Histogram, what: &str) -> String {
    let Histogram { low, high, whole, counts, below, above } = histogram;
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut used: Vec<u64> = counts.iter().copied().filter(|&n| n > 0).collect();
    used.sort_unstable();
    let is_log = used.get(used.len() / 2).is_some_and(|&median| most > 100 * median);
    let height = |n: u64| match (n, is_log) {
        (0, _) => 0.0,
        (n, true) => (1.0 + n as f64).ln() / (1.0 + most as f64).ln(),
        (n, false) => n as f64 / most as f64,
    };
    let width = CHART[0] / counts.len().max(1) as f64;
    let mut inside = String::new();
    for (i, &n) in counts.iter().enumerate() {
        let h = (height(n) * (BASE - TOP)).max(if n > 0 { 1.0 } else { 0.0 });
        let gap = if counts.len() > 60 { 0.0 } else { 1.0 };
        write!(
            inside,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{h:.1}\"><title>{} to {}: {}</title></rect>",
            i as f64 * width,
            BASE - h,
            (width - gap).max(0.5),
            number(low + (high - low) * i as f64 / counts.len() as f64),
            number(low + (high - low) * (i + 1) as f64 / counts.len() as f64),
            count(n)
        )
        .expect("a string takes any text");
    }
    let note = match (below + above, is_log) {
        (0, false) => String::new(),
        (0, true) => "logarithmic heights".to_owned(),
        (n, is_log) => format!("{} outside{}", count(n), if is_log { ", logarithmic heights" } else { "" }),
    };
    write!(
        inside,
        "<line class=\"axis\" x1=\"0\" y1=\"{BASE}\" x2=\"{w}\" y2=\"{BASE}\"/><text x=\"0\" y=\"145\">{}</text>\
         <text x=\"{w}\" y=\"145\" text-anchor=\"end\">{}</text><text x=\"{w}\" y=\"11\" text-anchor=\"end\">{note}</text>\
         <text x=\"0\" y=\"11\">most: {}</text>",
        number(*low),
        number(if *whole { high - 1.0 } else { *high }),
        count(most),
        w = CHART[0],
    )
    .expect("a string takes any text");
    svg("chart", CHART, what, &inside)
}

/// Points from 0 to 1000 in both directions, the first value to the right, the second upwards: the larger the fewer there are.
pub(crate) fn scatter(points: &[[u16; 2]], what: &str) -> String {
    let side = if points.len() < 300 { 4.0 } else { 1.7 };
    let mut path = String::new();
    for [x, y] in points {
        let (x, y) = (4.0 + f64::from(*x) * 0.232, 236.0 - f64::from(*y) * 0.232);
        write!(path, "M{x:.1} {y:.1}h{side}").expect("a string takes any text");
    }
    let inside = format!(
        "<rect class=\"frame\" x=\"1\" y=\"1\" width=\"238\" height=\"238\"/>\
         <path class=\"points\" stroke-width=\"{side}\" d=\"{path}\"/>"
    );
    svg("square", [240.0, 240.0], what, &inside)
}

/// Shares of distances, and the line that a uniform shuffle gives.
pub(crate) fn distances(shares: &[f64], what: &str) -> String {
    let n = shares.len().max(1) as f64;
    let ideal = |i: usize| (2.0 - (2.0 * i as f64 + 1.0) / n) / n;
    let most = shares.iter().copied().fold(ideal(0), f64::max);
    let mut inside = String::new();
    for (i, share) in shares.iter().enumerate() {
        let h = share / most * 80.0;
        write!(
            inside,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{h:.1}\"/>",
            i as f64 * 240.0 / n,
            84.0 - h,
            240.0 / n - 1.0
        )
        .expect("a string takes any text");
    }
    let line: Vec<String> = (0..shares.len())
        .map(|i| format!("{:.1},{:.1}", (i as f64 + 0.5) * 240.0 / n, 84.0 - ideal(i) / most * 80.0))
        .collect();
    write!(inside, "<polyline class=\"ideal\" points=\"{}\"/><line class=\"axis\" x1=\"0\" y1=\"84\" x2=\"240\" y2=\"84\"/>", line.join(" "))
        .expect("a string takes any text");
    svg("wide", [240.0, 88.0], what, &inside)
}

/// Shares of classes in windows, one column each, stacked.
pub(crate) fn mix(windows: &[Vec<f64>], what: &str) -> String {
    let width = 240.0 / windows.len().max(1) as f64;
    let mut inside = String::new();
    for (i, shares) in windows.iter().enumerate() {
        let mut top = 0.0;
        for (class, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            write!(
                inside,
                "<rect class=\"c{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                i as f64 * width,
                top * 80.0,
                width - 0.5,
                share * 80.0
            )
            .expect("a string takes any text");
            top += share;
        }
    }
    svg("wide", [240.0, 80.0], what, &inside)
}

/// Shares of the storage, one cell each, the darker the more.
pub(crate) fn places(shares: &[f64], what: &str) -> String {
    let most = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let width = 200.0 / shares.len().max(1) as f64;
    let mut inside = String::new();
    for (i, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let (x, opacity) = (i as f64 * width, 0.12 + 0.88 * share / most);
        write!(inside, "<rect class=\"bar\" x=\"{x:.1}\" y=\"0\" width=\"{:.1}\" height=\"12\" opacity=\"{opacity:.2}\"/>", width - 1.0)
            .expect("a string takes any text");
    }
    svg("places", [200.0, 12.0], what, &inside)
}

/// Blank-separated heights from 0 to 100 as a line.
pub(crate) fn wave(heights: &str, what: &str) -> String {
    let heights: Vec<f64> = heights.split(' ').filter_map(|h| h.parse().ok()).collect();
    let step = 300.0 / (heights.len().saturating_sub(1)).max(1) as f64;
    let points: Vec<String> =
        heights.iter().enumerate().map(|(i, h)| format!("{:.1},{:.0}", i as f64 * step, 104.0 - h)).collect();
    let inside = format!("<polyline class=\"wave\" points=\"{}\"/>", points.join(" "));
    svg("wide", [300.0, 108.0], what, &inside)
}
