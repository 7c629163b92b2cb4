//! Enums of errors with a stable code for each variant.

use std::fmt;

/// The manual's entry for one kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The stable code, such as `ctf.bad-number`: the part that finds the error, a dot, and what it found.
    pub code: &'static str,
    /// The meaning of the error, as one sentence.
    pub meaning: &'static str,
    /// The remedy, as one sentence.
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

/// Declares an enum of errors: each variant states its meaning (the doc comment), its fields with example values, its stable
/// code, the message and the remedy. The message names fields as `format!` does; `("… {}", value)` computes a part of it.
///
/// ```
/// tesson_core::error_kinds! {
///     /// A fault of a file of greetings.
///     pub enum GreetingFault {
///         /// A greeting has no name.
///         NoName
///             = "greeting.no-name": "the greeting has no name"
///             => "Add a name after the comma.",
///         /// A greeting is longer than supported.
///         TooLong { found: u64 = 120 }
///             = "greeting.too-long": "the greeting has {found} bytes, expected at most 80"
///             => "Shorten the greeting.",
///     }
/// }
/// use tesson_core::ErrorCodes;
/// let fault = GreetingFault::TooLong { found: 99 };
/// assert_eq!(fault.code(), "greeting.too-long");
/// assert_eq!(fault.to_string(), "the greeting has 99 bytes, expected at most 80");
/// ```
#[macro_export]
macro_rules! error_kinds {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $variant:ident $({ $($field:ident : $type:ty = $example:expr),* $(,)? })?
                    = $code:literal : $message:tt => $remedy:literal
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
                $variant $({ $(#[allow(missing_docs)] $field: $type),* })?,
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

        impl ::std::fmt::Display for $name {
            #[allow(unused_variables)]
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($name::$variant $({ $($field),* })? => $crate::error_kinds!(@write f, $message),)*
                    $($name::$other(inner) => ::std::fmt::Display::fmt(inner, f),)?
                }
            }
        }
    };
    (@write $f:ident, ($message:literal, $($value:expr),+)) => { write!($f, $message, $($value),+) };
    (@write $f:ident, $message:literal) => { write!($f, $message) };
}
