//! The files of a plan, opened when they are first read.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, slice};

use tesson_core::store::{Entry, Store};
use tesson_core::{Error, Fetch, ReadContext, ResourceId, StoreError};
use tesson_engine::Canceller;
use tesson_engine::executor::RetryingRead;
use tesson_engine::record_index::Stamp;
use tesson_engine::store::OpenResources;
use tesson_formats::record::{Problem, RecordFile};
use tesson_tfds::info::{Dataset, FileFormat, Shard};
use tesson_tfds::records;

use crate::indexed_shard::IndexedShard;

/// Bytes of one read, and so of a record.
const LARGEST: u64 = 1 << 30;

/// A shard that is read.
pub(super) struct ShardFile {
    path: Arc<Path>,
    /// Its bytes; `None` if it is missing.
    size: Option<u64>,
    format: FileFormat,
    pub(super) records: Box<dyn RecordFile>,
}

/// The shards of a plan: resource `i` is the `i`-th of them.
pub(super) struct Shards {
    store: Arc<dyn Store>,
    pub(super) canceller: Canceller,
    files: Arc<[ShardFile]>,
    open: OpenResources,
}

impl Shards {
    /// Looks at all files, without opening any. Missing ones are errors when they are read, if that is to be so (`lazy`).
    ///
    /// # Errors
    /// Files that are not there, all of them by name; a format that is not read.
    pub(super) fn new(
        store: Arc<dyn Store>,
        dataset: &Dataset,
        shards: &[&Shard],
        lazy: bool,
    ) -> Result<Shards, Error> {
        let format = dataset.file_format;
        let path = |shard: &Shard| PathBuf::from(&dataset.directories[shard.directory]).join(&shard.file);
        let (mut files, mut missing) = (Vec::with_capacity(shards.len()), Vec::new());
        for (i, shard) in shards.iter().enumerate() {
            let path: Arc<Path> = path(shard).into();
            let mut records = records::open(format, ResourceId(i as u32))?;
            let size = match store.entry(&path) {
                Ok(Entry { size, modified_ns, .. }) => {
                    if let Some(local) = store.local_path(&path) {
                        records = Box::new(IndexedShard::new(records, local, Stamp { size, modified_ns }));
                    }
                    Some(size)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && lazy => None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(path);
                    continue;
                }
                Err(error) => return Err(StoreError::new(path, None, error).into()),
            };
            files.push(ShardFile { path, size, format, records });
        }
        match missing.first() {
            Some(first) => {
                let error = StoreError::new(Arc::clone(first), None, absent(&missing));
                Err(error.with_remedy(instead_of(&*store, first, dataset)).into())
            }
            None => Ok(Shards {
                store,
                canceller: Canceller::new(),
                files: files.into(),
                open: OpenResources::default(),
            }),
        }
    }

    /// A copy of the shards for another reader, which no read of this one blocks.
    pub(super) fn reopened(&self) -> Shards {
        let (store, files) = (Arc::clone(&self.store), Arc::clone(&self.files));
        Shards { store, canceller: Canceller::new(), files, open: OpenResources::default() }
    }

    pub(super) fn file(&self, i: usize) -> &ShardFile {
        &self.files[i]
    }
}

impl ShardFile {
    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// True if the reference treats the file as ended at this problem.
    pub(super) fn is_cut(&self, problem: &Problem) -> bool {
        records::is_cut(self.format, problem)
    }
}

/// A sentence about the files that were found instead of a missing shard: shards of another number, or none. `None` if
/// others of the split are there.
fn instead_of(store: &dyn Store, missing: &Path, dataset: &Dataset) -> Option<String> {
    let name = missing.file_name()?.to_str()?;
    // What a shard's number follows.
    let split = name.find("-0").map_or(name, |number| &name[..number]);
    let shards = dataset.splits.iter().flat_map(|split| &split.shards);
    let own: BTreeSet<&str> =
        shards.filter_map(|shard| Path::new(&shard.file).file_name()?.to_str()).collect();
    let names = store.names(missing.parent()?).ok()?.into_iter().map(|inside| inside.name);
    let there: BTreeSet<String> = names.filter(|name| name.starts_with(split)).collect();
    let others: Vec<String> =
        there.iter().filter(|name| !own.contains(&***name)).map(|name| format!("`{name}`")).collect();
    match &others[..] {
        [] if there.is_empty() => Some("the folder holds no shard of the split, copy them there".to_owned()),
        [] => None,
        [first, rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more like it", rest.len()) };
            Some(format!(
                "the folder holds {first}{more}, which dataset_info.json does not list: copy description and shards \
                 of one preparation"
            ))
        }
    }
}

/// Missing files that are named, beside the first.
const NAMED: usize = 9;

fn absent(missing: &[Arc<Path>]) -> io::Error {
    let names: Vec<String> =
        missing.iter().skip(1).take(NAMED).map(|path| path.display().to_string()).collect();
    let (more, names) = (missing.len() - 1, names.join(", "));
    let what = match more {
        0 => "the shard is missing".to_owned(),
        1..=NAMED => format!("the shard is missing, and {more} more: {names}"),
        _ => format!("the shard is missing, and {more} more, the first of them {names}"),
    };
    io::Error::new(io::ErrorKind::NotFound, what)
}

impl Fetch for Shards {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        let file = &self.files[resource.0 as usize];
        let missing = || StoreError::new(Arc::clone(&file.path), None, absent(slice::from_ref(&file.path)));
        Ok(file.size.ok_or_else(missing)?)
    }

    fn is_embedded(&self, _: ResourceId) -> Result<bool, Error> {
        Ok(false)
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (path, size) = (&self.files[resource.0 as usize].path, self.size(resource)?);
        let open = || self.store.open(path).map_err(|e| StoreError::new(Arc::clone(path), None, e));
        let file = self.open.get(resource.0, open)?;
        into.resize(keep + (range.end - range.start) as usize, 0);
        let is_cancelled = || self.canceller.is_cancelled();
        let path = || path.clone();
        let read =
            RetryingRead { path: &path, file: &*file, size, is_cancelled: &is_cancelled, retries: &|| () };
        read.fill(range.start, &mut into[keep..])
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self
    }
}

impl ReadContext for Shards {
    fn largest(&self) -> u64 {
        LARGEST
    }

    fn progress(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.canceller.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use tesson_engine::store::{FakeStore, InjectedFault, MemoryStore};

    use super::*;

    #[test]
    fn of_many_missing_shards_the_first_ten_are_named_and_all_are_counted() {
        let missing: Vec<Arc<Path>> = (0..100_000).map(|i| Path::new(&format!("shard-{i}")).into()).collect();
        let check = |n: usize, expected: &str| assert_eq!(absent(&missing[..n]).to_string(), expected);
        check(1, "the shard is missing");
        check(3, "the shard is missing, and 2 more: shard-1, shard-2");
        let nine = "shard-1, shard-2, shard-3, shard-4, shard-5, shard-6, shard-7, shard-8, shard-9";
        check(10, &format!("the shard is missing, and 9 more: {nine}"));
        check(100_000, &format!("the shard is missing, and 99999 more, the first of them {nine}"));
    }

    /// One shard of ten bytes under a schedule of mishaps.
    fn shard(fate: impl Fn(u64) -> InjectedFault + Send + Sync + 'static, canceller: Canceller) -> Shards {
        let path: Arc<Path> = Path::new("shard").into();
        let store = MemoryStore::new().with("shard", b"0123456789".to_vec());
        let format = FileFormat::TfRecord;
        let records = records::open(format, ResourceId(0)).expect("the format is read");
        Shards {
            store: Arc::new(FakeStore::new(Arc::new(store), fate)),
            canceller,
            files: [ShardFile { path, size: Some(10), format, records }].into(),
            open: OpenResources::default(),
        }
    }

    #[test]
    fn reads_of_a_shard_that_fail_for_passing_reasons_are_tried_again() {
        let fate =
            |n| if n < 3 { InjectedFault::Error(io::ErrorKind::TimedOut) } else { InjectedFault::Short(4) };
        let mut into = b"ab".to_vec();
        shard(fate, Canceller::new())
            .read_after(ResourceId(0), 1..9, 2, &mut into)
            .expect("the failures pass");
        assert_eq!(into, b"ab12345678");
    }

    #[test]
    fn a_read_of_a_shard_that_is_tried_again_ends_when_the_reader_is_cancelled() {
        let canceller = Canceller::new();
        let end = canceller.clone();
        let fate = move |n| {
            if n == 2 {
                end.cancel();
            }
            InjectedFault::Error(io::ErrorKind::WouldBlock)
        };
        let read = shard(fate, canceller).read_after(ResourceId(0), 0..10, 0, &mut Vec::new());
        assert!(matches!(read, Err(Error::Cancelled)));
    }
}
