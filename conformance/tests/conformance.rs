//! Every conformance case as a test: through the Rust API and through the program, under the rules it names and, where
//! it names the reference's, under lenient ones too.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use tesson_case_lookup::{CaseFolder, cases};
use tesson_conformance::{Case, Cli, Element, Rules, RustApi, compare_all, run};

/// The areas that Tesson answers now.
const AREAS: &[&str] = &["cntk/cbf", "cntk/ctf", "cntk/engine", "cntk/image", "cntk/speech"];

fn main() {
    let arguments = Arguments::from_args();
    let trials = AREAS.iter().flat_map(|area| cases(area)).flat_map(of_case).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn of_case(CaseFolder { name, path }: CaseFolder) -> Vec<Trial> {
    let case = match Case::load(&path) {
        Ok(case) => case,
        Err(what) => return vec![Trial::test(name, move || Err(Failed::from(what)))],
    };
    if let Some(needs) = case.needs() {
        return vec![Trial::test(name, || Ok(())).with_kind(needs).with_ignored_flag(true)];
    }
    let mut variants = vec![(Rules::AsWritten, "")];
    if case.names_rules() {
        variants.push((Rules::Lenient, "/lenient"));
    }
    let of_variant = |(rules, suffix): (Rules, &str)| {
        let case = case.clone().under(rules);
        let (other, name) = (case.clone(), format!("{name}{suffix}"));
        let folder = scratch_folder(&name);
        let cli = Trial::test(format!("{name}/cli"), move || cli(&other, rules, &folder));
        [Trial::test(format!("{name}/rust"), move || rust(&case, rules)), cli]
    };
    variants.into_iter().flat_map(of_variant).collect()
}

fn scratch_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"))
}

fn rust(case: &Case, rules: Rules) -> Result<(), Failed> {
    let found = run(case, &mut RustApi::new(case));
    Ok(compare_all(&case.expected(rules)?, &found, element(case))?)
}

fn cli(case: &Case, rules: Rules, folder: &Path) -> Result<(), Failed> {
    let program = Path::new(env!("CARGO_BIN_EXE_tesson-under-test"));
    let mut reader = Cli::new(program, case, folder)?;
    let found = run(case, &mut reader);
    let mut expected = case.expected(rules)?;
    if reader.stopped() {
        // After an error of data the process has ended, so no more answers follow.
        expected.truncate(found.len());
    }
    Ok(compare_all(&expected, &found, element(case))?)
}

/// The type of the numbers that were recorded.
fn element(case: &Case) -> Element {
    let of = |section: &serde_json::Map<String, serde_json::Value>| {
        let given = section.iter().find(|(name, _)| name.eq_ignore_ascii_case("precision"));
        given.and_then(|(_, v)| v.as_str()).map(str::to_ascii_lowercase)
    };
    let sections = case.deserializers().iter().filter_map(|d| d.as_object()).chain([&case.source]);
    if sections.filter_map(of).any(|p| p == "double") { Element::F64 } else { Element::F32 }
}
