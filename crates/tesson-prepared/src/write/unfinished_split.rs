//! The examples of a split while its dataset is being written: appended to one file, of which shards are cut at the end.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tesson_convert::records::{End, RecordForm, RecordKind, RecordOutput, Records, RecordsFile, undamaged};
use tesson_core::Error;
use tesson_engine::DEFAULT_MEMORY_LIMIT;
use tesson_engine::atomic_file::{Existing, GrowingFile};
use tesson_engine::store::Stores;
use tesson_formats::tfrecord;

use super::failed;

/// The examples of a split so far.
pub(super) struct UnfinishedSplit {
    pub(super) path: PathBuf,
    pub(super) writer: tfrecord::write::Writer<BufWriter<GrowingFile>>,
    /// Examples from before, and the bytes of all.
    pub(super) before: u64,
    pub(super) bytes: u64,
}

impl UnfinishedSplit {
    /// Opens the examples of a split after the last whole one.
    pub(super) fn open(path: &Path) -> Result<UnfinishedSplit, Error> {
        let answer = |e| failed(path, e);
        let mut file = GrowingFile::open(path).map_err(answer)?;
        let (mut before, mut bytes) = (0, 0);
        let records = RecordsFile::open(&Stores::local(), path, RecordKind::TfRecord, DEFAULT_MEMORY_LIMIT)?;
        let mut block = Records::new();
        loop {
            records.read(before, u64::MAX, &mut block)?;
            // A record that was cut, or bytes that never reached the disk: nothing from there on counts.
            let good = block.faults().first().map_or(block.len(), |(at, _)| *at);
            before += good as u64;
            bytes += block.places()[..good].iter().map(|place| u64::from(place.size)).sum::<u64>();
            if good < block.len() || *block.end() != End::More {
                break;
            }
        }
        let end = bytes + before * tfrecord::write::AROUND;
        file.cut(end).map_err(answer)?;
        let writer = tfrecord::write::Writer::new(BufWriter::with_capacity(1 << 20, file));
        Ok(UnfinishedSplit { path: path.into(), writer, before, bytes })
    }

    /// Hands the examples to the operating system.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        Ok(self.writer.get_mut().flush().map_err(|e| failed(&self.path, e))?)
    }

    /// Hands the examples to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        Ok(self.writer.get_mut().get_ref().sync_data().map_err(|e| failed(&self.path, e))?)
    }

    /// Cuts shards of so many examples each.
    pub(super) fn cut(
        &self,
        shards: impl Iterator<Item = (PathBuf, u64)>,
        form: RecordForm,
    ) -> Result<(), Error> {
        let file =
            RecordsFile::open(&Stores::local(), &self.path, RecordKind::TfRecord, DEFAULT_MEMORY_LIMIT)?;
        let (mut block, mut next) = (Records::new(), 0);
        for (path, len) in shards {
            let answer = |e| failed(&path, e);
            let mut out = RecordOutput::create(&path, form).map_err(answer)?;
            let end = next + len;
            while next < end {
                file.read(next, end - next, &mut block)?;
                undamaged(&file, &block)?;
                if block.is_empty() {
                    let what = "an example that was written is not there any more";
                    return Err(failed(&self.path, io::Error::other(what)).into());
                }
                block.iter().try_for_each(|record| out.record(record)).map_err(answer)?;
                next += block.len() as u64;
            }
            out.finish(Existing::Replace).map_err(answer)?;
        }
        Ok(())
    }
}
