//! The number of frames that labels of speech have in each class.

use serde_json::{Value, json};
use tesson::config::Randomize;
use tesson::{OpenOptions, Purpose, Samples, SourceConfig};
use tesson_plan::Limit;

use crate::failure::Failure;
use crate::output::count;
use crate::progress::Progress;

/// The frames of each class in all utterances of a label file, whether they are read or not.
pub(crate) struct LabelCounts {
    stream: String,
    /// Names of classes; empty where they have none.
    names: Vec<String>,
    frames: Vec<u64>,
}

/// The number of frames that are requested at a time.
const MINIBATCH: u64 = 1 << 16;

/// Classes that a line of text lists.
const LISTED: usize = 5;

impl LabelCounts {
    /// Counts the labels of a configuration; `None` if it has no labels of speech, or several.
    pub(crate) fn of(config: &SourceConfig) -> Result<Option<LabelCounts>, Failure> {
        let Ok((mut labels, _)) = config.labels_config() else { return Ok(None) };
        labels.order.randomize = Randomize::Off;
        labels.minibatches.limit = Limit::Sweeps(1);
        let _progress = Progress::spinner("counting labels");
        let mut source = OpenOptions::to(Purpose::Conversion).open(&labels)?;
        let info = source.streams()[0].clone();
        let mut frames = vec![0; info.shape.len()];
        while let Some(minibatch) = source.next_minibatch(MINIBATCH)? {
            if let Samples::Sparse { indices, .. } = minibatch.streams()[0].samples() {
                indices.iter().for_each(|&class| frames[class as usize] += 1);
            }
        }
        Ok(Some(LabelCounts { stream: info.name.clone(), names: info.classes.to_vec(), frames }))
    }

    fn name(&self, class: usize) -> String {
        self.names.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    /// The classes that occur most, for a line of text.
    pub(crate) fn text(&self) -> String {
        let all: u64 = self.frames.iter().sum();
        let share = |frames: u64| 100.0 * frames as f64 / all.max(1) as f64;
        let mut used: Vec<usize> = (0..self.frames.len()).filter(|&class| self.frames[class] > 0).collect();
        used.sort_by_key(|&class| (std::cmp::Reverse(self.frames[class]), class));
        let listed = used.iter().take(LISTED).map(|&class| {
            format!("{} {} ({:.1} %)", self.name(class), count(self.frames[class]), share(self.frames[class]))
        });
        let listed: Vec<String> = listed.collect();
        let more = if used.len() > LISTED { ", …" } else { "" };
        let (n, of) = (count(used.len() as u64), count(self.frames.len() as u64));
        format!("of {}: {n} of {of} classes occur, {}{more}", self.stream, listed.join(", "))
    }

    /// The frames of each class, by stream.
    pub(crate) fn json(&self) -> Value {
        json!({ self.stream.as_str(): self.frames })
    }
}
