//! Every case of a prepared dataset as a test, through the Rust API and the program; those with an
//! order are interrupted and resumed, too.

#![forbid(unsafe_code)]

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tesson_conformance::tfds::{
    Case, answers, answers_of_program, check_deserializer, check_places, check_workers, compare, datasets,
    expected, has_order,
};
use tesson_conformance::{Folder, case_folders, shared_cases};

fn main() {
    let arguments = Arguments::from_args();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut trials = trials("own", &own);
    match shared_cases() {
        Some(folder) => {
            trials.extend(self::trials("shared", &folder));
            trials.push(Trial::test("shared/tfds/_data/deserializer", move || deserializers(&folder)));
        }
        None => trials.push(skipped("shared", "no folder: set TESSON_CONFORMANCE")),
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn skipped(name: &str, why: &str) -> Trial {
    Trial::test(name, || Ok(())).with_kind(why).with_ignored_flag(true)
}

fn trials(whose: &str, root: &Path) -> Vec<Trial> {
    let folders = case_folders(root, &["tfds"]).expect("the folder of cases can be read");
    folders.into_iter().flat_map(|folder| of_case(whose, folder)).collect()
}

fn of_case(whose: &str, folder: Folder) -> Vec<Trial> {
    let name = format!("{whose}/{}", folder.name);
    let case = match Case::load(&folder.path) {
        Ok(case) => case,
        Err(what) => return vec![Trial::test(name, move || Err(Failed::from(what)))],
    };
    let mut trials = Vec::new();
    if has_order(&case) {
        let (resumed, shared) = (case.clone(), case.clone());
        let resume = move || Ok(check_places(&resumed)?);
        let workers = move || Ok(check_workers(&shared)?);
        trials.push(Trial::test(format!("{name}/resume"), resume));
        trials.push(Trial::test(format!("{name}/workers"), workers));
    }
    let program = case.clone();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
    trials.push(Trial::test(format!("{name}/cli"), move || cli(&program, &scratch)));
    trials.push(Trial::test(format!("{name}/rust"), move || rust(&case)));
    trials
}

/// Every recorded dataset, in all formats, as a deserializer.
fn deserializers(folder: &Path) -> Result<(), Failed> {
    let mut compared = 0;
    for dataset in datasets(&folder.join("tfds/_data"))? {
        compared += check_deserializer(&dataset).map_err(|what| format!("{}: {what}", dataset.display()))?;
    }
    if compared > 1000 { Ok(()) } else { Err(format!("only {compared} values").into()) }
}

fn rust(case: &Case) -> Result<(), Failed> {
    Ok(compare(case, &expected(case)?, &answers(case))?)
}

fn cli(case: &Case, scratch: &Path) -> Result<(), Failed> {
    let program = Path::new(env!("CARGO_BIN_EXE_tesson-under-test"));
    let found = answers_of_program(program, case, scratch)?;
    Ok(compare(case, &expected(case)?, &found)?)
}
