//! The table of messages: a text with a line for each field, read once.

use std::{collections::BTreeMap, sync::LazyLock};

/// Printed by `kube wire`; the cluster tier compares it with the Go types.
pub(super) const TEXT: &str = include_str!("messages.txt");

/// The type of a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// True or false.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A floating number.
    Double,
    /// A message whose JSON is not made of its fields.
    Special(Special),
    /// A message with fields.
    Message(usize),
}

/// Messages whose JSON is not made of their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    /// A moment in whole seconds.
    Time,
    /// A moment with microseconds.
    MicroTime,
    /// An amount with a unit; a text in JSON.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// JSON as it stands.
    Json,
    /// A list of texts that is a message.
    Strings,
    /// A schema, or whether anything may be there.
    SchemaOrBool,
    /// One schema for all items, or one for each.
    SchemaOrList,
    /// A schema, or names.
    SchemaOrStrings,
}

/// How many values a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One, which is zero when it is absent.
    One(Kind),
    /// One or none.
    Optional(Kind),
    /// Any number.
    List(Kind),
    /// Any number, by text.
    Map(Kind),
    /// The fields of this message, among those of the outer one.
    Inline(usize),
}

/// One field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    /// Whether JSON has the field also when it is zero.
    pub(super) always: bool,
    pub(super) shape: Shape,
}

/// All messages.
#[derive(Debug)]
pub(super) struct Table {
    kinds: BTreeMap<&'static str, usize>,
    messages: Vec<Vec<Field>>,
    schema: usize,
}

impl Table {
    /// The table that is built in.
    pub(super) fn of_kubernetes() -> &'static Self {
        static TABLE: LazyLock<Table> =
            LazyLock::new(|| Table::parse(TEXT).expect("the table that is built in can be read: a test does"));
        &TABLE
    }

    /// The message of a kind.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(format!("{api_version}/{kind}").as_str()).copied()
    }

    /// The fields of a message, ordered by number.
    pub(super) fn fields(&self, message: usize) -> &[Field] {
        self.messages.get(message).map_or(&[], Vec::as_slice)
    }

    /// The message that describes a schema.
    pub(super) fn schema(&self) -> usize {
        self.schema
    }

    /// Every kind, as `version/kind` or `group/version/kind`.
    #[cfg(test)]
    pub(super) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.keys().copied()
    }

    fn parse(text: &'static str) -> Result<Self, String> {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter_map(|line| line.strip_prefix("message ")).enumerate();
        let places: BTreeMap<&str, usize> = names.map(|(at, name)| (name, at)).collect();
        let place = |name: &str| places.get(name).copied().ok_or_else(|| format!("there is no message {name}"));
        let mut kinds = BTreeMap::new();
        let mut messages: Vec<Vec<Field>> = Vec::new();
        for line in lines() {
            let words: Vec<&'static str> = line.split(' ').collect();
            match (words.as_slice(), messages.last_mut()) {
                (["kind", kind, message], _) => drop(kinds.insert(*kind, place(message)?)),
                (["message", _], _) => messages.push(Vec::new()),
                ([number, name, form], Some(fields)) => {
                    let number = number.parse().map_err(|_| format!("{line:?} has no number"))?;
                    fields.push(field(number, name, form, &place)?);
                }
                _ => return Err(format!("{line:?} means nothing")),
            }
        }
        Ok(Self { kinds, messages, schema: place("apiextensions/v1.JSONSchemaProps")? })
    }
}

fn field(
    number: u64,
    name: &'static str,
    form: &str,
    place: &impl Fn(&str) -> Result<usize, String>,
) -> Result<Field, String> {
    let between = |open: char, close: char| form.strip_prefix(open).and_then(|form| form.strip_suffix(close));
    let kind = |word: &str| kind(word).map_or_else(|| place(word).map(Kind::Message), Ok);
    let shape = if name == "." {
        Shape::Inline(place(form)?)
    } else if let Some(item) = between('[', ']') {
        Shape::List(kind(item)?)
    } else if let Some(value) = between('{', '}') {
        Shape::Map(kind(value)?)
    } else if let Some(single) = form.strip_suffix('?') {
        Shape::Optional(kind(single)?)
    } else {
        Shape::One(kind(form)?)
    };
    let stripped = name.strip_suffix('!');
    Ok(Field { number, name: stripped.unwrap_or(name), always: stripped.is_some(), shape })
}

fn kind(word: &str) -> Option<Kind> {
    let special = match word {
        "string" => return Some(Kind::Text),
        "bytes" => return Some(Kind::Bytes),
        "bool" => return Some(Kind::Bool),
        "int32" => return Some(Kind::Int32),
        "int64" => return Some(Kind::Int64),
        "double" => return Some(Kind::Double),
        "time" => Special::Time,
        "microtime" => Special::MicroTime,
        "quantity" => Special::Quantity,
        "intorstring" => Special::IntOrString,
        "json" => Special::Json,
        "strings" => Special::Strings,
        "oneof-bool" => Special::SchemaOrBool,
        "oneof-list" => Special::SchemaOrList,
        "oneof-strings" => Special::SchemaOrStrings,
        _ => return None,
    };
    Some(Kind::Special(special))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builtin, reviews::Review};

    #[test]
    fn the_table_can_be_read() {
        let table = Table::parse(TEXT).unwrap();
        let map = table.fields(table.kind("v1", "ConfigMap").unwrap());
        let data = map.iter().find(|field| field.name == "data").unwrap();
        assert_eq!((data.number, data.shape, data.always), (2, Shape::Map(Kind::Text), false));
        for fields in &table.messages {
            assert!(fields.is_sorted_by(|left, right| left.number < right.number), "{fields:?}");
        }
    }

    #[test]
    fn every_kind_that_is_served_is_there() {
        let table = Table::of_kubernetes();
        for row in builtin::all() {
            assert!(table.kind(&row.api_version(), row.kind).is_some(), "{}", row.kind);
            assert!(table.kind(&row.api_version(), &format!("{}List", row.kind)).is_some(), "{}List", row.kind);
            for below in row.subresources {
                let version = if below.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", below.group) };
                assert!(table.kind(&version, below.kind).is_some(), "{}", below.kind);
            }
        }
        for review in Review::ALL {
            assert!(table.kind(&format!("{}/v1", review.resource().0), review.kind()).is_some(), "{review:?}");
        }
        for kind in ["DeleteOptions", "List", "Status"] {
            assert!(table.kind("v1", kind).is_some(), "{kind}");
        }
        assert!(table.kind("autoscaling/v1", "Scale").is_some());
    }

    #[test]
    fn a_broken_table_is_refused() {
        for text in
            ["nonsense", "message a\nx y string", "message a\n1 b c/v1.D", "message a\n1 . string", "kind v1/A a"]
        {
            assert!(Table::parse(text).is_err(), "{text}");
        }
    }
}
