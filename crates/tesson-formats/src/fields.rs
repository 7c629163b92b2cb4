//! Decimals between delimiters, read by the kernels of the text format.

use crate::ctf::{Kernel, Real, ordinary};

/// A column of the fields of rows.
///
/// `bounds` has `stride` positions for each row: where each field begins, and one beyond the end of the last one. A field ends before
/// the byte in front of the next one, which is its delimiter.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// The text.
    pub text: &'a [u8],
    /// Where fields begin.
    pub bounds: &'a [u32],
    /// Positions for each row.
    pub stride: usize,
    /// The number of the column.
    pub column: usize,
}

impl<'a> Fields<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bounds.len() / self.stride
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// The field of a row.
    pub fn get(&self, row: usize) -> &'a [u8] {
        let (start, end) = self.place(row);
        &self.text[start..end]
    }

    /// Some of the rows.
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Fields<'a> {
        Fields { bounds: &self.bounds[rows.start * self.stride..rows.end * self.stride], ..*self }
    }

    #[inline]
    fn place(&self, row: usize) -> (usize, usize) {
        let at = row * self.stride + self.column;
        (self.bounds[at] as usize, (self.bounds[at + 1] as usize).saturating_sub(1))
    }

    /// Appends the values of the rows, up to the first that has none.
    #[inline(always)]
    pub(crate) fn append<E: Real>(
        self,
        values: &mut Vec<E>,
        ordinary: impl Fn(&[u8], usize, usize) -> Option<E>,
    ) {
        values.reserve(self.len());
        for row in 0..self.len() {
            let (start, end) = self.place(row);
            match ordinary(self.text, start, end).or_else(|| odd(&self.text[start..end])) {
                Some(value) => values.push(value),
                None => return,
            }
        }
    }
}

/// The number that a text is in the standard library's grammar, with spaces around it.
#[inline(never)]
fn odd<E: Real>(text: &[u8]) -> Option<E> {
    rare(text.trim_ascii())
}

/// The nearest 32-bit float to the number that a text is in the standard library's grammar.
#[inline]
pub fn single(text: &[u8]) -> Option<f32> {
    ordinary(text, 0, text.len()).or_else(|| rare(text))
}

/// Like [`single`], as a 64-bit float.
#[inline]
pub fn double(text: &[u8]) -> Option<f64> {
    ordinary(text, 0, text.len()).or_else(|| rare(text))
}

#[inline(never)]
fn rare<E: Real>(text: &[u8]) -> Option<E> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The fastest way to read fields.
#[derive(Clone, Copy, Debug)]
pub struct FieldKernel(Kernel);

impl FieldKernel {
    /// The fastest way on this processor.
    pub fn detect() -> FieldKernel {
        FieldKernel(Kernel::best())
    }

    /// Appends the nearest 32-bit floats to the fields of a column, up to the first that is no number to the standard library.
    pub fn append_singles(self, fields: Fields<'_>, values: &mut Vec<f32>) {
        self.0.append_fields(fields, values);
    }

    /// Like [`FieldKernel::append_singles`], as 64-bit floats.
    pub fn append_doubles(self, fields: Fields<'_>, values: &mut Vec<f64>) {
        self.0.append_fields(fields, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads words with each kernel, and checks that it finds what the standard library does.
    fn check(words: &[&str]) {
        let text = words.iter().map(|word| format!("{word},")).collect::<String>();
        let mut bounds = vec![0];
        words.iter().for_each(|word| bounds.push(bounds[bounds.len() - 1] + word.len() as u32 + 1));
        for kernel in Kernel::all().into_iter().map(FieldKernel) {
            for (column, word) in words.iter().enumerate() {
                let fields = Fields { text: text.as_bytes(), bounds: &bounds, stride: bounds.len(), column };
                assert_eq!(fields.get(0), word.as_bytes());
                let (mut singles, mut doubles) = (Vec::new(), Vec::new());
                kernel.append_singles(fields, &mut singles);
                kernel.append_doubles(fields, &mut doubles);
                let bits = |values: &[f32]| values.first().map(|x| x.to_bits());
                let expected: Vec<f32> = word.trim_ascii().parse().into_iter().collect();
                assert_eq!(bits(&singles), bits(&expected), "{kernel:?} {word}");
                let bits = |values: &[f64]| values.first().map(|x| x.to_bits());
                let expected: Vec<f64> = word.trim_ascii().parse().into_iter().collect();
                assert_eq!(bits(&doubles), bits(&expected), "{kernel:?} {word}");
            }
        }
        for word in words {
            let bits = (single(word.as_bytes()).map(f32::to_bits), double(word.as_bytes()).map(f64::to_bits));
            let expected = (word.parse().ok().map(f32::to_bits), word.parse().ok().map(f64::to_bits));
            assert_eq!(bits, expected, "{word}");
        }
    }

    #[test]
    fn fields_are_the_numbers_that_the_standard_library_reads() {
        check(&[
            "", "-", ".5", "-.5", "+1", "1e3", "nan", "inf", " 1", "1 ", "1.2.3", "1-2", "--1", "x", "-1x",
            ".",
        ]);
        check(&[
            "1.2345e-02",
            "-1.5E+03",
            "1.e-05",
            "9e+05",
            "1e-00",
            "123456789012345e-10",
            "1.000000000000000000e-01",
            "-e+05",
            "e-05",
            "1.5e+0x",
            "16777217e+00",
            "1.6777217e+07",
            "9.9e+99",
            "1e-45",
            "-4.9e-46",
        ]);
        check(&["0", "-0", "7", "-12.5", "5.", "1023.9990234375", "123456789.123456", "9007199254740993"]);
        check(&[
            "12345678901234567890",
            "0.1234567890123456789012",
            "1.000000059604644775390626",
            "-0.0",
            "16777217",
        ]);
    }

    #[test]
    fn random_decimals_are_rounded_as_the_standard_library_does() {
        let mut state = 1_u64;
        let word = |i: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let digits = (state >> 8) >> (i % 50);
            let places = (state & 15) as usize;
            let text = format!("{digits:0>w$}", w = places + 1);
            let (whole, fraction) = text.split_at(text.len() - places);
            format!("{}{whole}{}{fraction}", ["", "-"][state as usize >> 4 & 1], ["", "."][places.min(1)])
        };
        let words: Vec<String> = (0..2000).map(word).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.chunks(50).for_each(check);
    }

    #[test]
    fn a_column_is_read_up_to_the_first_field_that_is_no_number() {
        let text = b"1,2.5\n3,4\n5,six\n7,8\n";
        let bounds = [0, 2, 6, 6, 8, 10, 10, 12, 16, 16, 18, 20];
        let column = |column| Fields { text, bounds: &bounds, stride: 3, column };
        let (mut first, mut second) = (vec![0.0], vec![0.0]);
        FieldKernel::detect().append_doubles(column(0), &mut first);
        FieldKernel::detect().append_singles(column(1), &mut second);
        assert_eq!((first, second), (vec![0.0, 1.0, 3.0, 5.0, 7.0], vec![0.0, 2.5, 4.0]));
        assert_eq!(
            (column(1).get(2), column(1).rows(3..4).get(0), column(0).len()),
            (&b"six"[..], &b"8"[..], 4)
        );
    }
}
