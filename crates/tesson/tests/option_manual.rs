//! The manual's page of options against the tables it is made from.

#[test]
fn the_page_of_options_is_what_the_tables_say() {
    let page = include_str!("../../../docs/options.md");
    let tables = tesson::config::option_manual(&tesson::registry());
    assert_eq!(page, tables, "run `cargo xtask manual`");
}
