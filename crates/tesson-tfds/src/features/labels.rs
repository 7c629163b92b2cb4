//! Class labels that are out of range. Reading hands them out as TFDS does; writing refuses them and `check` reports them.

use super::column::{Batch, Data};
use super::fault::{FeatureError, FeatureFault};
use super::schema::Schema;
use super::tree::Coding;

/// The valid labels of each feature with classes as values: −1 ("no label") and those below the number of classes.
pub struct LabelRanges(Vec<Range>);

struct Range {
    column: usize,
    path: String,
    classes: u64,
}

impl LabelRanges {
    /// The ranges of a schema; `classes` returns the number of classes by path, if it is known.
    pub fn new(schema: &Schema, classes: impl Fn(&str) -> Option<u64>) -> LabelRanges {
        let is_label = |plan: &super::Plan| plan.leaf.classes.is_some() && plan.leaf.coding == Coding::Plain;
        let columns = schema.columns.iter().enumerate().filter(|(_, plan)| is_label(plan));
        let range = |(column, plan): (usize, &super::Plan)| {
            Some(Range { column, path: plan.path.clone(), classes: classes(&plan.path)? })
        };
        LabelRanges(columns.filter_map(range).collect())
    }

    /// The range of one feature, for a schema that has only this one.
    #[must_use]
    pub fn of(&self, path: &str, schema: &Schema) -> LabelRanges {
        let classes = |_: &str| self.0.iter().find(|range| range.path == path).map(|range| range.classes);
        LabelRanges::new(schema, classes)
    }

    /// Every label of a row that is out of range, the first one of each feature.
    pub fn check(&self, batch: &Batch, row: usize) -> impl Iterator<Item = FeatureError> {
        self.0.iter().filter_map(move |range| {
            let column = &batch.columns[range.column];
            if column.missing.as_ref().is_some_and(|missing| missing.binary_search(&row).is_ok()) {
                return None;
            }
            let Data::Fixed { bytes, .. } = &column.data else { return None };
            let values = column.values(column.items(row)..column.items(row + 1));
            let labels = bytes.as_chunks::<8>().0[values].iter().map(|bytes| i64::from_le_bytes(*bytes));
            let found = labels.into_iter().find(|label| !is_valid(*label, range.classes))?;
            let fault = FeatureFault::Label { found, classes: range.classes };
            Some(FeatureError { path: Some(range.path.clone()), fault })
        })
    }
}

fn is_valid(label: i64, classes: u64) -> bool {
    label == -1 || u64::try_from(label).is_ok_and(|label| label < classes)
}
