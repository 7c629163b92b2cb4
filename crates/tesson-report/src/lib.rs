//! Reports of datasets: figures of what a run will read, and one page that shows them.
//!
//! Collecting is apart from drawing: [`collect`] gives [`Report`], which is also the JSON of `tesson report --json`; [`page`] draws
//! it without looking at any data; [`differences`] compares two.

#![forbid(unsafe_code)]

mod certificate;
mod classes;
mod collect;
mod compare;
mod faults;
mod figures;
mod gallery;
mod lengths;
mod order;
mod page;
mod picture;
mod reading;
mod svg;
mod tally;
pub mod text;
mod ticking;

pub use certificate::certificate;
pub use collect::{Request, Stage, Unit, collect};
pub use compare::{Difference, differences, read_report};
pub use faults::{FaultFigures, Faults};
pub use figures::*;
pub use lengths::{Lengths, Padding, Paddings};
pub use page::page;
pub use picture::{Image, Picture, is_blue_first};
pub use reading::{Reading, cores_and_threads, plain_rate, verdict};
pub use ticking::ticking;
