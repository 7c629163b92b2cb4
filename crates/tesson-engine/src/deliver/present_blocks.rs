//! The blocks that are in memory or on their way there. An absent block takes four bytes: of a list of images, each of which is
//! a block, millions are absent.

use super::residency::Block;
use crate::block::BlockId;

/// Blocks by their numbers.
pub(super) struct PresentBlocks {
    /// For each block its place in `present`, plus 1; 0 for one that is absent.
    places: Vec<u32>,
    present: Vec<Option<(BlockId, Block)>>,
    /// Empty places.
    free: Vec<u32>,
}

impl PresentBlocks {
    /// A number of blocks, all of them absent.
    pub(super) fn none_of(n: usize) -> PresentBlocks {
        PresentBlocks { places: vec![0; n], present: Vec::new(), free: Vec::new() }
    }

    /// The numbers of all blocks, absent or not.
    pub(super) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.places.len() as u32).map(BlockId)
    }

    fn place(&self, id: BlockId) -> Option<usize> {
        Some(self.places[id.index()].checked_sub(1)? as usize)
    }

    /// A block, unless it is absent.
    pub(super) fn get(&self, id: BlockId) -> Option<&Block> {
        self.present[self.place(id)?].as_ref().map(|(_, block)| block)
    }

    /// The block of this number, mutable, if it is present.
    pub(super) fn get_mut(&mut self, id: BlockId) -> Option<&mut Block> {
        let place = self.place(id)?;
        self.present[place].as_mut().map(|(_, block)| block)
    }

    /// Adds one more block, which is present.
    pub(super) fn push(&mut self, block: Block) {
        let id = BlockId(self.places.len() as u32);
        self.places.push(0);
        self.insert(id, block);
    }

    /// Makes an absent block present.
    pub(super) fn insert(&mut self, id: BlockId, block: Block) -> &mut Block {
        let place = self.free.pop().unwrap_or_else(|| {
            self.present.push(None);
            self.present.len() as u32 - 1
        });
        self.places[id.index()] = place + 1;
        &mut self.present[place as usize].insert((id, block)).1
    }

    /// Makes a block absent; returns it.
    pub(super) fn remove(&mut self, id: BlockId) -> Option<Block> {
        let place = self.place(id)?;
        self.places[id.index()] = 0;
        self.free.push(place as u32);
        self.present[place].take().map(|(_, block)| block)
    }

    /// All blocks that are present.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (BlockId, &mut Block)> {
        self.present.iter_mut().flatten().map(|(id, block)| (*id, block))
    }
}
