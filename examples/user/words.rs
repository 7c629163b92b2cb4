//! A deserializer of one's own in Rust: a text whose lines are sequences of words, and whose samples are letter counts.
//!
//! Order, workers, resuming and joining are not its business. Try it:
//!
//! ```sh
//! cargo run -p tesson --example words -- ARCHITECTURE.md
//! ```

#![expect(clippy::print_stdout, reason = "an example talks to who runs it")]

use std::path::PathBuf;
use std::{env, fs};

use tesson::config::{json, lower};
use tesson::deserializer::user::{ChunkSource, UserDeserializer, UserError};
use tesson::deserializer::{
    Data, Deserializer, Format, Offsets, OptionKind, OptionSpec, OptionTable, Options, Setting, StreamColumn,
    Values, describe_from_table,
};
use tesson::{ConfigError, Element, Error, Shape, Source, SourceConfig, StreamInfo};

/// Lines in a chunk, the unit of shuffling and of sharing among workers.
const LINES: usize = 16;

/// Makes the type known to configurations, with [`tesson::Registry::with`].
static FORMAT: Format = Format {
    name: "Words",
    aliases: &[],
    help: "Lines of words, as counts of the letters a to z in each word.",
    options: &OptionTable(&[OptionSpec {
        name: "file",
        aliases: &[],
        kind: OptionKind::Path,
        default: None,
        help: "The text.",
    }]),
    describe: describe_from_table,
    open,
};

fn open(options: &Options<'_>, setting: &Setting) -> Result<Box<dyn Deserializer>, ConfigError> {
    let file = PathBuf::from(options.text("file")?.expect("required options are there"));
    let wrong = |what: String| ConfigError::new(options.path("file"), what);
    let text = fs::read_to_string(&file).map_err(|e| wrong(format!("{}: {e}", file.display())))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    let words = UserDeserializer::new(std::sync::Arc::new(Words { lines }), setting).map_err(wrong)?;
    Ok(Box::new(words))
}

struct Words {
    lines: Vec<String>,
}

impl ChunkSource for Words {
    fn name(&self) -> &str {
        FORMAT.name
    }

    fn streams(&self) -> Vec<StreamInfo> {
        vec![StreamInfo {
            name: "letters".into(),
            shape: Shape::new([26]),
            element: Element::F32,
            sparse: true,
        }]
    }

    fn n_chunks(&self) -> u32 {
        self.lines.len().div_ceil(LINES) as u32
    }

    /// One column of pairs (letter, 1); letters that occur twice in a word are added up for us.
    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        let (mut sequences, mut words, mut letters) = (vec![0], vec![0], Vec::new());
        for line in self.lines.chunks(LINES).nth(chunk as usize).ok_or("there is no such chunk")? {
            for word in line.split_whitespace() {
                let known = word.bytes().map(|b| b.to_ascii_lowercase()).filter(u8::is_ascii_lowercase);
                letters.extend(known.map(|b| u32::from(b - b'a')));
                words.push(letters.len() as u32);
            }
            sequences.push(words.len() as u32 - 1);
        }
        let values = Values::Ones(letters.len());
        let data = Data::Sparse { rows: Offsets::At(words), columns: letters, values };
        Ok(vec![StreamColumn { samples: Offsets::At(sequences), data }])
    }

    /// Told, so that nothing has to be decoded before the first minibatch.
    fn lengths(&self, chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        let lines = self.lines.chunks(LINES).nth(chunk as usize).ok_or("there is no such chunk")?;
        Ok(Some(lines.iter().map(|line| line.split_whitespace().count() as u32).collect()))
    }
}

/// A source of words; `options` are those of any reader.
fn configured(file: &str, options: &str) -> Result<SourceConfig, Error> {
    let text = format!(r#"{{"deserializers": [{{"type": "Words", "file": {file:?}}}], {options}}}"#);
    Ok(lower(&json::parse(&text)?, &tesson::registry().with(&FORMAT))?)
}

fn main() -> Result<(), Error> {
    let file = env::args().nth(1).unwrap_or_else(|| "README.md".into());
    let mut source = Source::open(&configured(&file, r#""maxSweeps": 1"#)?)?;
    while let Some(minibatch) = source.next_minibatch(256)? {
        let letters = minibatch.stream("letters").expect("the one stream");
        println!("{} lines, {} words", minibatch.n_sequences(), letters.n_samples());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shared_and_resumed_without_a_line_about_it() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
        let config = configured(file, r#""maxSweeps": 1"#).unwrap();
        let words_of = |source: &mut Source, rank| {
            let mut keys = Vec::new();
            while let Some(m) = source.next(tesson::Demand { samples: 100, workers: 2, rank }).unwrap() {
                keys.extend((0..m.n_sequences()).map(|i| m.keys().get(i).to_string()));
            }
            keys
        };
        let mut keys = words_of(&mut Source::open(&config).unwrap(), 0);
        let mut source = Source::open(&config).unwrap();
        source.next(tesson::Demand { samples: 100, workers: 2, rank: 1 }).unwrap();
        let mut resumed = Source::resume(&config, source.state()).unwrap();
        let rest = words_of(&mut source, 1);
        assert_eq!(words_of(&mut resumed, 1), rest);

        keys.extend(words_of(&mut Source::open(&config).unwrap(), 1));
        keys.sort_by_key(|key| key.parse::<usize>().unwrap());
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(keys, (0..lines).map(|i| i.to_string()).collect::<Vec<_>>());
    }
}
