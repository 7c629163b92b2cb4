//! The types of columns from the first rows.

use tesson_core::Element;

use super::builder::Scalar;
use crate::nulls::NullRule;

/// The values of a column that have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guess {
    bools: bool,
    wholes: bool,
    /// Whole numbers that no int64 is, and negative ones.
    beyond: bool,
    negative: bool,
    reals: bool,
    texts: bool,
    missing: bool,
}

impl Guess {
    /// Looks at a value.
    pub(crate) fn see(&mut self, value: Scalar<'_>) {
        match value {
            Scalar::Bool(_) => self.bools = true,
            Scalar::Whole(n) => {
                self.wholes = true;
                self.negative |= n < 0;
                self.beyond |= i64::try_from(n).is_err();
                // No type has all digits of such a number, but a text has.
                self.texts |= n > u64::MAX.into() || n < i64::MIN.into();
            }
            Scalar::Real(_) => self.reals = true,
            Scalar::Text(_) => self.texts = true,
        }
    }

    /// A row has no value.
    pub(crate) fn see_missing(&mut self) {
        self.missing = true;
    }

    /// True if there was any value.
    pub(crate) fn is_known(self) -> bool {
        self.bools || self.wholes || self.reals || self.texts
    }

    /// The type that holds all values, if there is one, and NaN if that stands for missing ones.
    pub(crate) fn element(self, nulls: NullRule) -> Option<Element> {
        let has_nan = self.missing && matches!(nulls, NullRule::Fill(x) if x.is_nan());
        let n_kinds = u8::from(self.bools) + u8::from(self.wholes || self.reals) + u8::from(self.texts);
        match self {
            _ if n_kinds != 1 => None,
            Guess { texts: true, .. } => Some(Element::Text),
            Guess { bools: true, .. } => Some(Element::Bool),
            Guess { reals: true, .. } => Some(Element::F64),
            _ if has_nan => Some(Element::F64),
            Guess { beyond: true, negative: true, .. } => None,
            Guess { beyond: true, .. } => Some(Element::U64),
            _ => Some(Element::I64),
        }
    }
}
