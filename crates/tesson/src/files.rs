//! Files as the engine reads and writes them.

pub use tesson_engine::atomic_file::{AtomicFile, Existing, NewFile, remove_unfinished, write as replace};
pub use tesson_engine::file_patterns::{is_pattern, matching};
pub use tesson_engine::store::{read_text, unreadable};
