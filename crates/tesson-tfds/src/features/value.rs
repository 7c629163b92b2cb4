//! One example of a batch, as the tree that people see: arrays, ragged arrays, dicts and nested streams
//! (spec/tfds.md §6.5).

use std::ops::Range;

use super::column::{Batch, Column, Data, Shapes};
use super::dtype::DType;
use super::schema::{Node, Plan, Schema};

/// A part of an example.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Named parts.
    Dict(Vec<(&'a str, Value<'a>)>),
    /// An array, or a scalar: an array without dimensions.
    Array(Array<'a>),
    /// An array with rows of different lengths.
    Ragged(Ragged<'a>),
    /// A nested stream of examples.
    Stream(Stream<'a>),
}

impl<'a> Value<'a> {
    /// The value of a node of the schema in a row.
    pub(super) fn of(batch: &'a Batch, schema: &'a Schema, node: &'a Node, row: usize) -> Value<'a> {
        value(batch, schema, node, 0, &Place { row, steps: Vec::new() })
    }
}

/// An array, its values in row-major order.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    /// The type of the values.
    pub dtype: DType,
    /// The shape.
    pub shape: Vec<usize>,
    /// The values.
    pub values: Slice<'a>,
    /// True if an optional feature is absent and these values replace it.
    pub missing: bool,
}

/// Adjacent values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Slice<'a> {
    /// Values of a fixed size, little-endian.
    Fixed(&'a [u8]),
    /// Byte strings.
    Strings {
        /// The strings of the column, one after the other.
        bytes: &'a [u8],
        /// The beginning of the first one.
        start: usize,
        /// The end of each.
        ends: &'a [usize],
    },
}

impl<'a> Slice<'a> {
    /// The byte strings, or nothing where the values have a fixed size.
    pub fn strings(self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, mut start, ends): (&[u8], _, &[usize]) = match self {
            Slice::Fixed(_) => (&[], 0, &[]),
            Slice::Strings { bytes, start, ends } => (bytes, start, ends),
        };
        ends.iter().map(move |end| &bytes[std::mem::replace(&mut start, *end)..*end])
    }
}

/// An array with rows of different lengths.
#[derive(Clone, Debug)]
pub struct Ragged<'a> {
    /// For each level, outermost first, the lengths of its rows.
    pub row_lengths: Vec<Vec<usize>>,
    /// The innermost values.
    pub values: Array<'a>,
}

/// A nested stream.
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    batch: &'a Batch,
    schema: &'a Schema,
    node: &'a Node,
    /// The number of levels above its elements.
    depth: usize,
    /// The thing that has the elements as parts, by its number among those of the level above. All columns below the
    /// node agree on their number where the record is in order.
    of: Place,
}

/// One thing of some level: a row, or a part of one. Columns number parts each for themselves, so a place is remembered as
/// the way there.
#[derive(Clone, Debug)]
struct Place {
    row: usize,
    steps: Vec<usize>,
}

impl Place {
    /// The number of the thing among those of its level in a column, if the column has one there.
    fn number(&self, column: &Column) -> Option<usize> {
        let step = |thing: usize, (level, step): (&super::Splits, &usize)| {
            let parts = level.range(thing);
            (*step < parts.len()).then(|| parts.start + step)
        };
        column.levels.iter().zip(&self.steps).try_fold(self.row, step)
    }
}

fn value<'a>(batch: &'a Batch, schema: &'a Schema, node: &'a Node, depth: usize, at: &Place) -> Value<'a> {
    match node {
        Node::Dict(members) => {
            let member =
                |(name, node): &'a (String, Node)| (name.as_str(), value(batch, schema, node, depth, at));
            Value::Dict(members.iter().map(member).collect())
        }
        Node::Stream(node) => Value::Stream(Stream { batch, schema, node, depth: depth + 1, of: at.clone() }),
        Node::Leaf(number) => leaf(&schema.columns[*number], &batch.columns[*number], depth, at),
    }
}

impl<'a> Stream<'a> {
    /// Number of elements: those of its longest column.
    pub fn len(&self) -> usize {
        self.lengths(self.node)
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lengths(&self, node: &Node) -> usize {
        match node {
            Node::Dict(members) => members.iter().map(|(_, node)| self.lengths(node)).max().unwrap_or(0),
            Node::Stream(node) => self.lengths(node),
            Node::Leaf(number) => {
                let column = &self.batch.columns[*number];
                self.of.number(column).map_or(0, |thing| column.levels[self.depth - 1].range(thing).len())
            }
        }
    }

    /// An element.
    pub fn get(&self, i: usize) -> Value<'a> {
        let mut at = self.of.clone();
        at.steps.push(i);
        value(self.batch, self.schema, self.node, self.depth, &at)
    }

    /// The elements, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// The values of a column below one thing.
fn leaf<'a>(plan: &'a Plan, column: &'a Column, depth: usize, at: &Place) -> Value<'a> {
    let missing = column.missing.as_ref().is_some_and(|m| m.binary_search(&at.row).is_ok());
    let levels = &column.levels[depth..];
    // A column that is shorter than others of its stream has nothing there.
    let things = at.number(column).map_or(0..0, |thing| thing..thing + 1);
    let items = levels.iter().fold(things.clone(), |t, level| level.start(t.start)..level.start(t.end));
    let cells = Cells { plan, column, items: items.clone(), missing };
    let Some((outermost, inner)) = levels.split_first() else { return cells.array(&[]) };
    let outer = outermost.start(things.start)..outermost.start(things.end);
    let fixed: Option<Vec<usize>> = plan.levels[depth + 1..].iter().copied().collect();
    match fixed {
        Some(fixed) => cells.array(&[&[outer.len()], &fixed[..]].concat()),
        None => {
            let mut row_lengths = Vec::with_capacity(inner.len());
            let mut parts = outer;
            for level in inner {
                row_lengths.push(parts.clone().map(|part| level.range(part).len()).collect());
                parts = level.start(parts.start)..level.start(parts.end);
            }
            cells.ragged(row_lengths)
        }
    }
}

/// Adjacent items of a column.
struct Cells<'a> {
    plan: &'a Plan,
    column: &'a Column,
    items: Range<usize>,
    missing: bool,
}

impl<'a> Cells<'a> {
    /// As an array: the shape around the items, and theirs. Where that differs from item to item (tensors that store it), as a
    /// ragged one.
    fn array(self, around: &[usize]) -> Value<'a> {
        match self.shape() {
            Some(own) => Value::Array(self.values([around, &own].concat())),
            None => self.uneven(Vec::new()),
        }
    }

    fn ragged(self, row_lengths: Vec<Vec<usize>>) -> Value<'a> {
        match self.shape() {
            Some(own) => {
                let shape = [&[self.items.len()], &own[..]].concat();
                Value::Ragged(Ragged { row_lengths, values: self.values(shape) })
            }
            None => self.uneven(row_lengths),
        }
    }

    /// The one shape of all the items; without items the unknown dimensions are 0.
    fn shape(&self) -> Option<Vec<usize>> {
        match &self.column.shapes {
            Shapes::Same(shape) => Some(shape.clone()),
            Shapes::Each { rank, dims, .. } => {
                let mut shapes = (self.items.clone()).map(|i| &dims[i * rank..][..*rank]);
                let Some(first) = shapes.next() else {
                    return Some(self.plan.leaf.shape.iter().map(|d| d.unwrap_or(0)).collect());
                };
                shapes.all(|shape| shape == first).then(|| first.to_vec())
            }
        }
    }

    /// Items of different shapes: their own dimensions become row lengths.
    fn uneven(self, mut row_lengths: Vec<Vec<usize>>) -> Value<'a> {
        let Shapes::Each { rank, dims, .. } = &self.column.shapes else { return self.array(&[]) };
        let shapes: Vec<&[usize]> = self.items.clone().map(|i| &dims[i * rank..][..*rank]).collect();
        for depth in 0..*rank {
            let repeated = |shape: &&[usize]| {
                let rows: usize = shape[..depth].iter().product();
                std::iter::repeat_n(shape[depth], rows)
            };
            row_lengths.push(shapes.iter().flat_map(repeated).collect());
        }
        let values = self.column.values(self.items.clone()).len();
        Value::Ragged(Ragged { row_lengths, values: self.values(vec![values]) })
    }

    fn values(&self, shape: Vec<usize>) -> Array<'a> {
        let range = self.column.values(self.items.clone());
        let values = match &self.column.data {
            Data::Fixed { size, bytes } => Slice::Fixed(&bytes[range.start * size..range.end * size]),
            Data::Strings { bytes, ends } => {
                let start = if range.start == 0 { 0 } else { ends[range.start - 1] };
                Slice::Strings { bytes, start, ends: &ends[range] }
            }
        };
        Array { dtype: self.column.dtype, shape, values, missing: self.missing }
    }
}
