//! Messages, written: what TFDS writes for the same features, keys in the order given.

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
        write_field(field, &list, &mut feature);
        entry.clear();
        write_field(1, key.as_bytes(), &mut entry);
        write_field(2, &feature, &mut entry);
        write_field(1, &entry, &mut entries);
    }
    write_field(1, &entries, out);
}

/// The list's number in the feature that holds it.
fn write_list(value: Value<'_>, out: &mut Vec<u8>) -> u8 {
    match value {
        Value::Bytes(values) => {
            values.iter().for_each(|v| write_field(1, v, out));
            1
        }
        Value::Floats(values) => {
            let packed: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            write_packed(&packed, out);
            2
        }
        Value::Ints(values) => {
            let mut packed = Vec::with_capacity(values.len());
            values.iter().for_each(|v| write_varint(*v as u64, &mut packed));
            write_packed(&packed, out);
            3
        }
    }
}

fn write_packed(packed: &[u8], out: &mut Vec<u8>) {
    if !packed.is_empty() {
        write_field(1, packed, out);
    }
}

fn write_field(field: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
