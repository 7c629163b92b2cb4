//! Items of a stream, packed and unpacked sixteen at a time.
//!
//! For the next editor: what is read of a slice of items is masked by what is left of it; packed bytes are read and
//! written sixteen items at a time whatever is left, there is [`super::SLACK`] after them. More than that is not read:
//! the next cache line is not there yet.

use std::arch::x86_64::*;
use std::ops::Range;

use tesson_core::{Kernels, Values};

use super::{BYTES, CACHE_LINE, F32, Items, Kernel, ONES, masks, plain};

/// Items handled at once.
const LANES: usize = 16;

/// Proof that the processor has AVX-512 with permutations of bytes, and that it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

/// For each width, where the bytes of packed items come from among sixteen 32-bit lanes.
static NARROW: [[u8; 64]; 3] = [narrow(1), narrow(2), narrow(4)];

const fn narrow(size: u8) -> [u8; 64] {
    let mut table = [0; 64];
    let mut i = 0;
    while i < 16 * size {
        table[i as usize] = i / size * 4 + i % size;
        i += 1;
    }
    table
}

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
        (Kernels::in_use() >= Kernels::Avx512).then_some(Avx512(()))
    }
}

impl Kernel for Avx512 {
    #[inline]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
        fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: `self` is the proof that the processor has the features.
        unsafe { run(work) }
    }

    #[inline]
    fn pack_columns(self, columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
        // SAFETY: as above.
        unsafe { pack_columns(columns, chained, room) }
    }

    #[inline]
    fn pack_values(self, values: &Values, range: Range<usize>, room: &mut [u8]) -> (u8, usize) {
        match values {
            Values::Ones(_) => (ONES, 0),
            // SAFETY: as above.
            Values::Bytes(v) => unsafe { pack_bytes(&v[range], room) },
            // SAFETY: as above.
            Values::F32(v) => unsafe { pack_f32s(&v[range], room) },
            _ => plain::pack_values(values, range, room),
        }
    }

    #[inline]
    fn spare_zeros(self, bytes: &[u8], room: &mut [u8]) -> usize {
        // SAFETY: as above.
        unsafe { spare_zeros(bytes, room) }
    }

    #[inline]
    fn columns(self, items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
        // SAFETY: as above.
        unsafe { columns(items, width, n, chained, out) }
    }

    #[inline]
    fn f32s(self, items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>) {
        // SAFETY: as above.
        unsafe { f32s(items, form, n, out) }
    }

    #[inline]
    fn spared_f32s(self, items: Items<'_>, n: usize, out: &mut Vec<f32>) {
        match items.line {
            // What lies after the line must not be read.
            Some(_) => plain::spared(items.bytes, n, out),
            // SAFETY: as above.
            None => unsafe { spared_f32s(items.bytes, n, out) },
        }
    }
}

/// The lanes of the first `n` items.
#[inline]
fn first(n: usize) -> u16 {
    ((1u32 << n.min(LANES)) - 1) as u16
}

/// The bits of the first `n` of 64 bytes.
#[inline]
fn first_bytes(n: usize) -> u64 {
    u64::MAX.checked_shr(64 - n.min(64) as u32).unwrap_or(0)
}

/// Sixteen items of 4 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load4(bytes: &[u8]) -> __m512i {
    let bytes: &[u8; 64] = bytes.first_chunk().expect("there is slack after packed items");
    // SAFETY: the reference is to 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Sixteen items of 2 bytes, widened.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load2(bytes: &[u8]) -> __m512i {
    let bytes: &[u8; 32] = bytes.first_chunk().expect("there is slack after packed items");
    // SAFETY: the reference is to 32 bytes.
    _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
}

/// Sixteen items of 1 byte, widened.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load1(bytes: &[u8]) -> __m512i {
    let bytes: &[u8; 16] = bytes.first_chunk().expect("there is slack after packed items");
    // SAFETY: the reference is to 16 bytes.
    _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn store(lanes: __m512i, room: &mut [u8]) {
    let room: &mut [u8; 64] = room.first_chunk_mut().expect("there is slack after packed items");
    // SAFETY: the reference is to 64 bytes.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), lanes) }
}

/// Writes lanes in `1 << width` bytes each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn store_narrow(lanes: __m512i, width: u8, room: &mut [u8]) {
    store(_mm512_permutexvar_epi8(load4(&NARROW[usize::from(width)]), lanes), room);
}

/// Writes the lowest byte of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn store_bytes(lanes: __m512i, room: &mut [u8]) {
    let room: &mut [u8; 16] = room.first_chunk_mut().expect("there is slack after packed items");
    // SAFETY: the reference is to 16 bytes.
    unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(lanes)) }
}

/// The first sixteen items, or those there are, and 0 for the others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load_u32(items: &[u32]) -> __m512i {
    // SAFETY: the mask has lanes of `items` only.
    unsafe { _mm512_maskz_loadu_epi32(first(items.len()), items.as_ptr().cast()) }
}

/// The distances of the columns from those before them; `before` is the last one of the lanes before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn distances(columns: &[u32], chained: bool, before: &mut __m512i) -> __m512i {
    let lanes = load_u32(columns);
    let shifted = _mm512_alignr_epi32(lanes, *before, 15);
    *before = lanes;
    let kept = if chained { first(columns.len()) } else { 0 };
    _mm512_mask_sub_epi32(lanes, kept, lanes, shifted)
}

/// The width that sixteen distances fit into.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn width_of(lanes: __m512i) -> u8 {
    let over_one = _mm512_cmpgt_epu32_mask(lanes, _mm512_set1_epi32(0xff));
    let over_two = _mm512_cmpgt_epu32_mask(lanes, _mm512_set1_epi32(0xffff));
    u8::from(over_one != 0) + u8::from(over_two != 0)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_columns(columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
    let n = columns.len();
    if n > LANES {
        return pack_many_columns(columns, chained, room);
    }
    let lanes = distances(columns, chained, &mut _mm512_setzero_si512());
    let width = width_of(lanes);
    store_narrow(lanes, width, room);
    (width, n << width)
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_many_columns(columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
    let n = columns.len();
    let mut before = _mm512_setzero_si512();
    let mut widest = before;
    for columns in columns.chunks(LANES) {
        let lanes = distances(columns, chained, &mut before);
        widest = _mm512_max_epu32(widest, lanes);
    }
    let width = width_of(widest);
    before = _mm512_setzero_si512();
    for (i, columns) in columns.chunks(LANES).enumerate() {
        let lanes = distances(columns, chained, &mut before);
        store_narrow(lanes, width, &mut room[(i * LANES) << width..]);
    }
    (width, n << width)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_bytes(values: &[u8], room: &mut [u8]) -> (u8, usize) {
    let one = _mm512_set1_epi8(1);
    let mut differ = 0;
    for (i, values) in values.chunks(64).enumerate() {
        let lanes = load_bytes(values);
        differ |= _mm512_mask_cmpneq_epi8_mask(first_bytes(values.len()), lanes, one);
        store(lanes, &mut room[i * 64..]);
    }
    match differ {
        0 => (ONES, 0),
        _ => (BYTES, values.len()),
    }
}

/// Up to sixteen floats, and 0 after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load_f32(values: &[f32]) -> __m512 {
    // SAFETY: the mask has lanes of `values` only.
    unsafe { _mm512_maskz_loadu_ps(first(values.len()), values.as_ptr()) }
}

/// Those of the first `n` lanes that are not 1, and those that are no whole numbers from 0 to 255.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn unlike(lanes: __m512, n: usize) -> (u16, u16) {
    let bits = _mm512_castps_si512(lanes);
    let whole = _mm512_cvttps_epu32(lanes);
    let again = _mm512_castps_si512(_mm512_cvtepu32_ps(whole));
    let small = _mm512_cmple_epu32_mask(whole, _mm512_set1_epi32(0xff));
    let bytes = small & _mm512_cmpeq_epi32_mask(bits, again);
    let ones = _mm512_cmpeq_epi32_mask(bits, _mm512_set1_epi32(1f32.to_bits() as i32));
    (first(n) & !ones, first(n) & !bytes)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_f32s(values: &[f32], room: &mut [u8]) -> (u8, usize) {
    let n = values.len();
    if n > LANES {
        return pack_many_f32s(values, room);
    }
    // Both forms are made, and one of them written: which, changes too often for a branch.
    let lanes = load_f32(values);
    let (not_one, not_byte) = unlike(lanes, n);
    let narrow = _mm512_permutexvar_epi8(load4(&NARROW[0]), _mm512_cvttps_epu32(lanes));
    let wide = if not_byte != 0 { u16::MAX } else { 0 };
    store(_mm512_mask_blend_epi32(wide, narrow, _mm512_castps_si512(lanes)), room);
    let form = u8::from(not_one != 0) + u8::from(not_byte != 0);
    (form, [0, n, 4 * n][usize::from(form)])
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_many_f32s(values: &[f32], room: &mut [u8]) -> (u8, usize) {
    let mut not_one = 0;
    for (i, some) in values.chunks(LANES).enumerate() {
        let lanes = load_f32(some);
        let (one, byte) = unlike(lanes, some.len());
        if byte != 0 {
            return pack_wide(values, room);
        }
        not_one |= one;
        store_bytes(_mm512_cvttps_epu32(lanes), &mut room[i * LANES..]);
    }
    match not_one {
        0 => (ONES, 0),
        _ => (BYTES, values.len()),
    }
}

/// Like [`pack_many_f32s`], for values of which one is neither 1 nor a small whole number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_wide(values: &[f32], room: &mut [u8]) -> (u8, usize) {
    for (i, values) in values.chunks(LANES).enumerate() {
        store(_mm512_castps_si512(load_f32(values)), &mut room[4 * i * LANES..]);
    }
    (F32, 4 * values.len())
}

/// The first bytes, at most 64, and 0 after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn load_bytes(bytes: &[u8]) -> __m512i {
    // SAFETY: the mask has lanes of `bytes` only.
    unsafe { _mm512_maskz_loadu_epi8(first_bytes(bytes.len()), bytes.as_ptr().cast()) }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn spare_zeros(bytes: &[u8], room: &mut [u8]) -> usize {
    let (masks, others) = room.split_at_mut(masks(bytes.len()));
    let mut n = 0;
    for (bytes, place) in bytes.chunks(64).zip(masks.as_chunks_mut().0) {
        let lanes = load_bytes(bytes);
        let mask = _mm512_test_epi8_mask(lanes, lanes);
        *place = mask.to_le_bytes();
        store(_mm512_maskz_compress_epi8(mask, lanes), &mut others[n..]);
        n += mask.count_ones() as usize;
    }
    masks.len() + n
}

/// For each width, where sixteen 32-bit lanes come from among the bytes of packed items, and which bytes do.
static WIDEN: [([u8; 64], u64); 3] =
    [(widen(1), 0x1111_1111_1111_1111), (widen(2), 0x3333_3333_3333_3333), (widen(4), u64::MAX)];

const fn widen(size: u8) -> [u8; 64] {
    let mut table = [0; 64];
    let mut i = 0;
    while i < 64 {
        table[i as usize] = i / 4 * size + i % 4;
        i += 1;
    }
    table
}

/// Sixteen items of `1 << width` bytes that begin at `from` in a line; what would lie after the line is taken from its
/// beginning. Nothing but the line is read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn lanes_of(line: __m512i, from: usize, width: u8) -> __m512i {
    let (table, kept) = &WIDEN[usize::from(width)];
    let places = _mm512_add_epi8(load4(table), _mm512_set1_epi8(from as i8));
    _mm512_maskz_permutexvar_epi8(*kept, places, line)
}

/// Sums of all lanes up to each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn prefix_sums(mut lanes: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32(lanes, zero, 15));
    lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32(lanes, zero, 14));
    lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32(lanes, zero, 12));
    _mm512_add_epi32(lanes, _mm512_alignr_epi32(lanes, zero, 8))
}

/// Four bytes of which all values are numbers.
///
/// # Safety
/// The type has four bytes, and every combination of their bits is a value of it.
unsafe trait Lane: Copy {}

// SAFETY: any 32 bits are a number.
unsafe impl Lane for i32 {}

// SAFETY: any 32 bits are a number, or one of those that are none.
unsafe impl Lane for f32 {}

/// Appends `n` items, which `lanes(i)` makes from the `i`-th on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn append<T: Lane>(out: &mut Vec<T>, n: usize, mut lanes: impl FnMut(usize) -> __m512i) {
    out.reserve(n + LANES);
    let end = out.len() + n;
    // SAFETY: `out` has room for this many items more.
    let room = unsafe { out.as_mut_ptr().add(out.len()) };
    for at in (0..n).step_by(LANES) {
        // SAFETY: at most `LANES - 1` items more than `n` are written, for which there is room.
        unsafe { _mm512_storeu_si512(room.add(at).cast(), lanes(at)) };
    }
    // SAFETY: so many items have been written, and `Lane` says that any bits are one.
    unsafe { out.set_len(end) };
}

/// Appends up to [`LANES`] items.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn append_few<T: Lane>(out: &mut Vec<T>, n: usize, lanes: __m512i) {
    out.reserve(LANES);
    let end = out.len() + n.min(LANES);
    // SAFETY: `out` has room for so many items more, and `Lane` says that any bits are one.
    unsafe {
        _mm512_storeu_si512(out.as_mut_ptr().add(out.len()).cast(), lanes);
        out.set_len(end);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn columns(items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
    match items.line {
        Some(line) if n <= LANES => {
            let distances = lanes_of(load4(line), CACHE_LINE - items.bytes.len(), width);
            append_few(out, n, if chained { prefix_sums(distances) } else { distances });
        }
        _ => many_columns(items, width, n, chained, out),
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn many_columns(items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
    let mut before = _mm512_setzero_si512();
    let mut columns = |distances| {
        if !chained {
            return distances;
        }
        let columns = _mm512_add_epi32(prefix_sums(distances), before);
        before = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), columns);
        columns
    };
    let bytes = items.bytes;
    if let Some(line) = items.line {
        let (line, from) = (load4(line), CACHE_LINE - bytes.len());
        return append(out, n, |at| columns(lanes_of(line, from + (at << width), width)));
    }
    match width {
        0 => append(out, n, |at| columns(load1(&bytes[at..]))),
        1 => append(out, n, |at| columns(load2(&bytes[2 * at..]))),
        _ => append(out, n, |at| columns(load4(&bytes[4 * at..]))),
    }
}

/// Numbers below 256 as the bits of floats.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn bits_of(lanes: __m512i) -> __m512i {
    _mm512_castps_si512(_mm512_cvtepu32_ps(lanes))
}

/// The values from `from` on in a line, of a form.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn values_of(line: __m512i, from: usize, form: u8) -> __m512i {
    if form == F32 {
        return lanes_of(line, from, 2);
    }
    // Whether all are 1 changes too often for a branch.
    let ones = u16::from(form == ONES).wrapping_neg();
    bits_of(_mm512_mask_mov_epi32(lanes_of(line, from, 0), ones, _mm512_set1_epi32(1)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn f32s(items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>) {
    match items.line {
        Some(line) if n <= LANES => {
            append_few(out, n, values_of(load4(line), CACHE_LINE - items.bytes.len(), form));
        }
        _ => many_f32s(items, form, n, out),
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn many_f32s(items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>) {
    let bytes = items.bytes;
    if let Some(line) = items.line {
        let (line, from) = (load4(line), CACHE_LINE - bytes.len());
        let size = if form == F32 { 4 } else { 1 };
        return append(out, n, |at| values_of(line, from + size * at, form));
    }
    match form {
        ONES => append(out, n, |_| bits_of(_mm512_set1_epi32(1))),
        BYTES => append(out, n, |at| bits_of(load1(&bytes[at..]))),
        _ => append(out, n, |at| load4(&bytes[4 * at..])),
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
fn spared_f32s(bytes: &[u8], n: usize, out: &mut Vec<f32>) {
    let (masks, mut others) = bytes.split_at(masks(n));
    out.reserve(n.next_multiple_of(64));
    let end = out.len() + n;
    for (i, &mask) in masks.as_chunks().0.iter().enumerate() {
        let mask = u64::from_le_bytes(mask);
        let some = _mm512_maskz_expand_epi8(mask, load4(others));
        others = &others[mask.count_ones() as usize..];
        let quarters = [
            _mm512_castsi512_si128(some),
            _mm512_extracti32x4_epi32::<1>(some),
            _mm512_extracti32x4_epi32::<2>(some),
            _mm512_extracti32x4_epi32::<3>(some),
        ];
        for (j, quarter) in quarters.into_iter().enumerate() {
            let lanes = bits_of(_mm512_cvtepu8_epi32(quarter));
            // SAFETY: `out` has room for all 64 of every group.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(end - n + 64 * i + LANES * j).cast(), lanes) };
        }
    }
    // SAFETY: so many items have been written.
    unsafe { out.set_len(end) };
}
