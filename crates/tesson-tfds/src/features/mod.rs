//! The tree of features, and what records hold for them (spec/tfds.md §1.3, §6).
//!
//! | file | subject |
//! |---|---|
//! | `json` | features.json, in all its forms |
//! | `tree`, `dtype` | what it says: a tree of features, their shapes and types |
//! | `describe` | the tree as JSON |
//! | `schema` | what is read of an example: selected features, and the keys that hold them |
//! | `decode` | records into columns |
//! | `encode` | values into records, checked as they are |
//! | `labels` | class labels that are out of range |
//! | `column`, `cast`, `number` | decoded values, flat; from stored numbers to those of a type, and to any number |
//! | `value` | one example of a batch, as the tree that people see |
//! | `pad` | rows of different shapes as one array |
//! | `node` | the same as JSON |
//! | `fault` | what can be wrong with an example |

mod cast;
mod column;
mod decode;
mod describe;
mod dtype;
mod encode;
mod fault;
pub mod json;
mod labels;
mod node;
mod number;
mod pad;
mod schema;
mod tree;
mod value;
mod zlib;

pub(crate) use cast::{from_bfloat16, from_half};
pub use column::{Batch, Column, Data, Shapes, Splits};
pub use decode::{Decoder, Failed, Limits};
pub use dtype::DType;
pub use encode::{Encoder, Given, GivenArray, GivenItem, Items};
pub use fault::{FeatureError, FeatureFault};
pub use labels::LabelRanges;
pub use node::node;
pub(crate) use number::Number;
pub use pad::{Padding, Run};
pub use schema::{Node, Plan, Schema, Selection};
pub use tree::{Coding, Dim, Feature, Leaf, shape_text, unknown};
pub use value::{Array, Ragged, Slice, Stream, Value};

#[cfg(test)]
mod tests;
