//! The bytes before the first row: byte order mark, white space, and the choice between the two modes.

use tesson_core::{ConfigError, DataErrorKind, Error, Fetch, ResourceId};

use super::bytes::{is_end, is_white};
use super::fault::CtfFault;
use super::options::{CtfOptions, CtfRefusal};
use super::parse::count_values;
use super::{Rules, located, scan, stream_names};

/// Where the rows begin and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prologue {
    /// Byte offset of the first row.
    pub(crate) start: u64,
    /// Line feeds before it.
    pub(crate) line: u64,
    /// Every row is a sequence.
    pub(crate) lines: bool,
}

/// Bytes of a file, looked at one after the other and in small reads.
struct Window<'a> {
    fetch: &'a dyn Fetch,
    size: u64,
    base: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    const READ: u64 = 64 << 10;

    /// The byte at an offset; `None` at the end of the file.
    fn byte(&mut self, at: u64) -> Result<Option<u8>, Error> {
        if at >= self.size {
            return Ok(None);
        }
        if at < self.base || at - self.base >= self.bytes.len() as u64 {
            self.bytes.clear();
            self.base = at;
            let end = (at + Self::READ).min(self.size);
            self.fetch.read(ResourceId(0), at..end, &mut self.bytes)?;
        }
        Ok(self.bytes.get((at - self.base) as usize).copied())
    }
}

/// The first bytes of files in CNTK's binary format.
const BINARY: &[u8] = b"nib_ktnc";

/// The first bytes of compressed files, the program that compresses them, and the command that decompresses them.
const COMPRESSED: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "gzip", "gunzip --keep"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ\0", "xz", "unxz --keep"),
    (b"BZh91AY&SY", "bzip2", "bunzip2 --keep"),
    (b"PK\x03\x04", "zip", "unzip"),
];

/// Looks at the beginning of the file.
///
/// # Errors
/// An empty file, UTF-16, a compressed or a binary file, a first row without an id, and unreadable storage.
pub(crate) fn look(rules: &Rules, fetch: &dyn Fetch) -> Result<Prologue, Error> {
    let size = fetch.size(ResourceId(0))?;
    let mut window = Window { fetch, size, base: 0, bytes: Vec::new() };
    let fail = |kind: DataErrorKind, at, line| Err(located(rules, kind, at, line));
    if (window.byte(0)?, window.byte(1)?) == (Some(0xFF), Some(0xFE)) {
        return fail(CtfFault::Utf16.into(), 0, 0);
    }
    if window.bytes.starts_with(BINARY) {
        return fail(CtfFault::Binary.into(), 0, 0);
    }
    if let Some(&(_, program, remedy)) = COMPRESSED.iter().find(|(mark, ..)| window.bytes.starts_with(mark)) {
        return fail(CtfFault::Compressed { program, remedy }.into(), 0, 0);
    }
    let (mut at, mut line) = (0, 0);
    for mark in [0xEF, 0xBB, 0xBF] {
        if window.byte(at)? != Some(mark) {
            break;
        }
        at += 1;
    }
    // A main stream counts rows by its name, in comments too; ids that are not read have no mode to decide.
    let skips_comments = rules.lenient && rules.main.is_none() && !rules.skip_ids;
    let mut skipped_comments = false;
    loop {
        while let Some(b) = window.byte(at)?.filter(|&b| is_white(b)) {
            line += u64::from(b == b'\n');
            at += 1;
        }
        match window.byte(at)? {
            None if skipped_comments => return fail(DataErrorKind::NoSequences, 0, 0),
            None => return fail(DataErrorKind::EmptyFile, 0, 0),
            Some(b'|') if skips_comments => match comment_end(&mut window, at)? {
                Some(end) => at = end,
                None => break,
            },
            Some(_) => break,
        }
        skipped_comments = true;
    }
    let first = window.byte(at)?.unwrap_or_default();
    let lines = rules.skip_ids || (first == b'|' && !rules.text_keys);
    let is_id = if rules.text_keys { first != b'|' } else { first.is_ascii_digit() };
    if !lines && !is_id {
        return fail(CtfFault::ExpectedSequenceId { found: first }.into(), at, line);
    }
    let seen = window.bytes.get((at - window.base) as usize..).unwrap_or_default();
    if let Some(what) = stream_names::complaint(rules.inputs.iter().map(|input| &*input.alias), seen) {
        tracing::warn!("{}: {what}", rules.file.display());
    }
    Ok(Prologue { start: at, line, lines })
}

/// The end of the row (its line feed, or the file's end) if it holds nothing but comments.
fn comment_end(window: &mut Window<'_>, mut at: u64) -> Result<Option<u64>, Error> {
    loop {
        match window.byte(at)? {
            None | Some(b'\n') => return Ok(Some(at)),
            Some(b'|') if window.byte(at + 1)? != Some(b'#') => return Ok(None),
            Some(_) => at += 1,
        }
    }
}

/// Takes dimensions that are `auto` from the streams' first good samples.
///
/// # Errors
/// A stream without a good sample in the rows that are looked at.
pub(crate) fn find_dims(
    options: &mut CtfOptions,
    rules: &Rules,
    prologue: Prologue,
    fetch: &dyn Fetch,
) -> Result<(), Error> {
    let size = fetch.size(ResourceId(0))?;
    let end = size.min(prologue.start + LOOKED_AT);
    scan::rows(rules, fetch, scan::Reads { from: prologue.start, end, bytes: 64 << 10 }, |row| {
        for pipe in row.bytes.iter().enumerate().filter(|&(_, &b)| b == b'|').map(|(at, _)| at) {
            let rest = &row.bytes[pipe + 1..];
            let open = options.inputs.iter().position(|i| {
                i.dim == 0 && rest.starts_with(&i.alias) && rest.get(i.alias.len()).is_none_or(|&b| is_end(b))
            });
            let Some(stream) = open else { continue };
            let values = pipe + 1 + options.inputs[stream].alias.len();
            match count_values(row.bytes, values, rules.grammar) {
                Some(n @ 1..) => options.set_dim(stream, u32::try_from(n).unwrap_or(u32::MAX)),
                _ => continue,
            }
        }
        Ok(options.has_open_dims())
    })?;
    let Some(stream) = options.inputs.iter().position(|i| i.dim == 0) else { return Ok(()) };
    let stream = options.streams[stream].name.clone();
    Err(ConfigError::refused("input", &CtfRefusal::OpenDim { stream, looked_at: LOOKED_AT }).into())
}

/// Bytes of rows that are searched for dimensions.
const LOOKED_AT: u64 = 64 << 20;
