//! Messages, written: what TFDS writes for the same features, keys in the order given.

use tesson_core::varint;

use crate::record::message::put_bytes;

/// The list of one key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Byte strings.
    Bytes(&'a [&'a [u8]]),
    /// 32-bit floats.
    Floats(&'a [f32]),
    /// 64-bit integers.
    Ints(&'a [i64]),
}

/// Appends a message with these features to `out`. Numbers are packed.
pub fn write(features: &[(&str, Value<'_>)], out: &mut Vec<u8>) {
    let mut entries = Vec::new();
    let (mut entry, mut feature, mut list) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in features {
        list.clear();
        let field = write_list(*value, &mut list);
        feature.clear();
        put_bytes(field, &list, &mut feature);
        entry.clear();
        put_bytes(1, key.as_bytes(), &mut entry);
        put_bytes(2, &feature, &mut entry);
        put_bytes(1, &entry, &mut entries);
    }
    put_bytes(1, &entries, out);
}

/// Appends the list; returns its field in the feature that holds it.
fn write_list(value: Value<'_>, out: &mut Vec<u8>) -> u64 {
    let mut packed = Vec::new();
    let field = match value {
        Value::Bytes(values) => {
            values.iter().for_each(|v| put_bytes(1, v, out));
            return 1;
        }
        Value::Floats(values) => {
            packed.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            2
        }
        Value::Ints(values) => {
            values.iter().for_each(|v| varint::put(*v as u64, &mut packed));
            3
        }
    };
    if !packed.is_empty() {
        put_bytes(1, &packed, out);
    }
    field
}
