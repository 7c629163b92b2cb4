//! Limits of memory and threads.

use crate::{ConfigError, Options, Value};

crate::options! {
    /// The memory and the threads that a source may take. No minibatch depends on them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RuntimeSpec(options) {
        /// True: minibatches are made before they are asked for.
        pub prefetch: bool = "prefetch", "true"
            => "Make minibatches before they are asked for.";
        /// Bytes for index, plan, blocks and packed minibatches together; `None` leaves it to the engine.
        pub memory_limit: Option<u64> = "memoryLimit": crate::OptionKind::Bytes, optional
            => "Limit on the memory of index, order, decoded data and minibatches together, such as `2GiB`."
            [read options.bytes_if_given("memoryLimit")?];
        /// Worker threads; 0 is one a core.
        pub threads: usize = "threads": crate::OptionKind::Whole, "0"
            => "Number of worker threads; 0 means one for each core."
            [read threads(options)?]
            [describe as |runtime| Value::Whole(runtime.threads as i128)];
    }
}

/// More threads than any machine has cores: a larger number is a slip of the pen, and would take all memory for stacks.
const MOST_THREADS: usize = 4096;

fn threads(options: &Options<'_>) -> Result<usize, ConfigError> {
    let name = "threads";
    let n = options.whole(name)?;
    match usize::try_from(n) {
        Ok(n) if n <= MOST_THREADS => Ok(n),
        _ => {
            let expected = format!("at most {MOST_THREADS}");
            Err(ConfigError::out_of_range(options.path(name), n.to_string(), expected))
        }
    }
}
