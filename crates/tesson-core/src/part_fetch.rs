//! The resources of a part, out of those of the whole.

use std::ops::Range;

use crate::{Error, Fetch, ResourceId};

/// Some of the resources of another [`Fetch`], counted from 0 again.
pub struct PartFetch<'a> {
    /// All resources.
    pub fetch: &'a dyn Fetch,
    /// Number of the part's first resource.
    pub first: u32,
}

impl PartFetch<'_> {
    fn id(&self, resource: ResourceId) -> ResourceId {
        ResourceId(self.first + resource.0)
    }
}

impl Fetch for PartFetch<'_> {
    fn size(&self, resource: ResourceId) -> u64 {
        self.fetch.size(self.id(resource))
    }

    fn read(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.fetch.read(self.id(resource), range, into)
    }

    fn read_behind(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        from: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.fetch.read_behind(self.id(resource), range, from, into)
    }

    fn largest(&self) -> u64 {
        self.fetch.largest()
    }

    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]> {
        self.fetch.mapped(self.id(resource), range)
    }

    fn will_need(&self, resource: ResourceId, range: Range<u64>) {
        self.fetch.will_need(self.id(resource), range);
    }

    fn progress(&self, bytes: u64) {
        self.fetch.progress(bytes);
    }

    fn cancelled(&self) -> bool {
        self.fetch.cancelled()
    }
}
