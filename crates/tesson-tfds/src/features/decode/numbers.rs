//! Numbers in lists: cast to the feature's type, all rows at once.

use super::super::cast;
use super::super::column::{Column, Data};

pub(super) fn ints(values: &[i64], column: &mut Column) {
    if let Data::Fixed { bytes, .. } = &mut column.data {
        cast::ints(column.dtype, values, bytes);
    }
}

pub(super) fn floats(values: &[f32], column: &mut Column) {
    if let Data::Fixed { bytes, .. } = &mut column.data {
        cast::floats(column.dtype, values, bytes);
    }
}
