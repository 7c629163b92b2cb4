//! Script files read when a source is opened, and the beginnings of all matrices.

use std::sync::Arc;

use tesson_core::{
    DataError, DataErrorKind, Decoders, Defects, Deserializer, DeserializerFacts, Error, Fetch, Indexed, Key,
    LeftOut, Location, OptionName, Parallelism, RepeatedKeys, ResourceId, Shape, Storage, StreamInfo,
    StreamMismatch, StreamingDecoder,
};

use super::FORMAT;
use super::corpus::KaldiCorpus;
use super::frames::Rows;
use super::matrix::{Found, look};
use super::options::FeatureOptions;
use super::utterances::{Utterance, Utterances, check_key, read_lists};
use crate::kaldi::archive::{Archive, ArchiveError};
use crate::kaldi::fault::KaldiFault;
use crate::utterance::TOO_LONG;
use crate::utterance::chunks;

const CHUNK_SIZE_IN_FRAMES: OptionName = OptionName::new("chunkSizeInFrames");

/// The utterances that script files list, or that archives hold.
pub(super) struct Features {
    options: FeatureOptions,
    facts: DeserializerFacts,
    /// Of script files; those of archives are found when they are indexed.
    listed: Utterances,
    /// The faults of script files.
    defects: Vec<DataError>,
    is_listed: bool,
}

/// Utterances that are looked at by one job.
const AT_ONCE: usize = 256;

/// Bytes of a file that are read for the beginning of a matrix.
const BEGINNING: u64 = 4 << 10;

impl Features {
    pub(super) fn new(options: FeatureOptions) -> Features {
        let shape = Shape::new([options.window.sample_len() as usize]);
        let stream =
            StreamInfo::dense(&options.stream, shape, options.element).stored_as(Storage::Recordings);
        let mut facts =
            DeserializerFacts::new(FORMAT.name, options.files.clone(), vec![stream], options.identity());
        facts.looks_at_named = options.are_lists && options.window.values == 0;
        facts.defines_size = options.defines_size;
        facts.smaller_chunks = Some(|| format!("lower {CHUNK_SIZE_IN_FRAMES}"));
        facts.decoders = Decoders(vec![(0, Arc::new(Rows(options.window)))]);
        if options.frame_mode {
            facts.repeated_keys = RepeatedKeys::InTurn;
        }
        Features { options, facts, listed: Utterances::default(), defects: Vec::new(), is_listed: false }
    }

    /// Takes the values of a frame from the first matrix. One that cannot be read is reported when all are looked at.
    fn take_dim(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let columns = match self.first_columns(fetch) {
            Ok(columns) => columns,
            Err(ArchiveError::Store(Error::Cancelled)) => return Err(Error::Cancelled),
            Err(_) => return Ok(()),
        };
        self.options.window.values = columns;
        self.facts.streams[0].shape = Shape::new([self.options.window.sample_len() as usize]);
        self.facts.decoders = Decoders(vec![(0, Arc::new(Rows(self.options.window)))]);
        Ok(())
    }

    /// The columns of the first matrix that are read; 0 where there is none.
    fn first_columns(&self, fetch: &dyn Fetch) -> Result<u32, ArchiveError> {
        if let Some(first) = self.listed.all.first() {
            return Ok(first.columns_of(look_at(first, fetch, &mut None)?));
        }
        if self.options.are_lists {
            return Ok(0);
        }
        let mut archive = Archive::new(ResourceId(0), fetch)?.reading(BEGINNING);
        Ok(if archive.key()?.is_some() { look(&mut archive)?.columns } else { 0 })
    }

    /// The matrices that script files list, each with what is found of it.
    fn look_at_listed(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
    ) -> Result<Vec<Result<Found, ArchiveError>>, Error> {
        let all = &self.listed.all;
        let job = |job: usize| -> Result<_, Error> {
            let mut found = Vec::with_capacity(AT_ONCE);
            let mut last: Option<(ResourceId, Archive<'_>)> = None;
            for utterance in &all[job * AT_ONCE..all.len().min((job + 1) * AT_ONCE)] {
                if fetch.cancelled() {
                    return Err(Error::Cancelled);
                }
                found.push(look_at(utterance, fetch, &mut last));
            }
            Ok(std::sync::Mutex::new(found))
        };
        let mut looked = Vec::with_capacity(all.len());
        for found in parallelism.map(all.len().div_ceil(AT_ONCE), job) {
            looked.append(&mut found?.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
        Ok(looked)
    }

    /// The utterances of an archive, with what is found of each; and what ended it early.
    fn go_through(&self, number: usize, fetch: &dyn Fetch) -> Result<Gone, Error> {
        let resource = ResourceId(number as u32);
        let mut archive = Archive::new(resource, fetch)?;
        let mut gone = Gone::default();
        if archive.size() == 0 {
            gone.ended = Some((DataErrorKind::EmptyFile, 0));
        }
        while !fetch.cancelled() {
            let found = archive.key().and_then(|key| {
                let Some(key) = key else { return Ok(None) };
                let start = archive.at();
                Ok(Some((key, start, look(&mut archive)?)))
            });
            match found {
                Ok(None) => return Ok(gone),
                Ok(Some((key, start, found))) => {
                    gone.utterances.push(&key, Utterance::in_archive(resource, start));
                    gone.found.push(found);
                }
                Err(ArchiveError::Store(e)) => return Err(e),
                Err(ArchiveError::Fault(kind, offset)) => {
                    gone.ended = Some((kind, offset));
                    return Ok(gone);
                }
            }
        }
        Err(Error::Cancelled)
    }

    /// All utterances with their matrices looked at; what is wrong with others is reported.
    fn looked_at(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<(Utterances, Vec<LeftOut>), Error> {
        let (mut all, mut looked) = (self.listed.clone(), Vec::new());
        if self.options.are_lists {
            looked = self.look_at_listed(fetch, parallelism)?;
        } else {
            for (number, gone) in parallelism
                .map(self.facts.resources.len(), |i| self.go_through(i, fetch))
                .into_iter()
                .enumerate()
            {
                let Gone { utterances, found, ended } = gone?;
                all.append(utterances);
                looked.extend(found.into_iter().map(Ok));
                if let Some((kind, offset)) = ended {
                    let file = self.facts.resources[number].as_path().into();
                    defects.report(DataError::new(kind, Location { file, offset, line: None }))?;
                }
            }
        }
        let (mut good, mut too_long) = (Utterances::default(), Vec::new());
        for (i, found) in looked.into_iter().enumerate() {
            let (key, mut utterance) = (all.key(i), all.all[i].clone());
            let fault = match found {
                Ok(found) => check_key(key, self.options.numeric_keys)
                    .and_then(|()| utterance.take(found, self.options.window.values))
                    .err()
                    .map(|fault| (None, fault.into())),
                Err(ArchiveError::Fault(kind, offset)) => Some((Some(offset), kind)),
                Err(ArchiveError::Store(Error::Store(e))) => {
                    Some((None, KaldiFault::Unreadable { what: e.source.to_string() }.into()))
                }
                Err(ArchiveError::Store(other)) => return Err(other),
            };
            match fault {
                Some((offset, kind)) => defects.report(utterance.error(key, offset, kind, &self.facts))?,
                None if u64::from(utterance.part.rows) > self.options.max_frames => too_long.push(i),
                None => good.push(key, utterance),
            }
        }
        let (good, repeated) = good.without_repeated();
        for (utterance, key) in repeated {
            let fault = KaldiFault::DuplicateKey { key: String::from_utf8_lossy(&key).into_owned() };
            defects.report(utterance.error(&key, None, fault.into(), &self.facts))?;
        }
        if good.all.is_empty() {
            let file = self.facts.resources[0].as_path().into();
            let at = Location { file, offset: 0, line: None };
            defects.report(DataError::new(KaldiFault::NothingToRead { found: all.all.len() as u64 }, at))?;
        }
        let keys = too_long.iter().map(|&i| Key::Text(String::from_utf8_lossy(all.key(i)).into_owned()));
        Ok((good, LeftOut::new(TOO_LONG, too_long.len(), keys).into_iter().collect()))
    }
}

/// The findings of going over an archive.
#[derive(Default)]
struct Gone {
    utterances: Utterances,
    found: Vec<Found>,
    /// The fault that stopped the reading before the archive's end, and its offset.
    ended: Option<(DataErrorKind, u64)>,
}

/// Looks at the matrix of a listed utterance; `last` is the file of the one before.
fn look_at<'a>(
    utterance: &Utterance,
    fetch: &'a dyn Fetch,
    last: &mut Option<(ResourceId, Archive<'a>)>,
) -> Result<Found, ArchiveError> {
    let archive = match last {
        Some((file, archive)) if *file == utterance.resource => archive,
        other => {
            let archive = Archive::new(utterance.resource, fetch)?.reading(BEGINNING);
            &mut other.insert((utterance.resource, archive)).1
        }
    };
    if utterance.offset >= archive.size() {
        return Err(ArchiveError::Fault(KaldiFault::CutOff.into(), archive.size()));
    }
    archive.skip_to(utterance.offset);
    look(archive)
}

impl Deserializer for Features {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let are_known = std::mem::replace(&mut self.is_listed, true) || !self.options.are_lists;
        if !are_known {
            (self.listed, self.defects) = read_lists(&mut self.facts, &self.options, fetch)?;
        }
        if are_known && self.options.window.values == 0 { self.take_dim(fetch) } else { Ok(()) }
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        self.defects.iter().try_for_each(|defect| defects.report(defect.clone()))?;
        let (utterances, left_out) = self.looked_at(fetch, parallelism, defects)?;
        let size = |i: usize| {
            let Utterance { part, size, .. } = &utterances.all[i];
            chunks::Size { frames: part.rows, bytes: *size }
        };
        let (most, by_frame) = (self.options.chunk, self.options.frame_mode);
        let (index, chunks) = chunks::cut(utterances.all.len(), size, most, by_frame);
        let keys = utterances.column(self.options.numeric_keys);
        let corpus = KaldiCorpus::new(utterances.all, keys, chunks, by_frame, left_out);
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
