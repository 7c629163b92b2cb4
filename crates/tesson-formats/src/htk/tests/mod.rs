//! Tests of features: lines, headers, windows, reading.

mod files;
mod lines;
mod windows;
