//! Several transforms, one after another (spec/image.md §5).
//!
//! Each step is a [`Step`]; the image on its way is a [`Canvas`]. Nothing here knows a step by name but `Normalize`: the last one
//! is applied where 8-bit images are stored, which saves writing them in floating-point numbers.

use std::sync::Arc;

use tesson_core::{SampleType, ValueType};

use super::canvas::{Canvas, Made, PipelineScratch};
use super::fault::TransformFault;
use super::normalize::Normalize;
use super::random::Random;
use super::real::Real;
use super::step::{Effect, Step};
use super::view::{Size, View};

/// Transforms that are applied one after another.
#[derive(Clone, Debug)]
pub struct Pipeline {
    steps: Vec<Arc<dyn Step>>,
    transposed: bool,
    /// The number of a `Normalize` after which no step changes values: those in 8 bits are normalized where they are stored.
    normalized_last: Option<usize>,
}

/// A transformed image, before it is stored in its final type and layout.
#[derive(Clone, Copy, Debug)]
pub enum Transformed<'a, F> {
    /// No transform needed floating-point numbers.
    Bytes(View<'a, u8>),
    /// No transform needed them before this last one.
    Normalized(View<'a, u8>, &'a Normalize),
    /// Floating-point numbers.
    Reals(View<'a, F>),
}

/// A fault of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct AtStep {
    /// The step, counted from 0.
    pub step: usize,
    /// The fault.
    pub fault: TransformFault,
}

impl Pipeline {
    /// Checks the order of transforms.
    ///
    /// # Errors
    /// A transform after `Transpose` or `Cast` that is not `Cast`.
    pub fn new(steps: Vec<Arc<dyn Step>>) -> Result<Pipeline, AtStep> {
        for (before, pair) in steps.windows(2).enumerate() {
            if pair[0].effect().comes_last() && pair[1].effect() != Effect::Converted {
                let fault = TransformFault::Order { found: pair[1].name(), after: pair[0].name() };
                return Err(AtStep { step: before + 1, fault });
            }
        }
        let transposed = steps.iter().any(|step| step.effect() == Effect::Transposed);
        let last = steps.iter().rposition(|step| step.effect() == Effect::Pixels);
        let normalized_last = last.filter(|&last| steps[last].as_normalize().is_some());
        Ok(Pipeline { steps, transposed, normalized_last })
    }

    /// Type and shape of the results, where `None` is open, for images of this type and shape (height, width, channels).
    ///
    /// # Errors
    /// A transform that such images do not fit.
    pub fn output(&self, input: &SampleType, reals: ValueType) -> Result<SampleType, AtStep> {
        let dim = |i: usize| input.dims.get(i).copied().flatten();
        let mut dims = [dim(0), dim(1), dim(2)];
        for (number, step) in self.steps.iter().enumerate() {
            dims = step.output(dims).map_err(|fault| AtStep { step: number, fault })?;
        }
        let values = if self.steps.iter().any(|step| step.makes_reals()) { reals } else { input.values };
        let [height, width, channels] = dims;
        let dims = if self.transposed { [channels, height, width] } else { dims };
        Ok(SampleType::dense(values, dims))
    }

    /// True if random numbers may be drawn.
    pub fn draws(&self) -> bool {
        self.steps.iter().any(|step| step.draws())
    }

    /// The most bytes that the buffers take for an image of this size; a floating-point number has `real` bytes.
    pub fn working_bytes(&self, size: Size, real: u64) -> u64 {
        let values = |size: Size| [size.height, size.width, size.channels].map(|n| n as u64);
        let values = |size: Size| values(size).into_iter().fold(1, u64::saturating_mul);
        // The two largest images that steps write, in 8 bits and in floating-point numbers, and what steps hold beside them.
        let (mut bytes, mut reals) = ([0; 3], [0; 3]);
        let (mut size, mut is_real) = (size, false);
        for step in &self.steps {
            is_real |= step.makes_reals();
            let Some(written_size) = step.written(size) else { continue };
            let [least, most, beside] = if is_real { &mut reals } else { &mut bytes };
            *beside = (*beside).max(step.values_beside(size));
            size = written_size;
            *least = (*least).max(values(size));
            if least > most {
                std::mem::swap(least, most);
            }
        }
        let sum = |parts: [u64; 3]| parts.into_iter().fold(0, u64::saturating_add);
        sum(bytes).saturating_add(sum(reals).saturating_mul(real))
    }

    /// True if channels come first in the results.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Transforms an image. `copy` is the number of the copy among several of the sequence, for crops of several
    /// views. Nothing is allocated after the scratch memory has served images of this size.
    ///
    /// # Errors
    /// An image without pixels, or one that a transform does not support.
    pub fn apply<'a, F: Real>(
        &'a self,
        image: View<'a, u8>,
        copy: u32,
        random: &mut dyn Random,
        scratch: &'a mut PipelineScratch<F>,
    ) -> Result<Transformed<'a, F>, TransformFault> {
        let size = image.size();
        if size.values() == 0 {
            return Err(TransformFault::NoPixels { width: size.width, height: size.height });
        }
        let mut canvas = Canvas::new(image, copy, scratch);
        let mut last = None;
        for (i, step) in self.steps.iter().enumerate() {
            random.begin(i);
            match step.as_normalize().filter(|_| self.normalized_last == Some(i) && !canvas.is_real()) {
                Some(normalize) => {
                    normalize.check(canvas.size().channels)?;
                    last = Some(normalize);
                }
                None => F::apply(&**step, &mut canvas, random)?,
            }
        }
        Ok(match (canvas.finish(), last) {
            (Made::Reals(view), _) => Transformed::Reals(view),
            (Made::Bytes(view), None) => Transformed::Bytes(view),
            (Made::Bytes(view), Some(normalize)) => Transformed::Normalized(view, normalize),
        })
    }
}

impl<F: Real> Transformed<'_, F> {
    /// The size of the image.
    pub fn size(&self) -> Size {
        match self {
            Transformed::Bytes(view) | Transformed::Normalized(view, _) => view.size(),
            Transformed::Reals(view) => view.size(),
        }
    }

    /// Appends the values to `out` in floating-point numbers, channels first if `transposed`.
    pub fn append_reals(&self, transposed: bool, scratch: &mut StoreScratch<F>, out: &mut Vec<F>) {
        let StoreScratch { bytes, reals } = scratch;
        match (self, transposed) {
            (Transformed::Bytes(view), false) => view.append_to(bytes, out, F::from),
            (Transformed::Bytes(view), true) => {
                view.append_transposed_to(bytes, out, |_, value| F::from(value))
            }
            (Transformed::Normalized(view, normalize), false) => normalize.append_to(*view, bytes, out),
            (Transformed::Normalized(view, normalize), true) => {
                view.append_transposed_to(bytes, out, |channel, value| {
                    F::from(normalize.value(channel, value))
                });
            }
            (Transformed::Reals(view), false) => view.append_to(reals, out, |value| value),
            (Transformed::Reals(view), true) => view.append_transposed_to(reals, out, |_, value| value),
        }
    }

    /// Appends the values to `out` in 8 bits, channels first if `transposed`. Nothing is appended, and the answer is
    /// `false`, if the image has floating-point numbers.
    pub fn append_bytes(&self, transposed: bool, scratch: &mut StoreScratch<F>, out: &mut Vec<u8>) -> bool {
        match (self, transposed) {
            (Transformed::Bytes(view), false) => view.append_to(&mut scratch.bytes, out, |value| value),
            (Transformed::Bytes(view), true) => {
                view.append_transposed_to(&mut scratch.bytes, out, |_, value| value)
            }
            (Transformed::Normalized(..) | Transformed::Reals(_), _) => return false,
        }
        true
    }
}

/// Memory that storing results reuses: a row.
#[derive(Debug, Default)]
pub struct StoreScratch<F> {
    bytes: Vec<u8>,
    reals: Vec<F>,
}

#[cfg(test)]
mod tests {
    use tesson_core::Draw;

    use super::super::axis::{Filter, Interpolation};
    use super::super::cast::Cast;
    use super::super::color::Color;
    use super::super::crop::{Crop, CropKind, CropSize};
    use super::super::fill::Fill;
    use super::super::horizontal_flip::HorizontalFlip;
    use super::super::random_erasing::RandomErasing;
    use super::super::scale::{Scale, ScaleMode};
    use super::super::transpose::Transpose;
    use super::*;

    fn flip(probability: f64) -> Arc<dyn Step> {
        Arc::new(HorizontalFlip { probability })
    }

    fn transpose() -> Arc<dyn Step> {
        Arc::new(Transpose)
    }

    fn cast() -> Arc<dyn Step> {
        Arc::new(Cast)
    }

    fn center(width: usize, height: usize) -> Arc<dyn Step> {
        let size = CropSize::Pixels(width, height);
        Arc::new(Crop { kind: CropKind::Center, size, aspect_ratio: [1.0; 2], jitter: false, hflip: false })
    }

    fn scale(width: usize, height: usize) -> Arc<dyn Step> {
        let mode = ScaleMode::Fill;
        Arc::new(Scale::new([width, height], 3, mode, [Interpolation::Linear]).expect("a usable size"))
    }

    fn normalize() -> Arc<dyn Step> {
        Arc::new(Normalize::new(255.0, &[0.5; 3], &[0.25; 3]).expect("usable"))
    }

    fn transformed(steps: &[Arc<dyn Step>], pixels: &[u8], size: Size) -> Vec<f32> {
        let pipeline = Pipeline::new(steps.to_vec()).expect("an order");
        let (mut scratch, mut store) = (PipelineScratch::default(), StoreScratch::default());
        let mut out = Vec::new();
        for _ in 0..2 {
            out.clear();
            let mut words = std::iter::repeat(0);
            let mut draw = Draw::from_words(&mut words);
            let found = pipeline.apply(View::new(pixels, size), 0, &mut draw, &mut scratch).expect("it fits");
            found.append_reals(pipeline.is_transposed(), &mut store, &mut out);
        }
        out
    }

    #[test]
    fn steps_together_give_what_they_give_apart() {
        let size = Size::new(11, 13, 3);
        let pixels: Vec<u8> = (0..size.values()).map(|i| (i * 37 % 251) as u8).collect();

        let steps = [
            flip(1.0),
            center(9, 8),
            scale(6, 5),
            center(4, 4),
            normalize(),
            center(3, 2),
            transpose(),
            cast(),
        ];
        let (mut current, mut at) = (pixels.clone(), size);
        for (step, after) in
            steps[..4].iter().zip([size, Size::new(8, 9, 3), Size::new(5, 6, 3), Size::new(4, 4, 3)])
        {
            let found = transformed(std::slice::from_ref(step), &current, at);
            (current, at) = (found.iter().map(|&value| value as u8).collect(), after);
        }
        let apart = transformed(&steps[4..], &current, at);
        assert_eq!(transformed(&steps, &pixels, size), apart);
    }

    #[test]
    fn normalizing_where_images_are_stored_gives_what_normalizing_before_gives() {
        let size = Size::new(3, 5, 3);
        let pixels: Vec<u8> = (0..size.values()).map(|i| (i * 53 % 251) as u8).collect();
        for last in [vec![], vec![transpose()], vec![transpose(), cast()]] {
            let steps = |middle: &[Arc<dyn Step>]| [&[flip(1.0)], middle, &last].concat();
            let stored = steps(&[center(4, 3), normalize()]);
            assert_eq!(Pipeline::new(stored.clone()).expect("an order").normalized_last, Some(2));
            let before = steps(&[normalize(), center(4, 3)]);
            assert_eq!(Pipeline::new(before.clone()).expect("an order").normalized_last, None);
            assert_eq!(transformed(&stored, &pixels, size), transformed(&before, &pixels, size));
        }
    }

    #[test]
    fn a_rectangle_is_covered_where_it_is_seen_in_either_type_of_values() {
        let size = Size::new(6, 7, 3);
        let pixels: Vec<u8> = (0..size.values()).map(|i| (i * 53 % 251) as u8).collect();
        let erasing = |value: f32| {
            Arc::new(RandomErasing::new(1.0, [0.3; 2], [1.0; 2], Fill::new([value]).expect("a value")))
        };
        let before = [flip(1.0), center(5, 4)];
        let plain = transformed(&before, &pixels, size);
        let with = |value: f32| transformed(&[&before[..], &[erasing(value)]].concat(), &pixels, size);
        // 0.3 of 20 pixels: 2 by 2 of them, three channels each.
        for value in [252.0, 252.5] {
            let covered = with(value);
            let differ = plain.iter().zip(&covered).filter(|(a, b)| a != b).collect::<Vec<_>>();
            assert_eq!(differ.len(), 12, "{value}");
            assert!(differ.iter().all(|(_, found)| **found == value), "{differ:?}");
        }
        assert_eq!(pixels, (0..size.values()).map(|i| (i * 53 % 251) as u8).collect::<Vec<_>>());
    }

    #[test]
    fn shapes_are_known_as_far_as_they_can_be() {
        let open = SampleType::dense(ValueType::U8, [None, None, Some(3)]);
        let output = |steps: &[Arc<dyn Step>]| {
            let pipeline = Pipeline::new(steps.to_vec()).expect("an order");
            pipeline.output(&open, ValueType::F32).map(|output| output.to_string())
        };
        assert_eq!(output(&[]), Ok("uint8 ?x?x3".into()));
        assert_eq!(output(&[scale(6, 5), center(9, 4)]), Ok("uint8 4x6x3".into()));
        assert_eq!(output(&[scale(6, 5), normalize(), transpose()]), Ok("float32 3x5x6".into()));
        assert_eq!(output(&[center(9, 4), flip(0.5)]), Ok("uint8 ?x?x3".into()));
        let two = Normalize::new(1.0, &[0.0; 2], &[1.0]).expect("usable");
        assert_eq!(output(&[scale(6, 5), Arc::new(two)]).map_err(|refused| refused.step), Err(1));
    }

    #[test]
    fn the_buffers_of_an_image_are_those_that_its_steps_write() {
        let bytes = |steps: &[Arc<dyn Step>]| {
            Pipeline::new(steps.to_vec()).expect("an order").working_bytes(Size::new(100, 200, 3), 4)
        };
        assert_eq!(bytes(&[center(9, 9), flip(0.5), transpose()]), 0);
        assert_eq!(bytes(&[center(9, 9), scale(6, 5), transpose()]), 90);
        assert_eq!(bytes(&[scale(6, 5), scale(7, 5), scale(2, 2)]), 105 + 90);
        assert_eq!(bytes(&[normalize(), scale(6, 5)]), 4 * (60_000 + 90));
        let how = [Interpolation::Linear, Interpolation::Antialiased(Filter::Linear)];
        let antialiased = Scale::new([6, 5], 3, ScaleMode::Fill, how).expect("a usable size");
        assert_eq!(bytes(&[Arc::new(antialiased)]), 90 + 100 * 6 * 3);
        let color = Arc::new(Color { brightness: 0.5, contrast: 0.0, saturation: 0.0 });
        assert_eq!(bytes(&[scale(6, 5), color.clone(), color]), 90 + 2 * 4 * 90);
    }

    #[test]
    fn transforms_after_the_last_ones_are_refused() {
        let order = |steps: &[Arc<dyn Step>]| Pipeline::new(steps.to_vec()).map(|_| ());
        assert_eq!(order(&[transpose(), cast(), cast()]), Ok(()));
        for after in [transpose(), scale(1, 1)] {
            let at = |steps: &[Arc<dyn Step>]| order(steps).map_err(|refused| refused.step);
            assert_eq!(at(&[transpose(), after.clone()]), Err(1));
            assert_eq!(at(&[scale(1, 1), cast(), after]), Err(2));
        }
    }

    #[test]
    fn an_image_without_pixels_is_refused() {
        let pipeline = Pipeline::new(vec![scale(2, 2)]).expect("an order");
        let mut words = std::iter::empty();
        let (mut draw, mut scratch) = (Draw::from_words(&mut words), PipelineScratch::<f32>::default());
        let empty = View::new(&[], Size::new(0, 4, 3));
        assert!(pipeline.apply(empty, 0, &mut draw, &mut scratch).is_err());
    }
}
