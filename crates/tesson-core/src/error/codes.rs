//! Enums of errors whose variants have stable codes.

use std::fmt;

/// What the manual says of one kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The stable code, such as `ctf.bad-number`: the part that finds the error, a dot, and what it found.
    pub code: &'static str,
    /// What is wrong, as one sentence.
    pub meaning: &'static str,
    /// What repairs it, as one sentence.
    pub remedy: &'static str,
}

/// An enum of errors with a stable code for each variant. [`error_kinds!`](crate::error_kinds) declares one.
pub trait ErrorCodes: fmt::Debug + fmt::Display + Clone + PartialEq + Send + Sync + 'static {
    /// All kinds, in the order of the variants.
    const TABLE: &'static [ErrorInfo];

    /// The stable code.
    fn code(&self) -> &'static str;

    /// One error of each kind, with values that could occur: the manual and a test list their texts.
    fn examples() -> Vec<Self>;
}

/// Declares an enum of errors, where each variant states its meaning (the doc comment), an example value of each field, its
/// stable code and the remedy, and implements [`ErrorCodes`] for it. `Display` is written by hand.
///
/// ```
/// tesson_core::error_kinds! {
///     /// What can be wrong with a file of greetings.
///     pub enum GreetingFault {
///         /// A greeting names nobody.
///         NoName = "greeting.no-name": "Add a name after the comma.",
///         /// A greeting is longer than supported.
///         TooLong {
///             /// Its length in bytes.
///             found: u64 = 120,
///         } = "greeting.too-long": "Shorten the greeting.",
///     }
/// }
/// # use std::fmt;
/// impl fmt::Display for GreetingFault {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         match self {
///             GreetingFault::NoName => f.write_str("the greeting has no name"),
///             GreetingFault::TooLong { found } => write!(f, "the greeting has {found} bytes, expected at most 80"),
///         }
///     }
/// }
/// use tesson_core::ErrorCodes;
/// assert_eq!(GreetingFault::TooLong { found: 99 }.code(), "greeting.too-long");
/// ```
#[macro_export]
macro_rules! error_kinds {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $variant:ident $({ $($(#[$of_field:meta])* $field:ident : $type:ty = $example:expr),* $(,)? })?
                    = $code:literal : $remedy:literal
            ),*
            $(, ..
                $(#[$of_other:meta])*
                $other:ident($inner:ty)
            )?
            $(,)?
        }
    ) => {
        $(#[$of_enum])*
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $(
                $(#[doc = $meaning])+
                $variant $({ $($(#[$of_field])* $field: $type),* })?,
            )*
            $(
                $(#[$of_other])*
                $other($inner),
            )?
        }

        impl $crate::ErrorCodes for $name {
            const TABLE: &'static [$crate::ErrorInfo] = &[$(
                $crate::ErrorInfo { code: $code, meaning: concat!($($meaning),+), remedy: $remedy },
            )*];

            fn code(&self) -> &'static str {
                match self {
                    $($name::$variant { .. } => $code,)*
                    $($name::$other(inner) => inner.code(),)?
                }
            }

            fn examples() -> Vec<$name> {
                vec![$($name::$variant $({ $($field: $example),* })?),*]
            }
        }
    };
}
