//! Whether a body fits the types of a built-in kind.
//!
//! Built-in kinds are types: a number where a text belongs is refused before anything else is looked
//! at, in the words of the reader that Kubernetes uses. Those words name types; the names of inner
//! ones are not in the schema, so the usual ones are kept here.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use netloom_schema::{Additional, Schema, Type};
use serde_json::Value;

use super::decode::go_name;

/// The types of fields that are not called after their field.
const NAMES: [(&str, &str); 24] = [
    ("metadata", "ObjectMeta"),
    ("ownerReferences", "OwnerReference"),
    ("managedFields", "ManagedFieldsEntry"),
    ("containers", "Container"),
    ("initContainers", "Container"),
    ("env", "EnvVar"),
    ("volumes", "Volume"),
    ("template", "PodTemplateSpec"),
    ("taints", "Taint"),
    ("tolerations", "Toleration"),
    ("addresses", "NodeAddress"),
    ("subsets", "EndpointSubset"),
    ("endpoints", "Endpoint"),
    ("rules", "PolicyRule"),
    ("subjects", "Subject"),
    ("roleRef", "RoleRef"),
    ("involvedObject", "ObjectReference"),
    ("regarding", "ObjectReference"),
    ("related", "ObjectReference"),
    ("source", "EventSource"),
    ("deprecatedSource", "EventSource"),
    ("series", "EventSeries"),
    ("names", "CustomResourceDefinitionNames"),
    ("versions", "CustomResourceDefinitionVersion"),
];

/// Times that are written with microseconds.
const MICRO: [&str; 4] = ["renewTime", "acquireTime", "eventTime", "lastObservedTime"];

/// Why an object does not fit the types of its kind; none when it does.
pub(crate) fn misfit(kind: &str, schema: &Schema, object: &Value) -> Option<String> {
    Walk { path: Vec::new(), structs: vec![kind.to_owned()] }.node(schema, object)
}

struct Walk {
    /// The fields from the root; lists and maps add none.
    path: Vec<String>,
    /// The types that the fields are in.
    structs: Vec<String>,
}

impl Walk {
    fn node(&mut self, schema: &Schema, value: &Value) -> Option<String> {
        if value.is_null() || schema.is_int_or_string() {
            return None;
        }
        match (schema.kind(), value) {
            (Some(Type::Object), Value::Object(map)) => {
                map.iter().find_map(|(key, value)| self.entry(schema, key, value))
            }
            (Some(Type::Array), Value::Array(list)) => {
                let below = schema.items()?;
                list.iter().find_map(|item| self.node(below, item))
            }
            (Some(Type::String), Value::String(text)) => self.text(schema, text),
            (Some(Type::Integer), Value::Number(number)) if holds(schema.format(), number) => None,
            (None, _) | (Some(Type::Number), Value::Number(_)) | (Some(Type::Boolean), Value::Bool(_)) => None,
            (Some(_), other) => Some(self.refuse(schema, other)),
        }
    }

    fn entry(&mut self, schema: &Schema, key: &str, value: &Value) -> Option<String> {
        if let Some(below) = schema.properties().get(key) {
            self.path.push(key.to_owned());
            let inner = name_of(self.structs.last().map_or("", String::as_str), key);
            let nested =
                !below.properties().is_empty() || below.items().is_some_and(|item| !item.properties().is_empty());
            if nested {
                self.structs.push(inner);
            }
            let wrong = self.node(below, value);
            if nested {
                self.structs.pop();
            }
            self.path.pop();
            return wrong;
        }
        match schema.additional() {
            Some(Additional::Schema(below)) => self.node(below, value),
            Some(Additional::Any(_)) | None => None,
        }
    }

    fn text(&self, schema: &Schema, text: &str) -> Option<String> {
        match schema.format() {
            Some("byte") => match STANDARD.decode(text) {
                Ok(_) => None,
                Err(base64::DecodeError::InvalidByte(at, _)) => Some(format!("illegal base64 data at input byte {at}")),
                Err(_) => Some(format!("illegal base64 data at input byte {}", text.len() / 4 * 4)),
            },
            Some("date-time") => {
                let micro = self.path.last().is_some_and(|name| MICRO.contains(&name.as_str()));
                time_error(text, micro)
            }
            _ => None,
        }
    }

    fn refuse(&self, schema: &Schema, value: &Value) -> String {
        let field = self.path.join(".");
        let nested =
            !schema.properties().is_empty() || schema.items().is_some_and(|item| !item.properties().is_empty());
        // A field of a type is in the type around it.
        let at = self.structs.len().saturating_sub(if nested { 2 } else { 1 });
        let holder = self.structs.get(at).map_or("", String::as_str);
        let own = self.structs.last().map_or("", String::as_str);
        let shown = match value {
            Value::Number(number) if schema.kind() == Some(Type::Integer) => format!("number {number}"),
            other => go_name(other).to_owned(),
        };
        format!("json: cannot unmarshal {shown} into Go struct field {holder}.{field} of type {}", go_type(schema, own))
    }
}

/// Whether a whole number is small enough for its field.
fn holds(format: Option<&str>, number: &serde_json::Number) -> bool {
    match format {
        Some("int32") => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Some(_) | None => number.is_i64(),
    }
}

/// The type of a field.
fn name_of(holder: &str, field: &str) -> String {
    match (field, NAMES.iter().find(|(name, _)| *name == field)) {
        ("spec" | "status", _) if holder == "PodTemplateSpec" => "PodSpec".into(),
        ("spec", _) => format!("{holder}Spec"),
        ("status", _) => format!("{holder}Status"),
        ("ports", _) if holder == "Container" => "ContainerPort".into(),
        ("ports", _) => "ServicePort".into(),
        (_, Some((_, name))) => (*name).to_owned(),
        (other, None) => {
            let mut letters = other.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
        }
    }
}

fn go_type(schema: &Schema, name: &str) -> String {
    match schema.kind() {
        Some(Type::String) => "string".into(),
        Some(Type::Boolean) => "bool".into(),
        Some(Type::Integer) => schema.format().unwrap_or("int64").to_owned(),
        Some(Type::Number) => "float64".into(),
        Some(Type::Array) => {
            format!("[]{}", schema.items().map_or_else(|| "interface {}".into(), |item| go_type(item, name)))
        }
        Some(Type::Object) => match schema.additional() {
            Some(Additional::Schema(below)) => format!("map[string]{}", go_type(below, name)),
            Some(Additional::Any(_)) | None => format!("v1.{name}"),
        },
        None => "interface {}".into(),
    }
}

/// Why a text is no time, as Go's reader of times tells it.
fn time_error(text: &str, micro: bool) -> Option<String> {
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let parts = [
        (4, "2006"),
        (1, "-"),
        (2, "01"),
        (1, "-"),
        (2, "02"),
        (1, "T"),
        (2, "15"),
        (1, ":"),
        (2, "04"),
        (1, ":"),
        (2, "05"),
    ];
    let refuse = |rest: &str, part: &str| {
        Some(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    let mut rest = text;
    for (length, part) in parts {
        let Some((head, tail)) = rest.split_at_checked(length) else { return refuse(rest, part) };
        let fits = if part.len() == 1 { head == part } else { head.bytes().all(|byte| byte.is_ascii_digit()) };
        if !fits {
            return refuse(rest, part);
        }
        rest = tail;
    }
    let digits = rest.strip_prefix('.').map_or(0, |tail| tail.bytes().take_while(u8::is_ascii_digit).count());
    if micro && digits != 6 {
        return refuse(rest, ".000000");
    }
    let zone = if digits > 0 { &rest[digits + 1..] } else { rest };
    let offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':';
    if zone == "Z" || offset { None } else { refuse(zone, "Z07:00") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_types_are_named_as_go_does() {
        let schema = Schema::lenient(&json!({"type": "object", "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "binaryData": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            "involvedObject": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"},
                "seconds": {"type": "integer", "format": "int64"},
                "renewTime": {"type": "string", "format": "date-time"}}}}}));
        let table = [
            (json!({"data": {"a": "b"}}), None),
            (
                json!({"data": {"a": 5}}),
                Some("json: cannot unmarshal number into Go struct field Thing.data of type string"),
            ),
            (json!({"binaryData": {"a": "!"}}), Some("illegal base64 data at input byte 0")),
            (
                json!({"involvedObject": {"name": true}}),
                Some(
                    "json: cannot unmarshal bool into Go struct field ObjectReference.involvedObject.name of type string",
                ),
            ),
            (
                json!({"spec": {"replicas": "1"}}),
                Some("json: cannot unmarshal string into Go struct field ThingSpec.spec.replicas of type int32"),
            ),
            (
                json!({"spec": {"replicas": 3_000_000_000_u32}}),
                Some(
                    "json: cannot unmarshal number 3000000000 into Go struct field ThingSpec.spec.replicas of type int32",
                ),
            ),
            (
                json!({"spec": {"seconds": u64::MAX}}),
                Some(
                    "json: cannot unmarshal number 18446744073709551615 into Go struct field ThingSpec.spec.seconds of type int64",
                ),
            ),
            (json!({"spec": {"replicas": i32::MIN, "seconds": i64::MAX}}), None),
            (
                json!({"spec": {"renewTime": "2001-01-01T00:00:01Z"}}),
                Some(
                    "parsing time \"2001-01-01T00:00:01Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
                ),
            ),
            (json!({"spec": {"renewTime": "2001-01-01T00:00:01.123456Z"}}), None),
        ];
        for (object, expected) in table {
            assert_eq!(misfit("Thing", &schema, &object).as_deref(), expected, "{object}");
        }
    }
}
