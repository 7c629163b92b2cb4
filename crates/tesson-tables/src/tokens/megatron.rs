//! The index of a file of documents, as Megatron-LM writes it.

use tesson_core::{Element, Error};

use crate::fault::TableFault;
use crate::table::FileBytes;

/// The first bytes: a name, and version 1.
const MAGIC: &[u8; 17] = b"MMIDIDX\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";

/// Bytes before the lengths: the name, the type, and the numbers of documents and of their groups.
const HEADER: u64 = MAGIC.len() as u64 + 1 + 8 + 8;

/// Bytes of the index that are read at once.
const AT_ONCE: u64 = 1 << 20;

/// The type of tokens, and the documents: the first byte and the number of tokens of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MegatronIndex {
    pub(super) element: Element,
    pub(super) lengths: Vec<u32>,
    pub(super) starts: Vec<u64>,
}

/// The facts that a header has.
struct Header {
    element: Element,
    documents: u64,
}

fn bad(file: FileBytes<'_>, what: String, offset: u64) -> Error {
    file.error(TableFault::BadHeader { format: "idx", what }, offset)
}

/// Parses a header; `size` is that of the file.
fn header(bytes: &[u8], size: u64) -> Result<Header, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("the file does not begin with `MMIDIDX` and version 1")?;
    let (code, rest) = rest.split_first().ok_or("the file ends within it")?;
    let element = match code {
        1 => Element::U8,
        2 => Element::I8,
        3 => Element::I16,
        4 => Element::I32,
        5 => Element::I64,
        8 => Element::U16,
        other => return Err(format!("the type of tokens is {other}, expected one of whole numbers")),
    };
    let documents = rest.first_chunk().copied().map(u64::from_le_bytes).ok_or("the file ends within it")?;
    let needed = documents.checked_mul(12).and_then(|bytes| bytes.checked_add(HEADER));
    if needed.is_none_or(|needed| needed > size) {
        return Err(format!("it declares {documents} documents, the file has {size} bytes"));
    }
    Ok(Header { element, documents })
}

impl MegatronIndex {
    /// Reads the type of tokens alone.
    pub(super) fn element(file: FileBytes<'_>) -> Result<Element, Error> {
        MegatronIndex::header(file).map(|header| header.element)
    }

    fn header(file: FileBytes<'_>) -> Result<Header, Error> {
        let (size, mut bytes) = (file.size()?, Vec::new());
        file.read_over(0..size.min(HEADER), &mut bytes)?;
        header(&bytes, size).map_err(|what| bad(file, what, 0))
    }

    /// Reads an index; `size` is that of the file of tokens.
    pub(super) fn read(file: FileBytes<'_>, size: u64) -> Result<MegatronIndex, Error> {
        let Header { element, documents } = MegatronIndex::header(file)?;
        let n = documents as usize;
        let (mut lengths, mut starts) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut buffer, first_start) = (Vec::new(), HEADER + 4 * documents);
        for start in (HEADER..first_start).step_by(AT_ONCE as usize) {
            file.read_over(start..first_start.min(start + AT_ONCE), &mut buffer)?;
            lengths.extend(buffer.as_chunks().0.iter().map(|length| i32::from_le_bytes(*length)));
        }
        let end = first_start + 8 * documents;
        for start in (first_start..end).step_by(AT_ONCE as usize) {
            file.read_over(start..end.min(start + AT_ONCE), &mut buffer)?;
            starts.extend(buffer.as_chunks().0.iter().map(|start| i64::from_le_bytes(*start)));
        }
        let fits = |(&length, &start): (&i32, &i64)| {
            let (length, start) = (u64::try_from(length).ok()?, u64::try_from(start).ok()?);
            start.checked_add(length * element.size() as u64).filter(|end| *end <= size)
        };
        if let Some(document) = lengths.iter().zip(&starts).position(|document| fits(document).is_none()) {
            let (length, start) = (lengths[document], starts[document]);
            let what = format!(
                "document {document} has {length} tokens from byte {start} on, the file of tokens has {size} bytes"
            );
            return Err(bad(file, what, HEADER + 4 * document as u64));
        }
        let lengths = lengths.into_iter().map(|length| length as u32).collect();
        Ok(MegatronIndex { element, lengths, starts: starts.into_iter().map(|start| start as u64).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_more_documents_than_the_file_has_are_refused() {
        let mut bytes = [&MAGIC[..], &[8], &u64::MAX.to_le_bytes(), &[0; 8]].concat();
        let found = |bytes: &[u8]| header(bytes, 100).map(|header| header.documents);
        assert_eq!(found(&bytes), Err(format!("it declares {} documents, the file has 100 bytes", u64::MAX)));
        bytes[18..26].copy_from_slice(&5_u64.to_le_bytes());
        assert_eq!(found(&bytes), Ok(5));
        bytes[17] = 7;
        assert_eq!(found(&bytes), Err("the type of tokens is 7, expected one of whole numbers".into()));
        assert_eq!(found(&bytes[..20]), Err("the type of tokens is 7, expected one of whole numbers".into()));
        assert_eq!(found(b"MMIDIDX"), Err("the file does not begin with `MMIDIDX` and version 1".into()));
    }
}
