//! The workshop of the repository.
fn main() {}
