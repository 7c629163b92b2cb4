//! Rows that are one sample of every stream, all of them sparse: the pairs of some KiB of text at once, then row by row.
//!
//! Samples of a few pairs end within the blocks that kernels work on, so a kernel that begins anew with each sample does half of its
//! work in vain, and the processor guesses wrongly where each ends. Here the pairs of a block are read wherever they belong, onto a
//! [`Tape`], with the places of `|` and line feeds; what belongs to a row is then copied from there.
//!
//! For the next editor: nothing odd gets onto a tape, and a row that does not look like the others ends the run. The plain
//! parser goes on there, so every result here is its.

use super::column::Column;
use super::decimal::Real;
use super::rows::Keying;
use super::tokens::{Block, Masks};
use super::{Name, Rules};

/// Pairs that a tape holds, of all blocks but the last. Behind the last one is room for those of a block, since as many are copied at once.
const PAIRS: usize = 1024;

/// Marks likewise.
const MARKS: usize = 512;

/// Pairs of a block at most, as the shortest one takes four bytes with the blank behind it, and marks of it that are taken.
pub(super) const OF_BLOCK: usize = 16;

/// Streams at most.
const STREAMS: usize = 8;

/// Fewer rows than these are not worth a tape.
const WORTH: usize = 8;

/// Rows that the plain parser reads at most before a tape is tried again.
const PATIENCE: u32 = 1 << 12;

/// The pairs of some text.
pub(crate) struct Tape {
    /// Behind one that the first is compared with.
    pub(super) indices: [u32; 1 + PAIRS + 2 * OF_BLOCK],
    pub(super) values: [u32; PAIRS + 2 * OF_BLOCK],
    /// Where each `|` and each line feed is, in bytes from the beginning.
    pub(super) places: [u16; MARKS + OF_BLOCK],
    /// The pairs before each.
    pub(super) ranks: [u16; MARKS + OF_BLOCK],
    pub(super) n_pairs: usize,
    pub(super) n_marks: usize,
    /// Rows to leave to the plain parser.
    wait: u32,
    /// As many will be left to it after the next tape that is not worth it.
    next_wait: u32,
}

/// The pairs and marks of a block, a bit for each byte. All pairs are `digit+ : digit+` of up to seven digits each, which are exact in every
/// type, and end in the block.
pub(crate) struct Found {
    /// Where pairs begin.
    pub(super) starts: u64,
    pub(super) colons: u64,
    /// The bytes behind pairs.
    pub(super) ends: u64,
    /// `|` and line feeds.
    pub(super) marks: u64,
    /// Bytes of the text before the block.
    pub(super) before: usize,
}

/// True if there may be rows for a tape: each is a sequence, and all streams are sparse.
pub(super) fn are_possible(rules: &Rules) -> bool {
    rules.rows.keying == Keying::Lines
        && rules.rows.main.is_none()
        && rules.inputs.len() <= STREAMS
        && rules.inputs.iter().all(|input| input.sparse)
}

impl Tape {
    pub(super) fn new() -> Box<Tape> {
        Box::new(Tape {
            indices: [0; 1 + PAIRS + 2 * OF_BLOCK],
            values: [0; PAIRS + 2 * OF_BLOCK],
            places: [0; MARKS + OF_BLOCK],
            ranks: [0; MARKS + OF_BLOCK],
            n_pairs: 0,
            n_marks: 0,
            wait: 0,
            next_wait: 1,
        })
    }

    /// Counts a row, and is true if the tape is to be tried at it.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        is_due
    }

    /// Fills it with the text from `at` on, as far as it is ordinary.
    ///
    /// # Safety
    /// The instruction set of `B` is there.
    #[inline(always)]
    unsafe fn fill<B: Block>(&mut self, bytes: &[u8], at: usize) {
        (self.n_pairs, self.n_marks) = (0, 0);
        let mut before = 0;
        while self.n_pairs <= PAIRS && self.n_marks <= MARKS && before <= usize::from(u16::MAX) - 64 {
            // SAFETY: the caller's promise.
            let Some((found, n)) = (unsafe { find::<B>(bytes, at + before, before) }) else { return };
            // SAFETY: likewise.
            unsafe { B::pairs(bytes, at + before, &found, self) };
            self.n_pairs += found.ends.count_ones() as usize;
            self.n_marks += found.marks.count_ones() as usize;
            before += n;
        }
    }
}

/// The pairs and marks of the block at `at`, and how many bytes of it were looked at: those up to the last one behind which any token may begin.
///
/// # Safety
/// The instruction set of `B` is there.
#[inline(always)]
unsafe fn find<B: Block>(bytes: &[u8], at: usize, before: usize) -> Option<(Found, usize)> {
    let block = bytes.get(at..)?.first_chunk::<64>()?;
    // SAFETY: the caller's promise.
    let (Masks { ends, stops }, digits) = unsafe { (B::masks(block), B::decimal_digits(block)) };
    // No closure: it would be compiled without the features, and call a function for each instruction.
    // SAFETY: likewise.
    let (bars, feeds) = unsafe { (B::equal(block, b'|'), B::equal(block, b'\n')) };
    // SAFETY: likewise.
    let (returns, colons) = unsafe { (B::equal(block, b'\r'), B::equal(block, b':')) };
    // The last byte does not say whether a line feed follows, and a name begins behind `|`.
    let last = (ends & !bars & !(returns & 1 << 63)).checked_ilog2()?;
    let within = u64::MAX >> (63 - last);
    let inside = !ends & within;
    let marks = (bars | feeds) & within;
    // Names are left out by a carry that runs through each.
    let names = bars << 1 & inside;
    let pairs = inside & inside.wrapping_add(names);
    let starts = pairs & !(pairs << 1);
    let ends = ends & pairs << 1;
    let (colons, digits) = (colons & pairs, digits & pairs);
    // Carries run from each start to the first byte that is no digit: a colon, the only one and between digits.
    let odd = pairs & !(digits | colons)
        | starts & !digits
        | (digits.wrapping_add(starts) & !digits ^ colons)
        | colons << 1 & !digits
        | stops & within & !(bars | feeds | returns)
        | returns & within & !(feeds >> 1);
    let two = digits & digits >> 1;
    let four = two & two >> 2;
    // More than seven digits.
    let eight = four & four >> 4;
    let is_ordinary = odd | eight == 0 && marks.count_ones() as usize <= OF_BLOCK;
    is_ordinary.then_some((Found { starts, colons, ends, marks, before }, last as usize + 1))
}

/// [`Block::pairs`] a machine word at a time.
#[inline(always)]
pub(super) fn pairs_by_words(bytes: &[u8], at: usize, found: &Found, tape: &mut Tape) {
    let Found { mut starts, mut colons, mut ends, .. } = *found;
    let are_digits = colons << 2 == ends;
    let indices = &mut tape.indices[1 + tape.n_pairs..][..OF_BLOCK];
    let values = &mut tape.values[tape.n_pairs..][..OF_BLOCK];
    for (index, value) in indices.iter_mut().zip(values).take(ends.count_ones() as usize) {
        let start = at + take_lowest(&mut starts) as usize;
        let colon = at + take_lowest(&mut colons) as usize;
        let end = at + take_lowest(&mut ends) as usize;
        *index = number(bytes, start, colon);
        *value = if are_digits { u32::from(bytes[colon + 1] - b'0') } else { number(bytes, colon + 1, end) };
    }
    marks_by_words(found, tape);
}

/// The marks of [`Block::pairs`], one by one.
#[inline(always)]
pub(super) fn marks_by_words(found: &Found, tape: &mut Tape) {
    let (mut marks, last) = (found.marks, found.ends >> 1);
    for mark in tape.n_marks..tape.n_marks + marks.count_ones() as usize {
        let place = take_lowest(&mut marks);
        tape.places[mark] = (found.before + place as usize) as u16;
        tape.ranks[mark] = (tape.n_pairs + (last & !(u64::MAX << place)).count_ones() as usize) as u16;
    }
}

/// The place of the lowest bit, which is taken away; 64 without one.
#[inline(always)]
pub(super) fn take_lowest(bits: &mut u64) -> u32 {
    let place = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    place
}

/// The whole number of up to eight digits; at least eight bytes are in front of its end.
#[inline(always)]
fn number(bytes: &[u8], start: usize, end: usize) -> u32 {
    let text: [u8; 8] = bytes[end - 8..end].try_into().expect("eight bytes");
    let digits = u64::from_le_bytes(text) ^ 0x3030_3030_3030_3030;
    let others = 64 - 8 * (end - start) as u32;
    super::tokens::whole(digits >> others << others)
}

/// Rows from `at` on, and the columns that they go to.
pub(crate) struct SparseRows<'a, E> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) rules: &'a Rules,
    pub(super) tape: &'a mut Tape,
    pub(super) columns: &'a mut [Column<E>],
}

impl<E: Real> SparseRows<'_, E> {
    /// Reads them as long as each is one sample of every stream, in one order. Returns how many, and where the next one starts.
    ///
    /// # Safety
    /// The instruction set of `B` is there.
    #[inline(always)]
    pub(super) unsafe fn read<B: Block>(self) -> (usize, usize) {
        let SparseRows { bytes, at, rules, tape, columns } = self;
        // Numbers are read as the eight bytes in front of their end.
        if at < 8 {
            return (0, at);
        }
        // SAFETY: the caller's promise.
        unsafe { tape.fill::<B>(bytes, at) };
        let done = match order(&bytes[at..], &rules.names, tape) {
            Some(order) => rows_of_tape(&bytes[at..], rules, &order[..columns.len()], tape, columns),
            None => (0, 0),
        };
        (tape.wait, tape.next_wait) =
            if done.0 < WORTH { (tape.next_wait, (2 * tape.next_wait).min(PATIENCE)) } else { (0, 1) };
        (done.0, at + done.1)
    }
}

/// The streams of the first row in their order.
#[inline(always)]
fn order(text: &[u8], names: &[Name], tape: &Tape) -> Option<[usize; STREAMS]> {
    let mut order = [0; STREAMS];
    for (k, &place) in tape.places[..tape.n_marks].iter().take(names.len()).enumerate() {
        let name = text.get(usize::from(place) + 1..)?;
        let stream = names.iter().position(|known| known.begins(name).is_some())?;
        if order[..k].contains(&stream) {
            return None;
        }
        order[k] = stream;
    }
    Some(order)
}

/// Copies the rows of a tape. Returns how many, and where the next one starts in the text.
#[inline(always)]
fn rows_of_tape<E: Real>(
    text: &[u8],
    rules: &Rules,
    order: &[usize],
    tape: &Tape,
    columns: &mut [Column<E>],
) -> (usize, usize) {
    for column in &mut *columns {
        column.make_room(tape.n_pairs + OF_BLOCK);
    }
    let (mut n_rows, mut end, mut rank) = (0, 0, 0);
    let marks = order.len() + 1;
    let rows = tape.places[..tape.n_marks].chunks_exact(marks).zip(tape.ranks.chunks_exact(marks));
    'rows: for (places, ranks) in rows {
        let feed = usize::from(places[order.len()]);
        // No pair stands in front of the first name.
        if text[feed] != b'\n' || ranks[0] != rank {
            break;
        }
        for (k, &stream) in order.iter().enumerate() {
            let (from, to) = (usize::from(ranks[k]), usize::from(ranks[k + 1]));
            let place = usize::from(places[k]);
            let column = &mut columns[stream];
            let is_next = text[place] == b'|' && rules.names[stream].begins(&text[place + 1..]).is_some();
            if !is_next || !column.take(tape, from, to, &rules.inputs[stream]) {
                // Those of the row that were taken go back.
                for column in &mut *columns {
                    column.keep_samples(n_rows);
                }
                break 'rows;
            }
        }
        (n_rows, end, rank) = (n_rows + 1, feed + 1, ranks[order.len()]);
    }
    for column in columns {
        column.close_samples(n_rows);
    }
    (n_rows, end)
}
