//! Files that are opened when they are first read, of which those read last stay open.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::Resource;

/// Files that are open at the same time. Data may list thousands, and a process has not as many handles.
const OPEN: usize = 64;

/// The files that were read last, by number; the very last one is at the back.
#[derive(Default)]
pub struct OpenResources(Mutex<VecDeque<(u32, Arc<dyn Resource>)>>);

impl OpenResources {
    /// A file, opened unless it is open already. The one that was read longest ago is closed for it, if there are many.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn get<E>(
        &self,
        number: u32,
        open: impl FnOnce() -> Result<Box<dyn Resource>, E>,
    ) -> Result<Arc<dyn Resource>, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = lock();
        if let Some(at) = known.iter().position(|(other, _)| *other == number) {
            known.make_contiguous()[at..].rotate_left(1);
            return Ok(known[known.len() - 1].1.clone());
        }
        drop(known);
        // Without the lock, also for closing: others read meanwhile. Two may open the same file, which does no harm.
        let opened: Arc<dyn Resource> = open()?.into();
        let mut known = lock();
        let closed = if known.len() == OPEN { known.pop_front() } else { None };
        known.push_back((number, opened.clone()));
        drop(known);
        drop(closed);
        Ok(opened)
    }
}
