//! Files as mappings.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// The bytes of a file, mapped into memory. A file that is cut short while it is mapped ends the process, so it is for files that
/// are promised not to change.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file. The caller promises that the file does not change while the mapping lives.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn map(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the bytes change only where the promise is broken.
        unsafe { Mmap::map(file) }.map(MappedFile)
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
