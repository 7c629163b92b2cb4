//! Corpora in CNTK's binary format, made byte by byte without the product's writer.

/// A sequence: the dense samples of `x`, and the sparse ones of `y`.
#[derive(Default)]
struct Sequence {
    x: Vec<[f32; 2]>,
    y: Vec<Vec<(i32, f32)>>,
}

/// The sequences of a text of [`crate::corpus`], in chunks of about `chunk_bytes` bytes. A sequence's key is its
/// number.
///
/// # Panics
/// If the text is another one.
pub fn of(text: &str, chunk_bytes: usize) -> Vec<u8> {
    let lines: Vec<&str> = text.lines().collect();
    let id = |line: &&str| line.split(' ').next().unwrap_or_default().to_string();
    let mut bytes = b"nib_ktnc\x01\0\0\0".to_vec();
    let (mut table, mut chunk, mut size) = (Vec::new(), Vec::new(), 0);
    for rows in lines.chunk_by(|a, b| id(a) == id(b)) {
        let sequence = Sequence::of(rows);
        size += sequence.bytes();
        chunk.push(sequence);
        if size >= chunk_bytes {
            put_chunk(&chunk, &mut table, &mut bytes);
            chunk.clear();
            size = 0;
        }
    }
    if !chunk.is_empty() {
        put_chunk(&chunk, &mut table, &mut bytes);
    }
    put_header(&table, &mut bytes);
    bytes
}

impl Sequence {
    fn of(rows: &[&str]) -> Sequence {
        let number = |text: &str| text.parse::<f32>().expect("a number");
        let pair = |text: &str| {
            let (column, value) = text.split_once(':').expect("a pair");
            (column.parse().expect("a column"), number(value))
        };
        let mut sequence = Sequence::default();
        for input in rows.iter().flat_map(|row| row.split('|').skip(1)) {
            let words: Vec<&str> = input.split_whitespace().collect();
            match words[..] {
                ["x", first, second] => sequence.x.push([number(first), number(second)]),
                _ => sequence.y.push(words[1..].iter().map(|text| pair(text)).collect()),
            }
        }
        sequence
    }

    fn length(&self) -> u32 {
        self.x.len().max(self.y.len()) as u32
    }

    /// Bytes in the file.
    fn bytes(&self) -> usize {
        16 + 8 * self.x.len() + self.y.iter().map(|sample| 4 + 8 * sample.len()).sum::<usize>()
    }
}

/// Appends a chunk, and its entry to the table: offset, sequences, samples.
fn put_chunk(chunk: &[Sequence], table: &mut Vec<(u64, u32, u32)>, into: &mut Vec<u8>) {
    let samples = chunk.iter().map(Sequence::length).sum();
    table.push((into.len() as u64, chunk.len() as u32, samples));
    chunk.iter().for_each(|sequence| into.extend(sequence.length().to_le_bytes()));
    for Sequence { x, .. } in chunk {
        into.extend((x.len() as u32).to_le_bytes());
        x.iter().flatten().for_each(|value| into.extend(value.to_le_bytes()));
    }
    for Sequence { y, .. } in chunk {
        let entries = || y.iter().flatten();
        into.extend((y.len() as u32).to_le_bytes());
        into.extend((entries().count() as i32).to_le_bytes());
        entries().for_each(|(_, value)| into.extend(value.to_le_bytes()));
        entries().for_each(|(column, _)| into.extend(column.to_le_bytes()));
        y.iter().for_each(|sample| into.extend((sample.len() as i32).to_le_bytes()));
    }
}

/// Appends the header: the streams `x` (dense, 2 values) and `y` (sparse, 10 columns), and the table.
fn put_header(table: &[(u64, u32, u32)], into: &mut Vec<u8>) {
    let header = into.len() as u64;
    into.extend(b"nib_ktnc");
    into.extend((table.len() as u32).to_le_bytes());
    into.extend(2u32.to_le_bytes());
    for (sparse, name, dim) in [(0, b'x', 2u32), (1, b'y', 10)] {
        into.extend([sparse, 1, 0, 0, 0, name, 0]);
        into.extend(dim.to_le_bytes());
    }
    for (offset, sequences, samples) in table {
        into.extend(offset.to_le_bytes());
        into.extend(sequences.to_le_bytes());
        into.extend(samples.to_le_bytes());
    }
    into.extend(header.to_le_bytes());
}
