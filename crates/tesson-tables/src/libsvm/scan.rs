//! The columns: types from the first lines, and the range of the indices from a pass over the file.

use tesson_core::{Element, Error, Shape};

use super::line::{Parts, pair, word};
use super::table::LINES;
use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes};
use crate::text::{
    MOST_ROW_BYTES, SAMPLE_BYTES, Scalar, lines, long_row, parse_scalar, refuse_other_encodings,
};

/// Lines that types are guessed from, at most.
const SAMPLE_ROWS: usize = 10_000;

/// Bytes that are looked at in a part.
const PART_BYTES: u64 = 1 << 20;

/// The columns of a file, and where its lines begin.
pub(super) fn fields(file: FileBytes<'_>, options: &TableOptions) -> Result<(Vec<Field>, u64), Error> {
    let size = file.size()?;
    let mut bytes = Vec::new();
    file.read_over(0..size.min(SAMPLE_BYTES), &mut bytes)?;
    let mark = refuse_other_encodings(&bytes, file)?;
    let complete =
        if size > SAMPLE_BYTES { memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1) } else { bytes.len() };
    let sample = bytes.get(mark as usize..complete).unwrap_or_default();
    let rows = lines(sample, LINES).map(|line| Parts::of(line.text));
    let rows: Vec<Parts<'_>> = rows.take(SAMPLE_ROWS).collect();
    if rows.is_empty() && size <= SAMPLE_BYTES {
        return Err(file.error(TableFault::NoFirstRow, size));
    }
    let mut fields = vec![Field::new("labels", labels(&rows, options))];
    if rows.iter().any(|row| row.query.is_some()) {
        fields.push(Field::new("qid", FieldKind::Flat(Element::I64, Shape::new([]))));
    }
    fields.push(Field::new("features", features(file, mark, options)?));
    let shown: Vec<String> =
        fields.iter().map(|field| format!("`{}` {}", field.name, field.kind.name())).collect();
    tracing::info!("{}: columns {}", file.path.display(), shown.join(", "));
    Ok((fields, mark))
}

/// The labels of a row: one number, or lists where some row has another number of them.
fn labels(rows: &[Parts<'_>], options: &TableOptions) -> FieldKind {
    let all = || rows.iter().flat_map(|row| row.labels.split(|byte| *byte == b','));
    let is_whole = |label: &[u8]| {
        std::str::from_utf8(label).is_ok_and(|label| matches!(parse_scalar(label), Scalar::Whole(_)))
    };
    let guessed =
        if all().filter(|label| !label.is_empty()).all(is_whole) { Element::I64 } else { Element::F64 };
    let element = options.declared("labels").unwrap_or(guessed);
    if rows.iter().any(|row| row.labels.is_empty() || row.labels.contains(&b',')) {
        FieldKind::Ragged(element, Shape::new([]))
    } else {
        FieldKind::Flat(element, Shape::new([]))
    }
}

fn features(file: FileBytes<'_>, from: u64, options: &TableOptions) -> Result<FieldKind, Error> {
    let element = options.declared("features").filter(|element| *element == Element::F32);
    let element = element.unwrap_or(Element::F64);
    let (n, zero_based) = (options.libsvm.n_features, options.libsvm.zero_based);
    let (n, zero_based) = match (n, zero_based) {
        (Some(n), Some(zero_based)) => (n, zero_based),
        _ => {
            let found = Indices::of(file, from)?;
            let zero_based = zero_based.unwrap_or(found.least == Some(0));
            let largest = found.largest + u64::from(zero_based);
            (n.unwrap_or(largest.clamp(1, i32::MAX as u64)), zero_based)
        }
    };
    Ok(FieldKind::Sparse { element, columns: n as usize, zero_based })
}

/// The range of the indices in a file.
#[derive(Debug, Default)]
struct Indices {
    least: Option<u64>,
    largest: u64,
}

impl Indices {
    /// Looks at the first and the last pair of each line: indices ascend, or the line is a fault when it is read.
    fn of(file: FileBytes<'_>, from: u64) -> Result<Indices, Error> {
        let size = file.size()?;
        let (mut found, mut bytes, mut at, mut part) = (Indices::default(), Vec::new(), from, PART_BYTES);
        while at < size {
            if file.fetch.cancelled() {
                return Err(Error::Cancelled);
            }
            let end = size.min(at + part);
            file.read_over(at..end, &mut bytes)?;
            let complete =
                if end == size { bytes.len() } else { memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1) };
            if complete == 0 {
                if part >= MOST_ROW_BYTES {
                    return Err(long_row(file, at, 0));
                }
                part *= 8;
                continue;
            }
            lines(&bytes[..complete], LINES).for_each(|line| found.see(line.text));
            (at, part) = (at + complete as u64, PART_BYTES);
        }
        Ok(found)
    }

    fn see(&mut self, line: &[u8]) {
        let pairs = Parts::of(line).pairs;
        let last = pairs.iter().rposition(u8::is_ascii_whitespace).map_or(pairs, |at| &pairs[at + 1..]);
        for (index, _) in [word(pairs).0, last].into_iter().filter_map(pair) {
            self.least = Some(self.least.map_or(index, |least| least.min(index)));
            self.largest = self.largest.max(index);
        }
    }
}
