//! From the bytes of a request to an object that has the shape of its kind.
//!
//! Unknown and repeated fields are found here and dropped; whether the client is notified or refused is
//! its own choice. Defaults are filled in at the end, so that everything behind sees whole objects.

use http::header::CONTENT_TYPE;
use netloom_schema::{
    Additional, Schema,
    decode::{self, Decoded, Limits},
};
use serde_json::{Value, json};

use super::{asked::Asked, clock, go_json, metadata, options::Validation, typed};
use crate::{
    builtin,
    catalogue::Resource,
    events,
    negotiate::{self, Media, Written},
    protobuf,
    status_error::{Outcome, Status},
};

/// The Go type that a body is first read into, as its reader names it when the body is no object.
const GO_TYPE_META: &str =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

/// How many bytes of a body that is not understood are shown back.
const SUMMARY: usize = 30;

/// Reads the object of a creation or replacement.
pub(crate) fn object(asked: &Asked<'_>, validation: Validation) -> Outcome<Value> {
    let resource = &asked.resource;
    let Decoded { mut value, duplicates } =
        match negotiate::input(asked.header(&CONTENT_TYPE), resource.builtin.is_some())? {
            Written::Protobuf => message(&resource.api_version(), &resource.kind, asked.body)?,
            Written::Text(media) => bytes(media, asked.body)
                .map_err(|why| unrecognized(&resource.kind, &no_object(media, &why), asked.body))?,
        };
    if value.is_null() && resource.builtin.is_some() {
        value = json!({});
    }
    if !value.is_object() {
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type {GO_TYPE_META}",
            go_name(&value)
        );
        return Err(unrecognized(&resource.kind, &why, asked.body));
    }
    check_kind(resource, &mut value, asked.body)?;
    let mut strict = duplicates;
    strict.extend(shape(resource, &mut value).map_err(|why| cannot_handle(resource, &value, &why))?);
    report(asked, validation, &strict, |all| {
        cannot_handle(resource, &value, &format!("strict decoding error: {all}"))
    })?;
    default(resource, &mut value);
    Ok(value)
}

/// Tells the client about unknown and repeated fields, or refuses them.
pub(crate) fn report(
    asked: &Asked<'_>,
    validation: Validation,
    problems: &[String],
    refuse: impl FnOnce(&str) -> Status,
) -> Outcome<()> {
    match validation {
        Validation::Ignore => Ok(()),
        Validation::Warn => {
            // What a YAML reader says in several lines is one warning each.
            let lines = problems.iter().flat_map(|text| text.lines()).map(str::trim);
            for line in lines.filter(|line| !line.is_empty() && !line.ends_with("unmarshal errors:")) {
                asked.warn(line);
            }
            Ok(())
        }
        Validation::Strict if problems.is_empty() => Ok(()),
        Validation::Strict => Err(refuse(&problems.join(", "))),
    }
}

/// Reads text in one of the two forms.
pub(crate) fn bytes(media: Media, body: &[u8]) -> Result<Decoded, String> {
    let limits = Limits::default();
    match media {
        Media::Json => {
            decode::json(body, limits).map_err(|error| go_json::error(body).unwrap_or_else(|| error.to_string()))
        }
        Media::Yaml => decode::yaml(body, limits).map_err(|error| error.to_string()),
    }
}

/// Reads a message that should be of a kind. One that does not say its kind is of the kind expected.
pub(crate) fn message(api_version: &str, kind: &str, body: &[u8]) -> Outcome<Decoded> {
    let envelope = protobuf::open(body).map_err(|why| unrecognized(kind, &why.to_string(), body))?;
    let own = |given: &str, expected: &str| if given.is_empty() { expected.to_owned() } else { given.to_owned() };
    let (given_version, given_kind) = (own(&envelope.api_version, api_version), own(&envelope.kind, kind));
    let (_, version) = given_version.split_once('/').unwrap_or(("", &given_version));
    let refuse = |why: &str| {
        Status::bad_request(format!("{given_kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    if !protobuf::knows(&given_version, &given_kind) {
        return Err(refuse(&not_registered(&given_version, &given_kind)));
    }
    let read = envelope.read(&given_version, &given_kind, Limits::default());
    let mut value = read.map_err(|why| refuse(&why.to_string()))?;
    if (given_version.as_str(), given_kind.as_str()) != (api_version, kind) {
        let (group, _) = api_version.split_once('/').unwrap_or_default();
        return Err(refuse(&unknown_conversion((&given_version, &given_kind), (group, kind))));
    }
    value["apiVersion"] = json!(given_version);
    value["kind"] = json!(given_kind);
    // A message holds what it holds: nothing can be there twice, and unknown fields have no names.
    Ok(Decoded { value, duplicates: Vec::new() })
}

/// Reads a message that should be the options of a removal, which every version has.
pub(crate) fn options_message(body: &[u8]) -> Outcome<Value> {
    const KIND: &str = "DeleteOptions";
    let refuse = |why: protobuf::ProtobufError| Status::bad_request(why.to_string());
    let envelope = protobuf::open(body).map_err(refuse)?;
    if !matches!(envelope.kind.as_str(), "" | KIND) {
        return Err(Status::bad_request(not_registered(&envelope.api_version, &envelope.kind)));
    }
    envelope.read("v1", KIND, Limits::default()).map_err(refuse)
}

/// Reads a value as the options of a removal. Every version has them, so any version may be named.
pub(crate) fn options(mut value: Value) -> Outcome<Value> {
    const TYPE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind");
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(Status::bad_request(not_registered(text("apiVersion"), kind)));
    }
    if !value.is_null() && !value.is_object() {
        let why = format!("json: cannot unmarshal {} into Go value of type v1.DeleteOptions", go_name(&value));
        return Err(Status::bad_request(why));
    }
    fit("DeleteOptions", &builtin::shape::passing(TYPE), &mut value).map_err(Status::bad_request)?;
    Ok(value)
}

/// Why a body is no object, in the words of the reader that looks for its kind first.
pub(crate) fn no_object(media: Media, why: &str) -> String {
    match media {
        Media::Json => format!("couldn't get version/kind; json parse error: {why}"),
        Media::Yaml => why.to_owned(),
    }
}

/// Drops what the kind does not have and names it. Refuses values that the kind's types cannot hold.
pub(crate) fn shape(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    let schema = resource.schema();
    if resource.builtin.is_some() { fit(&resource.kind, &schema, object) } else { known(&schema, object) }
}

/// The same for a kind that is a type, whether it is stored or not.
pub(crate) fn fit(kind: &str, schema: &Schema, object: &mut Value) -> Result<Vec<String>, String> {
    let forgets_owners = metadata::value(object, "managedFields") == Some(&json!([]));
    let unknown = known(schema, object)?;
    if let Some(wrong) = typed::misfit(kind, schema, object) {
        return Err(wrong);
    }
    drop_empty(schema, object);
    if forgets_owners {
        // The one empty list that says something: nobody is to own anything any more.
        metadata::set(object, "managedFields", Some(json!([])));
    }
    Ok(unknown)
}

/// Drops what the schema does not have and names it.
fn known(schema: &Schema, object: &mut Value) -> Result<Vec<String>, String> {
    let unknown = netloom_schema::prune(schema, object);
    if let Some(wrong) = netloom_schema::metadata::coerce(schema, object, "", true) {
        return Err(if wrong.path == "metadata" { wrong.detail } else { wrong.to_string() });
    }
    Ok(unknown.into_iter().map(|path| format!("unknown field {path:?}")).collect())
}

/// Reads a value as a kind that is only sent and never stored: everything in it has the kind's types
/// afterwards, and nothing else is left. `name` is that of the published type.
pub(crate) fn passing((api_version, kind): (&str, &str), name: &str, mut value: Value) -> Outcome<Value> {
    if value.is_null() {
        value = json!({});
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let matches = |given: &str, expected: &str| given.is_empty() || given == expected;
    if !value.is_object() || !matches(text("apiVersion"), api_version) || !matches(text("kind"), kind) {
        return Err(Status::bad_request(format!("the object provided is unrecognized (must be of type {kind})")));
    }
    fit(kind, &builtin::shape::passing(name), &mut value).map_err(|why| {
        let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    })?;
    value["apiVersion"] = json!(api_version);
    value["kind"] = json!(kind);
    Ok(value)
}

/// Drops what says nothing: nulls, and lists and maps without entries where they may be left out.
/// Built-in kinds are types, and their types do not tell such values from absent ones.
pub(crate) fn drop_empty(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            let required = schema.required();
            map.retain(|key, value| {
                let Some(below) = part(schema, key) else { return !value.is_null() };
                drop_empty(below, value);
                let needed = required.iter().any(|name| name == key);
                !value.is_null() && (needed || !is_empty(below, value))
            });
        }
        Value::Array(list) => {
            if let Some(below) = schema.items() {
                for item in list {
                    drop_empty(below, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn part<'a>(schema: &'a Schema, key: &str) -> Option<&'a Schema> {
    schema.properties().get(key).or(match schema.additional() {
        Some(Additional::Schema(below)) => Some(below),
        Some(Additional::Any(_)) | None => None,
    })
}

/// A list or a map without entries; an object with fields of its own is something even when it has
/// none of them.
fn is_empty(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty() && schema.properties().is_empty() && schema.additional().is_some(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Fills in what the client may leave out.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    match resource.builtin {
        Some(row) => {
            (row.default)(object);
            events::fill(resource, object);
        }
        None => netloom_schema::apply_defaults(&resource.schema(), object),
    }
}

/// The same after an apply. It leaves a null where everything below a field went; in a custom object
/// that takes none there, this is an error.
pub(crate) fn default_applied(resource: &Resource, object: &mut Value) {
    match resource.builtin {
        Some(_) => default(resource, object),
        None => netloom_schema::fill_defaults(&resource.schema(), object),
    }
}

/// Checks that the object is of the kind and version of the path. Built-in kinds may leave both out.
fn check_kind(resource: &Resource, object: &mut Value, body: &[u8]) -> Outcome<()> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut api_version, mut kind) = (text("apiVersion"), text("kind"));
    if resource.builtin.is_some() {
        if kind.is_empty() {
            kind.clone_from(&resource.kind);
        }
        if api_version.is_empty() {
            api_version = resource.api_version();
        }
        object["kind"] = json!(kind);
        object["apiVersion"] = json!(api_version);
    } else if kind.is_empty() {
        let shown = String::from_utf8_lossy(body);
        return Err(unrecognized(&resource.kind, &format!("Object 'Kind' is missing in '{shown}'"), body));
    }
    let expected = resource.api_version();
    if resource.builtin.is_some() && (kind != resource.kind || api_version != expected) {
        return Err(foreign_kind(resource, &api_version, &kind));
    }
    if api_version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    Ok(())
}

/// Why an object of another built-in kind does not become one of this.
pub(crate) fn no_conversion(resource: &Resource, api_version: &str, kind: &str) -> String {
    let known = builtin::all().iter().any(|row| row.kind == kind && row.api_version() == api_version);
    if !known {
        return not_registered(api_version, kind);
    }
    unknown_conversion((api_version, kind), (&resource.group, &resource.kind))
}

fn unknown_conversion((api_version, kind): (&str, &str), (group, expected): (&str, &str)) -> String {
    let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let package = group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core");
    format!("converting ({version}.{kind}) to ({package}.{expected}): unknown conversion")
}

/// What is reported about a kind that nobody knows.
pub(crate) fn not_registered(api_version: &str, kind: &str) -> String {
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}

fn foreign_kind(resource: &Resource, api_version: &str, kind: &str) -> Status {
    let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let why = no_conversion(resource, api_version, kind);
    Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {}: {why}", resource.kind))
}

fn cannot_handle(resource: &Resource, object: &Value, why: &str) -> Status {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let (_, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Status::bad_request(format!(
        "{} in version {version:?} cannot be handled as a {}: {why}",
        text("kind"),
        resource.kind
    ))
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        summary(body)
    ))
}

fn summary(body: &[u8]) -> String {
    let cut = body.get(..SUMMARY).unwrap_or(body);
    let end = if cut.len() < body.len() { " ..." } else { "" };
    match body.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{end}", String::from_utf8_lossy(cut)),
        Some(_) => format!("{}{end}", clock::hex(cut)),
    }
}

/// What Go's JSON reader calls a value.
pub(crate) fn go_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_shown_as_text_or_in_hex() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"{\"a\":1}"), "{\"a\":1}");
        assert_eq!(summary(b"abc"), "616263");
        assert!(summary(&[b'{'; 40]).ends_with(" ..."));
    }
}
