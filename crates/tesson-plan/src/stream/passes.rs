//! The length of a traversal of each layer and the passes that it begins, so that whole passes can be skipped without
//! following them (spec/tfds.md §8.4, §8.6).

/// Facts about a layer together with those below it. Passes are counted for each shuffle, first that of the files.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The number of examples in a traversal; `None`: there is no end, or none below 2^64.
    pub len: Option<u64>,
    /// The passes that begin with a traversal.
    pub at_begin: Box<[u64]>,
    /// The passes begun by a traversal that is read to its end, if they are known.
    pub whole: Option<Box<[u64]>>,
    /// True if nothing below is traversed more than once in a traversal.
    pub once: bool,
}

impl Facts {
    /// The facts of the interleaved files, in a stream with `n_sources` shuffles.
    pub(super) fn of_files(len: Option<u64>, n_sources: usize) -> Facts {
        let only_files: Box<[u64]> = (0..n_sources).map(|source| u64::from(source == 0)).collect();
        let once = len.is_some();
        Facts { len, whole: once.then(|| only_files.clone()), at_begin: only_files, once }
    }

    /// The facts of elements that a caller holds: the length of a pass is unknown.
    pub(super) fn of_elements() -> Facts {
        Facts { len: None, at_begin: vec![0].into(), whole: None, once: false }
    }

    /// The facts of an operator on top of this one that delivers no example and begins nothing.
    pub(super) fn nothing(&self) -> Facts {
        let none = self.no_passes();
        Facts { len: Some(0), at_begin: none.clone(), whole: Some(none), once: true }
    }

    /// No pass of any shuffle.
    pub(super) fn no_passes(&self) -> Box<[u64]> {
        vec![0; self.at_begin.len()].into()
    }
}

/// `a + times · b`, for each shuffle.
pub(super) fn sum(a: &[u64], b: &[u64], times: u64) -> Box<[u64]> {
    a.iter().zip(b).map(|(a, b)| a.wrapping_add(b.wrapping_mul(times))).collect()
}
