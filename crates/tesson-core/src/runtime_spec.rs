//! The resources of the machine that a source may use.

/// The memory and the threads that a source may take. No minibatch depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeSpec {
    /// Bytes for index, plan, blocks and packed minibatches together; `None` leaves it to the engine.
    pub memory_limit: Option<u64>,
    /// Worker threads; 0 is one a core.
    pub threads: usize,
    /// True if minibatches are made before they are asked for.
    pub prefetch: bool,
}
