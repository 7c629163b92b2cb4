//! Files that are compressed as a whole: tables see what they unpack to.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson_core::{Error, Fetch, ReadContext, ResourceId};
use tesson_formats::packed::{PackedFile, Packing};

use crate::options::TableOptions;
use crate::table::{FileBytes, Table, TableFormat};
use crate::text::SAMPLE_BYTES;

/// How compressed files of a format are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenCompressed {
    /// Not at all: the format has its own compression, or none is common.
    Refused,
    /// The columns are in the first bytes, of which no more are unpacked.
    FromBeginning,
    /// All of the file is unpacked first.
    Whole,
    /// All of the file is unpacked first, and gzip has to be in its name, too: a file that is not compressed may begin alike.
    WholeAndNamed,
}

/// The compression of a file, told by its first bytes.
pub(crate) fn packing_of(file: FileBytes<'_>, format: &TableFormat) -> Result<Option<Packing>, Error> {
    if format.compressed == WhenCompressed::Refused {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_over(0..file.size()?.min(4), &mut bytes)?;
    let is_gzip_by_name = || file.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
    let is_meant = |packing: &Packing| {
        *packing != Packing::Gzip || format.compressed != WhenCompressed::WholeAndNamed || is_gzip_by_name()
    };
    Ok(Packing::of(&bytes).filter(is_meant))
}

/// Unpacks a file once, if it is compressed.
pub(crate) fn packed(file: FileBytes<'_>, format: &TableFormat) -> Result<Option<PackedFile>, Error> {
    let packing = packing_of(file, format)?;
    packing.map(|packing| PackedFile::new(packing, file.path, file.resource, file.fetch)).transpose()
}

/// Calls `act` with the bytes of a file, unpacked where it is compressed.
pub(crate) fn with_unpacked<T>(
    file: FileBytes<'_>,
    packed: Option<&PackedFile>,
    act: impl FnOnce(FileBytes<'_>) -> T,
) -> T {
    match packed {
        None => act(file),
        Some(packed) => packed
            .with_unpacked(file.path, file.fetch, |fetch| act(FileBytes { fetch, companion: None, ..file })),
    }
}

/// Opens a file for its columns alone: of a compressed one, as little is unpacked as they take.
pub(crate) fn open_for_columns(
    format: &TableFormat,
    file: FileBytes<'_>,
    options: &TableOptions,
) -> Result<Box<dyn Table>, Error> {
    let Some(packing) = packing_of(file, format)? else { return (format.open)(file, options) };
    if format.compressed == WhenCompressed::FromBeginning {
        let most = SAMPLE_BYTES as usize + 1;
        let bytes = packing.beginning(file.path, file.resource, file.fetch, most)?;
        let beginning = Beginning {
            is_cut: bytes.len() == most,
            bytes,
            ended: AtomicBool::new(false),
            fetch: file.fetch,
        };
        let table = (format.open)(FileBytes { fetch: &beginning, ..file }, options);
        if !beginning.ended.into_inner() {
            return table;
        }
    }
    let packed = PackedFile::new(packing, file.path, file.resource, file.fetch)?;
    with_unpacked(file, Some(&packed), |file| (format.open)(file, options))
}

/// The first bytes of a file as if they were all.
struct Beginning<'a> {
    bytes: Vec<u8>,
    /// True if there are more bytes in the file.
    is_cut: bool,
    /// True if the last of these bytes has been read although there are more: what was made of it may be wrong.
    ended: AtomicBool,
    fetch: &'a dyn Fetch,
}

impl Fetch for Beginning<'_> {
    fn size(&self, _: ResourceId) -> Result<u64, Error> {
        Ok(self.bytes.len() as u64)
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        self.fetch.is_embedded(resource)
    }

    fn read_after(
        &self,
        _: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.is_cut && range.end == self.bytes.len() as u64 {
            self.ended.store(true, Ordering::Relaxed);
        }
        into.truncate(keep);
        into.extend_from_slice(&self.bytes[range.start as usize..range.end as usize]);
        Ok(())
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self.fetch.context()
    }
}
