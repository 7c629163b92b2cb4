//! The samples of an archive: where each picture lies, its key and its class.

use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Defects, Error, Fetch, Indexed, Key, Location};

use super::fault::TarImageFault;
use super::members::{Member, Members, Stop};
use super::options::TarOptions;
use crate::pictures::embedded::{Form, Picture, TableBuilder};
use crate::pictures::{has_picture_extension, lossy, parse_label};

/// Bytes that may hold a class; longer text is none.
const LONGEST_LABEL: u64 = 64;

/// The members of one sample, as far as they count.
struct Sample {
    key: String,
    begin: u64,
    end: u64,
    picture: Option<Member>,
    label: Option<Member>,
    /// A second picture, which is one too many.
    second: Option<Member>,
}

/// The key of a member's sample, and its extension in small letters: what precedes and follows the first `.` of its file name.
fn split(name: &str) -> Option<(String, String)> {
    let file = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = file + name[file..].find('.')?;
    (dot > file).then(|| (name[..dot].to_owned(), name[dot + 1..].to_ascii_lowercase()))
}

/// Reads the headers of an archive once.
pub(super) fn read(
    file: &Path,
    options: &TarOptions,
    fetch: &dyn Fetch,
    defects: &mut Defects<'_>,
) -> Result<Indexed, Error> {
    let mut members = Members::new(fetch)?;
    let mut table = TableBuilder::default();
    let mut sample: Option<Sample> = None;
    let (mut all_right, mut passed) = (true, 0);
    let mut take = |members: &mut Members<'_>, sample: Sample, defects: &mut Defects<'_>| match push(
        &mut table, members, options, &sample,
    ) {
        Ok(()) => Ok(()),
        Err(Stop::Error(error)) => Err(error),
        Err(Stop::Fault(offset, fault)) => {
            all_right = false;
            let labels = options.pictures.labels().filter(|_| fault.is_of_label());
            let error = DataError::new(fault, at(file, offset));
            let stream = labels.map(|labels| labels.name.clone());
            Ok(defects.report(error.within(stream, Some(Key::Text(sample.key))))?)
        }
    };
    loop {
        let member = match members.next() {
            Ok(member) => member,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Fault(offset, fault)) => {
                // Nothing behind it can be found.
                defects.report(DataError::new(fault, at(file, offset)))?;
                if let Some(sample) = sample.take() {
                    take(&mut members, sample, defects)?;
                }
                all_right = false;
                break;
            }
        };
        let names = member.as_ref().and_then(|member| split(&member.name));
        let is_of_sample = |sample: &mut Sample| names.as_ref().is_some_and(|(key, _)| *key == sample.key);
        if let Some(whole) = sample.take_if(|sample| !is_of_sample(sample)) {
            take(&mut members, whole, defects)?;
        }
        let Some(member) = member else { break };
        if let Some((key, extension)) = names {
            let sample = sample.get_or_insert(Sample {
                key,
                begin: member.begin,
                end: 0,
                picture: None,
                label: None,
                second: None,
            });
            sample.end = member.data.end;
            let is_picture = match &options.image_extension {
                Some(only) => *only == extension,
                None => has_picture_extension(&member.name),
            };
            match (is_picture, extension == options.label_extension) {
                (true, _) if sample.picture.is_none() => sample.picture = Some(member),
                (true, _) => sample.second = sample.second.take().or(Some(member)),
                (false, true) => sample.label = Some(member),
                (false, false) => {}
            }
        }
        fetch.progress(members.position() - passed);
        passed = members.position();
        if fetch.cancelled() {
            return Err(Error::Cancelled);
        }
    }
    if table.is_empty() && all_right {
        defects.report(DataError::new(TarImageFault::NoPictures, at(file, 0)))?;
    }
    let unpack = |bytes: &[u8], into: &mut Vec<u8>| -> Result<(), DataErrorKind> {
        into.extend_from_slice(bytes);
        Ok(())
    };
    Ok(table.finish(&options.pictures, Form { unpack, has_lines: false }))
}

fn at(file: &Path, offset: u64) -> Location {
    Location { file: file.into(), offset, line: None }
}

/// Takes in a sample, unless it has no picture.
fn push(
    table: &mut TableBuilder,
    members: &mut Members<'_>,
    options: &TarOptions,
    sample: &Sample,
) -> Result<(), Stop> {
    let Some(picture) = &sample.picture else { return Ok(()) };
    if let Some(second) = &sample.second {
        let (first, name) = (picture.name.clone(), second.name.clone());
        return Err(Stop::Fault(second.begin, TarImageFault::SeveralPictures { first, second: name }));
    }
    let bytes = picture.data.end - picture.data.start;
    let Ok(len) = u32::try_from(bytes) else {
        let (what, most) = ("the picture", u32::MAX.into());
        return Err(Stop::Fault(picture.begin, TarImageFault::TooLarge { what, bytes, most }));
    };
    let label = match (options.pictures.labels(), &sample.label) {
        (None, _) => 0,
        (Some(_), None) => {
            let expected = format!("{}.{}", sample.key, options.label_extension);
            let fault = TarImageFault::NoLabel { picture: picture.name.clone(), expected };
            return Err(Stop::Fault(picture.begin, fault));
        }
        (Some(labels), Some(member)) => {
            let shown = member.data.start..member.data.end.min(member.data.start + LONGEST_LABEL);
            let is_short = shown.end == member.data.end;
            let text = members.read(shown)?;
            let label = parse_label(text).filter(|(_, more_follows)| is_short && !more_follows);
            let Some((label, _)) = label else {
                let (member, found) = (member.name.clone(), lossy(text.trim_ascii()));
                return Err(Stop::Fault(sample.begin, TarImageFault::BadLabel { member, found }));
            };
            if label >= labels.dim {
                let fault = TarImageFault::LabelOutOfRange { label, dim: labels.dim };
                return Err(Stop::Fault(member.begin, fault));
            }
            label as u32
        }
    };
    let stored = Picture { begin: picture.data.start, len, label, line: 0 };
    table.push(Some(sample.key.as_bytes()), 0, sample.begin..sample.end, stored);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_first_point_of_the_file_name() {
        let names = |key: &str, extension: &str| Some((key.to_owned(), extension.to_owned()));
        assert_eq!(split("a.b/7.left.JPG"), names("a.b/7", "left.jpg"));
        assert_eq!(split("7.cls"), names("7", "cls"));
        assert_eq!((split("a/.hidden"), split("a/README")), (None, None));
    }
}
