//! Files of images, and of matrices as OpenCV stores them, through the transforms that read them.

use std::path::Path;
use std::sync::Arc;

use tesson::Error;
use tesson_core::{
    Draw, Input, InputValues, OpenTransform, Options, Output, OutputValues, Scratch, Section, Transform,
    Value,
};

/// Pixels of the largest image that is decoded.
const MOST_PIXELS: usize = 1 << 16;

/// A transform with these options, made alone; files that it names have these bytes.
fn transform(name: &str, options: Section, file: &[u8]) -> Result<Arc<dyn Transform>, Error> {
    let registry = tesson::registry();
    let format = registry.find_transform(name, "type")?;
    let options = Options::new(format.options, &options, "")?;
    let read = |_: &Path| Ok(file.to_vec());
    match format.open {
        OpenTransform::Single(open) => open(&options, &read),
        OpenTransform::Chained(open) => open(&[(format, options)], &read),
    }
}

/// Checks any bytes as an image, after a byte of options: it is decoded to as many values as its shape has, or
/// refused.
///
/// # Panics
/// If the number of values differs from the shape, or exceeds the limit.
pub fn imdecode(bytes: &[u8]) {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let flag = |bit: u8| Value::Bool(choice & bit != 0);
    let exif = if choice & 4 != 0 { "apply" } else { "ignore" };
    let options = Section::from_iter([
        ("grayscale", flag(1)),
        ("truncated", flag(2)),
        ("exifOrientation", Value::Text(exif.into())),
        ("jpegScaledDecode", Value::Whole([0, 4, 8, 16][usize::from(choice >> 3 & 3)])),
        ("maxPixels", Value::Whole(MOST_PIXELS as i128)),
    ]);
    let decoder = transform("Decode", options, &[]).expect("the options are right");
    let (mut values, mut shape) = (Vec::new(), Vec::new());
    let output = Output::open(OutputValues::U8(&mut values), &mut shape);
    let input = Input::new(InputValues::Encoded(file), &[]).with_embedded(true);
    let mut words = std::iter::repeat(0);
    let mut draw = Draw::from_words(&mut words);
    if decoder.apply(input, output, &mut draw, &mut Scratch::default()).is_ok() {
        assert_eq!(values.len(), shape.iter().product::<usize>());
        assert!(values.len() <= 3 * MOST_PIXELS);
    }
}

/// Any bytes as OpenCV's storage: a mean image, and the axes of colours.
pub fn opencv_storage(bytes: &[u8]) {
    for (name, option) in [("Mean", "meanFile"), ("Intensity", "intensityFile")] {
        let mut options = Section::from_iter([(option, Value::Text("file".into()))]);
        if name == "Intensity" {
            options.push("intensityStdDev", Value::Whole(1));
        }
        let opened = transform(name, options, bytes);
        drop(opened);
    }
}
