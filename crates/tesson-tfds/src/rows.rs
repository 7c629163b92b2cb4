//! Records of a block as rows of a batch, and those that are none.

use std::sync::Arc;

use tesson_core::{DataErrorKind, Fetch};
use tesson_formats::example::Span;
use tesson_formats::record;

use crate::features::{Batch, Decoder, FeatureError, Limits, Schema};

/// The next part of a block.
pub enum Step<'a> {
    /// The records from number `at` of the block on are the rows of this batch.
    Rows {
        /// The first one's number.
        at: usize,
        /// The decoded records.
        batch: &'a Batch,
    },
    /// Record `at` cannot be read or decoded.
    Bad(Bad),
}

/// A record that cannot be read or decoded.
pub struct Bad {
    /// Its place in the block.
    pub at: usize,
    /// The offset of the record in the file.
    pub offset: u64,
    /// The fault.
    pub why: Why,
}

/// Why a record is left out.
pub enum Why {
    /// The file is damaged there.
    Record(DataErrorKind),
    /// The record is not an example of the schema.
    Example(FeatureError),
}

/// A decoder for one schema, with its own memory.
pub struct Reading {
    decoder: Decoder,
    batch: Batch,
}

impl Reading {
    /// A decoder that refuses values larger than the largest read.
    pub fn new(schema: &Arc<Schema>, fetch: &dyn Fetch) -> Reading {
        let most = Limits::default().value_bytes;
        let value_bytes = usize::try_from(fetch.largest()).map_or(most, |largest| largest.min(most));
        Reading {
            decoder: Decoder::new(Arc::clone(schema), Limits { value_bytes }),
            batch: Batch::new(schema),
        }
    }

    /// True if it decodes by this schema.
    pub fn is_of(&self, schema: &Arc<Schema>) -> bool {
        Arc::ptr_eq(self.decoder.schema(), schema)
    }

    /// Calls `each` for all records of a block, in their order.
    ///
    /// # Errors
    /// The errors of `each`.
    pub fn each<E>(
        &mut self,
        block: &record::Records,
        each: &mut dyn FnMut(Step<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = 0;
        while at < block.len() {
            if let Some(fault) = block.fault(at) {
                each(Step::Bad(Bad { at, offset: fault.offset, why: Why::Record(fault.clone().into()) }))?;
                at += 1;
                continue;
            }
            let sound = (at..block.len()).take_while(|&i| block.fault(i).is_none()).count();
            let failed = self.decode(block, at..at + sound);
            let rows = self.batch.rows();
            if rows > 0 {
                each(Step::Rows { at, batch: &self.batch })?;
                at += rows;
            }
            if let Some(error) = failed {
                each(Step::Bad(Bad { at, offset: block.offset(at), why: Why::Example(error) }))?;
                at += 1;
            }
        }
        Ok(())
    }

    /// One record as a batch of one row.
    ///
    /// # Errors
    /// Why it cannot be decoded.
    pub fn one(&mut self, block: &record::Records, at: usize) -> Result<&Batch, Why> {
        if let Some(fault) = block.fault(at) {
            return Err(Why::Record(fault.clone().into()));
        }
        match self.decode(block, at..at + 1) {
            Some(error) => Err(Why::Example(error)),
            None => Ok(&self.batch),
        }
    }

    /// Decodes records up to the first that cannot be; says why.
    fn decode(&mut self, block: &record::Records, records: std::ops::Range<usize>) -> Option<FeatureError> {
        let places = block.places()[records].iter();
        let spans = places.map(|p| Span { start: p.start as usize, len: p.size as usize });
        self.batch.clear();
        Some(*self.decoder.decode(block.bytes(), spans, &mut self.batch).err()?.error)
    }
}
