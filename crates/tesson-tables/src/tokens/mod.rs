//! Files of token numbers: flat ones, arrays of NumPy's, and Megatron's with their index.
//!
//! | file | subject |
//! |---|---|
//! | `options` | windows and documents |
//! | `megatron` | the index of a file of documents |
//! | `file` | the tokens of windows and documents |

mod file;
mod megatron;
mod options;

pub(crate) use file::TOKENS;
pub(crate) use options::TokenOptions;
