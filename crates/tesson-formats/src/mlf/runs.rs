//! The labels of one utterance as runs of frames of one class, and what may be wrong with them.

use tesson_core::DataErrorKind;

use super::binary;
use super::fault::MlfFault;
use super::label::{self, Times};
use super::options::Encoding;
use super::states::States;
use crate::kaldi::{KaldiFault, alignments};

/// The rules for decoding labels.
#[derive(Clone, Debug)]
pub(super) struct LabelRules {
    pub(super) encoding: Encoding,
    pub(super) times: Times,
    /// Classes are numbers where there is no list of states.
    pub(super) states: Option<States>,
    /// The number of classes.
    pub(super) dim: u32,
}

/// Frames of one class that follow each other, as a line of the file has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The frame after the last one.
    pub(super) end: u32,
    pub(super) class: u32,
}

/// A fault of an utterance's labels, with its location.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub(super) fault: DataErrorKind,
    /// Bytes and lines from the beginning of the entry on.
    pub(super) offset: u64,
    pub(super) line: u64,
    /// No budget forgives it: the options do not fit the data.
    pub(super) fatal: bool,
}

/// The labels of an utterance on their way into runs.
struct Frames<'a> {
    runs: &'a mut Vec<Run>,
    end: u32,
    /// The first class that the stream has no column for.
    beyond: Option<Problem>,
}

impl Frames<'_> {
    /// Appends the frames of a line. A line without frames labels nothing.
    fn push(&mut self, end: u32, class: u32, dim: u32, offset: u64, line: u64) {
        if class >= dim && self.beyond.is_none() {
            let fault = MlfFault::ClassOutOfRange { class, dim }.into();
            self.beyond = Some(Problem { fault, offset, line, fatal: true });
        }
        if end > self.end {
            self.runs.push(Run { end, class });
            self.end = end;
        }
    }
}

impl LabelRules {
    /// Decodes an entry of `n` frames: from its name, or the beginning of its record, up to what ends it. `runs` is
    /// overwritten.
    pub(super) fn decode(&self, entry: &[u8], n: u32, runs: &mut Vec<Run>) -> Result<(), Problem> {
        runs.clear();
        let mut frames = Frames { runs, end: 0, beyond: None };
        match self.encoding {
            Encoding::Text => self.text(entry, &mut frames)?,
            Encoding::Binary => self.binary(entry, n, &mut frames)?,
            Encoding::Alignments => self.alignment(entry, &mut frames)?,
        }
        frames.beyond.map_or(Ok(()), Err)
    }

    fn text(&self, entry: &[u8], frames: &mut Frames<'_>) -> Result<(), Problem> {
        let (mut offset, mut last) = (0, (0, 0));
        for (number, line) in (0..).zip(entry.split_inclusive(|&byte| byte == b'\n')) {
            let at = offset;
            offset += line.len() as u64;
            let line = line.trim_ascii_end();
            // The first one is the name.
            if number == 0 || line.is_empty() {
                continue;
            }
            last = (at, number);
            let (end, class) = self.line(line, frames.end).map_err(|fault| Problem {
                fault: fault.into(),
                offset: at,
                line: number,
                fatal: false,
            })?;
            frames.push(end, class, self.dim, at, number);
        }
        if frames.end == 0 {
            let (offset, line) = last;
            return Err(Problem { fault: MlfFault::NoFrames.into(), offset, line, fatal: false });
        }
        Ok(())
    }

    /// Where the frames of a line end that has to begin at `start`, and their class.
    fn line(&self, line: &[u8], start: u32) -> Result<(u32, u32), MlfFault> {
        let mut columns = label::columns(line);
        let expected = "a start, an end and the name of a state";
        let (found, end) = self.times.span(&mut columns, expected)?;
        let class = label::class(&mut columns, self.states.as_ref())?;
        if found == start { Ok((end, class)) } else { Err(MlfFault::Gap { found, expected: start }) }
    }

    fn binary(&self, entry: &[u8], n: u32, frames: &mut Frames<'_>) -> Result<(), Problem> {
        let runs = binary::runs(entry);
        let mut end: u64 = 0;
        for (class, length) in runs {
            end += u64::from(length);
            // More frames than are declared are an error below.
            frames.push(end.min(u32::MAX.into()) as u32, class.into(), self.dim, 0, 0);
        }
        if end != u64::from(n) {
            let fault = MlfFault::FramesDiffer { found: end, declared: n }.into();
            return Err(Problem { fault, offset: 0, line: 0, fatal: false });
        }
        Ok(())
    }
}

impl LabelRules {
    fn alignment(&self, entry: &[u8], frames: &mut Frames<'_>) -> Result<(), Problem> {
        let wrong = |fault: KaldiFault, fatal| Problem { fault: fault.into(), offset: 0, line: 0, fatal };
        let mut last = None;
        let mut end: u32 = 0;
        for class in alignments::numbers(entry) {
            let class = class.map_err(|fault| wrong(fault, false))?;
            let Some(in_range) = u32::try_from(class).ok().filter(|&class| class < self.dim) else {
                return Err(wrong(KaldiFault::ClassOutOfRange { class, dim: self.dim }, true));
            };
            end += 1;
            // Frames of one class that follow each other are one run.
            match frames.runs.last_mut().filter(|_| last == Some(class)) {
                Some(run) => run.end = end,
                None => frames.runs.push(Run { end, class: in_range }),
            }
            last = Some(class);
        }
        if end == 0 { Err(wrong(KaldiFault::NoFrames, false)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::label::TimeUnit;
    use super::*;

    /// Where a problem is, what it is, and whether it is fatal.
    type Found = (u64, u64, String, bool);

    fn decode(labels: &str) -> Result<Vec<(u32, u32)>, Found> {
        let rules = LabelRules {
            encoding: Encoding::Text,
            times: Times { unit: TimeUnit::Auto, period: 100_000.0 },
            states: Some(States::parse(b"sil\naa\nbb\ncc").unwrap()),
            dim: 3,
        };
        let mut runs = Vec::new();
        match rules.decode(format!("\"x\"\n{labels}").as_bytes(), 0, &mut runs) {
            Ok(()) => Ok(runs.into_iter().map(|run| (run.end, run.class)).collect()),
            Err(problem) => Err((problem.offset, problem.line, problem.fault.to_string(), problem.fatal)),
        }
    }

    #[test]
    fn lines_that_meet_are_the_runs_of_an_utterance() {
        assert_eq!(decode("0 200000 sil\n2 4 bb\n"), Ok(vec![(2, 0), (4, 2)]));
        assert_eq!(decode("0 2 sil\r\n\r\n2 2 aa x\r\n2 3 sil"), Ok(vec![(2, 0), (3, 0)]));
        assert_eq!(decode("0 3 sil\n3 3 aa"), Ok(vec![(3, 0)]));
    }

    #[test]
    fn the_first_thing_that_is_wrong_is_told_with_its_line() {
        let (offset, line, what, fatal) = decode("0 2 sil\n3 4 zz\n").unwrap_err();
        assert_eq!((offset, line, fatal), (12, 2, false));
        assert!(what.contains("`zz`"), "{what}");
        for (labels, expected) in [
            ("0 2 sil\n3 4 aa", "begins at frame 3, expected 2"),
            ("0 2 sil\n1 4 aa\n4 5 zz", "begins at frame 1, expected 2"),
            ("1 2 sil", "begins at frame 1, expected 0"),
            ("0 2 sil\n///\n0 2 aa", "found 1 column"),
            ("0 2 sil\n\"y\"\n0 2 aa", "found 1 column"),
            ("0 0 sil", "end at frame 0"),
            ("0 2", "found 2 columns"),
            ("2 1 sil", "from 2 to 1"),
        ] {
            let (.., what, fatal) = decode(labels).unwrap_err();
            assert!(what.contains(expected) && !fatal, "{labels}: {what}");
        }
    }

    #[test]
    fn a_class_beyond_the_stream_counts_after_what_is_wrong_with_the_utterance() {
        let (offset, line, what, fatal) = decode("0 2 cc\n2 4 aa\n").unwrap_err();
        assert_eq!((offset, line, fatal), (4, 1, true));
        assert!(what.contains("the class is 3"), "{what}");
        assert!(decode("0 2 cc\n3 4 aa\n").unwrap_err().2.contains("begins at frame 3"));
    }
}
