//! Tables as corpora: NumPy's arrays of records; columns in Parquet and in Arrow's formats; text.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
    StructArray, UInt32Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tesson_formats::example::{Value, write};

use crate::images::tar;
use crate::prepared::{array_record, tfrecord};

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
fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = [b"\x93NUMPY\x01\x00", &(length as u16).to_le_bytes()[..]].concat();
    bytes.extend(header.bytes().chain(std::iter::repeat_n(b' ', length - header.len() - 1)).chain([b'\n']));
    bytes.extend(values);
    bytes
}

/// Columns of some rows: lists of floats of these lengths, of which the first row of 64 is empty; the keys that the sequences have in
/// other files; and a struct of a matrix and a large number.
fn columns(rows: std::ops::Range<usize>, lengths: &[u32]) -> RecordBatch {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows.clone() {
        let n = if row % 64 == 0 { 0 } else { lengths[row] };
        (0..n).for_each(|i| lists.values().append_value(row as f32 + i as f32 / 64.0));
        lists.append(true);
    }
    let ids: UInt32Array = rows.clone().map(|row| Some(3 * row as u32)).collect();
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let cells: Float32Array =
        rows.clone().flat_map(|row| (0..6).map(move |i| Some((6 * row + i) as f32))).collect();
    let matrix: ArrayRef = Arc::new(FixedSizeListArray::new(item, 6, Arc::new(cells), None));
    let large: ArrayRef =
        Arc::new(rows.clone().map(|row| Some((1 << 60) + row as i64)).collect::<Int64Array>());
    let name: StringArray = rows.clone().map(|row| Some("é".repeat(row % 5))).collect();
    let flag: ArrayRef = Arc::new(rows.map(|row| Some(row % 3 == 0)).collect::<BooleanArray>());
    let field = |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let nested = StructArray::from(vec![(field("matrix", &matrix), matrix), (field("large", &large), large)]);
    let columns: [(&str, ArrayRef); 5] = [
        ("x", Arc::new(lists.finish())),
        ("id", Arc::new(ids)),
        ("nested", Arc::new(nested)),
        ("flag", flag),
        ("name", Arc::new(name)),
    ];
    RecordBatch::try_from_iter(columns).expect("all have as many rows")
}

/// Rows of a record batch.
const IN_BATCH: usize = 23;

fn batches(rows: std::ops::Range<usize>, lengths: &[u32]) -> impl Iterator<Item = RecordBatch> {
    let end = rows.end;
    rows.step_by(IN_BATCH).map(move |first| columns(first..end.min(first + IN_BATCH), lengths))
}

/// A Parquet file of small row groups and smaller pages, with or without an index of pages.
fn parquet(rows: std::ops::Range<usize>, lengths: &[u32], has_index: bool) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(61))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(5)
        .set_offset_index_disabled(!has_index)
        .set_compression(if has_index { Compression::SNAPPY } else { Compression::UNCOMPRESSED });
    let schema = columns(0..0, lengths).schema();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties.build()))
        .expect("the schema is one of Parquet");
    batches(rows, lengths).for_each(|batch| writer.write(&batch).expect("memory takes all"));
    writer.into_inner().expect("memory takes all")
}

/// A file of Arrow's, its buffers compressed.
fn arrow_file(rows: std::ops::Range<usize>, lengths: &[u32]) -> Vec<u8> {
    let schema = columns(0..0, lengths).schema();
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
    let options = options.expect("it is built in");
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &schema, options).expect("memory takes all");
    batches(rows, lengths).for_each(|batch| writer.write(&batch).expect("memory takes all"));
    writer.finish().expect("memory takes all");
    writer.into_inner().expect("memory takes all")
}

fn arrow_stream(rows: std::ops::Range<usize>, lengths: &[u32]) -> Vec<u8> {
    let schema = columns(0..0, lengths).schema();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).expect("memory takes all");
    batches(rows, lengths).for_each(|batch| writer.write(&batch).expect("memory takes all"));
    writer.finish().expect("memory takes all");
    writer.into_inner().expect("memory takes all")
}

/// Documents of these lengths as 16-bit numbers, each of which ends with 9.
fn documents(lengths: &[u32]) -> Vec<u8> {
    let document = |n: &u32| (1..*n).map(|i| 10 + (i * n) as u16 % 1000).chain([9]).collect::<Vec<_>>();
    lengths.iter().flat_map(document).flat_map(u16::to_le_bytes).collect()
}

/// The files of the corpora of tables, with a row of each of these lengths.
pub(crate) fn files(lengths: &[u32]) -> Vec<(String, Vec<u8>)> {
    let n = lengths.len();
    let first = IN_FIRST.min(n);
    vec![
        ("table-0.npy".into(), records(0, first)),
        ("table-1.npy".into(), records(first, n - first)),
        ("table-0.parquet".into(), parquet(0..first, lengths, true)),
        ("table-1.parquet".into(), parquet(first..n, lengths, false)),
        ("tokens.bin".into(), documents(lengths)),
        ("table-0.arrow".into(), arrow_file(0..first, lengths)),
        ("table-1.arrow".into(), arrow_stream(first..n, lengths)),
        ("table.csv".into(), csv(n)),
        ("table.jsonl".into(), json_lines(n)),
        ("table-0.tfrecord".into(), tfrecord(&examples(0..first))),
        ("table-1.tfrecord".into(), tfrecord(&examples(first..n))),
        ("table-0.array_record".into(), array_record(&examples(0..first))),
        ("table-1.array_record".into(), array_record(&examples(first..n))),
        ("plain-0.array_record".into(), array_record(&texts(0..first))),
        ("plain-1.array_record".into(), array_record(&texts(first..n))),
        ("table.svm".into(), libsvm(n)),
        ("table.arff".into(), arff(n)),
        ("table.vw".into(), vw(n)),
        ("table.csv.zst".into(), in_frames(&csv(n))),
        ("table-0.tar".into(), members(0..first)),
        ("table-1.tar".into(), members(first..n)),
    ]
}

/// Bytes in frames of Zstandard, each with one block as it is.
fn in_frames(bytes: &[u8]) -> Vec<u8> {
    let frame = |part: &[u8]| {
        let block = (part.len() as u32) << 3 | 1;
        [&[0x28, 0xB5, 0x2F, 0xFD, 0, 0x38][..], &block.to_le_bytes()[..3], part].concat()
    };
    bytes.chunks(1000).flat_map(frame).collect()
}

/// The rows as CSV: the key, a text that is quoted in some rows, a number.
fn csv(n: usize) -> Vec<u8> {
    let text = |row: usize| {
        if row.is_multiple_of(9) { format!("\"{row},\n\"\"{row}\"") } else { format!("ä{row}") }
    };
    let rows = (0..n).map(|row| format!("{},{},{}\r\n", 3 * row, text(row), row as f64 / 7.0));
    format!("id,text,x\r\n{}", rows.collect::<String>()).into_bytes()
}

/// Rows as texts, which are no examples.
fn texts(rows: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    rows.map(|row| format!("ä{row}").into_bytes()).collect()
}

/// Rows as examples: the key, four floats, a byte string, any number of whole numbers.
fn examples(rows: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let example = |row: usize| {
        let (text, mut message) = (format!("ä{row}"), Vec::new());
        let list: Vec<i64> = (0..row % 5).map(|i| (row + i) as i64).collect();
        let features = [
            ("box", Value::Floats(&[row as f32 / 7.0; 4])),
            ("id", Value::Ints(&[3 * row as i64])),
            ("list", Value::Ints(&list)),
            ("text", Value::Bytes(&[text.as_bytes()])),
        ];
        write(&features, &mut message);
        message
    };
    rows.map(example).collect()
}

/// Rows as members of an archive, named by the key: a text, a number, and an array of pairs of floats, as many as the row says.
fn members(rows: std::ops::Range<usize>) -> Vec<u8> {
    let members = rows.flat_map(|row| {
        let pairs = 1 + row % 5;
        let values: Vec<u8> = (0..2 * pairs).flat_map(|i| (row as f32 + i as f32).to_le_bytes()).collect();
        [
            (format!("{}.txt", 3 * row), format!("ä{row}").into_bytes()),
            (format!("{}.cls", 3 * row), (row % 7).to_string().into_bytes()),
            (format!("{}.npy", 3 * row), npy("'<f4'", &format!("({pairs}, 2)"), &values)),
        ]
    });
    tar(members)
}

/// The rows as lines of libsvm: a label, the key as the query, any number of pairs, and comments.
fn libsvm(n: usize) -> Vec<u8> {
    let row = |row: usize| {
        let pair = |i: usize| format!(" {}:{}", 1 + i * 3 + row % 3, row as f64 / 7.0);
        let pairs: String = (0..row % 4).map(pair).collect();
        let comment = if row.is_multiple_of(8) { " # a note\n# a line\n" } else { "\n" };
        format!("{} qid:{}{pairs}{comment}", row % 2, 3 * row)
    };
    (0..n).map(row).collect::<String>().into_bytes()
}

/// The rows as lines of Vowpal Wabbit: a label, perhaps an importance, the key as the tag, features in two namespaces.
fn vw(n: usize) -> Vec<u8> {
    let row = |row: usize| {
        let importance = if row.is_multiple_of(3) { " 2" } else { "" };
        let names: String = (0..1 + row % 4).map(|i| format!(" f{}:{}", row + i, row as f64 / 7.0)).collect();
        let blank = if row.is_multiple_of(11) { "\n" } else { "" };
        format!("{}{importance} '{}|a:0.5{names} {row} |b text:ä :{row}\n{blank}", row % 2, 3 * row)
    };
    (0..n).map(row).collect::<String>().into_bytes()
}

/// The rows as ARFF: the key, a text that has escapes in some rows, a number, a class, a time; some rows sparse, with weights and comments.
fn arff(n: usize) -> Vec<u8> {
    let header = "% rows\n@relation rows\n@attribute id integer\n@attribute text string\n@attribute x real\n\
        @attribute class {a, 'b c', d}\n@attribute day date yyyy-MM-dd\n@data\n";
    let row = |row: usize| {
        let (key, x, day) = (3 * row, row as f64 / 7.0, 1 + row % 28);
        let text = if row.is_multiple_of(9) { format!("'{row},\\n\\'ä'") } else { format!("ä{row}") };
        let class = ["a", "'b c'", "d"][row % 3];
        match row % 4 {
            0 => format!("{{0 {key}, 1 {text}, 3 {class}}}, {{{}}}\n% a note\n", x + 1.0),
            1 => format!("{key}\t{text} {x},{class} , 2001-02-{day} % a note\n\n"),
            _ => format!("{key},{text},{x},{class},\"1969-12-{day}\"\r\n"),
        }
    };
    (0..n).fold(header.to_owned(), |text, n| text + &row(n)).into_bytes()
}

/// The rows as JSON lines: the key, a text, any number of whole numbers.
fn json_lines(n: usize) -> Vec<u8> {
    let row = |row: usize| {
        let list: Vec<usize> = (0..row % 5).map(|i| row + i).collect();
        let blank = if row.is_multiple_of(11) { "\n" } else { "" };
        format!("{{\"text\": \"\\u00e4{row}\", \"id\": {}, \"list\": {list:?}}}\n{blank}", 3 * row)
    };
    (0..n).map(row).collect::<String>().into_bytes()
}
