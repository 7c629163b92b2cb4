//! Several transforms, one after another (spec/image.md §5).
//!
//! Pictures stay in 8 bits until a transform needs floating-point numbers, and cutting and mirroring copy nothing: they
//! are applied where the next transform reads. Each step writes into one of two buffers that the scratch memory keeps.

use tesson_core::{SampleType, ValueType};

use super::axis::Interpolation;
use super::color::Color;
use super::crop::Crop;
use super::fault::TransformFault;
use super::intensity::Intensity;
use super::mean::Mean;
use super::normalize::Normalize;
use super::random::Random;
use super::random_erasing::RandomErasing;
use super::random_resized_crop::RandomResizedCrop;
use super::random_rotation::RandomRotation;
use super::real::Real;
use super::resize::{ResizeScratch, Value};
use super::scale::Scale;
use super::view::{Rect, Size, View};

/// A transform of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// CNTK's crop.
    Crop(Crop),
    /// torchvision's crop, to be followed by a `Scale`.
    RandomResizedCrop(RandomResizedCrop),
    /// Mirrors pictures with this probability.
    HorizontalFlip(f64),
    /// Covers a random rectangle.
    RandomErasing(RandomErasing),
    /// Turns.
    RandomRotation(RandomRotation),
    /// Resizes.
    Scale(Scale),
    /// Subtracts a mean picture.
    Mean(Mean),
    /// Changes brightness, contrast and saturation.
    Color(Color),
    /// Adds noise along the axes of colour.
    Intensity(Intensity),
    /// Normalizes channels.
    Normalize(Normalize),
    /// Puts channels first.
    Transpose,
    /// Changes nothing: a transform without the file that it would take its values from.
    Identity,
    /// Converts to the stream's type, which happens at the end anyhow.
    Cast,
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Step::Crop(_) => "Crop",
            Step::RandomResizedCrop(_) => "RandomResizedCrop",
            Step::HorizontalFlip(_) => "HorizontalFlip",
            Step::RandomErasing(_) => "RandomErasing",
            Step::RandomRotation(_) => "RandomRotation",
            Step::Scale(_) => "Scale",
            Step::Mean(_) => "Mean",
            Step::Color(_) => "Color",
            Step::Intensity(_) => "Intensity",
            Step::Normalize(_) => "Normalize",
            Step::Transpose => "Transpose",
            Step::Identity => "Identity",
            Step::Cast => "Cast",
        }
    }

    /// The size of the result for pictures of this size.
    fn output(
        &self,
        [height, width, channels]: [Option<usize>; 3],
    ) -> Result<[Option<usize>; 3], TransformFault> {
        Ok(match self {
            Step::Crop(crop) => {
                let [w, h] = crop.output(width, height);
                [h, w, channels]
            }
            Step::RandomResizedCrop(_) => [None, None, channels],
            Step::Scale(scale) => {
                channels.map_or(Ok(()), |n| scale.check(n))?;
                let (w, h) = scale.size();
                [Some(h), Some(w), channels]
            }
            Step::Mean(mean) => {
                mean.check([height, width, channels])?;
                [height, width, channels]
            }
            Step::RandomErasing(erasing) => {
                channels.map_or(Ok(()), |n| erasing.fill().check(self.name(), n))?;
                [height, width, channels]
            }
            Step::RandomRotation(rotation) => {
                channels.map_or(Ok(()), |n| rotation.fill.check(self.name(), n))?;
                [height, width, channels]
            }
            Step::Normalize(normalize) => {
                channels.map_or(Ok(()), |n| normalize.check(n))?;
                [height, width, channels]
            }
            _ => [height, width, channels],
        })
    }

    /// True if random numbers may be drawn.
    fn draws(&self) -> bool {
        match self {
            Step::Crop(crop) => crop.draws(),
            Step::RandomResizedCrop(_)
            | Step::HorizontalFlip(_)
            | Step::RandomErasing(_)
            | Step::RandomRotation(_) => true,
            Step::Scale(scale) => scale.draws(),
            Step::Color(color) => color.has_effect(),
            Step::Intensity(intensity) => intensity.has_effect(),
            Step::Mean(_) | Step::Normalize(_) | Step::Transpose | Step::Identity | Step::Cast => false,
        }
    }

    /// True if the results are floating-point numbers for any input.
    fn makes_reals(&self) -> bool {
        match self {
            Step::Mean(_) | Step::Normalize(_) => true,
            Step::RandomErasing(erasing) => !erasing.fill().is_of_bytes(),
            Step::RandomRotation(rotation) => !rotation.fill.is_of_bytes(),
            Step::Color(color) => color.has_effect(),
            Step::Intensity(intensity) => intensity.has_effect(),
            _ => false,
        }
    }
}

/// Transforms that are applied one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    steps: Vec<Step>,
    transposed: bool,
    /// The number of a `Normalize` after which no step changes values: those in 8 bits are normalized where they are stored.
    normalized_last: Option<usize>,
}

/// A transformed picture, before it is stored in its final type and layout.
#[derive(Clone, Copy, Debug)]
pub enum Transformed<'a, F> {
    /// No transform needed floating-point numbers.
    Bytes(View<'a, u8>),
    /// No transform needed them before this last one.
    Normalized(View<'a, u8>, &'a Normalize),
    /// Floating-point numbers.
    Reals(View<'a, F>),
}

/// Memory that pipelines reuse from one picture to the next.
#[derive(Debug, Default)]
pub struct PipelineScratch<F: Value> {
    bytes: Buffers<u8>,
    reals: Buffers<F>,
}

/// A picture, another one that is made of it, and a row.
#[derive(Debug, Default)]
struct Buffers<T: Value> {
    picture: Vec<T>,
    next: Vec<T>,
    row: Vec<T>,
    resize: ResizeScratch<T>,
}

/// The part of the current picture that is seen.
#[derive(Clone, Copy, Debug)]
struct Frame {
    size: Size,
    rect: Rect,
    mirrored: bool,
}

impl Frame {
    fn whole(size: Size) -> Frame {
        Frame { size, rect: Rect { x: 0, y: 0, width: size.width, height: size.height }, mirrored: false }
    }

    /// Restricts the view to a part of it.
    fn cut(&mut self, rect: Rect, mirrored: bool) {
        let x = if self.mirrored { self.rect.width - rect.x - rect.width } else { rect.x };
        self.rect = Rect { x: self.rect.x + x, y: self.rect.y + rect.y, ..rect };
        self.mirrored ^= mirrored;
    }

    /// The visible part of a whole picture.
    fn of<T: Value>(self, whole: View<'_, T>) -> View<'_, T> {
        let view = whole.cut(self.rect);
        if self.mirrored { view.mirrored() } else { view }
    }

    fn is_whole(self) -> bool {
        !self.mirrored && self.seen() == self.size
    }

    fn seen(self) -> Size {
        Size::new(self.rect.height, self.rect.width, self.size.channels)
    }
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
    pub fn new(steps: Vec<Step>) -> Result<Pipeline, AtStep> {
        let is_last = |step: &Step| matches!(step, Step::Transpose | Step::Cast);
        for (before, pair) in steps.windows(2).enumerate() {
            if is_last(&pair[0]) && pair[1] != Step::Cast {
                let fault = TransformFault::Order { found: pair[1].name(), after: pair[0].name() };
                return Err(AtStep { step: before + 1, fault });
            }
        }
        let transposed = steps.contains(&Step::Transpose);
        let stays = |step: &Step| matches!(step, Step::Transpose | Step::Cast | Step::Identity);
        let last = steps.iter().rposition(|step| !stays(step));
        let normalized_last = last.filter(|&last| matches!(steps[last], Step::Normalize(_)));
        Ok(Pipeline { steps, transposed, normalized_last })
    }

    /// Type and shape of the results, where `None` is open, for pictures of this type and shape (height, width, channels).
    ///
    /// # Errors
    /// A transform that such pictures do not fit.
    pub fn output(&self, input: &SampleType, reals: ValueType) -> Result<SampleType, AtStep> {
        let dim = |i: usize| input.dims.get(i).copied().flatten();
        let mut dims = [dim(0), dim(1), dim(2)];
        for (number, step) in self.steps.iter().enumerate() {
            dims = step.output(dims).map_err(|fault| AtStep { step: number, fault })?;
        }
        let values = if self.steps.iter().any(Step::makes_reals) { reals } else { input.values };
        let [height, width, channels] = dims;
        let dims = if self.transposed { [channels, height, width] } else { dims };
        Ok(SampleType::dense(values, dims))
    }

    /// True if random numbers may be drawn.
    pub fn draws(&self) -> bool {
        self.steps.iter().any(Step::draws)
    }

    /// The most bytes that the buffers take for a picture of this size; a floating-point number has `real` bytes.
    pub fn working_bytes(&self, size: Size, real: u64) -> u64 {
        let values = |size: Size| [size.height, size.width, size.channels].map(|n| n as u64);
        let values = |size: Size| values(size).into_iter().fold(1, u64::saturating_mul);
        // The two largest pictures that steps write, in 8 bits and in floating-point numbers.
        let (mut bytes, mut reals) = ([0; 2], [0; 2]);
        let (mut size, mut is_real) = (size, false);
        for step in &self.steps {
            is_real |= step.makes_reals();
            match step {
                Step::Scale(scale) => (size.width, size.height) = scale.size(),
                Step::RandomErasing(_) | Step::RandomRotation(_) => {}
                step if step.makes_reals() => {}
                _ => continue,
            }
            let written = if is_real { &mut reals } else { &mut bytes };
            written[0] = written[0].max(values(size));
            written.sort_unstable();
        }
        let sum = |[one, other]: [u64; 2]| one.saturating_add(other);
        sum(bytes).saturating_add(sum(reals).saturating_mul(real))
    }

    /// True if channels come first in the results.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Transforms a picture. `copy` is the number of the copy among several of the sequence, for crops of several
    /// views. Nothing is allocated after the scratch memory has served pictures of this size.
    ///
    /// # Errors
    /// A picture without pixels, or one that a transform does not support.
    pub fn apply<'a, F: Real>(
        &'a self,
        picture: View<'a, u8>,
        copy: u32,
        random: &mut dyn Random,
        scratch: &'a mut PipelineScratch<F>,
    ) -> Result<Transformed<'a, F>, TransformFault> {
        let size = picture.size();
        if size.values() == 0 {
            return Err(TransformFault::NoPixels { width: size.width, height: size.height });
        }
        let mut work = Work { scratch, picture, stage: Stage::Given, frame: Frame::whole(size) };
        let mut last = None;
        for (i, step) in self.steps.iter().enumerate() {
            random.begin(i);
            match step {
                Step::Normalize(normalize)
                    if self.normalized_last == Some(i) && work.stage != Stage::Reals =>
                {
                    normalize.check(work.frame.size.channels)?;
                    last = Some(normalize);
                }
                step => work.apply(step, copy, random)?,
            }
        }
        let Work { scratch, picture, stage, frame } = work;
        if stage == Stage::Reals {
            return Ok(Transformed::Reals(frame.of(View::new(&scratch.reals.picture, frame.size))));
        }
        let view = stage.bytes(frame, picture, &scratch.bytes.picture);
        Ok(last.map_or(Transformed::Bytes(view), |normalize| Transformed::Normalized(view, normalize)))
    }
}

/// The buffer that holds the current picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Given,
    Bytes,
    Reals,
}

/// A picture on its way through a pipeline.
struct Work<'a, F: Value> {
    scratch: &'a mut PipelineScratch<F>,
    picture: View<'a, u8>,
    stage: Stage,
    frame: Frame,
}

impl<F: Real> Work<'_, F> {
    fn apply(&mut self, step: &Step, copy: u32, random: &mut dyn Random) -> Result<(), TransformFault> {
        let Size { height, width, .. } = self.frame.seen();
        match step {
            Step::Crop(crop) => {
                let (rect, mirrored) = crop.rectangle((width, height), copy, random);
                self.frame.cut(rect, mirrored);
            }
            Step::RandomResizedCrop(crop) => {
                self.frame.cut(crop.rectangle((width, height), random), false);
            }
            Step::HorizontalFlip(probability) => {
                self.frame.mirrored ^= random.real(0.0, 1.0) < *probability;
            }
            Step::RandomErasing(erasing) => {
                erasing.fill().check(step.name(), self.frame.size.channels)?;
                // The type of the values is the same whether a rectangle is covered or not.
                if !erasing.fill().is_of_bytes() {
                    self.reals();
                }
                match erasing.rectangle((width, height), random) {
                    Some(rect) if self.stage == Stage::Reals => {
                        let (size, values) = self.reals();
                        erasing.cover(size, values, rect, F::from);
                    }
                    Some(rect) => {
                        let (size, values) = self.bytes();
                        erasing.cover(size, values, rect, |value| value as u8);
                    }
                    None => {}
                }
            }
            Step::RandomRotation(rotation) => self.rotate(rotation, random)?,
            Step::Scale(scale) => self.scale(scale, scale.interpolation(random))?,
            Step::Mean(mean) => {
                let (size, values) = self.reals();
                mean.apply(size, values)?;
            }
            Step::Color(color) if color.has_effect() => {
                let (size, values) = self.reals();
                color.apply(size, values, random);
            }
            Step::Intensity(intensity) if intensity.has_effect() => {
                let (size, values) = self.reals();
                intensity.apply(size, values, random);
            }
            Step::Normalize(normalize) if self.stage == Stage::Reals => {
                let (size, values) = self.reals();
                normalize.apply(size.channels, values)?;
            }
            Step::Normalize(normalize) => {
                let PipelineScratch { bytes, reals } = &mut *self.scratch;
                reals.picture.clear();
                let Buffers { picture, row, .. } = bytes;
                let view = self.stage.bytes(self.frame, self.picture, picture);
                normalize.check(view.size().channels)?;
                normalize.append_to(view, row, &mut reals.picture);
                (self.stage, self.frame) = (Stage::Reals, Frame::whole(self.frame.seen()));
            }
            Step::Color(_) | Step::Intensity(_) | Step::Transpose | Step::Identity | Step::Cast => {}
        }
        Ok(())
    }

    fn rotate(&mut self, rotation: &RandomRotation, random: &mut dyn Random) -> Result<(), TransformFault> {
        rotation.fill.check("RandomRotation", self.frame.size.channels)?;
        let turn = rotation.turn(random);
        if self.stage == Stage::Reals || !rotation.fill.is_of_bytes() {
            let (size, _) = self.reals();
            let Buffers { picture, next, .. } = &mut self.scratch.reals;
            rotation.apply(turn, size, picture, next, F::from);
            std::mem::swap(picture, next);
        } else {
            let (size, _) = self.bytes();
            let Buffers { picture, next, .. } = &mut self.scratch.bytes;
            rotation.apply(turn, size, picture, next, |value| value as u8);
            std::mem::swap(picture, next);
        }
        Ok(())
    }

    fn scale(&mut self, scale: &Scale, how: Interpolation) -> Result<(), TransformFault> {
        let PipelineScratch { bytes, reals } = &mut *self.scratch;
        let size = match self.stage {
            Stage::Reals => {
                let Buffers { picture, next, resize, .. } = reals;
                let size =
                    scale.apply(self.frame.of(View::new(picture, self.frame.size)), how, resize, next)?;
                std::mem::swap(picture, next);
                size
            }
            stage => {
                let Buffers { picture, next, resize, .. } = bytes;
                let size = scale.apply(stage.bytes(self.frame, self.picture, picture), how, resize, next)?;
                std::mem::swap(picture, next);
                self.stage = Stage::Bytes;
                size
            }
        };
        self.frame = Frame::whole(size);
        Ok(())
    }

    /// The current picture in 8 bits, which is not in floating-point numbers yet; all of it is seen.
    fn bytes(&mut self) -> (Size, &mut [u8]) {
        let Buffers { picture, next, row, .. } = &mut self.scratch.bytes;
        if self.stage == Stage::Given || !self.frame.is_whole() {
            next.clear();
            self.stage.bytes(self.frame, self.picture, picture).append_to(row, next, |value| value);
            std::mem::swap(picture, next);
        }
        (self.stage, self.frame) = (Stage::Bytes, Frame::whole(self.frame.seen()));
        (self.frame.size, picture)
    }

    /// The current picture in floating-point numbers, all of which are seen.
    fn reals(&mut self) -> (Size, &mut [F]) {
        let PipelineScratch { bytes, reals } = &mut *self.scratch;
        let Buffers { picture, next, row, .. } = reals;
        if self.stage != Stage::Reals {
            picture.clear();
            let Buffers { picture: held, row, .. } = bytes;
            self.stage.bytes(self.frame, self.picture, held).append_to(row, picture, F::from);
        } else if !self.frame.is_whole() {
            next.clear();
            self.frame.of(View::new(picture, self.frame.size)).append_to(row, next, |value| value);
            std::mem::swap(picture, next);
        }
        (self.stage, self.frame) = (Stage::Reals, Frame::whole(self.frame.seen()));
        (self.frame.size, picture)
    }
}

impl Stage {
    /// The visible part of a picture in 8 bits: of the input or of the buffer.
    fn bytes<'v>(self, frame: Frame, given: View<'v, u8>, held: &'v [u8]) -> View<'v, u8> {
        frame.of(if self == Stage::Given { given } else { View::new(held, frame.size) })
    }
}

impl<F: Real> Transformed<'_, F> {
    /// The size of the picture.
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
    /// `false`, if the picture has floating-point numbers.
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

    use super::super::axis::Interpolation;
    use super::super::crop::{CropKind, CropSize};
    use super::super::fill::Fill;
    use super::super::scale::ScaleMode;
    use super::*;

    fn center(width: usize, height: usize) -> Step {
        let size = CropSize::Pixels(width, height);
        Step::Crop(Crop { kind: CropKind::Center, size, aspect_ratio: [1.0; 2], jitter: false, hflip: false })
    }

    fn scale(width: usize, height: usize) -> Step {
        let mode = ScaleMode::Fill;
        Step::Scale(Scale::new([width, height], 3, mode, [Interpolation::Linear]).expect("a usable size"))
    }

    fn normalize() -> Step {
        Step::Normalize(Normalize::new(255.0, &[0.5; 3], &[0.25; 3]).expect("usable"))
    }

    fn transformed(steps: &[Step], pixels: &[u8], size: Size) -> Vec<f32> {
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
        let flip = Step::HorizontalFlip(1.0);
        let steps = [
            flip,
            center(9, 8),
            scale(6, 5),
            center(4, 4),
            normalize(),
            center(3, 2),
            Step::Transpose,
            Step::Cast,
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
    fn normalizing_where_pictures_are_stored_gives_what_normalizing_before_gives() {
        let size = Size::new(3, 5, 3);
        let pixels: Vec<u8> = (0..size.values()).map(|i| (i * 53 % 251) as u8).collect();
        for last in [vec![], vec![Step::Transpose], vec![Step::Transpose, Step::Cast]] {
            let steps = |middle: &[Step]| [&[Step::HorizontalFlip(1.0)], middle, &last].concat();
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
            Step::RandomErasing(RandomErasing::new(
                1.0,
                [0.3; 2],
                [1.0; 2],
                Fill::new([value]).expect("a value"),
            ))
        };
        let before = [Step::HorizontalFlip(1.0), center(5, 4)];
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
        let output = |steps: &[Step]| {
            let pipeline = Pipeline::new(steps.to_vec()).expect("an order");
            pipeline.output(&open, ValueType::F32).map(|output| output.to_string())
        };
        assert_eq!(output(&[]), Ok("uint8 ?x?x3".into()));
        assert_eq!(output(&[scale(6, 5), center(9, 4)]), Ok("uint8 4x6x3".into()));
        assert_eq!(output(&[scale(6, 5), normalize(), Step::Transpose]), Ok("float32 3x5x6".into()));
        assert_eq!(output(&[center(9, 4), Step::HorizontalFlip(0.5)]), Ok("uint8 ?x?x3".into()));
        let two = Normalize::new(1.0, &[0.0; 2], &[1.0]).expect("usable");
        assert_eq!(output(&[scale(6, 5), Step::Normalize(two)]).map_err(|refused| refused.step), Err(1));
    }

    #[test]
    fn the_buffers_of_a_picture_are_those_that_its_steps_write() {
        let bytes = |steps: &[Step]| {
            Pipeline::new(steps.to_vec()).expect("an order").working_bytes(Size::new(100, 200, 3), 4)
        };
        assert_eq!(bytes(&[center(9, 9), Step::HorizontalFlip(0.5), Step::Transpose]), 0);
        assert_eq!(bytes(&[center(9, 9), scale(6, 5), Step::Transpose]), 90);
        assert_eq!(bytes(&[scale(6, 5), scale(7, 5), scale(2, 2)]), 105 + 90);
        assert_eq!(bytes(&[normalize(), scale(6, 5)]), 4 * (60_000 + 90));
        let color = Step::Color(Color { brightness: 0.5, contrast: 0.0, saturation: 0.0 });
        assert_eq!(bytes(&[scale(6, 5), color.clone(), color]), 90 + 2 * 4 * 90);
    }

    #[test]
    fn transforms_after_the_last_ones_are_refused() {
        let order = |steps: &[Step]| Pipeline::new(steps.to_vec()).map(|_| ());
        assert_eq!(order(&[Step::Transpose, Step::Cast, Step::Cast]), Ok(()));
        for after in [Step::Transpose, scale(1, 1)] {
            let at = |steps: &[Step]| order(steps).map_err(|refused| refused.step);
            assert_eq!(at(&[Step::Transpose, after.clone()]), Err(1));
            assert_eq!(at(&[scale(1, 1), Step::Cast, after]), Err(2));
        }
    }

    #[test]
    fn a_picture_without_pixels_is_refused() {
        let pipeline = Pipeline::new(vec![scale(2, 2)]).expect("an order");
        let mut words = std::iter::empty();
        let (mut draw, mut scratch) = (Draw::from_words(&mut words), PipelineScratch::<f32>::default());
        let empty = View::new(&[], Size::new(0, 4, 3));
        assert!(pipeline.apply(empty, 0, &mut draw, &mut scratch).is_err());
    }
}
