//! The kinds of errors: enums with a stable code for each kind, which the manual lists.
//!
//! [`Error::code`](crate::Error::code) gives the code of an error;
//! [`DataErrorKind::of_format`](tesson_core::DataErrorKind::of_format) gives the fault of one format as that format's enum.

use tesson_audio::AudioFault;
use tesson_config::{ConfigConflict, ReaderRefusal, TextFault, WorldRefusal};
use tesson_core::{DataErrorKind, Error, ErrorCodes as _, ErrorEntry, Remedy, error_entries, readable};
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
use tesson_formats::packed::PackedFault;
use tesson_formats::record::Fault as RecordFault;
use tesson_formats::tar_image::TarImageFault;
use tesson_formats::user::UserFault;
use tesson_image::decode::ImageError;
use tesson_image::transform::TransformFault;
use tesson_plan::PlanRefusal;
use tesson_tables::TableFault;
use tesson_tfds::fault::TfdsFault;
use tesson_tfds::features::FeatureFault;

/// The manual's page of errors: each kind with its code, meaning, remedy and an example of its text.
pub fn manual() -> String {
    tesson_core::error_manual(entries())
}

/// The remedy of the errors with a code, as the manual gives it; `None` for codes that it does not list.
pub fn remedy(code: &str) -> Option<String> {
    entries().into_iter().find(|entry| entry.info.code == code).map(|entry| entry.remedy)
}

/// The remedy of an error, as one sentence: that of its values, or else that of its kind.
pub fn remedy_of(error: &Error) -> String {
    readable(&remedy_within(error).to_string()).into_owned()
}

/// The text of an error for users, which ends with a remedy: its own, or else that of its kind.
pub fn with_remedy(error: &Error) -> String {
    let text = match remedy_within(error).to_add() {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    };
    readable(&text).into_owned()
}

/// The remedy of an error: where a transform of images failed, that of the transform's own error.
fn remedy_within(error: &Error) -> Remedy {
    let Error::Data(data) = error else { return error.remedy() };
    let cause = std::error::Error::source(data);
    let image = cause.and_then(|cause| cause.downcast_ref::<ImageError>()).map(ImageError::remedy);
    let fault = || cause.and_then(|cause| cause.downcast_ref::<TransformFault>()).map(TransformFault::remedy);
    image.or_else(fault).unwrap_or_else(|| error.remedy())
}

/// All kinds of errors: code, meaning, remedy, an example, and the options that they name.
pub fn entries() -> Vec<ErrorEntry> {
    [
        error_entries::<DataErrorKind>(),
        error_entries::<CtfFault>(),
        error_entries::<CbfFault>(),
        error_entries::<FilesFault>(),
        error_entries::<PackedFault>(),
        error_entries::<ImageMapFault>(),
        error_entries::<Base64ImageFault>(),
        error_entries::<TarImageFault>(),
        error_entries::<HtkFault>(),
        error_entries::<MlfFault>(),
        error_entries::<AudioFault>(),
        error_entries::<TableFault>(),
        error_entries::<KaldiFault>(),
        error_entries::<UserFault>(),
        error_entries::<RecordFault>(),
        error_entries::<ExampleError>(),
        error_entries::<TfdsFault>(),
        error_entries::<FeatureFault>(),
        error_entries::<PlanRefusal>(),
        error_entries::<EngineRefusal>(),
        error_entries::<ImageError>(),
        error_entries::<TransformFault>(),
        error_entries::<ConfigConflict>(),
        error_entries::<ReaderRefusal>(),
        error_entries::<WorldRefusal>(),
        error_entries::<TextFault>(),
        tesson_formats::refusals(),
        tesson_tfds::refusal::refusals(),
        tesson_prepared::refusal::refusals(),
        error_entries::<tesson_image::transform::OptionRefusal>(),
        error_entries::<tesson_audio::AudioRefusal>(),
        error_entries::<tesson_tables::TableRefusal>(),
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
    fn no_two_kinds_have_the_same_code() {
        let mut codes: Vec<&str> = entries().iter().map(|entry| entry.info.code).collect();
        codes.sort_unstable();
        let twice = codes.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

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
    fn the_error_of_a_transform_of_images_has_a_remedy_of_its_own() {
        let text = |cause: Arc<dyn std::error::Error + Send + Sync>| {
            let at = Location { file: Path::new("a.png").into(), offset: 0, line: None };
            let kind = DataErrorKind::Transform { transform: "Decode".to_owned(), cause: Cause(cause) };
            with_remedy(&DataError::new(kind, at).into())
        };
        let large = text(Arc::new(ImageError::TooManyPixels { width: 9, height: 9, limit: 80 }));
        assert!(
            large.ends_with(
                "at most 80 pixels are possible here; raise `maxPixels` if the image is meant to be as large"
            ),
            "{large}"
        );
        let empty = text(Arc::new(TransformFault::NoPixels { width: 0, height: 4 }));
        let remedy = remedy("transform.no-pixels").expect("the manual lists it");
        let (first, rest) = remedy.trim_end_matches('.').split_at(1);
        assert!(empty.ends_with(&format!("; {}{rest}", first.to_lowercase())), "{empty}");
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
