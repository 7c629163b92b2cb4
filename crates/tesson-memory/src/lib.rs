//! Memory of Tesson's engine, and the kernels that work on it.
//!
//! | file | for |
//! |---|---|
//! | [`packed`] | sequences that stay in memory, in the narrowest form that gives every bit back |
//! | [`file_pages`] | encoded files that stay in memory, in pages that files of any size share |
//! | [`pool`] | arrays of minibatches, used again when their last owner lets go |
//! | [`prefetch`] | hints that memory will be read soon |
//! | [`process_memory`] | freed memory, which goes back to the system before the process exceeds its limit |
//! | [`mapped_file`] | files that are mapped instead of read |
//!
//! Nothing here knows plans, threads of the engine or configurations: the engine decides what is packed, kept and dropped, and
//! may be read without this crate. It follows the `tesson` façade and has no stability promise of its own.
//!
//! For the next editor:
//!
//! - **A kernel is correct if it makes the bytes of the plain one.** `packed/plain.rs` is the definition, `packed/avx512.rs` the
//!   only file with instructions of AVX-512; the tests run both on every width, form and number of items around sixteen. A new
//!   instruction set is a file beside them, a variant of [`packed::Best`] and a level of `tesson_core::Kernels`, which alone asks
//!   the processor.
//! - **Time is cache lines.** A sequence of a random order waits for memory, so bytes beyond it are not read, even where a wider
//!   load would be simpler: one line more costs more than a masked load. Measure a change with random order, not with a loop over
//!   one block (`cargo bench -p tesson-memory` shows both).
//! - **What a loop of the engine calls for each sequence is `#[inline]`**, and work for a whole minibatch is done inside of
//!   [`packed::Kernel::run`]: a function that is compiled without the kernel's instructions cannot inline those that use them, and
//!   a call for each sequence shows in the rates.
//! - **Room after the last item is part of the form** (`SLACK`, [`packed::KERNEL_ROOM`]): kernels read and write whole vectors.
//!   Whatever hands out packed bytes or takes unpacked ones keeps it.
//! - Unsafe code is here so that the engine has none. Each block has its reason; `cargo xtask miri tesson-memory` runs the tests
//!   under Miri, which has no AVX-512 and no mappings: there the plain kernel and the heap are used.

pub mod file_pages;
pub mod mapped_file;
pub mod packed;
mod part;
pub mod pool;
pub mod prefetch;
pub mod process_memory;
