//! Counters of a source, readable at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use tesson_core::{DecodeWarnings, Scratch};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The counters as they run.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: AtomicU64,)*
        }

        /// Counters of a source's work so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
    /// Counts a minibatch that is handed out.
    pub(crate) fn count_minibatch(&self, samples: u64, sequences: u64) {
        self.samples.fetch_add(samples, Ordering::Relaxed);
        self.minibatches.fetch_add(1, Ordering::Relaxed);
        self.sequences.fetch_add(sequences, Ordering::Relaxed);
    }

            /// All counters, each as it is at the moment it is read.
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl Stats {
            /// Names and values, in the order of the documentation.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Minibatches delivered.
    minibatches,
    /// Sequences delivered.
    sequences,
    /// Samples delivered, those of the longest stream.
    samples,
    /// Bytes read from the store.
    bytes_read,
    /// Bytes worked through by index passes, and by checks.
    bytes_indexed,
    /// Reads tried again after a passing error.
    retries,
    /// Blocks (runs of sequences) decoded whole.
    blocks_loaded,
    /// Needs of a minibatch for a block that was in memory already.
    block_hits,
    /// Blocks evicted to stay within the memory limit or because their sweep was done with them.
    blocks_evicted,
    /// Sequences fetched and decoded by themselves, because their block was not in memory.
    rows_loaded,
    /// Times a caller had to wait for a minibatch.
    stalls,
    /// Time callers waited, in microseconds.
    stalled_us,
    /// Bytes of decoded blocks in memory now.
    resident_bytes,
    /// Most bytes of decoded blocks in memory at any time.
    peak_resident_bytes,
    /// Minibatches planned but not delivered now.
    queued,
    /// Faults of data forgiven so far by this source.
    faults,
    /// DecodeWarnings met while decoding that are no faults, such as samples filled up with zeros.
    warnings,
    /// Inputs of rows that no stream asks for.
    skipped_inputs,
    /// JPEG files that transforms decoded without SIMD, because the assembler `nasm` was missing when Tesson was built.
    plain_jpegs,
    /// JPEG files that transforms decoded in Rust (feature `pure-rust`): their pixels differ from those of libjpeg-turbo.
    rust_jpegs,
}

impl Counters {
    /// Counts decoding warnings, and logs the first.
    pub(crate) fn note_warnings(&self, scratch: &mut Scratch) {
        let DecodeWarnings { count, first, skipped, plain_jpegs, rust_jpegs } =
            std::mem::take(&mut scratch.warnings);
        if rust_jpegs > 0 && self.rust_jpegs.fetch_add(rust_jpegs, Ordering::Relaxed) == 0 {
            tracing::warn!("JPEG is decoded in Rust: pixels differ from those of libjpeg-turbo");
        }
        if plain_jpegs > 0 && self.plain_jpegs.fetch_add(plain_jpegs, Ordering::Relaxed) == 0 {
            tracing::warn!(
                "JPEG is decoded without SIMD, which is slower: `nasm` was missing when Tesson was built"
            );
        }
        if count > 0 && self.warnings.fetch_add(count, Ordering::Relaxed) == 0 {
            tracing::warn!(
                "{}; further warnings of this kind are counted but not logged",
                first.unwrap_or_default()
            );
        }
        if skipped > 0 && self.skipped_inputs.fetch_add(skipped, Ordering::Relaxed) == 0 {
            tracing::info!("inputs that no stream asks for are skipped");
        }
    }
}
