//! The schemas of a version: its kinds, lists of them, and what they refer to.

use serde_json::{Map, Value, json};

use crate::{
    builtin::{Builtin, shape},
    catalogue::Resource,
    openapi::kind_of,
    reviews::Review,
};

/// The definitions that a version needs.
pub(super) fn of(resources: &[&Resource], group: &str) -> Map<String, Value> {
    let rows = || resources.iter().filter_map(|resource| resource.builtin);
    let reviews = || Review::ALL.into_iter().filter(|review| review.resource().0 == group);
    let general = ["ObjectMeta", "ListMeta", "DeleteOptions", "Status", "APIResourceList"].map(meta);
    let published = rows().map(Builtin::type_name).chain(reviews().map(Review::type_name));
    let mut schemas = shape::components(published.chain(general));
    schemas.values_mut().for_each(default_texts);
    let kinds = rows().map(|row| (row.type_name(), kind_of(row.group, row.version, row.kind)));
    for (name, gvk) in kinds.chain(reviews().map(|review| (review.type_name(), kind_of(group, "v1", review.kind())))) {
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = json!([gvk]);
        }
    }
    for resource in resources.iter().filter(|resource| resource.builtin.is_none()) {
        schemas.insert(name(resource), custom(resource));
    }
    for resource in resources {
        schemas.insert(list_name(resource), list(resource));
    }
    schemas
        .insert(meta("Patch"), json!({ "type": "object", "description": "A patch, in the form of its content type." }));
    schemas
}

/// Texts in lists and maps of built-in types are empty when they are not given.
fn default_texts(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for (key, value) in map.iter_mut() {
        match key.as_str() {
            "items" | "additionalProperties" => {
                if value["type"] == "string" && value.get("format").is_none() {
                    value["default"] = json!("");
                }
                default_texts(value);
            }
            "properties" => {
                value.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()).for_each(default_texts);
            }
            _ => (),
        }
    }
}

/// The name of a definition of the metadata group.
pub(super) fn meta(kind: &str) -> String {
    format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")
}

/// The name of a kind's definition: for custom kinds, the parts of the group in reverse order.
pub(super) fn name(resource: &Resource) -> String {
    if let Some(row) = resource.builtin {
        return row.type_name();
    }
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// The name of a list's definition.
pub(super) fn list_name(resource: &Resource) -> String {
    let own = name(resource);
    let package = own.strip_suffix(resource.kind.as_str()).unwrap_or(&own);
    format!("{package}{}", resource.list_kind)
}

fn custom(resource: &Resource) -> Value {
    let mut schema = resource.json_schema().as_ref().clone();
    if !schema.is_object() {
        schema = json!({});
    }
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    for (field, value) in type_fields("ObjectMeta") {
        schema["properties"][field] = value;
    }
    schema["x-kubernetes-group-version-kind"] = json!([kind_of(&resource.group, &resource.version, &resource.kind)]);
    schema
}

fn list(resource: &Resource) -> Value {
    let item = json!({ "$ref": format!("#/components/schemas/{}", name(resource)) });
    let mut schema = json!({
        "type": "object",
        "description": format!("A list of objects of the kind {}.", resource.kind),
        "required": ["items"],
        "properties": { "items": { "type": "array", "description": "The objects.", "items": item } },
        "x-kubernetes-group-version-kind": [kind_of(&resource.group, &resource.version, &resource.list_kind)],
    });
    for (field, value) in type_fields("ListMeta") {
        schema["properties"][field] = value;
    }
    schema
}

/// What every object says about itself.
fn type_fields(metadata: &str) -> [(&'static str, Value); 3] {
    let text = |words: &str| json!({ "type": "string", "description": words });
    let reference = format!("#/components/schemas/{}", meta(metadata));
    [
        ("apiVersion", text("The group and version that this object is written in.")),
        ("kind", text("The kind of this object.")),
        (
            "metadata",
            json!({ "allOf": [{ "$ref": reference }], "description": "Standard metadata of objects and lists." }),
        ),
    ]
}
