//! Messages as writers make them, in every legal form, and bytes that are none.

mod rules;
mod twin;
