//! How long a traversal of each layer is, and which passes it begins: so that whole passes are skipped without following
//! them (spec/tfds.md §8.4, §8.6).

/// What is known of a layer and those below it. Passes are counted for each shuffle, the files' first.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Examples of a traversal; `None`: there is no end, or none below 2^64.
    pub len: Option<u64>,
    /// Passes begun by beginning a traversal.
    pub at_begin: Box<[u64]>,
    /// Passes begun by a traversal that is read to its end, if that can be said.
    pub whole: Option<Box<[u64]>>,
    /// Nothing below is traversed more than once in a traversal.
    pub once: bool,
}

impl Facts {
    /// Of the files and what interleaves them, among so many shuffles.
    pub(super) fn of_files(len: Option<u64>, n_sources: usize) -> Facts {
        let only_files: Box<[u64]> = (0..n_sources).map(|source| u64::from(source == 0)).collect();
        let once = len.is_some();
        Facts { len, whole: once.then(|| only_files.clone()), at_begin: only_files, once }
    }

    /// Of elements that are not numbered: how many a pass has is not known.
    pub(super) fn of_elements() -> Facts {
        Facts { len: None, at_begin: vec![0].into(), whole: None, once: false }
    }

    /// Of an operator that gives no example and begins nothing, on top of this one.
    pub(super) fn nothing(&self) -> Facts {
        let none = self.no_passes();
        Facts { len: Some(0), at_begin: none.clone(), whole: Some(none), once: true }
    }

    /// No pass of any shuffle.
    pub(super) fn no_passes(&self) -> Box<[u64]> {
        vec![0; self.at_begin.len()].into()
    }
}

/// `a` and so many times `b`, for each shuffle.
pub(super) fn sum(a: &[u64], b: &[u64], times: u64) -> Box<[u64]> {
    a.iter().zip(b).map(|(a, b)| a.wrapping_add(b.wrapping_mul(times))).collect()
}
