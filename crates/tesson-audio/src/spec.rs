//! The parameters of mel energies.

use tesson_core::identity::Identity;

/// The parameters of mel energies: the frames, and the filters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogMelSpec {
    /// Samples in a second.
    pub(crate) rate: u32,
    pub(crate) filters: u32,
    /// Samples of a frame.
    pub(crate) window: u32,
    /// Samples from the beginning of a frame to that of the next.
    pub(crate) shift: u32,
    /// The frequencies between which the filters lie, in hertz.
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    pub(crate) preemphasis: f64,
}

impl LogMelSpec {
    /// The number of frames in `n_samples` samples.
    pub(crate) fn n_frames(&self, n_samples: u64) -> u64 {
        match n_samples.checked_sub(self.window.into()) {
            Some(more) => 1 + more / u64::from(self.shift),
            None => 0,
        }
    }

    /// The time from one frame to the next, in units of 100 ns.
    pub(crate) fn period(&self) -> u32 {
        (f64::from(self.shift) * 1e7 / f64::from(self.rate)).round() as u32
    }

    pub(crate) fn identity(&self) -> String {
        Identity::new("log mel", 1)
            .field("rate", self.rate)
            .field("filters", self.filters)
            .field("window", self.window)
            .field("shift", self.shift)
            .field("lowest", self.lowest.to_bits())
            .field("highest", self.highest.to_bits())
            .field("preemphasis", self.preemphasis.to_bits())
            .text()
    }
}
