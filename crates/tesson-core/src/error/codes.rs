//! Enums of errors with a stable code for each variant.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The manual's entry for one kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The stable code, such as `ctf.bad-number`: the part that finds the error, a dot, and what it found.
    pub code: &'static str,
    /// The meaning of the error, as one sentence.
    pub meaning: &'static str,
}

/// The remedy of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The part of the error's text that says it, if the error's values make one: `choose a larger size`.
    pub own: Option<String>,
    /// That of all errors of the kind, as one sentence.
    pub general: String,
    /// True if texts for users end with the general one where the error has none of its own. It adds nothing where a kind has
    /// many reasons, and the text says what is expected.
    pub is_told: bool,
}

impl Remedy {
    /// The words that a text for users adds to that of the error.
    pub fn to_add(&self) -> Option<String> {
        (self.own.is_none() && self.is_told).then(|| {
            let mut letters = self.general.trim_end_matches('.').chars();
            letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
        })
    }
}

/// The error's own remedy, or else that of its kind, as one sentence.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(own) = &self.own else { return f.write_str(&self.general) };
        let mut letters = own.chars();
        letters.next().map_or(Ok(()), |first| write!(f, "{}", first.to_uppercase()))?;
        f.write_str(letters.as_str())?;
        if own.ends_with(['.', '?', '!']) { Ok(()) } else { f.write_str(".") }
    }
}

/// An enum of errors with a stable code for each variant. [`error_kinds!`](crate::error_kinds) declares one.
pub trait ErrorCodes: fmt::Debug + fmt::Display + Clone + PartialEq + Send + Sync + 'static {
    /// All kinds, in the order of the variants.
    const TABLE: &'static [ErrorInfo];

    /// The stable code.
    fn code(&self) -> &'static str;

    /// The remedy.
    fn remedy(&self) -> Remedy;

    /// One error of each kind, with values that could occur: the manual and a test list their texts.
    fn examples() -> Vec<Self>;
}

/// Declares an enum of errors: each variant states its meaning (the doc comment), its fields with example values, its stable
/// code, the message and the remedy. Both name fields as `format!` does; `("… {}", value)` computes a part, and options are
/// named through constants of the type [`OptionName`](crate::OptionName).
///
/// After `;` stands a remedy made of the values. It is the end of the text, in place of the kind's: `(if let Some(x) = field =>
/// "…")` and `(if condition => "…")` make one for some values alone, `(of function(field))` asks a function for it. After `,` it is a question, which follows a comma. `=> in
/// manual` is a remedy that texts do not repeat.
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
///         TooLong { found: u64 = 120, most: u64 = 80 }
///             = "greeting.too-long": "the greeting has {found} bytes, expected at most {most}";
///                 ("leave out the last {}", found - most)
///             => "Shorten the greeting.",
///         /// The name is unknown.
///         Unknown { name: String = "Adda".into(), near: Option<String> = Some("Ada".into()) }
///             = "greeting.unknown": "found the unknown name `{name}`", (if let Some(near) = near => "did you mean `{near}`?")
///             => "Correct the name.",
///     }
/// }
/// use tesson_core::ErrorCodes;
/// let fault = GreetingFault::TooLong { found: 99, most: 80 };
/// assert_eq!(fault.code(), "greeting.too-long");
/// assert_eq!(fault.to_string(), "the greeting has 99 bytes, expected at most 80; leave out the last 19");
/// assert_eq!(fault.remedy().to_string(), "Leave out the last 19.");
/// let fault = GreetingFault::Unknown { name: "Adda".into(), near: Some("Ada".into()) };
/// assert_eq!(fault.to_string(), "found the unknown name `Adda`, did you mean `Ada`?");
/// ```
#[macro_export]
macro_rules! error_kinds {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $variant:ident $({ $($field:ident : $type:ty = $example:expr),* $(,)? })?
                    = $code:literal : $message:tt $(; $own:tt)? $(, $question:tt)?
                    => $(in $untold:ident)? $remedy:literal
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
                $crate::ErrorInfo { code: $code, meaning: concat!($($meaning),+) },
            )*];

            fn code(&self) -> &'static str {
                match self {
                    $($name::$variant { .. } => $code,)*
                    $($name::$other(inner) => inner.code(),)?
                }
            }

            #[allow(unused_variables, reason = "a remedy uses some of the fields, or none")]
            fn remedy(&self) -> $crate::Remedy {
                match self {
                    $($name::$variant $({ $($field),* })? => {
                        let own: Option<String> = None;
                        $(let own = own.or($crate::error_kinds!(@own $own));)?
                        $(let own = own.or($crate::error_kinds!(@own $question));)?
                        $crate::Remedy {
                            own,
                            general: $crate::error_kinds!(@text $remedy),
                            is_told: !$crate::error_kinds!(@is_untold $($untold)?),
                        }
                    })*
                    $($name::$other(inner) => inner.remedy(),)?
                }
            }

            fn examples() -> Vec<$name> {
                vec![$($name::$variant $({ $($field: $example),* })?),*]
            }
        }

        impl ::std::fmt::Display for $name {
            #[allow(unused_variables, reason = "a text uses some of the fields, or none")]
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($name::$variant $({ $($field),* })? => {
                        $crate::error_kinds!(@write f, $message)?;
                        $(if let Some(own) = $crate::error_kinds!(@own $own) {
                            write!(f, "; {own}")?;
                        })?
                        $(if let Some(question) = $crate::error_kinds!(@own $question) {
                            write!(f, ", {question}")?;
                        })?
                        Ok(())
                    })*
                    $($name::$other(inner) => ::std::fmt::Display::fmt(inner, f),)?
                }
            }
        }
    };
    (@write $f:ident, ($message:literal, $($value:expr),+)) => { write!($f, $message, $($value),+) };
    (@write $f:ident, $message:literal) => { write!($f, $message) };
    (@text ($message:literal, $($value:expr),+)) => { ::std::fmt::format(format_args!($message, $($value),+)) };
    (@text $message:literal) => { ::std::fmt::format(format_args!($message)) };
    (@own (if let $pattern:pat = $value:expr => $message:tt)) => {
        if let $pattern = $value { Some($crate::error_kinds!(@text $message)) } else { None }
    };
    (@own (if $condition:expr => $message:tt)) => {
        if $condition { Some($crate::error_kinds!(@text $message)) } else { None }
    };
    (@own (of $value:expr)) => { $value };
    (@own $message:tt) => { Some($crate::error_kinds!(@text $message)) };
    (@is_untold manual) => { true };
    (@is_untold) => { false };
}

/// An error of any enum of [`ErrorCodes`].
#[derive(Clone)]
pub struct AnyKind(Arc<dyn Erased>);

impl AnyKind {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        self.0.remedy()
    }

    /// The error as the enum that declares it.
    pub fn get<T: ErrorCodes>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }
}

impl<T: ErrorCodes> From<T> for AnyKind {
    fn from(kind: T) -> AnyKind {
        AnyKind(Arc::new(kind))
    }
}

impl PartialEq for AnyKind {
    fn eq(&self, other: &AnyKind) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for AnyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for AnyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

/// The methods that an [`AnyKind`] needs of a value of [`ErrorCodes`].
trait Erased: Any + fmt::Debug + fmt::Display + Send + Sync {
    fn code(&self) -> &'static str;
    fn remedy(&self) -> Remedy;
    fn equals(&self, other: &dyn Erased) -> bool;
}

impl<T: ErrorCodes> Erased for T {
    fn code(&self) -> &'static str {
        ErrorCodes::code(self)
    }

    fn remedy(&self) -> Remedy {
        ErrorCodes::remedy(self)
    }

    fn equals(&self, other: &dyn Erased) -> bool {
        (other as &dyn Any).downcast_ref::<T>() == Some(self)
    }
}
