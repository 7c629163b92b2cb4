//! Deserializers without a source: files in memory are indexed and loaded in different ways, with the same sequences.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tesson::{Error, SourceConfig, StoreError};
use tesson_core::{
    Chunk, ChunkId, Corpus, Defects, Deserializer, Fetch, InMemory, Index, Indexed, NamedResource, OneCore,
    Options, ResourceBytes, ResourceId, Scratch, SequenceSelection,
};

use crate::sources::Input;

/// Bytes of the largest sequence.
const LARGEST: u64 = 8 << 20;

/// Sequences of a chunk that are loaded together.
const LOADED: u32 = 4096;

/// The time between frames, for labels that are read without features.
const FRAME_PERIOD: u32 = 100_000;

/// Indexes and loads each deserializer of an input by itself: a fraction of the cost of reading it as a source.
///
/// # Panics
/// If sequences depend on how they are loaded, or if an index that is saved does not come back.
pub(crate) fn check(input: &Input) {
    let Some(config) = config_of(input) else { return };
    for number in 0..config.deserializers.len() {
        // An error is always a good answer.
        drop(check_one(&config, number, input));
    }
}

thread_local! {
    /// Configurations by their text. An input chooses one of a few, and reading it takes longer than what is read with it.
    static CONFIGS: RefCell<BTreeMap<String, Option<Rc<SourceConfig>>>> = const { RefCell::new(BTreeMap::new()) };
}

fn config_of(input: &Input) -> Option<Rc<SourceConfig>> {
    CONFIGS.with_borrow_mut(|configs| {
        let text = input.reader.to_string();
        configs
            .entry(text)
            .or_insert_with_key(|text| tesson::config::from_json(text).ok().map(Rc::new))
            .clone()
    })
}

fn check_one(config: &SourceConfig, number: usize, input: &Input) -> Result<(), Error> {
    let given = &config.deserializers[number];
    let options = Options::new(given.format.options, &given.options, given.path.clone())?;
    let mut deserializer = (given.format.open)(&options, &config.reader_defaults())?;
    let by_name = Files { files: &input.files, names: names(&*deserializer) };
    let mut files = InMemory { largest: LARGEST, ..InMemory::new(by_name) };
    deserializer.prepare(&files)?;
    files.bytes.names = names(&*deserializer);
    if deserializer.facts().looks_at_named {
        deserializer.prepare(&files)?;
    }
    if deserializer.facts().needs_frame_period {
        deserializer.take_frame_period(FRAME_PERIOD);
    }
    let cores = OneCore { memory: LARGEST };
    let Indexed { index, corpus } = deserializer.index(&files, &cores, &mut Defects::Refuse)?;
    let mut saved = Vec::new();
    corpus.save(&index, &mut saved);
    if !saved.is_empty() {
        let restored = deserializer.restore(&saved).expect("what was saved comes back");
        assert_eq!(restored.index.n_sequences(), index.n_sequences());
    }
    index.chunk_ids().try_for_each(|chunk| check_chunk(chunk, &index, &*corpus, &files))
}

fn check_chunk(chunk: ChunkId, index: &Index, corpus: &dyn Corpus, files: &dyn Fetch) -> Result<(), Error> {
    // A line of labels may declare millions of frames, each a sequence: sources load them in blocks.
    let (all, n) = (index.chunk(chunk).n_sequences, index.chunk(chunk).n_sequences.min(LOADED));
    let load = |wanted: SequenceSelection<'_>| {
        let mut loaded = Chunk::empty();
        corpus.load(chunk, wanted, files, &mut Scratch::default(), &mut loaded).map(|()| loaded)
    };
    let whole = load(SequenceSelection::Range(0..n))?;
    assert_eq!(whole.n_sequences, n);
    let numbers: Vec<u32> = (0..n).collect();
    let listed = load(SequenceSelection::List(&numbers))?;
    for i in 0..n as usize {
        assert_eq!(listed.key(i), whole.key(i), "sequence {i} in a list");
    }
    assert_eq!((&listed.lengths, &listed.left_out), (&whole.lengths, &whole.left_out));
    assert_eq!(listed.streams, whole.streams);
    if let Some(&last) = numbers.last() {
        let alone = load(SequenceSelection::List(&[last]))?;
        assert_eq!(alone.key(0), whole.key(last as usize), "sequence {last} alone");
        assert_eq!(alone.lengths[..], whole.lengths[last as usize..]);
        assert_eq!(alone.is_left_out(0), whole.is_left_out(last));
        load(SequenceSelection::List(&[all - 1]))?;
    }
    Ok(())
}

/// The name of each resource; of a member of an archive, which are not tried here, none.
fn names(deserializer: &dyn Deserializer) -> Vec<Option<Arc<Path>>> {
    let facts = deserializer.facts();
    let named =
        (0..facts.named.len() as u32).map(|number| match facts.named.get(number, &mut String::new()) {
            NamedResource::File { path, .. } => Some(Path::new(path).into()),
            NamedResource::Member { .. } => None,
        });
    facts.resources.iter().map(|path| Some(path.as_path().into())).chain(named).collect()
}

/// Files, by name.
struct Files<'a> {
    files: &'a [(&'static str, Vec<u8>)],
    names: Vec<Option<Arc<Path>>>,
}

impl ResourceBytes for Files<'_> {
    fn of(&self, resource: ResourceId) -> Result<&[u8], Error> {
        let name =
            self.names.get(resource.0 as usize).cloned().flatten().unwrap_or_else(|| Path::new("").into());
        match self.files.iter().find(|(known, _)| Path::new(known) == &*name) {
            Some((_, bytes)) => Ok(bytes),
            None => Err(StoreError::new(name, None, std::io::ErrorKind::NotFound.into()).into()),
        }
    }
}
