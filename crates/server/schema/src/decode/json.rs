//! JSON to a value, remembering the paths of keys that repeat.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{Budget, DecodeError, Decoded, Limits, number, unsigned};
use crate::paths::push_index;

/// The most repeated keys that are reported; more say nothing new.
const MAX_DUPLICATES: usize = 100;

/// Decodes one JSON value.
pub fn json(bytes: &[u8], limits: Limits) -> Result<Decoded, DecodeError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(DecodeError::Empty);
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(DecodeError::NotUtf8 { at: error.valid_up_to() });
    }
    let reading = RefCell::new(Reading { budget: Budget::new(limits), duplicates: Vec::new(), stop: None });
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Node { reading: &reading, depth: 0, place: None }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    let reading = reading.into_inner();
    match (read, reading.stop) {
        (_, Some(stop)) => Err(stop),
        (Ok(value), None) => Ok(Decoded { value, duplicates: reading.duplicates }),
        (Err(error), None) => Err(DecodeError::Json { message: error.to_string() }),
    }
}

struct Reading {
    budget: Budget,
    duplicates: Vec<String>,
    /// Why reading was stopped, beside what the reader itself says.
    stop: Option<DecodeError>,
}

/// The way to a value, as a chain of steps that lies on the stack: it costs nothing until a key
/// repeats and the path has to be written out.
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn path(place: Option<&Place<'_>>, last: &str) -> String {
    let last = Step::Key(last);
    let mut steps = vec![&last];
    let mut here = place;
    while let Some(at) = here {
        steps.push(&at.step);
        here = at.parent;
    }
    let mut text = String::new();
    for step in steps.into_iter().rev() {
        match step {
            Step::Key(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Index(index) => push_index(&mut text, *index),
        }
    }
    text
}

#[derive(Clone, Copy)]
struct Node<'a> {
    reading: &'a RefCell<Reading>,
    depth: usize,
    place: Option<&'a Place<'a>>,
}

impl Node<'_> {
    fn stop<E: serde::de::Error>(&self, error: DecodeError) -> E {
        let text = error.to_string();
        self.reading.borrow_mut().stop = Some(error);
        E::custom(text)
    }

    fn count<E: serde::de::Error>(&self, nodes: usize) -> Result<(), E> {
        let taken = self.reading.borrow_mut().budget.take(nodes);
        taken.map_err(|e| self.stop(e))
    }

    fn open<E: serde::de::Error>(&self) -> Result<(), E> {
        self.count(1)?;
        let checked = self.reading.borrow().budget.check_depth(self.depth + 1);
        checked.map_err(|e| self.stop(e))
    }

    fn at<'b>(&'b self, place: &'b Place<'b>) -> Node<'b> {
        Node { reading: self.reading, depth: self.depth + 1, place: Some(place) }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::from(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::Number(unsigned(value)))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.count(1)?;
        number(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.count(1)?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        self.open()?;
        let mut items = Vec::new();
        loop {
            let place = Place { parent: self.place, step: Step::Index(items.len()) };
            let Some(item) = list.next_element_seed(self.at(&place))? else { break };
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.open()?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.count(1)?;
            if fields.contains_key(&key) {
                let message = format!("duplicate field \"{}\"", path(self.place, &key));
                let duplicates = &mut self.reading.borrow_mut().duplicates;
                if duplicates.len() < MAX_DUPLICATES && !duplicates.contains(&message) {
                    duplicates.push(message);
                }
            }
            let place = Place { parent: self.place, step: Step::Key(&key) };
            let value = map.next_value_seed(self.at(&place))?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Decoded, DecodeError> {
        super::json(text.as_bytes(), Limits::default())
    }

    #[test]
    fn repeated_keys_are_named_and_the_last_wins() {
        let decoded = read(r#"{"spec":{"a":[{"x":1,"x":2,"x":3}],"size":1,"size":2}}"#).unwrap();
        assert_eq!(decoded.value, json!({"spec": {"a": [{"x": 3}], "size": 2}}));
        assert_eq!(decoded.duplicates, [r#"duplicate field "spec.a[0].x""#, r#"duplicate field "spec.size""#]);
    }

    #[test]
    fn numbers_are_those_of_go() {
        let decoded = read("[1.0, 1.5, 9223372036854775807, 9223372036854775808, -0.0, 1e3]").unwrap();
        let integers: Vec<bool> = decoded.value.as_array().unwrap().iter().map(Value::is_i64).collect();
        assert_eq!(integers, [true, false, true, false, true, true]);
        assert_eq!(decoded.value[5], json!(1000));
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let deep = "[".repeat(200);
        assert_eq!(read(&deep).unwrap_err().reason(), "TooDeep");
        let many = format!("[{}1]", "1,".repeat(50));
        let error = super::json(many.as_bytes(), Limits { depth: 5, nodes: 50 }).unwrap_err();
        assert_eq!(error.reason(), "TooManyValues");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let table = [("", "Empty"), (" \n", "Empty"), ("{", "NotJson"), ("{} x", "NotJson"), ("1e999", "NotJson")];
        for (text, reason) in table {
            assert_eq!(read(text).unwrap_err().reason(), reason, "{text:?}");
        }
        assert_eq!(super::json(b"\"\xff\"", Limits::default()).unwrap_err().reason(), "NotUtf8");
    }
}
