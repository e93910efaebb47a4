//! The JSON form of a set, `FieldsV1`.
//!
//! Reading is forgiving where the API is: an element of an unknown kind is dropped, since a newer server may know it.
//! Writing is canonical: one set has one form.

use super::element::Element;
use super::set::Set;
use netloom_schema::go_text;
use serde_json::{Map, Value};
use thiserror::Error;

/// Why a JSON value is no set of fields.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FieldsError {
    /// A trie is made of objects only.
    #[error("expected an object below {0:?}")]
    NotAnObject(String),
    /// A key that is too short to name an element, or has no colon.
    #[error("{0:?} is no path element")]
    BadElement(String),
    /// The part after the colon cannot be read.
    #[error("{0:?} has no readable content")]
    BadContent(String),
}

impl FieldsError {
    /// A stable name for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotAnObject(_) => "FieldsNotAnObject",
            Self::BadElement(_) => "FieldsBadElement",
            Self::BadContent(_) => "FieldsBadContent",
        }
    }
}

impl Set {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// Anything that is not a trie of path elements.
    pub fn from_json(json: &Value) -> Result<Self, FieldsError> {
        let Value::Object(map) = json else {
            return Err(FieldsError::NotAnObject(".".to_owned()));
        };
        read(map).map(|(set, _)| set)
    }

    /// Writes the JSON form.
    pub fn to_json(&self) -> Value {
        Value::Object(write(self, false))
    }
}

/// The set below a place, and whether the place itself is a member: it says so, or has nothing below it.
fn read(map: &Map<String, Value>) -> Result<(Set, bool), FieldsError> {
    let mut set = Set::new();
    let mut member = false;
    for (key, below) in map {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = read_element(key)? else { continue };
        let (child, child_member) = match below {
            Value::Object(inner) => read(inner)?,
            Value::Null => (Set::new(), true),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(FieldsError::NotAnObject(key.clone()));
            }
        };
        if child_member {
            set.insert_member(element.clone());
        }
        set.insert_child(element, &child);
    }
    let leaf = set.is_empty();
    Ok((set, member || leaf))
}

fn read_element(key: &str) -> Result<Option<Element>, FieldsError> {
    let bytes = key.as_bytes();
    if bytes.len() < 2 || bytes[1] != b':' {
        return Err(FieldsError::BadElement(key.to_owned()));
    }
    let content = &key[2..];
    let unreadable = || FieldsError::BadContent(key.to_owned());
    match bytes[0] {
        b'f' => Ok(Some(Element::field(content))),
        b'v' => {
            let value = serde_json::from_str(content).map_err(|_| unreadable())?;
            Ok(Some(Element::Value(value)))
        }
        b'k' => {
            let keys: Map<String, Value> = serde_json::from_str(content).map_err(|_| unreadable())?;
            Ok(Some(Element::key(keys.into_iter().collect())))
        }
        b'i' => Ok(Some(Element::Index(content.parse().map_err(|_| unreadable())?))),
        // An element of a kind that a later version may know.
        _ => Ok(None),
    }
}

fn write(set: &Set, with_self: bool) -> Map<String, Value> {
    let mut map = Map::new();
    if with_self && !set.is_empty() {
        map.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for member in set.members() {
        if set.below(member).is_none() {
            map.insert(write_element(member), Value::Object(Map::new()));
        }
    }
    for (element, child) in set.children() {
        let inner = write(child, set.has_member(element));
        map.insert(write_element(element), Value::Object(inner));
    }
    map
}

fn write_element(element: &Element) -> String {
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Key(keys) => {
            let object: Map<String, Value> = keys.iter().cloned().collect();
            format!("k:{}", go_text::json(&Value::Object(object)))
        }
        Element::Value(value) => format!("v:{}", go_text::json(value)),
        Element::Index(position) => format!("i:{position}"),
    }
}
