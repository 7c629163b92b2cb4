//! The deserializer of files of images in Base64.

use tesson_core::{
    Defects, Deserializer, DeserializerFacts, Error, Fetch, Indexed, Parallelism, StreamMismatch,
    StreamingDecoder,
};

use super::options::Base64Options;
use super::{FORMAT, index};

/// Images within a text file.
pub(super) struct Base64Images {
    options: Base64Options,
    facts: DeserializerFacts,
}

impl Base64Images {
    pub(super) fn new(options: Base64Options) -> Base64Images {
        let mut facts = options.images.facts(FORMAT.name, options.identity());
        facts.max_errors = facts.max_errors.or(options.max_errors);
        Base64Images { options, facts }
    }
}

impl Deserializer for Base64Images {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, _: &dyn Fetch) -> Result<(), Error> {
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        _: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        index::read(&self.options, fetch, defects)
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}
