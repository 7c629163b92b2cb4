//! A custom deserializer in Rust: each line of a text is a sequence of words, and each sample has letter counts.
//!
//! The engine adds order, workers, resuming and joining. Try it:
//!
//! ```sh
//! cargo run -p tesson --example words -- ARCHITECTURE.md
//! ```

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::{env, fs};

use tesson::{ConfigError, Element, Error, SourceConfig, StoreError, StreamInfo};
use tesson_config::{json, lower};
use tesson_core::{
    Data, Deserializer, Format, Offsets, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults,
    StreamColumn, Values,
};
use tesson_formats::user::{ChunkSource, UserDeserializer, UserError};

/// Lines in a chunk, the unit of shuffling and of sharing among workers.
const LINES: usize = 16;

/// Makes the type known to configurations, with [`tesson_core::Registry::with`].
static FORMAT: Format = Format::new(
    "Words",
    "Lines of words, as counts of the letters a to z in each word.",
    &OptionTable(&[OptionSpec::required("file", OptionKind::Path, "The text.")]),
    open,
);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let words = Arc::new(Words { file: options.text("file")?.into(), lines: OnceLock::new() });
    let wrong = |refusal| ConfigError::refused(options.path("file"), &refusal);
    Ok(Box::new(UserDeserializer::new(words, defaults).map_err(wrong)?))
}

struct Words {
    file: PathBuf,
    /// Read when they are first needed, not when the options are checked.
    lines: OnceLock<Vec<String>>,
}

impl Words {
    fn lines(&self) -> Result<&[String], UserError> {
        if self.lines.get().is_none() {
            let unreadable = |e| Error::from(StoreError::new(self.file.as_path().into(), None, e));
            let text = fs::read_to_string(&self.file).map_err(unreadable)?;
            let lines = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned);
            self.lines.get_or_init(|| lines.collect());
        }
        Ok(self.lines.get().map_or(&[], Vec::as_slice))
    }

    fn chunk(&self, chunk: u32) -> Result<&[String], UserError> {
        Ok(self.lines()?.chunks(LINES).nth(chunk as usize).ok_or("there is no such chunk")?)
    }
}

impl ChunkSource for Words {
    fn name(&self) -> &str {
        FORMAT.name
    }

    fn streams(&self) -> Vec<StreamInfo> {
        vec![StreamInfo::sparse("letters", 26, Element::F32)]
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(self.lines()?.len().div_ceil(LINES) as u32)
    }

    /// One column of pairs (letter, 1); letters that occur twice in a word are added up for us.
    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        let (mut sequences, mut words, mut letters) = (vec![0], vec![0], Vec::new());
        for line in self.chunk(chunk)? {
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

    /// Declared, so that nothing has to be decoded before the first minibatch.
    fn lengths(&self, chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        Ok(Some(self.chunk(chunk)?.iter().map(|line| line.split_whitespace().count() as u32).collect()))
    }
}

/// A sweep over the words of a file, joined with other `deserializers`.
fn configured(file: &str, deserializers: &str) -> Result<SourceConfig, Error> {
    let words = format!(r#"{{"type": "Words", "file": {file:?}}}"#);
    let text = format!(r#"{{"deserializers": [{words}{deserializers}], "maxSweeps": 1}}"#);
    Ok(lower(&json::parse(&text)?, &tesson::registry().with(&FORMAT))?)
}

fn main() -> Result<(), Error> {
    let file = env::args().nth(1).unwrap_or_else(|| "README.md".into());
    let mut source = tesson::open(&configured(&file, "")?)?;
    while let Some(minibatch) = source.next_minibatch(256)? {
        let letters = minibatch.stream("letters").expect("the one stream");
        println!("{} lines, {} words", minibatch.n_sequences(), letters.n_samples());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson::{Samples, Source};

    const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");

    #[test]
    fn words_are_joined_with_a_file_by_the_engine() {
        let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/train.ctf");
        let pixels = r#"{"features": {"dim": 64, "format": "dense"}}"#;
        let beside =
            format!(r#", {{"type": "CNTKTextFormatDeserializer", "file": {digits:?}, "input": {pixels}}}"#);
        let mut source = tesson::open(&configured(TEXT, &beside).unwrap()).unwrap();
        let (text, rows) = (fs::read_to_string(TEXT).unwrap(), fs::read_to_string(digits).unwrap());
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut n = 0;
        while let Some(m) = source.next_minibatch(1).unwrap() {
            let line: usize = m.keys().get(0).to_string().parse().unwrap();
            let row = rows.lines().nth(line).unwrap().trim_start_matches("|features ");
            let pixels: Vec<f64> = row.split_whitespace().map_while(|x| x.parse().ok()).collect();
            let Samples::Dense { values: found } = m.stream("features").unwrap().samples() else {
                panic!("dense")
            };
            assert_eq!((0..found.len()).map(|i| found.get(i)).collect::<Vec<_>>(), pixels, "line {line}");
            let words = lines[line].split_whitespace().count();
            assert_eq!(m.stream("letters").unwrap().n_samples(), words, "line {line}");
            n += 1;
        }
        assert_eq!(n, lines.len());
    }

    #[test]
    fn words_are_shared_and_resumed_by_the_engine() {
        let file = TEXT;
        let config = configured(file, "").unwrap();
        let words_of = |source: &mut Source, rank| {
            let mut keys = Vec::new();
            while let Some(m) = source.next(tesson::Demand { samples: 100, workers: 2, rank }).unwrap() {
                keys.extend((0..m.n_sequences()).map(|i| m.keys().get(i).to_string()));
            }
            keys
        };
        let mut keys = words_of(&mut tesson::open(&config).unwrap(), 0);
        let mut source = tesson::open(&config).unwrap();
        source.next(tesson::Demand { samples: 100, workers: 2, rank: 1 }).unwrap();
        let mut resumed = tesson::open(&config).unwrap();
        resumed.restore(source.state()).unwrap();
        let rest = words_of(&mut source, 1);
        assert_eq!(words_of(&mut resumed, 1), rest);

        keys.extend(words_of(&mut tesson::open(&config).unwrap(), 1));
        keys.sort_by_key(|key| key.parse::<usize>().unwrap());
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(keys, (0..lines).map(|i| i.to_string()).collect::<Vec<_>>());
    }
}
