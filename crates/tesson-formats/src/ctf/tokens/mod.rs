//! The fast way through ordinary values.
//!
//! A kernel takes the values of a sample as far as they are ordinary, and gives back to the plain parser whatever it
//! finds odd. It finds no faults of its own, and gives every value the plain parser would.
//!
//! Dense values: one bit mask a block of 64 bytes says where values end; then every value is converted on its own, so
//! that the processor works at several at a time. Sparse pairs: eight bytes at a time in a machine word, by blocks where a sample has
//! many, and several rows at once where all streams are sparse (`sparse_rows.rs`).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, unused_imports, unused_macros)
)]
mod blocks;
mod feeds;
#[cfg(target_arch = "aarch64")]
mod neon;
mod word;

pub(crate) use blocks::{Block, Masks};
pub(crate) use feeds::Feeds;
pub(crate) use word::{Opening, whole, whole_row};

use tesson_core::Kernels;

use super::decimal::{Grammar, Real, ordinary};
use super::sparse_rows::SparseRows;
use crate::fields::Fields;

/// How values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// By the plain parser alone.
    Plain,
    /// Sparse pairs a machine word at a time.
    Word,
    /// Dense values by blocks of 64 bytes, too.
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    /// And blocks of small whole numbers all at once.
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    /// Dense values by blocks of 64 bytes, on ARM.
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
}

impl Kernel {
    /// The fastest kernel that may be used.
    pub(crate) fn best() -> Kernel {
        Kernel::all().pop().unwrap_or(Kernel::Plain)
    }

    /// The kernels that may be used, the fastest last.
    pub(crate) fn all() -> Vec<Kernel> {
        let mut all = vec![Kernel::Plain];
        all.extend((Kernels::in_use() >= Kernels::Portable).then_some(Kernel::Word));
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(avx2::Avx2::detect().map(Kernel::Avx2));
            all.extend(avx512::Avx512::detect().map(Kernel::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(neon::Neon::detect().map(Kernel::Neon));
        all
    }

    /// Reads the values of a dense sample from `at`, behind its name, into `values`, which hold zeros: where the values
    /// end, and how many there are. `None` if the plain parser is to read the sample.
    #[inline]
    pub(crate) fn dense<E: Real>(
        self,
        bytes: &[u8],
        at: usize,
        grammar: Grammar,
        values: &mut [E],
    ) -> Option<(usize, usize)> {
        match self {
            Kernel::Plain | Kernel::Word => None,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(kernel) => kernel.dense(bytes, at, grammar, values),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(kernel) => kernel.dense(bytes, at, grammar, values),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon(kernel) => kernel.dense(bytes, at, grammar, values),
        }
    }

    /// True if it reads several rows at once ([`sparse_rows`](Kernel::sparse_rows)).
    pub(crate) fn is_by_blocks(self) -> bool {
        !matches!(self, Kernel::Plain | Kernel::Word)
    }

    /// Reads rows that are sequences, as far as each is one ordinary sample of every stream, all of them sparse. Returns how many, and
    /// where the next one starts.
    #[inline]
    pub(crate) fn sparse_rows<E: Real>(self, rows: SparseRows<'_, E>) -> (usize, usize) {
        match self {
            Kernel::Plain | Kernel::Word => (0, rows.at),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(kernel) => kernel.sparse_rows(rows),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(kernel) => kernel.sparse_rows(rows),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon(kernel) => kernel.sparse_rows(rows),
        }
    }

    /// Appends the values of fields, up to the first that is no number.
    pub(crate) fn append_fields<E: Real>(self, fields: Fields<'_>, values: &mut Vec<E>) {
        match self {
            Kernel::Plain | Kernel::Word => fields.append(values, ordinary),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(kernel) => kernel.append_fields(fields, values),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(kernel) => kernel.append_fields(fields, values),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon(kernel) => kernel.append_fields(fields, values),
        }
    }

    /// Reads pairs of a sparse sample from `at` on, as far as they are ordinary: where the plain parser is to continue, and
    /// whether their columns ascend. `many`: more than a few are expected.
    #[inline]
    #[allow(clippy::too_many_arguments)] // the sample's place, its rules, and where it goes
    pub(crate) fn sparse<E: Real>(
        self,
        bytes: &[u8],
        at: usize,
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))] many: bool,
        dim: u32,
        grammar: Grammar,
        columns: &mut Vec<u32>,
        values: &mut Vec<E>,
    ) -> (usize, bool) {
        let mut pairs = Pairs { at, next: 0, sorted: true };
        match self {
            Kernel::Plain => return (at, true),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(kernel) if many => kernel.sparse(bytes, dim, &mut pairs, columns, values),
            _ => {}
        }
        word::sparse(bytes, dim, grammar, &mut pairs, columns, values);
        (pairs.at, pairs.sorted)
    }
}

/// How far reading the pairs of a sample has come.
struct Pairs {
    /// Behind the last pair.
    at: usize,
    /// One more than the last column; 0 before the first.
    next: u32,
    /// True if columns have ascended so far.
    sorted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few values and short ones: an interpreter that watches over memory runs them, too.
    #[test]
    fn every_kernel_reads_lists_of_several_blocks() {
        let small = (0..70).map(|i| (i * 37 % 256).to_string());
        let decimals = (0..40).map(|i| format!("{}{}.{:04}", ["", "-"][i % 2], i / 3, i * 7919 % 10_000));
        let exponents = (0..40).map(|i| format!("{}.{:03}e{:+03}", i % 10, i * 631 % 1000, i - 20));
        let long = (0..20).map(|i| format!("0.{:017}", i * 1_234_567_890_123_u64));
        let lists: [Vec<String>; 4] =
            [small.collect(), decimals.collect(), exponents.collect(), long.collect()];
        for list in lists {
            let text = format!("|a {}\n", list.join(" "));
            let expected: Vec<f32> = list.iter().map(|value| value.parse().unwrap()).collect();
            for kernel in Kernel::all() {
                // Room as a column has it: kernels write whole blocks.
                let mut values = vec![0_f32; list.len() + 64];
                let read = kernel.dense(text.as_bytes(), 2, Grammar::Cntk, &mut values);
                if let Kernel::Plain | Kernel::Word = kernel {
                    assert_eq!(read, None);
                    continue;
                }
                assert_eq!(read, Some((text.len() - 1, list.len())), "{kernel:?}: {text}");
                assert_eq!(values[..list.len()], expected, "{kernel:?}: {text}");
                assert!(values[list.len()..].iter().all(|&value| value == 0.0), "{kernel:?}: {text}");
            }
        }
    }
}
