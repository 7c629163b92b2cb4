//! Prints `docs/options.md`: all options, from the tables that the formats and the reader declare.
//! `cargo xtask manual` writes it.

#![allow(clippy::print_stdout)]

fn main() {
    print!("{}", tesson_config::option_manual(&tesson::registry()));
}
