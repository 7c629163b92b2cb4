//! Where bytes come from: the stores that there are, and the registry that chooses one by the scheme of a name.
//!
//! | file | subject |
//! |---|---|
//! | `registry` | which store reads a name |
//! | `file`, `folder`, `file_glob`, `remedy`, `mmap` | local files, read or mapped: opened, listed, found by patterns; what may help |
//! | `memory` | named byte strings |
//! | `members` | members of archives as resources of their own |
//! | `open_resources` | a bounded number of resources that stay open |
//! | `fake` | faults on purpose, for tests |

mod fake;
mod file;
mod file_glob;
mod folder;
mod members;
mod memory;
mod mmap;
mod open_resources;
mod registry;
mod remedy;

pub use fake::{FakeStore, InjectedFault, Schedule};
pub use file::FileStore;
pub(crate) use file::{entry as local_entry, open_regular};
pub(crate) use file_glob::file_glob;
pub use memory::MemoryStore;
pub use mmap::MmapStore;
pub(crate) use mmap::local as local_name;
pub use open_resources::OpenResources;
pub use registry::Stores;
pub use tesson_core::store::{
    Entry, EntryKind, FolderName, Resource, Store, beginning, read_small, read_text, read_whole, unreadable,
};
