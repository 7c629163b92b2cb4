//! The manual's pages against the code that they are made from, and what the README says is not available.

#[test]
fn the_page_of_options_is_what_the_tables_say() {
    let page = include_str!("../../../docs/options.md");
    let tables = tesson::config::option_manual(&tesson::registry());
    assert_eq!(page, tables, "run `cargo xtask manual`");
}

#[test]
fn the_page_of_errors_has_the_text_of_every_kind() {
    let page = include_str!("../../../docs/errors.md");
    assert_eq!(page, tesson::errors::manual(), "run `cargo xtask manual`");
}

#[test]
fn the_readme_names_the_formats_that_are_not_available_yet() {
    let readme = include_str!("../../../README.md");
    let registry = tesson::registry();
    let planned = registry.formats().iter().filter(|format| !registry.is_built(format));
    let names: Vec<String> = planned.map(|format| format!("`{}`", format.name)).collect();
    let found = readme.lines().find_map(|line| line.strip_prefix("Not available yet: "));
    let expected = (!names.is_empty()).then(|| format!("{}.", names.join(", ")));
    assert_eq!(found, expected.as_deref());
}
