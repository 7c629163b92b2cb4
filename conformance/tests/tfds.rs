//! Every case of a prepared dataset as a test, through the Rust API.

#![forbid(unsafe_code)]

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tesson_conformance::tfds::{Case, Query, answers, compare, expected};
use tesson_conformance::{Folder, case_folders, shared_cases};

fn main() {
    let arguments = Arguments::from_args();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut trials = trials("own", &own);
    match shared_cases() {
        Some(folder) => trials.extend(self::trials("shared", &folder)),
        None => trials.push(skipped("shared", "no folder: set TESSON_CONFORMANCE")),
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn skipped(name: &str, why: &str) -> Trial {
    Trial::test(name, || Ok(())).with_kind(why).with_ignored_flag(true)
}

fn trials(whose: &str, root: &Path) -> Vec<Trial> {
    let folders = case_folders(root, &["tfds"]).expect("the folder of cases can be read");
    folders.into_iter().map(|folder| of_case(whose, folder)).collect()
}

fn of_case(whose: &str, folder: Folder) -> Trial {
    let name = format!("{whose}/{}", folder.name);
    match Case::load(&folder.path) {
        Err(what) => Trial::test(name, move || Err(Failed::from(what))),
        Ok(case) if case.query == Query::Examples => skipped(&name, "needs the examples' own bytes"),
        Ok(case) => Trial::test(format!("{name}/rust"), move || rust(&case)),
    }
}

fn rust(case: &Case) -> Result<(), Failed> {
    let found = answers(case).ok_or("nothing answers this query")?;
    Ok(compare(case, &expected(case)?, &found)?)
}
