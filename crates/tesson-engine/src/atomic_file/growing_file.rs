//! A file that grows over several runs of a program.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that is appended to, also after a kill: it has its name from the beginning, and what it holds says how much of it is
/// whole.
#[derive(Debug)]
pub struct GrowingFile(File);

impl GrowingFile {
    /// Opens a file that was made so, or makes it. A link or a pipe in its place is somebody else's, and nothing is read or
    /// written through it.
    ///
    /// # Errors
    /// Errors of the file system; anything but a regular file.
    pub fn open(path: &Path) -> io::Result<GrowingFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = match fs::symlink_metadata(path) {
            Ok(found) if found.is_file() => options.open(path),
            Ok(_) => {
                let what = "is no regular file, expected one that this writer has made; remove it";
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => options.create_new(true).open(path),
            Err(e) => Err(e),
        };
        file.map(GrowingFile)
    }

    /// Opens a file to which lines are appended, whatever it is and holds, or makes it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn append_to(path: &Path) -> io::Result<GrowingFile> {
        OpenOptions::new().create(true).append(true).open(path).map(GrowingFile)
    }

    /// Cuts the file to its first `bytes`, and writes after them.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)?;
        self.0.seek(SeekFrom::Start(bytes)).map(drop)
    }

    /// Waits until the disk has what was written.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
