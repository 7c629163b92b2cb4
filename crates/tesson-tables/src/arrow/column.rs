//! Arrays to columns of streams.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, ByteArrayType, ByteViewType, Decimal128Type, Float16Type, Float32Type, Float64Type,
    GenericBinaryType, GenericStringType, StringViewType,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use tesson_core::{Data, Element, Offsets, StreamColumn, Strings, Values};

use super::leaf::Leaf;
use crate::nulls::{NullRule, put};
use crate::table::{Field, FieldKind};
use crate::values::no_values_in;

/// The values of a field in arrays that follow each other.
pub(crate) struct Collected {
    column: Collecting,
    n_rows: usize,
    /// Rows with a missing value that no other stands for.
    null_rows: BTreeSet<u32>,
    fill: Option<Values>,
    rule: NullRule,
}

enum Collecting {
    /// One sample of this many values in each row.
    Flat(Values, usize),
    /// Any number of samples of this many values.
    Ragged(Values, usize, Vec<u32>),
}

impl Collected {
    /// No rows yet of a field that can be a stream, in the memory of a column that is left.
    pub(crate) fn new_in(left: &mut Vec<Values>, field: &Field, rule: NullRule, rows: usize) -> Collected {
        let (column, element) = match &field.kind {
            FieldKind::Flat(element, shape) => {
                (Collecting::Flat(no_values_in(left, *element, rows * shape.len()), shape.len()), element)
            }
            FieldKind::Ragged(element, shape) => {
                (Collecting::Ragged(no_values_in(left, *element, 0), shape.len(), vec![0]), element)
            }
            FieldKind::Sparse { .. } | FieldKind::Other(_) => {
                unreachable!("no stream has a column of another type")
            }
        };
        let fill = if element.is_string() { None } else { rule.fill(*element) };
        Collected { column, n_rows: 0, null_rows: BTreeSet::new(), fill, rule }
    }

    /// Appends all rows of a top-level column.
    ///
    /// # Errors
    /// An array of another type than the schema declares.
    pub(crate) fn append(&mut self, root: &ArrayRef, leaf: &Leaf) -> Result<(), String> {
        let mut array = root.clone();
        let mut nulls: Option<NullBuffer> = None;
        for &child in &leaf.path {
            let of_struct = array.as_struct_opt().ok_or_else(|| wrong(&array))?;
            nulls = NullBuffer::union(nulls.as_ref(), of_struct.nulls());
            array = of_struct.columns().get(child).cloned().ok_or("a column has fewer children")?;
        }
        let n = array.len();
        let mut positions = Vec::new();
        let first = self.n_rows;
        match &mut self.column {
            Collecting::Flat(values, per_row) => {
                let before = values.len();
                append_values(&array, values, &mut positions)?;
                let per_row = *per_row;
                if values.len() != before + n * per_row {
                    return Err(format!(
                        "{} values in {n} rows, expected {per_row} each",
                        values.len() - before
                    ));
                }
                add_rows(nulls.as_ref(), n, |row| {
                    positions.extend(before + row * per_row..before + (row + 1) * per_row);
                });
                match &self.fill {
                    Some(fill) => put(values, &positions, fill),
                    None => self
                        .null_rows
                        .extend(positions.iter().map(|at| (first + (at - before) / per_row.max(1)) as u32)),
                }
            }
            Collecting::Ragged(values, per_sample, ends) => {
                let missing = NullBuffer::union(nulls.as_ref(), array.nulls());
                if !matches!(self.rule, NullRule::Fill(_)) {
                    add_rows(missing.as_ref(), n, |row| {
                        self.null_rows.insert((first + row) as u32);
                    });
                }
                let mut lists = Lists { values, per_sample: *per_sample, ends, positions: &mut positions };
                let null_value_rows = match array.data_type() {
                    DataType::List(_) => lists.append::<i32>(&array, missing.as_ref())?,
                    DataType::LargeList(_) => lists.append::<i64>(&array, missing.as_ref())?,
                    _ => return Err(wrong(&array)),
                };
                match &self.fill {
                    Some(fill) => put(values, &positions, fill),
                    None => self.null_rows.extend(null_value_rows.iter().map(|row| (first + row) as u32)),
                }
            }
        }
        self.n_rows += n;
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.n_rows
    }

    /// The column, and the rows that lack a value.
    pub(crate) fn finish(self) -> (StreamColumn, BTreeSet<u32>) {
        let column = match self.column {
            Collecting::Flat(values, _) => {
                StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } }
            }
            Collecting::Ragged(values, _, ends) => {
                StreamColumn { samples: Offsets::At(ends), data: Data::Dense { values } }
            }
        };
        (column, self.null_rows)
    }
}

fn wrong(array: &dyn Array) -> String {
    format!("found a column of type {}, which is not that of the schema", array.data_type())
}

/// Calls `add` for each row that is missing.
fn add_rows(nulls: Option<&NullBuffer>, n: usize, mut add: impl FnMut(usize)) {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return };
    (0..n).filter(|&row| nulls.is_null(row)).for_each(&mut add);
}

/// Samples of lists.
struct Lists<'a> {
    values: &'a mut Values,
    per_sample: usize,
    ends: &'a mut Vec<u32>,
    positions: &'a mut Vec<usize>,
}

impl Lists<'_> {
    /// Appends lists, of which the missing ones are empty, and returns the rows with missing values.
    fn append<O: OffsetSizeTrait>(
        &mut self,
        array: &ArrayRef,
        missing: Option<&NullBuffer>,
    ) -> Result<Vec<usize>, String> {
        let lists = array.as_list_opt::<O>().ok_or_else(|| wrong(array))?;
        let (offsets, n) = (lists.value_offsets(), lists.len());
        let first_row = self.ends.len() - 1;
        let start = |row: usize| offsets[row].as_usize();
        let before = self.values.len();
        // A missing list may have values, which do not count.
        let is_missing = |row: usize| missing.is_some_and(|nulls| nulls.is_null(row));
        let mut row = 0;
        while row < n {
            let from = row;
            let counts = !is_missing(row);
            while row < n && is_missing(row) != counts {
                row += 1;
            }
            let base = self.ends[self.ends.len() - 1];
            if counts {
                let part = lists.values().slice(start(from), start(row) - start(from));
                append_values(&part, self.values, self.positions)?;
            }
            let end = |row: usize| if counts { start(row) - start(from) } else { 0 };
            for row in from + 1..=row {
                let end = u32::try_from(end(row)).ok().and_then(|end| base.checked_add(end));
                self.ends.push(end.ok_or("the lists have more than 2^32 values")?);
            }
        }
        let samples = self.ends[self.ends.len() - 1] as usize;
        if samples * self.per_sample != self.values.len() {
            return Err(format!("{} values in {samples} samples of {}", self.values.len(), self.per_sample));
        }
        let row_of = |at: &usize| {
            let sample = at / self.per_sample.max(1);
            self.ends.partition_point(|&end| end as usize <= sample) - 1 - first_row
        };
        debug_assert!(self.positions.iter().all(|at| *at >= before));
        Ok(self.positions.iter().map(row_of).collect())
    }
}

/// Appends the values of an array, and the positions of those that are missing.
fn append_values(array: &dyn Array, into: &mut Values, missing: &mut Vec<usize>) -> Result<(), String> {
    let first = into.len();
    match array.data_type() {
        DataType::Boolean => {
            let Values::Bytes(bytes) = into else { return Err(wrong(array)) };
            bytes.extend(array.as_boolean().values().iter().map(u8::from));
        }
        DataType::FixedSizeList(_, n) => {
            let (lists, n) = (array.as_fixed_size_list(), *n as usize);
            let inner = lists.values().slice(0, lists.len() * n);
            append_values(&inner, into, missing)?;
            let per_list = (into.len() - first).checked_div(lists.len()).unwrap_or(0);
            add_rows(lists.nulls(), lists.len(), |i| {
                missing.extend(first + i * per_list..first + (i + 1) * per_list);
            });
            return Ok(());
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = arrow_select::take::take(dictionary.values(), dictionary.keys(), None);
            return append_values(&values.map_err(|e| e.to_string())?, into, missing);
        }
        DataType::Decimal128(..) => {
            let Values::Bits64(bits) = into else { return Err(wrong(array)) };
            bits.extend(array.as_primitive::<Decimal128Type>().values().iter().map(|&n| n as i64 as u64));
        }
        _ => match into {
            Values::Strings(strings) => append_strings(array, strings)?,
            numbers => append_primitive(array, numbers)?,
        },
    }
    add_rows(array.nulls(), array.len(), |i| missing.push(first + i));
    Ok(())
}

/// Appends values of fixed width, whose bits are kept.
fn append_primitive(array: &dyn Array, into: &mut Values) -> Result<(), String> {
    fn native<T: arrow_array::ArrowPrimitiveType>(array: &dyn Array) -> Option<&PrimitiveArray<T>> {
        array.as_any().downcast_ref()
    }
    let element = super::leaf::element(array.data_type()).ok_or_else(|| wrong(array))?;
    match (element, into) {
        (Element::F32, Values::F32(to)) => {
            to.extend_from_slice(native::<Float32Type>(array).ok_or_else(|| wrong(array))?.values());
        }
        (Element::F64, Values::F64(to)) => {
            to.extend_from_slice(native::<Float64Type>(array).ok_or_else(|| wrong(array))?.values());
        }
        (Element::F16, Values::Bits16(to)) => {
            let values = native::<Float16Type>(array).ok_or_else(|| wrong(array))?.values();
            to.extend(values.iter().map(|x| x.to_bits()));
        }
        (_, into) => {
            // Whole numbers and times: the same bytes, whatever they mean.
            let data = array.to_data();
            let (buffer, size) = (&data.buffers()[0], element.size());
            let start = data.offset() * size;
            let bytes = buffer.as_slice().get(start..start + data.len() * size);
            let bytes = bytes.ok_or("a column has fewer values than rows")?;
            if !into.fit(element) {
                return Err(wrong(array));
            }
            crate::values::append_bytes(into, bytes, crate::values::ByteOrder::Little);
        }
    }
    Ok(())
}

/// Appends texts or byte strings; missing ones are empty.
fn append_strings(array: &dyn Array, into: &mut Strings) -> Result<(), String> {
    fn of_offsets<T: ByteArrayType>(array: &dyn Array, into: &mut Strings)
    where
        T::Native: AsRef<[u8]>,
    {
        let array = array.as_bytes::<T>();
        (0..array.len()).for_each(|i| into.push(array.value(i).as_ref()));
    }
    fn of_views<T: ByteViewType>(array: &dyn Array, into: &mut Strings)
    where
        T::Native: AsRef<[u8]>,
    {
        let array = array.as_byte_view::<T>();
        (0..array.len()).for_each(|i| into.push(array.value(i).as_ref()));
    }
    match array.data_type() {
        DataType::Utf8 => of_offsets::<GenericStringType<i32>>(array, into),
        DataType::LargeUtf8 => of_offsets::<GenericStringType<i64>>(array, into),
        DataType::Binary => of_offsets::<GenericBinaryType<i32>>(array, into),
        DataType::LargeBinary => of_offsets::<GenericBinaryType<i64>>(array, into),
        DataType::Utf8View => of_views::<StringViewType>(array, into),
        DataType::BinaryView => of_views::<BinaryViewType>(array, into),
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            (0..array.len()).for_each(|i| into.push(array.value(i)));
        }
        _ => return Err(wrong(array)),
    }
    Ok(())
}
