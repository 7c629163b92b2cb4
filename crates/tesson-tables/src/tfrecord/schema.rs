//! The columns, from the first records.

use std::collections::BTreeMap;

use tesson_core::{Element, Error, Shape};
use tesson_formats::example::{Kind, Surveyed, survey};
use tesson_formats::record::{End, RecordFile, Records, Want};

use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes};

/// Records that are looked at, and bytes of them.
const SAMPLE: Want = Want { first: 0, most: 1000, bytes: 4 << 20 };

/// A feature of the records that were looked at.
struct Found {
    kind: Option<Kind>,
    /// The number of values, if all records that have some have as many.
    values: Option<usize>,
    /// True if some record has a list without values, or a list of another kind.
    lacks_values: bool,
    is_mixed: bool,
    records: usize,
}

/// The columns of a file.
pub(super) fn fields(
    records_of: &dyn RecordFile,
    file: FileBytes<'_>,
    options: &TableOptions,
) -> Result<Vec<Field>, Error> {
    let mut records = Records::new();
    records_of.read(SAMPLE, file.fetch, &mut records)?;
    let mut features: BTreeMap<String, Found> = BTreeMap::new();
    let mut seen = 0;
    for (i, record) in records.iter().enumerate().filter(|(i, _)| records.fault(*i).is_none()) {
        let surveyed = survey(record).map_err(|error| file.error(error, records.offset(i)));
        // A record that is none is a fault where it is read; the first one says that the file holds other records.
        match surveyed {
            Ok(surveyed) => {
                seen += 1;
                surveyed.into_iter().for_each(|(key, feature)| see(&mut features, key, feature));
            }
            Err(error) if seen == 0 => return Err(error),
            Err(_) => {}
        }
    }
    if features.is_empty() {
        return Err(match (records.faults().first(), records.end()) {
            (Some((_, fault)), _) | (None, End::Damaged(fault)) => fault.in_file(file.path).into(),
            _ => file.error(TableFault::NoExamples { records: records.len() as u64 }, 0),
        });
    }
    let fields = features.into_iter().map(|(key, found)| Field::new(&key, kind(&key, &found, seen, options)));
    let fields: Vec<Field> = fields.collect();
    let shown: Vec<String> =
        fields.iter().map(|field| format!("`{}` {}", field.name, field.kind.name())).collect();
    tracing::info!("{}: columns {}, from the first {seen} records", file.path.display(), shown.join(", "));
    Ok(fields)
}

fn see(features: &mut BTreeMap<String, Found>, key: String, feature: Surveyed) {
    let new = Found { kind: None, values: None, lacks_values: false, is_mixed: false, records: 0 };
    let found = features.entry(key).or_insert(new);
    found.records += 1;
    found.is_mixed |= feature.kind.is_some() && found.kind.is_some_and(|kind| Some(kind) != feature.kind);
    found.lacks_values |= feature.values == 0;
    found.values = match found.values {
        Some(before) if before != feature.values && found.kind.is_some() => Some(0),
        Some(before) => Some(before),
        None => Some(feature.values),
    };
    found.kind = found.kind.or(feature.kind);
}

/// The values that a feature has in each row: one, as many as in all records that were looked at, or any number.
fn kind(key: &str, found: &Found, records: usize, options: &TableOptions) -> FieldKind {
    let element = match found.kind {
        _ if found.is_mixed => return FieldKind::Other("lists of several kinds".into()),
        Some(Kind::Bytes) => Element::Bytes,
        Some(Kind::Floats) => Element::F32,
        Some(Kind::Ints) => Element::I64,
        None => return FieldKind::Other("lists that are all empty".into()),
    };
    let asks = |stream: &crate::options::TableStream| {
        stream.column == key && (stream.ragged == Some(true) || stream.shape.is_some())
    };
    match found.values {
        _ if options.inputs.iter().any(asks) => FieldKind::Ragged(element, Shape::new([])),
        Some(1) => FieldKind::Flat(element, Shape::new([])),
        Some(n @ 2..) if found.records == records && !found.lacks_values => {
            FieldKind::Flat(element, Shape::new([n]))
        }
        _ => FieldKind::Ragged(element, Shape::new([])),
    }
}
