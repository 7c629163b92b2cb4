//! Resources that the data name: files of a list, members of archives.

use std::fmt;

use crate::{ResourceId, varint};

/// Files and members of archives that a deserializer has found listed in its data. The engine opens one when it is first
/// read.
///
/// Lists are long and their names alike, so they are kept packed: a name as what it does not have in common with the one
/// before it, and about three bytes for all else. [`NamedResources::get`] unpacks one into memory of its caller.
#[derive(Clone, Default)]
pub struct NamedResources {
    /// Groups of [`GROUP`] resources, packed.
    groups: Vec<Box<[u8]>>,
    /// The group that is not complete.
    open: Vec<u8>,
    /// The last resource of it, and its name.
    last: Entry,
    last_name: String,
    len: u32,
    /// Bytes of all groups.
    packed: usize,
    /// A number that is known to be that of a file.
    last_file: Option<u32>,
}

/// Resources that are packed together: that many are unpacked, at most, to know one.
const GROUP: u32 = 32;

/// Bytes that the allocator adds to a group, about.
const ALLOCATION: usize = 16;

/// The properties of a resource beside its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// The archive, among these entries, plus 1; 0 for a file.
    archive: u32,
    /// The location at which it is listed.
    root: u32,
    line: u32,
}

impl Entry {
    /// The entry expected after this one: in its archive, at the next line of its list.
    fn expected(self) -> Entry {
        Entry { line: self.line.wrapping_add(1), ..self }
    }
}

/// In front of an entry: its archive is not that of the entry before.
const OTHER_ARCHIVE: u64 = 1;
/// It is not listed in the line after that of the entry before.
const OTHER_LINE: u64 = 2;
/// The bits of these.
const MARKS: u32 = 2;

/// The location at which a resource is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedAt {
    /// The resource that lists it, one that the configuration names.
    pub root: ResourceId,
    /// The line of it, from 1, or [`ListedAt::IN_FOLDER`].
    pub line: u32,
}

impl ListedAt {
    /// The line of files that a folder holds.
    pub const IN_FOLDER: u32 = 0;
}

/// One of [`NamedResources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedResource<'a> {
    /// A file.
    File {
        /// Its path.
        path: &'a str,
        /// The location at which it is listed.
        at: ListedAt,
    },
    /// A member of a `zip` archive.
    Member {
        /// The archive's number among the named resources.
        archive: u32,
        /// The member's name in the archive.
        name: &'a str,
        /// The location at which it is listed.
        at: ListedAt,
    },
}

impl NamedResources {
    /// The number of resources.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a file, or an archive; returns its number.
    pub fn push_file(&mut self, path: &str, at: ListedAt) -> u32 {
        self.push(path, 0, at)
    }

    /// Adds a member of an archive that has been added before; returns its number.
    ///
    /// # Panics
    /// If there is no such archive.
    pub fn push_member(&mut self, archive: u32, name: &str, at: ListedAt) -> u32 {
        if self.last_file != Some(archive) {
            let is_file = archive < self.len && self.unpack(archive, &mut String::new()).archive == 0;
            assert!(is_file, "the archive is a file that has been added before");
            self.last_file = Some(archive);
        }
        self.push(name, archive + 1, at)
    }

    fn push(&mut self, name: &str, archive: u32, at: ListedAt) -> u32 {
        let number = self.len;
        self.len = number.checked_add(1).expect("resources are numbered with 32 bits");
        let expected = self.last.expected();
        let entry = Entry { archive, root: at.root.0, line: at.line };
        let other_archive = entry.archive != expected.archive;
        let other_line = (entry.root, entry.line) != (expected.root, expected.line);
        let shared = shared_prefix(&self.last_name, name);
        let marks = u64::from(other_archive) * OTHER_ARCHIVE + u64::from(other_line) * OTHER_LINE;
        varint::put((shared as u64) << MARKS | marks, &mut self.open);
        varint::put((name.len() - shared) as u64, &mut self.open);
        if other_archive {
            varint::put(entry.archive.into(), &mut self.open);
        }
        if other_line {
            varint::put(entry.root.into(), &mut self.open);
            varint::put(entry.line.into(), &mut self.open);
        }
        self.open.extend_from_slice(&name.as_bytes()[shared..]);
        self.last = entry;
        self.last_name.truncate(shared);
        self.last_name.push_str(&name[shared..]);
        if self.len.is_multiple_of(GROUP) {
            self.packed += self.open.len();
            self.groups.push(self.open.as_slice().into());
            self.open.clear();
            self.last = Entry::default();
            self.last_name.clear();
        }
        number
    }

    /// One of them. Its name lies in `name`, over what that holds.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn get<'a>(&self, number: u32, name: &'a mut String) -> NamedResource<'a> {
        let Entry { archive, root, line } = self.unpack(number, name);
        let at = ListedAt { root: ResourceId(root), line };
        match archive.checked_sub(1) {
            None => NamedResource::File { path: name, at },
            Some(archive) => NamedResource::Member { archive, name, at },
        }
    }

    fn unpack(&self, number: u32, name: &mut String) -> Entry {
        assert!(number < self.len, "resource {number} of {}", self.len);
        let mut packed = self.groups.get((number / GROUP) as usize).map_or(&*self.open, |group| &**group);
        let mut entry = Entry::default();
        name.clear();
        for _ in 0..=number % GROUP {
            entry = unpack_next(&mut packed, entry, name).expect("what was packed is unpacked");
        }
        entry
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        let groups = self.groups.capacity() * size_of::<Box<[u8]>>() + self.groups.len() * ALLOCATION;
        self.packed + groups + self.open.capacity() + self.last_name.capacity()
    }
}

/// The number of bytes that two names have in common at their beginning, in whole characters.
fn shared_prefix(a: &str, b: &str) -> usize {
    const AT_ONCE: usize = 16;
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let most = x.len().min(y.len());
    let mut n = 0;
    while n + AT_ONCE <= most && x[n..n + AT_ONCE] == y[n..n + AT_ONCE] {
        n += AT_ONCE;
    }
    while n < most && x[n] == y[n] {
        n += 1;
    }
    while !b.is_char_boundary(n) {
        n -= 1;
    }
    n
}

/// The entry that is packed next, after another one whose name is `name`, which becomes its own.
fn unpack_next(packed: &mut &[u8], last: Entry, name: &mut String) -> Option<Entry> {
    let first = varint::take(packed)?;
    let len = varint::take(packed)? as usize;
    let mut entry = last.expected();
    if first & OTHER_ARCHIVE != 0 {
        entry.archive = varint::take(packed)? as u32;
    }
    if first & OTHER_LINE != 0 {
        entry.root = varint::take(packed)? as u32;
        entry.line = varint::take(packed)? as u32;
    }
    let (rest, after) = packed.split_at_checked(len)?;
    name.truncate((first >> MARKS) as usize);
    name.push_str(std::str::from_utf8(rest).ok()?);
    *packed = after;
    Some(entry)
}

impl fmt::Debug for NamedResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} named resources", self.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_and_members_come_back_with_the_line_that_lists_them() {
        let at = |line| ListedAt { root: ResourceId(0), line };
        let mut named = NamedResources::default();
        assert_eq!(named.push_file("a/b.raw", at(1)), 0);
        let archive = named.push_file("all.zip", at(2));
        named.push_member(archive, "x.raw", at(2));
        let mut name = String::new();
        assert_eq!(named.get(0, &mut name), NamedResource::File { path: "a/b.raw", at: at(1) });
        let member = NamedResource::Member { archive: 1, name: "x.raw", at: at(2) };
        assert_eq!(named.get(2, &mut name), member);
    }

    /// Names that are alike or not, where each is listed, and whether it is of a member of the last file.
    fn listed() -> impl Strategy<Value = Vec<(String, u32, u32, bool)>> {
        let name = prop_oneof!["[ab]{0,3}", "folder/of/all/[aäα€🦀]{0,4}", "[a-z/]{0,40}"];
        let line = prop_oneof![Just(0u32), 1u32..5, any::<u32>()];
        prop::collection::vec((name, 0u32..3, line, any::<bool>()), 0..150)
    }

    proptest! {
        #[test]
        fn what_was_added_is_what_comes_back(listed in listed()) {
            let mut named = NamedResources::default();
            let (mut last_file, mut line) = (None, 0u32);
            let mut expected = Vec::new();
            for (name, root, gap, is_member) in listed {
                line = if gap == 1 { line.wrapping_add(1) } else { gap };
                let at = ListedAt { root: ResourceId(root), line };
                let archive = last_file.filter(|_| is_member);
                let number = match archive {
                    Some(archive) => named.push_member(archive, &name, at),
                    None => named.push_file(&name, at),
                };
                prop_assert_eq!(number as usize, expected.len());
                if archive.is_none() {
                    last_file = Some(number);
                }
                expected.push((archive, name, at));
            }
            prop_assert_eq!(named.len(), expected.len());
            let mut found = String::from("of another");
            for (number, (archive, name, at)) in expected.iter().enumerate().rev() {
                let expected = match *archive {
                    None => NamedResource::File { path: name, at: *at },
                    Some(archive) => NamedResource::Member { archive, name, at: *at },
                };
                prop_assert_eq!(named.get(number as u32, &mut found), expected);
            }
        }
    }

    #[test]
    fn a_name_takes_three_bytes_beside_what_it_has_for_itself() {
        let mut named = NamedResources::default();
        let n = 100_000;
        (0..n).for_each(|i| {
            let path = format!("/data/pictures/of/a/folder/{i:06}.jpg");
            named.push_file(&path, ListedAt { root: ResourceId(0), line: i + 1 });
        });
        // Mostly the last digit and `.jpg` differ; every group has one name as a whole.
        assert!(named.bytes() < n as usize * (5 + 1 + 3 + 2), "{} bytes", named.bytes());
    }
}
