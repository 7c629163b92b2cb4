//! Prepared datasets: read in their order, gone on with, damaged, and as deserializers among others.

// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

mod ahead;
mod counts;
mod dataset;
mod description;
mod deserializer;
mod reader;
