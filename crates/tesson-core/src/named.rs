//! Resources that the data name: files of a list, members of archives.

use std::fmt;

use crate::ResourceId;

/// Files and members of archives that a deserializer has found listed in its data. The engine opens one when it is first
/// read; a million of them cost a million short names.
#[derive(Clone, Default)]
pub struct NamedResources {
    names: String,
    entries: Vec<Entry>,
}

/// The properties of a resource beside its name.
#[derive(Clone, Copy)]
struct Entry {
    /// The end of its name.
    end: usize,
    /// The archive, among these entries, plus 1; 0 for a file.
    archive: u32,
    /// The location at which it is listed.
    root: u32,
    line: u32,
}

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
        self.entries.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
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
        let is_file = self.entries.get(archive as usize).is_some_and(|entry| entry.archive == 0);
        assert!(is_file, "the archive is a file that has been added before");
        self.push(name, archive + 1, at)
    }

    fn push(&mut self, name: &str, archive: u32, at: ListedAt) -> u32 {
        self.names.push_str(name);
        self.entries.push(Entry { end: self.names.len(), archive, root: at.root.0, line: at.line });
        u32::try_from(self.entries.len() - 1).expect("resources are numbered with 32 bits")
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn get(&self, number: u32) -> NamedResource<'_> {
        let i = number as usize;
        let start = i.checked_sub(1).map_or(0, |before| self.entries[before].end);
        let Entry { end, archive, root, line } = self.entries[i];
        let (name, at) = (&self.names[start..end], ListedAt { root: ResourceId(root), line });
        match archive.checked_sub(1) {
            None => NamedResource::File { path: name, at },
            Some(archive) => NamedResource::Member { archive, name, at },
        }
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.names.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}

impl fmt::Debug for NamedResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} named resources", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_members_come_back_with_the_line_that_lists_them() {
        let at = |line| ListedAt { root: ResourceId(0), line };
        let mut named = NamedResources::default();
        assert_eq!(named.push_file("a/b.raw", at(1)), 0);
        let archive = named.push_file("all.zip", at(2));
        named.push_member(archive, "x.raw", at(2));
        assert_eq!(named.get(0), NamedResource::File { path: "a/b.raw", at: at(1) });
        assert_eq!(named.get(2), NamedResource::Member { archive: 1, name: "x.raw", at: at(2) });
    }

    #[test]
    fn a_name_takes_less_than_a_hundred_bytes_beside_its_path() {
        let mut named = NamedResources::default();
        let n = 100_000;
        (0..n).for_each(|i| {
            named.push_file("0123456789", ListedAt { root: ResourceId(0), line: i });
        });
        assert!(named.bytes() < n as usize * (10 + 100), "{} bytes", named.bytes());
    }
}
