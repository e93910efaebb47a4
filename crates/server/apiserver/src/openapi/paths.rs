//! The operations of a version, path by path.

use serde_json::{Map, Value, json};

use crate::{
    catalogue::Resource,
    openapi::{kind_of, schemas},
    reviews::Review,
};

const BUILTIN_PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
/// Custom kinds have no merge keys, so strategic merge patches mean nothing for them.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/// Every path of a version.
pub(super) fn of(resources: &[&Resource], group: &str, version: &str) -> Map<String, Value> {
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let mut paths = Map::new();
    paths.insert(format!("{root}/"), json!({ "get": operation(&Operation::discovery()) }));
    for resource in resources {
        add_resource(&mut paths, &root, resource);
    }
    for review in Review::ALL.into_iter().filter(|review| review.resource().0 == group) {
        let (_, plural) = review.resource();
        let scope = if review.namespaced() { "/namespaces/{namespace}" } else { "" };
        let kind = kind_of(group, version, review.kind());
        let operation =
            Operation { body: Some(review.type_name()), ..Operation::new("post", kind, review.type_name()) };
        let mut path = json!({ "post": self::operation(&operation) });
        path["parameters"] = path_parameters(review.namespaced(), false);
        paths.insert(format!("{root}{scope}/{plural}"), path);
    }
    paths
}

fn add_resource(paths: &mut Map<String, Value>, root: &str, resource: &Resource) {
    let plural = &resource.plural;
    let collection = if resource.namespaced {
        // Reading over all namespaces has a path of its own.
        paths.insert(format!("{root}/{plural}"), json!({ "get": list(resource) }));
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    let mut all = json!({ "get": list(resource), "parameters": path_parameters(resource.namespaced, false) });
    let mut one = json!({
        "get": operation(&Operation::new("get", kind(resource), schemas::name(resource))),
        "parameters": path_parameters(resource.namespaced, true),
    });
    if resource.takes("create") {
        all["post"] = write("post", resource);
    }
    if resource.takes("deletecollection") {
        all["delete"] = operation(&Operation::removal("deletecollection", kind(resource)));
    }
    if resource.takes("update") {
        one["put"] = write("put", resource);
    }
    if resource.takes("patch") {
        one["patch"] = patch(resource);
    }
    if resource.takes("delete") {
        one["delete"] = operation(&Operation::removal("delete", kind(resource)));
    }
    paths.insert(collection.clone(), all);
    paths.insert(format!("{collection}/{{name}}"), one);
    if resource.status {
        let status = json!({
            "get": operation(&Operation::new("get", kind(resource), schemas::name(resource))),
            "put": write("put", resource),
            "patch": patch(resource),
            "parameters": path_parameters(resource.namespaced, true),
        });
        paths.insert(format!("{collection}/{{name}}/status"), status);
    }
}

/// One operation, before it is written out.
#[derive(Debug)]
struct Operation {
    action: &'static str,
    kind: Option<Value>,
    parameters: Vec<Value>,
    body: Option<String>,
    media: &'static [&'static str],
    answer: String,
}

impl Operation {
    fn new(action: &'static str, kind: Value, answer: String) -> Self {
        Self { action, kind: Some(kind), parameters: Vec::new(), body: None, media: &["application/json"], answer }
    }

    fn discovery() -> Self {
        let answer = schemas::meta("APIResourceList");
        Self { action: "get", kind: None, parameters: Vec::new(), body: None, media: &[], answer }
    }

    fn removal(action: &'static str, kind: Value) -> Self {
        Self {
            body: Some(schemas::meta("DeleteOptions")),
            parameters: vec![
                query("dryRun", "string"),
                query("gracePeriodSeconds", "integer"),
                query("propagationPolicy", "string"),
            ],
            ..Self::new(action, kind, schemas::meta("Status"))
        }
    }
}

fn operation(operation: &Operation) -> Value {
    let content = |name: &str, media: &[&str]| -> Map<String, Value> {
        let reference = json!({ "schema": { "$ref": format!("#/components/schemas/{name}") } });
        media.iter().map(|&media| (media.to_owned(), reference.clone())).collect()
    };
    let mut written = json!({
        "parameters": operation.parameters,
        "responses": {
            "200": { "description": "OK", "content": content(&operation.answer, &["application/json", "application/yaml"]) },
            "401": { "description": "Unauthorized" },
        },
    });
    if let Some(body) = &operation.body {
        written["requestBody"] = json!({ "content": content(body, operation.media), "required": true });
    }
    if let Some(kind) = &operation.kind {
        written["x-kubernetes-action"] = json!(operation.action);
        written["x-kubernetes-group-version-kind"] = kind.clone();
    }
    written
}

fn list(resource: &Resource) -> Value {
    let words = [("allowWatchBookmarks", "boolean"), ("continue", "string"), ("fieldSelector", "string")]
        .into_iter()
        .chain([("labelSelector", "string"), ("limit", "integer"), ("resourceVersion", "string")])
        .chain([("resourceVersionMatch", "string"), ("sendInitialEvents", "boolean")])
        .chain([("timeoutSeconds", "integer"), ("watch", "boolean")]);
    operation(&Operation {
        parameters: words.map(|(name, kind)| query(name, kind)).collect(),
        ..Operation::new("list", kind(resource), schemas::list_name(resource))
    })
}

fn write(action: &'static str, resource: &Resource) -> Value {
    let name = schemas::name(resource);
    operation(&Operation {
        parameters: vec![
            query("dryRun", "string"),
            query("fieldManager", "string"),
            query("fieldValidation", "string"),
        ],
        body: Some(name.clone()),
        ..Operation::new(action, kind(resource), name)
    })
}

fn patch(resource: &Resource) -> Value {
    let names = ["dryRun", "fieldManager", "fieldValidation"].map(|name| query(name, "string"));
    operation(&Operation {
        parameters: names.into_iter().chain([query("force", "boolean")]).collect(),
        body: Some(schemas::meta("Patch")),
        media: if resource.builtin.is_some() { &BUILTIN_PATCHES } else { &CUSTOM_PATCHES },
        ..Operation::new("patch", kind(resource), schemas::name(resource))
    })
}

fn kind(resource: &Resource) -> Value {
    kind_of(&resource.group, &resource.version, &resource.kind)
}

fn query(name: &str, kind: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": kind, "uniqueItems": true } })
}

fn path_parameters(namespaced: bool, named: bool) -> Value {
    let parameter = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "uniqueItems": true } });
    let mut parameters = Vec::new();
    if named {
        parameters.push(parameter("name"));
    }
    if namespaced {
        parameters.push(parameter("namespace"));
    }
    parameters.push(query("pretty", "string"));
    json!(parameters)
}
