//! Bytes for deserializers: reads put together, tried again, counted and called off.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson_core::{
    ByteRun, DataError, DataErrorKind, Error, Fetch, LOOKAHEAD, Location, ReadContext, ResourceId,
    StoreError, StreamingDecoder,
};

use crate::executor::{Canceller, RetryingRead};
use crate::named_files::{NamedFiles, Opened};
use crate::stats::Counters;
use crate::store::{Resource, Store};

/// The open resources of a source.
pub(crate) struct Resources {
    /// Those that configurations name.
    files: Vec<(Arc<Path>, Box<dyn Resource>)>,
    /// Bytes of memory that the listings of folders among them take.
    listings: usize,
    /// Those that these list, for each deserializer that has any, ascending by number.
    named: Vec<NamedFiles>,
    pub(crate) counters: Arc<Counters>,
    canceller: Canceller,
    /// True while the read in progress is cancelled, though the source is not.
    interrupted: AtomicBool,
    /// Bytes of the largest sequence. Formats read what they look at in small parts, and a sequence as a whole: a longer
    /// one, decoded and packed, would not fit into the source's memory.
    largest: u64,
}

impl Resources {
    /// Opens resources by name, each with whether it may be a folder: of that the listing is read. Those that are missing are
    /// an error, all of them by name.
    pub(crate) fn open(
        paths: impl Iterator<Item = (Arc<Path>, bool)>,
        store: &dyn Store,
        counters: Arc<Counters>,
        canceller: Canceller,
        largest: u64,
    ) -> Result<Resources, Error> {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        let mut listings = 0;
        for (path, may_be_folder) in paths {
            let opened = match store.open(&path) {
                Err(e) if may_be_folder && e.kind() == io::ErrorKind::IsADirectory => {
                    store.list(&path).map(|listing| {
                        listings += listing.memory();
                        Box::new(listing) as Box<_>
                    })
                }
                opened => opened,
            };
            match opened {
                Ok(resource) => files.push((path, resource)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => missing.push((path, e)),
                Err(e) => {
                    let remedy = store.remedy(&path, &e);
                    return Err(StoreError::new(path, None, e).with_remedy(remedy).into());
                }
            }
        }
        if !missing.is_empty() {
            return Err(not_found(missing, &files, store).into());
        }
        let interrupted = AtomicBool::new(false);
        Ok(Resources { files, listings, named: Vec::new(), counters, canceller, interrupted, largest })
    }

    /// Adds resources that are listed in those of a deserializer, whose numbers they follow.
    pub(crate) fn push_named(&mut self, named: NamedFiles) {
        self.named.push(named);
    }

    /// True if files are listed by the data: then their sizes are not known.
    pub(crate) fn are_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// The first file that lists others, and how many are listed in all, if any are.
    pub(crate) fn listed(&self) -> Option<(Arc<Path>, u64)> {
        let list = self.named.iter().find_map(NamedFiles::first_list)?;
        Some((list, self.named.iter().map(|named| named.ids.len() as u64).sum()))
    }

    /// Bytes of memory that names and listings take.
    pub(crate) fn memory(&self) -> usize {
        self.listings + self.named.iter().map(NamedFiles::memory).sum::<usize>()
    }

    fn located(&self, resource: ResourceId) -> Located<'_> {
        let before = self.named.partition_point(|named| named.ids.start <= resource.0);
        let Some(last) = before.checked_sub(1) else { return Located::Root(resource.0 as usize) };
        match &self.named[last] {
            named if named.ids.contains(&resource.0) => Located::Named(named, resource.0 - named.ids.start),
            _ => {
                let listed: usize = self.named[..before].iter().map(|named| named.ids.len()).sum();
                Located::Root(resource.0 as usize - listed)
            }
        }
    }

    /// Names and open files.
    pub(crate) fn files(&self) -> &[(Arc<Path>, Box<dyn Resource>)] {
        &self.files
    }

    /// Makes reads fail with [`Error::Cancelled`], or not any more.
    pub(crate) fn interrupt(&self, interrupted: bool) {
        self.interrupted.store(interrupted, Ordering::Relaxed);
    }

    /// The name of a resource; `None` for one that does not exist.
    pub(crate) fn path(&self, resource: ResourceId) -> Option<Arc<Path>> {
        if resource == ResourceId::NONE {
            return None;
        }
        match self.located(resource) {
            Located::Root(file) => self.files.get(file).map(|(path, _)| path.clone()),
            Located::Named(named, number) => Some(named.path(number)),
        }
    }

    /// The line that lists a resource, if it is listed by another, as half a sentence.
    pub(crate) fn listing(&self, resource: ResourceId) -> Option<String> {
        match self.located(resource) {
            Located::Root(_) => None,
            Located::Named(named, number) => Some(named.listing(number)),
        }
    }

    /// Bytes of all files that configurations name.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, file)| file.size()).sum()
    }

    /// The bytes of a run, over what `into` holds; nothing if decoding reads them itself.
    pub(crate) fn read_run(
        &self,
        decoder: &dyn StreamingDecoder,
        run: ByteRun,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if decoder.reads_itself() {
            Ok(())
        } else {
            self.read_after(run.resource, run.offset..run.offset + run.bytes, 0, into)
        }
    }

    fn read_from(
        &self,
        path: &dyn Fn() -> Arc<Path>,
        file: &dyn Resource,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if range.start > range.end || range.end > file.size() {
            let what = format!("bytes {}..{} of {} are asked for", range.start, range.end, file.size());
            let e = io::Error::new(io::ErrorKind::UnexpectedEof, what);
            return Err(StoreError::new(path(), Some(range.start), e).into());
        }
        let n = (range.end - range.start) as usize;
        if (keep + n) as u64 > self.largest.saturating_add(LOOKAHEAD) {
            let offset = range.start.saturating_sub(keep as u64);
            let at = Location { file: path(), offset, line: None };
            let kind = DataErrorKind::SequenceBeyondMemory { found: (keep + n) as u64, limit: self.largest };
            return Err(DataError::new(kind, at).into());
        }
        if into.capacity() == 0 {
            // What is read at once may stay in memory: it takes no more than it needs.
            *into = Vec::with_capacity(n);
        }
        into.resize(keep + n, 0);
        let read = RetryingRead {
            path,
            file,
            size: file.size(),
            is_cancelled: &|| self.cancelled(),
            retries: &|| {
                self.counters.retries.fetch_add(1, Ordering::Relaxed);
            },
        };
        read.fill(range.start, &mut into[keep..])?;
        self.counters.bytes_read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Where a resource is found.
enum Located<'a> {
    /// One of the files that configurations name.
    Root(usize),
    /// One of those that are listed, by its number there.
    Named(&'a NamedFiles, u32),
}

/// The error of files that are not there beside those that are.
fn not_found(
    mut missing: Vec<(Arc<Path>, io::Error)>,
    present: &[(Arc<Path>, Box<dyn Resource>)],
    store: &dyn Store,
) -> StoreError {
    let (path, e) = missing.remove(0);
    if missing.is_empty() {
        // Another file of the same corpus is not the one that was meant.
        let is_present =
            |remedy: &str| present.iter().any(|(p, _)| remedy.contains(&format!("`{}`", p.display())));
        let remedy = store.remedy(&path, &e).filter(|remedy| !is_present(remedy));
        return StoreError::new(path, None, e).with_remedy(remedy);
    }
    let others: Vec<String> = missing.iter().map(|(path, _)| path.display().to_string()).collect();
    let what = format!("{e}; also missing: {}", others.join(", "));
    StoreError::new(path, None, io::Error::new(io::ErrorKind::NotFound, what))
}

impl Fetch for Resources {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        match self.located(resource) {
            Located::Root(file) => Ok(self.files[file].1.size()),
            Located::Named(named, number) => Ok(named.open(number)?.size()),
        }
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        match self.located(resource) {
            Located::Root(_) => Ok(false),
            Located::Named(named, number) => {
                Ok(named.is_member(number) && matches!(named.open(number)?, Opened::Member { .. }))
            }
        }
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match self.located(resource) {
            Located::Root(file) => {
                let (path, file) = &self.files[file];
                self.read_from(&|| path.clone(), &**file, range, keep, into)
            }
            Located::Named(named, number) => {
                let file = named.open(number)?;
                let read = self.read_from(&|| named.path(number), &file, range, keep, into);
                read.map_err(|e| named.with_line(number, e))
            }
        }
    }

    fn read_whole(&self, resource: ResourceId, into: &mut Vec<u8>) -> Result<(), Error> {
        let keep = into.len();
        match self.located(resource) {
            Located::Root(file) => self.read_after(resource, 0..self.files[file].1.size(), keep, into),
            Located::Named(named, number) => {
                let mut read = Ok(());
                named.with_open(number, &mut |file| {
                    read = self.read_from(&|| named.path(number), file, 0..file.size(), keep, into);
                })?;
                read.map_err(|e| named.with_line(number, e))
            }
        }
    }

    fn mapped(&self, resource: ResourceId, range: Range<u64>) -> Option<&[u8]> {
        // What is listed is closed again.
        let Located::Root(file) = self.located(resource) else { return None };
        let all = self.files[file].1.mapped()?;
        // Reading refuses what is too large to be decoded.
        let _fits =
            range.end.checked_sub(range.start).filter(|&n| n <= self.largest.saturating_add(LOOKAHEAD))?;
        all.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
    }

    fn will_need(&self, resource: ResourceId, range: Range<u64>) {
        if let Located::Root(file) = self.located(resource) {
            self.files[file].1.will_need(range);
        }
    }

    fn is_local(&self, resource: ResourceId) -> bool {
        match self.located(resource) {
            Located::Root(file) => self.files[file].1.is_local(),
            Located::Named(..) => false,
        }
    }

    fn context(&self) -> &dyn ReadContext {
        self
    }
}

impl ReadContext for Resources {
    fn largest(&self) -> u64 {
        self.largest
    }

    fn progress(&self, bytes: u64) {
        self.counters.bytes_indexed.fetch_add(bytes, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.canceller.is_cancelled() || self.interrupted.load(Ordering::Relaxed)
    }
}
