//! The samples of an archive: where each image lies, its key and its class.

use std::path::Path;

use tesson_core::{DataError, DataErrorKind, Defects, Error, Fetch, Indexed, Key, Location};

use super::fault::TarImageFault;
use super::members::{Input, Member, Members, Stop, Tar, split};
use super::options::TarOptions;
use crate::images::embedded::{EmbeddedImage, FILE, Form, TableBuilder};
use crate::images::{has_image_extension, is_image_extension, lossy, parse_label};

/// Bytes that may hold a class; longer text is none.
const LONGEST_LABEL: u64 = 64;

/// The members of one sample, as far as they count.
struct Sample {
    key: String,
    begin: u64,
    end: u64,
    images: Candidates,
    /// Images by the end of their extension alone, such as `7.mask.png`: they count where there is no other.
    others: Candidates,
    label: Option<Member>,
}

/// Members that are the sample's image; the second one is one too many.
type Candidates = [Option<Member>; 2];

impl Sample {
    fn new(key: String, begin: u64) -> Sample {
        Sample { key, begin, end: begin, images: [None, None], others: [None, None], label: None }
    }

    fn take(&mut self, member: Member, extension: &str, options: &TarOptions) {
        self.end = member.data.end;
        let wanted = options.image_extension.as_deref();
        if wanted.map_or_else(|| is_image_extension(extension), |only| only == extension) {
            push(&mut self.images, member);
        } else if extension == options.label_extension {
            self.label = Some(member);
        } else if wanted.is_none() && has_image_extension(&member.name) {
            push(&mut self.others, member);
        }
    }

    /// The image, and a second one if there are several.
    fn image(&self) -> Option<(&Member, Option<&Member>)> {
        let [first, second] = if self.images[0].is_some() { &self.images } else { &self.others };
        Some((first.as_ref()?, second.as_ref()))
    }
}

fn push(candidates: &mut Candidates, member: Member) {
    if let Some(free) = candidates.iter_mut().find(|candidate| candidate.is_none()) {
        *free = Some(member);
    }
}

/// Reads the headers of an archive once.
pub(super) fn read(
    file: &Path,
    options: &TarOptions,
    fetch: &dyn Fetch,
    defects: &mut Defects<'_>,
) -> Result<Indexed, Error> {
    let input = Input::new(fetch, FILE)?;
    let mut archive = Tar::new(&input);
    let mut table = TableBuilder::default();
    let mut sample: Option<Sample> = None;
    let (mut all_right, mut passed) = (true, 0);
    let mut add = |sample: Sample, defects: &mut Defects<'_>| match add(&mut table, &input, options, &sample)
    {
        Ok(()) => Ok(()),
        Err(Stop::Error(error)) => Err(error),
        Err(Stop::Fault(offset, fault)) => {
            all_right = false;
            let labels = options.images.labels().filter(|_| fault.is_of_label());
            let error = DataError::new(fault, at(file, offset));
            let stream = labels.map(|labels| labels.name.clone());
            Ok(defects.report(error.within(stream, Some(Key::Text(sample.key))))?)
        }
    };
    let walked: Result<(), Stop> = Members::new(&input, &mut archive).and_then(|mut members| {
        while let Some(member) = members.next()? {
            fetch.progress(member.data.end - passed);
            passed = member.data.end;
            if fetch.cancelled() {
                return Err(Error::Cancelled.into());
            }
            let names = split(&member.name);
            let is_of_sample = |sample: &Sample| names.as_ref().is_some_and(|(key, _)| *key == sample.key);
            if let Some(whole) = sample.take_if(|sample| !is_of_sample(sample)) {
                add(whole, defects)?;
            }
            if let Some((key, extension)) = names {
                let sample = sample.get_or_insert_with(|| Sample::new(key, member.begin));
                sample.take(member, &extension, options);
            }
        }
        Ok(())
    });
    let is_whole = walked.is_ok();
    match walked {
        Ok(()) => {}
        Err(Stop::Error(error)) => return Err(error),
        // Nothing behind it can be found.
        Err(Stop::Fault(offset, fault)) => defects.report(DataError::new(fault, at(file, offset)))?,
    }
    if let Some(last) = sample.take() {
        add(last, defects)?;
    }
    if table.is_empty() && all_right && is_whole {
        defects.report(DataError::new(TarImageFault::NoImages, at(file, 0)))?;
    }
    let unpack = |bytes: &[u8], into: &mut Vec<u8>| -> Result<(), DataErrorKind> {
        into.extend_from_slice(bytes);
        Ok(())
    };
    Ok(table.finish(&options.images, Form { unpack, has_lines: false }))
}

fn at(file: &Path, offset: u64) -> Location {
    Location { file: file.into(), offset, line: None }
}

/// Adds a sample to the table, unless it has no image.
fn add(
    table: &mut TableBuilder,
    input: &Input<'_>,
    options: &TarOptions,
    sample: &Sample,
) -> Result<(), Stop> {
    let Some((image, second)) = sample.image() else { return Ok(()) };
    if let Some(second) = second {
        let (first, name) = (image.name.clone(), second.name.clone());
        return Err(Stop::Fault(second.begin, TarImageFault::SeveralImages { first, second: name }));
    }
    let label = sample.label.as_ref().filter(|_| options.images.labels().is_some());
    if let Some(member) = [Some(image), label].into_iter().flatten().find(|member| member.is_sparse) {
        return Err(Stop::Fault(member.begin, TarImageFault::Sparse { member: member.name.clone() }));
    }
    let bytes = image.data.end - image.data.start;
    let Ok(len) = u32::try_from(bytes) else {
        let (what, most) = ("the image", u32::MAX.into());
        return Err(Stop::Fault(image.begin, TarImageFault::TooLarge { what, bytes, most }));
    };
    let label = match (options.images.labels(), label) {
        (None, _) => 0,
        (Some(_), None) => {
            let expected = format!("{}.{}", sample.key, options.label_extension);
            let fault = TarImageFault::NoLabel { image: image.name.clone(), expected };
            return Err(Stop::Fault(image.begin, fault));
        }
        (Some(labels), Some(member)) => {
            let shown = member.data.start..member.data.end.min(member.data.start + LONGEST_LABEL);
            let is_short = shown.end == member.data.end;
            let (label, found) = input.with(shown, |text| (parse_label(text), lossy(text.trim_ascii())))?;
            let label = label.filter(|(_, more_follows)| is_short && !more_follows);
            let Some((label, _)) = label else {
                let member = member.name.clone();
                return Err(Stop::Fault(sample.begin, TarImageFault::BadLabel { member, found }));
            };
            if label >= labels.limit() {
                let fault = TarImageFault::LabelOutOfRange { label, dim: labels.limit() };
                return Err(Stop::Fault(member.begin, fault));
            }
            label as u32
        }
    };
    let stored = EmbeddedImage { begin: image.data.start, len, label, line: 0 };
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
