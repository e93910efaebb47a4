//! What each version of a definition says, and where errors about it are.
//!
//! The server holds what all versions say alike once, beside the versions, and errors about it are
//! reported there: a definition with one version has errors at `spec.validation`, not at
//! `spec.versions[0].schema`.

use serde_json::Value;

use super::{internal, scale, text};
use crate::{Rules, Schema, Type, field_error::FieldError, field_path};

/// The parts of a version that move up when all versions have the same, and what they are called there.
const SHARED: [(&str, &str); 4] = [
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// One part of one version, or of all of them.
struct Part<'a> {
    value: &'a Value,
    path: String,
    /// The version that the part belongs to, or any of them if it belongs to all.
    version: &'a Value,
}

/// All parts of the versions by one name, each with its path.
fn parts<'a>(versions: &'a [Value], name: &str) -> Vec<Part<'a>> {
    let shared = SHARED.iter().find(|(part, _)| *part == name).map_or(name, |(_, shared)| shared);
    let nothing = &Value::Null;
    let value = |version: &'a Value| version.get(name).filter(|v| !is_empty(v)).unwrap_or(nothing);
    let Some(first) = versions.first() else { return Vec::new() };
    if versions.iter().all(|v| value(v) == value(first)) {
        return vec![Part { value: value(first), path: format!("spec.{shared}"), version: first }];
    }
    let each = versions.iter().enumerate();
    each.map(|(i, version)| Part { value: value(version), path: format!("spec.versions[{i}].{name}"), version })
        .collect()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// All that is wrong with the parts of the versions.
pub(super) fn check(versions: &[Value], rules: &dyn Rules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        errors.extend(deprecation(version, &format!("spec.versions[{i}]")));
    }
    let has_schema = |part: &Part<'_>| part.value.get("openAPIV3Schema").is_some_and(Value::is_object);
    let schemas = parts(versions, "schema");
    for part in &schemas {
        if has_schema(part) {
            errors.extend(schema(part, versions, rules));
        }
    }
    if schemas.len() > 1 || schemas.iter().any(|part| !has_schema(part)) {
        for (i, version) in versions.iter().enumerate() {
            if !version.pointer("/schema/openAPIV3Schema").is_some_and(Value::is_object) {
                errors.push(FieldError::required(format!("spec.versions[{i}].schema.openAPIV3Schema"), ""));
            }
        }
    }
    for part in parts(versions, "subresources") {
        if let Some(scale) = part.value.get("scale").filter(|s| !s.is_null()) {
            errors.extend(scale::check_paths(scale, &part.path));
        }
    }
    for part in parts(versions, "additionalPrinterColumns") {
        for (i, column) in part.value.as_array().into_iter().flatten().enumerate() {
            errors.extend(self::column(column, &format!("{}[{i}]", part.path)));
        }
    }
    for part in parts(versions, "selectableFields") {
        if let Some(fields) = part.value.as_array() {
            errors.extend(selectable(fields, part.version, &part.path));
        }
    }
    errors
}

fn schema(part: &Part<'_>, versions: &[Value], rules: &dyn Rules) -> Vec<FieldError> {
    let json = &part.value["openAPIV3Schema"];
    let path = format!("{}.openAPIV3Schema", part.path);
    let mut errors = Vec::new();
    let has_status = |version: &Value| version.pointer("/subresources/status").is_some_and(|s| !s.is_null());
    let status =
        if part.path == "spec.validation" { versions.iter().any(has_status) } else { has_status(part.version) };
    if status {
        errors.extend(root_beside_status(json, &path));
    }
    if json.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    if let Err(wrong) = Schema::parse_with(json, &path, rules) {
        errors.extend(wrong);
    }
    errors
}

/// Words that may stand at the root of a schema when `status` is a subresource, and their Go names.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

fn root_beside_status(json: &Value, path: &str) -> Option<FieldError> {
    let kind = text(json, "type");
    if !kind.is_empty() && kind != "object" {
        let why =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid_text(format!("{path}.type"), kind, why));
    }
    let fields = json.as_object()?;
    fields.iter().find(|(name, value)| !is_empty(value) && !AT_ROOT.iter().any(|(known, _)| known == name))?;
    let names: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
    let why = format!(
        "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
        names.join(" ")
    );
    Some(FieldError { value: Some(internal::schema(json)), ..FieldError::invalid(path, &Value::Null, why) })
}

fn deprecation(version: &Value, path: &str) -> Vec<FieldError> {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return Vec::new() };
    let at = format!("{path}.deprecationWarning");
    let refused = |why: String| FieldError::invalid_text(&at, warning, why);
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        return vec![refused("can only be set for deprecated versions".to_owned())];
    }
    let mut errors = Vec::new();
    if warning.len() > 256 {
        errors.push(refused("must be <= 256 characters long".to_owned()));
    }
    if warning.is_empty() {
        errors.push(refused("must not be an empty string".to_owned()));
    }
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| *c != ' ' && !crate::go_text::is_printable(*c)) {
        errors.push(refused(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {i}"
        )));
    }
    errors
}

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn column(column: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |name: &str| format!("{path}.{name}");
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(at("name"), ""));
    }
    let kind = text(column, "type");
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    if kind.is_empty() {
        errors.push(FieldError::required(at("type"), types));
    } else if !COLUMN_TYPES.contains(&kind) {
        errors.push(FieldError::invalid_text(at("type"), kind, types));
    }
    let format = text(column, "format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid_text(at("format"), format, why));
    }
    let json_path = text(column, "jsonPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(at("JSONPath"), ""));
    } else {
        errors.extend(scale::simple_path_error(json_path, &at("JSONPath")));
    }
    errors
}

/// The most fields of a kind that selectors may use.
const MAX_SELECTABLE: usize = 8;

fn selectable(fields: &[Value], version: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(json) = version.pointer("/schema/openAPIV3Schema") else {
        let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
        return vec![FieldError::invalid_text(path, "", why)];
    };
    let schema = Schema::lenient(json);
    let mut seen: Vec<String> = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let (at, given) = (format!("{path}[{i}].jsonPath"), text(field, "jsonPath"));
        if given.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let (resolved, target) = match field_path::resolve_dotted(given, &schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid_text(at, given, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if resolved == "metadata" || resolved.starts_with("metadata.") {
            errors.push(FieldError::invalid_text(&at, given, "must not point to fields in metadata"));
        }
        if !matches!(target.kind(), Some(Type::String | Type::Boolean | Type::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid_text(&at, given, why));
        }
        if seen.contains(&resolved) {
            errors.push(FieldError::duplicate(&at, &Value::from(given)));
        } else {
            seen.push(resolved);
        }
    }
    if seen.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE));
    }
    errors
}

/// The versions as an error about all of them prints them: with the Go names of the fields, and
/// without what moved up.
pub(super) fn printed(versions: &[Value]) -> String {
    let flag = |version: &Value, name: &str| version.get(name) == Some(&Value::Bool(true));
    let part = |version: &Value, name: &str| {
        let shared = parts(versions, name).iter().any(|part| !part.path.starts_with("spec.versions["));
        let value = version.get(name).filter(|v| !shared && !is_empty(v)).unwrap_or(&Value::Null);
        crate::go_text::json(value)
    };
    let each = versions.iter().map(|version| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            crate::go_text::json(&Value::from(text(version, "name"))),
            flag(version, "served"),
            flag(version, "storage"),
            flag(version, "deprecated"),
            crate::go_text::json(version.get("deprecationWarning").unwrap_or(&Value::Null)),
            part(version, "schema"),
            part(version, "subresources"),
            part(version, "additionalPrinterColumns"),
            part(version, "selectableFields"),
        )
    });
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}
