//! Cases of prepared datasets: what is asked of which dataset, and what is answered.

mod answer;
mod case;
mod rust_api;

pub use answer::{Answers, compare, expected};
pub use case::{Case, Query, Source};
pub use rust_api::answers;
pub use rust_api::{dataset, plan};
