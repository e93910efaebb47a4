//! Which lists of a kind merge, and by which field.
//!
//! A tree with the shape of the kind's schema, holding only the branches that say something. Items of lists and values
//! of maps are transparent: what is known of an item's fields stands below the list itself.

use serde_json::Value;
use std::collections::BTreeMap;

/// How a patch treats one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Objects merge, lists are replaced.
    #[default]
    Plain,
    /// The value of the patch takes the place of the stored one, objects included.
    Replace,
    /// A list of scalars whose items are added.
    MergeScalars,
    /// A list of objects that merge by the value of this field.
    MergeBy(String),
}

/// What is known of the fields below some place of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeKeys {
    strategy: Strategy,
    fields: BTreeMap<String, MergeKeys>,
    /// What is known of the values of a map, whatever their keys.
    values: Option<Box<MergeKeys>>,
}

/// Nothing known: every list below is replaced.
static PLAIN: MergeKeys = MergeKeys { strategy: Strategy::Plain, fields: BTreeMap::new(), values: None };

impl MergeKeys {
    /// Reads the `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key` marks of a schema without
    /// references.
    pub fn from_schema(schema: &Value) -> Self {
        let mut keys = Self { strategy: strategy_of(schema), ..Self::default() };
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let below = Self::from_schema(field);
            if below != PLAIN {
                keys.fields.insert(name.clone(), below);
            }
        }
        if schema["items"].is_object() {
            let items = Self::from_schema(&schema["items"]);
            keys.fields.extend(items.fields);
        }
        if schema["additionalProperties"].is_object() {
            let values = Self::from_schema(&schema["additionalProperties"]);
            keys.values = (values != PLAIN).then(|| Box::new(values));
        }
        keys
    }

    /// The tree with one more field, given by its path from here; lists are passed through.
    #[must_use]
    pub fn with(mut self, path: &str, strategy: Strategy) -> Self {
        let place = path.split('.').fold(&mut self, |place, name| place.fields.entry(name.to_owned()).or_default());
        place.strategy = strategy;
        self
    }

    /// What is known of a field here.
    pub(crate) fn below(&self, name: &str) -> &Self {
        self.fields.get(name).or(self.values.as_deref()).unwrap_or(&PLAIN)
    }

    pub(crate) fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// The field that tells the items apart, if they are objects that merge.
    pub(crate) fn merge_key(&self) -> Option<&str> {
        match &self.strategy {
            Strategy::MergeBy(key) => Some(key),
            Strategy::Plain | Strategy::Replace | Strategy::MergeScalars => None,
        }
    }
}

fn strategy_of(schema: &Value) -> Strategy {
    let marks = schema["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
    // `retainKeys` only matters to whoever makes patches, not to whoever applies them.
    let names: Vec<&str> = marks.split(',').collect();
    if names.contains(&"merge") {
        match schema["x-kubernetes-patch-merge-key"].as_str() {
            Some(key) => Strategy::MergeBy(key.to_owned()),
            None => Strategy::MergeScalars,
        }
    } else if names.contains(&"replace") {
        Strategy::Replace
    } else {
        Strategy::Plain
    }
}
