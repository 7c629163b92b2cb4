//! The saved contents of shuffles' buffers, with which going to a position costs no draws (spec/tfds.md §12.3).
//!
//! For the next editor: these bytes come from a user's file, so everything read is checked before it is used or
//! allocated. They are an aid only: a state without them restores the same position, by drawing from the start.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Span;

/// The buffer of a shuffle in one of its passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BufferState {
    /// The number of the shuffle, and of its pass.
    pub(super) source: usize,
    pub(super) pass: u64,
    /// Examples drawn in this pass.
    pub(super) drawn: u64,
    /// True if the end of the input has been seen.
    pub(super) ended: bool,
    /// The items, the front first.
    pub(super) items: Vec<u64>,
}

impl BufferState {
    /// The number of examples taken from the input.
    pub(super) fn taken(&self) -> u64 {
        self.drawn.saturating_add(self.items.len() as u64)
    }

    /// True if a buffer of this size can have this state after a draw: there is room for exactly one more item, or
    /// for at least one if the input has ended.
    pub(super) fn fits(&self, size: u64) -> bool {
        let held = self.items.len() as u64;
        if self.ended { held < size } else { held.checked_add(1) == Some(size) }
    }

    /// Appends the state as numbers of seven bits a byte, lowest bits first; items as differences, with the sign in
    /// the lowest bit.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let items = self.items.len() as u64;
        for number in [self.source as u64, self.pass, self.drawn, self.ended.into(), items] {
            write_number(number, out);
        }
        let mut before = 0;
        for item in &self.items {
            let step = item.wrapping_sub(before) as i64;
            write_number(((step << 1) ^ (step >> 63)) as u64, out);
            before = *item;
        }
    }

    /// Reads one state from the front of the bytes; `None` if they are invalid.
    fn read(bytes: &mut &[u8]) -> Option<BufferState> {
        let mut number = || read_number(bytes);
        let (source, pass, drawn) = (usize::try_from(number()?).ok()?, number()?, number()?);
        let (ended, n) = (number()? != 0, number()?);
        // No traversal gets that far; the limit keeps later sums within 64 bits.
        let drawn = Some(drawn).filter(|drawn| *drawn < 1 << 62)?;
        // An item has at least one byte, so a huge number allocates nothing.
        let n = usize::try_from(n).ok().filter(|n| *n <= bytes.len())?;
        let mut items = Vec::with_capacity(n);
        let mut before = 0u64;
        for _ in 0..n {
            let step = read_number(bytes)?;
            before = before.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg());
            items.push(before);
        }
        Some(BufferState { source, pass, drawn, ended, items })
    }

    /// Reads all states of a stream with these files; `None` if the bytes are invalid or name a record that no file
    /// has.
    pub(super) fn read_all(mut bytes: &[u8], files: &[Span]) -> Option<Vec<BufferState>> {
        let mut files: Vec<Span> = files.to_vec();
        files.sort_unstable_by_key(|file| file.first);
        // Checked here, since a record that no file has would be found only when the order delivers it.
        let is_there = |item: &u64| {
            let after = files.partition_point(|file| file.first <= *item);
            after > 0 && item - files[after - 1].first < files[after - 1].len
        };
        let mut kept = Vec::new();
        while !bytes.is_empty() {
            kept.push(BufferState::read(&mut bytes).filter(|kept| kept.items.iter().all(is_there))?);
        }
        Some(kept)
    }
}

fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The control of a long skip: the saved buffers that it may use, and its interrupt.
pub(super) struct SkipControl<'a> {
    /// The buffers for positions that the skip has not reached.
    pub(super) kept: Vec<BufferState>,
    interrupted: &'a mut dyn FnMut() -> bool,
    /// Steps since the last call.
    steps: u64,
    /// All steps so far, of this skip and of others, for callers that show how far it is.
    passed: Option<&'a AtomicU64>,
}

impl<'a> SkipControl<'a> {
    /// The number of steps between two calls of `interrupted`: a few milliseconds.
    pub(super) const INTERVAL: u64 = 1 << 20;

    pub(super) fn new(kept: Vec<BufferState>, interrupted: &'a mut dyn FnMut() -> bool) -> SkipControl<'a> {
        SkipControl { kept, interrupted, steps: 0, passed: None }
    }

    /// Adds the steps to a counter, now and then.
    pub(super) fn counted(self, passed: &'a AtomicU64) -> SkipControl<'a> {
        SkipControl { passed: Some(passed), ..self }
    }

    /// Takes the state of a buffer in a pass if it lies among the next `n` draws after `drawn`.
    pub(super) fn take_kept(&mut self, source: usize, pass: u64, drawn: u64, n: u64) -> Option<BufferState> {
        let is_it = |kept: &BufferState| {
            (kept.source, kept.pass) == (source, pass)
                && kept.drawn.checked_sub(drawn).is_some_and(|draws| (1..=n).contains(&draws))
        };
        let at = self.kept.iter().position(is_it)?;
        Some(self.kept.swap_remove(at))
    }

    /// Counts `steps` and returns true if the skip is to stop.
    pub(super) fn is_interrupted(&mut self, steps: u64) -> bool {
        self.steps += steps;
        if self.steps < SkipControl::INTERVAL {
            return false;
        }
        if let Some(passed) = self.passed {
            passed.fetch_add(self.steps, Ordering::Relaxed);
        }
        self.steps = 0;
        (self.interrupted)()
    }
}
