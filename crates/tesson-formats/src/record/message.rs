//! Messages in protobuf's wire form: fields of whole numbers and of bytes.

use tesson_core::varint;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Takes the next field: its number and content. `None` if the bytes are no message.
pub(crate) fn field<'a>(from: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let tag = varint::take(from)?;
    let content = match tag & 7 {
        0 => Field::Number(varint::take(from)?),
        1 => Field::Bytes(bytes(from, 8)?),
        2 => {
            let size = varint::take(from)?;
            Field::Bytes(bytes(from, size)?)
        }
        5 => Field::Bytes(bytes(from, 4)?),
        _ => return None,
    };
    Some((tag >> 3, content))
}

fn bytes<'a>(from: &mut &'a [u8], size: u64) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(usize::try_from(size).ok()?)?;
    *from = rest;
    Some(taken)
}

/// The numbers of fields 1, 2, … of a message; what is absent is 0, other fields are passed over.
pub(crate) fn numbers<const N: usize>(mut message: &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    while !message.is_empty() {
        if let (number @ 1.., Field::Number(value)) = field(&mut message)?
            && number <= N as u64
        {
            numbers[number as usize - 1] = value;
        }
    }
    Some(numbers)
}

/// Appends a field of a whole number, unless that is 0.
pub(crate) fn put_number(field: u64, value: u64, into: &mut Vec<u8>) {
    if value != 0 {
        varint::put(field << 3, into);
        varint::put(value, into);
    }
}

/// Appends a field of bytes.
pub(crate) fn put_bytes(field: u64, value: &[u8], into: &mut Vec<u8>) {
    varint::put(field << 3 | 2, into);
    varint::put(value.len() as u64, into);
    into.extend_from_slice(value);
}
