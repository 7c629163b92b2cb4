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
