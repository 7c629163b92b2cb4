//! Random messages, with keys in any order, against what they were made of; and damaged ones.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::example::{FeatureSpec, Kind, List, Parser, Span, Value, write};

const KEYS: &[(&str, Kind)] =
    &[("ints", Kind::Ints), ("floats", Kind::Floats), ("texts", Kind::Bytes), ("", Kind::Ints)];

#[derive(Clone, Debug)]
enum Made {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<Vec<u8>>),
}

/// A message: for each key whether it stands there and what it holds, and where the entries are cut and turned round.
#[derive(Clone, Debug)]
struct Message {
    entries: Vec<(usize, Made)>,
}

fn made(key: usize) -> BoxedStrategy<Made> {
    let ints = prop_oneof![any::<i64>(), 0..128i64, -3..300i64];
    match key {
        0 | 3 => vec(ints, 0..20).prop_map(Made::Ints).boxed(),
        1 => vec(-1e9f32..1e9, 0..20).prop_map(Made::Floats).boxed(),
        _ => vec(vec(any::<u8>(), 0..20), 0..5).prop_map(Made::Texts).boxed(),
    }
}

fn a_message() -> impl Strategy<Value = Message> {
    let entry = (0..KEYS.len() + 1).prop_flat_map(|key| (Just(key), made(key)));
    vec(entry, 0..8).prop_map(|entries| Message { entries })
}

impl Message {
    fn written(&self) -> Vec<u8> {
        let texts: Vec<Vec<&[u8]>> = self.entries.iter().map(|(_, made)| made.texts()).collect();
        let entries: Vec<(&str, Value<'_>)> = self
            .entries
            .iter()
            .zip(&texts)
            .map(|((key, made), texts)| {
                let value = match made {
                    Made::Ints(v) => Value::Ints(v),
                    Made::Floats(v) => Value::Floats(v),
                    Made::Texts(_) => Value::Bytes(texts),
                };
                (KEYS.get(*key).map_or("unwanted", |k| k.0), value)
            })
            .collect();
        let mut out = Vec::new();
        write(&entries, &mut out);
        out
    }

    fn last(&self, key: usize) -> Option<&Made> {
        self.entries.iter().rev().find(|(k, _)| *k == key).map(|(_, made)| made)
    }
}

impl Made {
    fn texts(&self) -> Vec<&[u8]> {
        match self {
            Made::Texts(v) => v.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }
}

fn parser() -> Parser {
    Parser::new(KEYS.iter().map(|(key, kind)| FeatureSpec { key: (*key).to_owned(), kind: *kind }).collect())
}

/// Messages that follow each other: some as the one before but for a byte, some as one further back.
fn a_series() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let step = (any::<prop::sample::Index>(), proptest::option::of(change));
    (vec(a_full_message(), 1..4), vec(step, 1..60)).prop_map(|(made, steps)| {
        let mut series = Vec::new();
        for (which, change) in steps {
            let mut message = which.get(&made).written();
            if let Some((at, byte)) = change.filter(|_| !message.is_empty()) {
                let at = at.index(message.len());
                message[at] = byte;
            }
            series.push(message);
        }
        series
    })
}

/// A message with every wanted key once, in any order, among others.
fn a_full_message() -> impl Strategy<Value = Message> {
    let entries: Vec<_> = (0..KEYS.len() + 2).map(|key| (Just(key), made(key))).collect();
    Just(()).prop_flat_map(move |()| entries.clone()).prop_shuffle().prop_map(|entries| Message { entries })
}

proptest! {
    /// A parser that has seen other messages says the same of each as one that has not.
    #[test]
    fn what_is_read_does_not_depend_on_messages_before(series in a_series()) {
        let mut experienced = parser();
        for message in &series {
            let whole = Span { start: 0, len: message.len() };
            let (mut found, mut expected) = (experienced.columns(), experienced.columns());
            let answer = experienced.parse(message, whole, &mut found);
            prop_assert_eq!(answer, parser().parse(message, whole, &mut expected));
            // As text: bytes may be values that are no numbers, which equal nothing.
            prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
    }

    /// Messages that are parsed together say the same as each by itself, up to the first that is none.
    #[test]
    fn messages_together_are_as_one_by_one(series in a_series()) {
        let (mut block, mut records) = (Vec::new(), Vec::new());
        for message in &series {
            records.push(Span { start: block.len(), len: message.len() });
            block.extend(message);
        }
        let mut together = parser();
        let (mut found, mut expected) = (together.columns(), together.columns());
        // Twice: the first time makes the layouts that the second one finds.
        for _ in 0..2 {
            found.clear();
            expected.clear();
            let one_by_one = records.iter().enumerate();
            let refused = one_by_one.map(|(i, record)| {
                parser().parse(&block, *record, &mut expected).map_err(|error| (i, error))
            });
            let refused: Result<(), _> = refused.collect();
            prop_assert_eq!(together.parse_all(&block, records.iter().copied(), &mut found), refused);
            prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
    }

    #[test]
    fn columns_hold_what_the_messages_hold(messages in vec(a_message(), 0..6)) {
        let mut block = Vec::new();
        let mut parser = parser();
        let mut columns = parser.columns();
        let mut records = Vec::new();
        for message in &messages {
            let written = message.written();
            records.push(Span { start: block.len(), len: written.len() });
            block.extend(written);
        }
        for record in &records {
            parser.parse(&block, *record, &mut columns).unwrap();
        }
        prop_assert_eq!(columns.rows(), messages.len());
        for (row, message) in messages.iter().enumerate() {
            for (key, column) in columns.of.iter().enumerate() {
                let expected = message.last(key);
                prop_assert_eq!(column.is_absent(row), expected.is_none());
                let range = column.row(row);
                match (&column.values, expected) {
                    (_, None) => prop_assert!(range.is_empty()),
                    (List::Ints(v), Some(Made::Ints(e))) => prop_assert_eq!(&v[range], &e[..]),
                    (List::Floats(v), Some(Made::Floats(e))) => prop_assert_eq!(&v[range], &e[..]),
                    (List::Bytes(v), Some(Made::Texts(e))) => {
                        let found: Vec<&[u8]> = v[range].iter().map(|s| &block[s.range()]).collect();
                        prop_assert_eq!(found, e.iter().map(Vec::as_slice).collect::<Vec<_>>());
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }

    /// Checks that any bytes add one row or none, and that places lie within the record.
    #[test]
    fn damaged_messages_add_a_row_or_none(message in a_message(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut record = message.written();
        let at = at.index(record.len());
        record[at] = byte;
        let mut parser = parser();
        let mut columns = parser.columns();
        let parsed = parser.parse(&record, Span { start: 0, len: record.len() }, &mut columns);
        prop_assert_eq!(columns.rows(), usize::from(parsed.is_ok()));
        if let Err(error) = parsed {
            prop_assert!(error.offset <= record.len());
        }
        for column in &columns.of {
            prop_assert_eq!(column.ends.len(), columns.rows());
            if let List::Bytes(spans) = &column.values {
                prop_assert!(spans.iter().all(|s| s.start + s.len <= record.len()));
            }
        }
    }
}
