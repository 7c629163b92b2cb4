//! An image on its way through a pipeline, and the memory that it uses.
//!
//! An image stays in 8 bits until a step needs floating-point numbers. Cutting and mirroring copy nothing: a frame says
//! which part is seen, and the next step that reads pixels reads only that. Whatever writes pixels leaves a whole frame.

use super::axis::Interpolation;
use super::fault::TransformFault;
use super::normalize::Normalize;
use super::real::Real;
use super::resize::{ResizeScratch, Value};
use super::scale::Scale;
use super::view::{Rect, Size, View};

/// Memory that pipelines reuse from one image to the next.
#[derive(Debug, Default)]
pub struct PipelineScratch<F: Value> {
    bytes: Buffers<u8>,
    reals: Buffers<F>,
}

/// An image, another one that is made of it, and a row.
#[derive(Debug, Default)]
struct Buffers<T: Value> {
    image: Vec<T>,
    next: Vec<T>,
    row: Vec<T>,
    resize: ResizeScratch<T>,
}

/// The part of the current image that is seen.
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

    /// Cuts out a part of what is seen.
    fn cut(&mut self, rect: Rect) {
        let x = if self.mirrored { self.rect.width - rect.x - rect.width } else { rect.x };
        self.rect = Rect { x: self.rect.x + x, y: self.rect.y + rect.y, ..rect };
    }

    /// The part of a whole image that is seen.
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

/// The buffer that holds the current image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The caller's.
    Given,
    /// The one of 8-bit values.
    Bytes,
    /// The one of floating-point numbers.
    Reals,
}

impl Stage {
    /// The seen part of an image in 8 bits: of the given one or the held one.
    fn bytes<'v>(self, frame: Frame, given: View<'v, u8>, held: &'v [u8]) -> View<'v, u8> {
        frame.of(if self == Stage::Given { given } else { View::new(held, frame.size) })
    }
}

/// An image on its way through a pipeline.
pub struct Canvas<'a, F: Value> {
    scratch: &'a mut PipelineScratch<F>,
    image: View<'a, u8>,
    copy: u32,
    stage: Stage,
    frame: Frame,
}

/// The image that steps have made.
pub(super) enum Made<'a, F> {
    /// In 8 bits.
    Bytes(View<'a, u8>),
    /// In floating-point numbers.
    Reals(View<'a, F>),
}

impl<'a, F: Real> Canvas<'a, F> {
    /// Starts with an image in 8 bits, which is one of several copies.
    pub(super) fn new(image: View<'a, u8>, copy: u32, scratch: &'a mut PipelineScratch<F>) -> Canvas<'a, F> {
        Canvas { scratch, image, copy, stage: Stage::Given, frame: Frame::whole(image.size()) }
    }

    /// The result of the steps applied so far.
    pub(super) fn finish(self) -> Made<'a, F> {
        let Canvas { scratch, image, stage, frame, .. } = self;
        match stage {
            Stage::Reals => Made::Reals(frame.of(View::new(&scratch.reals.image, frame.size))),
            _ => Made::Bytes(stage.bytes(frame, image, &scratch.bytes.image)),
        }
    }

    /// The number of the image among the copies of its sequence, for crops of several views.
    pub(super) fn copy(&self) -> u32 {
        self.copy
    }

    /// The size of what is seen.
    pub(super) fn size(&self) -> Size {
        self.frame.seen()
    }

    /// True where the image has floating-point numbers.
    pub(super) fn is_real(&self) -> bool {
        self.stage == Stage::Reals
    }

    /// Leaves a rectangle of what is seen.
    pub(super) fn cut(&mut self, rect: Rect) {
        self.frame.cut(rect);
    }

    /// Mirrors what is seen, left to right.
    pub(super) fn mirror(&mut self) {
        self.frame.mirrored ^= true;
    }

    /// Normalizes the image.
    ///
    /// # Errors
    /// Another number of channels than there are means.
    pub(super) fn normalize(&mut self, normalize: &Normalize) -> Result<(), TransformFault> {
        if self.stage == Stage::Reals {
            let (size, values) = self.reals();
            return normalize.apply_to(size.channels, values);
        }
        let PipelineScratch { bytes, reals } = &mut *self.scratch;
        reals.image.clear();
        let Buffers { image, row, .. } = bytes;
        let view = self.stage.bytes(self.frame, self.image, image);
        normalize.check(view.size().channels)?;
        normalize.append_to(view, row, &mut reals.image);
        (self.stage, self.frame) = (Stage::Reals, Frame::whole(self.frame.seen()));
        Ok(())
    }

    /// Resizes the image.
    ///
    /// # Errors
    /// Another number of channels than declared.
    pub(super) fn resize(&mut self, scale: &Scale, how: Interpolation) -> Result<(), TransformFault> {
        let PipelineScratch { bytes, reals } = &mut *self.scratch;
        let size = match self.stage {
            Stage::Reals => {
                let Buffers { image, next, resize, .. } = reals;
                let view = self.frame.of(View::new(image, self.frame.size));
                let size = scale.resize(view, how, resize, next)?;
                std::mem::swap(image, next);
                size
            }
            stage => {
                let Buffers { image, next, resize, .. } = bytes;
                let view = stage.bytes(self.frame, self.image, image);
                let size = scale.resize(view, how, resize, next)?;
                std::mem::swap(image, next);
                self.stage = Stage::Bytes;
                size
            }
        };
        self.frame = Frame::whole(size);
        Ok(())
    }

    /// Replaces the image in 8 bits by one of the same size; `make` is given the old values and the vector to fill.
    pub(super) fn replace_bytes(&mut self, make: impl FnOnce(Size, &[u8], &mut Vec<u8>)) {
        let (size, _) = self.bytes();
        let Buffers { image, next, .. } = &mut self.scratch.bytes;
        make(size, image, next);
        std::mem::swap(image, next);
    }

    /// Replaces the image in floating-point numbers, as [`Canvas::replace_bytes`] does.
    pub(super) fn replace_reals(&mut self, make: impl FnOnce(Size, &[F], &mut Vec<F>)) {
        let (size, _) = self.reals();
        let Buffers { image, next, .. } = &mut self.scratch.reals;
        make(size, image, next);
        std::mem::swap(image, next);
    }

    /// The current image in 8 bits, which is not in floating-point numbers yet; all of it is seen.
    pub(super) fn bytes(&mut self) -> (Size, &mut [u8]) {
        let Buffers { image, next, row, .. } = &mut self.scratch.bytes;
        if self.stage == Stage::Given || !self.frame.is_whole() {
            next.clear();
            self.stage.bytes(self.frame, self.image, image).append_to(row, next, |value| value);
            std::mem::swap(image, next);
        }
        (self.stage, self.frame) = (Stage::Bytes, Frame::whole(self.frame.seen()));
        (self.frame.size, image)
    }

    /// The current image in floating-point numbers, all of which are seen.
    pub(super) fn reals(&mut self) -> (Size, &mut [F]) {
        let PipelineScratch { bytes, reals } = &mut *self.scratch;
        let Buffers { image, next, row, .. } = reals;
        if self.stage != Stage::Reals {
            image.clear();
            let Buffers { image: held, row, .. } = bytes;
            self.stage.bytes(self.frame, self.image, held).append_to(row, image, F::from);
        } else if !self.frame.is_whole() {
            next.clear();
            self.frame.of(View::new(image, self.frame.size)).append_to(row, next, |value| value);
            std::mem::swap(image, next);
        }
        (self.stage, self.frame) = (Stage::Reals, Frame::whole(self.frame.seen()));
        (self.frame.size, image)
    }
}
