//! Finding the lines of a file: where each image lies, its key and its label.

use tesson_core::{DataError, DataErrorKind, Defects, Error, Fetch, Indexed, Key, LOOKAHEAD, Location};

use super::fault::Base64ImageFault;
use super::line::{Line, decode, has_keys};
use super::options::Base64Options;
use crate::images::embedded::{EmbeddedImage, FILE, Form, TableBuilder};
use crate::images::{LabelStream, lossy};

/// Bytes that are read at once.
const READ: u64 = 1 << 20;

/// A file on its way into a table.
struct Reader<'a> {
    options: &'a Base64Options,
    with_keys: Option<bool>,
    table: TableBuilder,
    /// The key of the line before, and the number of that line from 1.
    last_key: Option<(Vec<u8>, u64)>,
}

/// Reads the whole file once.
pub(super) fn read(
    options: &Base64Options,
    fetch: &dyn Fetch,
    defects: &mut Defects<'_>,
) -> Result<Indexed, Error> {
    let size = fetch.size(FILE)?;
    let mut reader = Reader { options, with_keys: None, table: TableBuilder::default(), last_key: None };
    let at = |offset: u64, line: u32| Location {
        file: options.images.files[0].as_path().into(),
        offset,
        line: Some(u64::from(line) + 1),
    };
    let (mut buffer, mut begin, mut line) = (Vec::new(), 0, 0);
    // `begin` is where the line that is not complete begins: all of it is in the buffer, the first `searched` bytes without
    // a line feed.
    let (mut read_to, mut searched) = (0, 0);
    let mut all_right = true;
    while begin < size {
        let end = (read_to + READ).min(size);
        fetch.read(FILE, read_to..end, &mut buffer)?;
        read_to = end;
        let mut taken = 0;
        while begin < size {
            let rest = &buffer[taken..];
            let n = match rest[searched..].iter().position(|&byte| byte == b'\n') {
                Some(feed) => searched + feed + 1,
                None if read_to == size => rest.len(),
                None => break,
            };
            let content = &rest[..n];
            let content =
                if begin == 0 { content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content) } else { content };
            let first = begin + (n - content.len()) as u64;
            if let Err(fault) = reader.line(content, first, line) {
                let labels = options.images.labels().filter(|_| fault.is_of_label());
                let stream = labels.map(|labels| labels.name.clone());
                let key = stream.as_ref().map(|_| reader.key_of(content, line));
                all_right = false;
                defects.report(DataError::new(fault, at(begin, line)).within(stream, key))?;
            }
            taken += n;
            searched = 0;
            begin += n as u64;
            line += 1;
        }
        buffer.drain(..taken);
        searched = buffer.len();
        fetch.progress(taken as u64);
        if fetch.cancelled() {
            return Err(Error::Cancelled);
        }
        let (found, limit) = (buffer.len() as u64, fetch.largest());
        // Positions within a line have 32 bits.
        if found > limit.saturating_add(LOOKAHEAD).min(u32::MAX.into()) {
            let kind = DataErrorKind::SequenceBeyondMemory { found, limit };
            return Err(DataError::new(kind, at(begin, line)).into());
        }
    }
    // Where every line is wrong there are no images either, and the lines say why.
    if reader.table.is_empty() && all_right {
        defects.report(DataError::new(DataErrorKind::EmptyFile, at(0, 0)))?;
    }
    let unpack = |line: &[u8], into: &mut Vec<u8>| decode(line, into).map_err(DataErrorKind::from);
    Ok(reader.table.finish(&options.images, Form { unpack, has_lines: true }))
}

impl Reader<'_> {
    /// The key of a line; `number` counts from 0.
    fn key_of(&self, line: &[u8], number: u32) -> Key {
        match line.split(|&byte| byte == b'\t').next() {
            Some(key) if self.with_keys == Some(true) => Key::Text(lossy(key)),
            _ => Key::Number(number.into()),
        }
    }

    /// Takes in a line that begins at a byte of the file; `number` counts from 0.
    fn line(&mut self, line: &[u8], begin: u64, number: u32) -> Result<(), Base64ImageFault> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let end = begin + line.len() as u64;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let with_key = *self.with_keys.get_or_insert_with(|| has_keys(line));
        let Line { key, label, image } =
            Line::parse(line, with_key, self.options.images.labels().map(LabelStream::limit))?;
        if let Some(key) = key {
            if let Some((_, first)) = self.last_key.as_ref().filter(|(last, _)| last == key) {
                return Err(Base64ImageFault::RepeatedKey { key: lossy(key), first: *first });
            }
            self.last_key = Some((key.to_vec(), u64::from(number) + 1));
        }
        let len = (line.len() - image) as u32;
        let image = EmbeddedImage { begin: begin + image as u64, len, label: label as u32, line: number };
        self.table.push(key, u64::from(number), begin..end, image);
        Ok(())
    }
}
