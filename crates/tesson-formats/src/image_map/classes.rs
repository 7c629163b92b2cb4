//! The file that names the classes of a map, one in each line.

use std::path::Path;

use tesson_core::{DataError, Error, Fetch, Location, ResourceId, SEQUENCES_IN_MEMORY, TextSet};

use super::deserializer::LOOK;
use super::fault::ImageMapFault;
use crate::images::lossy;
use crate::lines::{LineFile, Reads, lines, most_read};

/// Reads the names of the classes in their order, in pieces of so many bytes.
///
/// # Errors
/// A line that is not UTF-8, a class that a line before has, more than memory has room for, and unreadable storage.
pub(super) fn read(fetch: &dyn Fetch, file: ResourceId, path: &Path, piece: u64) -> Result<TextSet, Error> {
    let (size, longest) = (fetch.size(file)?, most_read(fetch));
    let limit = fetch.largest().saturating_mul(SEQUENCES_IN_MEMORY);
    let mut classes = TextSet::default();
    // The lines of the classes, of which some may be blank.
    let mut lines_of: Vec<u32> = Vec::new();
    let mut number: u32 = 0;
    let error = |fault: ImageMapFault, offset, line: u32| -> Error {
        DataError::new(fault, Location { file: path.into(), offset, line: Some(line.into()) }).into()
    };
    let too_long = |_, offset| {
        let fault = ImageMapFault::LongLine { limit: longest };
        DataError::new(fault, Location { file: path.into(), offset, line: None }).into()
    };
    let reads = Reads { from: 0, end: size, bytes: piece };
    lines(LineFile { file, first: 0 }, fetch, reads, too_long, |line| {
        number = number.saturating_add(1);
        let name = std::str::from_utf8(line.bytes)
            .map_err(|_| error(ImageMapFault::NotUtf8 { found: lossy(line.bytes) }, line.offset, number))?;
        let name = name.trim_start_matches('\u{feff}').trim();
        if name.is_empty() {
            return Ok(true);
        }
        if let Err(first) = classes.insert(name.as_bytes()) {
            let fault = ImageMapFault::RepeatedClass { name: name.into(), first: lines_of[first as usize] };
            return Err(error(fault, line.offset, number));
        }
        lines_of.push(number);
        let bytes = (classes.bytes() + lines_of.capacity() * size_of::<u32>()) as u64;
        if (lines_of.len() as u32).is_multiple_of(LOOK) && bytes > limit {
            let done = line.offset + line.bytes.len() as u64;
            let needed = u128::from(bytes) * u128::from(size) / u128::from(done);
            let needed = u64::try_from(needed).unwrap_or(u64::MAX);
            let fault = ImageMapFault::ClassesBeyondMemory { lines: number.into(), bytes, limit, needed };
            return Err(error(fault, line.offset, number));
        }
        Ok(true)
    })?;
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use tesson_core::InMemory;

    use super::*;

    fn read_in(text: &[u8], piece: u64) -> Result<Vec<String>, String> {
        let file = InMemory::new(text);
        let classes = read(&file, ResourceId(1), Path::new("classes"), piece).map_err(|e| e.to_string())?;
        let name = |number| String::from_utf8_lossy(classes.get(number)).into_owned();
        Ok((0..classes.len() as u32).map(name).collect())
    }

    #[test]
    fn classes_are_lines_in_any_pieces() {
        let text = "\u{feff}dog\r\n\n  cat \nAnt eater\n \nélan".as_bytes();
        let names = ["dog", "cat", "Ant eater", "élan"].map(str::to_owned).to_vec();
        for piece in 1..=text.len() as u64 + 1 {
            assert_eq!(read_in(text, piece), Ok(names.clone()), "{piece} bytes at once");
            let again = [text, b"\nx\ncat\n"].concat();
            let error = "classes:8 (byte 36): the class `cat` is that of line 3, too";
            assert_eq!(read_in(&again, piece), Err(error.to_owned()));
            let error = read_in(b"a\n\xff", piece).unwrap_err();
            assert!(error.starts_with("classes:2 (byte 2): ") && error.ends_with(" is not UTF-8"), "{error}");
        }
    }

    #[test]
    fn more_classes_than_memory_has_room_for_are_refused() {
        let text: String = (0..100_000).map(|i| format!("a class of the number {i}\n")).collect();
        let file = InMemory { largest: 256 << 10, ..InMemory::new(text.into_bytes()) };
        let error = read(&file, ResourceId(1), Path::new("classes"), 4096).unwrap_err().to_string();
        assert!(
            error.contains(": the classes of the first ") && error.contains("`memoryLimit` is 2097152"),
            "{error}"
        );
    }
}
