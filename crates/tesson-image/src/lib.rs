//! Pictures: from files to pixels ([`decode`]) and back ([`encode`]), and the transforms that configurations name, one file each.
//!
//! Of the transforms so far their options and what these mean; applying them is still to be written. One line of
//! [`TRANSFORMS`] for each.

#![forbid(unsafe_code)]

mod cast;
mod color;
mod crop;
pub mod decode;
pub mod encode;
mod intensity;
mod mean;
mod options;
mod scale;
mod transpose;

use tesson_core::TransformFormat;

/// Every transform of this crate.
pub static TRANSFORMS: &[&TransformFormat] = &[
    &crop::FORMAT,
    &scale::FORMAT,
    &color::FORMAT,
    &mean::FORMAT,
    &intensity::FORMAT,
    &transpose::FORMAT,
    &cast::FORMAT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_sentence() {
        for transform in TRANSFORMS {
            for help in transform.options.0.iter().map(|o| o.help).chain([transform.help]) {
                assert!(help.ends_with('.') && !help.contains(". "), "{}: {help}", transform.name);
            }
        }
    }
}
