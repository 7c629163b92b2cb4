#![doc = include_str!("../README.md")]
//!
//! | file | subject |
//! |---|---|
//! | `table` | the traits that a file format implements, and the list of formats |
//! | `options` | the options of `TableDeserializer` |
//! | `deserializer` | files to tables, columns to streams, rows to chunks |
//! | `streams` | the columns that a stream has, and the conversion of their values |
//! | `corpus` | rows of a chunk as columns of streams |
//! | `columns` | columns of several runs of rows put together |
//! | `values` | values out of little-endian and big-endian bytes |
//! | `fault` | the kinds of faults and refusals |
//! | `npy` | NumPy's `.npy` files |

#![forbid(unsafe_code)]

mod columns;
mod corpus;
mod deserializer;
mod fault;
mod npy;
mod options;
mod streams;
mod table;
mod values;

pub use deserializer::FORMAT;
pub use fault::{TableFault, TableRefusal};
