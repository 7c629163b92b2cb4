//! A transform that shows the random draws of a sequence.

use std::sync::Arc;

use tesson::Shape;
use tesson_core::{
    Draw, Input, InputValues, Object, Output, OutputValues, SampleType, Scratch, Section, Transform, Value,
};
use tesson_formats::user::UserError;

/// Appends a random number to the values of each sample; the last sample of a sequence draws last.
#[derive(Debug)]
pub struct Marked {
    /// Its own seed.
    pub seed: u64,
}

impl Transform for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn identity(&self) -> String {
        "1".into()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        match *input.dims {
            [Some(n @ ..=10)] => Ok(input.clone().with_shape(&Shape::new([n + 1]))),
            _ => Err(format!("found {input}, expected one dimension of at most 10")),
        }
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::F32(values), OutputValues::F32(output)) = (input.values, output.values) else {
            return Err("float32 is expected".into());
        };
        for sample in values.chunks(input.shape[0]) {
            if sample[0] == 1234.0 {
                return Err("1234 is not transformed".into());
            }
            output.extend_from_slice(sample);
            output.push(draw.integer(0, 1 << 20) as f32);
        }
        Ok(())
    }
}

/// Puts a transform in the place of every number among the `transforms` of a source: [`Marked`] with this seed.
pub(crate) fn put_into(source: &mut Section) {
    let transforms = source.0.iter_mut().find(|(name, _)| **name == *"transforms");
    let Some((_, Value::Section(streams))) = transforms else { return };
    let lists = streams.0.iter_mut().filter_map(|(_, value)| match value {
        Value::List(list) => Some(list),
        _ => None,
    });
    for value in lists.flatten() {
        if let Value::Whole(seed) = *value {
            let transform: Arc<dyn Transform> = Arc::new(Marked { seed: seed as u64 });
            *value = Value::Object(Object::new(transform, "marked"));
        }
    }
}
