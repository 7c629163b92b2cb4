//! Memory of a worker that is lent to Arrow's crates, which take buffers over.

use std::sync::Arc;

use bytes::Bytes;

/// Bytes that are kept for what is read next, at most.
const KEPT: usize = 16 << 20;

/// Memory on loan from a pool: it goes back when the last user lets go of it.
pub(crate) struct Lent(Arc<Vec<u8>>);

/// A user of lent memory.
struct Borrower(Arc<Vec<u8>>);

impl AsRef<[u8]> for Borrower {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Lent {
    /// Lends memory.
    pub(crate) fn new(memory: Vec<u8>) -> (Lent, Bytes) {
        let lent = Lent(Arc::new(memory));
        let bytes = Bytes::from_owner(Borrower(Arc::clone(&lent.0)));
        (lent, bytes)
    }

    /// Gives the memory back to where it came from, unless it is too large to be kept.
    pub(crate) fn take_back(self, into: &mut Vec<u8>) {
        if let Ok(memory) = Arc::try_unwrap(self.0)
            && memory.capacity() <= KEPT
        {
            *into = memory;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_comes_back_when_nobody_uses_it() {
        let (lent, bytes) = Lent::new(vec![1, 2, 3]);
        assert_eq!(bytes[..], [1, 2, 3]);
        drop(bytes);
        let mut memory = Vec::new();
        lent.take_back(&mut memory);
        assert_eq!(memory, [1, 2, 3]);
        let (lent, bytes) = Lent::new(memory);
        let mut memory = Vec::new();
        lent.take_back(&mut memory);
        assert!(memory.is_empty() && bytes.len() == 3);
    }
}
