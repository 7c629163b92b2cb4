//! The CNTK text format: rows of `|name values`, one sample each, several rows a sequence.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, and what they mean |
//! | `prologue` | byte order mark, leading white space, the choice of mode |
//! | `stream_names` | names of streams against the first rows |
//! | `rows` | which rows make which sequences: one definition for the index and the parser |
//! | `survey` | declared streams against all rows |
//! | `scan` | rows of a file, one after the other, in pieces |
//! | `index` | the index pass, chunks, saved indexes |
//! | `corpus` | loading parts of an indexed file |
//! | `streaming` | reading in order without an index |
//! | `parse`, `checks` | rows to columns, and all faults |
//! | `column` | the columns of a stream |
//! | `fault` | the kinds of faults, their codes and texts |
//! | `decimal`, `bytes`, `tag` | numbers, classes of bytes, short texts |
//! | `tokens` | fast kernels for ordinary values |
//! | `sparse_rows` | rows of sparse samples, several at a time |
//! | `write` | the way back |

mod bytes;
mod checks;
mod column;
mod corpus;
mod decimal;
mod fault;
mod index;
mod options;
mod parse;
mod prologue;
mod rows;
mod scan;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
mod sparse_rows;
mod stream_names;
mod streaming;
mod survey;
mod tag;
#[cfg(test)]
mod tests;
mod tokens;
pub(crate) use decimal::{Real, ordinary};
pub(crate) use tokens::{Feeds, Kernel};
pub mod write;

use std::path::Path;
use std::sync::Arc;

use tesson_core::{
    ConfigError, DataError, DataErrorKind, Defects, Deserializer, Element, Error, Fetch, Format, IndexCache,
    Indexed, Location, OptionName, OptionSet, Options, Parallelism, ReaderDefaults, ResourceId, StreamInfo,
    StreamMismatch, StreamingDecoder, format_of,
};

use crate::files::{DataFile, Files};
pub use fault::CtfFault;
pub use options::CtfRefusal;
use options::{CtfOptions, EmptyInputs, Input};
use prologue::Prologue;
use rows::{Keying, RowRules};
use tag::Tag;

const CHUNK_SIZE_IN_BYTES: OptionName = OptionName::new("chunkSizeInBytes");

/// The registry's entry.
pub static FORMAT: Format = format_of::<CtfOptions>(
    "CNTKTextFormatDeserializer",
    "Text: rows of `|name values`, dense or sparse, optionally with sequence ids.",
    open,
)
.with_aliases(&["CNTKTextFormatReader", "CTFDeserializer"]);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let options = Arc::new(CtfOptions::read(options, defaults)?);
    let rules = Rules::new(&options);
    let files = Files::new(FORMAT.name, &options.files, |file| Ctf::new(Arc::clone(&options), &rules, &file));
    Ok(Box::new(files.with_facts(|facts| {
        facts.max_errors = Some(options.max_errors);
        facts.keep_in_memory = options.keep;
        facts.index_cache = IndexCache::enabled(options.cache_index);
        facts.defines_size = options.main.is_some();
        facts.smaller_chunks = Some(|| format!("choose a smaller {CHUNK_SIZE_IN_BYTES}"));
    })))
}

/// The rules for decoding, settled by [`Deserializer::prepare`].
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    file: Arc<Path>,
    /// Shared by all files of a corpus, like the names: there may be a hundred thousand of them.
    inputs: Arc<[Input]>,
    names: Arc<[Name]>,
    main: Option<usize>,
    skip_ids: bool,
    text_keys: bool,
    lenient: bool,
    empty: EmptyInputs,
    grammar: decimal::Grammar,
    rows: RowRules,
    prologue: Prologue,
    /// Faults that are kept of one sequence; fatal ones always are.
    most_faults: usize,
    element: Element,
    kernel: Kernel,
}

/// Faults that are kept of one sequence, if the budget does not ask for more: a megabyte of `|` is a million faults, and
/// no user reads so many.
const MOST_FAULTS: u64 = 1000;

/// A stream's name, ready to be looked for.
#[derive(Clone, Debug)]
struct Name {
    tag: Option<Tag>,
    /// `None` if it cannot stand in a file: with a blank or `|` in it, or as a comment.
    text: Option<Box<[u8]>>,
}

impl Name {
    fn new(alias: &[u8]) -> Name {
        let possible = alias[0] != b'#' && !alias.iter().any(|&b| bytes::is_end(b));
        let text = possible.then(|| alias.into());
        Name { tag: Tag::new(alias).filter(|_| possible), text }
    }

    /// The length of the name, if `bytes` begin with it and it ends there.
    #[inline]
    fn begins(&self, bytes: &[u8]) -> Option<usize> {
        if let Some((end, n)) = self.tag.and_then(|tag| tag.behind(bytes)) {
            return bytes::is_end(end).then_some(n);
        }
        self.begins_slowly(bytes)
    }

    fn begins_slowly(&self, bytes: &[u8]) -> Option<usize> {
        let text = self.text.as_deref()?;
        let rest = bytes.strip_prefix(text)?;
        rest.first().is_none_or(|&b| bytes::is_end(b)).then_some(text.len())
    }
}

impl Rules {
    /// The rules that follow from the options; the others depend on the file.
    fn new(options: &CtfOptions) -> Rules {
        Rules {
            file: Path::new("").into(),
            inputs: options.inputs.0.clone().into(),
            names: options.inputs.iter().map(|input| Name::new(&input.alias)).collect(),
            main: options.main,
            skip_ids: options.skip_ids,
            text_keys: options.text_keys,
            lenient: options.lenient,
            empty: options.empty.unwrap_or(EmptyInputs::Keep),
            grammar: options.grammar,
            rows: RowRules {
                keying: Keying::Lines,
                lenient: options.lenient,
                main: options.main.map(|main| (*options.inputs[main].alias).into()),
            },
            prologue: Prologue { start: 0, line: 0, lines: true },
            // The fault that ends reading is the one behind the budget.
            most_faults: options.max_errors.saturating_add(1).max(MOST_FAULTS) as usize,
            element: options.element,
            kernel: Kernel::best(),
        }
    }
}

/// A text file as a corpus.
struct Ctf {
    options: Arc<CtfOptions>,
    rules: Arc<Rules>,
    /// How the index pass divides the file; tests make it small.
    cut: index::Cut,
}

impl Ctf {
    /// A file, read by the rules that [`Rules::new`] makes of the same options.
    fn new(options: Arc<CtfOptions>, rules: &Rules, file: &Path) -> Ctf {
        let rules = Rules { file: file.into(), ..rules.clone() };
        Ctf { options, rules: Arc::new(rules), cut: index::Cut::default() }
    }
}

impl DataFile for Ctf {
    fn streams(&self) -> &[StreamInfo] {
        &self.options.streams
    }

    fn identity(&self) -> String {
        self.options.identity()
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let prologue = prologue::look(&self.rules, fetch)?;
        let rules = Arc::make_mut(&mut self.rules);
        rules.prologue = prologue;
        if self.options.has_open_dims() {
            let options = Arc::make_mut(&mut self.options);
            prologue::find_dims(options, rules, prologue, fetch)?;
            rules.inputs = options.inputs.0.clone().into();
        }
        rules.rows.keying = match (prologue.lines, rules.text_keys) {
            (true, _) => Keying::Lines,
            (false, true) => Keying::Texts,
            (false, false) => Keying::Numbers,
        };
        // A row without ids is one example: without one of its streams it pairs with nothing.
        let by_mode = if prologue.lines { EmptyInputs::Fault } else { EmptyInputs::Keep };
        rules.empty = self.options.empty.unwrap_or(by_mode);
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        _defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let (index, table) =
            index::index(&self.rules, self.options.chunk_bytes, self.cut, fetch, parallelism)?;
        Ok(corpus::indexed(Arc::clone(&self.rules), index, table))
    }

    fn restore(&self, saved: &[u8]) -> Option<Indexed> {
        let (index, table) = index::restore(saved)?;
        Some(corpus::indexed(Arc::clone(&self.rules), index, table))
    }

    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        survey::mismatches(&self.rules, fetch)
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        // A sequence may turn out not to exist at its very end only: no place to cut is safe.
        if self.rules.main.is_some() { None } else { Some(self) }
    }
}

/// An error at a place of the file; `line` from 0.
fn located(rules: &Rules, kind: impl Into<DataErrorKind>, offset: u64, line: u64) -> Error {
    let at = Location { file: Arc::clone(&rules.file), offset, line: Some(line + 1) };
    DataError::new(kind, at).into()
}

/// The one resource.
const FILE: ResourceId = ResourceId(0);
