//! ArrayRecord: a Riegeli/records file with an index at its end (spec/tfds.md §3).
//!
//! | file | subject |
//! |---|---|
//! | `block` | the block headers that interrupt chunks every 64 KiB |
//! | `chunk` | a chunk: its header, its hashes, the records in it |
//! | `compression` | what chunks are compressed by |
//! | `index` | postscript and footer: where the chunks are |
//! | `file` | reading runs and single records of a file |
//! | `write` | the way back |

mod block;
mod chunk;
mod compression;
mod file;
mod index;
pub mod write;

#[cfg(test)]
mod tests;

pub(crate) use chunk::ChunkScratch;
pub use file::ArrayRecordFile;

/// The first bytes of every file: a block header, and a chunk that only says what the file is.
pub const SIGNATURE: [u8; 64] = [
    0x83, 0xAF, 0x70, 0xD1, 0x0D, 0x88, 0x4A, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x91,
    0xBA, 0xC2, 0x3C, 0x92, 0x87, 0xE1, 0xA9, 0, 0, 0, 0, 0, 0, 0, 0, 0xE1, 0x9F, 0x13, 0xC0, 0xE9, 0xB1,
    0xC3, 0x72, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];
