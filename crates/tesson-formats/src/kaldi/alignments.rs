//! Archives of alignments: a vector of whole numbers for each utterance, the class of each frame.
//!
//! An entry is its key, a blank, and the numbers: in a binary archive the bytes `\0B`, the byte 4, their number in 32 bits,
//! and for each of them the byte 4 and the number in 32 bits, all little-endian; in a text archive decimal numbers up to the
//! end of the line.

use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Error, Fetch, Location, ResourceId};

use super::archive::{Archive, BINARY};
use super::fault::KaldiFault;
use crate::images::lossy;
use crate::mlf::table::{Entry, Table};

/// The byte before a number of 32 bits.
const WORD: u8 = 4;

/// Bytes of a number with the byte before it.
const WORD_BYTES: u64 = 5;

/// The numbers of an entry, from what follows its key on.
pub(crate) fn numbers(entry: &[u8]) -> Numbers<'_> {
    match entry.strip_prefix(BINARY) {
        Some(rest) => {
            Numbers::Binary(rest.get(WORD_BYTES as usize..).unwrap_or_default().as_chunks().0.iter())
        }
        None => Numbers::Text(entry),
    }
}

/// The numbers of an entry.
pub(crate) enum Numbers<'a> {
    Binary(std::slice::Iter<'a, [u8; WORD_BYTES as usize]>),
    Text(&'a [u8]),
}

impl Iterator for Numbers<'_> {
    type Item = Result<i32, KaldiFault>;

    fn next(&mut self) -> Option<Result<i32, KaldiFault>> {
        match self {
            Numbers::Binary(words) => words.next().map(|&[size, a, b, c, d]| match size {
                WORD => Ok(i32::from_le_bytes([a, b, c, d])),
                _ => Err(KaldiFault::NotANumber { found: format!("a number of {size} bytes") }),
            }),
            Numbers::Text(text) => {
                *text = text.trim_ascii_start();
                let n = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
                let (number, rest) = text.split_at(n);
                *text = rest;
                if number.is_empty() {
                    return None;
                }
                let parsed = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
                Some(parsed.ok_or_else(|| KaldiFault::NotANumber { found: lossy(number) }))
            }
        }
    }
}

/// Indexes an archive.
pub(crate) fn index(
    path: &Path,
    file: ResourceId,
    fetch: &dyn Fetch,
    table: &mut Table,
) -> Result<(), Error> {
    let error = |fault: DataErrorKind, offset| -> Error {
        DataError::new(fault, Location { file: path.into(), offset, line: None }).into()
    };
    let mut archive = Archive::new(file, fetch)?;
    if archive.size() == 0 {
        return Err(error(DataErrorKind::EmptyFile, 0));
    }
    while let Some(key) = archive.key().map_err(|e| e.located(error))? {
        let start = archive.at();
        let (size, frames) = match archive.peek(BINARY.len() + WORD_BYTES as usize)? {
            [0, b'B', WORD, n @ ..] if n.len() == 4 => {
                let n = i32::from_le_bytes([n[0], n[1], n[2], n[3]]);
                let declared = u32::try_from(n)
                    .map_err(|_| error(KaldiFault::BadSize { found: n.into() }.into(), start))?;
                (BINARY.len() as u64 + WORD_BYTES * (1 + u64::from(declared)), declared)
            }
            [0, ..] => return Err(error(KaldiFault::NotAnAlignment.into(), start)),
            _ => {
                let text = archive.line().map_err(|e| e.located(error))?;
                let frames = text.split(u8::is_ascii_whitespace).filter(|number| !number.is_empty()).count();
                (text.len() as u64, frames as u32)
            }
        };
        if size > archive.size() - start {
            return Err(error(KaldiFault::CutOff.into(), start));
        }
        let limit = u64::from(u32::MAX);
        let small = u32::try_from(size)
            .map_err(|_| error(DataErrorKind::SequenceTooLarge { found: size, limit }, start))?;
        let entry = Entry { offset: start, line: 0, size: small, frames: frames.max(1) };
        table.push(entry, &key).map_err(|fault| error(fault.into(), start))?;
        archive.skip_to(start + size);
        if fetch.cancelled() {
            return Err(Error::Cancelled);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_both_forms() {
        let read = |entry: &[u8]| numbers(entry).collect::<Result<Vec<_>, _>>();
        assert_eq!(read(b" 3 0\t12 \n"), Ok(vec![3, 0, 12]));
        assert_eq!(read(b"\0B\x04\x02\0\0\0\x04\x07\0\0\0\x04\xff\xff\xff\xff"), Ok(vec![7, -1]));
        assert_eq!(read(b"3 x"), Err(KaldiFault::NotANumber { found: "x".into() }));
        assert!(read(b"\0B\x04\x01\0\0\0\x08\x07\0\0\0").is_err());
        assert_eq!(read(b""), Ok(vec![]));
    }
}
