//! Pixels in memory: rows from the top, the values of a pixel adjacent.

/// Rows, pixels of a row, values of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
}

/// The height and the width of an image, which functions of both could take in either order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Rows.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
}

impl Sides {
    /// The sides of the image turned by a quarter.
    pub fn swapped(self) -> Sides {
        Sides { height: self.width, width: self.height }
    }
}

impl Size {
    /// A size.
    pub fn new(height: usize, width: usize, channels: usize) -> Size {
        Size { height, width, channels }
    }

    /// The height and the width.
    pub fn sides(self) -> Sides {
        Sides { height: self.height, width: self.width }
    }

    /// The number of values.
    pub fn values(self) -> usize {
        self.height * self.width * self.channels
    }
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// The leftmost column.
    pub x: usize,
    /// The topmost row.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A rectangle of an image in memory, possibly mirrored: cutting and mirroring copy nothing.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// The values, beginning with the first one of the rectangle.
    values: &'a [T],
    size: Size,
    /// Values from one row to the next.
    stride: usize,
    mirrored: bool,
}

impl<'a, T: Copy + Default> View<'a, T> {
    /// A whole image.
    ///
    /// # Panics
    /// If the values do not fill the size.
    pub fn new(values: &'a [T], size: Size) -> View<'a, T> {
        assert_eq!(values.len(), size.values(), "the values of an image fill its size");
        View { values, size, stride: size.width * size.channels, mirrored: false }
    }

    /// Its size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// A rectangle of it.
    ///
    /// # Panics
    /// If the rectangle is not within the image.
    #[must_use]
    pub fn cut(self, rect: Rect) -> View<'a, T> {
        let Size { height, width, channels } = self.size;
        assert!(
            rect.x + rect.width <= width && rect.y + rect.height <= height,
            "{rect:?} of {:?}",
            self.size
        );
        let x = if self.mirrored { width - rect.x - rect.width } else { rect.x };
        let first = (rect.y * self.stride + x * channels).min(self.values.len());
        let size = Size::new(rect.height, rect.width, channels);
        View { values: &self.values[first..], size, ..self }
    }

    /// Mirrors the view, so that rows run from right to left.
    #[must_use]
    pub fn mirrored(self) -> View<'a, T> {
        View { mirrored: !self.mirrored, ..self }
    }

    /// True if the pixels of [`View::stored_row`] are to be read from right to left.
    pub(super) fn is_mirrored(&self) -> bool {
        self.mirrored
    }

    /// The values of a row as they are stored. The slice extends beyond the row to the end of the image.
    pub(super) fn stored_row(&self, y: usize) -> &'a [T] {
        &self.values[y * self.stride..]
    }

    /// Passes the rows from the top, each as it is seen.
    pub(super) fn each_row(&self, buffer: &mut Vec<T>, mut take: impl FnMut(usize, &[T])) {
        for y in 0..self.size.height {
            take(y, self.row(y, buffer));
        }
    }

    /// A row as it is seen, which `buffer` holds if it is mirrored.
    pub(super) fn row<'b>(&self, y: usize, buffer: &'b mut Vec<T>) -> &'b [T]
    where
        'a: 'b,
    {
        let row = &self.stored_row(y)[..self.size.width * self.size.channels];
        if !self.mirrored {
            return row;
        }
        buffer.clear();
        for pixel in row.chunks_exact(self.size.channels).rev() {
            buffer.extend_from_slice(pixel);
        }
        buffer
    }

    /// Appends the values to `out`, each converted.
    pub(super) fn append_to<U>(&self, buffer: &mut Vec<T>, out: &mut Vec<U>, convert: impl Fn(T) -> U) {
        out.reserve(self.size.values());
        self.each_row(buffer, |_, row| out.extend(row.iter().map(|&value| convert(value))));
    }

    /// Appends the values to `out` with channels first, each converted by the function for its channel.
    pub(super) fn append_transposed_to<U>(
        &self,
        line: &mut Vec<T>,
        out: &mut Vec<U>,
        convert: impl Fn(usize, T) -> U,
    ) {
        let Size { height, width, channels } = self.size;
        out.reserve(self.size.values());
        line.resize(width, T::default());
        for channel in 0..channels {
            for y in 0..height {
                let row = &self.stored_row(y)[..width * channels];
                match channels {
                    1 => pick::<T, 1>(row, channel, line),
                    3 => pick::<T, 3>(row, channel, line),
                    4 => pick::<T, 4>(row, channel, line),
                    _ => line
                        .iter_mut()
                        .zip(row.iter().skip(channel).step_by(channels))
                        .for_each(|(to, from)| *to = *from),
                }
                if self.mirrored {
                    line.reverse();
                }
                out.extend(line.iter().map(|&value| convert(channel, value)));
            }
        }
    }
}

/// Copies one channel of a row.
#[inline(never)]
fn pick<T: Copy, const C: usize>(row: &[T], channel: usize, line: &mut [T]) {
    for (pixel, to) in row.as_chunks::<C>().0.iter().zip(line) {
        *to = pixel[channel];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(view: View<'_, u8>) -> Vec<u8> {
        let mut out = Vec::new();
        view.append_to(&mut Vec::new(), &mut out, |v| v);
        out
    }

    #[test]
    fn a_mirrored_image_is_cut_as_it_is_seen() {
        let pixels: Vec<u8> = (0..12).collect();
        let view = View::new(&pixels, Size::new(3, 4, 1));
        let rect = Rect { x: 0, y: 1, width: 2, height: 2 };
        assert_eq!(values(view.cut(rect)), [4, 5, 8, 9]);
        assert_eq!(values(view.mirrored().cut(rect)), [7, 6, 11, 10]);
        assert_eq!(values(view.cut(rect).mirrored()), [5, 4, 9, 8]);
        assert_eq!(values(view.mirrored().mirrored()), pixels);
    }

    #[test]
    fn channels_come_first_when_transposed() {
        for channels in [1, 2, 3] {
            let pixels: Vec<u8> = (0..4 * channels as u8).collect();
            let mut out = Vec::new();
            let view = View::new(&pixels, Size::new(2, 2, channels));
            view.append_transposed_to(&mut Vec::new(), &mut out, |_, value| i32::from(value));
            let expected = (0..channels).flat_map(|c| (0..4).map(move |p| (p * channels + c) as i32));
            assert_eq!(out, expected.collect::<Vec<_>>());
            out.clear();
            let doubled = |channel: usize, value: u8| (channel, i32::from(value));
            let mut of_channels = Vec::new();
            view.mirrored().append_transposed_to(&mut Vec::new(), &mut of_channels, doubled);
            let mirrored = |p: usize| [1, 0, 3, 2][p];
            let expected =
                (0..channels).flat_map(|c| (0..4).map(move |p| (c, (mirrored(p) * channels + c) as i32)));
            assert_eq!(of_channels, expected.collect::<Vec<_>>());
        }
    }
}
