//! Headers and ranges looked at: those of a chunk before any of it is read, or all when a source is opened.

use std::ops::Range;

use tesson_core::{DeserializerFacts, Error, Fetch, Parallelism, ResourceId};

use super::fault::HtkFault;
use super::header::{FileKind, Header, HeaderRules, LONGEST};
use super::list::{Utterance, Utterances};
use super::options::Verify;

/// The failure of checking a file or a range.
pub(super) enum Trouble {
    /// The data, at a byte of the file.
    Fault(u64, HtkFault),
    /// The storage, or reading was called off.
    Error(Error),
}

impl Trouble {
    /// Converts to a fault, which a file that cannot be read is here, too.
    ///
    /// # Errors
    /// Errors that are not about the file.
    pub(super) fn into_fault(self) -> Result<(u64, HtkFault), Error> {
        match self {
            Trouble::Fault(offset, fault) => Ok((offset, fault)),
            Trouble::Error(Error::Store(e)) => Ok((0, HtkFault::Unreadable { what: e.source.to_string() })),
            Trouble::Error(other) => Err(other),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Error(error)
    }
}

/// A file that has been looked at.
#[derive(Clone, Copy)]
pub(super) struct Looked {
    pub(super) header: Header,
    pub(super) size: u64,
}

/// Reads the header of a file.
pub(super) fn look(fetch: &dyn Fetch, file: ResourceId, rules: &HeaderRules) -> Result<Looked, Trouble> {
    let size = fetch.size(file)?;
    let mut bytes = Vec::with_capacity(LONGEST);
    fetch.read(file, 0..size.min(LONGEST as u64), &mut bytes)?;
    let header = Header::parse(&bytes, size, rules).map_err(|fault| Trouble::Fault(0, fault))?;
    Ok(Looked { header, size })
}

impl Looked {
    /// Makes sure that the file is of a kind, and holds an utterance; in full, that it has the size that it declares.
    pub(super) fn check(&self, kind: &FileKind, of: Utterance, verify: Verify) -> Result<(), Trouble> {
        let Looked { header, size } = self;
        let fault = |fault| Err(Trouble::Fault(0, fault));
        if header.kind != *kind {
            let (found, expected) = (header.kind.to_string(), kind.to_string());
            return fault(HtkFault::OtherKind { found, expected });
        }
        let end = u64::from(of.first) + u64::from(of.frames);
        if end > header.frames.into() {
            let last = of.first + (of.frames - 1);
            return fault(HtkFault::RangeBeyondFile { first: of.first, last, frames: header.frames });
        }
        let (data, frame) = (header.encoding.data(kind.values), header.encoding.frame_bytes(kind.values));
        let end_byte = data + end * frame;
        if end_byte > *size {
            let offset = data + u64::from(of.first) * frame;
            let early = HtkFault::EndsEarly { frame: end - 1, end: end_byte, size: *size };
            return Err(Trouble::Fault(offset.min(*size), early));
        }
        if verify == Verify::Full && header.room(*size) != u64::from(header.frames) {
            fault(HtkFault::FrameCount { declared: header.frames, held: header.room(*size) })
        } else {
            Ok(())
        }
    }

    /// The frames of an utterance that is the whole file.
    pub(super) fn whole(&self) -> Result<u32, Trouble> {
        let (frames, held) = (self.header.frames, self.header.room(self.size));
        match frames {
            0 | super::scp::MOST_FRAMES.. => Err(Trouble::Fault(0, HtkFault::WholeFile { frames })),
            _ if u64::from(frames) > held => {
                Err(Trouble::Fault(0, HtkFault::FrameCount { declared: frames, held }))
            }
            _ => Ok(frames),
        }
    }
}

/// The files and the rules by which headers are read.
#[derive(Clone, Copy)]
pub(super) struct HeaderSource<'a> {
    pub(super) facts: &'a DeserializerFacts,
    pub(super) rules: &'a HeaderRules,
    pub(super) fetch: &'a dyn Fetch,
}

/// Looks at the files of some utterances, each once for as many utterances of it as follow each other, and calls `each`
/// with what is found.
///
/// # Errors
/// Those of `each`.
pub(super) fn each_file(
    utterances: &Utterances,
    range: Range<usize>,
    headers: HeaderSource<'_>,
    each: &mut dyn FnMut(Range<usize>, Result<Looked, Trouble>) -> Result<(), Error>,
) -> Result<(), Error> {
    let HeaderSource { facts, rules, fetch } = headers;
    let mut start = range.start;
    while start < range.end {
        let file = utterances.get(start).file;
        let end = (start..range.end).find(|&i| utterances.get(i).file != file).unwrap_or(range.end);
        let id = ResourceId(facts.resources.len() as u32 + file);
        each(start..end, look(fetch, id, rules))?;
        start = end;
    }
    Ok(())
}

/// Utterances that are looked at by one job.
const AT_ONCE: usize = 256;

/// The number of frames of an utterance, or the failure of checking it.
pub(super) type Outcome = Result<u32, Trouble>;

/// Looks at the files of utterances on all cores: at all of them, or at those whose number of frames is open. Gives each of
/// those with what was found; trouble with a file as a whole is given of the first of its utterances alone, the others have
/// `None`.
pub(super) fn look_at_all(
    utterances: &Utterances,
    kind: &FileKind,
    verify: Option<Verify>,
    headers: HeaderSource<'_>,
    parallelism: &dyn Parallelism,
) -> Result<Vec<(usize, Option<Outcome>)>, Error> {
    let n = utterances.len();
    let job = |job: usize| {
        let range = job * AT_ONCE..n.min((job + 1) * AT_ONCE);
        let mut found = Vec::new();
        let looked = each_file(utterances, range, headers, &mut |of, looked| {
            let is_wanted = |i: &usize| verify.is_some() || utterances.frames(*i) == 0;
            let mut wanted = of.filter(is_wanted);
            match looked {
                Ok(looked) => {
                    found.extend(wanted.map(|i| (i, Some(outcome(&looked, kind, utterances.get(i), verify)))))
                }
                Err(Trouble::Error(Error::Cancelled)) => return Err(Error::Cancelled),
                Err(trouble) => {
                    found.extend(wanted.next().map(|i| (i, Some(Err(trouble)))));
                    found.extend(wanted.map(|i| (i, None)));
                }
            }
            Ok(())
        });
        looked.map(|()| std::sync::Mutex::new(found))
    };
    let mut all = Vec::new();
    for found in parallelism.map(n.div_ceil(AT_ONCE), job) {
        all.append(&mut found?.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
    Ok(all)
}

fn outcome(looked: &Looked, kind: &FileKind, of: Utterance, verify: Option<Verify>) -> Outcome {
    let frames = if of.frames == 0 { looked.whole()? } else { of.frames };
    looked.check(kind, Utterance { frames, ..of }, verify.unwrap_or(Verify::Header))?;
    Ok(frames)
}
