//! Options that streams inherit from the sections around them.

use tesson_core::{OptionKind, OptionTable, Section, Value};

/// The section with everything that its streams do not say themselves written into them: from `input`, else from the
/// section itself. Only options of [`OptionKind::Streams`] do that; other sections are as they were.
pub(crate) fn pushed_down(mut section: Section, table: &OptionTable) -> Section {
    let streams = table.0.iter().find_map(|spec| match spec.kind {
        OptionKind::Streams(inner) => Some((spec.name, inner)),
        _ => None,
    });
    let Some((name, inner)) = streams else { return section };
    let belongs = |name: &str| table.find(name).is_none() && inner.find(name).is_some();
    let (outer, kept) = section.0.into_iter().partition(|(name, _)| belongs(name));
    section = Section(kept);
    let outer = Section(outer);
    for (_, value) in section.0.iter_mut().filter(|(n, _)| n.eq_ignore_ascii_case(name)) {
        let Value::Section(input) = value else { continue };
        let is_plain =
            |value: &Value, name: &str| !matches!(value, Value::Section(_)) && inner.find(name).is_some();
        let entries = std::mem::take(&mut input.0);
        let (plain, streams): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(name, value)| is_plain(value, name));
        let around = [Section(plain), outer.clone()];
        input.0 = streams;
        for (_, stream) in &mut input.0 {
            if let Value::Section(stream) = stream {
                complete(stream, inner, &around);
            }
        }
    }
    section
}

fn complete(stream: &mut Section, table: &OptionTable, around: &[Section]) {
    for spec in table.0 {
        if spec.names().any(|name| stream.get(name).is_some()) {
            continue;
        }
        let found = around.iter().find_map(|level| spec.names().find_map(|name| level.entry(name)));
        if let Some((name, value)) = found {
            stream.push(name.clone(), value.clone());
        }
    }
}
