//! Prints `docs/order-vectors.json`: orders of small corpora, for other programs to check themselves against.
//! `cargo xtask manual` writes it, `docs/order.md` says how it is made.

#![expect(clippy::print_stdout, reason = "what it is for")]

mod vectors;

fn main() {
    print!("{}", vectors::text());
}
