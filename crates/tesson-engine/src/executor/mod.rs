//! The building blocks of reading ahead, for minibatches, passes over everything and examples of prepared datasets.
//!
//! | file | subject |
//! |---|---|
//! | `jobs` | jobs for any number of threads, whose results are taken in the order of the jobs |
//! | `reorder` | results that arrive in any order, taken in theirs |
//! | `workers` | threads that end with what they work for |
//! | `canceller` | the one way to end a call from another thread |
//! | `interrupt` | the one way to end a call because its caller says so |
//! | `process` | the process that has the threads: they do not survive a fork |
//! | `retry` | reads that are put together and tried again |
//!
//! The users of these parts decide what is read when: see decision 24.

mod canceller;
mod interrupt;
mod jobs;
mod process;
mod reorder;
mod retry;
mod workers;

pub use canceller::Canceller;
pub(crate) use interrupt::POLL;
pub use interrupt::{CallThread, Called, Interrupt};
pub use jobs::OrderedJobs;
pub use process::ProcessGuard;
pub(crate) use reorder::Reorder;
pub use retry::RetryingRead;
pub use workers::{Workers, no_thread};
