//! Prepared datasets: described, read in their order, resumed, damaged.

// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

mod ahead;
mod counts;
mod dataset;
mod description;
mod reader;
