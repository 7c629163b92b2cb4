//! Prints `docs/public-api.txt`: every item that can be named through `tesson`, with its signature.
//! `cargo xtask api` writes it, a test compares it.

#![allow(clippy::print_stdout)]

mod listing;
mod resolve;
mod source;

fn main() {
    print!("{}", listing::listing());
}
