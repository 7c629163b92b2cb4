//! The element types of streams, as columns.

use std::str::FromStr;

use tesson_core::Values;

/// A type of values that streams may have.
pub(crate) trait Float: Copy + Default + PartialEq + FromStr + std::ops::AddAssign {
    /// The values as a column.
    fn wrap(values: Vec<Self>) -> Values;

    /// The vector of a column, if it is of this type.
    fn unwrap(values: Values) -> Option<Vec<Self>>;
}

macro_rules! float {
    ($type:ident, $variant:ident) => {
        impl Float for $type {
            fn wrap(values: Vec<$type>) -> Values {
                Values::$variant(values)
            }

            fn unwrap(values: Values) -> Option<Vec<$type>> {
                if let Values::$variant(values) = values { Some(values) } else { None }
            }
        }
    };
}
float!(f32, F32);
float!(f64, F64);
