//! Items of one sequence become one array, so they need one shape (spec/tfds.md §6.3).

use std::ops::Range;

use super::super::column::{Column, Shapes};
use super::super::fault::FeatureFault;
use super::super::schema::Plan;
use super::super::tree::Coding;
use super::Fill;

/// Checks that the items of these rows can be stacked. Elements of nested streams are independent, and tensors that
/// store their shapes are delivered as ragged if they differ.
pub(super) fn check(plan: &Plan, column: &Column, rows: Range<usize>) -> Fill<()> {
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
