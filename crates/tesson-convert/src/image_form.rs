//! The form in which a path holds images, as its content shows it: for the command line and for Python's `read_images`, which share it.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};
use tesson_engine::file_patterns::{is_pattern, matching};
use tesson_engine::store::{FolderName, Store as _, Stores};
use tesson_formats::tar_image::members::split;

/// Bytes of a list that are looked at.
const SAMPLE_BYTES: u64 = 64 << 10;

/// Members of an archive that are looked at, and bytes of one that are passed over, at most.
const MEMBERS: usize = 64;
const MOST_IN_TAR: u64 = 64 << 20;

/// How archives are named.
const TAR_NAMES: [&str; 3] = [".tar", ".tar.gz", ".tgz"];

/// How files of images begin in Base64, JPEG and PNG, which nothing else does; and GIF, BMP, WebP and TIFF, where they have as many
/// characters as any image.
const BASE64: [&str; 2] = ["/9j/", "iVBORw0KGgo"];
const SHORT_BASE64: [&str; 5] = ["R0lGOD", "Qk", "UklGR", "SUkq", "TU0A"];
const BASE64_LENGTH: usize = 40;

/// The kinds of what holds images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A folder, perhaps with one of images for each class.
    Folder,
    /// A list of files.
    List,
    /// Lines with an image in each.
    Base64,
    /// A tar archive as WebDataset packs it.
    Tar,
}

impl ImageKind {
    /// The kind as one word.
    pub fn name(self) -> &'static str {
        match self {
            ImageKind::Folder => "folder",
            ImageKind::List => "list",
            ImageKind::Base64 => "base64",
            ImageKind::Tar => "tar",
        }
    }
}

/// The form in which a path holds images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageForm {
    /// The kind.
    pub kind: ImageKind,
    /// The path as deserializers name it: a zip archive is a folder.
    pub path: String,
    /// The format of a list.
    pub map_format: Option<&'static str>,
    /// The first line of a list that is not blank.
    first_line: String,
}

impl ImageForm {
    /// The form of what names and patterns stand for: several are archives, of which the first one tells the rest.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_all(names: &[String]) -> io::Result<ImageForm> {
        match names {
            [one] if !is_pattern(one) => ImageForm::of(one),
            several => {
                let path = first_file(several).map_or_else(String::new, |path| path.to_string_lossy().into());
                Ok(ImageForm { kind: ImageKind::Tar, path, map_format: None, first_line: String::new() })
            }
        }
    }

    /// The form of what a path names.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of(path: &str) -> io::Result<ImageForm> {
        let form =
            |kind| ImageForm { kind, path: path.to_owned(), map_format: None, first_line: String::new() };
        if path.contains("://") && stores().entry(Path::new(path)).is_err() {
            // Elsewhere than on this machine the name says it.
            return Ok(form(if is_tar_name(path) {
                ImageKind::Tar
            } else if path.ends_with('/') {
                ImageKind::Folder
            } else {
                ImageKind::List
            }));
        }
        if stores().entry(Path::new(path)).is_ok_and(|found| found.is_folder()) {
            return Ok(form(ImageKind::Folder));
        }
        let mut beginning = Vec::new();
        stores().stream(Path::new(path))?.take(SAMPLE_BYTES).read_to_end(&mut beginning)?;
        match &beginning[..] {
            [b'P', b'K', 3, 4, ..] => {
                let path = format!("zip://{path}@/{}", outermost(path));
                Ok(ImageForm { path, ..form(ImageKind::Folder) })
            }
            [0x1f, 0x8b, ..] => Ok(form(ImageKind::Tar)),
            tar if is_tar(tar) => Ok(form(ImageKind::Tar)),
            text => {
                let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
                Ok(ImageForm { path: path.to_owned(), ..ImageForm::of_list(Path::new(path), &text) })
            }
        }
    }

    /// The form of a list, by its name and its first lines.
    fn of_list(path: &Path, text: &str) -> ImageForm {
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let (kind, map_format) = if end == "jsonl" || end == "ndjson" || line.starts_with('{') {
            (ImageKind::List, Some("jsonl"))
        } else if end == "csv" || !line.contains('\t') && line.contains(',') {
            (ImageKind::List, Some("csv"))
        } else if line.rsplit_once('\t').is_some_and(|(_, last)| is_base64(last)) {
            (ImageKind::Base64, None)
        } else {
            (ImageKind::List, Some("cntk"))
        };
        ImageForm { kind, path: String::new(), map_format, first_line: line.to_owned() }
    }

    /// True if there are classes; of a list in the column of this name.
    ///
    /// # Errors
    /// An archive or a folder that cannot be read.
    pub fn has_labels(&self, column: &str) -> io::Result<bool> {
        Ok(match (self.kind, self.map_format) {
            (ImageKind::Folder, _) if self.path.contains("://") && !self.path.starts_with("zip://") => false,
            (ImageKind::Folder, _) => names(&self.path)?.iter().any(|entry| entry.is_folder),
            (ImageKind::Tar, _) => {
                extensions_in_tar(Path::new(&self.path))?.iter().any(|found| found == "cls")
            }
            (ImageKind::Base64, _) => true,
            (ImageKind::List, Some("csv")) => {
                self.first_line.split(',').any(|name| name.trim().trim_matches('"') == column)
            }
            (ImageKind::List, Some("jsonl")) => {
                // What is no object is refused when it is read.
                serde_json::from_str::<Map<String, Value>>(&self.first_line)
                    .is_ok_and(|object| object.contains_key(column))
            }
            (ImageKind::List, _) => self.first_line.contains('\t'),
        })
    }
}

/// Local files, and members of archives.
fn stores() -> Stores {
    Stores::local()
}

/// The first of the files that names and patterns stand for.
pub fn first_file(names: &[String]) -> Option<PathBuf> {
    names.iter().find_map(|name| {
        if !is_pattern(name) {
            return Some(PathBuf::from(name));
        }
        matching(&stores(), name, "file").ok()?.into_iter().next()
    })
}

/// The extensions of the members of an archive's first sample, in lower case and in order.
///
/// # Errors
/// An archive that cannot be read.
pub fn extensions_in_tar(path: &Path) -> io::Result<Vec<String>> {
    let mut archive = tar::Archive::new(unpacked(BufReader::new(stores().stream(path)?))?);
    let (mut found, mut key) = (Vec::new(), None);
    for member in archive.entries()?.take(MEMBERS) {
        let member = member?;
        let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
        if let Some((of, extension)) = split(&name).filter(|_| member.header().entry_type().is_file()) {
            if key.get_or_insert_with(|| of.clone()) != &of {
                break;
            }
            found.push(extension);
        }
        if member.size() > MOST_IN_TAR {
            break;
        }
    }
    Ok(found)
}

/// A file from its beginning, unpacked if gzip has compressed it.
fn unpacked(mut file: impl BufRead + 'static) -> io::Result<Box<dyn Read>> {
    Ok(if file.fill_buf()?.starts_with(b"\x1f\x8b") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// True if a file begins as a tar archive does.
pub fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(257..262) == Some(b"ustar")
}

/// True if a file is named as a tar archive is, compressed or not.
pub fn is_tar_name(name: &str) -> bool {
    TAR_NAMES.iter().any(|end| name.ends_with(end))
}

/// True if a text is an image in Base64, by its first characters.
pub fn is_base64(text: &str) -> bool {
    let begins = |with: &[&str]| with.iter().any(|beginning| text.starts_with(beginning));
    begins(&BASE64) || text.len() >= BASE64_LENGTH && begins(&SHORT_BASE64)
}

/// The names in a folder, without what macOS adds to archives.
fn names(folder: &str) -> io::Result<Vec<FolderName>> {
    let mut names = stores().names(Path::new(folder))?;
    names.retain(|entry| entry.name != "__MACOSX");
    Ok(names)
}

/// The folder that an archive has everything in, if that has folders in turn; else none.
fn outermost(archive: &str) -> String {
    let inside = |folder: &str| names(&format!("zip://{archive}@/{folder}")).unwrap_or_default();
    match &inside("")[..] {
        [outer] if outer.is_folder && inside(&outer.name).iter().any(|entry| entry.is_folder) => {
            outer.name.clone()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_told_by_their_first_line() {
        let long = format!("7\tQk{}", "A".repeat(40));
        for (name, text, kind, map_format, labels) in [
            ("a.txt", "a.jpg\t0\n", ImageKind::List, Some("cntk"), true),
            ("a.txt", "\na.jpg\n", ImageKind::List, Some("cntk"), false),
            ("a.csv", "path\n", ImageKind::List, Some("csv"), false),
            ("a.txt", "path,\"label\"\n", ImageKind::List, Some("csv"), true),
            ("a.txt", "{\"path\": \"a.jpg\", \"label\": 0}\n", ImageKind::List, Some("jsonl"), true),
            ("a.jsonl", "[1]\n", ImageKind::List, Some("jsonl"), false),
            ("a.txt", "7\tiVBORw0KGgo=\n", ImageKind::Base64, None, true),
            ("a.txt", &long, ImageKind::Base64, None, true),
            ("a.txt", "7\tQkAA\n", ImageKind::List, Some("cntk"), true),
        ] {
            let form = ImageForm::of_list(Path::new(name), text);
            assert_eq!((form.kind, form.map_format), (kind, map_format), "{text}");
            assert_eq!(form.has_labels("label").unwrap(), labels, "{text}");
        }
    }

    #[test]
    fn what_is_elsewhere_is_told_by_its_name() {
        for (path, kind) in [
            ("s3://a/b.tar.gz", ImageKind::Tar),
            ("s3://a/b/", ImageKind::Folder),
            ("s3://a/b.lst", ImageKind::List),
        ] {
            let form = ImageForm::of(path).unwrap();
            assert_eq!((form.kind, &*form.path), (kind, path));
        }
    }
}
