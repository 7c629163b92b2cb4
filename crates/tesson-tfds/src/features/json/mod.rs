//! Parsing features.json into the tree of features (spec/tfds.md §1.3).
//!
//! Two forms are in use. In the present one, a node names its class and has one content message, in protobuf's JSON
//! (`content.rs`). In the older one, `type` and `content` are a class and the arguments of its constructor.
//! Only the last component of a class name counts; a class that is not TFDS' own is read by its
//! content.

mod classes;
mod content;
mod fields;

use serde_json::Value;
use tesson_core::ConfigError;

use super::tree::Feature;
use crate::refusal::FeaturesRefusal;
use classes::Class;
use fields::{Fields, number};

/// A parsed features.json.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The tree.
    pub root: Feature,
    /// The guesses that were made, a sentence for each.
    pub warnings: Vec<String>,
    /// The classes of the nodes, in the order of the file.
    classes: Vec<Class>,
}

impl Parsed {
    /// The tree with a class at each node: `{"class": "Image", "shape": [28, 28, 1], "dtype": "uint8"}`; the other members are
    /// arguments of its constructor, nodes under `feature` and `features` among them.
    pub fn classes(&self) -> Value {
        classes::tree(&self.root, &self.classes)
    }
}

/// Parses the text of a features.json.
///
/// # Errors
/// Text that is not JSON; a node with an unknown class, type, shape or encoding, with its path.
pub fn parse(text: &str) -> Result<Parsed, ConfigError> {
    let value = serde_json::from_str(text)
        .map_err(|e| ConfigError::refused("", &FeaturesRefusal::NoJson { what: e.to_string() }))?;
    from_value(&value)
}

/// Reads the tree from parsed JSON, such as the `features` of a dataset_info.json.
///
/// # Errors
/// The errors of [`parse`].
pub fn from_value(value: &Value) -> Result<Parsed, ConfigError> {
    let mut reader = Reader { warnings: Vec::new(), classes: Vec::new() };
    let root = reader.node(value, "")?;
    match root {
        Feature::Leaf(_) => Err(ConfigError::refused("", &FeaturesRefusal::NoDict)),
        root => Ok(Parsed { root, warnings: reader.warnings, classes: reader.classes }),
    }
}

/// Walks over nodes; paths are those of features.
struct Reader {
    warnings: Vec<String>,
    classes: Vec<Class>,
}

impl Reader {
    fn node(&mut self, value: &Value, path: &str) -> Result<Feature, ConfigError> {
        let node = Fields::of(value, path)?;
        if let Some(class) = node.text("type")? {
            return self.legacy_node(class, &node, path);
        }
        let class = node.text("pythonClassName")?.unwrap_or("");
        self.new_node(last(class), class, &node, path)
    }

    fn legacy_node(&mut self, class: &str, node: &Fields<'_>, path: &str) -> Result<Feature, ConfigError> {
        let empty = Value::Object(serde_json::Map::new());
        let content = node.get("content").unwrap_or(&empty);
        let is_message = node.text("proto_cls")?.is_some_and(|c| !c.is_empty());
        match content {
            Value::String(text) if is_message => {
                let message: Value = serde_json::from_str(text)
                    .map_err(|e| node.error(&FeaturesRefusal::ContentNoJson { what: e.to_string() }))?;
                self.content(last(class), &message, path)
            }
            content if is_message => self.content(last(class), content, path),
            content => self.legacy(last(class), content, path),
        }
    }

    /// The feature of a class in the older form, from its arguments.
    fn legacy(&mut self, class: &str, content: &Value, path: &str) -> Result<Feature, ConfigError> {
        self.classes.push(Class::of(class, content));
        if class == "FeaturesDict" {
            return self.members(content, path);
        }
        let fields = Fields::of(content, path)?;
        match class {
            "Text" if fields.get("useEncoder").is_some_and(|v| v != &Value::Bool(false)) => {
                Err(fields.error(&FeaturesRefusal::OldEncoder))
            }
            _ => self.class(class, &fields, None, path),
        }
    }
}

/// The last component of a class's name.
fn last(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}
