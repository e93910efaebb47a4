//! Ownership seen through the `/scale` subresource.
//!
//! `Scale` is an object of its own with one field that belongs to the main object: the number of replicas. Its
//! entries are those of the main object that own that field, written as owners of `.spec.replicas`; after a write
//! they are brought back into the entries of the main object.

use super::entries::{self, Owner, Owners};
use crate::fields::{Element, Path, Set};
use netloom_schema::Schema;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The version of the `Scale` object.
pub const API_VERSION: &str = "autoscaling/v1";

/// Where the replicas are in each served version of a kind: its `apiVersion`, and the path such as `.spec.replicas`
/// if that version can be scaled.
pub type ReplicasPaths<'a> = &'a [(&'a str, Option<&'a str>)];

/// The schema of the `Scale` object.
pub fn schema() -> &'static Schema {
    &SCALE
}

static SCALE: LazyLock<Schema> = LazyLock::new(|| {
    Schema::lenient(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"}}},
            "status": {"type": "object", "properties": {
                "replicas": {"type": "integer", "format": "int32"},
                "selector": {"type": "string"},
            }},
        },
    }))
});

/// The `managedFields` of the scale of an object.
pub fn to_scale(parent: &Value, paths: ReplicasPaths<'_>) -> Option<Value> {
    let owners = entries::of_object(parent).unwrap_or_default();
    let scaled = owners.into_iter().filter_map(|(key, owner)| {
        let path = path_in(&owner.api_version, paths)?;
        owner.set.has(&path).then(|| (key, Owner { api_version: API_VERSION.to_owned(), set: replicas(), ..owner }))
    });
    entries::write(&scaled.collect())
}

/// The `managedFields` of an object whose scale was written, from the object before and the scale after the write.
///
/// Whoever lost the replicas in the scale loses them here. Whoever owns them there gets an entry here that carries no
/// time, unless it owned them already.
pub fn to_parent(parent: &Value, scale: &Value, api_version: &str, paths: ReplicasPaths<'_>) -> Option<Value> {
    let parents = entries::of_object(parent).unwrap_or_default();
    let mut scaled = entries::of_object(scale).unwrap_or_default();
    let mut result = Owners::new();
    for (key, mut owner) in parents.clone() {
        if paths.iter().all(|(version, _)| *version != owner.api_version) {
            continue;
        }
        if let Some(path) = path_in(&owner.api_version, paths).filter(|path| owner.set.has(path))
            && scaled.remove(&key).is_none()
        {
            owner.set = owner.set.difference(&Set::from_iter([path]));
        }
        if !owner.set.is_empty() {
            result.insert(key, owner);
        }
    }
    let Some(path) = path_in(api_version, paths) else { return entries::write(&result) };
    for (key, owner) in scaled {
        if owner.set == replicas() {
            let time = parents.get(&key).and_then(|known| known.time);
            let set = Set::from_iter([path.clone()]);
            result.insert(key, Owner { api_version: api_version.to_owned(), time, set, ..owner });
        }
    }
    entries::write(&result)
}

fn replicas() -> Set {
    Set::from_iter([vec![Element::field("spec"), Element::field("replicas")]])
}

/// The path of the replicas in a version, if that version can be scaled.
fn path_in(api_version: &str, paths: ReplicasPaths<'_>) -> Option<Path> {
    let (_, path) = paths.iter().find(|(version, _)| *version == api_version)?;
    path.map(|path| path.trim_start_matches('.').split('.').map(Element::field).collect())
}
