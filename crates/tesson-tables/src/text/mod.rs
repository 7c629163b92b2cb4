//! Tables that are text: rows in blocks of lines, and columns that are built value by value.
//!
//! | file | subject |
//! |---|---|
//! | `blocks` | the lines of a file in blocks of about equal size |
//! | `builder` | the columns of rows that are parsed |
//! | `types` | the types of columns from the first rows |

mod blocks;
mod builder;
mod types;

pub(crate) use blocks::{
    Block, LineKind, MOST_ROW_BYTES, block_bytes, each_row, index_lines, lines, long_row,
    refuse_other_encodings, restore_blocks, save_blocks, units,
};
pub(crate) use builder::{ColumnBuilder, Scalar, SparseBuilder, parse_scalar};
pub(crate) use types::Guess;

/// The beginning of a text, for messages.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST: usize = 60;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
    let cut = if text.len() > MOST { "…" } else { "" };
    format!("{}{cut}", lossy.escape_debug())
}

/// Bytes of a file that types are guessed from, at most.
pub(crate) const SAMPLE_BYTES: u64 = 1 << 20;
