//! Prints a module of Python with the options of formats as its classes' keywords, as the tables have them.
//! `cargo xtask manual` writes them all.

#![allow(clippy::print_stdout)]

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).expect("the path of a module");
    let module = std::fs::read_to_string(path)?;
    print!("{}", tesson_config::python_keywords(&module, &tesson::registry()));
    Ok(())
}
