use super::*;

fn dense(samples: Offsets, values: Values) -> StreamColumn {
    StreamColumn { samples, data: Data::Dense { values } }
}

fn sparse(samples: Offsets, rows: Vec<u32>, columns: Vec<u32>, values: Values) -> StreamColumn {
    StreamColumn { samples, data: Data::Sparse { rows: Offsets::At(rows), columns, values } }
}

impl Kernel for Best {
    fn pack_columns(self, columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
        match self {
            Best::Plain(kernel) => kernel.pack_columns(columns, chained, room),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.pack_columns(columns, chained, room),
        }
    }

    fn pack_values(self, values: &Values, range: Range<usize>, room: &mut [u8]) -> (u8, usize) {
        match self {
            Best::Plain(kernel) => kernel.pack_values(values, range, room),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.pack_values(values, range, room),
        }
    }

    fn spare_zeros(self, bytes: &[u8], room: &mut [u8]) -> usize {
        match self {
            Best::Plain(kernel) => kernel.spare_zeros(bytes, room),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.spare_zeros(bytes, room),
        }
    }

    fn columns(self, items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
        match self {
            Best::Plain(kernel) => kernel.columns(items, width, n, chained, out),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.columns(items, width, n, chained, out),
        }
    }

    fn f32s(self, items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>) {
        match self {
            Best::Plain(kernel) => kernel.f32s(items, form, n, out),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.f32s(items, form, n, out),
        }
    }

    fn spared_f32s(self, items: Items<'_>, n: usize, out: &mut Vec<f32>) {
        match self {
            Best::Plain(kernel) => kernel.spared_f32s(items, n, out),
            #[cfg(target_arch = "x86_64")]
            Best::Avx512(kernel) => kernel.spared_f32s(items, n, out),
        }
    }
}

/// Packed rows, and what reads them.
struct Rows {
    packed: PackedRows,
    /// True if sequences may have lines of their own.
    lines: bool,
    kernel: Best,
}

impl Rows {
    fn sequence(&self, i: usize) -> PackedSequence<'_, Best> {
        self.packed.sequence(self.kernel, i)
    }
}

/// Packs with every kernel that this processor has, in lines and without; all make the same bytes of it, and their rows come back.
fn pack(n_sequences: u32, streams: Vec<StreamColumn>, dims: &[usize]) -> Vec<Rows> {
    let chunk = Chunk::new(tesson_core::Keys::Consecutive(0), vec![1; n_sequences as usize], streams);
    let mut kernels = vec![Best::Plain(Plain), Best::detect()];
    kernels.dedup();
    let mut first: Option<(Vec<u32>, Vec<u8>)> = None;
    let pack = |(kernel, most)| {
        // What the scratch has held before must not matter.
        let mut scratch = vec![0xa5; 700];
        let mut packer = Packer::by(kernel, n_sequences as usize, &mut scratch);
        let streams = dims.iter().enumerate().map(|(number, &dim)| StreamToPack { number, dim });
        packer.push(&chunk, &streams.collect::<Vec<_>>()).expect("less than 4 GiB");
        let starts = packer.starts.clone();
        let packed = packer.finish(most);
        let end = starts[starts.len() - 1] as usize + SLACK;
        let made = (starts, scratch[..end].to_vec());
        assert_eq!(first.get_or_insert_with(|| made.clone()), &made);
        Rows { packed, lines: most > 0, kernel }
    };
    let ways = kernels.into_iter().flat_map(|kernel| [usize::MAX, 0].map(|most| (kernel, most)));
    ways.map(pack).collect()
}

fn f32s(stream: &PackedStream<'_, Best>) -> Vec<f32> {
    let mut out = vec![9.0];
    stream.f32s(&mut out);
    out.split_off(1)
}

fn f64s(stream: &PackedStream<'_, Best>) -> Vec<f64> {
    let mut out = vec![9.0];
    stream.f64s(&mut out);
    out.split_off(1)
}

/// The ends of samples and the columns, after `before` other columns.
fn pairs(stream: &PackedStream<'_, Best>, before: usize) -> (Vec<i32>, Vec<i32>) {
    let (mut ends, mut columns) = (vec![], vec![-1; before]);
    stream.pairs(&mut ends, &mut columns);
    (ends, columns.split_off(before))
}

#[test]
fn dense_values_come_back_in_the_narrowest_form() {
    let pairs = [
        ([1.0, 1.0], ONES),
        ([0.0, 255.0], BYTES),
        ([-0.0, 1.5], F32),
        ([256.0, 1.0], F32),
        ([1.0, 0.5], F32),
        ([f32::NAN, -1.0], F32),
        ([f32::MAX, 8_388_608.0], F32),
        ([f32::NEG_INFINITY, 4_294_967_296.0], F32),
    ];
    let all: Vec<f32> = pairs.iter().flat_map(|p| p.0).collect();
    let wide: Vec<f64> = all.iter().copied().map(f64::from).collect();
    for rows in pack(pairs.len() as u32, vec![dense(Offsets::Every(1), Values::F32(all))], &[2]) {
        for (i, (values, form)) in pairs.iter().enumerate() {
            let stream = rows.sequence(i).dense(2);
            assert_eq!((stream.head & 3, stream.n_samples, stream.n_values), (*form, 1, 2));
            assert_eq!(
                f32s(&stream).iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                values.map(f32::to_bits)
            );
        }
    }
    for rows in pack(pairs.len() as u32, vec![dense(Offsets::Every(1), Values::F64(wide.clone()))], &[2]) {
        for (i, (_, form)) in pairs.iter().enumerate() {
            let stream = rows.sequence(i).dense(2);
            assert_eq!(stream.head & 3, if *form == F32 { F64 } else { *form });
            // Not converted again: which bits a NaN has then is not certain.
            let bits = [wide[2 * i], wide[2 * i + 1]].map(f64::to_bits);
            assert_eq!(f64s(&stream).iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
        }
    }
}

/// Dense samples of every size around what is handled at once, with every share of zeros, followed by another stream.
#[test]
fn zeros_are_left_out_where_there_are_many_and_come_back() {
    let sizes = [63, 64, 65, 79, 80, 81, 127, 128, 129, 784, 5000];
    // Miri takes minutes for all of them.
    let sizes = if cfg!(miri) { &sizes[1..3] } else { &sizes[..] };
    for (dim, every) in sizes.iter().flat_map(|dim| [1, 2, 3, 10, 10_000].map(|every| (*dim, every))) {
        let value = |i: usize| if i.is_multiple_of(every) { (i % 255 + 1) as u8 } else { 0 };
        let bytes: Vec<u8> = (0..3 * dim).map(value).collect();
        let floats: Vec<f32> = bytes.iter().map(|&b| b.into()).collect();
        let doubles: Vec<f64> = bytes.iter().map(|&b| b.into()).collect();
        let after = dense(Offsets::Every(1), Values::F32(vec![0.5, 1.5, 2.5]));
        for held in [Values::Bytes(bytes), Values::F32(floats.clone()), Values::F64(doubles.clone())] {
            // A sequence of one sample, and one of two.
            let streams = vec![dense(Offsets::At(vec![0, 1, 3]), held.clone()), after.clone()];
            let streams = streams.into_iter().map(|mut stream| {
                stream.samples = Offsets::At(vec![0, 1, 3]);
                stream
            });
            for packed in pack(2, streams.collect(), &[dim, 1]) {
                for (i, range) in [0..dim, dim..3 * dim].into_iter().enumerate() {
                    let mut sequence = packed.sequence(i);
                    let stream = sequence.dense(dim);
                    match every {
                        1 => assert_eq!(stream.head & SPARED, 0, "{dim}"),
                        2 => {}
                        _ => assert_eq!(stream.head & SPARED != 0, range.len() >= MANY, "{dim} {every}"),
                    }
                    match held {
                        Values::F64(_) => assert_eq!(f64s(&stream), doubles[range]),
                        _ => assert_eq!(f32s(&stream), floats[range]),
                    }
                    assert_eq!(f32s(&sequence.dense(1)), [&[0.5][..], &[1.5, 2.5]][i]);
                }
            }
        }
    }
}

#[test]
fn streams_of_a_sequence_follow_each_other() {
    let streams = vec![
        sparse(
            Offsets::At(vec![0, 2, 2]),
            vec![0, 2, 3],
            vec![1, 70_000, 5],
            Values::F32(vec![1.0, 2.0, 3.0]),
        ),
        dense(Offsets::At(vec![0, 1, 3]), Values::Bytes(vec![1, 2, 3])),
        sparse(Offsets::At(vec![0, 0, 1]), vec![0, 1], vec![9], Values::F64(vec![0.25])),
    ];
    for rows in pack(2, streams, &[1, 1, 1]) {
        let mut sequence = rows.sequence(0);
        let first = sequence.sparse();
        assert_eq!(pairs(&first, 10), (vec![12, 13], vec![1, 70_000, 5]));
        assert_eq!((first.n_samples, f32s(&first)), (2, vec![1., 2., 3.]));
        assert_eq!(f32s(&sequence.dense(1)), [1.]);
        assert_eq!(sequence.sparse().n_samples, 0);
        let mut sequence = rows.sequence(1);
        assert_eq!(sequence.sparse().n_samples, 0);
        assert_eq!(f32s(&sequence.dense(1)), [2., 3.]);
        assert_eq!(f64s(&sequence.sparse()), [0.25]);
    }
}

/// Sequences of every number of samples and of pairs around what is handled at once, alike and not, with columns of
/// every width and values of every form, come back as they are, whatever lies after them.
#[test]
fn every_number_of_samples_and_pairs_comes_back() {
    let mut counts: Vec<Vec<usize>> = Vec::new();
    let numbers = [0, 1, 2, 16, 17, 15, 31, 32, 33, 63, 64, 65, 130];
    // Miri takes minutes for all of them.
    let numbers = if cfg!(miri) { &numbers[..5] } else { &numbers[..] };
    for &n in numbers {
        counts.push(vec![n]);
        counts.push(vec![1; n]);
        counts.push(vec![n; 3]);
        counts.push(vec![n, 0, 1, n]);
    }
    for step in [1u32, 300, 70_000] {
        let (mut samples, mut rows, mut columns) = (vec![0], vec![0], vec![]);
        for sequence in &counts {
            for &n in sequence {
                columns.extend((0..n as u32).map(|i| i * step + step / 2));
                rows.push(columns.len() as u32);
            }
            samples.push(rows.len() as u32 - 1);
        }
        let bytes: Vec<u8> = (0..columns.len()).map(|i| (i % 251) as u8).collect();
        let floats: Vec<f32> = bytes.iter().map(|&b| f32::from(b) / 2.).collect();
        for held in [
            Values::Ones(columns.len()),
            Values::Bytes(bytes),
            Values::F32(floats.iter().map(|x| x.floor()).collect()),
            Values::F32(floats),
        ] {
            let streams =
                vec![sparse(Offsets::At(samples.clone()), rows.clone(), columns.clone(), held.clone())];
            let at = |i: usize| match &held {
                Values::Ones(_) => 1.,
                Values::Bytes(v) => f32::from(v[i]),
                Values::F32(v) => v[i],
                _ => unreachable!("not among them"),
            };
            for packed in pack(counts.len() as u32, streams, &[1]) {
                let mut sample = 0;
                for (i, sequence) in counts.iter().enumerate() {
                    let stream = packed.sequence(i).sparse();
                    let range = rows[sample] as usize..rows[sample + sequence.len()] as usize;
                    assert_eq!((stream.n_samples, stream.n_values), (sequence.len(), range.len()));
                    let ends = rows[sample + 1..=sample + sequence.len()].iter();
                    let ends: Vec<i32> = ends.map(|&e| e as i32 - range.start as i32 + 5).collect();
                    let expected: Vec<i32> = columns[range.clone()].iter().map(|&c| c as i32).collect();
                    assert_eq!(pairs(&stream, 5), (ends, expected));
                    assert_eq!(f32s(&stream), range.map(at).collect::<Vec<_>>());
                    sample += sequence.len();
                }
            }
        }
    }
}

#[test]
fn sequences_of_about_a_line_lie_in_lines_and_longer_ones_elsewhere() {
    // One sample of so many pairs: 4 bytes beside 3 a pair.
    let lengths = [14, 19, 20, 21, 17, 18, 16, 40, 15, 19];
    let mut rows = vec![0];
    lengths.iter().for_each(|n| rows.push(rows[rows.len() - 1] + n));
    let columns: Vec<u32> = lengths.iter().flat_map(|&n| (1..=n).map(|i| 1000 * i)).collect();
    let values = Values::F32((0..columns.len()).map(|i| i as f32 % 251.0).collect());
    let stream = sparse(Offsets::Every(1), rows.clone(), columns.clone(), values.clone());
    let Values::F32(values) = values else { unreachable!("as made above") };
    for packed in pack(lengths.len() as u32, vec![stream], &[50_000]) {
        assert_eq!(matches!(packed.packed.places, Locations::Lines(_)), packed.lines);
        for (i, w) in rows.windows(2).enumerate() {
            packed.packed.prefetch_place(i);
            packed.packed.prefetch(i);
            let range = w[0] as usize..w[1] as usize;
            let stream = packed.sequence(i).sparse();
            assert_eq!((stream.n_samples, stream.n_values), (1, range.len()));
            assert_eq!(f32s(&stream), values[range.clone()]);
            let (ends, found) = pairs(&stream, 3);
            assert_eq!((ends, found.len()), (vec![3 + range.len() as i32], range.len()));
            assert!(found.iter().zip(&columns[range]).all(|(&a, &b)| a as u32 == b));
        }
    }
}

#[test]
fn lines_hold_several_streams_samples_and_widths() {
    // 1 + 4 * n bytes of floats, then samples of one and of several pairs, with columns of each width.
    let n = 12u32;
    let floats = dense(Offsets::Every(1), Values::F32((0..n * 8).map(|i| i as f32 / 3.0).collect()));
    for scale in [3, 300, 70_000] {
        let columns: Vec<u32> = (0..n).flat_map(|_| (1..=5).map(|i| i * scale)).collect();
        let stream = |samples, rows, values| sparse(samples, rows, columns.clone(), values);
        let every = |by: u32| (0..=5 * n).step_by(by as usize).collect::<Vec<u32>>();
        let uneven: Vec<u32> = (0..n).flat_map(|i| [5 * i, 5 * i + 2]).chain([5 * n]).collect();
        let ones = || Values::Ones(columns.len());
        let bytes = || Values::Bytes((0..columns.len()).map(|i| i as u8).collect());
        let cases = [
            (stream(Offsets::Every(5), every(1), ones()), 5, vec![1, 2, 3, 4, 5]),
            (stream(Offsets::Every(1), every(5), bytes()), 1, vec![5]),
            (stream(Offsets::Every(2), uneven, bytes()), 2, vec![2, 5]),
        ];
        for (case, n_samples, sample_ends) in cases {
            let Data::Sparse { values, .. } = case.data.clone() else { unreachable!("as made above") };
            for packed in pack(n, vec![floats.clone(), case.clone()], &[8, 0]) {
                let are_lines = matches!(packed.packed.places, Locations::Lines(_));
                assert_eq!(are_lines, packed.lines, "{scale} {n_samples}");
                for i in 0..n as usize {
                    let mut sequence = packed.sequence(i);
                    let dense = f32s(&sequence.dense(8));
                    assert!((0..8).all(|k| dense[k] == (8 * i + k) as f32 / 3.0));
                    let stream = sequence.sparse();
                    assert_eq!((stream.n_samples, stream.n_values), (n_samples, 5));
                    let expected = match &values {
                        Values::Bytes(v) => v[5 * i..5 * i + 5].iter().map(|&x| f32::from(x)).collect(),
                        _ => vec![1.0; 5],
                    };
                    assert_eq!(f32s(&stream), expected);
                    let found: Vec<i32> = (1..=5).map(|k| k * scale as i32).collect();
                    assert_eq!(pairs(&stream, 0), (sample_ends.clone(), found));
                }
            }
        }
    }
}

#[test]
fn sequences_lie_one_behind_the_other_where_lines_would_waste_memory() {
    for n in [1u32, 60] {
        let values = Values::F32((0..20 * n).map(|i| i as f32 + 0.5).collect());
        for packed in pack(20, vec![dense(Offsets::Every(1), values.clone())], &[n as usize]) {
            assert!(matches!(packed.packed.places, Locations::Dense { .. }), "{n}");
        }
    }
}
