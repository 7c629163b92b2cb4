//! Samples on a terminal: images as small pictures, other arrays by their shape and first values.

use std::fmt::Write;
use std::io::{IsTerminal, stdout};

use tesson::{Minibatch, SampleValue, Samples, SourceConfig, StreamBatch};
use tesson_report::text::{dims, number, shortened};
use tesson_report::{Picture, is_blue_first};

use crate::args::{Color, PictureArgs};
use crate::output::Output;

/// Columns of a picture by itself, and of one beside others; a row of text has two pixels above each other.
const ALONE: usize = 32;
const BESIDE: usize = 14;

/// Pictures in a row.
const IN_A_ROW: usize = 5;

/// Values and characters of a sample that are shown.
const VALUES: usize = 12;
const CHARACTERS: usize = 100;

/// Shades of a pixel where colours are not wanted, from dark to light.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// How samples are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pictures: bool,
    colors: bool,
}

impl Terminal {
    /// The way that the arguments and the environment ask for; `None` where standard output is no terminal, whose reader wants all values.
    pub(crate) fn of(args: PictureArgs, out: &Output) -> Option<Terminal> {
        let is_terminal = stdout().is_terminal();
        if out.is_json() || !is_terminal && args.color != Color::Always {
            return None;
        }
        let wants_none = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colors = match args.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                !wants_none("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Some(Terminal { pictures: !args.no_pictures, colors })
    }

    /// The lines that show a sample.
    pub(crate) fn sample(self, batch: &StreamBatch, sample: usize, config: &SourceConfig) -> Vec<String> {
        let mut lines = Vec::new();
        if self.pictures {
            let is_blue_first = is_blue_first(config, &batch.info().name);
            let picture = Picture::of_sample(batch, sample, is_blue_first, ALONE);
            lines.extend(picture.iter().flat_map(|picture| self.lines(std::slice::from_ref(picture))));
        }
        lines.push(values(batch, sample));
        lines
    }

    /// The lines that show the first images of a minibatch side by side; none if it has none.
    pub(crate) fn images(self, minibatch: &Minibatch, config: &SourceConfig) -> Vec<String> {
        let pictures = |batch: &StreamBatch| -> Vec<Picture> {
            let is_blue_first = is_blue_first(config, &batch.info().name);
            let picture = |sample| Picture::of_sample(batch, sample, is_blue_first, BESIDE);
            (0..batch.n_samples().min(IN_A_ROW)).map_while(picture).collect()
        };
        let pictures = minibatch.streams().iter().map(pictures).find(|pictures| !pictures.is_empty());
        pictures.filter(|_| self.pictures).map_or_else(Vec::new, |pictures| self.lines(&pictures))
    }

    /// Pictures side by side.
    fn lines(self, pictures: &[Picture]) -> Vec<String> {
        let rows = pictures.iter().map(|picture| picture.height).max().unwrap_or(0).div_ceil(2);
        let line = |row: usize| {
            let mut line = String::new();
            for (i, picture) in pictures.iter().enumerate() {
                line.push_str(if i == 0 { "" } else { " " });
                (0..picture.width).for_each(|x| self.put(picture, 2 * row, x, &mut line));
            }
            line
        };
        (0..rows).map(line).collect()
    }

    /// Appends two pixels above each other.
    fn put(self, picture: &Picture, y: usize, x: usize, line: &mut String) {
        let pixel = |y: usize| (y < picture.height).then(|| picture.pixel(y, x));
        match (pixel(y), pixel(y + 1), self.colors) {
            (None, _, _) => line.push(' '),
            (Some([r, g, b]), None, true) => {
                write!(line, "\x1b[38;2;{r};{g};{b}m▀\x1b[0m").expect("a string takes any text");
            }
            (Some([r, g, b]), Some([s, h, c]), true) => {
                write!(line, "\x1b[38;2;{r};{g};{b};48;2;{s};{h};{c}m▀\x1b[0m")
                    .expect("a string takes any text");
            }
            (Some(above), below, false) => {
                let light = |pixel: [u8; 3]| pixel.iter().map(|&v| usize::from(v)).sum::<usize>();
                let sum = light(above) + below.map_or(light(above), light);
                line.push(SHADES[sum * SHADES.len() / (6 * 256)]);
            }
        }
    }
}

/// The shape of a sample and its first values.
fn values(batch: &StreamBatch, sample: usize) -> String {
    let info = batch.info();
    let dim = info.shape.len();
    let (shape, range) = match batch.samples() {
        Samples::Dense { .. } => (dims(info.shape.dims()), sample * dim..(sample + 1) * dim),
        Samples::Sparse { indptr, .. } => {
            (dims(info.shape.dims()), indptr[sample] as usize..indptr[sample + 1] as usize)
        }
        Samples::Ragged { .. } => match batch.ragged_sample(sample) {
            Some((shape, range)) => (dims(shape), range),
            None => return String::new(),
        },
    };
    let value = |i: usize| {
        let value = match batch.samples().values().value(i) {
            SampleValue::Text(text) => format!("{text:?}"),
            SampleValue::Bytes(bytes) => format!("{} bytes", bytes.len()),
            SampleValue::Bool(value) => value.to_string(),
            SampleValue::Whole(value) => value.to_string(),
            other => number(other.rounded()),
        };
        match batch.samples() {
            Samples::Sparse { indices, .. } => format!("{}:{value}", indices[i]),
            _ => value,
        }
    };
    let shown: Vec<String> = range.clone().take(VALUES).map(value).collect();
    let more = if range.len() > VALUES { " …" } else { "" };
    let shape = if dim == 1 && range.len() == 1 { String::new() } else { format!("[{shape}] ") };
    format!("{shape}{}", shortened(&(shown.join(" ") + more), CHARACTERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_two_pixels_above_each_other_in_a_column() {
        let picture = Picture { width: 2, height: 3, pixels: (0..18).map(|i| i * 14).collect() };
        let [plain, colored] = [false, true]
            .map(|colors| Terminal { pictures: true, colors }.lines(&[picture.clone(), picture.clone()]));
        // Of 1,530: 336 and 588; in the last row, which has no pixels below, twice 546 and twice 672.
        assert_eq!(plain, ["░░ ░░", "▓█ ▓█"]);
        assert_eq!(colored.len(), 2);
        assert!(colored[0].starts_with("\x1b[38;2;0;14;28;48;2;84;98;112m▀\x1b[0m"), "{:?}", colored[0]);
    }
}
