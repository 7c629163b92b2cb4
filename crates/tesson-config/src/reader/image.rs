//! The older reader of images: a section for the images, which is cropped and scaled, and one for the labels
//! (spec/brainscript.md §11).

use tesson_core::{ConfigError, Name, OptionKind, OptionTable, Registry, Section, Value, option_table};

use super::Draft;
use super::composite::{Facts, NOT_COPIED, finish};
use super::scope::Scope;
use super::single_file::global_timeline;
use super::window::Rule;
use crate::ReaderRefusal;
use crate::{READER_OPTIONS, Result, format_names};

/// Reads the section of a reader of images.
pub(super) fn read(scope: &Scope<'_>, registry: &Registry, draft: &mut Draft) -> Result<()> {
    // It reads in frames, with as many threads as there are.
    ["numCPUThreads", "module", "frameMode"].iter().for_each(|name| scope.know(name));
    let (features, images) = only(scope, "width")?;
    let (labels, classes) = only(scope, "labelDim")?;
    let (image_scope, label_scope) = (scope.inner(images), scope.inner(classes));
    let transforms = transforms(&image_scope, registry)?;
    let format = registry.find(format_names::IMAGE, "")?;
    let mut deserializer = Section::from_iter([("type", Value::Text(format_names::IMAGE.into()))]);
    scope.copy(format.options, |name| name != "input", &mut deserializer);
    let is_multi_view = |text: &str| text.eq_ignore_ascii_case("multiview10");
    if deserializer.get("multiViewCrop").is_none()
        && image_scope.find_text("cropType").is_some_and(is_multi_view)
    {
        deserializer.push("multiViewCrop", Value::Bool(true));
    }
    let mut dim = Section::default();
    if let Some((name, value)) = label_scope.own("labelDim") {
        dim.push(name.clone(), value.clone());
    }
    let images = Section::from_iter([("transforms", Value::List(transforms))]);
    let input = vec![(features.clone(), Value::Section(images)), (labels.clone(), Value::Section(dim))];
    deserializer.push("input", Value::Section(Section(input)));
    draft.section.push("deserializers", Value::List(vec![Value::Section(deserializer)]));
    for (name, inner) in [(features, &image_scope), (labels, &label_scope)] {
        scope.know(name);
        draft.ignored.extend(inner.ignored(name));
    }
    let copied = |name: &str| name != "frameMode" && !NOT_COPIED.contains(&name);
    scope.copy(READER_OPTIONS, copied, &mut draft.section);
    draft.section.push("frameMode", Value::Bool(true));
    finish(scope, &Facts { rule: Rule::Images, images: true, text_keys: false }, &mut draft.section)?;
    global_timeline(&mut draft.section);
    Ok(())
}

/// The one section that has this option.
fn only<'t>(scope: &Scope<'t>, option: &str) -> Result<(&'t Name, &'t Section)> {
    let mut found = scope.own.0.iter().filter_map(|(name, value)| match value {
        Value::Section(section) if section.get(option).is_some() => Some((name, section)),
        _ => None,
    });
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(ConfigError::refused("", &ReaderRefusal::NoSectionHas { option: option.into() })),
        (Some((name, _)), Some((other, _))) => {
            let refusal = ReaderRefusal::SectionsHave { option: option.into(), other: name.to_string() };
            Err(ConfigError::refused(other.to_string(), &refusal))
        }
    }
}

static ORDER: OptionTable = option_table! {
    "mbFormat": OptionKind::OneOf(&["nchw", "nhwc", "legacy"]), "nchw"
        => "Whether channels come first.",
};

/// The transforms that the options stand for, in their order.
fn transforms(scope: &Scope<'_>, registry: &Registry) -> Result<Vec<Value>> {
    let mut list = Vec::new();
    for name in ["Crop", "Scale", "Color", "Intensity", "Mean"] {
        let format = registry.find_transform(name, "")?;
        let mut options = scope.given(format.options, |_| true);
        if name == "Crop" && options.get("sideRatio").is_none() {
            // What older releases called it.
            if let Some((name, value)) = scope.own("cropRatio") {
                options.push(Name::at("sideRatio", name.span().cloned()), value.clone());
            }
        }
        let is_given = options.0.iter().any(|(name, _)| !name.eq_ignore_ascii_case("seed"));
        if is_given || ["Crop", "Scale"].contains(&name) {
            options.0.insert(0, ("type".into(), Value::Text(name.into())));
            list.push(Value::Section(options));
        }
    }
    let order = scope.given(&ORDER, |_| true);
    let order = tesson_core::Options::new(&ORDER, &order, "")?.text("mbFormat")?;
    if order == "nchw" {
        list.push(Value::Section(Section::from_iter([("type", Value::Text("Transpose".into()))])));
    }
    Ok(list)
}
