//! The three kinds of lists. Numbers come packed, one by one, or in any mixture of both (spec/tfds.md §5).

use super::wire::{Tag, Wire, WireType};
use super::{ExampleError, Fault, List, Span};

type Result<T> = std::result::Result<T, ExampleError>;

/// Appends the values of a list message.
pub(super) fn append(mut list: Wire<'_>, to: &mut List) -> Result<()> {
    while !list.is_empty() {
        let tag = list.tag()?;
        match to {
            List::Bytes(to) => bytes(tag, &mut list, to)?,
            List::Floats(to) => floats(tag, &mut list, to)?,
            List::Ints(to) => ints(tag, &mut list, to)?,
        }
    }
    Ok(())
}

fn bytes(tag: Tag, list: &mut Wire<'_>, to: &mut Vec<Span>) -> Result<()> {
    if tag != (Tag { field: 1, wire: WireType::Bytes }) {
        return list.skip(tag);
    }
    let value = list.field()?;
    to.push(Span { start: value.at, len: value.len() });
    Ok(())
}

fn floats(tag: Tag, list: &mut Wire<'_>, to: &mut Vec<f32>) -> Result<()> {
    match tag {
        Tag { field: 1, wire: WireType::Bytes } => {
            let packed = list.field()?;
            let (values, rest) = packed.rest().as_chunks::<4>();
            if !rest.is_empty() {
                return packed.fail(Fault::HalfFloat { bytes: packed.len() });
            }
            to.extend(values.iter().map(|v| f32::from_le_bytes(*v)));
            Ok(())
        }
        Tag { field: 1, wire: WireType::Fixed32 } => {
            to.push(f32::from_le_bytes(list.fixed32()?));
            Ok(())
        }
        _ => list.skip(tag),
    }
}

fn ints(tag: Tag, list: &mut Wire<'_>, to: &mut Vec<i64>) -> Result<()> {
    match tag {
        Tag { field: 1, wire: WireType::Bytes } => packed_ints(list.field()?, to),
        Tag { field: 1, wire: WireType::Varint } => {
            to.push(list.varint()? as i64);
            Ok(())
        }
        _ => list.skip(tag),
    }
}

/// Eight numbers of one byte each are the common case in long lists (labels, tokens, pixels) and are taken at once.
pub(super) fn packed_ints(mut packed: Wire<'_>, to: &mut Vec<i64>) -> Result<()> {
    while let Some(eight) = packed.rest().first_chunk::<8>() {
        if u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080 == 0 {
            to.extend(eight.iter().map(|b| i64::from(*b)));
            packed.at += 8;
        } else {
            to.push(packed.varint()? as i64);
        }
    }
    while !packed.is_empty() {
        to.push(packed.varint()? as i64);
    }
    Ok(())
}
