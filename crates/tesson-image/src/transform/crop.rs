//! Cutting a rectangle out of an image, at random or not (spec/image.md §5).

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, Value,
    Words, options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::options::{OptionRefusal, SEED, limits, pair, reals, seed_if_given};
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, OpenSize, StepFacts};
use super::view::{Rect, Sides};
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<Crop>(
    "Crop",
    "Cuts a rectangle out of the image.",
    OpenTransform::Chained(image_transforms::open),
);

static CROPS: Words<CropKind, 4> = Words::new([
    ("Center", CropKind::Center),
    ("RandomSide", CropKind::Random),
    ("RandomArea", CropKind::Random),
    ("MultiView10", CropKind::MultiView10),
]);

/// The values of `jitterType`: true if ratios are drawn.
static JITTERS: Words<bool, 2> = Words::new([("None", false), ("UniRatio", true)]);

/// True if images are mirrored; the ten views always are, in part.
fn hflip(options: &Options<'_>, kind: CropKind) -> Result<bool, ConfigError> {
    match kind {
        CropKind::MultiView10 => Ok(false),
        CropKind::Center => Ok(options.bool_if_given("hflip")?.unwrap_or(false)),
        CropKind::Random => Ok(options.bool_if_given("hflip")?.unwrap_or(true)),
    }
}

/// The size that the options describe. Ratios are stored in single precision.
fn crop_size(options: &Options<'_>) -> Result<CropSize, ConfigError> {
    let (side, area) = (ratio(options, "sideRatio")?, ratio(options, "areaRatio")?);
    if side != [0.0; 2] && area != [0.0; 2] {
        return Err(ConfigError::refused(options.path("areaRatio"), &OptionRefusal::TwoRatios));
    }
    let single = |ratio: [f64; 2]| ratio.map(|x| x as f32);
    let [width, height] = pixels(options)?;
    Ok(match (width, height) {
        (1.., 1..) => CropSize::Pixels(width, height),
        _ if side != [0.0; 2] => CropSize::SideRatio(single(side)),
        _ if area != [0.0; 2] => CropSize::AreaRatio(single(area)),
        _ => CropSize::Whole,
    })
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(Crop::read(options, &())?, "crop"))
}

/// Width and height in pixels; 0 where ratios say them.
fn pixels(options: &Options<'_>) -> Result<[usize; 2], ConfigError> {
    let size = pair(options, "cropSize")?;
    let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x <= f64::from(i32::MAX);
    if !size.into_iter().all(whole) {
        return Err(ConfigError::refused(options.path("cropSize"), &OptionRefusal::CropSize));
    }
    Ok(size.map(|x| x as usize))
}

fn ratio(options: &Options<'_>, name: &str) -> Result<[f64; 2], ConfigError> {
    let [least, most] = pair(options, name)?;
    if [least, most] == [0.0; 2] || (0.0 < least && least <= most && most <= 1.0) {
        return Ok([least, most]);
    }
    let expected = "0 < smallest ≤ largest ≤ 1";
    Err(ConfigError::out_of_range(options.path(name), format!("`{least}:{most}`"), expected))
}

fn aspect(options: &Options<'_>) -> Result<[f64; 2], ConfigError> {
    let [least, most] = pair(options, "aspectRatio")?;
    if 0.0 < least && least <= most {
        return Ok([least, most]);
    }
    let expected = "0 < smallest ≤ largest";
    Err(ConfigError::out_of_range(options.path("aspectRatio"), format!("`{least}:{most}`"), expected))
}

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

impl CropKind {
    /// The word of identities.
    fn word(self) -> &'static str {
        match self {
            CropKind::Center => "center",
            CropKind::Random => "random",
            CropKind::MultiView10 => "views",
        }
    }
}

/// The size of the rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CropSize {
    /// As large as the image.
    Whole,
    /// Width and height in pixels, at most those of the image.
    Pixels(usize, usize),
    /// A square: the smallest and largest share of the shorter side.
    SideRatio([f32; 2]),
    /// A square: the smallest and largest share of the area.
    AreaRatio([f32; 2]),
}

impl CropSize {
    fn identify(self, identity: Identity) -> Identity {
        match self {
            CropSize::Whole => identity,
            CropSize::Pixels(width, height) => identity.field("size", format_args!("{width}:{height}")),
            CropSize::SideRatio(side) => identity.field("side", limits(side)),
            CropSize::AreaRatio(area) => identity.field("area", limits(area)),
        }
    }
}

options! {
    /// Cuts a rectangle out of an image, as CNTK 2.7 does.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Crop(options) {
        /// The position of the rectangle.
        pub kind: CropKind = "cropType" in CROPS, "Center"
            => "Position of the rectangle: in the middle, at random, or in each of ten views."
            [identity with |crop, text| text.word(crop.kind.word())];
        /// The size of the rectangle.
        pub size: CropSize = "cropSize": OptionKind::Numbers, "0"
            => "Width and height in pixels; 0 leaves it to the ratios."
            [read crop_size(options)?]
            [describe with |_, options, section| {
                section.push("cropSize", Value::List(pixels(options)?.map(|n| Value::Whole(n as i128)).into()));
                Ok(())
            }]
            [identity with |crop, text| crop.size.identify(text)];
        _ = "sideRatio": OptionKind::Numbers, "0"
            => "Smallest and largest share of the shorter side."
            [describe with |_, options, section| {
                section.push("sideRatio", reals(ratio(options, "sideRatio")?));
                Ok(())
            }];
        _ = "areaRatio": OptionKind::Numbers, "0"
            => "Smallest and largest share of the area."
            [describe with |_, options, section| {
                section.push("areaRatio", reals(ratio(options, "areaRatio")?));
                Ok(())
            }];
        /// The smallest and largest ratio of width to height, or of height to width.
        pub aspect_ratio: [f32; 2] = "aspectRatio": OptionKind::Numbers, "1"
            => "Smallest and largest ratio of width to height."
            [read aspect(options)?.map(|x| x as f32)]
            [describe with |_, options, section| {
                section.push("aspectRatio", reals(aspect(options)?));
                Ok(())
            }]
            [identity with |crop, text| text.field("aspect", limits(crop.aspect_ratio))];
        /// `true`: ratios are drawn evenly from the smallest to the largest; `false`: they are the smallest.
        pub jitter: bool = "jitterType" in JITTERS, "None"
            => "Choice of ratios: always the smallest (`None`), or drawn evenly from smallest to largest (`UniRatio`)."
            [identity flag "jitter"];
        /// True if half of the images, chosen at random, are mirrored.
        pub hflip: bool = "hflip", optional
            => "Mirror half of the images, at random; by default true for random crops."
            [read hflip(options, kind)?]
            [describe as |crop| Value::Bool(crop.hflip)]
            [identity flag "hflip"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

impl Crop {
    /// The rectangle of an image of this size, at least one pixel, and whether it is mirrored.
    pub fn rectangle(&self, of: Sides, copy: u32, random: &mut dyn Random) -> (Rect, bool) {
        let sides = match self.size {
            CropSize::Pixels(w, h) => Sides { width: w.min(of.width), height: h.min(of.height) },
            _ => self.sides(of, random),
        };
        let (width, height) = (sides.width.max(1), sides.height.max(1));
        let (right, bottom) = (of.width.saturating_sub(width), of.height.saturating_sub(height));
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
        (Rect { x, y, width, height }, mirrored)
    }

    /// The sides by the ratios. If none of ten tries fits, the whole image is taken.
    fn sides(&self, of: Sides, random: &mut dyn Random) -> Sides {
        let (width, height) = (of.width as f64, of.height as f64);
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
                return Sides { width: w as usize, height: h as usize };
            }
        }
        of
    }

    /// Ratios are stored in single precision and used in double.
    fn draw(&self, [least, most]: [f32; 2], random: &mut dyn Random) -> f64 {
        let (least, most) = (f64::from(least), f64::from(most));
        if self.jitter { random.real(least, most) } else { least }
    }

    /// Width and height of the result, if they are the same for all images of this size.
    pub fn output_size(&self, width: Option<usize>, height: Option<usize>) -> [Option<usize>; 2] {
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
                let sides = self.sides(Sides { width, height }, draw);
                [Some(sides.width.max(1)), Some(sides.height.max(1))]
            }
            _ => [None, None],
        }
    }
}

impl StepFacts for Crop {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn output(&self, [height, width, channels]: OpenSize) -> Result<OpenSize, TransformFault> {
        let [width, height] = self.output_size(width, height);
        Ok([height, width, channels])
    }

    fn draws(&self) -> bool {
        let has_ratio = !matches!(self.size, CropSize::Pixels(..));
        let is_upright = self.aspect_ratio == [1.0; 2];
        self.kind == CropKind::Random || self.hflip || has_ratio && (self.jitter || !is_upright)
    }
}

impl ApplyStep for Crop {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        let (rect, mirrored) = self.rectangle(canvas.size().sides(), canvas.copy(), random);
        canvas.cut(rect);
        if mirrored {
            canvas.mirror();
        }
        Ok(())
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
            let (rect, _) = crop.rectangle(
                Sides { width: 640, height: 480 },
                0,
                &mut tesson_core::Draw::from_words(&mut words),
            );
            (rect.width, rect.height)
        };
        assert_eq!([side(0), side(u32::MAX)], [(191, 300), (300, 191)]);
    }

    #[test]
    fn random_rectangles_are_those_of_the_reference() {
        let crop = Crop { kind: CropKind::Random, hflip: true, ..CROP };
        let mut random = CntkRandom::new(vec![0]);
        let mut next = || {
            let (rect, mirrored) = crop.rectangle(Sides { width: 40, height: 36 }, 0, &mut random);
            (rect.x, rect.y, mirrored)
        };
        let found = [next(), next(), next(), next()];
        assert_eq!(found, [(12, 11, false), (19, 11, false), (12, 16, true), (14, 12, true)]);
    }

    #[test]
    fn a_share_in_single_precision_may_be_a_pixel_less() {
        let crop = Crop { size: CropSize::SideRatio([0.7; 2]), ..CROP };
        let (rect, _) = crop.rectangle(Sides { width: 30, height: 25 }, 0, &mut CntkRandom::new(vec![0]));
        assert_eq!(rect, Rect { x: 6, y: 4, width: 17, height: 17 });
        assert_eq!(crop.output_size(Some(30), Some(25)), [Some(17); 2]);
        assert_eq!(crop.output_size(None, Some(25)), [None; 2]);
    }

    #[test]
    fn a_rectangle_has_at_least_a_pixel() {
        let crop = Crop { size: CropSize::SideRatio([0.01; 2]), ..CROP };
        let (rect, _) = crop.rectangle(Sides { width: 3, height: 3 }, 0, &mut CntkRandom::new(vec![0]));
        assert_eq!(rect, Rect { x: 1, y: 1, width: 1, height: 1 });
    }
}
