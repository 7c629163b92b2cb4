//! Prints `docs/errors.md`: all kinds of errors, from the enums that declare them. `cargo xtask manual` writes it.

#![allow(clippy::print_stdout)]

fn main() {
    print!("{}", tesson::errors::manual());
}
