//! Remedies for a local file that cannot be opened: the name that was meant, or the obstacle.

use std::fs::read_dir;
use std::io;
use std::path::{Component, Path, PathBuf};

use tesson_core::nearest;

/// Names of a folder that are looked at, and that are listed.
const LOOKED_AT: usize = 10_000;
const LISTED: usize = 3;

/// Half a sentence that says what to do about an error of opening a file, if anything is known.
pub(super) fn of(path: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::NotFound => Some(missing(path)),
        io::ErrorKind::PermissionDenied => Some("give this user the right to it".into()),
        _ if path.is_dir() => listed(path),
        // A pipe or a device.
        _ if path.exists() && !path.is_file() => Some("write its data to a file first".into()),
        _ => None,
    }
}

fn missing(path: &Path) -> String {
    if let Some((scheme, _)) = path.to_str().and_then(|name| name.split_once("://")) {
        return format!("only local files are read, not those of `{scheme}`; download it first");
    }
    if path == Path::new("-") {
        return "standard input cannot be read at any position; write it to a file first".into();
    }
    if let Some(whole) = home(path) {
        return format!("only a shell knows `~`, write `{}`", whole.display());
    }
    if let Some(name) = path.to_str().filter(|name| cfg!(unix) && name.contains('\\')) {
        return format!(
            "it is written as on Windows; `/` separates folders here, as in `{}`",
            name.replace('\\', "/")
        );
    }
    // The deepest folder that is there, and the first name that it lacks.
    let folders =
        path.ancestors().skip(1).map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let Some((folder, absent)) = folders.zip(path.ancestors()).find(|(folder, _)| folder.is_dir()) else {
        return "expected the name of a file".into();
    };
    let name = absent.file_name().unwrap_or_default().to_string_lossy();
    let names = names_in(folder);
    let is_whole = absent == path;
    match nearest(&name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", absent.with_file_name(near).display()),
        None if !is_whole && path.is_relative() => match std::env::current_dir() {
            Ok(here) => format!("there is no folder `{}` in `{}`", absent.display(), here.display()),
            Err(_) => format!("there is no folder `{}`", absent.display()),
        },
        None if !is_whole => format!("there is no folder `{}`", absent.display()),
        None => match std::env::current_dir() {
            Ok(here) if path.is_relative() => format!("relative names start from `{}`", here.display()),
            _ => listed(folder).unwrap_or_else(|| format!("the folder `{}` is empty", folder.display())),
        },
    }
}

/// The path that begins with `~`, with the home folder in its place.
fn home(path: &Path) -> Option<PathBuf> {
    let mut components = path.components();
    match components.next() {
        Some(Component::Normal(first)) if first == "~" => {
            Some(std::env::home_dir()?.join(components.as_path()))
        }
        _ => None,
    }
}

/// A sentence that lists the first few names in a folder.
fn listed(folder: &Path) -> Option<String> {
    let names = names_in(folder);
    let first: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    (!first.is_empty()).then(|| format!("`{}` holds {}{more}", folder.display(), first.join(", ")))
}

/// The names in a folder, sorted; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = read_dir(folder).into_iter().flatten().flatten().take(LOOKED_AT);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str, names: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tesson-remedy-{test}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("data")).unwrap();
        for name in names {
            std::fs::write(folder.join("data").join(name), "").unwrap();
        }
        folder
    }

    fn remedy(path: &Path) -> String {
        of(path, &io::ErrorKind::NotFound.into()).unwrap()
    }

    #[test]
    fn the_nearest_name_is_proposed_for_a_file_or_a_folder() {
        let folder = folder("nearest", &["train.ctf", "test.ctf"]);
        let meant = format!("did you mean `{}`?", folder.join("data/train.ctf").display());
        assert_eq!(remedy(&folder.join("data/trian.ctf")), meant);
        let meant = format!("did you mean `{}`?", folder.join("data").display());
        assert_eq!(remedy(&folder.join("date/train.ctf")), meant);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_there_is_said_where_no_name_is_near() {
        let folder = folder("listed", &["a", "b", "c", "d"]);
        let data = folder.join("data");
        assert_eq!(
            remedy(&data.join("quite-another")),
            format!("`{}` holds `a`, `b`, `c`, …", data.display())
        );
        let absent = folder.join("elsewhere");
        assert_eq!(remedy(&absent.join("x")), format!("there is no folder `{}`", absent.display()));
        let is_folder = of(&data, &io::ErrorKind::InvalidInput.into()).unwrap();
        assert_eq!(is_folder, format!("`{}` holds `a`, `b`, `c`, …", data.display()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_tilde_is_written_out_and_a_relative_name_has_its_start() {
        let home = std::env::home_dir().unwrap();
        assert_eq!(
            remedy(Path::new("~/x.ctf")),
            format!("only a shell knows `~`, write `{}`", home.join("x.ctf").display())
        );
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            remedy(Path::new("quite-another")),
            format!("relative names start from `{}`", here.display())
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_missing_has_its_start_and_a_path_of_windows_its_form() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            remedy(Path::new("quite-another/x/a.jpg")),
            format!("there is no folder `quite-another` in `{}`", here.display())
        );
        assert!(remedy(Path::new("C:\\a\\b.jpg")).ends_with("as in `C:/a/b.jpg`"));
    }

    #[test]
    fn what_is_no_local_file_is_told_apart() {
        let found = ["s3://bucket/x", "-"].map(|name| remedy(Path::new(name)));
        assert_eq!(found[0], "only local files are read, not those of `s3`; download it first");
        assert_eq!(found[1], "standard input cannot be read at any position; write it to a file first");
    }

    #[test]
    fn a_file_that_may_not_be_read_is_to_be_made_readable() {
        let what = of(Path::new("x"), &io::ErrorKind::PermissionDenied.into());
        assert_eq!(what.as_deref(), Some("give this user the right to it"));
        assert_eq!(of(Path::new("x"), &io::ErrorKind::TimedOut.into()), None);
        #[cfg(unix)]
        {
            let device = of(Path::new("/dev/null"), &io::ErrorKind::InvalidInput.into());
            assert_eq!(device.as_deref(), Some("write its data to a file first"));
        }
    }
}
