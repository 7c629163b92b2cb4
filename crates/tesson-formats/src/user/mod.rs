//! User-defined deserializers: a user's code, in Rust or in Python, supplies decoded chunks.
//!
//! A user implements [`ChunkSource`]: which streams there are, how many chunks, and what a chunk holds. Everything else
//! is the same as for any format: order, workers, states, joins.
//!
//! - `source.rs`: the trait.
//! - `deserializer.rs`: makes a [`ChunkSource`] a deserializer of the engine; the index pass.
//! - `chunk.rs`: what a user's code returns, checked and converted to a [`tesson_core::Chunk`]; `fault.rs`: what can be
//!   wrong with it.
//! - `corpus.rs`: loading, and the chunks that are kept because only a part of them was wanted.

mod chunk;
mod corpus;
mod deserializer;
mod fault;
mod source;

use std::sync::Arc;

use tesson_core::{
    ConfigError, Deserializer, Format, Object, OptionKind, OptionSet, Options, ReaderDefaults, Value,
    format_of, options,
};

pub use chunk::checked;
pub use deserializer::UserDeserializer;
pub use fault::{ChunkError, UserFault, UserRefusal};
pub use source::ChunkSource;
pub use tesson_core::UserError;

/// The entry for deserializers that a program passes as objects; configuration files cannot name them.
///
/// It is not among [`FORMATS`](crate::FORMATS): a configuration file cannot say which object is meant. A front end that
/// can adds it with [`Registry::with`](tesson_core::Registry::with).
pub static FORMAT: Format = format_of::<UserOptions>(
    "UserDeserializer",
    "A user-defined deserializer, which supplies decoded chunks.",
    open,
);

options! {
    /// The options of the deserializer.
    struct UserOptions(options, reader: ReaderDefaults) {
        source: Arc<dyn ChunkSource> = "instance": OptionKind::Object, required
            => "The deserializer itself."
            [read options.object::<Arc<dyn ChunkSource>>("instance", "a user-defined deserializer")?.clone()];
        composable: bool = "composable", "false"
            => "Whether it is ordered and shared as files are, even if it is the only deserializer.";
    }
}

/// The value of the option `instance` for a source of chunks.
pub fn instance(source: Arc<dyn ChunkSource>) -> Value {
    let name = source.name().to_owned();
    Value::Object(Object::new(source, &name))
}

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let UserOptions { source, composable } = UserOptions::read(options, defaults)?;
    let deserializer = UserDeserializer::new(source, defaults)
        .map_err(|refusal| ConfigError::refused(options.path("instance"), &refusal))?;
    Ok(Box::new(if composable { deserializer } else { deserializer.on_local_timelines() }))
}
