//! The columns and offsets of a shard: their number, the offsets, then an object of JSON.

use serde_json::Value;
use tesson_core::{Element, Error, Shape};

use crate::fault::TableFault;
use crate::table::{Field, FieldKind, FileBytes};

/// The columns, as the shard declares them.
struct Declared {
    names: Vec<String>,
    encodings: Vec<String>,
    sizes: Vec<Option<u64>>,
}

impl Declared {
    fn read(json: &[u8]) -> Result<Declared, String> {
        let json: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let list = |name: &str| json[name].as_array().ok_or_else(|| format!("found no list `{name}`"));
        let texts = |name: &str| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let texts: Option<Vec<String>> = list(name)?.iter().map(text).collect();
            texts.ok_or_else(|| format!("`{name}` does not list texts"))
        };
        let (names, encodings) = (texts("column_names")?, texts("column_encodings")?);
        let sizes: Vec<Option<u64>> = list("column_sizes")?.iter().map(Value::as_u64).collect();
        if names.len() != encodings.len() || names.len() != sizes.len() {
            return Err("names, encodings and sizes of columns differ in number".into());
        }
        Ok(Declared { names, encodings, sizes })
    }
}

/// The beginning of a shard.
pub(super) struct Header {
    pub(super) fields: Vec<Field>,
    /// Bytes of each column in a sample; `None` where the sample says it.
    pub(super) sizes: Vec<Option<u64>>,
    /// Where each sample begins, and after the last where it ends.
    pub(super) offsets: Vec<u32>,
}

impl Header {
    /// Reads the beginning of a shard.
    ///
    /// # Errors
    /// A file that is none, or not as long as it says.
    pub(super) fn read(file: FileBytes<'_>) -> Result<Header, Error> {
        let size = file.size()?;
        let bad =
            |what: String, offset: u64| file.error(TableFault::BadHeader { format: "mds", what }, offset);
        let end = file.path.extension().map(|end| end.to_string_lossy().to_lowercase());
        let codecs = [("br", "Brotli"), ("bz2", "bzip2"), ("snappy", "Snappy")];
        if let Some((_, by)) = codecs.iter().find(|(known, _)| end.as_deref() == Some(known)) {
            return Err(file.error(TableFault::CompressedShard { by }, 0));
        }
        let mut bytes = Vec::new();
        file.read_over(0..size.min(4), &mut bytes)?;
        let Some(n) = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else {
            return Err(bad(format!("{size} bytes"), 0));
        };
        let table = 4 + 4 * (u64::from(n) + 1);
        if size < table {
            return Err(file.error(TableFault::Truncated { found: size, expected: table }, size));
        }
        file.read_over(4..table, &mut bytes)?;
        let offsets: Vec<u32> = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let (first, last) = (u64::from(offsets[0]), u64::from(offsets[n as usize]));
        if first < table || !offsets.is_sorted() {
            return Err(bad("the offsets of samples do not ascend".into(), 4));
        }
        if last > size {
            return Err(file.error(TableFault::Truncated { found: size, expected: last }, size));
        }
        file.read_over(table..first, &mut bytes)?;
        let Declared { names, encodings, sizes } = Declared::read(&bytes).map_err(|what| bad(what, table))?;
        let kinds: Vec<FieldKind> = encodings.iter().map(|encoding| kind_of(encoding)).collect();
        for ((name, kind), size) in names.iter().zip(&kinds).zip(&sizes) {
            let expected = bytes_of(kind);
            if expected.is_some() && *size != expected {
                let what = format!("column `{name}` has {size:?} bytes, expected {expected:?}");
                return Err(bad(what, table));
            }
        }
        let fields = names.into_iter().zip(kinds).map(|(name, kind)| Field::new(name, kind)).collect();
        Ok(Header { fields, sizes, offsets })
    }
}

/// The bytes of a value of numbers; `None` of strings.
pub(super) fn bytes_of(kind: &FieldKind) -> Option<u64> {
    match kind {
        FieldKind::Flat(element, shape) if !element.is_string() => {
            Some((element.size() * shape.len()) as u64)
        }
        _ => None,
    }
}

/// The values that an encoding stands for.
fn kind_of(encoding: &str) -> FieldKind {
    let scalar = |element| FieldKind::Flat(element, Shape::new([]));
    match encoding {
        "int" => return scalar(Element::I64),
        "str" | "json" | "str_int" | "str_float" | "str_decimal" => return scalar(Element::Text),
        "bytes" | "jpeg" | "jpeg_array" | "png" | "pil" => return scalar(Element::Bytes),
        _ => {}
    }
    let element = |name: &str| Element::of_name(name).filter(|element| !element.is_string());
    if let Some(element) = element(encoding) {
        return scalar(element);
    }
    let array =
        encoding.strip_prefix("ndarray:").and_then(|rest| rest.split_once(':')).and_then(|(dtype, dims)| {
            let dims: Option<Vec<usize>> = dims.split(',').map(|dim| dim.trim().parse().ok()).collect();
            let dims = dims.filter(|dims| {
                dims.iter().try_fold(1_usize, |n, dim| n.checked_mul(*dim)).is_some_and(|n| n < 1 << 31)
            })?;
            Some(FieldKind::Flat(element(dtype)?, Shape::new(dims)))
        });
    array.unwrap_or_else(|| FieldKind::Other(format!("values in the encoding `{encoding}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_types_and_shapes() {
        let flat = |element, dims: &[usize]| FieldKind::Flat(element, Shape::new(dims));
        assert_eq!(kind_of("int"), flat(Element::I64, &[]));
        assert_eq!(kind_of("uint16"), flat(Element::U16, &[]));
        assert_eq!(kind_of("ndarray:float32:2,3"), flat(Element::F32, &[2, 3]));
        assert_eq!(kind_of("png"), flat(Element::Bytes, &[]));
        for other in
            ["ndarray", "ndarray:int8", "ndarray:int8:99999999999,99999999999", "pkl", "ndarray:str:2"]
        {
            assert_eq!(kind_of(other), FieldKind::Other(format!("values in the encoding `{other}`")));
        }
    }
}
