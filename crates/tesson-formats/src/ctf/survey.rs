//! Streams as they are declared against what the rows have, for those who typed them by hand.

use std::collections::HashMap;

use tesson_core::{Error, Fetch, FoundStream, StreamMismatch};

use super::bytes::{is_blank, is_end, skip_digits};
use super::options::Input;
use super::parse::count_values;
use super::scan::{self, Reads};
use super::stream_names::{LISTED, inputs};
use super::{FILE, Rules};

/// Bytes of rows in which samples are measured.
const MEASURED: u64 = 64 << 10;

/// The findings about a stream so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    occurs: bool,
    /// True if a sample is of the declared size, or two samples are of different ones.
    fits: bool,
    /// The size of its samples.
    size: Option<u64>,
}

/// Streams that no row has, and streams none of whose samples in the first rows are of their size. Reads on until every
/// stream has been seen.
pub(super) fn mismatches(rules: &Rules, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
    let mut seen = vec![Seen::default(); rules.inputs.len()];
    let mut others: Vec<String> = Vec::new();
    let streams: HashMap<&[u8], usize> =
        rules.inputs.iter().enumerate().map(|(stream, input)| (&*input.alias, stream)).collect();
    let (from, end) = (rules.prologue.start, fetch.size(FILE)?);
    scan::rows(rules, fetch, Reads { from, end, bytes: 64 << 10 }, |row| {
        let is_measured = row.offset < from + MEASURED;
        for (name, values) in inputs(row.bytes) {
            match streams.get(name) {
                Some(&stream) => {
                    seen[stream].occurs = true;
                    if is_measured {
                        seen[stream].measure(rules, stream, row.bytes, values);
                    }
                }
                None if others.len() < LISTED => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    if !others.contains(&name) {
                        others.push(name);
                    }
                }
                None => {}
            }
        }
        Ok(is_measured || seen.iter().any(|seen| !seen.occurs))
    })?;
    let name = |input: &Input| String::from_utf8_lossy(&input.alias).into_owned();
    let declared = || seen.iter().zip(rules.inputs.iter()).filter(|(seen, _)| seen.occurs);
    let mismatch = |(stream, seen): (usize, &Seen)| {
        let input = &rules.inputs[stream];
        let found = match seen.size {
            _ if !seen.occurs => FoundStream::Nothing {
                name: name(input),
                declared: declared().map(|(_, input)| name(input)).collect(),
                others: others.clone(),
            },
            Some(found) if !seen.fits => FoundStream::Dim { declared: input.dim.into(), found },
            _ => return None,
        };
        Some(StreamMismatch { stream, found })
    };
    Ok(seen.iter().enumerate().filter_map(mismatch).collect())
}

impl Seen {
    /// Measures a sample whose values begin at `values`.
    fn measure(&mut self, rules: &Rules, stream: usize, row: &[u8], values: usize) {
        let input = &rules.inputs[stream];
        let dim = u64::from(input.dim);
        if input.sparse {
            // Samples are of any size up to the largest column of all.
            match columns(row, values) {
                Some(least) => {
                    self.fits |= least <= dim;
                    self.size = self.size.max(Some(least));
                }
                None => self.fits = true,
            }
            return;
        }
        // Samples of no values, and those with something else than values, say nothing.
        let Some(found) = count_values(row, values, rules.grammar).map(|n| n as u64).filter(|&n| n > 0)
        else {
            return;
        };
        self.fits |= found == dim || self.size.is_some_and(|other| other != found);
        self.size = Some(found);
    }
}

/// The dimension that the pairs of a sparse sample need; `None` if it has no pairs, or something else.
fn columns(row: &[u8], mut at: usize) -> Option<u64> {
    let mut needed = None;
    while row.get(at).is_some_and(|&b| is_blank(b) || !is_end(b)) {
        if is_blank(row[at]) {
            at += 1;
            continue;
        }
        let colon = skip_digits(row, at);
        if row.get(colon) != Some(&b':') {
            return None;
        }
        let column: u64 = std::str::from_utf8(&row[at..colon]).ok()?.parse().ok()?;
        needed = needed.max(Some(column.checked_add(1)?));
        at = colon + row[colon..].iter().position(|&b| is_end(b)).unwrap_or(row.len() - colon);
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn the_dimension_that_pairs_need_is_one_more_than_the_largest_column() {
        let needed = |sample: &str| columns(sample.as_bytes(), 0);
        assert_eq!(needed(" 3:1 12:0.5\t7:-1|y 99:1"), Some(13));
        assert_eq!(needed(" 3:1\r\n"), Some(4));
        assert_eq!(needed(""), None);
        assert_eq!(needed(" 3"), None);
        assert_eq!(needed(" 18446744073709551615:1"), None);
    }
}
