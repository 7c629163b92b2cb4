//! Packing sequences, and unpacking them in order and in a random order: millions of sequences a second, on one core.
//!
//! `cargo bench -p tesson-memory`; `TESSON_KERNELS` is not read here, both kernels are measured.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use tesson_core::{Chunk, Data, Keys, Offsets, StreamColumn, Values};
use tesson_memory::packed::{Best, Kernel, PackedRows, Packer, Plain, StreamToPack};

/// Sequences of each corpus: packed they are larger than caches.
const SEQUENCES: usize = 400_000;

/// Times that each loop runs; the fastest counts.
const ROUNDS: usize = 5;

/// Sequences that are asked for before they are unpacked.
const AHEAD: usize = 8;

/// A sequence's number in a random order: odd factors permute numbers modulo powers of two, larger ones are skipped.
fn shuffled() -> Vec<usize> {
    let n = SEQUENCES.next_power_of_two();
    (0..n).map(|i| i.wrapping_mul(0x9E37_79B1) & (n - 1)).filter(|&i| i < SEQUENCES).collect()
}

/// Bags of twelve words each.
fn sparse() -> (&'static str, Chunk, StreamToPack) {
    const PAIRS: usize = 12;
    let columns = (0..SEQUENCES * PAIRS).map(|i| (i % PAIRS * 900 + i % 811) as u32).collect();
    let values = Values::F32((0..SEQUENCES * PAIRS).map(|i| (i % 7 + 1) as f32).collect());
    let rows = Offsets::Every(PAIRS as u32);
    let data = Data::Sparse { rows, columns, values };
    ("sparse, 12 pairs", of_one_stream(data), StreamToPack { number: 0, dim: 20_000 })
}

/// Samples of 64 floats each.
fn dense() -> (&'static str, Chunk, StreamToPack) {
    const DIM: usize = 64;
    let values = Values::F32((0..SEQUENCES * DIM).map(|i| i as f32 / 3.0).collect());
    ("dense, 64 floats", of_one_stream(Data::Dense { values }), StreamToPack { number: 0, dim: DIM })
}

/// Samples of 64 small numbers, most of which are 0.
fn zeros() -> (&'static str, Chunk, StreamToPack) {
    const DIM: usize = 64;
    let value = |i: usize| if i.is_multiple_of(5) { (i % 255) as u8 } else { 0 };
    let values = Values::Bytes((0..SEQUENCES * DIM).map(value).collect());
    ("dense, 64 bytes, many 0", of_one_stream(Data::Dense { values }), StreamToPack { number: 0, dim: DIM })
}

fn of_one_stream(data: Data) -> Chunk {
    let stream = StreamColumn { samples: Offsets::Every(1), data };
    Chunk::new(Keys::Consecutive(0), vec![1; SEQUENCES], vec![stream])
}

/// Millions of sequences a second, in the fastest of several rounds.
fn rate(mut round: impl FnMut()) -> f64 {
    let seconds = || {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    };
    let least = std::iter::repeat_with(seconds).take(ROUNDS).fold(f64::MAX, f64::min);
    SEQUENCES as f64 / least / 1e6
}

/// Unpacks sequences in an order.
fn unpack(kernel: impl Kernel, rows: &PackedRows, sparse: bool, dim: usize, order: &[usize]) {
    let (mut values, mut ends, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    kernel.run(|| {
        for (i, &sequence) in order.iter().enumerate() {
            if let Some(&ahead) = order.get(i + 2 * AHEAD) {
                rows.prefetch_place(ahead);
            }
            if let Some(&ahead) = order.get(i + AHEAD) {
                rows.prefetch(ahead);
            }
            let mut streams = rows.sequence(kernel, sequence);
            let stream = if sparse { streams.sparse() } else { streams.dense(dim) };
            stream.f32s(&mut values);
            if sparse {
                stream.pairs(&mut ends, &mut columns);
            }
            if i % 256 == 255 {
                black_box((&values, &ends, &columns));
                values.clear();
                ends.clear();
                columns.clear();
            }
        }
    });
}

fn unpack_best(rows: &PackedRows, sparse: bool, dim: usize, order: &[usize]) {
    match Best::detect() {
        Best::Plain(kernel) => unpack(kernel, rows, sparse, dim, order),
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => unpack(kernel, rows, sparse, dim, order),
    }
}

fn main() {
    let in_order: Vec<usize> = (0..SEQUENCES).collect();
    let shuffled = shuffled();
    println!("millions of sequences a second; best kernel: {:?}", Best::detect());
    for (name, chunk, stream) in [sparse(), dense(), zeros()] {
        let is_sparse = matches!(chunk.streams[0].data, Data::Sparse { .. });
        let mut scratch = Vec::new();
        let mut pack = || {
            let mut packer = Packer::new(SEQUENCES, &mut scratch);
            packer.push(&chunk, &[stream]).expect("less than 4 GiB");
            packer.finish(usize::MAX)
        };
        let packing = rate(|| drop(black_box(pack())));
        let rows = pack();
        let bytes = rows.bytes() as f64 / SEQUENCES as f64;
        println!("{name}: {bytes:.0} bytes each, packed {packing:.1}");
        for (order, numbers) in [("in order", &in_order), ("shuffled", &shuffled)] {
            let best = rate(|| unpack_best(&rows, is_sparse, stream.dim, numbers));
            let plain = rate(|| unpack(Plain, &rows, is_sparse, stream.dim, numbers));
            println!("    unpacked {order}: {best:.1}, by the plain kernel {plain:.1}");
        }
    }
}
