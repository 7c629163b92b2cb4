//! Prepared datasets: making some, and the speed of reading them, compared with the bounds of the machine.

mod make;
mod measure;
mod order;

use std::path::Path;

use make::Content;
pub(crate) use make::image;

pub(crate) const USAGE: &str = "
  tesson-bench tfds make CONTENT FOLDER [MB]     prepare a dataset (CONTENT: integers, blobs, pictures, shards)
  tesson-bench tfds measure CONTENT FOLDER [ROUNDS]   all that is measured of it, in turns; each line has the share of its limit
  tesson-bench tfds reading CONTENT FOLDER [ROUNDS]   reading alone: one thread, two, and two readers side by side
  tesson-bench tfds order [ROUNDS]               whole epochs of an order without data, and places in it";

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// Runs a job; false if there is none of this name.
pub(crate) fn run(words: &[&str]) -> Answer<bool> {
    let rounds = |rest: &[&str]| rest.first().map_or(Ok(5), |n| n.parse());
    match words {
        ["make", content, folder, rest @ ..] => {
            let Some(content) = Content::parse(content) else { return Ok(false) };
            let megabytes = rest.first().map_or(Ok(content.megabytes()), |n| n.parse())?;
            make::write(content, Path::new(folder), megabytes)?;
        }
        ["measure", content, folder, rest @ ..] => {
            let Some(content) = Content::parse(content) else { return Ok(false) };
            measure::all(content, Path::new(folder), rounds(rest)?)?;
        }
        ["reading", content, folder, rest @ ..] => {
            let Some(content) = Content::parse(content) else { return Ok(false) };
            measure::reading(content, Path::new(folder), rounds(rest)?)?;
        }
        ["order", rest @ ..] => order::all(rounds(rest)?)?,
        _ => return Ok(false),
    }
    Ok(true)
}
