//! The block in front of each member of a tar archive: ustar, GNU's and the older form.

use super::fault::TarImageFault;

/// Bytes of a block; headers are one, and data fill whole ones.
pub(super) const BLOCK: usize = 512;

/// What follows a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file.
    File,
    /// The name of the next member (GNU).
    LongName,
    /// Attributes of the next member (POSIX).
    Attributes,
    /// Folders, links and whatever else is no file.
    Other,
}

/// A header, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    /// Bytes of the data that follow.
    pub(super) size: u64,
    pub(super) kind: Kind,
}

impl Header {
    /// The header in a block; `None` in the block of zeros that ends an archive.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Option<Header>, TarImageFault> {
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let bad = |why| TarImageFault::BadHeader { why };
        let sum = number(&block[148..156]).ok_or_else(|| bad("its checksum is no number"))?;
        let blank = |(i, &byte): (usize, &u8)| if (148..156).contains(&i) { b' ' } else { byte };
        let bytes = || block.iter().enumerate().map(blank);
        // Some old programs added signed bytes.
        let unsigned: u64 = bytes().map(u64::from).sum();
        let signed: i64 = bytes().map(|byte| i64::from(byte as i8)).sum();
        if sum != unsigned && i64::try_from(sum) != Ok(signed) {
            return Err(bad("its checksum is another one"));
        }
        let size = number(&block[124..136]).ok_or_else(|| bad("its size is no number"))?;
        let kind = match block[156] {
            0 | b'0' | b'7' => Kind::File,
            b'L' => Kind::LongName,
            b'x' => Kind::Attributes,
            b'S' => return Err(bad("it is that of a sparse file, which is not supported")),
            _ => Kind::Other,
        };
        // Links have the size of what they name, and no data.
        let size = if matches!(block[156], b'1' | b'2') { 0 } else { size };
        let mut name = until_zero(&block[345..500]).to_vec();
        if block[257..263] != *b"ustar\0" || name.is_empty() {
            name.clear();
        } else {
            name.push(b'/');
        }
        name.extend_from_slice(until_zero(&block[..100]));
        Ok(Some(Header { name, size, kind }))
    }
}

/// The text before the first zero.
pub(super) fn until_zero(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

/// A number in octal digits between blanks and zeros, or, after a bit that says so, in binary.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_small = high[0] == 0x80 && high[1..].iter().all(|&byte| byte == 0);
        // Fields of 8 bytes begin with that bit.
        let low: [u8; 8] = low.try_into().ok()?;
        let value = u64::from_be_bytes(low) & if high.is_empty() { u64::MAX >> 1 } else { u64::MAX };
        return (high.is_empty() || is_small).then_some(value);
    }
    let digits = until_zero(field).trim_ascii();
    if digits.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The value of an attribute among POSIX's, which are lines of a length, a blank, a name, `=` and a value.
pub(super) fn attribute<'a>(mut text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    while let Some(blank) = text.iter().position(|&byte| byte == b' ') {
        let length: usize = std::str::from_utf8(&text[..blank]).ok()?.parse().ok()?;
        let (line, rest) = text.split_at_checked(length)?;
        let line = line.get(blank + 1..)?.strip_suffix(b"\n")?;
        let value = line.strip_prefix(name.as_bytes()).and_then(|line| line.strip_prefix(b"="));
        found = value.or(found);
        text = rest;
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A header with its checksum.
    pub(crate) fn header(name: &[u8], size: u64, kind: u8) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name);
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block[257..263].copy_from_slice(b"ustar\0");
        seal(&mut block);
        block
    }

    fn seal(block: &mut [u8; BLOCK]) {
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }

    #[test]
    fn headers_have_a_name_a_size_and_a_kind() {
        let parsed = |block: &[u8; BLOCK]| Header::parse(block);
        let file = Header { name: b"a/7.jpg".to_vec(), size: 1000, kind: Kind::File };
        assert_eq!(parsed(&header(b"a/7.jpg", 1000, b'0')), Ok(Some(file.clone())));
        let mut long = header(b"7.jpg", 1000, b'0');
        long[345] = b'a';
        seal(&mut long);
        assert_eq!(parsed(&long), Ok(Some(file)));
        let mut large = header(b"x", 0, 0);
        large[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]);
        seal(&mut large);
        assert_eq!(parsed(&large).unwrap().unwrap().size, (2 << 32) + 1);
        assert_eq!(parsed(&header(b"link", 99, b'2')).unwrap().unwrap().size, 0);
        assert_eq!(parsed(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let mut block = header(b"x", 5, b'0');
        block[0] = b'y';
        let checksum = TarImageFault::BadHeader { why: "its checksum is another one" };
        assert_eq!(Header::parse(&block), Err(checksum));
        assert!(Header::parse(&[b'x'; BLOCK]).is_err());
        assert!(Header::parse(&header(b"x", 5, b'S')).is_err());
    }

    #[test]
    fn the_last_value_of_an_attribute_counts() {
        let text = b"12 path=a/b\n11 size=10\n12 path=c/d\n";
        assert_eq!(attribute(text, "path"), Some(&b"c/d"[..]));
        assert_eq!(attribute(text, "size"), Some(&b"10"[..]));
        assert_eq!(attribute(text, "mtime"), None);
        for bad in [&b"99 path=a\n"[..], b"x path=a\n", b"2 path=a\n", b"-1 a=b\n"] {
            assert_eq!(attribute(bad, "path"), None, "{bad:?}");
        }
    }
}
