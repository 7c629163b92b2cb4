//! The classes of features as features.json names them, with the arguments of their constructors, from which front
//! ends make their own classes. The tree itself ([`Feature`]) has only shapes, types and codings.

use serde_json::{Map, Value, json};

use super::super::tree::{Coding, Dim, Feature, Leaf};
use super::Fields;

/// The class of one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    name: String,
    /// Notes that the tree does not hold, by the name of the constructor's argument.
    notes: Vec<(&'static str, Value)>,
}

impl Class {
    pub(super) fn of(name: &str, content: &Value) -> Class {
        let note = |argument: &'static str, field: &str| {
            let fields = Fields::of(content, "").ok()?;
            Some((argument, fields.get(field)?.clone()))
        };
        let rate = || {
            let rate = Fields::of(content, "").ok()?.integer("sampleRate").ok()??;
            Some(("sample_rate", json!(rate)))
        };
        let notes = match name {
            "Image" | "LabeledImage" | "Video" => vec![note("encoding_format", "encodingFormat")],
            "Audio" => vec![note("file_format", "fileFormat"), rate()],
            "BBoxFeature" => vec![note("bbox_format", "bboxFormat")],
            _ => Vec::new(),
        };
        Class { name: name.to_owned(), notes: notes.into_iter().flatten().collect() }
    }
}

/// The tree with a class at each node: `{"class", …}` and the arguments of its constructor. `classes` are those of the nodes
/// in the order of the file.
pub(super) fn tree(feature: &Feature, classes: &[Class]) -> Value {
    described(feature, &mut classes.iter())
}

fn described(feature: &Feature, classes: &mut std::slice::Iter<'_, Class>) -> Value {
    let Some(class) = classes.next() else { return Value::Null };
    let mut node = Map::from_iter([("class".to_owned(), json!(class.name))]);
    match (class.name.as_str(), feature) {
        ("Translation", Feature::Dict(members)) => {
            let languages: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
            node.insert("languages".into(), json!(languages));
        }
        ("TranslationVariableLanguages", _) => {}
        (_, Feature::Dict(members)) => {
            let member = |(name, of): &(String, Feature)| (name.clone(), described(of, classes));
            node.insert("features".into(), Value::Object(members.iter().map(member).collect()));
        }
        ("Video", Feature::Sequence { of, length, .. }) => {
            if let Feature::Leaf(leaf) = &**of {
                node.insert("shape".into(), json!([&[*length], &leaf.shape[..]].concat()));
                node.insert("dtype".into(), json!(leaf.dtype.name()));
            }
        }
        (_, Feature::Sequence { of, length, .. }) => {
            node.insert("feature".into(), described(of, classes));
            node.insert("length".into(), dim(*length));
        }
        (name, Feature::Leaf(leaf)) => arguments(name, leaf, &mut node),
    }
    node.extend(class.notes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Value::Object(node)
}

fn dim(dim: Dim) -> Value {
    json!(dim)
}

/// The constructor arguments of a class with one array as its value.
fn arguments(class: &str, leaf: &Leaf, node: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| node.insert(name.to_owned(), value);
    if matches!(class, "Text" | "ClassLabel" | "BBoxFeature") {
        return;
    }
    put("dtype", json!(leaf.dtype.name()));
    if class != "Scalar" {
        put("shape", json!(leaf.shape));
    }
    if matches!(class, "Tensor" | "Audio") {
        match leaf.coding {
            Coding::Raw => put("encoding", json!("bytes")),
            Coding::Zlib => put("encoding", json!("zlib")),
            Coding::Sound => put("lazy_decode", json!(true)),
            Coding::Plain | Coding::Image => None,
        };
    }
    if leaf.optional {
        node.insert("optional".into(), json!(true));
    }
}
