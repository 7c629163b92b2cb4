//! Finds out whether the JPEG library was built with SIMD, so that programs can say so.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(jpeg_simd)");
    println!("cargo::rerun-if-env-changed=DEP_JPEG_INCLUDE");
    // Folders of the library's headers, one of which its build script has written.
    let Some(folders) = env::var_os("DEP_JPEG_INCLUDE") else { return };
    let has_simd = |folder: PathBuf| {
        fs::read_to_string(folder.join("jconfig.h")).is_ok_and(|text| text.contains("#define WITH_SIMD 1"))
    };
    if env::split_paths(&folders).any(has_simd) {
        println!("cargo::rustc-cfg=jpeg_simd");
    } else {
        println!(
            "cargo::warning=JPEG is decoded without SIMD: slower, to the same pixels; install `nasm`, then `cargo clean \
             -p mozjpeg-sys`"
        );
    }
}
