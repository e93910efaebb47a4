//! JSON values as values of the language, by what the schema says of them.

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    Value as CelValue,
    objects::{Key, Map, OptionalValue},
};
use netloom_schema::{ListType, Schema, Type};
use serde_json::Value;

use crate::{calls, escape::escape};

pub(crate) fn text(text: impl Into<String>) -> CelValue {
    CelValue::String(Arc::new(text.into()))
}

pub(crate) fn list(items: Vec<CelValue>) -> CelValue {
    CelValue::List(Arc::new(items))
}

pub(crate) fn map(entries: HashMap<Key, CelValue>) -> CelValue {
    CelValue::Map(Map { map: Arc::new(entries) })
}

pub(crate) fn optional(value: Option<CelValue>) -> CelValue {
    let value = value.map_or_else(OptionalValue::none, OptionalValue::of);
    CelValue::Opaque(Arc::new(value))
}

/// What is inside of an optional value: nothing if the value is none, `Some(None)` if it is empty.
#[expect(clippy::option_option, reason = "not optional and empty are different things")]
pub(crate) fn inside(value: &CelValue) -> Option<Option<&CelValue>> {
    <&OptionalValue>::try_from(value).ok().map(OptionalValue::value)
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

/// Lists whose order says nothing, by the place of their items in memory: that is how a list is known
/// again after it was handed around. Only for as long as the values that were converted with it live.
#[derive(Debug, Default)]
pub(crate) struct Unordered {
    lists: HashMap<usize, ListType>,
}

impl Unordered {
    fn note(&mut self, value: &CelValue, kind: &ListType) {
        if let CelValue::List(items) = value
            && *kind != ListType::Atomic
        {
            self.lists.insert(Arc::as_ptr(items).addr(), kind.clone());
        }
    }

    /// What kind of list a value is.
    pub(crate) fn kind(&self, items: &Arc<Vec<CelValue>>) -> &ListType {
        self.lists.get(&Arc::as_ptr(items).addr()).unwrap_or(&ListType::Atomic)
    }
}

/// A value as rules see it. `is_object` says that it is a whole object, whose type and names rules
/// may use.
pub(crate) fn convert(schema: &Schema, value: &Value, is_object: bool, unordered: &mut Unordered) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), schema.kind()) {
            (Some(whole), Some(Type::Number)) => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "numbers without a whole type are floats in the language"
                )]
                let float = whole as f64;
                CelValue::Float(float)
            }
            (Some(whole), _) => CelValue::Int(whole),
            (None, _) => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(given) => formatted(schema, given),
        Value::Array(items) => {
            let free = Schema::anything();
            let below = schema.items().unwrap_or(&free);
            let items = items.iter().map(|item| convert(below, item, below.is_embedded(), unordered)).collect();
            let made = list(items);
            unordered.note(&made, schema.list_type());
            made
        }
        Value::Object(fields) => {
            let is_object = is_object || schema.is_embedded();
            let mut entries = HashMap::with_capacity(fields.len());
            for (name, value) in fields {
                if let Some(property) = schema.properties().get(name).filter(|_| !(is_object && name == "metadata")) {
                    if let Some(name) = escape(name) {
                        entries.insert(key(&name), convert(property, value, property.is_embedded(), unordered));
                    }
                } else if is_object && matches!(name.as_str(), "apiVersion" | "kind") {
                    entries.insert(key(name), convert(&Schema::anything(), value, false, unordered));
                } else if is_object && name == "metadata" {
                    entries.insert(key(name), names(value));
                } else if schema.properties().is_empty() {
                    // Keys of maps are data and stay as they are.
                    let free = Schema::anything();
                    let below = schema.property(name).unwrap_or(&free);
                    entries.insert(key(name), convert(below, value, below.is_embedded(), unordered));
                }
            }
            map(entries)
        }
    }
}

/// Rules may see the names of an object and nothing else of its metadata.
fn names(metadata: &Value) -> CelValue {
    let mut entries = HashMap::new();
    for name in ["name", "generateName"] {
        if let Some(value) = metadata.get(name).and_then(Value::as_str) {
            entries.insert(key(name), text(value));
        }
    }
    map(entries)
}

/// Some formats have types of their own; a text that is not what its format says stays a text.
fn formatted(schema: &Schema, given: &str) -> CelValue {
    let format = schema.format().filter(|_| schema.kind() == Some(Type::String));
    let made = match format {
        Some("date-time" | "datetime") => calls::library("timestamp", None, vec![text(given)]).ok(),
        Some("date") => calls::library("timestamp", None, vec![text(format!("{given}T00:00:00Z"))]).ok(),
        Some("duration") => calls::library("duration", None, vec![text(given)]).ok(),
        Some("byte") => calls::library("base64.decode", None, vec![text(given)]).ok(),
        _ => None,
    };
    made.unwrap_or_else(|| text(given))
}
