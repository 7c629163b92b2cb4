//! The sequence packer: whole sequences, in order, without padding.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{Chunk, Data, Offsets, Storage, StreamColumn, StreamInfo, Values};
use tesson_memory::file_pages::{EncodedBytes, FilePages};
use tesson_memory::packed::{Best, Kernel, PackedRows, StreamToPack};
use tesson_memory::prefetch::{CACHE_LINE, prefetch, prefetch_bytes};

use super::slices::{Slice, SliceOf, Slices, StreamSlice, n_values, take_indices};
use super::{BatchSize, ExpectedSize, Item, Pools, Source, empty};
use crate::samples::{Samples, StreamBatch};

/// Consecutive rows of one block that stand together in the minibatch.
struct ItemRun {
    held: u32,
    rows: Range<u32>,
}

/// Joins neighbours: sequences that lie together in a block are copied at once. Sequences that are
/// [left out](Chunk::left_out) make no run.
fn runs(items: &[Item], sources: &[Source<'_>]) -> Vec<ItemRun> {
    let mut runs: Vec<ItemRun> = Vec::with_capacity(items.len());
    let all_stay = sources.iter().all(|source| source.chunk.left_out.is_empty());
    for item in items {
        match runs.last_mut() {
            _ if !all_stay && sources[item.held as usize].chunk.is_left_out(item.row) => {}
            Some(run) if run.held == item.held && run.rows.end == item.row => run.rows.end += 1,
            _ => runs.push(ItemRun { held: item.held, rows: item.row..item.row + 1 }),
        }
    }
    runs
}

/// Packs the items, in order, into one batch a stream, which take the place of those in `batches`; their memory is used
/// again.
pub(crate) fn pack(
    streams: &[Arc<StreamInfo>],
    items: &[Item],
    sources: &[Source<'_>],
    pools: &Pools,
    batches: &mut Vec<StreamBatch>,
) {
    let size = BatchSize { n_sequences: items.len(), most_samples: usize::MAX };
    let mut packing = Packing::new(streams, size, pools, |_| false, batches);
    packing.append(items, sources);
    packing.finish(pools);
}

/// The streams of a minibatch while sequences are appended to them.
pub(crate) struct Packing<'a> {
    /// Of streams that blocks in memory have packed.
    packed: Vec<Writer<'a>>,
    /// Of streams whose columns blocks keep.
    kept: Vec<Writer<'a>>,
}

impl<'a> Packing<'a> {
    /// Empty streams for a minibatch of about this size, in place of those in `batches`, whose memory is used again; streams
    /// that are `made` elsewhere, by number, stay empty.
    pub(crate) fn new(
        streams: &[Arc<StreamInfo>],
        size: BatchSize,
        pools: &Pools,
        made: impl Fn(usize) -> bool,
        batches: &'a mut Vec<StreamBatch>,
    ) -> Packing<'a> {
        make_room(streams, batches);
        let mut packing = Packing { packed: Vec::with_capacity(streams.len()), kept: Vec::new() };
        for (number, (info, batch)) in streams.iter().zip(batches).enumerate() {
            if is_packed(info) {
                packing.packed.push(Writer::new(number, info, size, pools, batch));
            } else if made(number) {
                *batch = StreamBatch::empty(info);
            } else {
                packing.kept.push(Writer::new(number, info, size, pools, batch));
            }
        }
        packing
    }

    /// All sequences of a chunk as a minibatch, in place of those in `batches`. Columns that are as the minibatch has them change
    /// places with its memory, others are copied: the chunk is good [to be decoded into](Pools::lend) again, and for what stands
    /// beside columns.
    pub(crate) fn of_chunk(
        streams: &[Arc<StreamInfo>],
        chunk: &mut Chunk,
        pools: &Pools,
        batches: &'a mut Vec<StreamBatch>,
    ) -> Packing<'a> {
        make_room(streams, batches);
        let columns = chunk.streams.iter_mut().zip(streams).zip(batches).enumerate();
        let taken = columns.map(|(number, ((column, info), batch))| {
            Writer::of_column(number, info, column, chunk.n_sequences, pools, batch)
        });
        Packing { packed: taken.collect(), kept: Vec::new() }
    }

    /// A slice of a block as a minibatch, in place of those in `batches`: its values are the minibatch's, without a copy.
    pub(crate) fn of_slice(
        streams: &[Arc<StreamInfo>],
        block: &Slices,
        slice: Slice,
        pools: &Pools,
        batches: &'a mut Vec<StreamBatch>,
    ) -> Packing<'a> {
        make_room(streams, batches);
        let Slice { rows, streams: taken } = slice;
        let columns = block.columns().iter().zip(taken).zip(streams.iter().zip(batches)).enumerate();
        let packed = columns.map(|(number, ((column, taken), (info, batch)))| {
            Writer::of_slice(number, info, column, rows.clone(), taken, pools, batch)
        });
        Packing { packed: packed.collect(), kept: Vec::new() }
    }

    /// Appends the items, in order, without those that are left out.
    pub(crate) fn append(&mut self, items: &[Item], sources: &[Source<'_>]) {
        let runs = runs(items, sources);
        let is_packed = |run: &ItemRun| sources[run.held as usize].rows.is_some();
        for runs in runs.chunk_by(|a, b| is_packed(a) == is_packed(b)) {
            if is_packed(&runs[0]) {
                append_packed_runs(&mut self.packed, runs, sources);
            } else {
                append_columns(&mut self.packed, runs, sources);
            }
        }
        append_columns(&mut self.kept, &runs, sources);
    }

    /// Bytes of what has been appended, and of what is to be made of it: so many for a sample of each stream.
    pub(crate) fn bytes(&self, made: impl Fn(usize) -> usize) -> usize {
        let bytes = |writer: &Writer<'_>| writer.batch.bytes() + writer.batch.n_samples * made(writer.number);
        self.packed.iter().chain(&self.kept).map(bytes).sum()
    }

    /// Tells the pools how large the streams became.
    pub(crate) fn finish(self, pools: &Pools) {
        for Writer { number, batch, .. } in self.packed.into_iter().chain(self.kept) {
            pools.expect(number, batch.n_samples, batch.samples.values());
        }
    }
}

/// Makes a batch of each stream, if these are others.
fn make_room(streams: &[Arc<StreamInfo>], batches: &mut Vec<StreamBatch>) {
    if batches.len() != streams.len() {
        *batches = streams.iter().map(StreamBatch::empty).collect();
    }
}

/// True if a block that stays in memory packs the samples of a stream; other samples are kept as they were read.
fn is_packed(stream: &StreamInfo) -> bool {
    stream.storage == Storage::Values && stream.element.is_float()
}

/// The streams whose samples are packed. None is if blocks keep any stream as it was read: packing the others would copy that
/// one.
pub(crate) fn packed_streams(streams: &[Arc<StreamInfo>]) -> Vec<StreamToPack> {
    if !streams.iter().all(|stream| is_packed(stream)) {
        return Vec::new();
    }
    let streams = streams.iter().enumerate();
    streams.map(|(number, stream)| StreamToPack { number, dim: stream.shape.len() }).collect()
}

/// The number of runs by which packing asks for a short run ahead; for the place of its values it asks twice as far ahead.
/// Short runs are scattered over memory, and each would otherwise wait for the cache.
pub(crate) const AHEAD: usize = 16;

/// Asks for a packed run's place, or for the run itself.
fn ask(run: Option<&ItemRun>, sources: &[Source<'_>], ask: impl Fn(&PackedRows, usize)) {
    if let Some((rows, run)) = run.and_then(|run| Some((sources[run.held as usize].rows?, run))) {
        ask(rows, run.rows.start as usize);
    }
}

/// Appends runs of blocks that have packed them.
fn append_packed_runs(writers: &mut [Writer<'_>], runs: &[ItemRun], sources: &[Source<'_>]) {
    (0..2 * AHEAD).for_each(|i| ask(runs.get(i), sources, PackedRows::prefetch_place));
    (0..AHEAD).for_each(|i| ask(runs.get(i), sources, PackedRows::prefetch));
    match Best::detect() {
        Best::Plain(kernel) => append_by(kernel, writers, runs, sources),
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => kernel.run(|| append_by(kernel, writers, runs, sources)),
    }
}

#[inline]
fn append_by(kernel: impl Kernel, writers: &mut [Writer<'_>], runs: &[ItemRun], sources: &[Source<'_>]) {
    for (i, run) in runs.iter().enumerate() {
        ask(runs.get(i + 2 * AHEAD), sources, PackedRows::prefetch_place);
        ask(runs.get(i + AHEAD), sources, PackedRows::prefetch);
        if let Some(rows) = sources[run.held as usize].rows {
            append_packed(kernel, writers, rows, run.rows.clone());
        }
    }
}

const KEPT_TO: &str = "deserializers keep to their stream's storage";

/// Runs of fewer rows than this, on average, are gathered row by row.
const LONG: usize = 4;

/// Fewest runs for which it pays to look at all columns first.
const MANY_RUNS: usize = 16;

/// Appends runs of columns, one stream after the other: what a stream's values need then stays in registers and caches.
fn append_columns(writers: &mut [Writer<'_>], runs: &[ItemRun], sources: &[Source<'_>]) {
    if writers.is_empty() {
        return;
    }
    let n: usize = runs.iter().map(|run| run.rows.len()).sum();
    let is_sliced = sources.iter().any(|source| source.slice.is_some());
    if runs.len() < MANY_RUNS.max(sources.len()) || n >= LONG * runs.len() || is_sliced {
        for writer in writers {
            runs.iter().for_each(|run| writer.append(run, sources));
        }
        return;
    }
    let rows_of = |run: &ItemRun| {
        let held = run.held;
        run.rows.clone().map(move |row| Item { held, row })
    };
    let mut items = Vec::with_capacity(n);
    items.extend(runs.iter().flat_map(rows_of));
    for writer in writers {
        if !writer.gather(&items, sources) {
            for (i, run) in runs.iter().enumerate() {
                writer.ask_place(runs.get(i + 2 * AHEAD), sources);
                writer.ask(runs.get(i + AHEAD), sources);
                writer.append(run, sources);
            }
        }
    }
}

#[inline]
fn append_packed(kernel: impl Kernel, writers: &mut [Writer<'_>], packed: &PackedRows, rows: Range<u32>) {
    for row in rows {
        let mut sequence = packed.sequence(kernel, row as usize);
        for writer in writers.iter_mut() {
            match &mut writer.batch.samples {
                Samples::Dense { values } => {
                    let stream = sequence.dense(writer.dim);
                    values.append_packed(&stream);
                    writer.count(stream.n_samples as u32);
                }
                Samples::Sparse { indptr, indices, values } => {
                    let stream = sequence.sparse();
                    stream.pairs(indptr.items(), indices.items());
                    values.append_packed(&stream);
                    writer.count(stream.n_samples as u32);
                }
                Samples::Ragged { .. } => unreachable!("writers make dense and sparse samples"),
            }
        }
    }
}

/// One stream of a minibatch in the making.
struct Writer<'a> {
    number: usize,
    /// Values in a dense sample.
    dim: usize,
    batch: &'a mut StreamBatch,
}

impl<'a> Writer<'a> {
    /// A writer of a stream, into the memory of a batch of the same stream.
    fn new(
        number: usize,
        info: &Arc<StreamInfo>,
        size: BatchSize,
        pools: &Pools,
        batch: &'a mut StreamBatch,
    ) -> Writer<'a> {
        let ExpectedSize { samples: n_samples, values: n_values, string_bytes } =
            pools.expected(number, info, size);
        match &mut batch.samples {
            Samples::Sparse { indptr, indices, values } if info.sparse => {
                pools.i32s.refill(indptr, n_samples + 1);
                indptr.items().push(0);
                pools.i32s.refill(indices, n_values);
                values.empty(info.element, n_values, pools);
            }
            Samples::Dense { values } if !info.sparse => values.empty(info.element, n_values, pools),
            other => *other = empty(info, n_samples, n_values, pools),
        }
        if let Samples::Dense { values } = &mut batch.samples {
            values.reserve_string_bytes(string_bytes, pools);
        }
        Writer::over(number, info, size.n_sequences, batch)
    }

    /// A writer that has taken all `n` sequences of a column, into the memory of a batch of the same stream. Values and column
    /// numbers change places with that where they are of the same form.
    fn of_column(
        number: usize,
        info: &Arc<StreamInfo>,
        column: &mut StreamColumn,
        n: u32,
        pools: &Pools,
        batch: &'a mut StreamBatch,
    ) -> Writer<'a> {
        let n_samples = column.samples.start(n as usize);
        pools.note_taken(number, n_values(column));
        if info.sparse != matches!(batch.samples, Samples::Sparse { .. }) {
            batch.samples = Samples::none(info);
        }
        match (&mut batch.samples, &mut column.data) {
            (Samples::Dense { values }, Data::Dense { values: column }) => {
                values.take(info.element, column, pools);
            }
            (Samples::Sparse { indptr, indices, values }, Data::Sparse { rows, columns, values: column }) => {
                pools.i32s.refill(indptr, n_samples + 1);
                indptr.items().push(0);
                push_ends(indptr.items(), rows, 0..n_samples);
                take_indices(indices, columns, pools);
                values.take(info.element, column, pools);
            }
            // Samples that minibatches have in another form.
            _ => {
                let size = BatchSize { n_sequences: n as usize, most_samples: n_samples };
                let mut writer = Writer::new(number, info, size, pools, batch);
                writer.columns(column, None, 0..n);
                return writer;
            }
        }
        let mut writer = Writer::over(number, info, n as usize, batch);
        writer.count_rows(&column.samples, 0..n);
        writer
    }

    /// A writer that has taken a slice of a block with these rows, instead of what a batch of the same stream had.
    fn of_slice(
        number: usize,
        info: &Arc<StreamInfo>,
        column: &StreamColumn,
        rows: Range<u32>,
        taken: StreamSlice,
        pools: &Pools,
        batch: &'a mut StreamBatch,
    ) -> Writer<'a> {
        if info.sparse != matches!(batch.samples, Samples::Sparse { .. }) {
            batch.samples = Samples::none(info);
        }
        let mut writer = Writer::over(number, info, rows.len(), batch);
        let samples = writer.count_rows(&column.samples, rows);
        match (&mut writer.batch.samples, &column.data) {
            (Samples::Sparse { indptr, indices, values }, Data::Sparse { rows, .. }) => {
                pools.i32s.refill(indptr, samples.len() + 1);
                indptr.items().push(0);
                push_ends(indptr.items(), rows, samples);
                (*indices, *values) = (taken.indices, taken.values);
            }
            (Samples::Dense { values }, _) => *values = taken.values,
            _ => unreachable!("{KEPT_TO}"),
        }
        writer
    }

    /// A writer over samples, without any sequences yet, of which there will be so many.
    fn over(
        number: usize,
        info: &Arc<StreamInfo>,
        n_sequences: usize,
        batch: &'a mut StreamBatch,
    ) -> Writer<'a> {
        batch.lengths.clear();
        batch.lengths.reserve(n_sequences);
        // Counting users of what all threads share is an exchange between them.
        if !Arc::ptr_eq(&batch.info, info) {
            batch.info = info.clone();
        }
        (batch.n_samples, batch.layout) = (0, None);
        Writer { number, dim: info.shape.len(), batch }
    }

    /// Counts a sequence of so many samples.
    fn count(&mut self, n_samples: u32) {
        self.batch.lengths.push(n_samples);
        self.batch.n_samples += n_samples as usize;
    }

    /// The column of this stream that a run is of.
    fn column<'s>(&self, run: &ItemRun, sources: &[Source<'s>]) -> &'s StreamColumn {
        &sources[run.held as usize].chunk.streams[self.number]
    }

    /// Asks for what says where the values of a run lie.
    fn ask_place(&self, run: Option<&ItemRun>, sources: &[Source<'_>]) {
        let Some(run) = run else { return };
        let (row, StreamColumn { samples, data }) = (run.rows.start as usize, self.column(run, sources));
        match (samples, data) {
            (Offsets::At(at), _) => prefetch(at.get(row)),
            (Offsets::Every(n), Data::Dense { values: Values::Strings(strings) }) => {
                prefetch(strings.ends().get(row * *n as usize * self.dim));
            }
            (Offsets::Every(n), Data::Sparse { rows: Offsets::At(at), .. }) => {
                prefetch(at.get(row * *n as usize));
            }
            _ => {}
        }
    }

    /// Asks for the values of a run, whose place has been asked for.
    fn ask(&self, run: Option<&ItemRun>, sources: &[Source<'_>]) {
        let Some(run) = run else { return };
        let StreamColumn { samples, data } = self.column(run, sources);
        let (start, end) = (samples.start(run.rows.start as usize), samples.start(run.rows.end as usize));
        match data {
            Data::Dense { values: Values::Strings(strings) } => {
                let (bytes, _) = strings.run(start * self.dim..end * self.dim);
                prefetch_bytes(bytes, ASKED);
            }
            Data::Dense { values } => values_ahead(values, start * self.dim..end * self.dim),
            Data::Sparse { rows, columns, values } => {
                let entries = rows.start(start)..rows.start(end);
                items_ahead(columns, &entries);
                values_ahead(values, entries);
            }
            _ => {}
        }
    }

    /// Appends a sample for each of the items, one value or vector after the other. Returns false, and does nothing, unless
    /// all of them have one dense sample of numbers.
    fn gather(&mut self, items: &[Item], sources: &[Source<'_>]) -> bool {
        static NOTHING: Values = Values::Ones(0);
        let mut columns = Vec::with_capacity(sources.len());
        for source in sources {
            columns.push(match source.chunk.streams.get(self.number) {
                // No item is of a chunk without columns.
                None => &NOTHING,
                Some(StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } }) => values,
                Some(_) => return false,
            });
        }
        let StreamBatch { samples, lengths, n_samples, .. } = &mut *self.batch;
        let Samples::Dense { values } = samples else { return false };
        let is_gathered = values.gather(&columns, items, self.dim);
        if is_gathered {
            lengths.resize(lengths.len() + items.len(), 1);
            *n_samples += items.len();
        }
        is_gathered
    }

    /// Appends a run of a column.
    fn append(&mut self, run: &ItemRun, sources: &[Source<'_>]) {
        let source = &sources[run.held as usize];
        match source.slice {
            Some(slice) => self.slice(slice, run.rows.clone()),
            None => self.columns(&source.chunk.streams[self.number], source.pages, run.rows.clone()),
        }
    }

    /// Appends consecutive sequences of a slice.
    fn slice(&mut self, slice: SliceOf<'_>, rows: Range<u32>) {
        let (column, taken, before) = slice.stream(self.number, &self.batch.info);
        let samples = self.count_rows(&column.samples, rows);
        match (&mut self.batch.samples, &column.data) {
            (Samples::Sparse { indptr, indices, values }, Data::Sparse { rows, .. }) => {
                let entries = rows.start(samples.start) - before..rows.start(samples.end) - before;
                push_ends(indptr.items(), rows, samples);
                indices.items().extend_from_slice(&taken.indices[entries.clone()]);
                values.append_floats(&taken.values, entries);
            }
            (Samples::Dense { values }, _) => {
                let dim = self.dim;
                values.append_floats(&taken.values, samples.start * dim - before..samples.end * dim - before);
            }
            _ => unreachable!("{KEPT_TO}"),
        }
    }

    /// Counts consecutive sequences of a column; returns their samples.
    fn count_rows(&mut self, samples: &Offsets, rows: Range<u32>) -> Range<usize> {
        let StreamBatch { lengths, n_samples, .. } = &mut *self.batch;
        match samples {
            Offsets::Every(n) => lengths.resize(lengths.len() + rows.len(), *n),
            Offsets::At(at) => {
                let at = &at[rows.start as usize..=rows.end as usize];
                lengths.extend(at.windows(2).map(|w| w[1] - w[0]));
            }
        }
        let samples = samples.start(rows.start as usize)..samples.start(rows.end as usize);
        *n_samples += samples.len();
        samples
    }

    /// Appends consecutive sequences of a column, of encoded samples from the pages if they lie there.
    fn columns(&mut self, column: &StreamColumn, pages: Option<&FilePages>, rows: Range<u32>) {
        let samples = self.count_rows(&column.samples, rows.clone());
        let (batch, dim, lengths) = (&mut *self.batch, self.dim, &column.samples);
        match (&mut batch.samples, &column.data) {
            (Samples::Dense { values }, Data::Dense { values: column }) => {
                values.append(column, samples.start * dim..samples.end * dim);
            }
            (Samples::Sparse { indptr, indices, values }, Data::Sparse { rows, columns, values: column }) => {
                let entries = rows.start(samples.start)..rows.start(samples.end);
                push_ends(indptr.items(), rows, samples);
                indices.items().extend(columns[entries.clone()].iter().map(|&c| c as i32));
                values.append(column, entries);
            }
            (Samples::Dense { values }, Data::Encoded(column)) => {
                values.append_encoded(EncodedBytes { column, pages }, samples);
            }
            (Samples::Dense { values }, Data::Frames(column)) => {
                for frame in &column.frames[samples] {
                    let at = frame.at as usize;
                    values.append(&column.values, at * dim..(at + 1) * dim);
                }
            }
            (Samples::Dense { values }, Data::Repeated { values: column }) => {
                for row in rows {
                    let sample = row as usize * dim..(row as usize + 1) * dim;
                    lengths.range(row as usize).for_each(|_| values.append(column, sample.clone()));
                }
            }
            _ => unreachable!("{KEPT_TO}"),
        }
    }
}

/// Appends where the entries of each of these samples end, after those before them.
fn push_ends(indptr: &mut Vec<i32>, rows: &Offsets, samples: Range<usize>) {
    let first = indptr[indptr.len() - 1];
    match rows {
        Offsets::Every(n) => indptr.extend((1..=samples.len() as i32).map(|i| first + i * *n as i32)),
        Offsets::At(at) => {
            let shift = i64::from(first) - i64::from(at[samples.start]);
            let ends = &at[samples.start + 1..=samples.end];
            indptr.extend(ends.iter().map(|&end| (i64::from(end) + shift) as i32));
        }
    }
}

/// Bytes of a run that are asked for, at most: the processor itself goes on with what follows.
const ASKED: usize = 256;

/// Asks for values of a column.
fn values_ahead(values: &Values, range: Range<usize>) {
    match values {
        Values::Bytes(v) => items_ahead(v, &range),
        Values::Bits16(v) => items_ahead(v, &range),
        Values::Bits32(v) => items_ahead(v, &range),
        Values::Bits64(v) => items_ahead(v, &range),
        Values::F32(v) => items_ahead(v, &range),
        Values::F64(v) => items_ahead(v, &range),
        _ => {}
    }
}

/// Asks for some of these.
pub(crate) fn items_ahead<T>(items: &[T], range: &Range<usize>) {
    let end = range.end.min(range.start + ASKED / size_of::<T>());
    (range.start..end).step_by(CACHE_LINE / size_of::<T>()).for_each(|i| prefetch(items.get(i)));
    prefetch(range.end.checked_sub(1).filter(|last| *last < end).and_then(|last| items.get(last)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_values::SampleValues;
    use tesson_core::{Chunk, Element, Shape, Values};
    use tesson_memory::packed::Packer;

    fn stream(sparse: bool, dim: usize) -> Arc<StreamInfo> {
        Arc::new(StreamInfo::dense("s", Shape::new([dim]), Element::F32).with_sparse(sparse))
    }

    fn chunk(n: u32, samples: Offsets, data: Data) -> Chunk {
        Chunk::new(
            tesson_core::Keys::Consecutive(0),
            vec![1; n as usize],
            vec![StreamColumn { samples, data }],
        )
    }

    #[test]
    fn after_a_small_minibatch_half_as_much_is_expected() {
        let pools = Pools::new(1, usize::MAX);
        let expected_after = |n: usize| {
            let mut values = SampleValues::none(Element::F32);
            values.append(&Values::F32(vec![0.0; n]), 0..n);
            pools.expect(0, n, &values);
            pools.expected_values(0)
        };
        assert_eq!([8000, 5000, 100, 8000].map(expected_after), [9000, 9000, 4500, 9000]);
        assert_eq!([100, 100, 100].map(expected_after), [4500, 2250, 1125]);
    }

    /// Packs from columns and from packed rows, which must agree; returns the batch.
    fn pack(info: &Arc<StreamInfo>, chunks: &[Chunk], items: &[(u32, u32)]) -> StreamBatch {
        let items: Vec<Item> = items.iter().map(|&(held, row)| Item { held, row }).collect();
        let packed: Vec<PackedRows> = chunks
            .iter()
            .map(|chunk| {
                let mut scratch = Vec::new();
                let mut packer = Packer::new(0, &mut scratch);
                packer
                    .push(chunk, &[StreamToPack { number: 0, dim: info.shape.len() }])
                    .expect("less than 4 GiB");
                packer.finish(usize::MAX)
            })
            .collect();
        let columns: Vec<Source<'_>> = chunks.iter().map(|chunk| Source::of(chunk, 0)).collect();
        let rows: Vec<Source<'_>> = columns
            .iter()
            .zip(&packed)
            .map(|(source, rows)| Source { rows: Some(rows), ..*source })
            .collect();
        let pools = Pools::new(1, usize::MAX);
        let one = |sources: &[Source<'_>]| {
            let mut batches = Vec::new();
            super::pack(std::slice::from_ref(info), &items, sources, &pools, &mut batches);
            batches.pop().expect("one stream")
        };
        let (from_columns, from_rows) = (one(&columns), one(&rows));
        assert_eq!(format!("{from_columns:?}"), format!("{from_rows:?}"));
        from_rows
    }

    #[test]
    fn dense_sequences_follow_each_other_without_padding() {
        let chunks = [
            chunk(
                2,
                Offsets::At(vec![0, 2, 3]),
                Data::Dense { values: Values::F32(vec![1., 2., 3., 4., 5., 6.]) },
            ),
            chunk(2, Offsets::Every(1), Data::Dense { values: Values::Bytes(vec![7, 8, 9, 10]) }),
        ];
        let batch = pack(&stream(false, 2), &chunks, &[(1, 1), (0, 0), (0, 1), (1, 0)]);
        assert_eq!((batch.lengths(), batch.n_samples()), (&[1, 2, 1, 1][..], 5));
        let Samples::Dense { values: SampleValues::F32(v) } = batch.samples() else {
            panic!("dense float32")
        };
        assert_eq!(&v[..], [9., 10., 1., 2., 3., 4., 5., 6., 7., 8.]);
    }

    #[test]
    fn sparse_samples_become_compressed_rows() {
        let chunks = [
            chunk(
                2,
                Offsets::Every(1),
                Data::Sparse {
                    rows: Offsets::At(vec![0, 2, 2]),
                    columns: vec![3, 5],
                    values: Values::F32(vec![0.5, 2.]),
                },
            ),
            chunk(
                1,
                Offsets::Every(2),
                Data::Sparse { rows: Offsets::Every(1), columns: vec![1, 4], values: Values::Ones(2) },
            ),
        ];
        let batch = pack(&stream(true, 6), &chunks, &[(0, 1), (1, 0), (0, 0)]);
        assert_eq!((batch.lengths(), batch.n_samples()), (&[1, 2, 1][..], 4));
        let Samples::Sparse { indptr, indices, values: SampleValues::F32(v) } = batch.samples() else {
            panic!("sparse")
        };
        assert_eq!(
            (&indptr[..], &indices[..], &v[..]),
            (&[0, 0, 1, 2, 4][..], &[1, 4, 3, 5][..], &[1., 1., 0.5, 2.][..])
        );
    }

    #[test]
    fn a_chunk_that_is_a_minibatch_is_packed_without_a_copy_of_its_values() {
        let sparse =
            |values| Data::Sparse { rows: Offsets::At(vec![0, 2, 2, 3]), columns: vec![3, 5, 4], values };
        let data = [
            (false, Data::Dense { values: Values::F32(vec![1., 2., 3., 4., 5., 6.]) }),
            (false, Data::Dense { values: Values::Bytes(vec![1, 2, 3, 4, 5, 6]) }),
            (true, sparse(Values::F32(vec![1., 2., 3.]))),
            (true, sparse(Values::Ones(3))),
        ];
        for (is_sparse, data) in data {
            let info = stream(is_sparse, if is_sparse { 6 } else { 2 });
            let streams = std::slice::from_ref(&info);
            let chunk = chunk(2, Offsets::At(vec![0, 2, 3]), data);
            let items: Vec<Item> = (0..2).map(|row| Item { held: 0, row }).collect();
            let pools = Pools::new(1, usize::MAX);
            let mut copied = Vec::new();
            super::pack(streams, &items, &[Source::of(&chunk, 0)], &pools, &mut copied);
            // Over a batch of this and another form, and of none.
            let other = StreamBatch::empty(&stream(!is_sparse, 2));
            for mut batches in [copied.clone(), Vec::new(), vec![other]] {
                let mut chunk = chunk.clone();
                let values_at = match &chunk.streams[0].data {
                    Data::Dense { values: Values::F32(v) } | Data::Sparse { values: Values::F32(v), .. } => {
                        Some(v.as_ptr())
                    }
                    _ => None,
                };
                Packing::of_chunk(streams, &mut chunk, &pools, &mut batches).finish(&pools);
                assert_eq!(format!("{batches:?}"), format!("{copied:?}"));
                if let (Some(at), SampleValues::F32(v)) = (values_at, batches[0].samples().values()) {
                    assert_eq!(v.as_ptr(), at);
                }
            }
        }
    }

    /// Columns of `n` rows of samples of two values, out of numbers that differ, in one form after the other.
    fn all_forms(n: u32, first: u32) -> Vec<StreamColumn> {
        let numbers = || (0..2 * n).map(|i| (first + i) * 37);
        let dense = |values| StreamColumn { samples: Offsets::Every(1), data: Data::Dense { values } };
        let strings: tesson_core::Strings =
            numbers().map(|x| "abcdefghi"[..x as usize % 9].to_owned()).collect();
        let ends =
            (0..=n).map(|row| row / 2 + u32::from(row % 3 == 1) * u32::from(row < n)).collect::<Vec<_>>();
        let ends: Vec<u32> =
            ends.iter().scan(0, |most, &end| Some(std::mem::replace(most, end.max(*most)))).collect();
        let n_samples = ends[n as usize];
        vec![
            dense(Values::F32(numbers().map(|x| x as f32).collect())),
            dense(if first == 0 {
                Values::Bytes(numbers().map(|x| x as u8).collect())
            } else {
                Values::F64(numbers().map(f64::from).collect())
            }),
            dense(Values::Bytes(numbers().map(|x| x as u8).collect())),
            dense(Values::Bits16(numbers().map(|x| x as u16).collect())),
            dense(Values::Bits32(numbers().collect())),
            dense(Values::Bits64(numbers().map(u64::from).collect())),
            dense(Values::Strings(strings)),
            StreamColumn {
                samples: Offsets::At(ends),
                data: Data::Dense { values: Values::Bits64((0..2 * u64::from(n_samples)).collect()) },
            },
        ]
    }

    #[test]
    fn rows_in_any_order_are_those_that_are_packed_one_by_one() {
        let elements = [
            Element::F32,
            Element::F64,
            Element::U8,
            Element::I16,
            Element::U32,
            Element::I64,
            Element::Text,
            Element::I64,
        ];
        for dim in [1, 2] {
            let info = |(i, element): (usize, &Element)| {
                Arc::new(StreamInfo::dense(format!("s{i}"), Shape::new([dim]), *element))
            };
            let streams: Vec<Arc<StreamInfo>> = elements.iter().enumerate().map(info).collect();
            // Samples of one value are half as many.
            let rows = |chunk: u32| (100 + 20 * chunk) * if dim == 1 { 2 } else { 1 };
            let mut chunks: Vec<Chunk> = (0..3)
                .map(|i| {
                    let columns = all_forms(100 + 20 * i, 1000 * i).into_iter().map(|mut column| {
                        if let (1, Offsets::At(at)) = (dim, &mut column.samples) {
                            *at = (0..=rows(i)).map(|row| at[row as usize / 2] * 2).collect();
                        }
                        column
                    });
                    let lengths = vec![1; rows(i) as usize];
                    Chunk::new(tesson_core::Keys::Consecutive(0), lengths, columns.collect())
                })
                .collect();
            chunks[1].left_out = vec![7, 8];
            let sources: Vec<Source<'_>> = chunks.iter().map(|chunk| Source::of(chunk, 0)).collect();
            let mut random = 1_u32;
            let mut next = |below: u32| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 8) % below
            };
            let mut items: Vec<Item> = Vec::new();
            for _ in 0..300 {
                let held = next(3);
                let (row, n) = (next(rows(held) - 2), 1 + next(2));
                items.extend((row..row + n).map(|row| Item { held, row }));
            }
            items.push(Item { held: 1, row: 7 });
            let pools = Pools::new(streams.len(), usize::MAX);
            let (mut together, mut one_by_one) = (Vec::new(), Vec::new());
            super::pack(&streams, &items, &sources, &pools, &mut together);
            let size = BatchSize { n_sequences: items.len(), most_samples: usize::MAX };
            let mut packing = Packing::new(&streams, size, &pools, |_| false, &mut one_by_one);
            items.iter().for_each(|item| packing.append(std::slice::from_ref(item), &sources));
            packing.finish(&pools);
            assert!(together[0].n_samples() > 300);
            assert_eq!(format!("{together:?}"), format!("{one_by_one:?}"), "{dim} values in a sample");
        }
    }
}
