//! Tagged sections: the layout of binary states and index caches, which can grow without a new version of the whole.
//!
//! A section is a tag of one byte, the length of its payload (a varint), and the payload. The contents of a payload
//! never change: new data get a new tag. A reader refuses a section that it does not know, unless its tag is
//! [optional](is_optional).

use crate::varint;

/// The first tag of sections that a reader may pass over.
const OPTIONAL: u8 = 0x80;

/// True if a reader that does not know a tag may skip its section.
pub fn is_optional(tag: u8) -> bool {
    tag >= OPTIONAL
}

/// Appends a section.
pub fn put(tag: u8, payload: &[u8], out: &mut Vec<u8>) {
    put_head(tag, payload.len(), out);
    out.extend_from_slice(payload);
}

/// Appends the head of a section; a payload of `len` bytes is written after it.
pub fn put_head(tag: u8, len: usize, out: &mut Vec<u8>) {
    out.push(tag);
    varint::put(len as u64, out);
}

/// Takes the first section off the bytes: its tag and its payload. `None`: the bytes are cut off, or are none.
pub fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&tag, mut rest) = bytes.split_first()?;
    let len = varint::take(&mut rest)?;
    let (payload, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    *bytes = rest;
    Some((tag, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_back_in_their_order_and_a_cut_off_one_does_not() {
        let payloads = [vec![], vec![7; 3], vec![1; 127], vec![2; 128], vec![3; 70_000]];
        let mut bytes = Vec::new();
        (0..).zip(&payloads).for_each(|(tag, payload)| put(tag, payload, &mut bytes));
        let mut rest = &bytes[..];
        for (tag, payload) in (0..).zip(&payloads) {
            assert_eq!(take(&mut rest), Some((tag, &payload[..])));
        }
        assert_eq!((rest, take(&mut rest)), (&[][..], None));
        let mut cut_off = &bytes[5..bytes.len() - 1];
        while take(&mut cut_off).is_some() {}
        assert!(!cut_off.is_empty());
        let endless = [1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(take(&mut &endless[..]), None);
    }
}
