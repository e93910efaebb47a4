//! Which old value a new value was made from.
//!
//! Fields are matched by name and items of map lists by their keys. Items of other lists have no
//! identity: there is no old value for them.

use std::collections::HashMap;

use serde_json::Value;

use crate::{ListType, Schema, go_text};

/// An old value with the schema that says how its parts are matched.
#[derive(Debug, Clone, Copy)]
pub struct Old<'a> {
    /// The value as it was.
    pub value: &'a Value,
    /// Its schema.
    pub schema: &'a Schema,
}

impl<'a> Old<'a> {
    /// The old value of a field.
    pub fn field(self, name: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(name)?;
        let schema = self.schema.property(name)?;
        Some(Self { value, schema })
    }

    /// Finds the old values of the items of a list.
    pub fn items(self) -> OldItems<'a> {
        let found = match (self.value, self.schema.list_type(), self.schema.items()) {
            (Value::Array(items), ListType::Map(keys), Some(schema)) => {
                // The first of two items with one key is the one that counts.
                let mut index = HashMap::new();
                for item in items {
                    if let Some(key) = map_key(item, keys, schema) {
                        index.entry(key).or_insert(item);
                    }
                }
                Some((index, keys.as_slice(), schema))
            }
            _ => None,
        };
        OldItems { found }
    }

    /// Whether a new value says the same. The order of a map list says nothing.
    pub fn is(self, new: &Value) -> bool {
        match (new, self.value) {
            (Value::Array(new), Value::Array(old)) if matches!(self.schema.list_type(), ListType::Map(_)) => {
                let items = self.items();
                new.len() == old.len() && new.iter().all(|item| items.of(item).is_some_and(|old| old.is(item)))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.iter().all(|(name, value)| match self.field(name) {
                        Some(old) => old.is(value),
                        None => old.get(name) == Some(value),
                    })
            }
            (new, old) => new == old,
        }
    }
}

/// The old items of one list, by key.
#[derive(Debug)]
pub struct OldItems<'a> {
    found: Option<(HashMap<String, &'a Value>, &'a [String], &'a Schema)>,
}

impl<'a> OldItems<'a> {
    /// The old value of an item.
    pub fn of(&self, item: &Value) -> Option<Old<'a>> {
        let (index, keys, schema) = self.found.as_ref()?;
        let value = index.get(&map_key(item, keys, schema)?)?;
        Some(Old { value, schema })
    }
}

/// What tells an item of a map list from the others, as a text. Keys that are missing have their
/// default.
pub fn map_key(item: &Value, keys: &[String], schema: &Schema) -> Option<String> {
    let fields = item.as_object()?;
    let mut text = String::new();
    for key in keys {
        let value = fields.get(key).or_else(|| schema.properties().get(key).and_then(Schema::default_value));
        text.push_str(&value.map_or_else(String::new, go_text::json));
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_found_by_key_and_by_nothing_else() {
        let item = json!({"type": "object", "properties": {
            "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}});
        let map = Schema::lenient(&json!({"type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}));
        let plain = Schema::lenient(&json!({"type": "array", "items": item}));
        let old = json!([{"port": 1, "name": "a"}, {"port": 1, "protocol": "UDP", "name": "b"}]);
        let new = json!({"port": 1, "protocol": "TCP", "name": "c"});
        let found = Old { value: &old, schema: &map }.items().of(&new).map(|o| o.value["name"].clone());
        assert_eq!(found, Some(json!("a")));
        assert!(Old { value: &old, schema: &plain }.items().of(&new).is_none());

        let turned = json!([old[1], old[0]]);
        assert!(Old { value: &old, schema: &map }.is(&turned));
        assert!(!Old { value: &old, schema: &plain }.is(&turned));
    }
}
