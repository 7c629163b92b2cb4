//! `cargo xtask wheel`: builds the wheel that users install, and tests it as they install it with every CPython
//! found.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::python::{OLDEST, version};
use crate::readme;
use crate::run::{answer, program, root, target, tee};
use crate::tally::Tally;

/// The oldest glibc that the wheel runs on, as a tag: what Rust's own standard library needs.
const PLATFORM: &str = "manylinux_2_17";

/// The packages that build a wheel: zig links against an old glibc without a container.
const BUILDERS: &[&str] = &["maturin>=1.9,<2", "ziglang>=0.13"];

/// The packages that the tests need in addition to the wheel, which brings NumPy.
const TESTERS: &[&str] = &["pytest>=8", "scipy>=1.11"];

/// Builds the wheel and tests it in a fresh environment of each interpreter.
pub(crate) fn main(_: &[String]) -> ExitCode {
    let tested = build().and_then(|wheel| {
        println!("{}: {} kB", wheel.display(), fs::metadata(&wheel).map_or(0, |m| m.len() / 1000));
        let interpreters = interpreters();
        if interpreters.is_empty() {
            return Err("no CPython 3.11 or newer was found to test the wheel with".to_owned());
        }
        Ok(interpreters
            .iter()
            .map(|(&(major, minor), python)| test(&wheel, major, minor, python))
            .sum::<Tally>())
    });
    match tested {
        Ok(tally) => {
            println!("{tally}");
            ExitCode::from(u8::from(tally.failed > 0))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<PathBuf, String> {
    if cfg!(target_arch = "x86_64") && answer(program("nasm").arg("-v")).is_none() {
        return Err(
            "missing: nasm: wheels decode JPEG with SIMD; apt install nasm, brew install nasm".to_owned()
        );
    }
    let python = fresh_environment(&crate::python::find()?, "build", BUILDERS)?;
    let wheels = target().join("wheels");
    // An older wheel must not be taken for the new one.
    let _ = fs::remove_dir_all(&wheels);
    let mut maturin = program(&python);
    maturin.args(["-m", "maturin", "build", "--release", "--strip", "--out"]).arg(&wheels);
    if cfg!(target_os = "linux") {
        maturin.args(["--zig", "--compatibility", PLATFORM]).env("PATH", path_with(&python)?);
    }
    if !tee(&mut maturin).success {
        return Err("building the wheel did not work; see above".to_owned());
    }
    let built = fs::read_dir(&wheels).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
    built.map(|entry| entry.path()).ok_or_else(|| format!("{}: no wheel in it", wheels.display()))
}

/// The path with an environment's programs first: maturin looks for zig among those of `python3`.
fn path_with(python: &Path) -> Result<OsString, String> {
    let folders = python.parent().map(Path::to_path_buf).into_iter();
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(folders.chain(env::split_paths(&path))).map_err(|e| e.to_string())
}

/// Each CPython that is new enough, by version: those of the path, the one that builds, and those of pyenv.
fn interpreters() -> BTreeMap<(u32, u32), PathBuf> {
    let on_path = (OLDEST.1..OLDEST.1 + 20).map(|minor| PathBuf::from(format!("python3.{minor}")));
    let pyenv = answer(program("pyenv").arg("root")).map(|folder| PathBuf::from(folder.trim()));
    let versions = pyenv.and_then(|folder| fs::read_dir(folder.join("versions")).ok());
    let of_pyenv = versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3"));
    let ask = "import sys, venv, ensurepip; assert sys.implementation.name == 'cpython'; print(*sys.version_info[:2])";
    let fits = |python: PathBuf| {
        let version = version(&answer(program(&python).args(["-c", ask]))?)?;
        (version >= OLDEST).then_some((version, python))
    };
    on_path.chain(crate::python::find()).chain(of_pyenv).filter_map(fits).collect()
}

/// Runs the Python of README.md and the Python tests, on the wheel alone.
fn test(wheel: &Path, major: u32, minor: u32, python: &Path) -> Tally {
    println!("\n=== CPython {major}.{minor}");
    let wheel = wheel.to_string_lossy();
    let packages: Vec<&str> = [&*wheel].iter().chain(TESTERS).copied().collect();
    match fresh_environment(python, &format!("{major}.{minor}"), &packages) {
        Ok(python) => decodes_with_simd(&python) + readme::run_all_python(&python) + pytest(&python),
        Err(why) => {
            println!("FAIL {why}");
            Tally::one(false)
        }
    }
}

/// The program says when JPEG is decoded without SIMD.
fn decodes_with_simd(python: &Path) -> Tally {
    let version = answer(program(python).args(["-m", "tesson", "--version"])).unwrap_or_default();
    println!("{version}");
    Tally::one(version.starts_with("tesson ") && !version.contains("without SIMD"))
}

fn pytest(python: &Path) -> Tally {
    let folder = "crates/tesson-py/python/tests";
    // Tests are imported as files, so that the package of the checkout, which has no extension, stays out of the path.
    let modules = format!("pythonpath=examples/tfds {folder}");
    let arguments = [
        "-m",
        "pytest",
        "-q",
        "-ra",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-o",
        &modules,
        folder,
    ];
    // Stubs are compared with the checkout, by CI.
    let outcome = tee(program(python).args(arguments).args(["--ignore", &format!("{folder}/test_stubs.py")]));
    Tally::read(&outcome.output).of_program(outcome.success)
}

/// An environment in `target/wheel-venvs` with some packages and nothing else.
fn fresh_environment(python: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = target().join("wheel-venvs").join(name);
    let installed = tee(program(python).args(["-m", "venv", "--clear"]).arg(&folder)).success && {
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        tee(program(inside(&folder)).args(pip).args(packages)).success
    };
    if installed {
        Ok(root().join(inside(&folder)))
    } else {
        Err(format!("{}: not made; see above", folder.display()))
    }
}

fn inside(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}
