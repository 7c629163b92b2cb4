//! Tables: from the bytes of files to minibatches, and what is refused.

use tesson::store::MemoryStore;
use tesson::{Element, Error, SampleValue, Samples, Source};

use crate::kit::{self, dense, keys, read_all, refusal, sequences, store_of, whole};

/// A file in NumPy's format.
fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values].concat()
}

fn le<const N: usize, T>(values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(bytes).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    le(values, |x| x.to_le_bytes())
}

fn open(store: &MemoryStore, options: &str) -> Result<Source, Error> {
    open_with(store, options, "")
}

fn open_with(store: &MemoryStore, options: &str, reader: &str) -> Result<Source, Error> {
    let table = format!(r#"{{"type": "TableDeserializer", {options}}}"#);
    kit::open(
        store,
        &format!(r#"{{"deserializers": [{table}], "randomize": false, "maxSweeps": 1 {reader}}}"#),
    )
}

/// The 64-bit whole numbers of a stream.
fn whole_numbers(source: &mut Source, stream: &str) -> Vec<i128> {
    let minibatch = whole(source).expect("the data are right");
    let Samples::Dense { values } = kit::stream_of(&minibatch, stream).samples() else {
        panic!("`{stream}` is dense")
    };
    let number = |i| match values.value(i) {
        SampleValue::Whole(n) => n,
        other => panic!("{other:?} is no whole number"),
    };
    (0..values.len()).map(number).collect()
}

#[test]
fn an_array_is_a_stream_whose_type_is_kept() {
    let ids = [i64::MIN, (1 << 60) + 1, -1];
    let bytes = npy("'<i8'", "(3,)", &le(&ids, |x| x.to_le_bytes()));
    let store = store_of([("ids.npy", bytes)]);
    let mut source = open(&store, r#""file": "ids.npy""#).unwrap();
    let info = &source.streams()[0];
    assert_eq!((&*info.name, info.element, info.shape.dims()), ("data", Element::I64, &[][..]));
    assert_eq!(whole_numbers(&mut source, "data"), ids.map(i128::from));
}

#[test]
fn values_of_the_other_byte_order_and_members_of_records_are_read() {
    let rows: Vec<u8> = (0..5u8).flat_map(|i| [i, 0, 0, 0, i, 0, i + 1]).collect();
    let bytes = npy("[('flags', '|u1'), ('id', '>u4'), ('y', '>i2')]", "(5,)", &rows);
    let store = store_of([("r.npy", bytes)]);
    let mut source = open(&store, r#""file": "r.npy", "columns": ["y"], "keyColumn": "id""#).unwrap();
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(keys(&minibatch), ["0", "1", "2", "3", "4"]);
    assert_eq!(minibatch.streams().len(), 1);
    assert_eq!(dense(&minibatch, "y"), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn streams_have_other_shapes_and_types_where_these_are_asked_for() {
    let store =
        store_of([("x.npy", npy("'<f4'", "(2, 4)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])))]);
    let options = r#""file": "x.npy", "input": {
        "square": {"column": "data", "shape": "2:2", "dtype": "float64"},
        "pairs": {"column": "data", "shape": 2, "ragged": true},
        "bytes": {"column": "data", "dtype": "uint8"}}"#;
    let mut source = open(&store, options).unwrap();
    let infos: Vec<_> = source.streams().iter().map(|s| (s.element, s.shape.to_string())).collect();
    let expected = [(Element::F64, "2x2"), (Element::F32, "2"), (Element::U8, "4")];
    assert_eq!(infos, expected.map(|(element, shape)| (element, shape.to_owned())));
    let minibatch = whole(&mut source).unwrap();
    assert_eq!(kit::stream_of(&minibatch, "pairs").lengths(), [2, 2]);
    assert_eq!(sequences(&minibatch, "pairs"), sequences(&minibatch, "square"));
    assert_eq!(dense(&minibatch, "bytes"), dense(&minibatch, "square"));
}

#[test]
fn several_files_are_one_corpus_in_chunks_of_bounded_size() {
    let file = |first: u8, n: u8| {
        npy("'|u1'", &format!("({n}, 2)"), &(2 * first..2 * (first + n)).collect::<Vec<_>>())
    };
    let store = store_of([("a.npy", file(0, 10)), ("b.npy", file(10, 1)), ("c.npy", file(11, 9))]);
    for chunk_bytes in [1, 6, 100] {
        let options = format!(r#""file": ["a.npy", "b.npy", "c.npy"], "chunkSizeInBytes": {chunk_bytes}"#);
        let mut source = open(&store, &options).unwrap();
        let found =
            read_all(&mut source, 3, |minibatch| (keys(minibatch), dense(minibatch, "data"))).unwrap();
        let (found_keys, values): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        assert_eq!(found_keys.concat(), (0..20).map(|i| i.to_string()).collect::<Vec<_>>());
        assert_eq!(values.concat(), (0..40).map(f64::from).collect::<Vec<_>>());
    }
}

#[test]
fn a_value_that_does_not_fit_is_a_fault_with_its_row() {
    let store = store_of([("x.npy", npy("'<i2'", "(3,)", &le(&[7i16, 300, -1], |x| x.to_le_bytes())))]);
    let options = r#""file": "x.npy", "input": {"x": {"column": "data", "dtype": "uint8"}}"#;
    let error = refusal(whole(&mut open(&store, options).unwrap()));
    assert!(error.starts_with("x.npy (byte "), "{error}");
    assert!(error.contains("stream `x`, sequence 1: row 1 has the value 300, which is no uint8"), "{error}");
    let mut forgiving = open_with(&store, options, r#", "maxErrors": 2"#).unwrap();
    assert_eq!(keys(&whole(&mut forgiving).unwrap()), ["0"]);
    let flags = store_of([("f.npy", npy("'|b1'", "(2, 2)", &[1, 0, 1, 2]))]);
    let error = refusal(whole(&mut open(&flags, r#""file": "f.npy""#).unwrap()));
    assert!(error.contains("row 1 has the byte 2, expected 0 or 1 for false and true"), "{error}");
}

#[test]
fn files_that_cannot_be_read_are_refused_with_what_was_found() {
    let ok = floats(&[1.0, 2.0]);
    let fortran =
        b"\x93NUMPY\x01\x00\x43\x00{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }         \n";
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("x.npy", b"\x93NUMPY".to_vec(), "the header of the npy file is invalid: the file ends within it"),
        ("x.npy", b"PK\x03\x04".to_vec(), "the file does not begin with `\\x93NUMPY`"),
        ("x.bin", b"PK\x03\x04".to_vec(), "neither the name nor the beginning of the file tells its format"),
        ("x.npy", npy("'<f4'", "(3,)", &ok), "declares 80"),
        (
            "x.npy",
            npy("'<f4'", "()", &ok),
            "the array has no dimensions, expected the examples as its first one",
        ),
        (
            "x.npy",
            npy("'|O'", "(1,)", &ok),
            "column `data` has values of type `|O`, which cannot be a stream",
        ),
        ("x.npy", npy("'<f4'", "(0,)", &[]), "found no row in 1 file, expected one at least"),
        (
            "x.npy",
            [&fortran[..], &ok].concat(),
            "the array of shape 1x2 is in Fortran order, expected C order",
        ),
    ];
    for (name, bytes, expected) in cases {
        let error = refusal(open(&store_of([(name, bytes)]), &format!(r#""file": "{name}""#)));
        assert!(error.starts_with(name) && error.contains(expected), "{error}");
    }
}

#[test]
fn columns_that_do_not_exist_or_fit_are_refused() {
    let store = store_of([
        ("x.npy", npy("[('label', '<f4'), ('score', '<f4')]", "(1,)", &[0; 8])),
        ("y.npy", npy("[('label', '<f4'), ('score', '<f8')]", "(1,)", &[0; 12])),
    ]);
    let cases = [
        (
            r#""file": "x.npy", "columns": "lable""#,
            "there is no column `lable` among `label`, `score`, did you mean `label`?",
        ),
        (
            r#""file": "x.npy", "keyColumn": "score""#,
            "column `score` has float32, expected whole numbers or texts as keys",
        ),
        (
            r#""file": ["x.npy", "y.npy"]"#,
            "y.npy (byte 0): found the columns `label` float32, `score` float64, x.npy has",
        ),
        (
            r#""file": "x.npy", "input": {"x": {"column": "label", "shape": 2}}"#,
            "column `label` has float32, which cannot have the shape 2",
        ),
        (r#""file": "x.npy", "columns": []"#, "columns: the list of columns is empty, expected at least one"),
        (r#""file": "x.npy", "columns": ["label", "label"]"#, "the column name `label` occurs twice"),
        (
            r#""file": "x.npy", "input": {"x": {"shape": "2:0"}}"#,
            "found `2:0`, expected whole numbers from 1",
        ),
    ];
    for (options, expected) in cases {
        let error = refusal(open(&store, options));
        assert!(error.contains(expected), "{error}");
    }
    // Of other files only the columns that are read matter.
    let both = open(&store, r#""file": ["x.npy", "y.npy"], "columns": ["label"]"#);
    assert_eq!(keys(&whole(&mut both.unwrap()).unwrap()), ["0", "1"]);
}

#[test]
fn tables_and_tokens_are_datasets_of_loaders() {
    let tokens: Vec<u8> = le(&(0..10).collect::<Vec<u16>>(), |x| x.to_le_bytes());
    let rows: Vec<u8> = (0..3u8).flat_map(|i| [i, 10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 3]).collect();
    let store = store_of([
        ("t.bin", tokens),
        ("r.npy", npy("[('id', '|u1'), ('pixels', '|u1', (4,))]", "(3,)", &rows)),
    ]);
    let data = tesson::read_table("r.npy").column("id").column_as("x", "pixels").shape("x", [2, 2]);
    let mut loader = data.key_column("id").loader().batch_size(2).store(&store).open().unwrap();
    let batches: Vec<_> = loader.epoch().map(|batch| batch.unwrap()).collect();
    let x = batches[1].dense::<u8>("x").unwrap();
    assert_eq!((x.shape(), x.rows().next()), (&[2, 2][..], Some(&[20, 21, 22, 23][..])));
    assert_eq!(batches.iter().map(tesson::Batch::len).collect::<Vec<_>>(), [2, 1]);
    let mut windows = tesson::read_tokens("t.bin", 4).loader().batch_size(2).store(&store).open().unwrap();
    let batch = windows.epoch().next().expect("there are two windows").unwrap();
    let labels = batch.dense::<u16>("labels").unwrap();
    assert_eq!(labels.rows().collect::<Vec<_>>(), [[1, 2, 3, 4], [5, 6, 7, 8]]);
}
