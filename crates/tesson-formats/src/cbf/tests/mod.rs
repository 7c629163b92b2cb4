//! Tests of the binary format: files are made byte by byte here, by nothing that the reader shares.

mod damage;
mod harness;
mod rules;
mod twin;
mod written;

pub(super) use harness::Memory;
