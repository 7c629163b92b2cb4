//! What the option tables of several formats have in common.

use tesson_core::{ConfigError, Deserializer, Element, Options, Words};

/// The types of values that a format's `precision` may be.
pub(crate) static PRECISIONS: Words<Element, 2> =
    Words::new([("float", Element::F32), ("double", Element::F64)]);

/// What opening a format answers whose options are understood and whose reader is still to be written.
pub(crate) fn not_built(name: &str, options: &Options<'_>) -> Result<Box<dyn Deserializer>, ConfigError> {
    let what = format!(
        "`{name}` is understood, but reading it is not built yet; read a prepared dataset (`TFDSDeserializer`) or write a custom deserializer (`UserDeserializer` in Python, `ChunkSource` in Rust)"
    );
    Err(ConfigError::new(options.path("type"), what))
}

/// The one entry of a section that may have several.
pub(crate) fn only_stream<'a>(options: &Options<'a>) -> Result<(&'a str, Options<'a>), ConfigError> {
    let mut streams = options.sections("input")?;
    match streams.len() {
        1 => Ok(streams.remove(0)),
        n => {
            let what = format!("found {n} streams, expected 1");
            Err(ConfigError::new(options.path("input"), what))
        }
    }
}
