//! Script files, read when a source is opened, and the index of what they list.

use std::sync::Arc;

use tesson_core::{
    DataError, Decoders, Defects, Deserializer, DeserializerFacts, Error, Fetch, Indexed, LeftOut, Location,
    OptionName, Parallelism, RepeatedKeys, ResourceId, Storage, StreamInfo, StreamMismatch, StreamingDecoder,
};

use super::FORMAT;
use super::corpus::{HtkCorpus, Shape};
use super::fault::HtkFault;
use super::frames::Frames;
use super::header::FileKind;
use super::list::{Listed, Selection, Utterances, read_lists};
use super::options::{HtkOptions, OnDuplicate, Verify};
use super::verify::{HeaderSource, Trouble, look, look_at_all};
use crate::utterance::TOO_LONG;
use crate::utterance::chunks;
use crate::utterance::window::Window;

const CHUNK_SIZE_IN_FRAMES: OptionName = OptionName::new("chunkSizeInFrames");

/// The utterances that script files list.
pub(super) struct Htk {
    options: HtkOptions,
    facts: DeserializerFacts,
    utterances: Arc<Utterances>,
    /// How many the lists have.
    n_listed: u64,
    /// True if some are whole files, whose lengths are in their headers.
    has_whole_files: bool,
    /// The utterances that are left out, where that is known without headers.
    left_out: Vec<LeftOut>,
    /// The faults of the lists.
    defects: Vec<DataError>,
    /// The error of the file of the first utterance.
    first_error: Option<Error>,
    /// The kind shared by all files and the window over them, once a file has been read.
    found: Option<(FileKind, Window)>,
    is_listed: bool,
}

/// Files that are looked at for one whose header is right, at most.
const MOST_TRIED: usize = 64;

/// The utterances of lists that are read.
struct Selected {
    utterances: Utterances,
    left_out: Vec<LeftOut>,
    /// Keys that occur again, where that is an error.
    repeated: Vec<DataError>,
}

impl Htk {
    pub(super) fn new(options: HtkOptions) -> Htk {
        let (left, right) = options.window.sides().unwrap_or((0, 0));
        let values = u32::try_from(options.dim).expect("the options limit it");
        let stream = StreamInfo::dense(&options.stream, tesson_core::Shape::new([]), options.element);
        let lists = options.lists.clone();
        let mut facts = DeserializerFacts::new(FORMAT.name, lists, vec![stream], options.identity());
        facts.defines_size = options.defines_size;
        facts.smaller_chunks = Some(|| format!("lower {CHUNK_SIZE_IN_FRAMES}"));
        if options.frame_mode && !options.is_expanded {
            facts.repeated_keys = RepeatedKeys::InTurn;
        }
        let mut htk = Htk {
            options,
            facts,
            utterances: Arc::default(),
            n_listed: 0,
            has_whole_files: false,
            left_out: Vec::new(),
            defects: Vec::new(),
            first_error: None,
            found: None,
            is_listed: false,
        };
        htk.set_window(Window { left, right, values });
        htk
    }

    /// Sets the shape of samples, and how they are made.
    fn set_window(&mut self, window: Window) {
        let storage = if self.options.is_expanded { Storage::Repeated } else { Storage::Recordings };
        let shape = tesson_core::Shape::new([window.sample_len() as usize]);
        let stream = self.facts.streams[0].clone();
        self.facts.streams[0] = stream.with_shape(shape).stored_as(storage);
        if storage == Storage::Recordings {
            self.facts.decoders = Decoders(vec![(0, Arc::new(Frames(window)))]);
        }
    }

    fn read_lists(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let Listed { utterances, defects, fingerprint } = read_lists(&mut self.facts, &self.options, fetch)?;
        self.facts.fingerprint = Some(fingerprint);
        self.facts.looks_at_named = !utterances.is_empty();
        self.has_whole_files = (0..utterances.len()).any(|i| utterances.frames(i) == 0);
        self.defects = defects;
        self.n_listed = utterances.len() as u64;
        self.utterances = if self.has_whole_files {
            // How long they are is known later.
            Arc::new(utterances)
        } else {
            let Selected { utterances, left_out, repeated } = self.selected(&utterances);
            self.defects.extend(repeated);
            self.left_out = left_out;
            Arc::new(utterances)
        };
        Ok(())
    }

    /// The utterances that are read, and what is left out.
    fn selected(&self, utterances: &Utterances) -> Selected {
        let Selection { kept, too_long, duplicates, repeated } = utterances.select(&self.options);
        let mut errors = Vec::new();
        if self.options.on_duplicate == OnDuplicate::Error {
            errors.extend(repeated.iter().map(|&(again, first)| {
                let key = utterances.key(again as usize).to_string();
                let fault = HtkFault::DuplicateKey { key, first: utterances.line(first as usize) };
                utterances.line_error(again as usize, fault, &self.facts)
            }));
        } else if let Some(&first) = duplicates.first() {
            tracing::warn!(
                "{}: {} utterances are left out as their keys occur again, first `{}`",
                self.facts.resources[0].display(),
                duplicates.len(),
                utterances.key(first as usize)
            );
        }
        tracing::info!(
            "{}: {} utterances are read of {}, {} are too long",
            self.facts.resources[0].display(),
            kept.len(),
            utterances.len(),
            too_long.len()
        );
        let left_out = |reason, list: &[u32]| {
            LeftOut::new(reason, list.len(), list.iter().map(|&i| utterances.key(i as usize)))
        };
        let left_out = [left_out(TOO_LONG, &too_long), left_out("of a key that occurs again", &duplicates)];
        let left_out = left_out.into_iter().flatten().collect();
        Selected { utterances: utterances.selected(&kept), left_out, repeated: errors }
    }

    /// Looks at the file of the first utterance, which all others have to be like; where that is bad, at the next ones.
    fn look_at_first(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let utterances = self.utterances.clone();
        let first = if self.has_whole_files {
            utterances.select(&self.options).kept
        } else {
            (0..utterances.len().min(MOST_TRIED) as u32).collect()
        };
        for &i in first.iter().take(MOST_TRIED) {
            let of = utterances.get(i as usize);
            let id = ResourceId(self.facts.resources.len() as u32 + of.file);
            let looked = look(fetch, id, &self.options.header).and_then(|looked| {
                let kind = looked.header.kind;
                let frames = if of.frames == 0 { looked.whole()? } else { of.frames };
                looked.check(&kind, super::list::Utterance { frames, ..of }, Verify::Header)?;
                Ok(kind)
            });
            match looked {
                Ok(kind) => {
                    self.take_kind(kind, i as usize);
                    return Ok(());
                }
                Err(Trouble::Error(Error::Cancelled)) => return Err(Error::Cancelled),
                Err(trouble) if self.first_error.is_none() => {
                    self.first_error = Some(self.error(&utterances, i as usize, trouble));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn error(&self, utterances: &Utterances, i: usize, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Fault(offset, fault) => utterances.file_error(i, offset, fault, &self.facts).into(),
            Trouble::Error(error) => error,
        }
    }

    /// Settles the window from what files hold.
    fn take_kind(&mut self, kind: FileKind, i: usize) {
        if self.options.dim == 0 {
            self.options.dim = kind.values.into();
            self.facts.identity = self.options.identity();
        }
        let window = self.options.window.resolve(self.options.dim, kind.values).unwrap_or_else(|| {
            let window = self.options.window.to_string();
            let fault = HtkFault::Dim { dim: self.options.dim, values: kind.values, window };
            self.defects.push(self.utterances.file_error(i, 0, fault, &self.facts));
            Window { left: 0, right: 0, values: kind.values }
        });
        self.set_window(window);
        self.facts.frame_period = Some(kind.period).filter(|&period| period > 0);
        self.found = Some((kind, window));
    }

    /// The utterances with all lengths, and those alone that can be read.
    fn readable(
        &self,
        kind: &FileKind,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<(Arc<Utterances>, Vec<LeftOut>), Error> {
        let mut left_out = self.left_out.clone();
        let verify = match self.options.verify {
            Verify::First if !defects.are_collected() => None,
            verify => Some(verify.max(Verify::Header)),
        };
        if verify.is_none() && !self.has_whole_files {
            return Ok((self.utterances.clone(), left_out));
        }
        let headers = HeaderSource { facts: &self.facts, rules: &self.options.header, fetch };
        let outcomes = look_at_all(&self.utterances, kind, verify, headers, parallelism)?;
        let mut utterances = Utterances::clone(&self.utterances);
        let mut bad = Vec::new();
        for (i, outcome) in outcomes {
            match outcome {
                Some(Ok(frames)) => utterances.set_frames(i, frames),
                Some(Err(trouble)) => {
                    bad.push(i as u32);
                    if !defects.are_collected() {
                        return Err(self.error(&self.utterances, i, trouble));
                    }
                    let (offset, fault) = trouble.into_fault()?;
                    defects.report(self.utterances.file_error(i, offset, fault, &self.facts))?;
                }
                None => bad.push(i as u32),
            }
        }
        if !bad.is_empty() {
            let good: Vec<u32> =
                (0..utterances.len() as u32).filter(|i| bad.binary_search(i).is_err()).collect();
            utterances = utterances.selected(&good);
        }
        if self.has_whole_files {
            let selected = self.selected(&utterances);
            selected.repeated.into_iter().try_for_each(|defect| defects.report(defect))?;
            (utterances, left_out) = (selected.utterances, selected.left_out);
        }
        Ok((Arc::new(utterances), left_out))
    }
}

impl Deserializer for Htk {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_listed, true) {
            self.look_at_first(fetch)
        } else {
            self.read_lists(fetch)
        }
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        self.defects.iter().try_for_each(|defect| defects.report(defect.clone()))?;
        if let Some(error) =
            self.first_error.clone().filter(|_| !defects.are_collected() || self.found.is_none())
        {
            match error {
                Error::Data(error) => defects.report(error)?,
                other => return Err(other),
            }
        }
        let fallback = || {
            let values = u32::try_from(self.options.dim).expect("the options limit it");
            (FileKind::unknown(values), Window { left: 0, right: 0, values })
        };
        let (kind, window) = self.found.unwrap_or_else(fallback);
        let (utterances, left_out) = match self.found {
            Some(_) => self.readable(&kind, fetch, parallelism, defects)?,
            None => Default::default(),
        };
        if utterances.is_empty() {
            let file = self.facts.resources[0].as_path().into();
            let at = Location { file, offset: 0, line: None };
            defects.report(DataError::new(HtkFault::NothingToRead { listed: self.n_listed }, at))?;
        }
        if self.options.is_expanded {
            for i in (0..utterances.len()).filter(|&i| utterances.frames(i) != 1) {
                let fault = HtkFault::NotOneFrame { frames: utterances.frames(i) };
                defects.report(utterances.line_error(i, fault, &self.facts))?;
            }
        }
        let by_frame = self.options.frame_mode && !self.options.is_expanded;
        let size = |i: usize| {
            let frames = utterances.frames(i);
            chunks::Size { frames, bytes: u64::from(frames) * u64::from(kind.values) * 4 }
        };
        let (index, chunks) = chunks::cut(utterances.len(), size, self.options.chunk, by_frame);
        let shape = Shape {
            kind,
            rules: self.options.header,
            window,
            by_frame,
            is_expanded: self.options.is_expanded,
            element: self.options.element,
        };
        let corpus = HtkCorpus::new(utterances, chunks, shape, self.facts.clone(), left_out);
        Ok(Indexed { index: Arc::new(index), corpus: Arc::new(corpus) })
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}
