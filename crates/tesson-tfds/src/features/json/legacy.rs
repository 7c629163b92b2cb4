//! The older form: a class and the arguments of its constructor.

use serde_json::Value;
use tesson_core::ConfigError;

use super::super::tree::Feature;
use super::classes::Class;
use super::{Fields, Reader};

impl Reader {
    /// The feature of a class in the older form, from its arguments.
    pub(super) fn legacy(
        &mut self,
        class: &str,
        content: &Value,
        path: &str,
    ) -> Result<Feature, ConfigError> {
        self.classes.push(Class::of(class, content));
        if class == "FeaturesDict" {
            return self.members(content, path);
        }
        let fields = Fields::of(content, path)?;
        match class {
            "Text" if fields.get("useEncoder").is_some_and(|v| v != &Value::Bool(false)) => {
                Err(fields.error("this text was encoded by TFDS' sub-word encoders, which no longer exist"))
            }
            _ => self.class(class, &fields, None, path),
        }
    }
}
