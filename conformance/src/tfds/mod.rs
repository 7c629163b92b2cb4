//! Cases of prepared datasets: queries of a dataset, and their answers.

mod answer;
mod case;
mod cli;
mod deserializer;
mod examples;
mod resume;
mod rust_api;

pub use answer::{Answers, compare, expected};
pub use case::{Case, Query, Source};
pub use cli::answers_of_program;
pub use deserializer::{check_deserializer, datasets};
pub use resume::{check_places, check_workers, has_order};
pub use rust_api::answers;
pub use rust_api::{dataset, plan};
