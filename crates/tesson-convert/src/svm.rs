//! The format of libsvm and svmlight: `label index:value …`, indices from 1.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::Key;
use tesson_core::store::Store;
use tesson_formats::write::StreamSpec;
use tesson_tables::rows::{Parts, pair, words};

use crate::ConvertError;
use crate::table::{Building, Row, TableOptions, Value, check, label_stream, put_label, sequences_of_rows};

/// The rows of a libsvm file as sequences: the stream `labels`, and the sparse stream `features`. With the key `qid` rows
/// of one query are a sequence.
pub struct Svm {
    file: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    /// The number of the first index.
    base: u64,
    by_query: bool,
    /// The next row; empty at the end.
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
            base: u64::from(!zero_based),
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
            if !Parts::of(&self.row).is_empty() {
                return Ok(());
            }
        }
    }

    /// The query of the next row; `None` where each row is a sequence.
    fn key_here(&self) -> Result<Option<Key>, ConvertError> {
        if !self.by_query {
            return Ok(None);
        }
        let query =
            Parts::of(&self.row).query.and_then(|query| std::str::from_utf8(query).ok()?.parse().ok());
        let row = Row { file: &self.file, line: self.line };
        query
            .map(|query| Some(Key::Number(query)))
            .ok_or_else(|| row.error("the row has no `qid:` with a number"))
    }

    fn take_row(&mut self) -> Result<(), ConvertError> {
        let row = Row { file: &self.file, line: self.line };
        let parts = Parts::of(&self.row);
        let [labels, features] = &mut self.building.streams[..] else {
            unreachable!("there are two streams")
        };
        if parts.labels.is_empty() {
            return Err(row.error("the row has no label, expected one before the pairs"));
        }
        put_label(labels, &String::from_utf8_lossy(parts.labels), &row)?;
        for word in words(parts.pairs) {
            let found = || String::from_utf8_lossy(word);
            let Some((index, text)) = pair(word).filter(|(_, text)| Value::parse(text).is_some()) else {
                return Err(row.error(format!("found `{}`, expected a pair `index:value`", found())));
            };
            let value =
                features.number(text).map_err(|what| row.error(format!("found `{}`, {what}", found())))?;
            let most = features.spec.dim.unwrap_or(i32::MAX as u64);
            let Some(column) = index.checked_sub(self.base).filter(|column| *column < most) else {
                let hint = if index == 0 { "; say so if indices count from 0 (`--zero-based`)" } else { "" };
                return Err(row.error(format!(
                    "found index {index}, expected one from {} to {}{hint}",
                    self.base,
                    most - 1 + self.base
                )));
            };
            features.pair(column as i32, value);
        }
        features.end_sample();
        self.next_row()
    }
}

sequences_of_rows!(Svm, |svm| !svm.row.is_empty(), |svm| svm.bytes);
