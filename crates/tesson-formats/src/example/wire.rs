//! Protobuf's wire format: tags, numbers, fields with a length.

use super::{ExampleError, Fault};

/// How the value of a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireType {
    Varint,
    Fixed64,
    Bytes,
    Group,
    EndGroup,
    Fixed32,
}

/// The number of a field and how its value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) field: u64,
    pub(super) wire: WireType,
}

/// Bytes that are taken off from the front. Places are counted from the start of what was handed to the parser.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    end: usize,
}

type Result<T> = std::result::Result<T, ExampleError>;

impl<'a> Wire<'a> {
    /// The bytes `start..end` of `bytes`.
    pub(super) fn new(bytes: &'a [u8], start: usize, end: usize) -> Wire<'a> {
        Wire { bytes: &bytes[..end], at: start, end }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// The bytes that are left.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Number of bytes left.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end - self.at
    }

    #[cold]
    pub(super) fn fail<T>(&self, fault: Fault) -> Result<T> {
        Err(ExampleError { offset: self.at, fault })
    }

    /// Takes the next byte and returns true if it is this one.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is);
        is
    }

    /// A number of one to ten bytes, seven bits each, lowest first. Bits beyond the 64th are dropped, as protobuf does.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64> {
        match self.bytes.get(self.at) {
            Some(&b) if b < 0x80 => {
                self.at += 1;
                Ok(u64::from(b))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for (i, &b) in self.rest().iter().take(10).enumerate() {
            value |= u64::from(b & 0x7f) << (7 * i);
            if b < 0x80 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        self.fail(if self.len() < 10 { Fault::Cut } else { Fault::LongNumber })
    }

    #[inline]
    pub(super) fn tag(&mut self) -> Result<Tag> {
        let start = *self;
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::Group,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return start.fail(Fault::BadTag),
        };
        let field = tag >> 3;
        if field == 0 || field > 0x1fff_ffff { start.fail(Fault::BadTag) } else { Ok(Tag { field, wire }) }
    }

    /// A length and so many bytes.
    #[inline]
    pub(super) fn field(&mut self) -> Result<Wire<'a>> {
        let start = *self;
        let len = self.varint()?;
        if len > self.len() as u64 {
            return start.fail(Fault::Cut);
        }
        Ok(self.split(len as usize))
    }

    /// The next `n` bytes, which are there.
    #[inline]
    fn split(&mut self, n: usize) -> Wire<'a> {
        let end = self.at + n;
        let part = Wire { bytes: &self.bytes[..end], at: self.at, end };
        self.at = end;
        part
    }

    /// Exactly four bytes.
    #[inline]
    pub(super) fn fixed32(&mut self) -> Result<[u8; 4]> {
        match self.rest().first_chunk::<4>() {
            Some(four) => {
                self.at += 4;
                Ok(*four)
            }
            None => self.fail(Fault::Cut),
        }
    }

    /// Skips the value of a field that is not wanted.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<()> {
        match tag.wire {
            WireType::Varint => self.varint().map(|_| ()),
            WireType::Fixed64 => self.skip_bytes(8),
            WireType::Fixed32 => self.skip_bytes(4),
            WireType::Bytes => self.field().map(|_| ()),
            WireType::Group => self.skip_group(tag.field),
            WireType::EndGroup => self.fail(Fault::BadTag),
        }
    }

    fn skip_bytes(&mut self, n: usize) -> Result<()> {
        if self.len() < n {
            return self.fail(Fault::Cut);
        }
        self.at += n;
        Ok(())
    }

    /// Steps over a group (an old form of nested message), whose end is a tag. Groups in it are counted, not called: a
    /// record of nothing but beginnings must not use up the stack.
    fn skip_group(&mut self, field: u64) -> Result<()> {
        let mut open = vec![field];
        while let Some(&innermost) = open.last() {
            let start = *self;
            if self.is_empty() {
                return self.fail(Fault::Cut);
            }
            let tag = self.tag()?;
            match tag.wire {
                WireType::Group => open.push(tag.field),
                WireType::EndGroup if tag.field == innermost => drop(open.pop()),
                WireType::EndGroup => return start.fail(Fault::BadTag),
                _ => self.skip(tag)?,
            }
        }
        Ok(())
    }
}
