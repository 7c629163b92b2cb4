//! Today's form: a class and one content message.

use serde_json::Value;
use tesson_core::ConfigError;

use super::super::dtype::DType;
use super::super::tree::{Coding, Dim, Feature, Leaf, join};
use super::classes::Class;
use super::{Fields, Reader, number};
use crate::refusal::FeaturesRefusal;

/// Classes, the content message of each, and whether a class of that content is taken for this one if it is unknown.
const CLASSES: &[(&str, &str)] = &[
    ("FeaturesDict", "featuresDict"),
    ("Tensor", "tensor"),
    ("Scalar", "tensor"),
    ("Text", "text"),
    ("ClassLabel", "classLabel"),
    ("Image", "image"),
    ("LabeledImage", "image"),
    ("Video", "video"),
    ("Audio", "audio"),
    ("BBoxFeature", "boundingBox"),
    ("Sequence", "sequence"),
    ("Dataset", "sequence"),
    ("Translation", "translation"),
    ("TranslationVariableLanguages", "translation"),
];

impl Reader {
    /// A node of a class; `full` is the class as it is written.
    pub(super) fn new_node(
        &mut self,
        class: &str,
        full: &str,
        node: &Fields<'_>,
        path: &str,
    ) -> Result<Feature, ConfigError> {
        if let Some((class, key)) = CLASSES.iter().find(|(name, _)| *name == class) {
            let content = node.get(key);
            let content = content
                .ok_or_else(|| node.error(&FeaturesRefusal::Without { class: class.to_string(), key }))?;
            return self.content(class, content, path);
        }
        // The first class of each content is the plainest one.
        let by_content = CLASSES.iter().find_map(|(name, key)| Some((name, node.get(key)?)));
        let Some((plain, content)) = by_content else {
            return Err(node.error(&FeaturesRefusal::UnknownContent { class: full.to_owned() }));
        };
        self.warnings.push(format!("feature `{path}`: unknown class `{full}` is read as {plain}"));
        self.content(plain, content, path)
    }

    /// The feature of a content message of a known class.
    pub(super) fn content(
        &mut self,
        class: &str,
        content: &Value,
        path: &str,
    ) -> Result<Feature, ConfigError> {
        let fields = Fields::of(content, path)?;
        self.classes.push(Class::of(class, content));
        match (class, fields.get("features")) {
            ("FeaturesDict", Some(members)) => self.members(members, path),
            ("FeaturesDict", None) => Ok(Feature::Dict(Vec::new())),
            _ => self.class(class, &fields, Some(0), path),
        }
    }

    /// The feature of any other class, from its fields. They have the same names in both forms; `length` is that of a
    /// sequence without a field of this name.
    pub(super) fn class(
        &mut self,
        class: &str,
        fields: &Fields<'_>,
        unsaid: Dim,
        path: &str,
    ) -> Result<Feature, ConfigError> {
        match class {
            "Sequence" | "Dataset" => {
                let feature = fields.get("feature");
                let without = || FeaturesRefusal::Without { class: class.to_owned(), key: "feature" };
                let feature = feature.ok_or_else(|| fields.error(&without()))?;
                let length = fields.get("length").map_or(Ok(unsaid), |length| fields.dim(length))?;
                let of = Box::new(self.node(feature, path)?);
                Ok(Feature::Sequence { of, length, dataset: class == "Dataset" })
            }
            "Translation" => translation(fields),
            // Each example has its own languages: two sequences side by side.
            "TranslationVariableLanguages" => {
                let pair = ["language", "translation"].map(|name| (name.to_owned(), Feature::text()));
                Ok(Feature::sequence(Feature::Dict(pair.into()), None))
            }
            _ => leaf(class, fields),
        }
    }

    pub(super) fn members(&mut self, members: &Value, path: &str) -> Result<Feature, ConfigError> {
        let Value::Object(members) = members else {
            let refusal = FeaturesRefusal::NoMembers { found: members.to_string() };
            return Err(ConfigError::refused(path, &refusal));
        };
        let member = |(name, node)| Ok((String::clone(name), self.node(node, &join(path, name))?));
        members.iter().map(member).collect::<Result<_, _>>().map(Feature::Dict)
    }
}

/// The feature of a class with one array as its value.
fn leaf(class: &str, fields: &Fields<'_>) -> Result<Feature, ConfigError> {
    let shape = || Ok::<_, ConfigError>(fields.shape()?.unwrap_or_default());
    let leaf = match class {
        "Tensor" | "Scalar" => Leaf {
            coding: fields.coding()?,
            optional: fields.flag("optional")?,
            ..Leaf::plain(fields.dtype(None)?, shape()?)
        },
        "Text" => Leaf::plain(DType::String, Vec::new()),
        "ClassLabel" => {
            // Without a number the names that there are count them.
            let classes = classes(fields, "numClasses")?.unwrap_or(0);
            Leaf { classes: Some(classes), ..Leaf::plain(DType::Int64, Vec::new()) }
        }
        "Image" => image(fields, 3)?,
        "LabeledImage" => {
            let message =
                fields.get("label").and_then(|label| label.get("numClasses").or(label.get("num_classes")));
            let written = message.and_then(number).and_then(|n| u64::try_from(n).ok());
            let classes = written.or(classes(fields, "labels")?).unwrap_or(0);
            Leaf { classes: Some(classes), ..image(fields, 1)? }
        }
        "Video" => return video(fields),
        "Audio" => audio(fields)?,
        "BBoxFeature" => Leaf::plain(DType::Float32, vec![Some(4)]),
        other => return Err(fields.error(&FeaturesRefusal::UnknownClass { class: other.to_owned() })),
    };
    Ok(Feature::Leaf(leaf))
}

fn classes(fields: &Fields<'_>, name: &str) -> Result<Option<u64>, ConfigError> {
    Ok(fields.integer(name)?.and_then(|n| u64::try_from(n).ok()))
}

fn image(fields: &Fields<'_>, channels: usize) -> Result<Leaf, ConfigError> {
    let shape = fields.shape()?.unwrap_or_else(|| vec![None, None, Some(channels)]);
    let leaf = Leaf { coding: Coding::Image, ..Leaf::plain(fields.dtype(Some(DType::UInt8))?, shape) };
    match (leaf.dtype, leaf.shape.len()) {
        (DType::UInt8 | DType::UInt16 | DType::Float32, 3 | 4) => Ok(leaf),
        (DType::UInt8 | DType::UInt16 | DType::Float32, n) => {
            Err(fields.error(&FeaturesRefusal::ImageDimensions { n }))
        }
        (other, _) => Err(fields.error(&FeaturesRefusal::ImageType { found: other.name() })),
    }
}

/// A video is a sequence of images; its first dimension counts them.
fn video(fields: &Fields<'_>) -> Result<Feature, ConfigError> {
    let shape = fields.shape()?.unwrap_or_else(|| vec![None, None, None, Some(3)]);
    let [frames, frame @ ..] = &shape[..] else {
        return Err(fields.error(&FeaturesRefusal::Video));
    };
    let dtype = fields.dtype(Some(DType::UInt8))?;
    let frame = Leaf { coding: Coding::Image, ..Leaf::plain(dtype, frame.to_vec()) };
    Ok(Feature::sequence(Feature::Leaf(frame), *frames))
}

fn audio(fields: &Fields<'_>) -> Result<Leaf, ConfigError> {
    let shape = fields.shape()?.unwrap_or_else(|| vec![None]);
    let coding = if fields.flag("lazyDecode")? { Coding::Sound } else { fields.coding()? };
    Ok(Leaf { coding, ..Leaf::plain(fields.dtype(Some(DType::Int64))?, shape) })
}

/// Texts by language.
fn translation(fields: &Fields<'_>) -> Result<Feature, ConfigError> {
    let Some(Value::Array(languages)) = fields.get("languages") else {
        return Err(fields.error(&FeaturesRefusal::NoLanguages));
    };
    let language = |l: &Value| match l {
        Value::String(name) => Ok((name.clone(), Feature::text())),
        other => Err(fields.error(&FeaturesRefusal::NoLanguage { found: other.to_string() })),
    };
    languages.iter().map(language).collect::<Result<_, _>>().map(Feature::Dict)
}
