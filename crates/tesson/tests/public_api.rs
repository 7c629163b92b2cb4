//! The public API against its committed listing, so that a change of it is seen in review.

#[path = "../examples/public_api/listing.rs"]
mod listing;
#[path = "../examples/public_api/resolve.rs"]
mod resolve;
#[path = "../examples/public_api/source.rs"]
mod source;

#[test]
fn the_listing_is_that_of_the_code() {
    let listed = include_str!("../../../docs/public-api.txt");
    let (listed, found): (Vec<&str>, String) = (listed.lines().collect(), listing::listing());
    let new: Vec<&str> = found.lines().filter(|line| !listed.contains(line)).collect();
    let gone: Vec<&&str> = listed.iter().filter(|line| found.lines().all(|other| other != **line)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "the public API has changed: check it and run `cargo xtask api`\nnew: {new:#?}\ngone: {gone:#?}"
    );
}

#[test]
fn every_type_of_a_public_signature_has_a_public_name() {
    let listing = listing::listing();
    let unnamed: Vec<&str> = listing.lines().filter(|line| line.starts_with("unnamed")).collect();
    assert!(unnamed.is_empty(), "export these from the façade: {unnamed:#?}");
}
