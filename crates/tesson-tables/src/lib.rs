#![doc = include_str!("../README.md")]
//!
//! | file | subject |
//! |---|---|
//! | `table` | the traits that a file format implements, and the list of formats |
//! | `options` | the options of `TableDeserializer` |
//! | `deserializer` | files to tables, columns to streams, rows to chunks |
//! | `streams` | the columns that a stream has, and the conversion of their values |
//! | `corpus` | rows of a chunk as columns of streams |
//! | `compressed` | files that are compressed as a whole |
//! | `columns` | columns of several runs of rows put together |
//! | `values` | values out of little-endian and big-endian bytes |
//! | `fault` | the kinds of faults and refusals |
//! | `nulls` | missing values |
//! | `text` | what the formats of text share: blocks of lines, columns from parsed values, guessed types |
//! | `csv` | CSV, TSV and the like |
//! | `json_lines` | an object of JSON in each line |
//! | `arff` | Weka's ARFF: attributes, and rows that are dense or sparse |
//! | `libsvm` | labels and sparse features, as libsvm and svmlight write them |
//! | `vw` | the text of Vowpal Wabbit |
//! | `mds` | shards of Mosaic's streaming datasets |
//! | `webdataset` | tar archives as WebDataset packs them |
//! | `npy` | NumPy's `.npy` files |
//! | `tfrecord` | TFRecord files of examples without a description |
//! | `array_record` | ArrayRecord files without a description |
//! | `tokens` | files of token numbers |
//! | `folder` | the files of a folder |
//! | `arrow` | Arrow's files and streams, and its columns |
//! | `parquet` | Parquet files |

#![forbid(unsafe_code)]

mod arff;
mod array_record;
#[cfg(feature = "arrow")]
mod arrow;
mod columns;
mod compressed;
mod corpus;
mod csv;
mod deserializer;
mod fault;
mod folder;
mod json_lines;
mod libsvm;
mod mds;
mod npy;
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only tables of Arrow lack values"))]
mod nulls;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod streams;
mod table;
mod text;
mod tfrecord;
mod tokens;
mod values;
mod vw;
mod webdataset;

pub use arff::begins as is_arff;
pub use deserializer::FORMAT;
pub use fault::{TableFault, TableRefusal};

/// The structure of tables of text, for programs that read one row after the other.
pub mod rows {
    pub use crate::csv::Records;
    pub use crate::libsvm::{Parts, pair, words};
}
