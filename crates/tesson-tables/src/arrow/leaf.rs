//! Fields of a schema, those within structs as `a.b`.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, TimeUnit};
use serde_json::Value;
use tesson_core::{Element, Shape};

use crate::table::{Field, FieldKind};

/// The place of a field in the columns of a record batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The number of the top-level column.
    pub(crate) root: usize,
    /// The numbers of the children, from one struct to the next.
    pub(crate) path: Vec<usize>,
}

/// Structs within each other that have fields of their own, at most.
const DEEPEST: usize = 16;

/// The fields of a schema and their places.
pub(crate) fn leaves(schema: &Schema) -> (Vec<Field>, Vec<Leaf>) {
    let (mut fields, mut leaves) = (Vec::new(), Vec::new());
    for (root, field) in schema.fields().iter().enumerate() {
        let leaf = Leaf { root, path: Vec::new() };
        push(field.name().clone(), field.data_type(), leaf, &mut fields, &mut leaves);
    }
    // The library `datasets` describes its features there.
    let described = schema.metadata().get("huggingface").and_then(|text| serde_json::from_str(text).ok());
    if let Some(described) = described {
        fields.iter_mut().for_each(|field| field.classes = classes(&described, &field.name));
    }
    (fields, leaves)
}

/// The names of the classes that a field's numbers stand for, in the description of the library `datasets`.
fn classes(described: &Value, field: &str) -> Arc<[String]> {
    let mut feature = &described["info"]["features"];
    let features = feature.as_object();
    // A name with dots, or the fields of structs.
    match features.and_then(|features| features.get(field)) {
        Some(found) => feature = found,
        None => field.split('.').for_each(|name| feature = &feature[name]),
    }
    while feature["_type"] != "ClassLabel" && feature["feature"].is_object() {
        feature = &feature["feature"];
    }
    let names = feature["names"].as_array().filter(|_| feature["_type"] == "ClassLabel");
    let names = names.into_iter().flatten().map(|name| name.as_str().unwrap_or_default().to_owned());
    names.collect()
}

fn push(name: String, data_type: &DataType, leaf: Leaf, fields: &mut Vec<Field>, leaves: &mut Vec<Leaf>) {
    match data_type {
        DataType::Struct(children) if leaf.path.len() < DEEPEST && !children.is_empty() => {
            for (number, child) in children.iter().enumerate() {
                let path = [&leaf.path[..], &[number]].concat();
                let name = format!("{name}.{}", child.name());
                push(name, child.data_type(), Leaf { root: leaf.root, path }, fields, leaves);
            }
        }
        _ => {
            fields.push(Field { unit: unit(data_type).map(Arc::from), ..Field::new(name, kind(data_type)) });
            leaves.push(leaf);
        }
    }
}

/// The values of a type in each row.
fn kind(data_type: &DataType) -> FieldKind {
    if let Some((element, shape)) = flat(data_type) {
        return FieldKind::Flat(element, Shape::new(shape));
    }
    match data_type {
        DataType::List(inner) | DataType::LargeList(inner) => match flat(inner.data_type()) {
            Some((element, shape)) => FieldKind::Ragged(element, Shape::new(shape)),
            None => FieldKind::Other(format!("lists of {}", inner.data_type())),
        },
        other => FieldKind::Other(other.to_string()),
    }
}

/// The type and shape of values whose number is the same in every row.
fn flat(data_type: &DataType) -> Option<(Element, Vec<usize>)> {
    match data_type {
        DataType::FixedSizeList(inner, n) => {
            let (element, shape) = flat(inner.data_type())?;
            let n = usize::try_from(*n).ok()?;
            Some((element, [&[n], &shape[..]].concat()))
        }
        DataType::Dictionary(_, values) => {
            let (element, shape) = flat(values)?;
            shape.is_empty().then_some((element, shape))
        }
        other => Some((element(other)?, Vec::new())),
    }
}

/// The unit that the whole numbers of a type of times or decimals count, in Arrow's words.
fn unit(data_type: &DataType) -> Option<String> {
    let word = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    Some(match data_type {
        DataType::Date32 => "date[day]".into(),
        DataType::Date64 => "date[ms]".into(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("time[{}]", word(unit)),
        DataType::Duration(unit) => format!("duration[{}]", word(unit)),
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", word(unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, {zone}]", word(unit)),
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale) => format!("decimal({digits}, {scale})"),
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            return unit(inner.data_type());
        }
        DataType::Dictionary(_, values) => return unit(values),
        _ => return None,
    })
}

/// Digits of the largest decimal number whose digits are a 64-bit one.
const DECIMAL_DIGITS: u8 = 18;

/// The type of single values. Times are whole numbers of their unit, decimals of their last digit.
pub(super) fn element(data_type: &DataType) -> Option<Element> {
    Some(match data_type {
        DataType::Boolean => Element::Bool,
        DataType::Int8 => Element::I8,
        DataType::Int16 => Element::I16,
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Decimal32(..) => Element::I32,
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Decimal64(..) => Element::I64,
        DataType::Decimal128(digits, _) if *digits <= DECIMAL_DIGITS => Element::I64,
        DataType::UInt8 => Element::U8,
        DataType::UInt16 => Element::U16,
        DataType::UInt32 => Element::U32,
        DataType::UInt64 => Element::U64,
        DataType::Float16 => Element::F16,
        DataType::Float32 => Element::F32,
        DataType::Float64 => Element::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Element::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Element::Bytes
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field as ArrowField;

    use super::*;

    #[test]
    fn times_and_decimals_have_their_unit() {
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let list = DataType::List(Arc::new(ArrowField::new("item", zoned.clone(), true)));
        let cases = [
            (zoned, Some("timestamp[us, UTC]")),
            (list, Some("timestamp[us, UTC]")),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), Some("timestamp[ns]")),
            (DataType::Date32, Some("date[day]")),
            (DataType::Time32(TimeUnit::Millisecond), Some("time[ms]")),
            (DataType::Duration(TimeUnit::Second), Some("duration[s]")),
            (DataType::Decimal128(10, 2), Some("decimal(10, 2)")),
            (DataType::Int64, None),
        ];
        for (data_type, expected) in cases {
            assert_eq!(unit(&data_type).as_deref(), expected, "{data_type}");
        }
    }

    #[test]
    fn classes_have_the_names_that_datasets_describes() {
        let described = serde_json::json!({"info": {"features": {
            "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
            "objects": {"kind": {"feature": {"names": ["a"], "_type": "ClassLabel"}, "_type": "Sequence"}},
            "x": {"dtype": "int64", "_type": "Value"},
        }}});
        assert_eq!(*classes(&described, "label"), ["cat".to_owned(), "dog".to_owned()]);
        assert_eq!(*classes(&described, "objects.kind"), ["a".to_owned()]);
        assert_eq!((classes(&described, "x").len(), classes(&described, "y.z").len()), (0, 0));
    }

    #[test]
    fn structs_become_fields_with_dots_and_types_keep_their_width() {
        let field = |name: &str, data_type| ArrowField::new(name, data_type, true);
        let item = |data_type| Arc::new(field("item", data_type));
        let matrix = DataType::FixedSizeList(item(DataType::FixedSizeList(item(DataType::Float16), 3)), 2);
        let schema = Schema::new(vec![
            field("id", DataType::UInt64),
            field("box", DataType::Struct(vec![field("x", DataType::Float32), field("m", matrix)].into())),
            field("tokens", DataType::LargeList(item(DataType::UInt16))),
            field("price", DataType::Decimal128(18, 2)),
            field("wide", DataType::Decimal128(19, 2)),
            field("name", DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8View))),
            field("deep", DataType::List(item(DataType::List(item(DataType::Int8))))),
        ]);
        let (fields, leaves) = leaves(&schema);
        let found: Vec<String> = fields.iter().map(|f| format!("{} {}", f.name, f.kind.name())).collect();
        let expected = [
            "id uint64",
            "box.x float32",
            "box.m float16 [2x3]",
            "tokens lists of uint16",
            "price int64",
            "wide Decimal128(19, 2)",
            "name str",
            "deep lists of List(Int8)",
        ];
        assert_eq!(found, expected);
        assert_eq!(leaves[2], Leaf { root: 1, path: vec![1] });
    }
}
