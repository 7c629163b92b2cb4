//! Memory of libjpeg-turbo: the memory of one image is reused for the next one, while the library itself would
//! allocate and free it for each.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{c_int, c_void};
use std::panic::resume_unwind;
use std::ptr;

use mozjpeg_sys::{
    JBLOCKARRAY, JDIMENSION, JSAMPARRAY_MUT, boolean, jpeg_common_struct, jpeg_memory_mgr,
    jvirt_barray_control, jvirt_sarray_control,
};

/// The unit of allocation: the library's vector instructions need an alignment of 32 bytes, and may write the rest of
/// 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

const LINE: usize = 64;

/// Bytes of a block of coefficients.
pub(super) const COEFFICIENTS: usize = 64 * size_of::<i16>();

/// Lines that are allocated at once, at least.
const LEAST: usize = (64 << 10) / LINE;

/// Lines that are kept for the next image, at most: those of a large progressive image are freed.
const KEPT: usize = (16 << 20) / LINE;

/// The memory of the library for the image that it decodes.
#[derive(Default)]
pub(super) struct Memory {
    /// Blocks of lines; those of the last one are allocated in turn.
    blocks: Vec<Vec<Line>>,
    /// The number of lines of the last block that are allocated.
    used: usize,
    /// The least number of lines in the next block.
    next: usize,
    /// Many zeros each, for this image alone.
    zeros: Vec<Vec<u8>>,
}

/// An array that the library would move out of memory if it were too large. That never happens here: images that are too
/// large are refused earlier.
struct VirtualArray {
    rows: *mut *mut u8,
    n_rows: JDIMENSION,
}

impl Memory {
    /// Makes a library allocate here. Before each call of it `client_data` must point here.
    pub(super) fn serve(library: &mut jpeg_memory_mgr) {
        library.alloc_small = Some(allocate);
        library.alloc_large = Some(allocate);
        library.alloc_sarray = Some(allocate_samples);
        library.alloc_barray = Some(allocate_blocks);
        library.request_virt_sarray = Some(request_samples);
        library.request_virt_barray = Some(request_blocks);
        library.realize_virt_arrays = Some(realize);
        library.access_virt_sarray = Some(access_samples);
        library.access_virt_barray = Some(access_blocks);
    }

    /// Frees everything for reuse; memory that was allocated before must not be used again.
    pub(super) fn reset(&mut self) {
        let lines = self.blocks.iter().map(Vec::capacity).sum::<usize>();
        if self.blocks.len() > 1 || lines > KEPT {
            // The next image finds one block of this size, if it is not too large.
            self.blocks.clear();
            self.next = if lines > KEPT { 0 } else { lines.next_power_of_two().min(KEPT) };
        }
        self.used = 0;
        self.zeros.clear();
    }

    /// Allocates `bytes` bytes of any contents, aligned to a line. Unwinds like an error of the library if memory is
    /// short.
    fn take(&mut self, bytes: usize) -> *mut u8 {
        let lines = bytes.div_ceil(LINE);
        if lines > self.left() {
            let mut block = Vec::new();
            if block.try_reserve_exact(lines.max(self.next).max(LEAST)).is_err() {
                fail("there is not enough memory");
            }
            self.blocks.push(block);
            self.used = 0;
        }
        self.take_lines(lines)
    }

    /// Allocates `bytes` zeros. Many of them are taken from the system, which makes pages when they are used: a
    /// damaged file of a few bytes may declare a large image.
    fn take_zeros(&mut self, bytes: usize) -> *mut u8 {
        if bytes <= KEPT * LINE {
            let first = self.take(bytes);
            // SAFETY: `bytes` bytes were allocated there.
            unsafe { first.write_bytes(0, bytes) };
            return first;
        }
        let layout = bytes.checked_add(LINE).and_then(|n| Layout::array::<u8>(n).ok());
        let Some(layout) = layout else { fail("there is not enough memory") };
        // SAFETY: there are some bytes. More than bytes must not be aligned: allocators would write all zeros themselves.
        let first = unsafe { alloc_zeroed(layout) };
        if first.is_null() {
            fail("there is not enough memory");
        }
        // SAFETY: it was allocated by this layout, which is that of a vector with this capacity.
        let mut zeros = unsafe { Vec::from_raw_parts(first, 0, layout.size()) };
        // SAFETY: `LINE` bytes more than requested were allocated.
        let aligned = unsafe { zeros.as_mut_ptr().add(first.align_offset(LINE).min(LINE)) };
        self.zeros.push(zeros);
        aligned
    }

    /// Lines that the last block has left.
    fn left(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.capacity() - self.used)
    }

    /// The next lines of the last block, which has as many.
    fn take_lines(&mut self, lines: usize) -> *mut u8 {
        let Some(block) = self.blocks.last_mut() else { fail("there is not enough memory") };
        // SAFETY: they lie within its capacity. No reference is made to lines that have been allocated.
        let first = unsafe { block.as_mut_ptr().add(self.used) };
        self.used += lines;
        first.cast()
    }

    /// Allocates rows of `bytes` bytes each by `take`, and returns the pointers to them.
    fn take_rows(
        &mut self,
        bytes: usize,
        n: JDIMENSION,
        take: fn(&mut Memory, usize) -> *mut u8,
    ) -> *mut *mut u8 {
        let n = n as usize;
        let sizes = || {
            let row = bytes.checked_next_multiple_of(LINE)?;
            Some((row, row.checked_mul(n)?, n.checked_mul(size_of::<*mut u8>())?))
        };
        let Some((row, all, places)) = sizes() else { fail("there is not enough memory") };
        let (rows, first): (*mut *mut u8, _) = (self.take(places).cast(), take(self, all));
        for i in 0..n {
            // SAFETY: there is room for `n` places, and `n` rows of `row` bytes.
            unsafe { rows.add(i).write(first.add(i * row)) };
        }
        rows
    }

    /// Rows of zeros, that the library asks for later.
    fn take_array(&mut self, bytes: usize, n_rows: JDIMENSION) -> *mut VirtualArray {
        let rows = self.take_rows(bytes, n_rows, Memory::take_zeros);
        let array: *mut VirtualArray = self.take(size_of::<VirtualArray>()).cast();
        // SAFETY: there is room for it.
        unsafe { array.write(VirtualArray { rows, n_rows }) };
        array
    }
}

/// Ends a call of the library as its own errors do.
#[cold]
fn fail(what: &str) -> ! {
    resume_unwind(Box::new(what.to_owned()))
}

/// The memory of a library.
fn memory(info: &mut jpeg_common_struct) -> &mut Memory {
    // SAFETY: `Library::call` sets it to the address of a `Memory`, which nothing else uses during the call.
    unsafe { &mut *info.client_data.cast() }
}

extern "C-unwind" fn allocate(info: &mut jpeg_common_struct, _: c_int, bytes: usize) -> *mut c_void {
    memory(info).take(bytes).cast()
}

extern "C-unwind" fn allocate_samples(
    info: &mut jpeg_common_struct,
    _: c_int,
    samples: JDIMENSION,
    rows: JDIMENSION,
) -> JSAMPARRAY_MUT {
    memory(info).take_rows(samples as usize, rows, Memory::take).cast()
}

extern "C-unwind" fn allocate_blocks(
    info: &mut jpeg_common_struct,
    _: c_int,
    blocks: JDIMENSION,
    rows: JDIMENSION,
) -> JBLOCKARRAY {
    let bytes = (blocks as usize).saturating_mul(COEFFICIENTS);
    memory(info).take_rows(bytes, rows, Memory::take).cast()
}

extern "C-unwind" fn request_samples(
    info: &mut jpeg_common_struct,
    _: c_int,
    _: boolean,
    samples: JDIMENSION,
    rows: JDIMENSION,
    _: JDIMENSION,
) -> *mut jvirt_sarray_control {
    memory(info).take_array(samples as usize, rows).cast()
}

extern "C-unwind" fn request_blocks(
    info: &mut jpeg_common_struct,
    _: c_int,
    _: boolean,
    blocks: JDIMENSION,
    rows: JDIMENSION,
    _: JDIMENSION,
) -> *mut jvirt_barray_control {
    memory(info).take_array((blocks as usize).saturating_mul(COEFFICIENTS), rows).cast()
}

/// Does nothing: arrays exist as soon as they are requested.
extern "C-unwind" fn realize(_: &mut jpeg_common_struct) {}

extern "C-unwind" fn access_samples(
    _: &mut jpeg_common_struct,
    array: *mut jvirt_sarray_control,
    first: JDIMENSION,
    n: JDIMENSION,
    _: boolean,
) -> JSAMPARRAY_MUT {
    access(array.cast(), first, n).cast()
}

extern "C-unwind" fn access_blocks(
    _: &mut jpeg_common_struct,
    array: *mut jvirt_barray_control,
    first: JDIMENSION,
    n: JDIMENSION,
    _: boolean,
) -> JBLOCKARRAY {
    access(array.cast(), first, n).cast()
}

/// The places of `n` rows of an array.
fn access(array: *mut VirtualArray, first: JDIMENSION, n: JDIMENSION) -> *mut *mut u8 {
    // SAFETY: the library has it from a request, for the image that it still decodes.
    let VirtualArray { rows, n_rows } = unsafe { ptr::read(array) };
    if first.checked_add(n).is_none_or(|end| end > n_rows) {
        fail("rows are asked for that are not there");
    }
    // SAFETY: there are as many places.
    unsafe { rows.add(first as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_apart_and_used_again() {
        let mut memory = Memory::default();
        let mut pass = |sizes: &[usize]| {
            memory.reset();
            let places: Vec<usize> = sizes.iter().map(|&n| memory.take(n).addr()).collect();
            for (i, (&at, &n)) in places.iter().zip(sizes).enumerate() {
                assert!(at.is_multiple_of(LINE));
                assert!(places.iter().skip(i + 1).all(|&next| next >= at + n || next < at));
            }
            (memory.blocks.len(), memory.blocks.iter().map(Vec::capacity).sum::<usize>() * LINE)
        };
        assert_eq!(pass(&[1, 100, 64]), (1, LEAST * LINE));
        // More than one block holds: in separate blocks at first, in one from then on.
        assert_eq!(pass(&[60 << 10, 60 << 10, 60 << 10]).0, 3);
        let whole = pass(&[60 << 10, 60 << 10, 60 << 10]);
        assert_eq!(whole, (1, 256 << 10));
        assert_eq!(pass(&[1]), whole);
        // The memory of a very large image is not kept.
        assert!(pass(&[KEPT * LINE + 1]).1 > KEPT * LINE);
        assert_eq!(pass(&[1]), (1, LEAST * LINE));
    }

    #[test]
    fn zeros_are_zeros_wherever_they_lie() {
        let mut memory = Memory::default();
        for bytes in [100, 100, 200 << 10, 200 << 10, 100, KEPT * LINE + 1, KEPT * LINE + 1, 100] {
            let first = memory.take_zeros(bytes);
            // SAFETY: `bytes` bytes were allocated.
            let taken = unsafe { std::slice::from_raw_parts_mut(first, bytes) };
            assert!(first.addr().is_multiple_of(LINE));
            assert!(taken.iter().step_by(1013).all(|&byte| byte == 0) && taken[bytes - 1] == 0);
            taken.iter_mut().step_by(1013).for_each(|byte| *byte = 1);
            taken[bytes - 1] = 1;
            memory.reset();
        }
    }

    #[test]
    fn rows_lie_apart_and_arrays_end() {
        let mut memory = Memory::default();
        let rows = memory.take_rows(65, 3, Memory::take);
        // SAFETY: there are three places.
        let places = unsafe { std::slice::from_raw_parts(rows, 3) };
        assert!(places.windows(2).all(|pair| pair[1].addr() - pair[0].addr() == 128));
        let array = memory.take_array(10, 4);
        let row = access(array, 1, 3);
        // SAFETY: the second of four rows of ten bytes.
        assert_eq!(unsafe { std::slice::from_raw_parts(*row, 10) }, [0; 10]);
        for (first, n) in [(1, 4), (5, 0), (u32::MAX, 2)] {
            assert!(std::panic::catch_unwind(|| access(array, first, n)).is_err());
        }
        assert!(
            std::panic::catch_unwind(move || memory.take_rows(usize::MAX - 64, 2, Memory::take)).is_err()
        );
    }
}
