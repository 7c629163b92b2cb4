//! The kinds of errors: enums with a stable code for each kind, which the manual lists.
//!
//! [`Error::code`](crate::Error::code) gives the code of an error;
//! [`DataErrorKind::of_format`](tesson_core::DataErrorKind::of_format) gives the fault of one format as that format's enum.

use tesson_audio::AudioFault;
use tesson_config::ConfigConflict;
use tesson_core::{DataErrorKind, Error, ErrorCodes as _, ErrorEntry, error_entries, readable};
use tesson_engine::EngineRefusal;
use tesson_formats::FilesFault;
use tesson_formats::base64_image::Base64ImageFault;
use tesson_formats::cbf::CbfFault;
use tesson_formats::ctf::CtfFault;
use tesson_formats::example::ExampleError;
use tesson_formats::htk::HtkFault;
use tesson_formats::image_map::ImageMapFault;
use tesson_formats::kaldi::KaldiFault;
use tesson_formats::mlf::MlfFault;
use tesson_formats::record::Fault as RecordFault;
use tesson_formats::tar_image::TarImageFault;
use tesson_formats::user::UserFault;
use tesson_image::decode::PictureError;
use tesson_image::transform::TransformFault;
use tesson_plan::PlanRefusal;
use tesson_tfds::fault::TfdsFault;
use tesson_tfds::features::FeatureFault;

/// Kinds with one remedy for many reasons: their texts say what is expected, and the remedy adds nothing.
const GENERAL: [&str; 7] = [
    "config.invalid-option",
    "config.unknown-option",
    "data.malformed",
    "data.transform",
    "data.user-code",
    "read.cancelled",
    "usage.invalid-call",
];

/// The manual's page of errors: each kind with its code, meaning, remedy and an example of its text.
pub fn manual() -> String {
    tesson_core::error_manual(entries())
}

/// The remedy of the errors with a code, as the manual gives it; `None` for codes that it does not list.
pub fn remedy(code: &str) -> Option<&'static str> {
    entries().into_iter().find(|entry| entry.info.code == code).map(|entry| entry.info.remedy)
}

/// The text of an error for users, which ends with a remedy: its own, after a semicolon, or else that of its kind.
pub fn with_remedy(error: &Error) -> String {
    readable(&text_with_remedy(error)).into_owned()
}

fn text_with_remedy(error: &Error) -> String {
    let text = error.to_string();
    // Beside what is wrong, the text of bad data has places, of which one may follow a semicolon.
    let what = match error {
        Error::Data(error) => error.kind().to_string(),
        _ => text.clone(),
    };
    let code = telling_code(error);
    let says_one = what.contains("; ") || what.contains("did you mean") || GENERAL.contains(&code);
    match remedy(code).filter(|_| !says_one) {
        Some(remedy) => format!("{text}; {}", within_sentence(remedy)),
        None => text,
    }
}

/// The code that has the remedy: where a transform of pictures failed, that of its own error.
fn telling_code(error: &Error) -> &'static str {
    let Error::Data(data) = error else { return error.code() };
    let cause = std::error::Error::source(data);
    let picture = cause.and_then(|cause| cause.downcast_ref::<PictureError>()).map(PictureError::code);
    let fault = || cause.and_then(|cause| cause.downcast_ref::<TransformFault>()).map(TransformFault::code);
    picture.or_else(fault).unwrap_or(error.code())
}

/// A sentence as the last part of another one, which has no full stop.
fn within_sentence(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

fn entries() -> Vec<ErrorEntry> {
    [
        error_entries::<DataErrorKind>(),
        error_entries::<CtfFault>(),
        error_entries::<CbfFault>(),
        error_entries::<FilesFault>(),
        error_entries::<ImageMapFault>(),
        error_entries::<Base64ImageFault>(),
        error_entries::<TarImageFault>(),
        error_entries::<HtkFault>(),
        error_entries::<MlfFault>(),
        error_entries::<AudioFault>(),
        error_entries::<KaldiFault>(),
        error_entries::<UserFault>(),
        error_entries::<RecordFault>(),
        error_entries::<ExampleError>(),
        error_entries::<TfdsFault>(),
        error_entries::<FeatureFault>(),
        error_entries::<PlanRefusal>(),
        error_entries::<EngineRefusal>(),
        error_entries::<PictureError>(),
        error_entries::<TransformFault>(),
        error_entries::<ConfigConflict>(),
        tesson_core::general_entries(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tesson_core::{Cause, DataError, Location, ResumeErrorKind, UsageError};

    use super::*;

    #[test]
    fn a_text_without_a_remedy_gets_that_of_its_kind() {
        let error = UsageError::refused(&PlanRefusal::NoWorkers).into();
        let expected =
            "the number of workers is 0, at least 1 is expected; give the number of workers, at least 1";
        assert_eq!(with_remedy(&error), expected);
    }

    #[test]
    fn a_text_with_a_remedy_stays_as_it_is() {
        let with_its_own = ResumeErrorKind::examples().into_iter().map(|kind| kind.to_string());
        assert!(with_its_own.into_iter().all(|text| text.contains("; ")));
        let general = Error::from(UsageError::new("the source is closed".into()));
        assert_eq!(with_remedy(&general), "the source is closed");
    }

    #[test]
    fn the_error_of_a_transform_of_pictures_has_a_remedy_of_its_own() {
        let text = |cause: Arc<dyn std::error::Error + Send + Sync>| {
            let at = Location { file: Path::new("a.png").into(), offset: 0, line: None };
            let (transform, what) = ("Decode".to_owned(), cause.to_string());
            let kind = DataErrorKind::Transform { transform, what, cause: Cause(cause) };
            with_remedy(&DataError::new(kind, at).into())
        };
        let large = text(Arc::new(PictureError::TooManyPixels { width: 9, height: 9, limit: 80 }));
        assert!(large.ends_with("at most 80 pixels are possible here; raise `maxPixels` if the picture is meant to be as large"), "{large}");
        let empty = text(Arc::new(TransformFault::NoPixels { width: 0, height: 4 }));
        let remedy = remedy("transform.no-pixels").expect("the manual lists it");
        assert!(empty.ends_with(&within_sentence(remedy)), "{empty}");
        let custom = text(Arc::new(std::fmt::Error));
        assert!(custom.ends_with(&std::fmt::Error.to_string()), "{custom}");
    }

    #[test]
    fn the_place_that_lists_a_file_is_no_remedy() {
        let at = Location { file: Path::new("a.flac").into(), offset: 0, line: None };
        let error = DataError::new(AudioFault::TooShort { samples: 100, window: 400 }, at);
        let error = Error::from(error.listed(Some("line 3 of l.scp lists it".into())));
        let expected = "a.flac (byte 0): the recording has 100 samples, fewer than one frame of 400; line 3 of l.scp lists \
            it; remove it from the list, or set `minSeconds`";
        assert_eq!(with_remedy(&error), expected);
    }
}
