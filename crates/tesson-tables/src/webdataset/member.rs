//! The types of members, and their values.

use tesson_core::{Element, Shape};

use crate::npy::{Form, Header};
use crate::table::FieldKind;
use crate::text::ColumnBuilder;

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

/// The values of members of an extension, of arrays like this one.
pub(super) fn kind_of(extension: &str, array: Option<&[u8]>) -> FieldKind {
    let scalar = |element| FieldKind::Flat(element, Shape::new([]));
    match (last(extension), array) {
        (name, _) if TEXTS.contains(&name) => scalar(Element::Text),
        (name, _) if NUMBERS.contains(&name) => scalar(Element::I64),
        (name, _) if PICKLES.contains(&name) => {
            FieldKind::Other("pickles, which would run their code".into())
        }
        (ARRAYS, Some(bytes)) => match Header::of_array(bytes) {
            Ok(header) => kind_of_array(&header),
            Err(why) => FieldKind::Other(format!("files that are no arrays: {why}")),
        },
        _ => scalar(Element::Bytes),
    }
}

/// A row of the type of an array.
fn kind_of_array(header: &Header) -> FieldKind {
    let [member] = &header.members[..] else { return FieldKind::Other("arrays of records".into()) };
    if header.shape.len() > 1 && header.fortran_order {
        return FieldKind::Other("arrays in Fortran order".into());
    }
    match &member.form {
        Form::Number(element, _) => FieldKind::Flat(*element, member.shape_in(&header.shape)),
        Form::Other(name) => FieldKind::Other(format!("arrays of type `{name}`")),
    }
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
    if is_array(extension) {
        let header = Header::of_array(bytes)?;
        let found = kind_of_array(&header);
        return match header.members.first().map(|member| &member.form) {
            Some(Form::Number(_, order)) if found == *kind => {
                to.push_bytes(&bytes[header.data as usize..], *order);
                Ok(())
            }
            _ => Err(found.name()),
        };
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
        assert_eq!(kind_of("txt", None), scalar(Element::Text));
        assert_eq!(kind_of("left.json", None), scalar(Element::Text));
        assert_eq!(kind_of("cls", None), scalar(Element::I64));
        assert_eq!(kind_of("cls.jpg", None), scalar(Element::Bytes));
        assert!(matches!(kind_of("pth", None), FieldKind::Other(_)));
        assert!(matches!(kind_of("npy", Some(b"no array")), FieldKind::Other(_)));
    }
}
