//! The format of libsvm and svmlight: `label index:value …`, indices from 1.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::Key;
use tesson_core::store::Store;
use tesson_formats::write::StreamSpec;

use crate::ConvertError;
use crate::table::{Building, Row, TableOptions, Value, check, label_stream, put_label, sequences_of_rows};

/// The rows of a libsvm file as sequences: the stream `labels`, and the sparse stream `features`. With the key `qid` rows
/// of one query are a sequence.
pub struct Svm {
    file: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    /// The number of the first index.
    base: i64,
    by_query: bool,
    /// The next row, without its line feed; empty at the end.
    row: Vec<u8>,
    line: u64,
    bytes: u64,
    building: Building,
}

impl Svm {
    /// Opens a file. Indices count from 0 if `zero_based`, else from 1.
    ///
    /// # Errors
    /// A file that cannot be read or has no rows; options that say nothing here.
    pub fn open(
        store: &dyn Store,
        file: &Path,
        options: &TableOptions,
        zero_based: bool,
    ) -> Result<Svm, ConvertError> {
        let options = TableOptions { label: Some("labels".into()), ..options.clone() };
        check(&options)?;
        if !options.streams.is_empty() || options.key.as_ref().is_some_and(|key| key != "qid") {
            let what =
                "this format has the streams `labels` and `features` and the key `qid`, and no other columns";
            return Err(ConvertError::Usage(what.into()));
        }
        let opened = store.stream(file).map_err(|e| ConvertError::file(file, e))?;
        let features = StreamSpec {
            name: "features".into(),
            sparse: true,
            dim: options.dim,
            element: options.element,
            classes: Arc::default(),
        };
        let mut svm = Svm {
            file: file.into(),
            reader: BufReader::with_capacity(1 << 16, opened),
            base: i64::from(!zero_based),
            by_query: options.key.is_some(),
            row: Vec::new(),
            line: 0,
            bytes: 0,
            building: Building::new(vec![label_stream("labels", &options), features], &options)?,
        };
        svm.next_row()?;
        Ok(svm)
    }

    /// Reads on to the next row that holds more than a comment.
    fn next_row(&mut self) -> Result<(), ConvertError> {
        loop {
            self.row.clear();
            let n = self
                .reader
                .read_until(b'\n', &mut self.row)
                .map_err(|e| ConvertError::file(&self.file, e))?;
            if n == 0 {
                return Ok(());
            }
            self.bytes += n as u64;
            self.line += 1;
            let end = self.row.iter().position(|&b| b == b'#' || b == b'\n').unwrap_or(self.row.len());
            self.row.truncate(end);
            if !self.row.trim_ascii().is_empty() {
                return Ok(());
            }
        }
    }

    /// The query of the next row; `None` where each row is a sequence.
    fn key_here(&self) -> Result<Option<Key>, ConvertError> {
        if !self.by_query {
            return Ok(None);
        }
        let mut words = self.row.split(u8::is_ascii_whitespace);
        let query = words.find_map(|word| word.strip_prefix(b"qid:"));
        let query = query.and_then(|query| std::str::from_utf8(query).ok()?.parse().ok());
        let row = Row { file: &self.file, line: self.line };
        query
            .map(|query| Some(Key::Number(query)))
            .ok_or_else(|| row.error("the row has no `qid:` with a number"))
    }

    fn take_row(&mut self) -> Result<(), ConvertError> {
        let row = Row { file: &self.file, line: self.line };
        let text = std::str::from_utf8(&self.row).map_err(|_| row.error("the row is no text"))?;
        let mut words = text.split_ascii_whitespace();
        let [labels, features] = &mut self.building.streams[..] else {
            unreachable!("there are two streams")
        };
        put_label(labels, words.next().unwrap_or_default(), &row)?;
        for word in words.filter(|word| !word.starts_with("qid:")) {
            let pair = word.split_once(':').and_then(|(i, v)| Some((i.parse::<i64>().ok()?, v)));
            let Some((index, text)) = pair.filter(|(_, text)| Value::parse(text).is_some()) else {
                return Err(row.error(format!("found `{word}`, expected a pair `index:value`")));
            };
            let value = features.number(text).map_err(|what| row.error(format!("found `{word}`, {what}")))?;
            let most = features.spec.dim.unwrap_or(i32::MAX as u64) as i64;
            let column = index - self.base;
            if !(0..most).contains(&column) {
                let hint = if index == 0 { "; say so if indices count from 0 (`--zero-based`)" } else { "" };
                return Err(row.error(format!(
                    "found index {index}, expected one from {} to {}{hint}",
                    self.base,
                    most - 1 + self.base
                )));
            }
            features.pair(column as i32, value);
        }
        features.end_sample();
        self.next_row()
    }
}

sequences_of_rows!(Svm, |svm| !svm.row.is_empty(), |svm| svm.bytes);
