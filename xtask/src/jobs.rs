//! Jobs that take longer than CI has, each with the tools it needs.

use std::process::{Command, ExitCode};

use crate::python;
use crate::run::{answer, cargo, program, root, tee};

/// The modules of Python with the keywords of formats, transforms and sources.
const KEYWORD_MODULES: [&str; 7] = [
    "audio_deserializers.py",
    "deserializers.py",
    "feature_deserializers.py",
    "image_deserializers.py",
    "label_deserializers.py",
    "source.py",
    "transforms.py",
];

/// Writes the pages of documentation, and the keywords of Python, that are made from tables in the code; tests compare them.
pub(crate) fn manual(_: &[String]) -> ExitCode {
    let folder = root().join("crates/tesson-py/python/tesson");
    for module in KEYWORD_MODULES.map(|module| folder.join(module)) {
        let example = ["run", "--quiet", "--package", "tesson", "--example", "python_keywords", "--"];
        let Some(text) = answer(cargo(&example).arg(&module)) else {
            eprintln!("{} cannot be made; `cargo {}` says why", module.display(), example.join(" "));
            return ExitCode::FAILURE;
        };
        if std::fs::write(module, text).is_err() {
            return ExitCode::FAILURE;
        }
    }
    write_printed(&[
        ("tesson", "option_manual", "options.md"),
        ("tesson", "error_manual", "errors.md"),
        ("tesson-plan", "order_vectors", "order-vectors.json"),
    ])
}

/// Writes the listing of public items; a test compares it.
pub(crate) fn api(_: &[String]) -> ExitCode {
    write_printed(&[("tesson", "public_api", "public-api.txt")])
}

/// Writes the output of examples of crates to files in `docs`.
fn write_printed(pages: &[(&str, &str, &str)]) -> ExitCode {
    for (package, example, page) in pages {
        let example = ["run", "--quiet", "--package", package, "--example", example];
        let Some(text) = answer(&mut cargo(&example)) else {
            eprintln!("docs/{page} cannot be made; `cargo {}` says why", example.join(" "));
            return ExitCode::FAILURE;
        };
        if std::fs::write(root().join("docs").join(page), text).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The crates with unit tests that Miri runs, and the tests of each: kernels, pools and packed rows, which have
/// unsafe code, and the core, since Miri varies its rounding. Tests that flip every bit of a file would take hours,
/// and the inflating libraries are not ours to test. An empty list stands for all tests.
const FOR_MIRI: &[(&str, &[&str])] = &[
    ("tesson-core", &[]),
    (
        "tesson-formats",
        &[
            "ctf::tokens",
            "a_few_rows_of_sparse_samples",
            "htk::frames",
            "tfrecord::places",
            "tfrecord::tests::reading::kernels",
        ],
    ),
    ("tesson-memory", &["pool", "packed", "file_pages"]),
    ("tesson-engine", &["pack"]),
    ("tesson-image", &["libjpeg::memory"]),
];

/// Runs unit tests under Miri: all those of [`FOR_MIRI`], or those of some of its crates.
pub(crate) fn miri(crates: &[String]) -> ExitCode {
    if !has_nightly(&["miri", "--version"]) {
        eprintln!("Miri is missing; install it with: rustup toolchain install nightly --component miri");
        return ExitCode::from(2);
    }
    let chosen = FOR_MIRI.iter().filter(|(name, _)| crates.is_empty() || crates.iter().any(|c| c == name));
    // Every crate runs, whatever another one's tests find.
    let failed = chosen.filter(|(name, tests)| !miri_one(name, tests)).count();
    exit(failed == 0)
}

fn miri_one(package: &str, tests: &[&str]) -> bool {
    let mut command = nightly(&["miri", "test", "--lib", "--package", package, "--"]);
    // Property tests draw fewer cases, the interpreter being a few hundred times slower.
    command.args(tests).env("PROPTEST_CASES", "8").env("MIRIFLAGS", "-Zmiri-disable-isolation");
    if cfg!(target_arch = "x86_64") {
        // The interpreter has no processor that could be asked what it can do; it knows these instructions, and not AVX-512's.
        command.env("RUSTFLAGS", "-Ctarget-feature=+avx2,+bmi1,+bmi2,+lzcnt,+popcnt,+sse4.2");
    }
    tee(&mut command).success
}

/// Checks loaders that feed a GPU, and measures a training step. Without PyTorch or a GPU it says so, and that is no failure.
pub(crate) fn gpu(arguments: &[String]) -> ExitCode {
    let python = match python::ready() {
        Ok(python) => python,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    if answer(program(&python).args(["-c", "import torch"])).is_none() {
        println!("skipped: PyTorch is not installed in .venv");
        return ExitCode::SUCCESS;
    }
    exit(tee(program(&python).arg(root().join("bench/python_gpu.py")).args(arguments)).success)
}

/// The architecture whose kernels [`neon`] tests.
const ARM: &str = "aarch64-unknown-linux-gnu";

/// The tests of kernels: crates, and the beginnings of the tests' names. An empty list stands for all tests.
const OF_KERNELS: &[(&str, &[&str])] = &[
    ("tesson-core", &["kernels"]),
    ("tesson-formats", &["ctf", "fields", "htk", "tfrecord"]),
    ("tesson-memory", &["packed", "prefetch"]),
];

/// Runs the tests of kernels on ARM: on this machine if it is one, otherwise emulated.
pub(crate) fn neon(_: &[String]) -> ExitCode {
    let is_here = cfg!(target_arch = "aarch64");
    let (linker, emulator) = ("aarch64-linux-gnu-gcc", "qemu-aarch64");
    if !is_here {
        let missing: Vec<&str> = [linker, emulator]
            .into_iter()
            .filter(|tool| answer(program(tool).arg("--version")).is_none())
            .collect();
        if !missing.is_empty() {
            eprintln!(
                "{} missing; on Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
                missing.join(" and ")
            );
            return ExitCode::from(2);
        }
        if answer(program("rustup").args(["target", "add", ARM])).is_none() {
            eprintln!("the target is missing; `rustup target add {ARM}` says why");
            return ExitCode::from(2);
        }
    }
    let success = OF_KERNELS.iter().all(|(name, tests)| {
        let mut command = cargo(&["test", "--package", name, "--lib"]);
        if !is_here {
            command.args(["--target", ARM]);
            command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
            command.env("CC_aarch64_unknown_linux_gnu", linker);
            command.env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                format!("{emulator} -L /usr/aarch64-linux-gnu"),
            );
        }
        tee(command.arg("--").args(*tests)).success
    });
    exit(success)
}

/// Cargo of the nightly toolchain. Rustup's own `cargo` chooses it, so CARGO, which names a toolchain's, is not used.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = program("cargo");
    command.arg("+nightly").args(arguments);
    command
}

fn has_nightly(arguments: &[&str]) -> bool {
    answer(&mut nightly(arguments)).is_some()
}

fn exit(success: bool) -> ExitCode {
    ExitCode::from(u8::from(!success))
}
