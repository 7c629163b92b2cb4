//! The recorded examples, and rules that no recorded one shows.

mod cases;
mod decode;
mod encode;
mod json;
mod tools;
