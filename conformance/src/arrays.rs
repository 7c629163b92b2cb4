//! Tables as a corpus: NumPy's arrays of records.

/// Rows of the first file; the second one has all others.
const IN_FIRST: usize = 150;

/// An array of records in NumPy's format, of this number of rows from `first` on: eight floats, a large number whose most
/// significant byte comes first, the key that the sequence has in other files, and a truth value.
fn records(first: usize, n: usize) -> Vec<u8> {
    let descr = "[('x', '<f4', (8,)), ('large', '>i8'), ('id', '<u4'), ('flag', '|b1')]";
    let rows = first..first + n;
    let row = |row: usize| {
        let floats = (0..8).flat_map(move |i| (row as f32 + i as f32 / 8.0).to_le_bytes());
        let (large, id) = ((1_i64 << 60) + row as i64, 3 * row as u32);
        floats.chain(large.to_be_bytes()).chain(id.to_le_bytes()).chain([row.is_multiple_of(3).into()])
    };
    npy(descr, &format!("({n},)"), &rows.flat_map(row).collect::<Vec<u8>>())
}

/// A file in NumPy's format.
pub fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = [b"\x93NUMPY\x01\x00", &(length as u16).to_le_bytes()[..]].concat();
    bytes.extend(header.bytes().chain(std::iter::repeat_n(b' ', length - header.len() - 1)).chain([b'\n']));
    bytes.extend(values);
    bytes
}

/// The files of the corpora of tables, with `n` rows in all.
pub fn files(n: usize) -> Vec<(String, Vec<u8>)> {
    let first = IN_FIRST.min(n);
    vec![("table-0.npy".into(), records(0, first)), ("table-1.npy".into(), records(first, n - first))]
}
