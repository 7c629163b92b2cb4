//! Questions about a corpus as a whole: its index, its size and its faults.

use std::path::PathBuf;

use tesson_core::{DataError, Defects, Error, IndexCache, Indexed, LeftOut, PartFetch, StreamMismatch};
use tesson_plan::JoinReport;

use super::Source;
use crate::block::{BlockSizes, BlockTable};
use crate::check::{self, Checked, Severity};
use crate::join::{self, IndexedSource};
use crate::memory_budget::Budget;
use crate::threads::Threads;

impl Source {
    /// The index of the whole corpus, made now if it was not needed before.
    ///
    /// # Errors
    /// As for opening.
    pub fn indexed(&mut self) -> Result<&Indexed, Error> {
        Ok(&self.joint()?.indexed)
    }

    /// Streams that the data do not have as they are declared, where their format can tell; their numbers are those of the
    /// deserializers' streams, one after the other. Reads all of the data where a stream occurs nowhere.
    ///
    /// # Errors
    /// Unreadable storage.
    pub fn mismatches(&self) -> Result<Vec<StreamMismatch>, Error> {
        let (mut all, mut first_stream) = (Vec::new(), 0);
        for part in self.corpus.parts.list() {
            let fetch = PartFetch { fetch: &*self.resources, first: part.first };
            let found = part.deserializer.mismatches(&fetch)?;
            all.extend(found.into_iter().map(|m| StreamMismatch { stream: first_stream + m.stream, ..m }));
            first_stream += part.facts().streams.len();
        }
        Ok(all)
    }

    /// True once the corpus is indexed, so that its numbers are known.
    pub fn is_indexed(&self) -> bool {
        self.corpus.joint.is_some()
    }

    /// Number of sequences in the corpus.
    ///
    /// # Errors
    /// Those of [`Source::indexed`].
    pub fn num_sequences(&mut self) -> Result<u64, Error> {
        Ok(self.indexed()?.index.n_sequences())
    }

    /// Number of samples in one sweep (counted lengths).
    ///
    /// # Errors
    /// Those of [`Source::indexed`].
    pub fn num_samples_per_sweep(&mut self) -> Result<u64, Error> {
        Ok(self.indexed()?.index.n_samples())
    }

    /// Decodes every sequence once, and samples that are stored encoded, through the transforms of their streams. Calls `each`
    /// with everything that is found, in the order of the data, and how bad it is.
    ///
    /// # Errors
    /// Those of [`Source::indexed`], and unreadable storage.
    pub fn check(&mut self, each: &mut dyn FnMut(&DataError, Severity)) -> Result<Checked, Error> {
        let mut defects = Vec::new();
        let indexed = match &self.corpus.joint {
            // What reading has not refused; a cheap index is made again, to look for more.
            Some(joint)
                if !self.corpus.parts.facts().all(|facts| facts.index_cache == IndexCache::Useless) =>
            {
                joint.indexed.clone()
            }
            _ => self.index(&mut Defects::Collect(&mut defects))?.indexed,
        };
        let run_bytes = Budget::of(self.runtime.memory_limit, self.runtime.threads).run_bytes;
        let whole = self.whole_chunks_of_threads();
        let sizes = BlockSizes { pass_by: true, ..self.block_sizes(run_bytes, run_bytes, whole) };
        let table = BlockTable::of(&indexed, sizes);
        defects.iter().for_each(|defect| each(defect, Severity::Fatal));
        let subject = check::Subject {
            indexed: &indexed,
            table: &table,
            streams: &self.streams.stored,
            transforms: &self.streams.transforms,
            resources: &self.resources,
            memory_limit: usize::try_from(self.runtime.memory_limit).unwrap_or(usize::MAX),
            threads: self.runtime.threads,
        };
        let mut seen = check::check(&subject, each)?;
        seen.faults += defects.len() as u64;
        seen.fatal += defects.len() as u64;
        Ok(seen)
    }

    /// The sequences that could not be joined; `None` for a single deserializer.
    ///
    /// # Errors
    /// Those of [`Source::indexed`].
    pub fn join_report(&mut self) -> Result<Option<&JoinReport>, Error> {
        Ok(self.joint()?.report.as_ref())
    }

    /// The data that each deserializer leaves out, in the order of the deserializers.
    ///
    /// # Errors
    /// Those of [`Source::indexed`].
    pub fn left_out(&mut self) -> Result<Vec<Vec<LeftOut>>, Error> {
        Ok(self.joint()?.parts.iter().map(|part| part.corpus.facts().left_out.clone()).collect())
    }

    /// Indexes the corpus and writes an index cache for each deserializer whose format has none of its own;
    /// returns where they are.
    ///
    /// # Errors
    /// Those of [`Source::indexed`], and what the file system answers.
    pub fn write_index_cache(&mut self) -> Result<Vec<PathBuf>, Error> {
        let joint = self.joint()?.clone();
        let parts = self.corpus.parts.list().iter().zip(&joint.parts);
        let cached = parts.filter(|(part, _)| part.facts().index_cache != IndexCache::Useless);
        cached.map(|(part, indexed)| part.write_index_cache(indexed, &self.resources)).collect()
    }

    fn joint(&mut self) -> Result<&IndexedSource, Error> {
        if self.corpus.joint.is_none() {
            let joint = self.index(&mut Defects::Refuse)?;
            self.plan.excluded = self.resolve_exclusion(&joint.indexed)?;
            self.corpus.joint = Some(joint);
        }
        Ok(self.corpus.joint.as_ref().expect("made above"))
    }

    fn index(&self, defects: &mut Defects<'_>) -> Result<IndexedSource, Error> {
        let threads = Threads { n: self.runtime.threads, memory: self.runtime.memory_limit / 2 };
        join::index(&self.corpus.parts, &self.resources, &threads, self.corpus.join, defects)
    }
}
