//! The format as a whole: options and bytes in, sequences and faults out.

mod conformance;
mod harness;
mod rules;
mod twin;
