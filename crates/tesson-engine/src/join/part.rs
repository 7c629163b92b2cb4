//! The deserializers of a source, and what they are together.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{
    ConfigError, Defects, Deserializer, DeserializerFacts, Error, IndexCache, Indexed, PartFetch,
    ReadContext, RepeatedKeys, Storage, StoreError, StreamInfo, Transform, repeated_name,
};

use crate::fetch::Resources;
use crate::named_files::NamedFiles;
use crate::refusal::EngineRefusal;
use crate::store::Store;
use crate::threads::Threads;
use crate::{fingerprint, index_cache};

/// One deserializer, and which of the source's files are its own.
pub(crate) struct Part {
    pub(crate) deserializer: Arc<dyn Deserializer>,
    pub(crate) files: Range<usize>,
    /// Number of its first resource.
    pub(crate) first: u32,
}

/// The deserializers of a source. The first one is the primary.
pub(crate) struct Parts {
    list: Vec<Part>,
    /// Faults that are forgiven in all parts together that have no budget of their own.
    reader_budget: u64,
}

/// The names of the files of all deserializers, each with whether it may be a folder.
pub(crate) fn files(deserializers: &[Box<dyn Deserializer>]) -> impl Iterator<Item = (Arc<Path>, bool)> {
    let of = |facts: &DeserializerFacts| {
        let takes_folders = facts.takes_folders;
        let name = |path: &PathBuf| (Arc::from(path.as_path()), takes_folders);
        facts.resources.iter().map(name).collect::<Vec<_>>()
    };
    deserializers.iter().flat_map(move |d| of(d.facts()))
}

impl Parts {
    /// Lets every deserializer look at the beginning of its data, and makes sure that they go together.
    ///
    /// # Errors
    /// Those of [`Deserializer::prepare`]; two streams of one name, one with too long a name, and two deserializers that
    /// define the size.
    pub(crate) fn prepare(
        deserializers: Vec<Box<dyn Deserializer>>,
        resources: &mut Resources,
        store: &dyn Store,
        reader_budget: u64,
    ) -> Result<Parts, Error> {
        check(&deserializers.iter().map(|deserializer| &**deserializer).collect::<Vec<_>>())?;
        let mut prepared = Vec::with_capacity(deserializers.len());
        let (mut first, mut first_file) = (0, 0);
        for (i, mut deserializer) in deserializers.into_iter().enumerate() {
            check_streams(&*deserializer, i)?;
            deserializer.prepare(&PartFetch { fetch: resources, first })?;
            // Again: some formats find their streams in the file.
            check_streams(&*deserializer, i)?;
            let mut streams = deserializer.facts().streams.iter();
            if let Some(stream) = streams.find(|s| s.storage == Storage::Repeated).filter(|_| i == 0) {
                let stream = stream.name.clone();
                return Err(refused(0, &EngineRefusal::RepeatedStreamFirst { stream }).into());
            }
            let facts = deserializer.facts();
            let files = first_file..first_file + facts.resources.len();
            let first_named = first + facts.resources.len() as u32;
            let n_named = facts.named.len() as u32;
            if n_named > 0 {
                let lists = resources.files()[files.clone()].iter().map(|(path, _)| path.clone()).collect();
                let named = NamedFiles::new(
                    first_named,
                    facts.named.clone(),
                    lists,
                    store.shared(),
                    resources.largest(),
                );
                resources.push_named(named);
            }
            if deserializer.facts().looks_at_named {
                deserializer.prepare(&PartFetch { fetch: resources, first })?;
            }
            first_file = files.end;
            prepared.push((deserializer, files, first));
            first = first_named + n_named;
        }
        // Again: those that found their streams in their files may have found the same.
        check(&prepared.iter().map(|(deserializer, ..)| &**deserializer).collect::<Vec<_>>())?;
        let period = prepared.iter().find_map(|(deserializer, ..)| deserializer.facts().frame_period);
        for (i, (deserializer, ..)) in prepared.iter_mut().enumerate() {
            if deserializer.facts().needs_frame_period {
                let period = period.ok_or_else(|| refused(i, &EngineRefusal::NoFramePeriod))?;
                deserializer.take_frame_period(period);
            }
        }
        let part = |(deserializer, files, first): (Box<dyn Deserializer>, _, _)| Part {
            deserializer: deserializer.into(),
            files,
            first,
        };
        Ok(Parts { list: prepared.into_iter().map(part).collect(), reader_budget })
    }

    pub(crate) fn list(&self) -> &[Part] {
        &self.list
    }

    /// The first deserializer: the only one, where there is one only.
    pub(crate) fn primary(&self) -> &Arc<dyn Deserializer> {
        &self.list[0].deserializer
    }

    pub(crate) fn facts(&self) -> impl Iterator<Item = &DeserializerFacts> {
        self.list.iter().map(Part::facts)
    }

    /// The only deserializer, if data in order can be read from it before they are indexed.
    pub(crate) fn growing(&self) -> bool {
        let [only] = self.list.as_slice() else { return false };
        only.facts().index_cache != IndexCache::On && only.deserializer.streaming().is_some()
    }

    /// The streams of all, in order.
    pub(crate) fn streams(&self) -> Vec<Arc<StreamInfo>> {
        self.facts().flat_map(|facts| facts.streams.iter().cloned().map(Arc::new)).collect()
    }

    /// The transforms that deserializers decode their streams with, each with the stream's number among those of all.
    pub(crate) fn decoders(&self) -> Vec<(usize, Arc<dyn Transform>)> {
        let (mut first, mut all) = (0, Vec::new());
        for facts in self.facts() {
            let numbered =
                |(stream, decoder): &(usize, Arc<dyn Transform>)| (first + stream, decoder.clone());
            all.extend(facts.decoders.0.iter().map(numbered));
            first += facts.streams.len();
        }
        all
    }

    /// Everything that changes sequences, keys or values.
    pub(crate) fn identity(&self) -> String {
        self.facts().map(|facts| facts.identity.as_str()).collect::<Vec<_>>().join(" + ")
    }

    /// Faults that are forgiven, in all parts together.
    pub(crate) fn max_errors(&self) -> u64 {
        let own: u64 = self.facts().filter_map(|facts| facts.max_errors).fold(0, u64::saturating_add);
        let is_shared = self.facts().any(|facts| facts.max_errors.is_none());
        own.saturating_add(if is_shared { self.reader_budget } else { 0 })
    }

    /// Faults that are forgiven of a part: by its own budget, or by that of all that have none.
    pub(crate) fn budget_of(&self, part: &Part) -> u64 {
        part.facts().max_errors.unwrap_or(self.reader_budget)
    }

    /// Who has the option that forgives faults of a stream, or of a whole sequence.
    pub(crate) fn budget_owner(&self, stream: Option<&str>) -> &'static str {
        let has = |facts: &&DeserializerFacts| {
            stream.is_none_or(|name| facts.streams.iter().any(|s| s.name == name))
        };
        let owns: Vec<bool> = self.facts().filter(has).map(|facts| facts.max_errors.is_some()).collect();
        match (owns.contains(&true), owns.contains(&false)) {
            (true, true) => "deserializer, or of the reader if it has none,",
            (true, false) => "deserializer",
            (false, _) => "reader",
        }
    }

    /// True if a part tolerates no fault though others do.
    pub(crate) fn is_strict(&self, part: &Part) -> bool {
        self.budget_of(part) == 0 && self.max_errors() > 0
    }

    /// True if a part's samples join the frames of the first one, which are separate sequences: the part is not read by
    /// frames itself, and its samples are values that can be told apart.
    pub(crate) fn splits(&self, part: &Part) -> bool {
        let by_frame = |part: &Part| part.facts().repeated_keys == RepeatedKeys::InTurn;
        let streams = &part.facts().streams;
        by_frame(&self.list[0]) && !by_frame(part) && streams.iter().all(|s| s.storage == Storage::Values)
    }

    /// For each stream, true if its deserializer tolerates no fault though others do.
    pub(crate) fn strict_streams(&self) -> Vec<bool> {
        let of_part = |part: &Part| vec![self.is_strict(part); part.facts().streams.len()];
        self.list.iter().flat_map(of_part).collect()
    }

    pub(crate) fn keep_in_memory(&self) -> bool {
        self.facts().any(|facts| facts.keep_in_memory)
    }
}

impl Part {
    pub(crate) fn facts(&self) -> &DeserializerFacts {
        self.deserializer.facts()
    }

    /// Indexes the part, or takes its index from a cache.
    pub(crate) fn index(
        &self,
        resources: &Resources,
        threads: &Threads,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let fetch = PartFetch { fetch: resources, first: self.first };
        let deserializer = &*self.deserializer;
        if self.facts().index_cache != IndexCache::On {
            return deserializer.index(&fetch, threads, defects);
        }
        let corpus = fingerprint::corpus([(self.facts(), self.first)].into_iter(), resources)?;
        let files = &resources.files()[self.files.clone()];
        if let Some(indexed) = index_cache::read(deserializer, files, corpus) {
            return Ok(indexed);
        }
        let indexed = deserializer.index(&fetch, threads, defects)?;
        if let Err(e) = index_cache::write(deserializer, files, corpus, &indexed) {
            tracing::info!("the index cache cannot be written: {e}");
        }
        Ok(indexed)
    }

    /// Writes the cache of an index of this part; returns where it is.
    pub(crate) fn write_index_cache(
        &self,
        indexed: &Indexed,
        resources: &Resources,
    ) -> Result<PathBuf, Error> {
        let corpus = fingerprint::corpus([(self.facts(), self.first)].into_iter(), resources)?;
        let files = &resources.files()[self.files.clone()];
        index_cache::write(&*self.deserializer, files, corpus, indexed).map_err(|e| {
            let input = files.first().map_or(Path::new(""), |(path, _)| path);
            StoreError::new(index_cache::path(input).into(), None, e).into()
        })
    }
}

fn check(deserializers: &[&dyn Deserializer]) -> Result<(), ConfigError> {
    let streams = |(i, deserializer): (usize, &&dyn Deserializer)| {
        let names = deserializer.facts().streams.iter().map(|stream| stream.name.clone());
        names.map(|name| (i, name)).collect::<Vec<_>>()
    };
    let names: Vec<(usize, String)> = deserializers.iter().enumerate().flat_map(streams).collect();
    if let Some((first, second)) = repeated_name(names.iter().map(|(_, name)| name.as_str())) {
        let (other, (i, stream)) = (names[first].0, names[second].clone());
        return Err(refused(i, &EngineRefusal::StreamTwice { stream, other }));
    }
    let mut definers = (0..deserializers.len()).filter(|&i| deserializers[i].facts().defines_size);
    if let (Some(one), Some(other)) = (definers.next(), definers.next()) {
        return Err(refused(other, &EngineRefusal::SizeDefinedTwice { other: one }));
    }
    Ok(())
}

/// Refuses streams with impossible names or elements.
fn check_streams(deserializer: &dyn Deserializer, number: usize) -> Result<(), ConfigError> {
    let check = |stream: &StreamInfo| {
        stream.check_name().map_err(|e| e.to_string()).and_then(|()| stream.check_element())
    };
    let checked = deserializer.facts().streams.iter().try_for_each(check);
    checked.map_err(|what| refused(number, &EngineRefusal::StreamName { what }))
}

/// The refusal of deserializer `number`.
pub(super) fn refused(number: usize, refusal: &EngineRefusal) -> ConfigError {
    ConfigError::refused(format!("deserializers[{number}]"), refusal)
}
