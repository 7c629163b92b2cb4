//! A look at the first rows, for a stream that none of them has: most likely its name is misspelt, and under the lenient
//! rules all its sequences would come without samples.

use std::collections::{BTreeSet, HashSet};

use tesson_core::did_you_mean;

use super::bytes::is_end;

/// Number of unused inputs that are listed.
pub(super) const LISTED: usize = 8;

/// A warning about names of streams that do not fit the rows that begin `rows`; `None` if they fit. The last row may be
/// cut off.
pub(super) fn complaint<'a>(aliases: impl Iterator<Item = &'a [u8]>, rows: &[u8]) -> Option<String> {
    let known: Vec<&[u8]> = aliases.collect();
    // There may be thousands of streams, and as many names in a row.
    let mut absent: HashSet<&[u8]> = known.iter().copied().collect();
    let mut present = HashSet::new();
    let mut others = BTreeSet::new();
    for name in names(rows) {
        if absent.is_empty() {
            return None;
        }
        if absent.remove(name) {
            present.insert(name);
        } else if others.len() < LISTED && !present.contains(name) {
            others.insert(String::from_utf8_lossy(name));
        }
    }
    let first = String::from_utf8_lossy(known.iter().find(|alias| absent.contains(*alias))?);
    // Without an unused name the stream may well begin later.
    let found: Vec<String> = others.iter().map(|name| format!("`|{name}`")).collect();
    if found.is_empty() {
        return None;
    }
    let hint = did_you_mean(&first, others.iter().map(AsRef::as_ref));
    Some(format!("no `|{first}` in the first rows, which also have {}{hint}", found.join(", ")))
}

/// The names of the inputs in whole rows, comments left out.
fn names(rows: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = rows.iter().rposition(|&b| b == b'\n').unwrap_or(rows.len());
    inputs(&rows[..whole]).map(|(name, _)| name)
}

/// The names of the inputs in rows, comments left out, and where their values begin.
pub(super) fn inputs(rows: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let pipes = rows.iter().enumerate().filter(|&(_, &b)| b == b'|').map(|(at, _)| at + 1);
    pipes.filter_map(|start| {
        let length = rows[start..].iter().position(|&b| is_end(b)).unwrap_or(rows.len() - start);
        let name = &rows[start..start + length];
        (!name.is_empty() && name[0] != b'#').then_some((name, start + length))
    })
}

#[cfg(test)]
mod tests {
    use super::complaint;

    fn check(aliases: &str, rows: &str, expected: Option<&str>) {
        let found = complaint(aliases.split(' ').map(str::as_bytes), rows.as_bytes());
        assert_eq!(found.as_deref(), expected, "{aliases} in {rows:?}");
    }

    #[test]
    fn a_name_that_no_row_has_is_told_beside_those_that_it_may_be() {
        let rows = "1 |features 1 |labels 2:1 |# featrues\n2 |fea";
        check("features labels", rows, None);
        check("labels", rows, None);
        check(
            "featrues labels",
            rows,
            Some("no `|featrues` in the first rows, which also have `|features`, did you mean `features`?"),
        );
        check("x", rows, Some("no `|x` in the first rows, which also have `|features`, `|labels`"));
    }

    #[test]
    fn a_stream_that_may_begin_later_is_no_matter() {
        check("a b", "1 |a 1\n1 |a 2\n", None);
        check("a", "no inputs\n", None);
    }
}
