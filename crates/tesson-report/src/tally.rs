//! Counting the values of a stream as they come.

use std::collections::BTreeMap;

use tesson::{SampleValues, Samples, StreamBatch, StreamInfo};

use crate::classes::ClassTally;
use crate::figures::{Histogram, StreamFigures, StringFigures, Suspicion};
use crate::text::{count, counted, number};

/// Values of which histograms are made: evenly spaced ones of more.
const KEPT_VALUES: usize = 1 << 17;

/// Columns whose smallest and largest values are kept, at most.
const MOST_COLUMNS: usize = 1 << 16;

/// Bins of a histogram.
const BINS: usize = 40;

/// Standard deviations from the mean beyond which a value is far outside.
const FAR_OUTSIDE: f64 = 12.0;

/// A value that is kept with the key of its example.
#[derive(Clone, Debug, Default)]
struct Extreme {
    value: f64,
    key: String,
}

/// The counts of a stream so far.
pub(crate) struct StreamTally {
    figures: StreamFigures,
    kept: Vec<f64>,
    /// One of this many values is kept.
    stride: u64,
    sum: f64,
    squares: f64,
    min: Option<Extreme>,
    max: Option<Extreme>,
    first_nan: Option<String>,
    first_infinite: Option<String>,
    /// The smallest and the largest value of each column of dense samples.
    columns: Vec<(f64, f64)>,
    lengths: Vec<f64>,
    string_bytes: u64,
    strings: Option<StringFigures>,
    classes: ClassTally,
}

impl StreamTally {
    pub(crate) fn new(info: &StreamInfo) -> StreamTally {
        let figures = StreamFigures {
            name: info.name.clone(),
            dtype: info.element.name().to_owned(),
            shape: info.shape.dims().to_vec(),
            sparse: info.sparse,
            ..StreamFigures::default()
        };
        StreamTally {
            figures,
            kept: Vec::new(),
            stride: 1,
            sum: 0.0,
            squares: 0.0,
            min: None,
            max: None,
            first_nan: None,
            first_infinite: None,
            columns: Vec::new(),
            lengths: Vec::new(),
            string_bytes: 0,
            strings: None,
            classes: ClassTally::new(info),
        }
    }

    /// Counts the sequences of a minibatch. `key_of` gives the key of one, `file_of` the number of its file.
    pub(crate) fn add(
        &mut self,
        batch: &StreamBatch,
        key_of: &dyn Fn(usize) -> String,
        file_of: &dyn Fn(usize) -> Option<u32>,
    ) {
        self.figures.samples += batch.n_samples() as u64;
        self.lengths.extend(batch.lengths().iter().map(|&n| f64::from(n)));
        let ends = ValueEnds::of(batch);
        let mut begin = 0;
        for (sequence, end) in ends.0.into_iter().enumerate() {
            match batch.samples().values() {
                SampleValues::Strings(_) => self.add_strings(batch.samples().values(), begin..end),
                values => (begin..end).for_each(|i| self.add_value(values.get(i), sequence, key_of)),
            }
            begin = end;
        }
        if let Samples::Dense { values } = batch.samples()
            && !matches!(values, SampleValues::Strings(_))
        {
            self.add_columns(values, batch.info().shape.len());
        }
        self.classes.add(batch, file_of);
    }

    fn add_value(&mut self, value: f64, sequence: usize, key_of: &dyn Fn(usize) -> String) {
        let n = self.figures.numbers.values;
        self.figures.numbers.values += 1;
        if value.is_nan() {
            self.figures.numbers.nan += 1;
            self.first_nan.get_or_insert_with(|| key_of(sequence));
            return;
        }
        if value.is_infinite() {
            self.figures.numbers.infinite += 1;
            self.first_infinite.get_or_insert_with(|| key_of(sequence));
            return;
        }
        self.figures.numbers.zeros += u64::from(value == 0.0);
        self.sum += value;
        self.squares += value * value;
        if self.min.as_ref().is_none_or(|min| value < min.value) {
            self.min = Some(Extreme { value, key: key_of(sequence) });
        }
        if self.max.as_ref().is_none_or(|max| value > max.value) {
            self.max = Some(Extreme { value, key: key_of(sequence) });
        }
        if n.is_multiple_of(self.stride) {
            self.kept.push(value);
            if self.kept.len() == KEPT_VALUES {
                let mut is_odd = false;
                self.kept.retain(|_| {
                    is_odd = !is_odd;
                    is_odd
                });
                self.stride *= 2;
            }
        }
    }

    fn add_strings(&mut self, values: &SampleValues, of: std::ops::Range<usize>) {
        let SampleValues::Strings(strings) = values else { return };
        for i in of {
            let bytes = strings.get(i).len() as u64;
            let first = StringFigures { shortest: u64::MAX, ..StringFigures::default() };
            let figures = self.strings.get_or_insert(first);
            figures.empty += u64::from(bytes == 0);
            figures.shortest = figures.shortest.min(bytes);
            figures.longest = figures.longest.max(bytes);
            self.string_bytes += bytes;
            self.figures.numbers.values += 1;
            if self.kept.len() < KEPT_VALUES {
                self.kept.push(bytes as f64);
            }
        }
    }

    fn add_columns(&mut self, values: &SampleValues, n_columns: usize) {
        if !(2..=MOST_COLUMNS).contains(&n_columns) {
            return;
        }
        self.columns.resize(n_columns, (f64::INFINITY, f64::NEG_INFINITY));
        for i in 0..values.len() {
            let (column, value) = (&mut self.columns[i % n_columns], values.get(i));
            (column.0, column.1) = (column.0.min(value), column.1.max(value));
        }
    }

    /// The figures. `file_names` are those of the numbers that [`StreamTally::add`] was given.
    pub(crate) fn end(self, file_names: &BTreeMap<u32, String>) -> StreamFigures {
        let StreamTally { mut figures, kept, sum, squares, min, max, columns, lengths, strings, .. } = self;
        let finite = figures.numbers.values - figures.numbers.nan - figures.numbers.infinite;
        if strings.is_none() && finite > 0 {
            let mean = sum / finite as f64;
            figures.numbers.mean = Some(mean);
            figures.numbers.deviation = Some((squares / finite as f64 - mean * mean).max(0.0).sqrt());
        }
        let cells = figures.samples as f64 * figures.shape.iter().product::<usize>() as f64;
        figures.numbers.fill = (figures.sparse && cells > 0.0).then(|| figures.numbers.values as f64 / cells);
        figures.columns = columns.len() as u64;
        figures.constant_columns = columns.iter().filter(|(low, high)| low == high).count() as u64;
        figures.strings = strings.map(|s| StringFigures {
            mean: self.string_bytes as f64 / figures.numbers.values.max(1) as f64,
            ..s
        });
        figures.classes = self.classes.end(file_names);
        suspect(&mut figures, [&min, &max], self.first_nan, self.first_infinite);
        (figures.numbers.min, figures.numbers.max) = (min.map(|m| m.value), max.map(|m| m.value));
        // Bars of classes show more than the numbers of classes.
        let is_shown = !kept.is_empty() && figures.classes.is_none();
        figures.histogram = is_shown.then(|| histogram(kept, figures.strings.is_some()));
        figures.lengths = lengths.windows(2).any(|two| two[0] != two[1]).then(|| histogram(lengths, true));
        figures
    }

    /// The classes of the sequences of a minibatch, if each has one.
    pub(crate) fn classes_of(&self, batch: &StreamBatch) -> Option<Vec<i64>> {
        self.classes.of_sequences(batch)
    }
}

/// Looks for what is out of the ordinary.
fn suspect(
    figures: &mut StreamFigures,
    extremes: [&Option<Extreme>; 2],
    first_nan: Option<String>,
    first_infinite: Option<String>,
) {
    let mut found = Vec::new();
    let mut push = |what: String, key: Option<String>| found.push(Suspicion { what, key });
    if figures.numbers.nan > 0 {
        push(format!("{} not a number", are(figures.numbers.nan)), first_nan);
    }
    if figures.numbers.infinite > 0 {
        push(format!("{} infinite", are(figures.numbers.infinite)), first_infinite);
    }
    if let (Some(mean), Some(deviation)) = (figures.numbers.mean, figures.numbers.deviation)
        && !figures.sparse
        && figures.classes.is_none()
    {
        for Extreme { value, key } in extremes.into_iter().flatten() {
            let distance = (value - mean).abs() / deviation.max(f64::MIN_POSITIVE);
            if distance > FAR_OUTSIDE {
                let what =
                    format!("{} is {} standard deviations from the mean", number(*value), distance.round());
                push(what, Some(key.clone()));
            }
        }
    }
    let (constant, columns) = (figures.constant_columns, figures.columns);
    if constant > 0 && figures.samples > 1 {
        let what =
            format!("{} of {} have one value in all samples", count(constant), counted(columns, "column"));
        push(what, None);
    }
    if figures.numbers.values > 1
        && are_equal(figures, extremes)
        && figures.classes.is_none()
        && !figures.sparse
    {
        push("all values are equal".to_owned(), None);
    }
    if let Some(strings) = figures.strings.as_ref().filter(|s| s.empty > 0) {
        push(format!("{} empty", are(strings.empty)), None);
    }
    if let Some(classes) = &figures.classes {
        if classes.once > 0 {
            let verb = if classes.once == 1 { "occurs" } else { "occur" };
            push(
                format!("{} {verb} once", counted(classes.once, "class").replace("classs", "classes")),
                None,
            );
        }
        if let Some(declared) = classes.declared.filter(|&declared| declared > classes.occurring) {
            let what = format!(
                "{} of {} declared classes do not occur",
                count(declared - classes.occurring),
                count(declared)
            );
            push(what, None);
        }
    }
    figures.suspicious = found;
}

/// `1 value is` or `2 values are`.
fn are(n: u64) -> String {
    format!("{} {}", counted(n, "value"), if n == 1 { "is" } else { "are" })
}

/// True if all values are finite and equal.
fn are_equal(figures: &StreamFigures, extremes: [&Option<Extreme>; 2]) -> bool {
    let [Some(min), Some(max)] = extremes else { return false };
    min.value == max.value && figures.numbers.nan + figures.numbers.infinite == 0
}

/// Where the values of each sequence end.
pub(crate) struct ValueEnds(pub(crate) Vec<usize>);

impl ValueEnds {
    pub(crate) fn of(batch: &StreamBatch) -> ValueEnds {
        let mut samples = 0;
        let mut end_of = |length: u32| {
            samples += length as usize;
            match batch.samples() {
                Samples::Dense { .. } => samples * batch.info().shape.len(),
                Samples::Sparse { indptr, .. } => indptr.get(samples).map_or(0, |&end| end as usize),
                Samples::Ragged { .. } => {
                    let last = samples.checked_sub(1).and_then(|last| batch.ragged_sample(last));
                    last.map_or(0, |(_, range)| range.end)
                }
            }
        };
        ValueEnds(batch.lengths().iter().map(|&length| end_of(length)).collect())
    }
}

/// A histogram of finite values: of all of them, or without the outermost thousandths where these would leave one bin for
/// the rest. `whole`: values are whole numbers.
pub(crate) fn histogram(mut values: Vec<f64>, whole: bool) -> Histogram {
    values.sort_unstable_by(f64::total_cmp);
    let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Histogram::default() };
    let quantile = |q: f64| values[((values.len() - 1) as f64 * q).round() as usize];
    let (mut low, mut high) = (min, max);
    let inner = [quantile(0.001), quantile(0.999)];
    if inner[1] > inner[0] && max - min > 4.0 * (inner[1] - inner[0]) {
        [low, high] = inner;
    }
    let is_whole = whole || values.iter().all(|v| v.fract() == 0.0);
    let mut bins = BINS;
    if is_whole {
        // Bins of whole numbers hold as many of them each; otherwise some bars would stick out.
        let n = high - low + 1.0;
        let least = (n / BINS as f64).ceil().max(1.0);
        // Of the widths that suit one that divides the range, so that the last bin is as full as the others may be.
        let width =
            (0..least as u64).map(|more| least + more as f64).find(|width| n % width == 0.0).unwrap_or(least);
        bins = (((high - low + 1.0) / width).ceil() as usize).clamp(1, BINS);
        high = low + width * bins as f64;
    } else if high == low {
        (low, high, bins) = (low - 0.5, high + 0.5, 1);
    }
    let mut counts = vec![0; bins];
    let (mut below, mut above) = (0, 0);
    for value in values {
        if value < low {
            below += 1;
        } else if value > high {
            above += 1;
        } else {
            let bin = ((value - low) / (high - low) * bins as f64) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
    }
    Histogram { low, high, whole: is_whole, counts, below, above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_whole_numbers_hold_as_many_of_them_each() {
        let found = histogram((0..100).map(f64::from).collect(), false);
        assert_eq!((found.low, found.high, found.counts.len()), (0.0, 100.0, 25));
        assert!(found.counts.iter().all(|&n| n == 4), "{:?}", found.counts);
        let found = histogram((0..101).map(f64::from).collect(), false);
        assert_eq!((found.high, found.counts.len()), (102.0, 34));
    }

    #[test]
    fn one_value_far_outside_does_not_hide_the_others() {
        let values = (0..10_000).map(|i| f64::from(i) / 1e4).chain([1e9]).collect();
        let found = histogram(values, false);
        assert!(found.high < 2.0, "{found:?}");
        assert!(found.above >= 1);
        assert_eq!(found.counts.iter().sum::<u64>() + found.below + found.above, 10_001);
    }

    #[test]
    fn equal_values_are_one_bin() {
        assert_eq!(histogram(vec![0.5; 3], false).counts, [3]);
        assert_eq!(histogram(vec![2.0; 3], false).counts, [3]);
        assert!(histogram(Vec::new(), false).counts.is_empty());
    }
}
