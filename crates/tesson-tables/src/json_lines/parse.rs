//! The values of a line, straight into columns: no tree of values is made.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tesson_core::Shape;

use crate::fault::TableFault;
use crate::nulls::NullRule;
use crate::table::{Field, FieldKind};
use crate::text::{ColumnBuilder, Scalar};

/// The fault of a line that is no object.
pub(super) fn fault_of(error: &serde_json::Error) -> TableFault {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default().to_owned();
    TableFault::BadJson { what, column: error.column() }
}

/// Where the members of an object go.
#[derive(Debug, Default)]
pub(super) struct Members(BTreeMap<String, Member>);

#[derive(Debug)]
enum Member {
    /// A column, by its place among those that are read.
    Column(usize),
    /// Columns of its members.
    Object(Members),
}

impl Members {
    /// The members that columns have.
    pub(super) fn of<'a>(fields: impl Iterator<Item = &'a Field>) -> Members {
        let mut members = Members::default();
        for (place, field) in fields.enumerate() {
            members.add(&field.name, place);
        }
        members
    }

    /// Adds a column. Names of members may have points, too: each point may divide the name.
    fn add(&mut self, name: &str, place: usize) {
        if let Some((first, rest)) = name.split_once('.') {
            let inner = self.0.entry(first.to_owned()).or_insert_with(|| Member::Object(Members::default()));
            if let Member::Object(members) = inner {
                members.add(rest, place);
            }
        }
        self.0.insert(name.to_owned(), Member::Column(place));
    }
}

/// A column of a row while that is parsed.
pub(super) struct Cell {
    pub(super) column: ColumnBuilder,
    /// The length of lists on each level, where all have one.
    dims: Vec<Option<usize>>,
    state: State,
}

/// The value that a row has of a column.
#[derive(Debug, PartialEq)]
enum State {
    Absent,
    Present,
    /// Something else than the column's type says.
    Bad(String),
}

impl Cell {
    pub(super) fn new(kind: &FieldKind, rows: usize) -> Cell {
        let fixed = |shape: &Shape| shape.dims().iter().map(|&dim| Some(dim)).collect::<Vec<_>>();
        let dims = match kind {
            FieldKind::Flat(_, shape) => fixed(shape),
            FieldKind::Ragged(_, shape) => [vec![None], fixed(shape)].concat(),
            _ => Vec::new(),
        };
        Cell { column: ColumnBuilder::new(kind, rows), dims, state: State::Absent }
    }

    /// Ends a row. The fault, if it is one: what was found, or nothing.
    pub(super) fn end_row(&mut self, nulls: NullRule) -> Result<(), Option<String>> {
        let state = std::mem::replace(&mut self.state, State::Absent);
        let fits = self.column.fits();
        match state {
            State::Present if fits => {
                self.column.end_row();
                Ok(())
            }
            State::Present => self.fault(Some(format!("{} values", self.column.n_pushed()))),
            State::Absent if self.column.fill(nulls) => {
                self.column.end_row();
                Ok(())
            }
            State::Absent => self.fault(None),
            State::Bad(found) => self.fault(Some(found)),
        }
    }

    /// Ends a row whose line cannot be read.
    pub(super) fn end_unread_row(&mut self) {
        self.state = State::Absent;
        self.column.end_faulty_row();
    }

    fn fault(&mut self, found: Option<String>) -> Result<(), Option<String>> {
        self.column.end_faulty_row();
        Err(found)
    }
}

/// Reads a line.
///
/// # Errors
/// Text that is no object.
pub(super) fn read_line(line: &[u8], members: &Members, cells: &mut [Cell]) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(line);
    Object { members, cells }.deserialize(&mut json)?;
    json.end()
}

/// An object of a line.
struct Object<'a> {
    members: &'a Members,
    cells: &'a mut [Cell],
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            match self.members.0.get(&*name) {
                Some(Member::Column(place)) => {
                    let Cell { column, dims, state } = &mut self.cells[*place];
                    let is_repeated = *state != State::Absent;
                    map.next_value_seed(Level { column, dims, state })?;
                    if is_repeated {
                        *state = State::Bad("two values".into());
                    }
                }
                Some(Member::Object(members)) => {
                    map.next_value_seed(Inner(Object { members, cells: &mut *self.cells }))?;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = std::borrow::Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = std::borrow::Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(name.into())
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(name.to_owned().into())
    }
}

/// A member that has columns of its own, if it is an object; the columns of another value are absent.
struct Inner<'a>(Object<'a>);

/// Values that have no members.
macro_rules! without_members {
    ($($visit:ident: $type:ty),+) => {
        $(fn $visit<E>(self, _: $type) -> Result<(), E> {
            Ok(())
        })+
    };
}

impl<'de> DeserializeSeed<'de> for Inner<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<(), M::Error> {
        self.0.visit_map(map)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(), S::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    without_members!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A value of a column, or a list of some.
struct Level<'a> {
    column: &'a mut ColumnBuilder,
    /// The lengths of lists from here on.
    dims: &'a [Option<usize>],
    state: &'a mut State,
}

impl Level<'_> {
    fn scalar(self, value: Scalar<'_>, shown: impl FnOnce() -> String) {
        if !self.dims.is_empty() {
            *self.state = State::Bad(format!("{} instead of a list", shown()));
        } else if !self.column.push(value) {
            *self.state = State::Bad(shown());
        } else if *self.state == State::Absent {
            *self.state = State::Present;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, x: bool) -> Result<(), E> {
        self.scalar(Scalar::Bool(x), || x.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, n: i64) -> Result<(), E> {
        self.scalar(Scalar::Whole(n.into()), || n.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, n: u64) -> Result<(), E> {
        self.scalar(Scalar::Whole(n.into()), || n.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, x: f64) -> Result<(), E> {
        self.scalar(Scalar::Real(x), || x.to_string());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.scalar(Scalar::Text(text), || text.chars().take(60).collect());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        // Within a list a value is missing; on its own it is as if it were not there.
        if *self.state != State::Absent || self.column.n_pushed() > 0 {
            *self.state = State::Bad("null".into());
        }
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        *self.state = State::Bad("an object".into());
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(), S::Error> {
        let Some((length, dims)) = self.dims.split_first() else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            *self.state = State::Bad("a list".into());
            return Ok(());
        };
        if *self.state == State::Absent {
            *self.state = State::Present;
        }
        let mut n = 0;
        while items.next_element_seed(Level { column: self.column, dims, state: self.state })?.is_some() {
            n += 1;
        }
        if length.is_some_and(|length| length != n) && *self.state == State::Present {
            *self.state = State::Bad(format!("a list of {n}"));
        }
        Ok(())
    }
}
