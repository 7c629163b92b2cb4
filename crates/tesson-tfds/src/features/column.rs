//! Decoded examples as columns: for each feature the values of all rows, flat, and where rows, parts and items end.

use std::ops::Range;

use super::dtype::DType;
use super::schema::{Node, Plan, Schema};
use super::value::Value;

/// The division of a list of parts among things: thing `i` has the parts `range(i)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Splits {
    /// Each thing has this number of parts.
    Every(usize),
    /// The bounds of the things, ascending from 0; one more than there are things.
    At(Vec<usize>),
}

impl Splits {
    pub(super) fn new(length: Option<usize>) -> Splits {
        length.map_or_else(|| Splits::At(vec![0]), Splits::Every)
    }

    /// The first part of thing `i`; for the number of things, the number of parts.
    pub fn start(&self, i: usize) -> usize {
        match self {
            Splits::Every(n) => i * n,
            Splits::At(v) => v[i],
        }
    }

    /// The parts of thing `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.start(i)..self.start(i + 1)
    }

    /// Adds a thing with `parts` parts.
    pub(super) fn push(&mut self, parts: usize) {
        if let Splits::At(v) = self {
            v.push(v[v.len() - 1] + parts);
        }
    }

    fn truncate(&mut self, things: usize) {
        if let Splits::At(v) = self {
            v.truncate(things + 1);
        }
    }

    /// Adds these things of another one of the same form, and says which parts they have.
    fn append(&mut self, other: &Splits, things: Range<usize>) -> Range<usize> {
        let parts = other.start(things.start)..other.start(things.end);
        if let (Splits::At(to), Splits::At(from)) = (self, other) {
            let last = to[to.len() - 1];
            to.extend(from[things.start + 1..=things.end].iter().map(|end| end - parts.start + last));
        }
        parts
    }

    fn bytes(&self) -> usize {
        match self {
            Splits::Every(_) => 0,
            Splits::At(v) => v.capacity() * size_of::<usize>(),
        }
    }
}

/// The shapes of a column's items. An item is one value of the feature: a scalar, an image, a box.
#[derive(Clone, Debug, PartialEq)]
pub enum Shapes {
    /// All have this one.
    Same(Vec<usize>),
    /// Item `i` has the shape `dims[i * rank..][..rank]` and the values `values.range(i)`.
    Each {
        /// Number of dimensions.
        rank: usize,
        /// The shapes, one after the other.
        dims: Vec<usize>,
        /// The values of each item.
        values: Splits,
    },
}

/// Values, flat.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Values of a fixed size, little-endian.
    Fixed {
        /// Bytes of a value.
        size: usize,
        /// The values.
        bytes: Vec<u8>,
    },
    /// Byte strings: value `i` is `bytes[ends[i - 1]..ends[i]]`.
    Strings {
        /// The strings, one after the other.
        bytes: Vec<u8>,
        /// The end of each.
        ends: Vec<usize>,
    },
}

impl Data {
    fn new(dtype: DType) -> Data {
        match dtype.size() {
            Some(size) => Data::Fixed { size, bytes: Vec::new() },
            None => Data::Strings { bytes: Vec::new(), ends: Vec::new() },
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Data::Fixed { size, bytes } => bytes.len() / size,
            Data::Strings { ends, .. } => ends.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds these values of another one of the same form.
    fn append(&mut self, other: &Data, values: Range<usize>) {
        match (self, other) {
            (Data::Fixed { bytes: to, .. }, Data::Fixed { size, bytes: from }) => {
                to.extend_from_slice(&from[values.start * size..values.end * size]);
            }
            (Data::Strings { bytes: to, ends: to_ends }, Data::Strings { bytes: from, ends }) => {
                let end = |value: usize| if value == 0 { 0 } else { ends[value - 1] };
                let (start, last) = (end(values.start), to.len());
                to.extend_from_slice(&from[start..end(values.end)]);
                to_ends.extend(ends[values].iter().map(|end| end - start + last));
            }
            _ => debug_assert!(false, "columns of one schema have one form"),
        }
    }

    fn truncate(&mut self, values: usize) {
        match self {
            Data::Fixed { size, bytes } => bytes.truncate(values * *size),
            Data::Strings { bytes, ends } => {
                ends.truncate(values);
                bytes.truncate(ends.last().copied().unwrap_or(0));
            }
        }
    }
}

/// One feature of a batch of examples.
///
/// Rows have parts, parts have parts, one level for each sequence around the feature; the parts of the last level are
/// items, and items have values. Without sequences a row is an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The type of the values.
    pub dtype: DType,
    /// Level by level, outermost first.
    pub levels: Vec<Splits>,
    /// The shapes of the items.
    pub shapes: Shapes,
    /// The values.
    pub data: Data,
    /// The rows without the optional feature, ascending; they hold replacement values. `None` if the feature is not
    /// optional.
    pub missing: Option<Vec<usize>>,
    pub(super) rows: usize,
}

impl Column {
    pub(super) fn new(plan: &Plan) -> Column {
        let leaf = &plan.leaf;
        let known: Option<Vec<usize>> = leaf.shape.iter().copied().collect();
        let each = || Shapes::Each { rank: leaf.shape.len(), dims: Vec::new(), values: Splits::new(None) };
        Column {
            dtype: leaf.dtype,
            levels: plan.levels.iter().map(|length| Splits::new(*length)).collect(),
            shapes: known.map_or_else(each, Shapes::Same),
            data: Data::new(leaf.dtype),
            missing: leaf.optional.then(Vec::new),
            rows: 0,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of items in the first `rows` rows.
    pub(crate) fn items(&self, rows: usize) -> usize {
        self.levels.iter().fold(rows, |things, level| level.start(things))
    }

    /// The values of these items.
    pub(crate) fn values(&self, items: Range<usize>) -> Range<usize> {
        match &self.shapes {
            Shapes::Same(shape) => {
                let each = shape.iter().product::<usize>();
                items.start * each..items.end * each
            }
            Shapes::Each { values, .. } => values.start(items.start)..values.start(items.end),
        }
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        let items = self.items(rows);
        let values = self.values(0..items).end;
        let mut things = rows;
        for level in &mut self.levels {
            let parts = level.start(things);
            level.truncate(things);
            things = parts;
        }
        if let Shapes::Each { rank, dims, values } = &mut self.shapes {
            dims.truncate(items * *rank);
            values.truncate(items);
        }
        self.data.truncate(values);
        if let Some(missing) = &mut self.missing {
            missing.truncate(missing.partition_point(|row| *row < rows));
        }
        self.rows = rows;
    }

    /// Adds these rows of another column of the same feature.
    fn append(&mut self, other: &Column, rows: Range<usize>) {
        if let (Some(to), Some(from)) = (&mut self.missing, &other.missing) {
            let within =
                from.partition_point(|row| *row < rows.start)..from.partition_point(|row| *row < rows.end);
            to.extend(from[within].iter().map(|row| row - rows.start + self.rows));
        }
        self.rows += rows.len();
        let levels = self.levels.iter_mut().zip(&other.levels);
        let items = levels.fold(rows, |things, (to, from)| to.append(from, things));
        let values = other.values(items.clone());
        let shapes = (&mut self.shapes, &other.shapes);
        if let (Shapes::Each { dims: to, values: to_values, .. }, Shapes::Each { rank, dims, values }) =
            shapes
        {
            to.extend_from_slice(&dims[items.start * rank..items.end * rank]);
            to_values.append(values, items);
        }
        self.data.append(&other.data, values);
    }

    /// Adds a row of one item, made of something else. `append` appends its values, little-endian.
    pub fn push_item(&mut self, shape: &[usize], append: impl FnOnce(&mut Vec<u8>)) {
        if let Shapes::Each { dims, values, .. } = &mut self.shapes {
            dims.extend_from_slice(shape);
            values.push(shape.iter().product());
        }
        if let Data::Fixed { bytes, .. } = &mut self.data {
            append(bytes);
        }
        self.rows += 1;
    }

    /// Adds a row without the feature: the smallest value everywhere, in a shape with open dimensions of 0.
    pub fn push_absent(&mut self, shape: &[Option<usize>]) {
        let shape: Vec<usize> = shape.iter().map(|dim| dim.unwrap_or(0)).collect();
        let values = self.dtype.smallest().repeat(shape.iter().product());
        if let Some(missing) = &mut self.missing {
            missing.push(self.rows);
        }
        self.push_item(&shape, |bytes| bytes.extend(values));
    }

    /// Bytes of the values themselves.
    fn value_bytes(&self) -> usize {
        match &self.data {
            Data::Fixed { bytes, .. } => bytes.len(),
            Data::Strings { bytes, ends } => bytes.len() + ends.len() * size_of::<usize>(),
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let shapes = match &self.shapes {
            Shapes::Same(_) => 0,
            Shapes::Each { dims, values, .. } => dims.capacity() * size_of::<usize>() + values.bytes(),
        };
        let data = match &self.data {
            Data::Fixed { bytes, .. } => bytes.capacity(),
            Data::Strings { bytes, ends } => bytes.capacity() + ends.capacity() * size_of::<usize>(),
        };
        let missing = self.missing.as_ref().map_or(0, |m| m.capacity() * size_of::<usize>());
        self.levels.iter().map(Splits::bytes).sum::<usize>() + shapes + data + missing
    }

    /// The shape of a row, and where its values are. `None` for ragged features and nested streams, and if the row's items
    /// differ in shape.
    pub fn row(&self, plan: &Plan, row: usize) -> Option<(Vec<usize>, Range<usize>)> {
        let dims = self.dims(plan, &plan.inner_lengths()?, row)?;
        Some((dims, self.values(self.items(row)..self.items(row + 1))))
    }

    /// The dimensions of a row, `inner` those of the sequences inside of the outermost one; `None` if its items differ in
    /// shape.
    pub(super) fn dims(&self, plan: &Plan, inner: &[usize], row: usize) -> Option<Vec<usize>> {
        let mut dims: Vec<usize> =
            self.levels.first().map(|level| level.range(row).len()).into_iter().collect();
        dims.extend(inner);
        match &self.shapes {
            Shapes::Same(shape) => dims.extend(shape),
            Shapes::Each { rank, dims: all, .. } => {
                let mut shapes = (self.items(row)..self.items(row + 1)).map(|i| &all[i * rank..][..*rank]);
                match shapes.next() {
                    Some(first) if shapes.all(|shape| shape == first) => dims.extend(first),
                    Some(_) => return None,
                    None => dims.extend(plan.leaf.shape.iter().map(|d| d.unwrap_or(0))),
                }
            }
        }
        Some(dims)
    }
}

/// Decoded examples: one column for each feature that is read, all of the same number of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The columns, in the order of the schema.
    pub columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Batch {
    /// Empty columns for a schema.
    pub fn new(schema: &Schema) -> Batch {
        Batch { columns: schema.columns.iter().map(Column::new).collect(), rows: 0 }
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds these examples of another batch of the same schema.
    pub fn append(&mut self, other: &Batch, rows: Range<usize>) {
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.append(from, rows.clone()));
        self.rows += rows.len();
    }

    /// Adds these examples of another batch to all columns for which `is_made` is false. The others have had their
    /// rows pushed already and lose those that are too many.
    pub fn append_columns(&mut self, other: &Batch, rows: Range<usize>, is_made: impl Fn(usize) -> bool) {
        self.rows += rows.len();
        for (i, (to, from)) in self.columns.iter_mut().zip(&other.columns).enumerate() {
            if is_made(i) {
                to.truncate(self.rows);
            } else {
                to.append(from, rows.clone());
            }
        }
    }

    /// Bytes of the values themselves.
    pub fn value_bytes(&self) -> usize {
        self.columns.iter().map(Column::value_bytes).sum()
    }

    /// Forgets examples from the end.
    pub fn truncate(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|c| c.truncate(rows));
        self.rows = rows;
    }

    /// Forgets all examples and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// An example of the batch.
    pub fn value<'a>(&'a self, schema: &'a Schema, row: usize) -> Value<'a> {
        self.part(schema, &schema.root, row)
    }

    /// A part of an example: the value of a node of the schema in a row.
    pub fn part<'a>(&'a self, schema: &'a Schema, node: &'a Node, row: usize) -> Value<'a> {
        Value::of(self, schema, node, row)
    }
}
