//! The parts that formats of speech share, whose sequences are utterances or the frames of utterances.
//!
//! | file | subject |
//! |---|---|
//! | `window` | frames on either side of a frame: how many, and samples made of them |
//! | `chunks` | chunks of utterances, and which of their frames are wanted |
//! | `reads` | utterances that lie beside each other, read at once |

/// Why long utterances are left out.
pub(crate) const TOO_LONG: &str = "longer than `maxSequenceSize`";

pub(crate) mod chunks;
pub(crate) mod reads;
pub(crate) mod window;
