//! The compression of the parts of a chunk. Each compressed part begins with the size it decompresses to.

use std::fmt;

use tesson_core::varint;

use crate::codecs::Decoders;

/// Bytes that one compressed byte of zstd can stand for, at most: a block of 128 KiB takes three and the repeated one.
const ZSTD_RATIO: u64 = 1 << 15;

/// Bytes that one compressed byte of snappy can stand for, at most: a copy of 64 bytes takes two or more.
const SNAPPY_RATIO: u64 = 32;

/// Decompressors that keep their memory.
#[derive(Default)]
pub(crate) struct Decompressor {
    decoders: Decoders,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decompressor")
    }
}

impl Decompressor {
    /// Appends what `part` holds to `into`, which then has at most `limit` bytes. What is appended is all of it or an error.
    pub(super) fn part(
        &mut self,
        compression: u8,
        mut part: &[u8],
        limit: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), String> {
        if compression == 0 {
            return self.stored(part, limit, into);
        }
        let size = varint::take(&mut part).ok_or("a compressed part does not say its size")?;
        let room = limit.saturating_sub(into.len() as u64);
        if size > room {
            return Err(format!("a part says that it has {size} bytes, at most {room} can be read"));
        }
        let before = into.len();
        let likely = |ratio: u64| {
            let most = (part.len() as u64).saturating_mul(ratio).saturating_add(1 << 10);
            if size > most {
                return Err(format!("{} compressed bytes cannot hold {size}", part.len()));
            }
            Ok(before + size as usize)
        };
        match compression {
            b'z' => {
                into.resize(likely(ZSTD_RATIO)?, 0);
                let n = self.decoders.zstd(part, &mut into[before..])?;
                into.truncate(before + n);
            }
            b's' => {
                into.resize(likely(SNAPPY_RATIO)?, 0);
                let n = self.decoders.snappy(part, &mut into[before..])?;
                into.truncate(before + n);
            }
            b'b' => {
                // It has no such ratio; memory grows with what really comes.
                self.decoders.brotli(part, size + 1, into)?;
            }
            other => {
                let name = other.escape_ascii();
                return Err(format!(
                    "a chunk is compressed by `{name}`, zstd, brotli, snappy or nothing is expected"
                ));
            }
        }
        let found = into.len() - before;
        if found as u64 != size {
            return Err(format!("a part of {size} bytes decompresses to {found}"));
        }
        Ok(())
    }

    fn stored(&self, part: &[u8], limit: u64, into: &mut Vec<u8>) -> Result<(), String> {
        if (into.len() + part.len()) as u64 > limit {
            return Err(format!("a part has {} bytes, the limit of a block is {limit}", part.len()));
        }
        into.extend_from_slice(part);
        Ok(())
    }
}
