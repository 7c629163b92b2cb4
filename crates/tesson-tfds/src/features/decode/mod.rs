//! Decoding records into columns of values (spec/tfds.md §6.2–6.4).
//!
//! Records are decoded in bulk. The parser turns them into lists; then each column in turn is filled for all records
//! at once, in two steps: `layout.rs` derives from the lengths of the lists how many parts and items each row has;
//! then values are cast or copied, or decoded by `encoded.rs` if each byte string is an item: arrays, images, sound
//! (`wave.rs`).
//!
//! For the next editor: a record that cannot be decoded must leave nothing in any column, and its error must not depend
//! on the records decoded with it.

mod encoded;
mod layout;
mod streams;
mod wave;

use std::ops::Range;
use std::sync::Arc;

use tesson_formats::example::{Columns, List, Parser, Span};

use super::cast;
use super::column::{Batch, Column, Data, Shapes};
use super::fault::{FeatureError, FeatureFault};
use super::schema::{Plan, Schema};
use super::tree::Coding;
use layout::{Layout, Stored};

/// The first record of several that cannot be decoded. Those before it are in the batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// Its place among the records.
    pub record: usize,
    /// The error; boxed, since it is rare.
    pub error: Box<FeatureError>,
}

/// Decodes records by a schema. One for each thread.
pub struct Decoder {
    schema: Arc<Schema>,
    parser: Parser,
    lists: Columns,
    /// Columns of equally many elements.
    groups: Vec<streams::Group>,
    limits: Limits,
}

/// Sizes beyond which nothing is decoded, whatever a record declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one decoded value: an image, an array.
    pub value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { value_bytes: 1 << 30 }
    }
}

impl Decoder {
    /// A decoder for a schema.
    pub fn new(schema: Arc<Schema>, limits: Limits) -> Decoder {
        let parser = Parser::new(schema.wanted.clone());
        let lists = parser.columns();
        let groups = streams::groups(&schema);
        Decoder { schema, parser, lists, groups, limits }
    }

    /// The schema by which it decodes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Appends the examples of these records, which are places in `block`, to a batch.
    ///
    /// # Errors
    /// The first record that is no example of this schema; the batch has the examples of the records before it.
    pub fn decode<R>(&mut self, block: &[u8], records: R, batch: &mut Batch) -> Result<(), Failed>
    where
        R: IntoIterator<Item = Span, IntoIter: Clone>,
    {
        self.lists.clear();
        let parsed = self.parser.parse_all(block, records, &mut self.lists);
        let mut failed = parsed.err().map(|(record, error)| {
            let error = FeatureError { path: None, fault: FeatureFault::Example { error } };
            Failed { record, error: Box::new(error) }
        });
        let before = batch.rows;
        for (plan, column) in self.schema.columns.iter().zip(&mut batch.columns) {
            // Records after an earlier column's failure are not decoded: their errors must not come first.
            let records = failed.as_ref().map_or(self.lists.rows(), |f| f.record);
            let lists = Lists { schema: &self.schema, lists: &self.lists, block, records };
            if let Err((record, fault)) = fill(plan, &lists, self.limits, column) {
                let error = FeatureError { path: Some(plan.path.clone()), fault };
                failed = Some(Failed { record, error: Box::new(error) });
            }
        }
        let records = failed.as_ref().map_or(self.lists.rows(), |f| f.record);
        batch.rows = before + records;
        if failed.is_some() {
            batch.truncate(batch.rows);
        }
        if let Err((row, error)) =
            streams::check(&self.schema, &self.groups, &batch.columns, before..before + records)
        {
            batch.truncate(row);
            failed = Some(Failed { record: row - before, error: Box::new(error) });
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The parsed lists of the records that are being decoded.
struct Lists<'a> {
    schema: &'a Schema,
    lists: &'a Columns,
    block: &'a [u8],
    /// The number of records, from the first on, that are decoded.
    records: usize,
}

/// Appends stored values, numbers in the type of the column.
fn copy(values: &List, range: Range<usize>, block: &[u8], column: &mut Column) {
    match (values, &mut column.data) {
        (List::Ints(values), Data::Fixed { bytes, .. }) => cast::ints(column.dtype, &values[range], bytes),
        (List::Floats(values), Data::Fixed { bytes, .. }) => {
            cast::floats(column.dtype, &values[range], bytes)
        }
        (List::Bytes(spans), Data::Strings { bytes, ends }) => {
            for span in &spans[range] {
                bytes.extend_from_slice(&block[span.range()]);
                ends.push(bytes.len());
            }
        }
        _ => {}
    }
}

/// A result with the number of a faulty record and its fault.
type Fill<T> = Result<T, (usize, FeatureFault)>;

/// Appends the rows of one column. After an error the column may have rows too many, which the caller takes away.
fn fill(plan: &Plan, lists: &Lists<'_>, limits: Limits, column: &mut Column) -> Fill<()> {
    let before = column.rows;
    let filled = fill_rows(plan, lists, limits, column);
    // Items of the rows before an error are compared, too: alone, the first of these records would have that fault.
    let good = filled.as_ref().err().map_or(lists.records, |(row, _)| *row);
    check_stacked(plan, column, before..before + good).map_err(|(row, fault)| (row - before, fault))?;
    filled
}

fn fill_rows(plan: &Plan, lists: &Lists<'_>, limits: Limits, column: &mut Column) -> Fill<()> {
    let before = column.rows;
    let mut layout = Layout::new(plan, lists, column);
    let stored = &lists.lists.of[plan.keys.values];
    let run = |rows: &Stored| stored.row(rows.first).start..stored.row(rows.last()).end;
    let mut next = 0;
    while next < lists.records {
        // Rows before one with a faulty layout are filled all the same: their values may hold an earlier fault.
        let rows = layout.rows(next, column);
        if rows.count > 0 {
            match (&stored.values, plan.leaf.coding) {
                (List::Bytes(_), coding) if coding != Coding::Plain => {
                    encoded::items(plan, lists, limits, &rows, column)?;
                }
                (values, _) => copy(values, run(&rows), lists.block, column),
            }
        }
        next = rows.first + rows.count;
        column.rows = before + next;
        match rows.then {
            layout::Then::End => {}
            layout::Then::Missing => {
                layout.fill_missing(column);
                next += 1;
                column.rows = before + next;
            }
            layout::Then::Wrong(fault) => return Err((next, fault)),
        }
    }
    Ok(())
}

/// Checks that the items of these rows can be stacked: those of one sequence become one array, so they need one shape
/// (spec/tfds.md §6.3). Elements of nested streams are independent, and tensors that
/// store their shapes are delivered as ragged if they differ.
fn check_stacked(plan: &Plan, column: &Column, rows: Range<usize>) -> Fill<()> {
    let Shapes::Each { rank, dims, .. } = &column.shapes else { return Ok(()) };
    let stacked = plan.streams < plan.levels.len() && plan.leaf.coding != Coding::Plain;
    if !stacked || plan.keys.shape.is_some() || *rank == 0 {
        return Ok(());
    }
    for row in rows {
        let elements = below(column, 0..plan.streams, row..row + 1);
        for element in elements {
            let items = below(column, plan.streams..plan.levels.len(), element..element + 1);
            let mut shapes = dims[items.start * rank..items.end * rank].chunks_exact(*rank);
            let Some(first) = shapes.next() else { continue };
            if let Some(found) = shapes.find(|shape| *shape != first) {
                let (first, found) = (first.to_vec(), found.to_vec());
                return Err((row, FeatureFault::Unequal { first, found }));
            }
        }
    }
    Ok(())
}

/// The parts of things, some levels further down.
fn below(column: &Column, levels: Range<usize>, things: Range<usize>) -> Range<usize> {
    column.levels[levels]
        .iter()
        .fold(things, |things, level| level.start(things.start)..level.start(things.end))
}
