//! The number of features, and how their indices are counted.

use tesson_core::{ConfigError, Options, ReaderDefaults, Words, options};

use crate::table::{Field, FieldKind};

static BASES: Words<Option<bool>, 3> =
    Words::new([("auto", None), ("true", Some(true)), ("false", Some(false))]);

options! {
    /// The options of libsvm's format.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct LibsvmOptions(options, reader: ReaderDefaults) {
        pub(crate) n_features: Option<u64> = "numFeatures", optional
            => "For `libsvm`: number of columns of `features`; by default the largest index of the first file tells it."
            [read n_features(options)?]
            [describe if given]
            [identity if given "features"];
        pub(crate) zero_based: Option<bool> = "zeroBased" in BASES, "auto"
            => "For `libsvm`: true if indices count from 0; by default they do if the first file has an index 0."
            [identity with |libsvm, text| match libsvm.zero_based {
                Some(zero_based) => text.field("zeroBased", zero_based),
                None => text,
            }];
    }
}

impl LibsvmOptions {
    /// Takes over what the first file tells, which no other file is looked through for.
    pub(crate) fn settle(&mut self, fields: &[Field]) {
        if let Some(&FieldKind::Sparse { columns, zero_based, .. }) =
            fields.iter().map(|field| &field.kind).find(|kind| matches!(kind, FieldKind::Sparse { .. }))
        {
            (self.n_features, self.zero_based) = (Some(columns as u64), Some(zero_based));
        }
    }
}

/// Columns of a sparse stream, at most: their numbers are signed numbers of 32 bits.
const MOST_FEATURES: u64 = i32::MAX as u64;

fn n_features(options: &Options<'_>) -> Result<Option<u64>, ConfigError> {
    match options.whole_if_given("numFeatures")? {
        Some(n) if !(1..=MOST_FEATURES).contains(&n) => {
            let expected = format!("1 to {MOST_FEATURES}");
            Err(ConfigError::out_of_range(options.path("numFeatures"), n.to_string(), expected))
        }
        given => Ok(given),
    }
}
