//! `Crop`: cuts a rectangle out of a picture (spec/image.md §5).

use super::random::Random;
use super::view::Rect;

/// The position of the rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CropKind {
    /// In the middle.
    Center,
    /// Anywhere.
    Random,
    /// In one of the four corners or the middle, mirrored or not; the number of the copy selects one of these.
    MultiView10,
}

/// The size of the rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CropSize {
    /// As large as the picture.
    Whole,
    /// Width and height in pixels, at most those of the picture.
    Pixels(usize, usize),
    /// A square: the smallest and largest share of the shorter side.
    SideRatio([f32; 2]),
    /// A square: the smallest and largest share of the area.
    AreaRatio([f32; 2]),
}

/// Cuts a rectangle out of a picture, as CNTK 2.7 does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crop {
    /// The position of the rectangle.
    pub kind: CropKind,
    /// The size of the rectangle.
    pub size: CropSize,
    /// The smallest and largest ratio of width to height, or of height to width.
    pub aspect_ratio: [f32; 2],
    /// `true`: ratios are drawn evenly from the smallest to the largest; `false`: they are the smallest.
    pub jitter: bool,
    /// True if half of the pictures, chosen at random, are mirrored.
    pub hflip: bool,
}

impl Crop {
    /// The rectangle of a picture of this size, at least one pixel, and whether it is mirrored.
    pub fn rectangle(
        &self,
        (width, height): (usize, usize),
        copy: u32,
        random: &mut dyn Random,
    ) -> (Rect, bool) {
        let (w, h) = match self.size {
            CropSize::Pixels(w, h) => (w.min(width), h.min(height)),
            _ => self.sides((width as f64, height as f64), random),
        };
        let (w, h) = (w.max(1), h.max(1));
        let (right, bottom) = (width.saturating_sub(w), height.saturating_sub(h));
        let (x, y) = match (self.kind, copy % 5) {
            (CropKind::Random, _) => {
                let x = random.integer(0, right as i64);
                (x as usize, random.integer(0, bottom as i64) as usize)
            }
            (CropKind::MultiView10, 0) => (0, 0),
            (CropKind::MultiView10, 1) => (right, 0),
            (CropKind::MultiView10, 2) => (0, bottom),
            (CropKind::MultiView10, 3) => (right, bottom),
            _ => (right / 2, bottom / 2),
        };
        let mirrored = match self.kind {
            CropKind::MultiView10 => copy % 10 >= 5,
            _ => self.hflip && random.coin(),
        };
        (Rect { x, y, width: w, height: h }, mirrored)
    }

    /// True if random numbers may be drawn.
    pub(super) fn draws(&self) -> bool {
        let has_ratio = !matches!(self.size, CropSize::Pixels(..));
        let is_upright = self.aspect_ratio == [1.0; 2];
        self.kind == CropKind::Random || self.hflip || has_ratio && (self.jitter || !is_upright)
    }

    /// Width and height by the ratios. If none of ten tries fits, the whole picture is taken.
    fn sides(&self, (width, height): (f64, f64), random: &mut dyn Random) -> (usize, usize) {
        let (mut w, mut h) = (width, height);
        for _ in 0..10 {
            match self.size {
                CropSize::SideRatio(ratio) => {
                    w = (width.min(height) * self.draw(ratio, random)).round();
                    h = w;
                }
                CropSize::AreaRatio(ratio) => {
                    w = (height * width * self.draw(ratio, random)).sqrt().round();
                    h = w;
                }
                _ => {}
            }
            let aspect = self.draw(self.aspect_ratio, random);
            if aspect != 1.0 {
                let area = w * h;
                let (long, short) = ((area * aspect).sqrt().trunc(), (area / aspect).sqrt().trunc());
                (w, h) = if random.coin() { (long, short) } else { (short, long) };
            }
            if w <= width && h <= height {
                return (w as usize, h as usize);
            }
        }
        (width as usize, height as usize)
    }

    /// Ratios are stored in single precision and used in double.
    fn draw(&self, [least, most]: [f32; 2], random: &mut dyn Random) -> f64 {
        let (least, most) = (f64::from(least), f64::from(most));
        if self.jitter { random.real(least, most) } else { least }
    }

    /// Width and height of the result, if they are the same for all pictures of this size.
    pub fn output(&self, width: Option<usize>, height: Option<usize>) -> [Option<usize>; 2] {
        let fixed = |[least, most]: [f32; 2]| !self.jitter || least == most;
        let ratio = match self.size {
            CropSize::Pixels(w, h) => return [width.map(|n| n.min(w)), height.map(|n| n.min(h))],
            CropSize::Whole => [1.0; 2],
            CropSize::SideRatio(ratio) | CropSize::AreaRatio(ratio) => ratio,
        };
        match width.zip(height) {
            Some((width, height)) if fixed(ratio) && self.aspect_ratio == [1.0; 2] => {
                let nothing = &mut std::iter::empty();
                let draw = &mut tesson_core::Draw::from_words(nothing);
                let (w, h) = self.sides((width as f64, height as f64), draw);
                [Some(w.max(1)), Some(h.max(1))]
            }
            _ => [None, None],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::CntkRandom;
    use super::*;

    const CROP: Crop = Crop {
        kind: CropKind::Center,
        size: CropSize::SideRatio([0.5; 2]),
        aspect_ratio: [1.0; 2],
        jitter: false,
        hflip: false,
    };

    #[test]
    fn the_example_of_the_specification() {
        let crop = Crop { aspect_ratio: [0.64; 2], ..CROP };
        let side = |word: u32| {
            let mut words = [word].into_iter();
            let (rect, _) = crop.rectangle((640, 480), 0, &mut tesson_core::Draw::from_words(&mut words));
            (rect.width, rect.height)
        };
        assert_eq!([side(0), side(u32::MAX)], [(191, 300), (300, 191)]);
    }

    #[test]
    fn random_rectangles_are_those_of_the_reference() {
        let crop = Crop { kind: CropKind::Random, hflip: true, ..CROP };
        let mut random = CntkRandom::new(vec![0]);
        let mut next = || {
            let (rect, mirrored) = crop.rectangle((40, 36), 0, &mut random);
            (rect.x, rect.y, mirrored)
        };
        let found = [next(), next(), next(), next()];
        assert_eq!(found, [(12, 11, false), (19, 11, false), (12, 16, true), (14, 12, true)]);
    }

    #[test]
    fn a_share_in_single_precision_may_be_a_pixel_less() {
        let crop = Crop { size: CropSize::SideRatio([0.7; 2]), ..CROP };
        let (rect, _) = crop.rectangle((30, 25), 0, &mut CntkRandom::new(vec![0]));
        assert_eq!(rect, Rect { x: 6, y: 4, width: 17, height: 17 });
        assert_eq!(crop.output(Some(30), Some(25)), [Some(17); 2]);
        assert_eq!(crop.output(None, Some(25)), [None; 2]);
    }

    #[test]
    fn a_rectangle_has_at_least_a_pixel() {
        let crop = Crop { size: CropSize::SideRatio([0.01; 2]), ..CROP };
        let (rect, _) = crop.rectangle((3, 3), 0, &mut CntkRandom::new(vec![0]));
        assert_eq!(rect, Rect { x: 1, y: 1, width: 1, height: 1 });
    }
}
