//! Samples made of matrices: a row with those around it.

use tesson_core::{Draw, Input, InputValues, Output, SampleType, Scratch, Transform, UserError};

use super::matrix::Matrix;
use crate::utterance::window::Window;

/// Decodes rows of matrices, each with those around it.
pub(super) struct Rows(pub(super) Window);

impl Transform for Rows {
    fn name(&self) -> &str {
        "kaldi rows"
    }

    fn identity(&self) -> String {
        self.0.identity("rows")
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        self.0.sample_type(input)
    }

    fn sees_context(&self) -> bool {
        true
    }

    fn draws(&self) -> bool {
        false
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        _draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let InputValues::Encoded(bytes) = input.values else { return Err("it takes recordings".into()) };
        let matrix = Matrix::new(bytes, self.0.values as usize);
        let matrix = matrix.ok_or("the matrix is another one than when the source was opened")?;
        self.0.samples(&matrix, input.own, output, scratch)
    }
}
