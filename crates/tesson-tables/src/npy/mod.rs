//! NumPy's `.npy` files: a header that is a literal of Python, then the values of an array.
//!
//! | file | subject |
//! |---|---|
//! | `header` | the header: type, order and shape |
//! | `literal` | the literals of Python that headers consist of |
//! | `array` | the rows of an array |

mod array;
mod header;
mod literal;

pub(crate) use array::NPY;
pub(crate) use header::{Form, Header, MAGIC};
