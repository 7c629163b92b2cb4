//! Transforms of sparse streams.

use std::sync::Arc;

use tesson::config::from_json;
use tesson::{Error, OpenOptions, SampleValues, Samples, Shape, Source};
use tesson_config::Transforms;
use tesson_core::{
    Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, SparseInput, SparseOutput, Transform,
};
use tesson_formats::user::UserError;

use crate::kit::store_of;

/// Moves each entry to the column that follows, and doubles it.
struct Shift {
    by: i32,
}

impl Transform for Shift {
    fn name(&self) -> &str {
        "shift"
    }

    fn identity(&self) -> String {
        self.by.to_string()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        let dim = input.dims[0].expect("columns are counted");
        Ok(input.clone().with_shape(&Shape::new([dim + 1])))
    }

    fn apply(&self, _: Input<'_>, _: Output<'_>, _: &mut Draw<'_>, _: &mut Scratch) -> Result<(), UserError> {
        Err("its samples are sparse".into())
    }

    fn takes_sparse(&self) -> bool {
        true
    }

    fn apply_sparse(
        &self,
        input: SparseInput<'_>,
        output: SparseOutput<'_>,
        _: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::F32(values), OutputValues::F32(doubled)) = (input.values, output.values) else {
            return Err("float32 is expected".into());
        };
        output.counts.extend(input.bounds.windows(2).map(|pair| (pair[1] - pair[0]) as u32));
        output.columns.extend(input.columns.iter().map(|column| column + self.by));
        doubled.extend(values.iter().map(|value| 2.0 * value));
        Ok(())
    }
}

/// The sum of a sample's values, which are dense.
struct Sum;

impl Transform for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn identity(&self) -> String {
        String::new()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        Ok(input.clone().densified().with_shape(&Shape::new([1])))
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        _: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::F32(values), OutputValues::F32(sums)) = (input.values, output.values) else {
            return Err("float32 is expected".into());
        };
        sums.extend(values.chunks(input.shape[0]).map(|sample| sample.iter().sum::<f32>()));
        Ok(())
    }
}

const DATA: &str = "1|s 0:1 3:2\n1|s\n1|s 1:3\n2|s 2:4\n2|s 0:5 1:6 3:7\n";

fn open(transforms: &[Arc<dyn Transform>], options: &str) -> Result<Source, Error> {
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "f",
            "input": {{"s": {{"dim": 4, "format": "sparse"}}}}}}], "randomize": false, "maxSweeps": 1 {options}}}"#
    );
    let mut config = from_json(&json)?;
    config.transforms = Transforms::of("s", transforms.to_vec());
    OpenOptions::in_store(&store_of([("f", DATA)])).open(&config)
}

/// Everything as one minibatch: where samples end, columns and values; or values alone.
fn read(source: &mut Source) -> (Vec<i32>, Vec<i32>, Vec<f32>) {
    let minibatch = source.next_minibatch(100).expect("the data are right").expect("there are sequences");
    let stream = &minibatch.streams()[0];
    assert_eq!(stream.lengths(), [3, 2]);
    let floats = |values: &SampleValues| match values {
        SampleValues::F32(v) => v.to_vec(),
        _ => panic!("float32 was asked for"),
    };
    match stream.samples() {
        Samples::Dense { values } => (Vec::new(), Vec::new(), floats(values)),
        Samples::Sparse { indptr, indices, values } => (indptr.to_vec(), indices.to_vec(), floats(values)),
        Samples::Ragged { .. } => panic!("texts have no ragged samples"),
    }
}

#[test]
fn sparse_samples_may_stay_sparse_or_become_dense() {
    let mut shifted = open(&[Arc::new(Shift { by: 1 }), Arc::new(Shift { by: 1 })], "").unwrap();
    assert_eq!((shifted.streams()[0].shape.len(), shifted.streams()[0].sparse), (6, true));
    let values = [1., 2., 3., 4., 5., 6., 7.].map(|value| 4. * value).to_vec();
    assert_eq!(read(&mut shifted), (vec![0, 2, 2, 3, 4, 7], vec![2, 5, 3, 4, 2, 3, 5], values));
    let mut summed = open(&[Arc::new(Shift { by: 0 }), Arc::new(Sum)], "").unwrap();
    assert!(!summed.streams()[0].sparse);
    assert_eq!(read(&mut summed), (vec![], vec![], vec![6., 0., 6., 8., 36.]));
}

#[test]
fn columns_beyond_the_stream_are_errors_with_stream_and_key() {
    for (by, found) in [(2, "the column 5,"), (-1, "the column -1,")] {
        let mut source = open(&[Arc::new(Shift { by })], "").unwrap();
        let said = source.next_minibatch(100).unwrap_err().to_string();
        assert!(said.contains("`shift`") && said.contains("`s`") && said.contains(found), "{said}");
    }
}
