//! The older form of the documents: one for everything that is served, in the second version of the
//! format. Clients fall back on it for kinds that the newer documents do not have, such as `List`.
//!
//! It is made from the newer documents and says no more than they do. What the format cannot say, or
//! what clients of it would take too literally, is left out: alternatives, values that may be null,
//! fields of objects that may have any, and defaults.

use serde_json::{Map, Value, json};

use super::document;
use crate::{catalogue::Catalogue, discovery::Discovery, version::GIT_VERSION};

const NEWER: &str = "#/components/schemas/";
const OLDER: &str = "#/definitions/";
const KIND: &str = "x-kubernetes-group-version-kind";
/// Words of a schema that the older form does not know.
const UNKNOWN: [&str; 5] = ["oneOf", "anyOf", "not", "nullable", "default"];

/// The document.
pub fn older_document(catalogue: &Catalogue) -> Value {
    let (mut definitions, mut paths) = (Map::new(), Map::new());
    for (group, version) in Discovery::of(catalogue).versions() {
        let Some(document) = document(catalogue, group, version) else { continue };
        for (name, newer) in fields(&document["components"]["schemas"]) {
            // A type can also stand among others that only refer to it; there it does not say its kind.
            if newer.get(KIND).is_some() || !definitions.contains_key(name) {
                definitions.insert(name.clone(), schema(newer));
            }
        }
        paths.extend(fields(&document["paths"]).map(|(place, newer)| (place.clone(), path(newer))));
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": GIT_VERSION },
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": { "BearerToken": { "type": "apiKey", "in": "header", "name": "authorization" } },
    })
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn schema(newer: &Value) -> Value {
    let Some(map) = newer.as_object() else { return newer.clone() };
    if let Some(reference) = reference(map) {
        let mut older = json!({ "$ref": reference.replacen(NEWER, OLDER, 1) });
        if let Some(description) = map.get("description") {
            older["description"] = description.clone();
        }
        return older;
    }
    let flag = |word: &str| map.get(word) == Some(&Value::Bool(true));
    let anything = flag("nullable") || flag("x-kubernetes-int-or-string");
    let open = flag("x-kubernetes-preserve-unknown-fields");
    let mut older = Map::new();
    for (key, value) in map {
        let value = match key.as_str() {
            word if UNKNOWN.contains(&word) => continue,
            "type" | "format" | "enum" if anything => continue,
            "properties" | "items" | "additionalProperties" | "required" if anything || open => continue,
            "properties" => fields(value).map(|(name, below)| (name.clone(), schema(below))).collect(),
            "items" | "additionalProperties" => schema(value),
            "allOf" => value.as_array().into_iter().flatten().map(schema).collect(),
            _ => value.clone(),
        };
        older.insert(key.clone(), value);
    }
    Value::Object(older)
}

/// What a schema refers to, also through the `allOf` that makes room for a description.
fn reference(map: &Map<String, Value>) -> Option<&str> {
    let wrapped = || map.get("allOf")?.as_array().filter(|all| all.len() == 1)?.first()?.get("$ref");
    map.get("$ref").or_else(wrapped)?.as_str()
}

fn path(newer: &Value) -> Value {
    let older = fields(newer).map(|(key, value)| {
        let value = if key == "parameters" { parameters(value).into() } else { operation(value) };
        (key.clone(), value)
    });
    older.collect::<Map<_, _>>().into()
}

fn operation(newer: &Value) -> Value {
    let mut older = Map::new();
    let media = |content: &Value| fields(content).map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut parameters = parameters(&newer["parameters"]);
    if let Some((_, content)) = fields(&newer["requestBody"]["content"]).next() {
        let required = newer["requestBody"]["required"].as_bool().unwrap_or_default();
        let body = schema(&content["schema"]);
        parameters.insert(0, json!({ "name": "body", "in": "body", "required": required, "schema": body }));
        older.insert("consumes".to_owned(), json!(media(&newer["requestBody"]["content"])));
    }
    let mut produces = Vec::new();
    let responses = fields(&newer["responses"]).map(|(code, response)| {
        let mut answer = json!({ "description": response["description"] });
        if let Some((_, content)) = fields(&response["content"]).next() {
            answer["schema"] = schema(&content["schema"]);
            produces = media(&response["content"]);
        }
        (code.clone(), answer)
    });
    older.insert("responses".to_owned(), responses.collect::<Map<_, _>>().into());
    older.insert("produces".to_owned(), json!(produces));
    older.insert("parameters".to_owned(), json!(parameters));
    older.insert("schemes".to_owned(), json!(["https"]));
    older.extend(
        fields(newer).filter(|(key, _)| key.starts_with("x-")).map(|(key, value)| (key.clone(), value.clone())),
    );
    Value::Object(older)
}

/// Parameters say their type themselves instead of in a schema.
fn parameters(newer: &Value) -> Vec<Value> {
    let older = |parameter: &Value| {
        let own = fields(parameter).filter(|(key, _)| *key != "schema").chain(fields(&parameter["schema"]));
        own.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
    };
    newer.as_array().into_iter().flatten().map(older).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_lose_what_the_older_form_cannot_say() {
        let cases = [
            (json!({ "$ref": "#/components/schemas/a.B" }), json!({ "$ref": "#/definitions/a.B" })),
            (
                json!({ "allOf": [{ "$ref": "#/components/schemas/a.B" }], "description": "d", "default": {} }),
                json!({ "$ref": "#/definitions/a.B", "description": "d" }),
            ),
            (
                json!({ "type": "object", "nullable": true, "description": "d", "properties": {} }),
                json!({ "description": "d" }),
            ),
            (
                json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": {} } }),
                json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            ),
            (
                json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }] }),
                json!({ "x-kubernetes-int-or-string": true }),
            ),
            (
                json!({ "type": "array", "items": { "type": "string", "default": "" } }),
                json!({ "type": "array", "items": { "type": "string" } }),
            ),
        ];
        for (newer, older) in cases {
            assert_eq!(schema(&newer), older, "{newer}");
        }
    }

    #[test]
    fn operations_take_their_body_as_a_parameter() {
        let newer = json!({
            "parameters": [{ "name": "dryRun", "in": "query", "schema": { "type": "string", "uniqueItems": true } }],
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/a.B" } } } },
            "responses": { "200": { "description": "OK", "content": { "application/yaml": { "schema": {} } } } },
            "x-kubernetes-action": "post",
        });
        let older = operation(&newer);
        assert_eq!(older["consumes"], json!(["application/json"]));
        assert_eq!(older["produces"], json!(["application/yaml"]));
        assert_eq!(older["parameters"][0]["schema"]["$ref"], "#/definitions/a.B");
        assert_eq!(
            older["parameters"][1],
            json!({ "name": "dryRun", "in": "query", "type": "string", "uniqueItems": true })
        );
        assert_eq!(older["x-kubernetes-action"], "post");
    }
}
