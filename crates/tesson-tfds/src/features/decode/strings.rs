//! Byte strings that are handed out as they are.

use tesson_formats::example::Span;

use super::super::column::{Column, Data};

pub(super) fn copy(spans: &[Span], block: &[u8], column: &mut Column) {
    if let Data::Strings { bytes, ends } = &mut column.data {
        for span in spans {
            bytes.extend_from_slice(&block[span.range()]);
            ends.push(bytes.len());
        }
    }
}
