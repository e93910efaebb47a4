//! Documents that describe what is served, for clients that explain, validate and choose patches.
//!
//! One document for each group and version, under an address that contains its fingerprint, so a
//! client may keep it for ever. The fingerprint is made of what a document is made of: the index can
//! be known without building any.
//!
//! Two things that clients look for are easily lost, so tests hold them: each kind has a `PATCH` with
//! the parameter `fieldValidation`, or clients validate by themselves; and only built-in kinds list
//! strategic merge patches there.

pub mod gnostic;
mod older;
mod paths;
mod schemas;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub use self::older::older_document;

use crate::{
    catalogue::{Catalogue, Resource},
    discovery::Discovery,
    identity::hex,
    version::GIT_VERSION,
};

/// `api/v1` or `apis/group/version`: how a version is called here.
pub fn place(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The list of all documents.
pub fn index(catalogue: &Catalogue) -> Value {
    let discovery = Discovery::of(catalogue);
    let paths: Map<String, Value> = discovery
        .versions()
        .map(|(group, version)| {
            let place = place(group, version);
            let url = format!("/openapi/v3/{place}?hash={}", fingerprint(catalogue, group, version));
            (place, json!({ "serverRelativeURL": url }))
        })
        .collect();
    json!({ "paths": paths })
}

/// The fingerprint of a version's document.
pub fn fingerprint(catalogue: &Catalogue, group: &str, version: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(GIT_VERSION);
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(place(group, version));
    for resource in of_version(catalogue, group, version) {
        hash.update(format!("{}/{}/{}", resource.plural, resource.kind, resource.namespaced));
        hash.update(format!("{}/{}", resource.status, resource.scale.is_some()));
        // Those of built-in kinds follow from the version of this program.
        if resource.builtin.is_none() {
            hash.update(resource.json_schema().to_string());
        }
    }
    hex(&hash.finalize()).to_uppercase()
}

/// The document of a version; nothing for one that is not served.
pub fn document(catalogue: &Catalogue, group: &str, version: &str) -> Option<Value> {
    Discovery::of(catalogue).versions().find(|&found| found == (group, version))?;
    let resources: Vec<&Resource> = of_version(catalogue, group, version).collect();
    let schemas = schemas::of(&resources, group);
    let paths = paths::of(&resources, group, version);
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": GIT_VERSION },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "BearerToken": { "type": "apiKey", "in": "header", "name": "authorization" },
            },
        },
    }))
}

fn of_version<'a>(catalogue: &'a Catalogue, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Resource> {
    catalogue
        .iter()
        .map(std::convert::AsRef::as_ref)
        .filter(move |resource| resource.group == group && resource.version == version)
}

/// The kind of something, as operations and schemas name it.
fn kind_of(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::builtin;

    fn catalogue() -> Catalogue {
        let mut all: Vec<_> = builtin::all().iter().map(|row| Arc::new(Resource::from_builtin(row))).collect();
        let mut definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.io" },
            "spec": {
                "group": "example.io",
                "scope": "Namespaced",
                "names": { "plural": "things", "kind": "Thing" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                        "spec": { "type": "object", "properties": { "size": { "type": "integer" } } },
                    } } },
                }],
            },
        });
        netloom_schema::crd::default_crd(&mut definition);
        let parsed = netloom_schema::crd::parse(&definition).expect("the definition is sound");
        all.push(Arc::new(Resource::from_version(&parsed, &parsed.versions[0], false)));
        Catalogue::new(all, 1)
    }

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    found.push(reference.clone());
                }
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => (),
        }
    }

    #[test]
    fn every_document_refers_only_to_itself() {
        let catalogue = catalogue();
        for (group, version) in Discovery::of(&catalogue).versions() {
            let document = document(&catalogue, group, version).unwrap();
            let mut found = Vec::new();
            references(&document, &mut found);
            assert!(!found.is_empty(), "{group}/{version}");
            for reference in found {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{group}/{version}: {reference}");
            }
        }
    }

    #[test]
    fn every_kind_can_be_patched_with_validation_by_the_server() {
        let catalogue = catalogue();
        for resource in catalogue.iter() {
            let document = document(&catalogue, &resource.group, &resource.version).unwrap();
            let patches: Vec<&Value> = document["paths"]
                .as_object()
                .unwrap()
                .values()
                .filter_map(|path| path.get("patch"))
                .filter(|patch| patch["x-kubernetes-group-version-kind"]["kind"] == resource.kind.as_str())
                .collect();
            assert!(!patches.is_empty(), "{}", resource.kind);
            for patch in patches {
                let names: Vec<&str> =
                    patch["parameters"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
                for wanted in ["dryRun", "fieldManager", "fieldValidation", "force"] {
                    assert!(names.contains(&wanted), "{} {names:?}", resource.kind);
                }
                let strategic = patch["requestBody"]["content"].get("application/strategic-merge-patch+json");
                assert_eq!(strategic.is_some(), resource.builtin.is_some(), "{}", resource.kind);
            }
        }
    }

    #[test]
    fn a_kind_is_found_by_its_name() {
        let catalogue = catalogue();
        let document = document(&catalogue, "example.io", "v1").unwrap();
        let thing = &document["components"]["schemas"]["io.example.v1.Thing"];
        assert_eq!(thing["x-kubernetes-group-version-kind"], json!([kind_of("example.io", "v1", "Thing")]));
        assert_eq!(thing["properties"]["spec"]["properties"]["size"]["type"], "integer");
        assert!(thing["properties"]["metadata"]["allOf"].is_array());
        assert!(super::document(&catalogue, "example.io", "v2").is_none());
    }

    #[test]
    fn the_older_document_refers_only_to_itself() {
        let older = older_document(&catalogue());
        let mut found = Vec::new();
        references(&older, &mut found);
        for reference in &found {
            assert!(older.pointer(&reference[1..]).is_some(), "{reference}");
        }
        assert!(found.iter().any(|reference| reference == "#/definitions/io.k8s.api.core.v1.PodSpec"));
        let thing = &older["definitions"]["io.example.v1.Thing"];
        assert_eq!(thing["properties"]["spec"]["properties"]["size"]["type"], "integer");
        assert_eq!(thing["x-kubernetes-group-version-kind"], json!([kind_of("example.io", "v1", "Thing")]));
        let patch = &older["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
        let names: Vec<&str> =
            patch["parameters"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
        assert_eq!(names, ["body", "dryRun", "fieldManager", "fieldValidation", "force"]);
    }

    #[test]
    fn fingerprints_follow_the_content() {
        let catalogue = catalogue();
        let index = index(&catalogue);
        let url = index["paths"]["apis/example.io/v1"]["serverRelativeURL"].as_str().unwrap();
        assert_eq!(url, format!("/openapi/v3/apis/example.io/v1?hash={}", fingerprint(&catalogue, "example.io", "v1")));
        assert_ne!(fingerprint(&catalogue, "example.io", "v1"), fingerprint(&catalogue, "", "v1"));
        assert!(index["paths"].get("api/v1").is_some());
    }
}
