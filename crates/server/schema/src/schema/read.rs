//! JSON to [`Schema`], asking no questions.

use serde_json::{Map, Value};

use super::{Additional, Checks, ListType, MapType, Rule, Schema, Type};
use crate::pattern::Pattern;

/// Deeper than every honest schema; what lies below is not looked at.
const DEEPEST: usize = 100;

pub(super) fn schema(json: &Value) -> Schema {
    at_depth(json, 0)
}

fn at_depth(json: &Value, depth: usize) -> Schema {
    let Some(fields) = json.as_object().filter(|_| depth <= DEEPEST) else {
        // `true` and whatever else is not an object allow everything.
        return Schema::anything();
    };
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let mut schema = Schema {
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        nullable: flag("nullable"),
        default: fields.get("default").filter(|v| !v.is_null()).cloned(),
        list_type: list_type(fields),
        map_type: if text(fields, "x-kubernetes-map-type") == "atomic" { MapType::Atomic } else { MapType::Granular },
        checks: Box::new(checks(fields, depth)),
        rules: rules(fields),
        ..Schema::default()
    };
    read_type(fields, &mut schema);
    for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        schema.properties.insert(name.clone(), at_depth(property, depth + 1));
    }
    schema.additional = fields.get("additionalProperties").map(|additional| match additional {
        Value::Bool(allowed) => Additional::Any(*allowed),
        other => Additional::Schema(Box::new(at_depth(other, depth + 1))),
    });
    schema.items = fields.get("items").filter(|i| i.is_object()).map(|items| Box::new(at_depth(items, depth + 1)));
    note_what_is_below(&mut schema);
    schema
}

/// `type` is one name here, and a list with `null` in newer dialects.
fn read_type(fields: &Map<String, Value>, schema: &mut Schema) {
    match fields.get("type") {
        Some(Value::String(name)) => schema.kind = Type::parse(name),
        Some(Value::Array(names)) => {
            let mut names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            schema.nullable |= names.contains(&"null");
            names.retain(|name| *name != "null");
            match names.as_slice() {
                [one] => schema.kind = Type::parse(one),
                [_, _] if names.contains(&"integer") && names.contains(&"string") => schema.int_or_string = true,
                _ => {}
            }
        }
        _ => {}
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn list_type(fields: &Map<String, Value>) -> ListType {
    match text(fields, "x-kubernetes-list-type") {
        "set" => ListType::Set,
        "map" => ListType::Map(texts(fields, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

fn checks(fields: &Map<String, Value>, depth: usize) -> Checks {
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let count = |name: &str| fields.get(name).and_then(Value::as_i64);
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let filled = |name: &str| Some(text(fields, name)).filter(|t| !t.is_empty());
    let schemas = |name: &str| {
        let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
        list.map(|part| at_depth(part, depth + 1)).collect()
    };
    Checks {
        format: filled("format").map(str::to_owned),
        maximum: number("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        minimum: number("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        multiple_of: number("multipleOf"),
        max_length: count("maxLength"),
        min_length: count("minLength"),
        pattern: filled("pattern").map(Pattern::new),
        max_items: count("maxItems"),
        min_items: count("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: count("maxProperties"),
        min_properties: count("minProperties"),
        required: texts(fields, "required"),
        allowed: fields.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        all_of: schemas("allOf"),
        any_of: schemas("anyOf"),
        one_of: schemas("oneOf"),
        not: fields.get("not").filter(|n| n.is_object()).map(|not| Box::new(at_depth(not, depth + 1))),
    }
}

fn rules(fields: &Map<String, Value>) -> Vec<Rule> {
    let list = fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|entry| entry.as_object().map(|fields| (entry, fields)))
        .map(|(entry, fields)| Rule {
            rule: text(fields, "rule").to_owned(),
            message: text(fields, "message").to_owned(),
            message_expression: text(fields, "messageExpression").to_owned(),
            reason: text(fields, "reason").to_owned(),
            field_path: text(fields, "fieldPath").to_owned(),
            optional_old_self: fields.get("optionalOldSelf").and_then(Value::as_bool),
            source: entry.clone(),
            ..Rule::default()
        })
        .collect()
}

fn note_what_is_below(schema: &mut Schema) {
    let (mut defaults, mut rules, mut lists, mut embedded) =
        (schema.default.is_some(), !schema.rules.is_empty(), schema.list_type != ListType::Atomic, schema.embedded);
    let structural = schema.properties.values().chain(schema.additional_schema()).chain(schema.items.as_deref());
    for part in structural {
        defaults |= part.has_defaults;
        rules |= part.has_rules;
        lists |= part.has_list_rules;
        embedded |= part.has_embedded;
    }
    schema.has_defaults = defaults;
    schema.has_rules = rules;
    schema.has_list_rules = lists;
    schema.has_embedded = embedded;
}
