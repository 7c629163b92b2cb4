//! CRC-32C as TFRecord writes it, masked; and kernels that compute it.
//!
//! Short records decide the speed: a call of a library for each of them costs as much as reading it. So lengths and
//! short data are done by the processor's own instruction, inlined into the scan; long data by the library, which works on
//! several parts at a time.

/// A checksum as it is written: rotated, and a constant added.
#[inline(always)]
pub(crate) fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// Computes checksums, unmasked.
pub(super) trait Kernel: Copy {
    /// Of the eight bytes of a length.
    fn of_length(self, length: u64) -> u32;

    /// Of the first `size` bytes of `data`, which has four more: those of the checksum.
    fn of_data(self, data: &[u8], size: usize) -> u32;
}

/// By the library alone: for processors without a kernel here, and what the kernels are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

impl Kernel for Plain {
    #[inline]
    fn of_length(self, length: u64) -> u32 {
        crc32c::crc32c(&length.to_le_bytes())
    }

    #[inline]
    fn of_data(self, data: &[u8], size: usize) -> u32 {
        crc32c::crc32c(&data[..size])
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use instruction::Instruction;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod instruction {
    use tesson_core::Kernels;

    use super::Kernel;

    /// Data from this size on are the library's: it is faster from about there on.
    const LONG: usize = 512;

    /// Proof that the processor has an instruction for CRC-32C, and that it may be used.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::tfrecord) struct Instruction(());

    #[cfg(target_arch = "x86_64")]
    const LEVEL: Kernels = Kernels::Sse42;
    #[cfg(target_arch = "aarch64")]
    const LEVEL: Kernels = Kernels::Neon;

    impl Instruction {
        pub(in crate::tfrecord) fn detect() -> Option<Instruction> {
            (Kernels::in_use() >= LEVEL).then_some(Instruction(()))
        }

        /// The state after eight bytes more.
        #[inline(always)]
        #[allow(unsafe_code)]
        #[cfg_attr(
            target_arch = "aarch64",
            expect(
                inline_always_mismatching_target_features,
                reason = "the passes of `scan`, into which this is put, have the feature"
            )
        )]
        fn step(self, state: u32, word: u64) -> u32 {
            // SAFETY: `self` is the proof that the processor has the instruction. Measured: see `scan`.
            #[cfg(target_arch = "x86_64")]
            return unsafe { std::arch::x86_64::_mm_crc32_u64(state.into(), word) as u32 };
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            return unsafe { std::arch::aarch64::__crc32cd(state, word) };
        }
    }

    impl Kernel for Instruction {
        #[inline(always)]
        fn of_length(self, length: u64) -> u32 {
            !self.step(u32::MAX, length)
        }

        #[inline(always)]
        fn of_data(self, data: &[u8], size: usize) -> u32 {
            if size >= LONG || data.len() < 8 {
                return crc32c::crc32c(&data[..size]);
            }
            // The bytes that fill no word come first, behind zeros: a zero state stays zero over them. What the state
            // would begin with, four bytes of ones, is put onto the first four bytes of the data instead.
            let ragged = size % 8;
            let head = u64::from_le_bytes(data[..8].try_into().expect("eight bytes were taken"));
            let head = (head ^ 0xFFFF_FFFF) & ((1 << (8 * ragged)) - 1);
            let mut crc = self.step(0, head.wrapping_shl(64 - 8 * ragged as u32));
            let mut begin = 0xFFFF_FFFF_u64 >> (8 * ragged);
            for word in data[ragged..size].as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word) ^ begin;
                begin = 0;
                crc = self.step(crc, word);
            }
            // Fewer than four bytes hold not all of what the state begins with; the rest is left in it.
            !(crc ^ if size < 4 { begin as u32 } else { 0 })
        }
    }
}
