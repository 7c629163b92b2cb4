//! Columns that stay in memory as they were read, until a minibatch is made of them.

use std::ops::Range;

use crate::{ResourceId, Values};

/// Samples that are encoded bytes, such as files of images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedColumn {
    bytes: Vec<u8>,
    /// The range of each sample in `bytes`. Several samples may share one range.
    spans: Vec<Range<usize>>,
    origins: Vec<Origin>,
}

/// The origin of an encoded sample, for the error if it cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub resource: ResourceId,
    /// Byte offset in the file, from 0.
    pub offset: u64,
    /// Physical line, counted from 0; relative to the chunk's `first_line`. `None` in binary formats.
    pub line: Option<u64>,
    /// `true`: it lies within another file, such as an archive or a text; `false`: it is a separate file.
    pub embedded: bool,
}

impl EncodedColumn {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The bytes of a sample.
    pub fn get(&self, sample: usize) -> &[u8] {
        &self.bytes[self.spans[sample].clone()]
    }

    /// The origin of a sample.
    pub fn origin(&self, sample: usize) -> Origin {
        self.origins[sample]
    }

    /// The range of a sample in the bytes of all samples.
    pub fn span(&self, sample: usize) -> Range<usize> {
        self.spans[sample].clone()
    }

    /// Moves the bytes of all samples out, to be kept elsewhere after `before` others: [spans](EncodedColumn::span) count
    /// from the first of these then.
    pub fn take_bytes(&mut self, before: usize) -> Vec<u8> {
        for span in &mut self.spans {
            *span = span.start + before..span.end + before;
        }
        std::mem::take(&mut self.bytes)
    }

    /// Frees memory beyond the bytes of all samples.
    pub fn drop_unused(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Removes all samples, and uses `memory` for the bytes of the next ones.
    pub fn set_memory(&mut self, memory: Vec<u8>) {
        self.clear();
        self.bytes = memory;
        self.bytes.clear();
    }

    /// Removes all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.origins.clear();
    }

    /// Removes all samples and keeps the memory but that of their bytes.
    pub(crate) fn free_bytes(&mut self) {
        self.clear();
        self.bytes = Vec::new();
    }

    /// Appends a sample.
    pub fn push(&mut self, bytes: &[u8], origin: Origin) {
        let appended: Result<(), ()> = self.push_with(origin, |into| {
            into.extend_from_slice(bytes);
            Ok(())
        });
        appended.expect("appending to a vector succeeds");
    }

    /// Appends a sample. `append`, such as a read of a file, appends its bytes to the buffer that it gets.
    ///
    /// # Errors
    /// The errors of `append`; the column is then unchanged.
    pub fn push_with<E>(
        &mut self,
        origin: Origin,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        if let Err(e) = append(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(e);
        }
        self.spans.push(start..self.bytes.len());
        self.origins.push(origin);
        Ok(())
    }

    /// Appends the last sample once more, without its bytes: another copy of the same image.
    ///
    /// # Panics
    /// If there is none.
    pub fn repeat_last(&mut self) {
        self.spans.push(self.spans.last().expect("there is a last sample").clone());
        self.origins.push(self.origins[self.origins.len() - 1]);
    }

    /// Appends samples of another column; `lines` is added to their lines.
    pub fn append(&mut self, from: &EncodedColumn, samples: Range<usize>, lines: u64) {
        for i in samples {
            let origin = from.origins[i];
            let origin = Origin { line: origin.line.map(|line| line + lines), ..origin };
            // Copies of one sample stay one run of bytes.
            let is_copy = i > 0
                && from.spans[i] == from.spans[i - 1]
                && self.origins.last() == Some(&origin)
                && self.get(self.len() - 1) == from.get(i);
            if is_copy { self.repeat_last() } else { self.push(from.get(i), origin) }
        }
    }

    /// Changes where samples come from.
    pub(crate) fn each_origin(&mut self, change: impl FnMut(&mut Origin)) {
        self.origins.iter_mut().for_each(change);
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.spans.capacity() * size_of::<Range<usize>>()
            + self.origins.capacity() * size_of::<Origin>()
    }
}

/// Frames of recordings, each frame once, of which every one is a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameColumn {
    /// All frames of the recordings, one after the other, in the type of the stream.
    pub values: Values,
    /// Number of these frames.
    pub n_frames: u32,
    /// The frame that each sequence is.
    pub frames: Vec<Frame>,
}

impl FrameColumn {
    /// Appends a frame of another column with its recording, unless that `is_last`: the recording of the frame that was
    /// appended last.
    pub fn push(&mut self, from: &FrameColumn, i: usize, is_last: bool) {
        let Frame { recording, at } = &from.frames[i];
        let dim = from.values.len().checked_div(from.n_frames as usize).unwrap_or(0);
        let start = match self.frames.last().filter(|_| is_last) {
            Some(frame) => frame.recording.start,
            None => {
                let values = recording.start as usize * dim..recording.end as usize * dim;
                self.values.append(&from.values, values);
                let start = self.n_frames;
                self.n_frames += recording.len() as u32;
                start
            }
        };
        let end = start + recording.len() as u32;
        self.frames.push(Frame { recording: start..end, at: start + at - recording.start });
    }
}

/// A frame within its recording, by number among the frames of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The frames of the recording.
    pub recording: Range<u32>,
    /// The frame itself, one of them.
    pub at: u32,
}

/// Recordings that are encoded bytes, each once, and the frames of them that sequences have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingColumn {
    bytes: Vec<u8>,
    /// The end of each recording in `bytes`.
    ends: Vec<usize>,
    /// The origin of each recording.
    origins: Vec<Origin>,
    /// The recording of each sequence, and the frames of it that are the sequence's samples.
    sequences: Vec<(u32, Range<u32>)>,
}

impl RecordingColumn {
    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// True if there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// The encoded recording that a sequence is part of, and the frames of it that are the sequence's samples.
    pub fn get(&self, sequence: usize) -> (&[u8], Range<usize>) {
        let (recording, own) = &self.sequences[sequence];
        (self.recording(*recording), own.start as usize..own.end as usize)
    }

    fn recording(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The entry of a sequence, which says where its frames are: for bringing it into a cache.
    #[inline]
    pub fn entry(&self, sequence: usize) -> Option<&(u32, Range<u32>)> {
        self.sequences.get(sequence)
    }

    /// Removes all recordings and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.origins.clear();
        self.sequences.clear();
    }

    /// Reserves room for more recordings, their bytes, and sequences of them, if the numbers are known before they
    /// are read.
    pub fn reserve(&mut self, recordings: usize, bytes: usize, sequences: usize) {
        self.bytes.reserve_exact(bytes);
        self.ends.reserve_exact(recordings);
        self.origins.reserve_exact(recordings);
        self.sequences.reserve_exact(sequences);
    }

    /// The origin of a sequence's recording.
    pub fn origin(&self, sequence: usize) -> Origin {
        self.origins[self.sequences[sequence].0 as usize]
    }

    /// Changes where recordings come from.
    pub(crate) fn each_origin(&mut self, change: impl FnMut(&mut Origin)) {
        self.origins.iter_mut().for_each(change);
    }

    /// Appends a recording, to which the sequences pushed afterwards belong. `append` appends its bytes to the buffer
    /// that it gets.
    ///
    /// # Errors
    /// The errors of `append`; the column is then unchanged.
    pub fn push_recording<E>(
        &mut self,
        origin: Origin,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        if let Err(e) = append(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(e);
        }
        self.ends.push(self.bytes.len());
        self.origins.push(origin);
        Ok(())
    }

    /// Appends a sequence of these frames of the last recording.
    ///
    /// # Panics
    /// If there is none.
    pub fn push_sequence(&mut self, frames: Range<u32>) {
        let last = self.ends.len().checked_sub(1).expect("there is a last recording");
        self.sequences.push((last as u32, frames));
    }

    /// Appends sequences of another column. Those of one recording that follow each other stay frames of one.
    pub fn append(&mut self, from: &RecordingColumn, sequences: Range<usize>) {
        let mut last = None;
        for (recording, frames) in &from.sequences[sequences] {
            if last != Some(recording) {
                self.bytes.extend_from_slice(from.recording(*recording));
                self.ends.push(self.bytes.len());
                self.origins.push(from.origins[*recording as usize]);
                last = Some(recording);
            }
            self.push_sequence(frames.clone());
        }
    }

    /// Appends a sequence of another column. `is_last`: it belongs to the recording of the sequence appended last.
    pub fn push(&mut self, from: &RecordingColumn, sequence: usize, is_last: bool) {
        if is_last {
            self.push_sequence(from.sequences[sequence].1.clone())
        } else {
            self.append(from, sequence..sequence + 1)
        }
    }

    /// True if the next sequence belongs to the same recording and begins where this one ends.
    pub fn joins_next(&self, sequence: usize) -> bool {
        let [(recording, frames), (next, after)] = &self.sequences[sequence..sequence + 2] else {
            return false;
        };
        recording == next && frames.end == after.start
    }

    /// The number of a sequence's recording in this column.
    pub fn recording_of(&self, sequence: usize) -> u32 {
        self.sequences[sequence].0
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.origins.capacity() * size_of::<Origin>()
            + self.sequences.capacity() * size_of::<(u32, Range<u32>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_one_recording_share_its_bytes() {
        let mut column = RecordingColumn::default();
        let failed = column.push_recording(origin(0), |bytes| {
            bytes.push(9);
            Err(())
        });
        assert!(failed.is_err() && column.is_empty());
        for (line, bytes) in (1..).zip([&b"abc"[..], b"de"]) {
            let pushed: Result<(), ()> = column.push_recording(origin(line), |into| {
                into.extend_from_slice(bytes);
                Ok(())
            });
            pushed.unwrap();
            (0..bytes.len() as u32).for_each(|frame| column.push_sequence(frame..frame + 1));
        }
        assert_eq!(column.get(1), (&b"abc"[..], 1..2));
        assert_eq!(column.get(4), (&b"de"[..], 1..2));
        let mut picked = RecordingColumn::default();
        picked.push(&column, 3, false);
        picked.push(&column, 4, true);
        picked.append(&column, 1..4);
        let all: Vec<_> = (0..picked.len()).map(|i| picked.get(i)).collect();
        assert_eq!(all, [(&b"de"[..], 0..1), (b"de", 1..2), (b"abc", 1..2), (b"abc", 2..3), (b"de", 0..1)]);
        assert_eq!(picked.bytes, b"deabcde");
        assert_eq!([0, 1, 2, 4].map(|i| picked.origin(i)), [2, 2, 1, 2].map(origin));
    }

    fn origin(line: u64) -> Origin {
        Origin { resource: ResourceId(0), offset: 10 * line, line: Some(line), embedded: true }
    }

    #[test]
    fn copies_of_a_sample_are_one_run_of_bytes_also_where_columns_are_put_together() {
        let mut column = EncodedColumn::default();
        column.push(b"abc", origin(0));
        column.repeat_last();
        column.push(b"de", origin(1));
        assert!(
            column
                .push_with(origin(2), |bytes| {
                    bytes.push(7);
                    Err(())
                })
                .is_err()
        );
        assert_eq!((column.len(), column.bytes.len()), (3, 5));
        let mut all = EncodedColumn::default();
        // One sequence at a time, as joins do.
        (0..3).for_each(|i| all.append(&column, i..i + 1, 0));
        all.append(&column, 0..3, 100);
        let samples: Vec<&[u8]> = (0..6).map(|i| all.get(i)).collect();
        assert_eq!(samples, [&b"abc"[..], b"abc", b"de", b"abc", b"abc", b"de"]);
        assert_eq!(
            (all.bytes.len(), all.origin(4), all.origin(2)),
            (10, Origin { offset: 0, ..origin(100) }, origin(1))
        );
    }

    #[test]
    fn frames_keep_their_recordings() {
        let frame = |recording: Range<u32>, at| Frame { recording, at };
        let values = Values::F32((0..10).map(|i| i as f32).collect());
        let frames = vec![frame(0..2, 0), frame(0..2, 1), frame(2..5, 3)];
        let column = FrameColumn { values, n_frames: 5, frames };
        let mut picked = FrameColumn { values: Values::Ones(0), n_frames: 0, frames: Vec::new() };
        picked.push(&column, 2, false);
        picked.push(&column, 0, false);
        picked.push(&column, 1, true);
        assert_eq!(picked.frames, [frame(0..3, 1), frame(3..5, 3), frame(3..5, 4)]);
        assert_eq!(picked.values, Values::F32(vec![4., 5., 6., 7., 8., 9., 0., 1., 2., 3.]));
    }
}
