//! The header: type, order and shape.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{Element, Error, Shape};

use super::literal::{Literal, parse};
use crate::fault::TableFault;
use crate::table::FileBytes;
use crate::values::ByteOrder;

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The most bytes of a header, which is NumPy's default limit.
const LONGEST: u64 = 1 << 20;

/// Bytes that hold nearly all headers.
const USUAL: u64 = 256;

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The values of an item: those of all its members, one after the other.
    pub(crate) members: Vec<Member>,
    /// Bytes of an item.
    pub(crate) item_bytes: u64,
    /// True if the members have names: the items are records.
    pub(crate) is_record: bool,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
    /// The first byte of the values.
    pub(crate) data: u64,
}

/// Values of one type in an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The name, of a record's.
    pub(crate) name: String,
    /// Where they begin in the item.
    pub(crate) offset: u64,
    pub(crate) form: Form,
    /// The unit that times count.
    pub(crate) unit: Option<Arc<str>>,
    /// The shape within the item; empty for one value.
    pub(crate) shape: Vec<u64>,
}

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Number(Element, ByteOrder),
    /// A type that cannot be read, as NumPy writes it.
    Other(String),
}

impl Header {
    /// Reads the header of a file.
    pub(crate) fn read(file: FileBytes<'_>) -> Result<Header, Error> {
        let bad = |what: String| file.error(TableFault::BadHeader { format: "npy", what }, 0);
        let size = file.size()?;
        let mut bytes = Vec::new();
        file.read_over(0..size.min(12), &mut bytes)?;
        let (start, length) = header_extent(&bytes).map_err(bad)?;
        if length > LONGEST {
            return Err(bad(format!("it declares {length} bytes, expected at most {LONGEST}")));
        }
        let end = start + length;
        if end > size {
            return Err(file.error(TableFault::Truncated { found: size, expected: end }, size));
        }
        file.read_over(start..end, &mut bytes)?;
        Header::parse(&bytes, end).map_err(bad)
    }

    /// Reads the header of an array in memory, whose values have to follow it.
    pub(crate) fn of_array(bytes: &[u8]) -> Result<Header, String> {
        Header::of_beginning(bytes, bytes.len() as u64)
    }

    /// Reads the header of an array that lies within a file, and none of its values.
    ///
    /// # Errors
    /// Unreadable storage; within, why these bytes are no array.
    pub(crate) fn within(
        file: FileBytes<'_>,
        place: Range<u64>,
        buffer: &mut Vec<u8>,
    ) -> Result<Result<Header, String>, Error> {
        let size = place.end - place.start;
        file.read_over(place.start..place.start + size.min(USUAL), buffer)?;
        let extent = header_extent(&buffer[..buffer.len().min(12)]);
        let end = extent.map_or(0, |(start, length)| start + length).min(size);
        if end > buffer.len() as u64 && end <= LONGEST {
            file.read_over(place.start..place.start + end, buffer)?;
        }
        Ok(Header::of_beginning(buffer, size))
    }

    /// Reads the header of an array of `size` bytes from the first ones.
    fn of_beginning(bytes: &[u8], size: u64) -> Result<Header, String> {
        let (start, length) = header_extent(&bytes[..bytes.len().min(12)])?;
        let end = start.saturating_add(length);
        let text = usize::try_from(end).ok().and_then(|end| bytes.get(start as usize..end));
        let header = Header::parse(text.ok_or("the header is cut off")?, end)?;
        match header.file_bytes() {
            expected if expected == size => Ok(header),
            expected => Err(format!("an array of {size} bytes where its header declares {expected}")),
        }
    }

    /// Parses a header; `data` is the first byte after it.
    pub(crate) fn parse(bytes: &[u8], data: u64) -> Result<Header, String> {
        // Version 3 has UTF-8, the others Latin-1.
        let text = String::from_utf8(bytes.to_vec());
        let text = text.unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect());
        let Literal::Dict(entries) = parse(&text)? else {
            return Err("it is no dictionary".into());
        };
        let entry = |name: &str| {
            let found = entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
            found.ok_or_else(|| format!("it has no `{name}`"))
        };
        let Literal::Bool(fortran_order) = *entry("fortran_order")? else {
            return Err("`fortran_order` is neither True nor False".into());
        };
        let shape = numbers(entry("shape")?).ok_or("`shape` is no tuple of numbers")?;
        let (members, item_bytes, is_record) = members(entry("descr")?)?;
        let header = Header { members, item_bytes, is_record, fortran_order, shape, data };
        header.checked_size().ok_or("the array has more than 2^63 bytes")?;
        Ok(header)
    }

    /// Bytes of the file, if they are fewer than 2^63.
    fn checked_size(&self) -> Option<u64> {
        let items = self.shape.iter().try_fold(1_u64, |n, dim| n.checked_mul(*dim))?;
        // Dimensions beside a 0 are multiplied as well: rows have sizes of their own.
        let rows = self.shape.iter().filter(|dim| **dim > 0).try_fold(1_u64, |n, dim| n.checked_mul(*dim))?;
        rows.checked_mul(self.item_bytes.max(1)).filter(|bytes| *bytes < 1 << 62)?;
        items.checked_mul(self.item_bytes)?.checked_add(self.data)
    }

    /// Bytes that the file has.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.checked_size().expect("checked when it was read")
    }

    /// Number of rows: the first dimension; `None` for an array without dimensions.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.shape.first().copied()
    }

    /// The dimensions of a row.
    pub(crate) fn row_shape(&self) -> &[u64] {
        self.shape.get(1..).unwrap_or_default()
    }

    /// Number of items in a row.
    pub(crate) fn row_items(&self) -> u64 {
        self.row_shape().iter().product()
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.row_items() * self.item_bytes
    }

    /// The shape of an array of these dimensions, as texts have it.
    pub(crate) fn shape_text(&self) -> String {
        self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
    }
}

impl Member {
    /// The shape of the values in a row of items of this shape.
    pub(crate) fn shape_in(&self, row: &[u64]) -> Shape {
        let dims = row.iter().chain(&self.shape).map(|&dim| dim as usize);
        Shape::new(dims.collect::<Vec<_>>())
    }

    /// Bytes of the values in one item.
    pub(crate) fn bytes(&self) -> u64 {
        let values: u64 = self.shape.iter().product();
        match &self.form {
            Form::Number(element, _) => values * element.size() as u64,
            Form::Other(_) => 0,
        }
    }
}

/// Where the header's text begins and how long it is, from the first bytes of a file.
fn header_extent(bytes: &[u8]) -> Result<(u64, u64), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("the file does not begin with `\\x93NUMPY`")?;
    match *rest {
        [1, _, a, b, ..] => Ok((10, u16::from_le_bytes([a, b]).into())),
        [2 | 3, _, a, b, c, d, ..] => Ok((12, u32::from_le_bytes([a, b, c, d]).into())),
        [version, _, ..] if version > 3 => {
            Err(format!("it has version {version}, expected 1, 2 or 3; save it with `numpy.save`"))
        }
        _ => Err("the file ends within it".into()),
    }
}

fn numbers(literal: &Literal) -> Option<Vec<u64>> {
    let Literal::Items(items) = literal else { return None };
    let number = |item: &Literal| if let Literal::Whole(n) = item { Some(*n) } else { None };
    items.iter().map(number).collect()
}

/// The members of an item, its size in bytes, and true if it is a record.
fn members(descr: &Literal) -> Result<(Vec<Member>, u64, bool), String> {
    match descr {
        Literal::Text(text) => {
            let (form, bytes) = form(text)?;
            let unit = time_unit(text);
            let member = Member { name: String::new(), offset: 0, form, unit, shape: Vec::new() };
            Ok((vec![member], bytes, false))
        }
        Literal::Items(items) => {
            let (mut members, mut offset) = (Vec::new(), 0_u64);
            for item in items {
                let member = member(item, offset)?;
                offset = member.1;
                // What has no name are the bytes between members.
                members.extend(member.0);
            }
            Ok((members, offset, true))
        }
        _ => Err("`descr` is neither a type nor a list of members".into()),
    }
}

/// A member of a record that begins at a byte, unless it is nameless, and the byte after it.
fn member(item: &Literal, offset: u64) -> Result<(Option<Member>, u64), String> {
    let wrong = || "a member of `descr` is no name with a type".to_owned();
    let Literal::Items(parts) = item else { return Err(wrong()) };
    let (name, descr, shape) = match parts.as_slice() {
        [name, descr] => (name, descr, Vec::new()),
        [name, descr, shape] => {
            let one = if let Literal::Whole(n) = shape { Some(vec![*n]) } else { None };
            (name, descr, one.or_else(|| numbers(shape)).ok_or_else(wrong)?)
        }
        _ => return Err(wrong()),
    };
    let name = match name {
        Literal::Text(name) => name,
        // A title and a name.
        Literal::Items(both) => match both.as_slice() {
            [_, Literal::Text(name)] => name,
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    let ((form, bytes), unit) = match descr {
        Literal::Text(text) => (form(text)?, time_unit(text)),
        nested => ((Form::Other("record".into()), members(nested)?.1), None),
    };
    let values = shape.iter().try_fold(1_u64, |n, dim| n.checked_mul(*dim));
    let end = values.and_then(|n| n.checked_mul(bytes)?.checked_add(offset));
    let end = end.filter(|end| *end < 1 << 62).ok_or("a record has more than 2^62 bytes")?;
    let member = Member { name: name.clone(), offset, form, unit, shape };
    Ok(((!name.is_empty()).then_some(member), end))
}

/// A value's form and its bytes, from a type such as `<f4`.
fn form(descr: &str) -> Result<(Form, u64), String> {
    let wrong = || format!("`descr` is `{}`, expected a type such as `<f4`", descr.escape_debug());
    let mut letters = descr.chars();
    let order = match letters.next().ok_or_else(wrong)? {
        '<' | '|' | '=' => ByteOrder::Little,
        '>' => ByteOrder::Big,
        _ => return Err(wrong()),
    };
    let kind = letters.next().ok_or_else(wrong)?;
    let rest = letters.as_str();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let size: u64 = if digits == 0 { 8 } else { rest[..digits].parse().map_err(|_| wrong())? };
    let element = match (kind, size) {
        ('b', 1) => Element::Bool,
        ('i', 1) => Element::I8,
        ('i', 2) => Element::I16,
        ('i', 4) => Element::I32,
        ('i', 8) => Element::I64,
        ('u', 1) => Element::U8,
        ('u', 2) => Element::U16,
        ('u', 4) => Element::U32,
        ('u', 8) => Element::U64,
        ('f', 2) => Element::F16,
        ('f', 4) => Element::F32,
        ('f', 8) => Element::F64,
        // Times are whole numbers of a unit.
        ('M' | 'm', 8) => Element::I64,
        _ => {
            let bytes = if kind == 'U' { size.checked_mul(4) } else { Some(size) };
            let bytes = bytes.filter(|bytes| *bytes < 1 << 31).ok_or_else(wrong)?;
            return Ok((Form::Other(descr.to_owned()), bytes));
        }
    };
    Ok((Form::Number(element, order), size))
}

/// The unit of times, such as `timestamp[us]` of `<M8[us]`, in the words of other tables.
fn time_unit(descr: &str) -> Option<Arc<str>> {
    let (kind, rest) = descr.get(1..)?.split_at_checked(1)?;
    let unit = rest.strip_prefix("8[")?.strip_suffix(']')?;
    let text = match (kind, unit) {
        ("M", "D") => "date[day]".into(),
        ("M", unit) => format!("timestamp[{unit}]"),
        ("m", "D") => "duration[day]".into(),
        ("m", unit) => format!("duration[{unit}]"),
        _ => return None,
    };
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(descr: &str, shape: &str) -> Result<Header, String> {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        Header::parse(text.as_bytes(), 128)
    }

    #[test]
    fn types_and_shapes_give_the_bytes_of_rows() {
        let header = parsed("'<f4'", "(10, 28, 28)").expect("it is one");
        let facts = (header.rows(), header.row_bytes(), header.file_bytes(), header.shape_text());
        assert_eq!(facts, (Some(10), 3136, 128 + 31360, "10x28x28".into()));
        let form = Form::Number(Element::F32, ByteOrder::Little);
        assert_eq!(header.members[0].form, form);
        let header = parsed("'>i8'", "()").expect("it is one");
        assert_eq!((header.rows(), header.file_bytes()), (None, 136));
    }

    #[test]
    fn times_have_a_unit() {
        let units = ["<M8[us]", ">m8[5s]", "<M8[D]", "<i8", "<M8", "", "<M8[", "é8[s]"].map(time_unit);
        let found = units.each_ref().map(Option::as_deref);
        let expected =
            [Some("timestamp[us]"), Some("duration[5s]"), Some("date[day]"), None, None, None, None, None];
        assert_eq!(found, expected);
    }

    #[test]
    fn records_have_members_at_offsets() {
        let header = parsed("[('x', '<f4', (3,)), ('', '|V4'), (('the label', 'y'), '|u1')]", "(7,)");
        let header = header.expect("it is one");
        let found: Vec<_> = header.members.iter().map(|m| (&*m.name, m.offset, m.bytes())).collect();
        assert_eq!((found, header.row_bytes()), (vec![("x", 0, 12), ("y", 16, 1)], 17));
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let large = parsed("'<f8'", "(4294967296, 4294967296)");
        assert_eq!(large, Err("the array has more than 2^63 bytes".into()));
        let beside_nothing = parsed("'<f8'", "(0, 4294967296, 4294967296)");
        assert_eq!(beside_nothing, Err("the array has more than 2^63 bytes".into()));
        let text = parsed("'<U9999999999'", "(1,)").expect_err("it is too long");
        assert_eq!(text, "`descr` is `<U9999999999`, expected a type such as `<f4`");
    }
}
