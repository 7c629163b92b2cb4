//! The features that a message has, for schemas that are found out.

use std::collections::BTreeMap;

use super::wire::{Tag, Wire, WireType};
use super::{ExampleError, Kind, List, list};

/// A feature of a message: the kind of its list, if it has one, and the number of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// The kind of the list.
    pub kind: Option<Kind>,
    /// The number of values.
    pub values: usize,
}

/// The features of a message by key. As in reading, the last value of a key counts; keys that are no text are left out.
///
/// # Errors
/// The record is no message.
pub fn survey(record: &[u8]) -> Result<BTreeMap<String, Surveyed>, ExampleError> {
    let mut found = BTreeMap::new();
    each_field(Wire::new(record, 0, record.len()), |number, features| {
        if number != 1 {
            return Ok(());
        }
        each_field(features, |number, entry| {
            if number != 1 {
                return Ok(());
            }
            let (mut key, mut surveyed) = (None, Surveyed { kind: None, values: 0 });
            each_field(entry, |number, field| {
                match number {
                    1 => key = std::str::from_utf8(field.rest()).ok().map(str::to_owned),
                    2 => surveyed = of_feature(field)?,
                    _ => {}
                }
                Ok(())
            })?;
            found.extend(key.map(|key| (key, surveyed)));
            Ok(())
        })
    })?;
    Ok(found)
}

fn of_feature(feature: Wire<'_>) -> Result<Surveyed, ExampleError> {
    let mut surveyed = Surveyed { kind: None, values: 0 };
    each_field(feature, |number, field| {
        let (kind, mut values) = match number {
            1 => (Kind::Bytes, List::Bytes(Vec::new())),
            2 => (Kind::Floats, List::Floats(Vec::new())),
            3 => (Kind::Ints, List::Ints(Vec::new())),
            _ => return Ok(()),
        };
        list::append(field, &mut values)?;
        let before = if surveyed.kind == Some(kind) { surveyed.values } else { 0 };
        surveyed = Surveyed { kind: Some(kind), values: before + values.len() };
        Ok(())
    })?;
    Ok(surveyed)
}

/// Calls `each` with the fields of a message that have a length; all others are stepped over.
fn each_field<'a>(
    mut message: Wire<'a>,
    mut each: impl FnMut(u64, Wire<'a>) -> Result<(), ExampleError>,
) -> Result<(), ExampleError> {
    while !message.is_empty() {
        let tag = message.tag()?;
        match tag {
            Tag { field, wire: WireType::Bytes } => each(field, message.field()?)?,
            _ => message.skip(tag)?,
        }
    }
    Ok(())
}
