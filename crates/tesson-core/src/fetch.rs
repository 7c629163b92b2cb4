//! Bytes, supplied by the engine.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// One of a deserializer's resources: the files of [`DeserializerFacts`](crate::DeserializerFacts), then those that are
/// [named](crate::NamedResources) in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// No resource at all.
    pub const NONE: ResourceId = ResourceId(u32::MAX);
}

/// Bytes that may be read beyond the largest sequence.
pub const LOOKAHEAD: u64 = 64 << 10;

/// The bytes of a deserializer's resources. Methods that follow from these are provided on `dyn Fetch`, so that a
/// wrapper cannot get them wrong.
pub trait Fetch: Sync {
    /// Size of the resource in bytes.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) where a resource is opened only now and cannot be.
    fn size(&self, resource: ResourceId) -> Result<u64, Error>;

    /// True if the resource lies within another file, as a member of an archive does.
    ///
    /// # Errors
    /// The errors of [`Fetch::size`].
    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error>;

    /// Reads the bytes `range` into `into`, after its first `keep` bytes and over the bytes that follow these, so
    /// that repeated reads need not clear memory that is overwritten anyway. Ranges beyond the size are an error,
    /// never a short read; `into` then holds any bytes after its first `keep`.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) when the bytes cannot be read; [`Error::Cancelled`] when the result is no
    /// longer needed.
    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error>;

    /// Appends all bytes of a resource to `into`. The engine closes a listed resource again as soon as it is read.
    ///
    /// # Errors
    /// The errors of [`Fetch::read_after`]; `into` then holds any bytes after its earlier contents.
    fn read_whole(&self, resource: ResourceId, into: &mut Vec<u8>) -> Result<(), Error> {
        self.read_after(resource, 0..self.size(resource)?, into.len(), into)
    }

    /// The bytes `range` in place, if the store has them mapped; otherwise `None`, and they have to be read.
    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]>;

    /// Announces that these bytes will be read soon, part by part.
    fn will_need(&self, resource: ResourceId, range: Range<u64>);

    /// True if reading bytes of the resource again costs little more than a copy.
    fn is_local(&self, _resource: ResourceId) -> bool {
        false
    }

    /// The common context of all reads, of any part of the resources.
    fn context(&self) -> &dyn ReadContext;
}

/// The common context of all reads of a source.
pub trait ReadContext: Sync {
    /// Bytes of the largest sequence that memory allows. Reads of up to [`LOOKAHEAD`] more show where one ends; longer ones
    /// are refused.
    fn largest(&self) -> u64;

    /// Reports that this many more bytes have been worked through.
    fn progress(&self, bytes: u64);

    /// True if the result is no longer needed. Reads check this themselves; long work without reads must do so.
    fn cancelled(&self) -> bool;
}

impl<'a> dyn Fetch + 'a {
    /// Appends the bytes `range` to `into`.
    ///
    /// # Errors
    /// The errors of [`Fetch::read_after`].
    pub fn read(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.read_after(resource, range, into.len(), into)
    }

    /// Reads the bytes `range` into `into`, over its contents.
    ///
    /// # Errors
    /// The errors of [`Fetch::read_after`].
    pub fn read_over(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.read_after(resource, range, 0, into)
    }

    /// Bytes of the largest sequence, see [`ReadContext::largest`].
    pub fn largest(&self) -> u64 {
        self.context().largest()
    }

    /// Reports bytes that have been worked through, see [`ReadContext::progress`].
    pub fn progress(&self, bytes: u64) {
        self.context().progress(bytes);
    }

    /// True if the result is no longer needed; see [`ReadContext::cancelled`].
    pub fn cancelled(&self) -> bool {
        self.context().cancelled()
    }
}

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
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        self.fetch.size(self.id(resource))
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        self.fetch.is_embedded(self.id(resource))
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.fetch.read_after(self.id(resource), range, keep, into)
    }

    fn read_whole(&self, resource: ResourceId, into: &mut Vec<u8>) -> Result<(), Error> {
        self.fetch.read_whole(self.id(resource), into)
    }

    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]> {
        self.fetch.mapped(self.id(resource), range)
    }

    fn will_need(&self, resource: ResourceId, range: Range<u64>) {
        self.fetch.will_need(self.id(resource), range);
    }

    fn is_local(&self, resource: ResourceId) -> bool {
        self.fetch.is_local(self.id(resource))
    }

    fn context(&self) -> &dyn ReadContext {
        self.fetch.context()
    }
}

/// The bytes of resources, for [`InMemory`].
pub trait ResourceBytes: Sync {
    /// The bytes of a resource.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) where there is no such resource.
    fn of(&self, resource: ResourceId) -> Result<&[u8], Error>;
}

/// These bytes for every resource.
impl<B: AsRef<[u8]> + Sync> ResourceBytes for B {
    fn of(&self, _: ResourceId) -> Result<&[u8], Error> {
        Ok(self.as_ref())
    }
}

/// Resources in memory, for tests and tools. Reads copy: [`Fetch::mapped`] returns nothing.
#[derive(Debug)]
pub struct InMemory<B> {
    /// The bytes.
    pub bytes: B,
    /// Bytes that a buffer may have after a read, as [`ReadContext::largest`].
    pub largest: u64,
    /// Bytes of the longest read so far.
    pub longest_read: AtomicU64,
}

impl<B> InMemory<B> {
    /// These bytes, with reads of any length.
    pub fn new(bytes: B) -> InMemory<B> {
        InMemory { bytes, largest: u64::MAX, longest_read: AtomicU64::new(0) }
    }
}

impl<B: ResourceBytes> Fetch for InMemory<B> {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        Ok(self.bytes.of(resource)?.len() as u64)
    }

    fn is_embedded(&self, _: ResourceId) -> Result<bool, Error> {
        Ok(false)
    }

    /// # Panics
    /// If the range is beyond the bytes, or longer than allowed: a test of a format should fail right there.
    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let bytes = &self.bytes.of(resource)?[range.start as usize..range.end as usize];
        assert!((keep + bytes.len()) as u64 <= self.largest, "{range:?} is too much");
        self.longest_read.fetch_max(bytes.len() as u64, Ordering::Relaxed);
        into.truncate(keep);
        into.extend_from_slice(bytes);
        Ok(())
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self
    }
}

impl<B: Sync> ReadContext for InMemory<B> {
    fn largest(&self) -> u64 {
        self.largest
    }

    fn progress(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}
