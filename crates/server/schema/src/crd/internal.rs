//! A schema as an error prints it: with the names and in the order of the server's own type.

use serde_json::Value;

use crate::go_text;

/// How a field is printed when it is not there, and what is below it.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    /// A number, text, list or other value that may be missing.
    Plain,
    Schema,
    Schemas,
    Properties,
    Items,
    Additional,
    Rules,
}

const FIELDS: [(&str, &str, Kind); 44] = [
    ("ID", "id", Kind::Text),
    ("Schema", "$schema", Kind::Text),
    ("Ref", "$ref", Kind::Plain),
    ("Description", "description", Kind::Text),
    ("Type", "type", Kind::Text),
    ("Nullable", "nullable", Kind::Flag),
    ("Format", "format", Kind::Text),
    ("Title", "title", Kind::Text),
    ("Default", "default", Kind::Plain),
    ("Maximum", "maximum", Kind::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Kind::Flag),
    ("Minimum", "minimum", Kind::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Kind::Flag),
    ("MaxLength", "maxLength", Kind::Plain),
    ("MinLength", "minLength", Kind::Plain),
    ("Pattern", "pattern", Kind::Text),
    ("MaxItems", "maxItems", Kind::Plain),
    ("MinItems", "minItems", Kind::Plain),
    ("UniqueItems", "uniqueItems", Kind::Flag),
    ("MultipleOf", "multipleOf", Kind::Plain),
    ("Enum", "enum", Kind::Plain),
    ("MaxProperties", "maxProperties", Kind::Plain),
    ("MinProperties", "minProperties", Kind::Plain),
    ("Required", "required", Kind::Plain),
    ("Items", "items", Kind::Items),
    ("AllOf", "allOf", Kind::Schemas),
    ("OneOf", "oneOf", Kind::Schemas),
    ("AnyOf", "anyOf", Kind::Schemas),
    ("Not", "not", Kind::Schema),
    ("Properties", "properties", Kind::Properties),
    ("AdditionalProperties", "additionalProperties", Kind::Additional),
    ("PatternProperties", "patternProperties", Kind::Properties),
    ("Dependencies", "dependencies", Kind::Plain),
    ("AdditionalItems", "additionalItems", Kind::Additional),
    ("Definitions", "definitions", Kind::Properties),
    ("ExternalDocs", "externalDocs", Kind::Plain),
    ("Example", "example", Kind::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Kind::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Kind::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Kind::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Kind::Plain),
    ("XListType", "x-kubernetes-list-type", Kind::Plain),
    ("XMapType", "x-kubernetes-map-type", Kind::Plain),
    ("XValidations", "x-kubernetes-validations", Kind::Rules),
];

/// The text of a schema.
pub(super) fn schema(json: &Value) -> String {
    let fields = FIELDS.iter().map(|(name, key, kind)| format!("\"{name}\":{}", field(json.get(*key), *kind)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn field(value: Option<&Value>, kind: Kind) -> String {
    let Some(value) = value.filter(|v| !v.is_null()) else {
        return match kind {
            Kind::Text => "\"\"".to_owned(),
            Kind::Flag => "false".to_owned(),
            Kind::Plain
            | Kind::Schema
            | Kind::Schemas
            | Kind::Properties
            | Kind::Items
            | Kind::Additional
            | Kind::Rules => "null".to_owned(),
        };
    };
    match kind {
        Kind::Text | Kind::Flag | Kind::Plain => go_text::json(value),
        Kind::Schema => schema(value),
        Kind::Schemas => list(value, schema),
        Kind::Properties => {
            let mut names: Vec<(&String, &Value)> = value.as_object().into_iter().flatten().collect();
            names.sort_by_key(|(name, _)| *name);
            let each = names
                .into_iter()
                .map(|(name, part)| format!("{}:{}", go_text::json(&Value::from(name.as_str())), schema(part)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(","))
        }
        Kind::Items if value.is_array() => format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(value, schema)),
        Kind::Items => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        Kind::Additional => match value {
            Value::Bool(allows) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
            other => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(other)),
        },
        Kind::Rules => list(value, rule),
    }
}

fn list(value: &Value, each: impl Fn(&Value) -> String) -> String {
    let items = value.as_array().into_iter().flatten().map(each);
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The text of one validation rule.
fn rule(json: &Value) -> String {
    let part = |key: &str, absent: &str| json.get(key).map_or_else(|| absent.to_owned(), go_text::json);
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        part("rule", "\"\""),
        part("message", "\"\""),
        part("messageExpression", "\"\""),
        part("reason", "null"),
        part("fieldPath", "\"\""),
        part("optionalOldSelf", "null"),
    )
}
