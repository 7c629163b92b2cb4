//! The types of members, and their values.

use tesson_core::{Element, Shape};

use crate::npy::{Form, Header};
use crate::table::FieldKind;
use crate::text::ColumnBuilder;
use crate::values::ByteOrder;

/// The last parts of extensions by what members have, as WebDataset decodes them. All others are bytes.
const TEXTS: [&str; 5] = ["txt", "text", "transcript", "json", "jsn"];
const NUMBERS: [&str; 7] = ["cls", "cls2", "class", "count", "index", "inx", "id"];
const PICKLES: [&str; 5] = ["pth", "pt", "pyd", "pickle", "pkl"];
const ARRAYS: &str = "npy";

fn last(extension: &str) -> &str {
    extension.rsplit_once('.').map_or(extension, |(_, last)| last)
}

/// True if the type is in the member itself.
pub(super) fn is_array(extension: &str) -> bool {
    last(extension) == ARRAYS
}

/// The values of members of an extension that is not that of arrays.
pub(super) fn kind_of(extension: &str) -> FieldKind {
    let scalar = |element| FieldKind::Flat(element, Shape::new([]));
    match last(extension) {
        name if TEXTS.contains(&name) => scalar(Element::Text),
        name if NUMBERS.contains(&name) => scalar(Element::I64),
        name if PICKLES.contains(&name) => FieldKind::Other("pickles, which would run their code".into()),
        _ => scalar(Element::Bytes),
    }
}

/// The arrays that the first members of an extension are.
#[derive(Default)]
pub(super) struct Arrays {
    /// The type of the values and the shape of the first one.
    first: Option<(Element, Vec<u64>)>,
    /// The number of the first dimension differs.
    differ_in_length: bool,
    /// Why they cannot be a column.
    fault: Option<String>,
}

impl Arrays {
    /// Takes the header of another member.
    pub(super) fn see(&mut self, header: Result<Header, String>) {
        let seen = header
            .map_err(|why| format!("files that are no arrays: {why}"))
            .and_then(|header| array_of(&header));
        let (element, shape) = match seen {
            Ok((element, _, shape)) => (element, shape),
            Err(why) => {
                // Where the first one is right, a later one is a fault of its row.
                if self.first.is_none() {
                    self.fault.get_or_insert(why);
                }
                return;
            }
        };
        let Some((first, of_first)) = &self.first else {
            self.first = Some((element, shape));
            return;
        };
        // One of another type or inner shape is a fault of its row.
        let is_alike =
            *first == element && of_first.len() == shape.len() && of_first.get(1..) == shape.get(1..);
        self.differ_in_length |= is_alike && *of_first != shape;
    }

    /// The values of a row: an array of one shape, or, if rows differ in their first dimension or are declared to, its items.
    pub(super) fn kind(self, is_ragged: bool) -> FieldKind {
        let found = match (self.fault, self.first) {
            (None, Some(first)) => Ok(first),
            (fault, _) => Err(fault.unwrap_or_else(|| "no arrays".into())),
        };
        match found {
            Ok((element, shape)) if !shape.is_empty() && (is_ragged || self.differ_in_length) => {
                FieldKind::Ragged(element, shape_of(&shape[1..]))
            }
            Ok((element, shape)) => FieldKind::Flat(element, shape_of(&shape)),
            Err(why) => FieldKind::Other(why),
        }
    }
}

fn shape_of(dims: &[u64]) -> Shape {
    Shape::new(dims.iter().map(|&dim| dim as usize).collect::<Vec<_>>())
}

/// The type, order and shape of an array of numbers.
fn array_of(header: &Header) -> Result<(Element, ByteOrder, Vec<u64>), String> {
    let [member] = &header.members[..] else { return Err("arrays of records".into()) };
    if header.is_record {
        return Err("arrays of records".into());
    }
    if header.shape.len() > 1 && header.fortran_order {
        return Err("arrays in Fortran order".into());
    }
    match &member.form {
        Form::Number(element, order) => Ok((*element, *order, header.shape.clone())),
        Form::Other(name) => Err(format!("arrays of type `{name}`")),
    }
}

/// The order of the bytes of an array that is a value of this kind, and the number of its samples.
///
/// # Errors
/// It is none; the text is what it is.
pub(super) fn in_row(header: &Header, kind: &FieldKind) -> Result<(ByteOrder, u64), String> {
    let (element, order, shape) = array_of(header)?;
    let samples = match kind {
        FieldKind::Ragged(_, of_sample) if !shape.is_empty() && shape_of(&shape[1..]) == *of_sample => {
            shape[0]
        }
        FieldKind::Flat(_, of_sample) if shape_of(&shape) == *of_sample => 1,
        _ => return Err(FieldKind::Flat(element, shape_of(&shape)).name()),
    };
    let is_same = matches!(kind, FieldKind::Ragged(of, _) | FieldKind::Flat(of, _) if *of == element);
    if is_same { Ok((order, samples)) } else { Err(FieldKind::Flat(element, shape_of(&shape)).name()) }
}

/// Bytes of a value that errors show.
const SHOWN: usize = 40;

/// Appends the value of a member.
///
/// # Errors
/// The member has no value of this kind; the text is what it has.
pub(super) fn append(
    bytes: &[u8],
    extension: &str,
    kind: &FieldKind,
    to: &mut ColumnBuilder,
) -> Result<(), String> {
    if is_array(extension) && *kind != FieldKind::Flat(Element::Bytes, Shape::new([])) {
        let header = Header::of_array(bytes)?;
        let (order, _) = in_row(&header, kind)?;
        to.push_bytes(&bytes[header.data as usize..], order);
        return Ok(());
    }
    if to.push_field(bytes) {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    Err(shown.trim().escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_types() {
        let scalar = |element| FieldKind::Flat(element, Shape::new([]));
        assert_eq!(kind_of("txt"), scalar(Element::Text));
        assert_eq!(kind_of("left.json"), scalar(Element::Text));
        assert_eq!(kind_of("cls"), scalar(Element::I64));
        assert_eq!(kind_of("cls.jpg"), scalar(Element::Bytes));
        assert!(matches!(kind_of("pth"), FieldKind::Other(_)));
    }

    /// The kind of members with these types and shapes.
    fn kind(arrays: &[(&str, &str)], is_ragged: bool) -> FieldKind {
        let mut seen = Arrays::default();
        for (descr, shape) in arrays {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
            seen.see(Header::parse(text.as_bytes(), 128));
        }
        seen.kind(is_ragged)
    }

    #[test]
    fn arrays_that_differ_in_their_first_dimension_are_lists() {
        let [flat, list] = [FieldKind::Flat, FieldKind::Ragged].map(|kind| kind as fn(_, _) -> _);
        assert_eq!(
            kind(&[("<f4", "(3, 2)"), ("<f4", "(3, 2)")], false),
            flat(Element::F32, Shape::new([3, 2]))
        );
        assert_eq!(kind(&[("<f4", "(3, 2)"), (">f4", "(0, 2)")], false), list(Element::F32, Shape::new([2])));
        assert_eq!(kind(&[("<i8", "(3,)")], true), list(Element::I64, Shape::new([])));
        assert_eq!(kind(&[("<i8", "()")], true), flat(Element::I64, Shape::new([])));
        // Later members of another type or inner shape are faults of their rows.
        assert_eq!(
            kind(&[("<f4", "(3, 2)"), ("<f4", "(3, 4)")], false),
            flat(Element::F32, Shape::new([3, 2]))
        );
        assert_eq!(kind(&[("|O", "(3,)")], false).name(), "arrays of type `|O`");
        assert_eq!(kind(&[("<i8", "(3,)"), ("|O", "(3,)")], false), flat(Element::I64, Shape::new([3])));
    }
}
