//! Members of a nested stream go together, element by element, so they have the same number of elements.

use std::ops::Range;

use super::super::column::Column;
use super::super::fault::{FeatureError, FeatureFault};
use super::super::schema::{Node, Schema};

/// The leaves below a nested stream, and how many levels down its elements are.
pub(super) struct Group {
    depth: usize,
    leaves: Vec<usize>,
}

/// Checks that the members of a nested stream have the same number of elements in each row; the error names the first
/// row that differs.
pub(super) fn check(
    schema: &Schema,
    groups: &[Group],
    columns: &[Column],
    rows: Range<usize>,
) -> Result<(), (usize, FeatureError)> {
    let mut first = Ok(());
    for Group { depth, leaves } in groups {
        let limit = first.as_ref().map_or_else(|(row, _): &(usize, _)| *row, |()| rows.end);
        for other in &leaves[1..] {
            let unequal = (rows.start..limit).find_map(|row| {
                let (a, b) = (&columns[leaves[0]], &columns[*other]);
                Some((row, unequal(a, b, *depth, row)?))
            });
            if let Some((row, (expected, found))) = unequal {
                let name = |leaf: usize| schema.columns[leaf].path.clone();
                let fault = FeatureFault::Elements { found, other: name(leaves[0]), expected };
                first = Err((row, FeatureError { path: Some(name(*other)), fault }));
                break;
            }
        }
    }
    first
}

/// The nested streams that have several leaves.
pub(super) fn groups(schema: &Schema) -> Vec<Group> {
    let mut groups = Vec::new();
    collect(&schema.root, 0, &mut groups);
    groups
}

fn collect(node: &Node, depth: usize, groups: &mut Vec<Group>) {
    match node {
        Node::Dict(members) => members.iter().for_each(|(_, node)| collect(node, depth, groups)),
        Node::Stream(of) => {
            let mut leaves = Vec::new();
            below(of, &mut leaves);
            if leaves.len() > 1 {
                groups.push(Group { depth: depth + 1, leaves });
            }
            collect(of, depth + 1, groups);
        }
        Node::Leaf(_) => {}
    }
}

fn below(node: &Node, leaves: &mut Vec<usize>) {
    match node {
        Node::Dict(members) => members.iter().for_each(|(_, node)| below(node, leaves)),
        Node::Stream(of) => below(of, leaves),
        Node::Leaf(leaf) => leaves.push(*leaf),
    }
}

/// The first two different numbers of parts in two columns, down to some level of a row.
fn unequal(a: &Column, b: &Column, depth: usize, row: usize) -> Option<(usize, usize)> {
    let (mut of_a, mut of_b) = (row..row + 1, row..row + 1);
    for (a, b) in a.levels[..depth].iter().zip(&b.levels[..depth]) {
        let differ = of_a.clone().zip(of_b.clone()).find_map(|(x, y)| {
            let (parts_a, parts_b) = (a.range(x).len(), b.range(y).len());
            (parts_a != parts_b).then_some((parts_a, parts_b))
        });
        if differ.is_some() {
            return differ;
        }
        of_a = a.start(of_a.start)..a.start(of_a.end);
        of_b = b.start(of_b.start)..b.start(of_b.end);
    }
    None
}
