//! The tree of features, and how records store them (spec/tfds.md §1.3, §6).
//!
//! | file | subject |
//! |---|---|
//! | `json` | features.json, in all its forms |
//! | `tree`, `dtype` | the tree of features, their shapes and types; the tree as JSON |
//! | `schema` | the features that are read of an example, and the keys that hold them |
//! | `decode` | records into columns |
//! | `encode` | values into records, checked as they are |
//! | `labels` | class labels that are out of range |
//! | `column`, `cast`, `number` | decoded values, flat; casts of stored numbers to a type, and to any number |
//! | `value` | one example of a batch, as the tree that users see |
//! | `pad` | rows of different shapes as one array |
//! | `node` | one example as JSON |
//! | `fault` | the faults of an example |

mod cast;
mod column;
mod decode;
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
