//! `tesson config`: the resolved configuration.

use tesson_config::Loaded;
use tesson_config::{json, toml};

use crate::args::{ConfigArgs, Form};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &ConfigArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let loaded = input::load(&args.common.input)?;
    if let Some(form) = args.to {
        return convert(&loaded, args, form, out);
    }
    let mut resolved = loaded.resolved()?;
    if let Some(section) = &args.common.input.section {
        resolved.readers = vec![loaded.reader(Some(section))?];
    }
    resolved.readers.iter().for_each(input::warn);
    let described = resolved.to_json(&extensions.registry())?;
    let text = if out.is_json() { described.to_string() } else { format!("{described:#}") };
    Ok(out.line(&text)?)
}

/// One reader as a tree that means the same.
fn convert(loaded: &Loaded, args: &ConfigArgs, form: Form, out: &mut Output) -> Result<(), Failure> {
    let reader = loaded.reader(args.common.input.section.as_deref())?;
    input::warn(&reader);
    let text = match form {
        Form::Json => format!("{:#}", json::section_to_json(&reader.section)),
        Form::Toml => toml::print(&reader.section)?.trim_end().to_string(),
    };
    Ok(out.line(&text)?)
}
