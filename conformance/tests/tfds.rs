//! Every case of a prepared dataset as a test, through the Rust API, from files and from memory, and through the program;
//! those with an order are interrupted and resumed, too.

#![forbid(unsafe_code)]

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tesson_case_lookup::{CaseFolder, areas, cases};
use tesson_conformance::tfds::{
    Case, answers, answers_of_program, check_deserializer, check_places, check_workers, compare, datasets,
    expected, has_order,
};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = cases("tfds").into_iter().flat_map(of_case).collect();
    trials.push(Trial::test("tfds/_data/deserializer", || deserializers(false)));
    trials.push(Trial::test("tfds/_data/deserializer/memory", || deserializers(true)));
    libtest_mimic::run(&arguments, trials).exit();
}

fn of_case(CaseFolder { name, path }: CaseFolder) -> Vec<Trial> {
    let case = match Case::load(&path) {
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
    let (program, elsewhere) = (case.clone(), case.clone());
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
    trials.push(Trial::test(format!("{name}/cli"), move || cli(&program, &scratch)));
    trials.push(Trial::test(format!("{name}/memory"), move || rust(&elsewhere.in_memory()?)));
    trials.push(Trial::test(format!("{name}/rust"), move || rust(&case)));
    trials
}

/// Every recorded dataset, in all formats, as a deserializer.
fn deserializers(in_memory: bool) -> Result<(), Failed> {
    let mut compared = 0;
    let data = areas("tfds").into_iter().map(|area| area.join("_data")).filter(|data| data.is_dir());
    for dataset in data.map(|data| datasets(&data)).collect::<Result<Vec<_>, _>>()?.concat() {
        compared += check_deserializer(&dataset, in_memory)
            .map_err(|what| format!("{}: {what}", dataset.display()))?;
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
