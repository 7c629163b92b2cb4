//! libjpeg-turbo's decoder behind a safe interface: a file in memory, its header, and its lines.
//!
//! Nothing is allocated for an image: [`Decompressor`] holds the library's source, and each thread has a [`Library`]
//! with its error handler and [memory](Memory) for the images that it decodes one after the other. The crate
//! `mozjpeg` allocates for each image, and so does the library with its own memory manager, so its calls are made
//! here instead.

#![allow(unsafe_code)]

mod memory;

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{ptr, slice};

pub(crate) use mozjpeg_sys::{J_COLOR_SPACE as ColorSpace, J_DCT_METHOD as DctMethod};
use mozjpeg_sys::{
    JERR_FILE_READ, JWRN_HIT_MARKER, jpeg_common_struct, jpeg_create_decompress, jpeg_decompress_struct,
    jpeg_destroy_decompress, jpeg_error_mgr, jpeg_has_multiple_scans, jpeg_read_header, jpeg_read_scanlines,
    jpeg_resync_to_restart, jpeg_source_mgr, jpeg_start_decompress, jpeg_std_error,
};

use crate::decode::ImageError;
use crate::decode::jpeg::damaged;
use crate::transform::view::Sides;
use memory::Memory;

/// The bytes that the library reads after the end of a file: a marker that ends the image, twice. It paints the
/// rest grey.
const MADE_UP_END: [u8; 4] = [0xff, 0xd9, 0xff, 0xd9];

/// The most bytes that the library keeps for each column of a component: two groups of rows that are upsampled from
/// blocks.
const BYTES_OF_A_COLUMN: u64 = 80;

/// The result of `jpeg_read_header` if the file has an image.
const HAS_IMAGE: c_int = 1;

thread_local! {
    /// The library of this thread while it decodes no image.
    static IDLE: Cell<Option<Box<Library>>> = const { Cell::new(None) };
}

/// The library as one thread uses it for one image after the other: creating it allocates.
struct Library {
    info: jpeg_decompress_struct,
    /// A copy of the structure as it was created: without tables, which the library would keep for files without
    /// their own.
    created: jpeg_decompress_struct,
    errors: jpeg_error_mgr,
    memory: Memory,
}

/// The decoder of a file.
pub(crate) struct Decompressor<'file> {
    /// `None` while this is dropped.
    library: Option<Box<Library>>,
    source: Source,
    file: PhantomData<&'file [u8]>,
}

/// The source from which the library reads: the rest of the file, and a mark if it has requested more than there is.
/// The callbacks reach it through `info.src`, which is why the library's structure is the first field.
#[repr(C)]
struct Source {
    rest: jpeg_source_mgr,
    ended: bool,
}

/// The options by which lines are made.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    pub(crate) colors: ColorSpace,
    pub(crate) transform: DctMethod,
    /// The scale is one to this: 1, 2, 4 or 8.
    pub(crate) denominator: usize,
}

impl Library {
    /// The thread's own, or a new one.
    fn take() -> Result<Box<Library>, ImageError> {
        if let Some(library) = IDLE.take() {
            return Ok(library);
        }
        // SAFETY: the structures are C's: numbers, pointers and enumerations, for all of which zero is a value.
        let (info, created, mut errors): (jpeg_decompress_struct, _, jpeg_error_mgr) =
            unsafe { mem::zeroed() };
        // SAFETY: the library fills in its usual callbacks.
        unsafe { jpeg_std_error(&mut errors) };
        errors.error_exit = Some(unwind);
        errors.emit_message = Some(note_missing_pixels);
        let mut library = Box::new(Library { info, created, errors, memory: Memory::default() });
        library.call(ptr::null_mut(), |info| {
            let errors = info.common.err;
            // SAFETY: `call` has aimed the structure at its callbacks, and creating it is the first call. The library
            // owns what it allocates permanently.
            unsafe { jpeg_create_decompress(info) };
            info.common.err = errors;
            // SAFETY: it has made that.
            Memory::serve(unsafe { &mut *info.common.mem });
        })?;
        // SAFETY: numbers and pointers, of which the library frees none but by destroying `info`.
        library.created = unsafe { ptr::read(&raw const library.info) };
        Ok(library)
    }

    /// Ends an image in any state, so that the library can read the next header.
    fn reset(&mut self) {
        // SAFETY: as where it was made. The library sets everything else that it keeps when it reads the next header and
        // starts decoding.
        self.info = unsafe { ptr::read(&raw const self.created) };
        self.memory.reset();
    }

    /// Calls the library, which reports errors by unwinding. It is done with the image once it has.
    fn call<T>(
        &mut self,
        source: *mut jpeg_source_mgr,
        call: impl FnOnce(&mut jpeg_decompress_struct) -> T,
    ) -> Result<T, ImageError> {
        // These may have moved since the last call.
        self.info.common.err = &raw mut self.errors;
        self.info.common.client_data = (&raw mut self.memory).cast();
        self.info.src = source;
        let info = &mut self.info;
        catch_unwind(AssertUnwindSafe(|| call(info))).map_err(|message| {
            self.reset();
            match message.downcast::<String>() {
                Ok(message) => damaged(message),
                Err(panic) => resume_unwind(panic),
            }
        })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.reset();
        // SAFETY: the library frees what it has allocated to be created, once; nothing if it was not.
        unsafe { jpeg_destroy_decompress(&mut self.info) }
    }
}

impl<'file> Decompressor<'file> {
    /// Reads a file's header.
    pub(crate) fn new(file: &'file [u8]) -> Result<Self, ImageError> {
        let rest = jpeg_source_mgr {
            next_input_byte: file.as_ptr(),
            bytes_in_buffer: file.len(),
            init_source: Some(do_nothing),
            fill_input_buffer: Some(make_up_end),
            skip_input_data: Some(skip),
            resync_to_restart: Some(jpeg_resync_to_restart),
            term_source: Some(do_nothing),
        };
        let source = Source { rest, ended: false };
        let mut new = Decompressor { library: Some(Library::take()?), source, file: PhantomData };
        // SAFETY: the structure was created.
        match new.call(|info| unsafe { jpeg_read_header(info, 0) })? {
            HAS_IMAGE => Ok(new),
            _ => Err(damaged("no image in the JPEG file")),
        }
    }

    fn info(&self) -> &jpeg_decompress_struct {
        &self.library.as_ref().expect("only dropping takes it").info
    }

    /// Height and width of the image in the file.
    pub(crate) fn sides(&self) -> Sides {
        let info = self.info();
        Sides { height: info.image_height as usize, width: info.image_width as usize }
    }

    /// Components of a pixel in the file.
    pub(crate) fn components(&self) -> usize {
        self.info().num_components as usize
    }

    /// True if the library has requested more bytes than the file has. It reads ahead, so all pixels may be present
    /// while only the marker that ends the file is missing.
    pub(crate) fn has_no_end(&self) -> bool {
        self.source.ended
    }

    /// True if pixels are missing at the end of the file, after all lines have been read. If a file without an end
    /// has several scans, only a progressive image shows that all of them are present.
    pub(crate) fn is_cut(&self) -> bool {
        if !self.source.ended {
            return false;
        }
        let library = self.library.as_ref().expect("only dropping takes it");
        library.errors.num_warnings > 0 || self.has_several_scans() && !self.has_all_bits()
    }

    fn has_several_scans(&self) -> bool {
        // SAFETY: the header was read.
        unsafe { jpeg_has_multiple_scans(self.info()) != 0 }
    }

    /// True if the scans have supplied every bit of every coefficient.
    fn has_all_bits(&self) -> bool {
        let info = self.info();
        if info.coef_bits.is_null() {
            return false;
        }
        // SAFETY: where the library keeps it, it has an entry for each component.
        let bits = unsafe { slice::from_raw_parts(info.coef_bits.cast::<[c_int; 64]>(), self.components()) };
        bits.as_flattened().iter().all(|missing| *missing == 0)
    }

    /// Bytes of memory that the library takes for the image, about: rows of each component, and where there are several scans
    /// all coefficients.
    pub(crate) fn working_bytes(&self) -> u64 {
        let info = self.info();
        let n = self.components();
        let rows = info.image_width as usize as u64 * n as u64 * BYTES_OF_A_COLUMN;
        if !self.has_several_scans() {
            return rows;
        }
        // SAFETY: the header was read, which has described each component.
        let components = unsafe { slice::from_raw_parts(info.comp_info, n) };
        let blocks = components.iter().map(|component| {
            // Whole groups of blocks are kept.
            let of = |blocks: u32, factor: c_int| u64::from(blocks) + factor.max(1) as u64;
            of(component.width_in_blocks, component.h_samp_factor)
                * of(component.height_in_blocks, component.v_samp_factor)
        });
        rows + blocks.sum::<u64>() * memory::COEFFICIENTS as u64
    }

    /// Begins with the lines, colours being upsampled smoothly.
    pub(crate) fn start(&mut self, output: Output) -> Result<(), ImageError> {
        self.call(|info| {
            info.out_color_space = output.colors;
            info.dct_method = output.transform;
            info.do_fancy_upsampling = 1;
            // Eighths: the library's blocks have eight pixels in a row.
            (info.scale_num, info.scale_denom) = (8 / output.denominator as u32, 8);
            // SAFETY: the header was read.
            unsafe { jpeg_start_decompress(info) }
        })?;
        Ok(())
    }

    /// Reads as many lines as `lines` has room for, which is a multiple of a line.
    pub(crate) fn read_lines(&mut self, lines: &mut [u8]) -> Result<(), ImageError> {
        let values = self.info().output_width as usize * self.info().output_components as usize;
        assert!(
            values > 0 && lines.len().is_multiple_of(values),
            "{} bytes for lines of {values}",
            lines.len()
        );
        let read = self.call(|info| {
            lines.chunks_exact_mut(values).all(|line| {
                let mut line = line.as_mut_ptr();
                // SAFETY: the library writes one line, for which there is room. It fails if it has not begun with them.
                info.output_scanline < info.output_height
                    && unsafe { jpeg_read_scanlines(info, ptr::from_mut(&mut line), 1) } == 1
            })
        })?;
        if read { Ok(()) } else { Err(damaged("it has too few lines")) }
    }

    /// Calls the library. It is done with the image after an error.
    fn call<T>(&mut self, call: impl FnOnce(&mut jpeg_decompress_struct) -> T) -> Result<T, ImageError> {
        let source = (&raw mut self.source).cast();
        self.library.as_mut().expect("only dropping takes it").call(source, call)
    }
}

impl Drop for Decompressor<'_> {
    fn drop(&mut self) {
        let mut library = self.library.take();
        if let Some(library) = &mut library {
            library.reset();
        }
        // A thread that ends has no place for it any more.
        let _ = IDLE.try_with(|idle| idle.set(library));
    }
}

/// The library's last call for an error.
#[cold]
extern "C-unwind" fn unwind(info: &mut jpeg_common_struct) {
    let mut text = [0; 80];
    // SAFETY: the structure is a `Library`'s, which `call` has aimed at its callbacks, and the library's own callback
    // writes at most 80 bytes. It takes a mutable buffer: its declaration here is wrong.
    unsafe {
        type Format = unsafe extern "C-unwind" fn(&mut jpeg_common_struct, *mut [u8; 80]);
        if let Some(format) = (*info.err).format_message {
            let format = mem::transmute::<
                unsafe extern "C-unwind" fn(&mut jpeg_common_struct, &[u8; 80]),
                Format,
            >(format);
            format(info, &raw mut text);
        }
    }
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    // No panic: nothing is wrong here.
    resume_unwind(Box::new(String::from_utf8_lossy(text).into_owned()));
}

/// The library's warnings, of which only those are counted that pixels are missing. It sets the count to 0 for each file.
extern "C-unwind" fn note_missing_pixels(info: &mut jpeg_common_struct, level: c_int) {
    const WARNING: c_int = -1;
    // SAFETY: `call` has aimed it at a `jpeg_error_mgr`.
    let errors = unsafe { &mut *info.err };
    if level == WARNING && errors.msg_code == JWRN_HIT_MARKER as c_int {
        errors.num_warnings += 1;
    }
}

extern "C-unwind" fn do_nothing(_: &mut jpeg_decompress_struct) {}

/// The library has read the whole file, and wants more.
unsafe extern "C-unwind" fn make_up_end(info: &mut jpeg_decompress_struct) -> c_int {
    // SAFETY: `call` has aimed it at a `Source`, which nothing else uses during a call.
    let source = unsafe { &mut *info.src.cast::<Source>() };
    source.ended = true;
    source.rest.next_input_byte = MADE_UP_END.as_ptr();
    source.rest.bytes_in_buffer = MADE_UP_END.len();
    1
}

/// Skips bytes that the library does not use.
unsafe extern "C-unwind" fn skip(info: &mut jpeg_decompress_struct, bytes: c_long) {
    let Ok(bytes) = usize::try_from(bytes) else { return };
    // SAFETY: as above.
    let source = unsafe { &mut *info.src.cast::<Source>() };
    if bytes > source.rest.bytes_in_buffer {
        source.ended = true;
        // SAFETY: `call` has aimed it at a `jpeg_error_mgr`.
        unsafe { (*info.common.err).msg_code = JERR_FILE_READ as c_int };
        return unwind(&mut info.common);
    }
    source.rest.bytes_in_buffer -= bytes;
    // SAFETY: there are as many bytes.
    source.rest.next_input_byte = unsafe { source.rest.next_input_byte.add(bytes) };
}
