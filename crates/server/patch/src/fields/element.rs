//! One step of a path into an object.
//!
//! Elements are ordered: fields, then keyed items, then items named by value, then positions. Numbers compare by
//! value whether written as integers or floats, because a set that went through JSON may have lost the difference.

use netloom_schema::go_text;
use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::fmt;

/// A path from the root of an object; the empty path is the object itself and is never owned.
pub type Path = Vec<Element>;

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Element {
    /// A named field of an object or a key of a map: `f:name`.
    Field(String),
    /// An item of a list, found by the values of its key fields, which are sorted by name: `k:{"name":"x"}`.
    Key(Vec<(String, Value)>),
    /// An item of a set, found by its own value: `v:"x"`.
    Value(Value),
    /// An item found by its position: `i:3`. Only ever read, since positions are not owned.
    Index(i64),
}

impl Element {
    /// The field of this name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// The item with these keys, in any order.
    pub fn key(mut keys: Vec<(String, Value)>) -> Self {
        keys.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(keys)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => order_keys(left, right),
            (Self::Value(left), Self::Value(right)) => order(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

/// The form used in messages: `.name`, `[name="x"]`, `[="x"]`, `[3]`.
impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Key(keys) => {
                out.write_str("[")?;
                for (position, (name, value)) in keys.iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    write!(out, "{comma}{name}={}", value_text(value))?;
                }
                out.write_str("]")
            }
            Self::Value(value) => write!(out, "[={}]", value_text(value)),
            Self::Index(position) => write!(out, "[{position}]"),
        }
    }
}

/// A whole path in the form used in messages.
pub(crate) fn path_text(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => go_text::bad_value(value),
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(value_text).collect();
            format!("[{}]", parts.join(","))
        }
        Value::Object(map) => {
            let parts: Vec<String> = map.iter().map(|(key, inner)| format!("{key}={}", value_text(inner))).collect();
            parts.concat()
        }
    }
}

/// A value as a key of a map, in the order of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByValue<'a>(pub(crate) &'a Value);

impl Ord for ByValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        order(self.0, other.0)
    }
}

impl PartialOrd for ByValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByValue<'_> {}

/// Whether two values are the same for the purpose of ownership: as JSON, with `1` equal to `1.0`.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order_numbers(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => order_all(left.iter(), right.iter(), order),
        (Value::Object(left), Value::Object(right)) => {
            order_all(sorted(left).into_iter(), sorted(right).into_iter(), |left, right| {
                left.0.cmp(right.0).then_with(|| order(left.1, right.1))
            })
        }
        (left, right) => value_rank(left).cmp(&value_rank(right)),
    }
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|entry| entry.0);
    entries
}

fn order_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    order_all(left.iter(), right.iter(), |left, right| left.0.cmp(&right.0).then_with(|| order(&left.1, &right.1)))
}

fn order_all<T>(
    mut left: impl Iterator<Item = T>,
    mut right: impl Iterator<Item = T>,
    compare: impl Fn(T, T) -> Ordering,
) -> Ordering {
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => match compare(one, other) {
                Ordering::Equal => {}
                different => return different,
            },
        }
    }
}

fn order_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_show_as_in_messages() {
        let cases = [
            (Element::field("spec"), ".spec"),
            (Element::key(vec![("name".into(), json!("a")), ("id".into(), json!(5))]), "[id=5,name=\"a\"]"),
            (Element::Value(json!("x")), "[=\"x\"]"),
            (Element::Value(json!(true)), "[=true]"),
            (Element::Value(json!(1.5)), "[=1.5]"),
            (Element::Index(3), "[3]"),
        ];
        for (element, wanted) in cases {
            assert_eq!(element.to_string(), wanted);
        }
    }

    #[test]
    fn elements_have_one_order() {
        let ascending = [
            Element::field(""),
            Element::field("a"),
            Element::field("b"),
            Element::key(vec![("a".into(), json!(1))]),
            Element::key(vec![("a".into(), json!(1)), ("b".into(), json!(1))]),
            Element::key(vec![("a".into(), json!("x"))]),
            Element::key(vec![("b".into(), json!(1))]),
            Element::Value(json!(-1)),
            Element::Value(json!(0.5)),
            Element::Value(json!(1)),
            Element::Value(json!("1")),
            Element::Value(json!(false)),
            Element::Value(json!(true)),
            Element::Value(json!([1])),
            Element::Value(json!([1, 0])),
            Element::Value(json!({"a": 1})),
            Element::Value(json!({"a": 2})),
            Element::Value(json!(null)),
            Element::Index(-1),
            Element::Index(7),
        ];
        for (position, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(left.cmp(right), position.cmp(&other), "{left} and {right}");
            }
        }
    }

    #[test]
    fn whole_floats_equal_integers() {
        assert_eq!(Element::Value(json!(1)), Element::Value(json!(1.0)));
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!same(&json!({"a": null}), &json!({})));
    }
}
