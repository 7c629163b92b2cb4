//! The order of a shuffle whose items only Python has.

use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tesson::tfds::{self, SeedPair, Seeding};

use super::until_signal;

/// One pass of a shuffle over numbered items.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ItemShuffle(Mutex<tfds::ItemShuffle>);

impl ItemShuffle {
    fn inner(&self) -> MutexGuard<'_, tfds::ItemShuffle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ItemShuffle {
    #[new]
    fn new(
        buffer_size: NonZeroU64,
        seed: i64,
        global_seed: Option<i64>,
        reshuffle: bool,
        pass_: u64,
    ) -> ItemShuffle {
        let pair = SeedPair::new(seed.into(), global_seed.map(i128::from));
        ItemShuffle(Mutex::new(tfds::ItemShuffle::new(buffer_size, Seeding { pair, reshuffle }, pass_)))
    }

    /// Whether another item is wanted before the next is drawn.
    fn has_room(&self) -> bool {
        self.inner().has_room()
    }

    /// Adds the next item; its number.
    fn push(&self) -> u64 {
        self.inner().push()
    }

    /// The number of the item that comes next.
    fn draw(&self) -> Option<u64> {
        self.inner().draw()
    }

    /// Items pushed and drawn so far.
    fn position(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.pushed(), inner.drawn())
    }

    /// The numbers of the items in the buffer.
    fn held(&self) -> Vec<u64> {
        self.inner().held()
    }

    /// Goes from the beginning to where so many items had been pushed and drawn.
    fn go_to(&self, py: Python<'_>, pushed: u64, drawn: u64) -> PyResult<()> {
        let mut there = self.inner().clone();
        let there =
            until_signal(py, move |interrupted| there.go_to(pushed, drawn, interrupted).map(|()| there))?;
        *self.inner() = there;
        Ok(())
    }
}
