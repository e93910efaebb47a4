//! The shapes of built-in kinds: the published types' schemas, with what the table of lists adds.
//!
//! Two forms are made. The components are definitions that refer to each other, as documents for
//! clients need them. A `Shape` is one schema without references, for reading and merging objects;
//! where a type contains itself, the inner one may hold anything.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use netloom_schema::Schema;
use serde_json::{Map, Value, json};

use super::{
    lists::{Merge, rows},
    published,
};

/// Where the definitions of a document are.
const DEFINITIONS: &str = "#/components/schemas/";

/// One kind's shape.
#[derive(Debug)]
pub(crate) struct Shape {
    /// For reading, merging and checking.
    pub(crate) schema: Arc<Schema>,
    /// The same, as JSON.
    pub(crate) json: Arc<Value>,
}

impl Shape {
    /// Makes the shape of a published type.
    pub(super) fn of(name: &str) -> Self {
        let definitions = components([name.to_owned()]);
        let json = inline(&json!({ "$ref": format!("{DEFINITIONS}{name}") }), &definitions, &mut Vec::new());
        Self { schema: Arc::new(Schema::lenient(&json)), json: Arc::new(json) }
    }
}

/// The schema of a published type that is only ever sent and never stored, such as a review. Made when
/// it is first asked for and then kept: there are fewer than ten of them.
pub(crate) fn passing(name: &str) -> Arc<Schema> {
    static KEPT: Mutex<BTreeMap<String, Arc<Schema>>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(schema) = kept.get(name) {
        return Arc::clone(schema);
    }
    let schema = Shape::of(name).schema;
    kept.insert(name.to_owned(), Arc::clone(&schema));
    schema
}

/// The definitions of published types and of all that they refer to, by name, with the table of lists
/// written into them.
pub fn components(names: impl IntoIterator<Item = String>) -> Map<String, Value> {
    let types = published::Types::unpack();
    let mut definitions = Map::new();
    let mut missing: Vec<String> = names.into_iter().collect();
    while let Some(name) = missing.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let Some(mut definition) = types.definition(&name) else { continue };
        annotate_type(&name, &mut definition);
        references(&definition, &mut missing);
        definitions.insert(name, definition);
    }
    definitions
}

/// Adds the types that a schema refers to, at any depth.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            found.extend(reference(map).map(str::to_owned));
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// Writes what the table of lists says about a type into its definition.
fn annotate_type(name: &str, definition: &mut Value) {
    for (_, field, merge) in rows().filter(|(of, ..)| of == name) {
        let place = if field.is_empty() { Some(&mut *definition) } else { definition["properties"].get_mut(field) };
        if let Some(map) = place.and_then(Value::as_object_mut) {
            annotate(map, merge);
        }
    }
}

fn annotate(place: &mut Map<String, Value>, merge: Merge) {
    let mut put = |key: &str, value: Value| place.insert(format!("x-kubernetes-{key}"), value);
    let mut by_keys = |keys: &[&str], strategy: Option<&str>| {
        put("list-type", json!("map"));
        put("list-map-keys", json!(keys));
        if let (Some(strategy), Some(first)) = (strategy, keys.first()) {
            put("patch-strategy", json!(strategy));
            put("patch-merge-key", json!(first));
        }
    };
    match merge {
        Merge::Map(keys) => by_keys(keys, Some("merge")),
        Merge::MapRetainingKeys(keys) => by_keys(keys, Some("merge,retainKeys")),
        Merge::MapForApplyOnly(keys) => by_keys(keys, None),
        Merge::MapForPatchOnly(key) => {
            put("patch-strategy", json!("merge"));
            put("patch-merge-key", json!(key));
        }
        Merge::Set => {
            put("list-type", json!("set"));
        }
        Merge::MergedSet => {
            put("list-type", json!("set"));
            put("patch-strategy", json!("merge"));
        }
        Merge::Atomic => {
            put("map-type", json!("atomic"));
        }
        Merge::Default(value) => {
            place.insert("default".to_owned(), json!(value));
        }
    }
}

/// A schema with every reference replaced by what it refers to, and without prose. `inside` are the
/// types that are being replaced further up.
fn inline(schema: &Value, definitions: &Map<String, Value>, inside: &mut Vec<String>) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    if let Some(name) = reference(map) {
        if inside.iter().any(|outer| outer == name) {
            return json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        }
        let Some(definition) = definitions.get(name) else { return json!({}) };
        inside.push(name.to_owned());
        let mut whole = free_form(name).unwrap_or_else(|| inline(definition, definitions, inside));
        inside.pop();
        // What the field says of itself beside the reference, such as how it merges.
        let own = map.iter().filter(|(key, _)| key.starts_with("x-kubernetes-") || *key == "default");
        if let Some(object) = whole.as_object_mut() {
            object.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        }
        return whole;
    }
    let mut result = Map::new();
    for (key, value) in map {
        let value = match key.as_str() {
            "description" => continue,
            "properties" => match value.as_object() {
                Some(fields) => fields.iter().map(|(k, v)| (k.clone(), inline(v, definitions, inside))).collect(),
                None => value.clone(),
            },
            "items" | "additionalProperties" => inline(value, definitions, inside),
            _ => value.clone(),
        };
        result.insert(key.clone(), value);
    }
    Value::Object(result)
}

/// The type that a schema refers to, also through the `allOf` that makes room for a description.
fn reference(map: &Map<String, Value>) -> Option<&str> {
    let direct = map.get("$ref");
    let wrapped = || map.get("allOf")?.as_array().filter(|all| all.len() == 1)?.first()?.get("$ref");
    direct.or_else(wrapped)?.as_str()?.strip_prefix(DEFINITIONS)
}

/// Types whose published schema says less than what they hold.
fn free_form(name: &str) -> Option<Value> {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "FieldsV1" | "RawExtension" => Some(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
        // These hold a schema or something else in its place, so nothing is known of their shape.
        "JSON" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
            Some(json!({ "x-kubernetes-preserve-unknown-fields": true }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::{all, find};

    fn json_of(group: &str, plural: &str) -> Arc<Value> {
        find(group, "v1", plural).unwrap().json_schema()
    }

    #[test]
    fn shapes_have_no_references() {
        for kind in all() {
            let text = kind.json_schema().to_string();
            assert!(!text.contains("\"$ref\":\""), "{}", kind.kind);
            assert!(!text.contains("\"description\":\""), "{}", kind.kind);
        }
    }

    #[test]
    fn every_row_of_the_table_finds_its_field() {
        let definitions = components(all().iter().map(super::super::Builtin::type_name));
        for (name, field, _) in rows() {
            let definition = definitions.get(&name).unwrap_or_else(|| panic!("no type {name}"));
            assert!(field.is_empty() || definition["properties"].get(field).is_some(), "{name}.{field}");
        }
    }

    #[test]
    fn lists_carry_their_keys() {
        let pod = json_of("", "pods");
        let ports = &pod["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
        assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
        assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
        let binding = json_of("rbac.authorization.k8s.io", "rolebindings");
        assert_eq!(binding["properties"]["roleRef"]["x-kubernetes-map-type"], "atomic");
    }

    #[test]
    fn a_type_inside_itself_may_hold_anything() {
        let crd = json_of("apiextensions.k8s.io", "customresourcedefinitions");
        let schema = &crd["properties"]["spec"]["properties"]["versions"]["items"]["properties"]["schema"];
        let root = &schema["properties"]["openAPIV3Schema"];
        assert_eq!(root["properties"]["not"]["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(root["properties"]["type"]["type"], "string");
    }
}
