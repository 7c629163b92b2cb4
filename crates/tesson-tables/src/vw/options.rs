//! The number of columns, and how names are hashed.

use tesson_core::{ReaderDefaults, Words, options};

use super::hash::NameHash;

static HASHES: Words<NameHash, 2> = Words::new([("strings", NameHash::Strings), ("all", NameHash::All)]);

/// Bits of a column's number, by default and at most: columns are signed numbers of 32 bits.
const BITS: u64 = 18;
const MOST_BITS: u64 = 30;

options! {
    /// The options of Vowpal Wabbit's text.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct VwOptions(options, reader: ReaderDefaults) {
        pub(crate) bits: u64 = "bits", "18"
            => "For `vw`: `features` has 2 to the power of so many columns, at most 30."
            [read options.whole_within("bits", 1..=MOST_BITS)?]
            [identity with |vw, text| if vw.bits == BITS { text } else { text.field("bits", vw.bits) }];
        pub(crate) hash: NameHash = "hash" in HASHES, "strings"
            => "For `vw`: how names become columns of `features`. By `strings` names of digits are numbers, by `all` they are hashed, too."
            [identity with |vw, text| match vw.hash {
                NameHash::Strings => text,
                NameHash::All => text.field("hash", "all"),
            }];
    }
}
