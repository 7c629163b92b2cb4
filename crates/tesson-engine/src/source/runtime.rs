//! The resources of the machine that a source uses.

use tesson_core::RuntimeSpec;

use super::DEFAULT_MEMORY_LIMIT;

/// The memory and the threads of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runtime {
    /// Bytes for index, plan, blocks and packed minibatches together.
    pub(super) memory_limit: u64,
    /// Worker threads, at least 1.
    pub(super) threads: usize,
    /// True if minibatches are made before they are asked for.
    pub(super) prefetch: bool,
}

impl Runtime {
    /// Resolves a specification for this machine.
    pub(super) fn new(spec: RuntimeSpec) -> Runtime {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Runtime {
            memory_limit: spec.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT),
            threads: if spec.threads == 0 { cores() } else { spec.threads },
            prefetch: spec.prefetch,
        }
    }
}
