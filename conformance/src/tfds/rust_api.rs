//! Cases through the Rust API.

use serde_json::{Value, json};
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, DatasetInfo, rounded_lengths};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::{Selection, file_instructions};

use super::answer::{Answers, error, ids_line};
use super::resume::ahead;
use super::{Case, Query, Source};

/// All answers to a case.
pub fn answers(case: &Case) -> Answers {
    let answers = match case.query {
        Query::Ids | Query::TfdsIds => order(case),
        Query::FileInstructions => instructions(case),
        Query::Resolve => resolve(case).map(|line| vec![line]),
        Query::Info => info(case).map(|line| vec![line]),
        Query::Examples => super::examples::examples(case),
    };
    answers.unwrap_or_else(|what| vec![error(what)])
}

/// The dataset of a case.
///
/// # Errors
/// The error of opening it.
pub fn dataset(case: &Case) -> Result<Dataset, String> {
    match case.source()? {
        Source::Fake(fake) => fake_dataset(&fake),
        Source::Directories(dirs) => {
            tesson_prepared::open_all(&case.store(), &dirs, None).map_err(|e| e.to_string())
        }
        Source::Named { data_dir, name } => {
            let found =
                tesson_prepared::find(&case.store(), &name, &[data_dir]).map_err(|e| e.to_string())?;
            tesson_prepared::open(&case.store(), found).map_err(|e| e.to_string())
        }
    }
}

/// The plan of a case.
///
/// # Errors
/// The error of making it.
pub fn plan(case: &Case, dataset: &Dataset) -> Result<Plan, String> {
    let reading = case.reading().map_err(|e| e.to_string())?;
    let mut no_seed = || panic!("a case with an order has seeds");
    Plan::new(dataset, &reading, &mut no_seed).map_err(|e| e.to_string())
}

/// dataset_info.json of a description without data.
pub(super) fn fake_info(fake: &Value) -> Value {
    let text =
        |name: &str, default: &str| fake.get(name).and_then(Value::as_str).unwrap_or(default).to_owned();
    let split = |(name, described): (&String, &Value)| {
        let number = |name: &str| described.get(name).and_then(Value::as_u64);
        let lengths = match (number("num_examples"), number("num_shards")) {
            (Some(n), Some(shards)) => json!(rounded_lengths(n, shards as usize)),
            _ => described["shard_lengths"].clone(),
        };
        json!({"name": name, "shardLengths": lengths, "filepathTemplate": text("filepath_template", "")})
    };
    let splits = fake["splits"].as_object().map(|splits| splits.iter().map(split).collect::<Vec<_>>());
    json!({
        "name": text("name", "fake"), "version": text("version", "1.0.0"), "configName": text("config", ""),
        "fileFormat": "tfrecord", "disableShuffling": fake.get("disable_shuffling"), "splits": splits,
    })
}

fn fake_dataset(fake: &Value) -> Result<Dataset, String> {
    let text = fake_info(fake).to_string();
    let file = std::path::Path::new("dataset_info.json").into();
    let info = DatasetInfo::parse(&file, text.as_bytes()).map_err(|e| e.to_string())?;
    Dataset::new(vec![("fake".into(), info)], None).map_err(|e| e.to_string())
}

fn order(case: &Case) -> Result<Answers, String> {
    let dataset = dataset(case)?;
    let plan = plan(case, &dataset)?;
    let mut stream = plan.stream().map_err(|e| e.to_string())?;
    let ids = Ids::new(&dataset, &plan.files);
    let mut lines = Vec::new();
    for epoch in 0..case.epochs() {
        if epoch > 0 {
            stream.begin();
        }
        let (records, failed) = ahead(&mut stream, usize::MAX);
        let mut line = match case.query {
            Query::TfdsIds => json!({"tfds_ids": records.iter().map(|&r| ids.id(r)).collect::<Vec<_>>()}),
            _ => ids_line(&records.iter().map(|&r| in_split(&dataset, r)).collect::<Vec<_>>()),
        };
        if let Some(failed) = failed {
            line["error"] = failed.into();
            lines.push(line);
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

/// The number of a record in its split.
fn in_split(dataset: &Dataset, record: u64) -> u64 {
    record - dataset.split_of(record).expect("each record is of a split").first()
}

fn instructions(case: &Case) -> Result<Answers, String> {
    let dataset = dataset(case)?;
    let line = |split: &&Value| match of_split(split, &dataset) {
        Ok(files) => json!({"split": split, "file_instructions": files}),
        Err(what) => json!({"split": split, "error": what}),
    };
    Ok(case.splits().iter().map(line).collect())
}

fn of_split(split: &Value, dataset: &Dataset) -> Result<Vec<Value>, String> {
    let planned = || file_instructions(&Selection::from_json(split)?.resolve(dataset)?, dataset);
    let plan = planned().map_err(|e: tesson::ConfigError| e.to_string())?;
    let file = |f: &tesson_tfds::split::FileInstruction| {
        json!({"filename": f.shard(dataset).file, "skip": f.skip, "take": f.take,
            "examples_in_shard": f.examples_in_shard})
    };
    Ok(plan.iter().map(file).collect())
}

fn resolve(case: &Case) -> Result<Value, String> {
    let Source::Named { data_dir, name } = case.source()? else { return Err("nothing to resolve".into()) };
    let found = tesson_prepared::find(&case.store(), &name, &[&data_dir]).map_err(|e| e.to_string())?;
    let below = found.strip_prefix(&data_dir).map_err(|e| e.to_string())?;
    Ok(json!({"resolved": below.to_string_lossy()}))
}

/// The description of a dataset.
fn info(case: &Case) -> Result<Value, String> {
    let dataset = dataset(case)?;
    if let Source::Fake(_) = case.source()? {
        let mut described = dataset.describe();
        described["features"] = json!({"fields": {"id": {"shape": [], "dtype": "int64"}}});
        described["labels"] = json!({});
        return Ok(described);
    }
    tesson_prepared::describe(&case.store(), &dataset).map_err(|e| e.to_string())
}
