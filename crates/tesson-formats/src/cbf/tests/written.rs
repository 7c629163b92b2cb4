//! Written files, compared with the layout put down plainly.

use std::io::{self, Write};

use tesson_core::{Element, Key};

use crate::cbf::layout::PREAMBLE;
use crate::cbf::write::Writer;
use crate::write::{Batch, Column, Numbers, SequenceData, SequenceWriter, StreamSpec, WriteError};

/// Sequences of a dense and a sparse stream: samples of the first, entries of each sample of the other.
struct Sequences {
    dense: Vec<u32>,
    sparse: Vec<Vec<u32>>,
}

const DIM: u32 = 3;

impl Sequences {
    fn new(shapes: &[(u32, &[u32])]) -> Sequences {
        Sequences {
            dense: shapes.iter().map(|(n, _)| *n).collect(),
            sparse: shapes.iter().map(|(_, entries)| entries.to_vec()).collect(),
        }
    }

    /// The first chunk as it has to be, if all sequences are in it.
    fn chunk(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (&n, entries) in self.dense.iter().zip(&self.sparse) {
            bytes.extend(n.max(entries.len() as u32).to_le_bytes());
        }
        let mut value = 0f32;
        for &n in &self.dense {
            bytes.extend(n.to_le_bytes());
            for _ in 0..n * DIM {
                value += 1.0;
                bytes.extend(value.to_le_bytes());
            }
        }
        value = 0.0;
        for entries in &self.sparse {
            let all: u32 = entries.iter().sum();
            bytes.extend((entries.len() as u32).to_le_bytes());
            bytes.extend(all.to_le_bytes());
            for _ in 0..all {
                value += 1.0;
                bytes.extend(value.to_le_bytes());
            }
            entries.iter().flat_map(|&n| 0..n).for_each(|column| bytes.extend(column.to_le_bytes()));
            entries.iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        }
        bytes
    }

    /// Writes them, so many a batch.
    fn write(&self, at_once: usize, chunk_bytes: u64, out: &mut impl Write) -> Result<(), WriteError> {
        let stream = |name: &str, sparse| StreamSpec {
            name: name.into(),
            sparse,
            dim: Some(if sparse { 1 << 20 } else { DIM.into() }),
            element: Element::F32,
            classes: Default::default(),
        };
        let mut writer = Writer::new(out, &[stream("a", false), stream("b", true)], chunk_bytes)?;
        let (mut dense, mut sparse) = (0u32, 0u32);
        for (lengths, entries) in self.dense.chunks(at_once).zip(self.sparse.chunks(at_once)) {
            let n_samples: u32 = lengths.iter().sum();
            let values: Vec<f32> = (0..n_samples * DIM).map(|i| (dense + i + 1) as f32).collect();
            dense += n_samples * DIM;
            let counts: Vec<u32> = entries.concat();
            let mut bounds = vec![0];
            counts.iter().for_each(|&n| bounds.push(bounds[bounds.len() - 1] + n as i32));
            let all: u32 = counts.iter().sum();
            let columns: Vec<i32> = counts.iter().flat_map(|&n| 0..n as i32).collect();
            let weights: Vec<f32> = (0..all).map(|i| (sparse + i + 1) as f32).collect();
            sparse += all;
            let samples: Vec<u32> = entries.iter().map(|entries| entries.len() as u32).collect();
            let columns = vec![
                Column { lengths, data: SequenceData::Dense { n_samples, values: Numbers::F32(&values) } },
                Column {
                    lengths: &samples,
                    data: SequenceData::Sparse {
                        bounds: &bounds,
                        columns: &columns,
                        values: Numbers::F32(&weights),
                    },
                },
            ];
            let key = |i| Key::Number(i as u64);
            writer.batch(&Batch {
                n_sequences: lengths.len(),
                columns,
                ordered: true,
                numbers_are_lines: true,
                key: &key,
            })?;
        }
        writer.finish()
    }
}

#[test]
fn records_of_any_size_lie_as_the_format_says_however_they_come() {
    let large = [0, 9000, 1, 17];
    let shapes: [(u32, &[u32]); 6] =
        [(1, &[2, 0]), (5000, &[7]), (2, &large), (1, &[]), (0, &[1; 5000]), (40, &[128, 129, 127])];
    let sequences = Sequences::new(&shapes);
    let expected = sequences.chunk();
    // Blocks of memory are smaller where chunks are; some of the records fit none.
    for (chunk_bytes, at_once) in [(1 << 20, 1), (1 << 20, 4), (32 << 20, 6)] {
        let mut bytes = Vec::new();
        sequences.write(at_once, chunk_bytes, &mut bytes).expect("memory takes all");
        let chunk = &bytes[PREAMBLE as usize..][..expected.len()];
        assert!(chunk == expected, "chunks of {chunk_bytes} bytes, {at_once} at once");
    }
}

#[test]
fn batches_change_nothing_where_chunks_end() {
    let shapes: Vec<(u32, &[u32])> =
        (0..300).map(|i| (i % 7, [&[3, 1][..], &[], &[900]][i as usize % 3])).collect();
    let sequences = Sequences::new(&shapes);
    for chunk_bytes in [1, 4000, 100_000] {
        let mut one_by_one = Vec::new();
        sequences.write(1, chunk_bytes, &mut one_by_one).expect("memory takes all");
        for at_once in [2, 64, 300] {
            let mut bytes = Vec::new();
            sequences.write(at_once, chunk_bytes, &mut bytes).expect("memory takes all");
            assert!(bytes == one_by_one, "chunks of {chunk_bytes} bytes, {at_once} at once");
        }
    }
}

/// Takes so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => {
                self.0 = left;
                Ok(bytes.len())
            }
            None => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_takes_no_more_ends_writing() {
    let shapes = vec![(50, &[40, 3][..]); 200];
    let sequences = Sequences::new(&shapes);
    let mut bytes = Vec::new();
    sequences.write(10, 20_000, &mut bytes).expect("memory takes all");
    for room in [PREAMBLE as usize, bytes.len() / 2, bytes.len() - 1] {
        let answer = sequences.write(10, 20_000, &mut Full(room));
        assert!(matches!(answer, Err(WriteError::Io(_))), "{room} of {} bytes", bytes.len());
    }
    sequences.write(10, 20_000, &mut Full(bytes.len())).expect("all of it fits");
}
