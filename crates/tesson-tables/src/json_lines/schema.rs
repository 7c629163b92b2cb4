//! The columns, from the first rows.

use serde_json::{Map, Value};
use tesson_core::{Element, Error, Shape};

use super::parse::fault_of;
use super::table::LINES;
use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes};
use crate::text::{Guess, MOST_ROW_BYTES, SAMPLE_BYTES, Scalar, lines, long_row, refuse_other_encodings};

/// Rows that types are guessed from, at most.
const SAMPLE_ROWS: usize = 10_000;

/// Members of members up to this depth are columns, `a.b.c`.
const MOST_LEVELS: usize = 8;

/// The beginning of a file: its columns, and where its lines begin.
pub(super) struct Beginning {
    pub(super) fields: Vec<Field>,
    pub(super) data: u64,
}

/// The values of a member that have been seen.
#[derive(Default)]
struct Seen {
    scalars: Guess,
    /// Of lists: the length on each level; `None` where lengths differ.
    dims: Option<Vec<Option<usize>>>,
    /// True if values are lists in some rows and none in others, or lists of different depths, or hold objects.
    is_mixed: bool,
    is_scalar: bool,
}

impl Seen {
    fn see(&mut self, value: &Value) {
        match value {
            Value::Array(_) => {
                let mut dims = Vec::new();
                self.is_mixed |= !self.see_list(value, 0, &mut dims) || self.is_scalar;
                match &mut self.dims {
                    None => self.dims = Some(dims),
                    // Empty lists do not show how deep others are.
                    Some(known) if known.len() < dims.len() && known.contains(&Some(0)) => *known = dims,
                    Some(known) if known.len() != dims.len() => self.is_mixed |= !dims.contains(&Some(0)),
                    Some(known) => {
                        known.iter_mut().zip(dims).for_each(|(dim, found)| {
                            if *dim != found {
                                *dim = None;
                            }
                        });
                    }
                }
            }
            scalar => {
                self.is_scalar |= !scalar.is_null();
                self.is_mixed |= self.is_scalar && self.dims.is_some();
                see_scalar(&mut self.scalars, scalar);
            }
        }
    }

    /// Looks at a list; false if it holds something else than lists and scalars of one depth.
    fn see_list(&mut self, value: &Value, level: usize, dims: &mut Vec<Option<usize>>) -> bool {
        let Value::Array(items) = value else {
            see_scalar(&mut self.scalars, value);
            return dims.len() == level && !value.is_object();
        };
        match dims.get_mut(level) {
            None => dims.push(Some(items.len())),
            Some(dim) if *dim == Some(items.len()) => {}
            Some(dim) => *dim = None,
        }
        let depth = |item: &Value| item.is_array();
        let is_even = items.iter().all(|item| depth(item) == items.first().is_some_and(depth));
        items.iter().fold(is_even, |fits, item| self.see_list(item, level + 1, dims) && fits)
    }

    fn kind(&self, declared: Option<Element>, nulls: NullRule) -> FieldKind {
        if self.is_mixed {
            return FieldKind::Other("values of different kinds".into());
        }
        let Some(element) = declared.or_else(|| self.scalars.element(nulls)) else {
            let what = if self.scalars.is_known() {
                "values of different types"
            } else {
                "no value in the first rows"
            };
            return FieldKind::Other(what.into());
        };
        let inner = |dims: &[Option<usize>]| dims.iter().copied().collect::<Option<Vec<usize>>>();
        match self.dims.as_deref() {
            None => FieldKind::Flat(element, Shape::new([])),
            Some([_]) => FieldKind::Ragged(element, Shape::new([])),
            Some([first, rest @ ..]) => match (first, inner(rest)) {
                (Some(first), Some(rest)) => {
                    FieldKind::Flat(element, Shape::new([vec![*first], rest].concat()))
                }
                (None, Some(rest)) => FieldKind::Ragged(element, Shape::new(rest)),
                (_, None) => FieldKind::Other("lists of lists of different lengths".into()),
            },
            Some([]) => FieldKind::Other("values of different kinds".into()),
        }
    }
}

fn see_scalar(guess: &mut Guess, value: &Value) {
    match value {
        Value::Bool(x) => guess.see(Scalar::Bool(*x)),
        Value::String(text) => guess.see(Scalar::Text(text)),
        Value::Number(n) => guess.see(match (n.as_i64(), n.as_u64(), n.as_f64()) {
            (Some(n), ..) => Scalar::Whole(n.into()),
            (_, Some(n), _) => Scalar::Whole(n.into()),
            (.., x) => Scalar::Real(x.unwrap_or(f64::NAN)),
        }),
        Value::Null => guess.see_missing(),
        Value::Array(_) | Value::Object(_) => {}
    }
}

impl Beginning {
    /// Looks at the beginning of a file.
    ///
    /// # Errors
    /// A file without rows, and a first row that is none.
    pub(super) fn read(file: FileBytes<'_>, options: &TableOptions) -> Result<Beginning, Error> {
        let size = file.size()?;
        let (mut wanted, mut bytes) = (SAMPLE_BYTES, Vec::new());
        let whole = loop {
            file.read_over(0..size.min(wanted), &mut bytes)?;
            if wanted >= size {
                break bytes.len();
            }
            if let Some(end) = memchr::memrchr(b'\n', &bytes) {
                break end + 1;
            }
            if wanted >= MOST_ROW_BYTES {
                return Err(long_row(file, 0, 0));
            }
            wanted *= 8;
        };
        let data = refuse_other_encodings(&bytes, file)?;
        let mut seen: Vec<(String, Seen)> = Vec::new();
        let (mut rows, mut first_fault) = (0, None);
        for line in lines(&bytes[data as usize..whole], LINES).take(SAMPLE_ROWS) {
            rows += 1;
            // Others are faults where they are read; without any the first one is the refusal.
            match serde_json::from_slice::<Map<String, Value>>(line.text) {
                Ok(object) => see_object(&object, "", &mut seen, 1),
                Err(error) => {
                    let offset = data + line.start as u64;
                    first_fault
                        .get_or_insert_with(|| file.error_at(fault_of(&error), offset, Some(line.number)));
                }
            }
        }
        if seen.is_empty() {
            return Err(first_fault.unwrap_or_else(|| file.error(TableFault::NoFirstRow, size)));
        }
        let field = |(name, seen): &(String, Seen)| {
            Field::new(name, seen.kind(options.declared(name), options.nulls))
        };
        let fields: Vec<Field> = seen.iter().map(field).collect();
        let shown: Vec<String> =
            fields.iter().map(|field| format!("`{}` {}", field.name, field.kind.name())).collect();
        tracing::info!(
            "{}: columns {}; types from the first {rows} rows",
            file.path.display(),
            shown.join(", ")
        );
        Ok(Beginning { fields, data })
    }
}

/// Looks at the members of an object, and at those of its objects.
fn see_object(object: &Map<String, Value>, prefix: &str, seen: &mut Vec<(String, Seen)>, level: usize) {
    for (name, value) in object {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) if level < MOST_LEVELS => {
                see_object(inner, &format!("{name}."), seen, level + 1);
            }
            Value::Object(_) => {}
            value => {
                let at = seen.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                    seen.push((name, Seen::default()));
                    seen.len() - 1
                });
                seen[at].1.see(value);
            }
        }
    }
}
