//! The file of test vectors against the orders that it is made from.

#[path = "../examples/order_vectors/vectors.rs"]
mod vectors;

#[test]
fn the_file_of_vectors_is_what_the_orders_give() {
    let file = include_str!("../../../docs/order-vectors.json");
    assert_eq!(file, vectors::text(), "run `cargo xtask manual`");
}
