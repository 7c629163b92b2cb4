//! The choice of kernels: the only test of the processor's features, which every kernel uses.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{ConfigError, ConfigErrorKind};

/// The level of instructions that kernels may use. Each level includes those before it; all give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernels {
    /// The plain code that defines the results of the others.
    Plain,
    /// Machine words, on any processor.
    Portable,
    /// The CRC-32C instruction of SSE4.2.
    Sse42,
    /// AVX2, with BMI1, BMI2, LZCNT and POPCNT.
    Avx2,
    /// AVX-512 F, BW, VL, VBMI and VBMI2.
    Avx512,
    /// NEON and the CRC-32C instructions of ARM.
    Neon,
}

/// The levels of processors of this kind, lowest first.
#[cfg(target_arch = "aarch64")]
const OF_THIS_KIND: &[Kernels] = &[Kernels::Plain, Kernels::Portable, Kernels::Neon];
/// The levels of processors of this kind, lowest first.
#[cfg(not(target_arch = "aarch64"))]
const OF_THIS_KIND: &[Kernels] =
    &[Kernels::Plain, Kernels::Portable, Kernels::Sse42, Kernels::Avx2, Kernels::Avx512];

/// All levels.
const ALL: [Kernels; 6] =
    [Kernels::Plain, Kernels::Portable, Kernels::Sse42, Kernels::Avx2, Kernels::Avx512, Kernels::Neon];

/// The place of the level that was chosen among all, plus 1; 0 if none was.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Kernels {
    /// The level that kernels keep to: the one that was chosen, else the highest of this machine. Never one that the
    /// machine lacks, so code that needs its instructions may run.
    #[inline]
    pub fn in_use() -> Kernels {
        match CHOSEN.load(Ordering::Relaxed) {
            0 => Kernels::highest(),
            n => ALL[usize::from(n) - 1],
        }
    }

    /// The levels that this machine has, lowest first.
    pub fn available() -> &'static [Kernels] {
        let highest = Kernels::highest();
        let n = OF_THIS_KIND.iter().take_while(|level| **level <= highest).count();
        &OF_THIS_KIND[..n]
    }

    /// Keeps all kernels of the process to a level by name, for instance to see that it makes no difference. For work
    /// that has begun it may or may not count.
    ///
    /// # Errors
    /// A name that is none, and a level that this machine lacks.
    pub fn choose(name: &str) -> Result<(), ConfigError> {
        let level = ALL.into_iter().find(|level| level.name() == name);
        let level = level.filter(|level| Kernels::available().contains(level)).ok_or_else(|| {
            let names: Vec<String> = Kernels::available().iter().map(|l| format!("`{l}`")).collect();
            let (name, has) = (name.to_owned(), names.join(", "));
            let refusal = match level {
                Some(_) => ConfigErrorKind::LackingKernels { name, has },
                None => ConfigErrorKind::UnknownKernels { name, has },
            };
            ConfigError::refused("TESSON_KERNELS", &refusal)
        })?;
        CHOSEN.store(level as u8 + 1, Ordering::Relaxed);
        Ok(())
    }

    fn name(self) -> &'static str {
        match self {
            Kernels::Plain => "plain",
            Kernels::Portable => "portable",
            Kernels::Sse42 => "sse42",
            Kernels::Avx2 => "avx2",
            Kernels::Avx512 => "avx512",
            Kernels::Neon => "neon",
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn highest() -> Kernels {
        macro_rules! has {
            ($($feature:tt),*) => { true $(&& is_x86_feature_detected!($feature))* };
        }
        let sse42 = has!("sse4.2");
        let avx2 = sse42 && has!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt");
        let avx512 = avx2 && has!("avx512f", "avx512bw", "avx512vl", "avx512vbmi", "avx512vbmi2");
        match (avx512, avx2, sse42) {
            (true, ..) => Kernels::Avx512,
            (_, true, _) => Kernels::Avx2,
            (.., true) => Kernels::Sse42,
            _ => Kernels::Portable,
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn highest() -> Kernels {
        use std::arch::is_aarch64_feature_detected as has;
        if has!("neon") && has!("crc") { Kernels::Neon } else { Kernels::Portable }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn highest() -> Kernels {
        Kernels::Portable
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, since the level is the process's.
    #[test]
    fn a_level_is_chosen_by_name_and_one_that_is_not_there_refused_with_those_that_are() {
        let highest = *Kernels::available().last().unwrap();
        assert_eq!(Kernels::in_use(), highest);
        let found = Kernels::choose("sse9").unwrap_err().to_string();
        assert!(
            found.starts_with("TESSON_KERNELS: found `sse9`, expected one of `plain`, `portable`"),
            "{found}"
        );
        assert_eq!(Kernels::in_use(), highest);
        for lacking in ALL.into_iter().filter(|level| !Kernels::available().contains(level)) {
            let found = Kernels::choose(lacking.name()).unwrap_err().to_string();
            assert!(found.contains("which this machine lacks; it has `plain`"), "{found}");
        }
        for &level in Kernels::available() {
            Kernels::choose(level.name()).unwrap();
            assert_eq!(Kernels::in_use(), level);
        }
    }
}
