use crate::example::{ExampleError, Fault, FeatureSpec, Kind, List, Parser, Span, Value, write};

/// A field with a length: its tag, its length, its bytes.
pub(super) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let len = u8::try_from(bytes.len()).ok().filter(|n| *n < 0x80).expect("fields of tests are short");
    [&[number << 3 | 2, len], bytes].concat()
}

/// A whole message of these entries.
fn message(entries: &[Vec<u8>]) -> Vec<u8> {
    field(1, &entries.iter().flat_map(|e| field(1, e)).collect::<Vec<u8>>())
}

fn entry(key: &str, feature: &[u8]) -> Vec<u8> {
    [field(1, key.as_bytes()), field(2, feature)].concat()
}

fn parser(wanted: &[(&str, Kind)]) -> Parser {
    Parser::new(
        wanted.iter().map(|(key, kind)| FeatureSpec { key: (*key).to_owned(), kind: *kind }).collect(),
    )
}

fn whole(record: &[u8]) -> Span {
    Span { start: 0, len: record.len() }
}

/// The integers of key `a`, or `None` where the message lacks it.
fn ints(record: &[u8]) -> Result<Option<Vec<i64>>, ExampleError> {
    let mut parser = parser(&[("a", Kind::Ints)]);
    let mut columns = parser.columns();
    parser.parse(record, whole(record), &mut columns)?;
    let List::Ints(values) = &columns.of[0].values else { panic!("a column of integers") };
    Ok((!columns.of[0].is_absent(0)).then(|| values.clone()))
}

#[test]
fn packed_and_single_numbers_are_one_list() {
    let packed = field(1, &[1, 2]);
    let list = [&packed[..], &[8, 3], &field(1, &[4])].concat();
    assert_eq!(ints(&message(&[entry("a", &field(3, &list))])), Ok(Some(vec![1, 2, 3, 4])));
}

#[test]
fn negative_numbers_take_ten_bytes() {
    let mut record = Vec::new();
    write(&[("a", Value::Ints(&[-1, i64::MIN, i64::MAX]))], &mut record);
    assert_eq!(ints(&record), Ok(Some(vec![-1, i64::MIN, i64::MAX])));
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    let one = |n| field(3, &field(1, &[n]));
    assert_eq!(ints(&message(&[entry("a", &one(1)), entry("a", &one(2))])), Ok(Some(vec![2])));
    assert_eq!(ints(&message(&[entry("a", &one(1)), entry("a", &[])])), Ok(None));
}

#[test]
fn several_feature_maps_are_one() {
    let (a, b) = (message(&[entry("b", &[])]), message(&[entry("a", &field(3, &field(1, &[7])))]));
    assert_eq!(ints(&[a, b].concat()), Ok(Some(vec![7])));
}

#[test]
fn a_feature_without_a_list_is_absent_and_an_empty_list_is_not() {
    assert_eq!(ints(&message(&[entry("a", &[])])), Ok(None));
    assert_eq!(ints(&message(&[entry("a", &field(3, &[]))])), Ok(Some(vec![])));
    assert_eq!(ints(&[]), Ok(None));
}

#[test]
fn entries_may_be_in_any_form() {
    let value = field(3, &field(1, &[5]));
    let backwards = [field(2, &value), field(1, b"a")].concat();
    assert_eq!(ints(&message(&[backwards])), Ok(Some(vec![5])));
    let unknown =
        [&[0x18, 9][..], &entry("a", &value), &[0x25, 0, 0, 0, 0, 0x29, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(ints(&message(&[unknown])), Ok(Some(vec![5])));
    let twice = [field(1, b"x"), field(1, b"a"), field(2, &value), field(2, &value)].concat();
    assert_eq!(ints(&message(&[twice])), Ok(Some(vec![5, 5])));
    let group = [&[0x1b, 0x23, 0x24, 0x1c][..], &entry("a", &value)].concat();
    assert_eq!(ints(&message(&[group])), Ok(Some(vec![5])));
}

#[test]
fn of_several_kinds_in_a_feature_the_last_counts() {
    let both = [field(3, &field(1, &[1])), field(2, &[]), field(3, &field(1, &[2]))].concat();
    assert_eq!(ints(&message(&[entry("a", &both)])), Ok(Some(vec![2])));
    let other = [field(3, &field(1, &[1])), field(2, &[])].concat();
    let error = ints(&message(&[entry("a", &other)])).unwrap_err();
    let expected = Fault::WrongKind { key: "a".to_owned(), expected: Kind::Ints, found: Kind::Floats };
    assert_eq!(error, ExampleError { offset: 9, fault: expected });
}

#[test]
fn keys_that_nobody_wants_are_not_looked_into() {
    let nonsense = entry("b", &[0xff, 0xff]);
    assert_eq!(ints(&message(&[nonsense, entry("a", &field(3, &field(1, &[1])))])), Ok(Some(vec![1])));
}

#[test]
fn what_is_no_message_is_refused_with_its_place() {
    let check = |record: &[u8], offset, fault| assert_eq!(ints(record), Err(ExampleError { offset, fault }));
    check(&[0x0a, 5, 0], 1, Fault::Cut);
    check(&[0x0a], 1, Fault::Cut);
    check(&[0x0a, 0x80], 1, Fault::Cut);
    check(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1, Fault::LongNumber);
    check(&[0x0e, 0], 0, Fault::BadTag);
    check(&[0x00, 0], 0, Fault::BadTag);
    check(&[0x13, 0x1c], 1, Fault::BadTag);
    check(&[0x13, 0x13], 2, Fault::Cut);
    check(&[0x14], 1, Fault::BadTag);
    check(&[0x15, 0], 1, Fault::Cut);
}

#[test]
fn half_a_float_is_refused() {
    let record = message(&[entry("f", &field(2, &field(1, &[0, 0, 0])))]);
    let mut parser = parser(&[("f", Kind::Floats)]);
    let mut columns = parser.columns();
    let error = parser.parse(&record, whole(&record), &mut columns).unwrap_err();
    assert_eq!(error.fault, Fault::HalfFloat { bytes: 3 });
}

#[test]
fn a_bad_record_leaves_the_columns_as_they_were() {
    let mut good = Vec::new();
    write(&[("a", Value::Ints(&[1, 2])), ("t", Value::Bytes(&[b"x"]))], &mut good);
    let mut parser = parser(&[("a", Kind::Ints), ("t", Kind::Bytes)]);
    let mut columns = parser.columns();
    parser.parse(&good, whole(&good), &mut columns).unwrap();
    let before = columns.clone();
    let bad = [&good[..], &[0x0a, 9]].concat();
    parser.parse(&bad, whole(&bad), &mut columns).unwrap_err();
    assert_eq!(columns, before);
}

#[test]
fn byte_strings_are_places_in_the_block() {
    let mut block = b"before".to_vec();
    write(&[("t", Value::Bytes(&[b"one", b"", b"three"]))], &mut block);
    let mut parser = parser(&[("t", Kind::Bytes)]);
    let mut columns = parser.columns();
    parser.parse(&block, Span { start: 6, len: block.len() - 6 }, &mut columns).unwrap();
    let List::Bytes(spans) = &columns.of[0].values else { panic!("a column of bytes") };
    let strings: Vec<&[u8]> = spans.iter().map(|s| &block[s.range()]).collect();
    assert_eq!(strings, [&b"one"[..], b"", b"three"]);
}

#[test]
fn errors_say_where() {
    let error = ints(&message(&[entry("a", &field(1, &[]))])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "key `a` holds a bytes list, a int64 list is expected (byte 9 of the record)"
    );
}
