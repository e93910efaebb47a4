//! Between what is in the store and what clients see.
//!
//! Stored bytes are JSON that begins with `metadata` and has neither `apiVersion`, `kind` nor
//! `resourceVersion`: the first two follow from the resource, the third is the revision of the
//! commit and known only afterwards. Because of that order an object can be sent by putting a few
//! bytes in front of the stored ones, without reading them.

use bytes::Bytes;
use netloom_store::{Object, Revision};
use serde_json::{Map, Value, json};

use super::metadata;
use crate::{
    catalogue::Resource,
    events,
    status_error::{Outcome, Status},
};

/// What all stored bytes begin with.
const OPEN: &[u8] = b"{\"metadata\":{";

/// Turns an object as clients write it into the bytes that are stored.
pub(crate) fn encode(resource: &Resource, object: &Value) -> Bytes {
    let mut stored = object.clone();
    if resource.is_event() {
        events::to_stored(resource, &mut stored);
    } else if resource.version != resource.storage_version {
        netloom_schema::prune(&resource.storage_schema(), &mut stored);
    }
    metadata::set(&mut stored, "resourceVersion", None);
    let mut map = match stored {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.remove("apiVersion");
    map.remove("kind");
    let metadata = map.remove("metadata").unwrap_or_else(|| json!({}));
    let mut bytes = format!("{{\"metadata\":{metadata}").into_bytes();
    for (key, value) in &map {
        bytes.extend_from_slice(format!(",{}:{value}", json!(key)).as_bytes());
    }
    bytes.push(b'}');
    bytes.into()
}

/// Turns what is stored into an object of the version that is asked for.
pub(crate) fn decode(resource: &Resource, stored: &Object) -> Outcome<Value> {
    decode_at(resource, &stored.bytes, stored.revision)
}

/// The same at another revision: a removed object carries the one of its removal.
pub(crate) fn decode_at(resource: &Resource, bytes: &[u8], revision: Revision) -> Outcome<Value> {
    let mut object: Value = serde_json::from_slice(bytes).map_err(|error| {
        Status::internal(&format!("a stored object of {} is damaged: {error}", resource.qualified()))
    })?;
    if resource.is_event() {
        events::from_stored(resource, &mut object);
    } else if resource.builtin.is_none() {
        // The definition may have lost fields and gained defaults since the object was written.
        netloom_schema::prune(&resource.storage_schema(), &mut object);
        netloom_schema::apply_defaults(&resource.storage_schema(), &mut object);
        if resource.version != resource.storage_version {
            netloom_schema::prune(&resource.schema(), &mut object);
        }
    }
    metadata::set(&mut object, "resourceVersion", Some(json!(revision.to_string())));
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), json!(resource.api_version()));
        map.insert("kind".into(), json!(resource.kind));
    }
    Ok(object)
}

/// Writes the object as it is sent, from the bytes that were stored at this revision alone; says whether that can be done.
/// With `named` it carries its kind, which items of some lists do not.
pub(crate) fn splice(resource: &Resource, bytes: &[u8], revision: Revision, named: bool, text: &mut Vec<u8>) -> bool {
    let Some(rest) = bytes.strip_prefix(OPEN).filter(|rest| resource.is_plain(revision) && !rest.starts_with(b"}"))
    else {
        return false;
    };
    text.push(b'{');
    if named {
        let (api_version, kind) = (json!(resource.api_version()), json!(resource.kind));
        text.extend_from_slice(format!("\"apiVersion\":{api_version},\"kind\":{kind},").as_bytes());
    }
    text.extend_from_slice(format!("\"metadata\":{{\"resourceVersion\":\"{revision}\",").as_bytes());
    text.extend_from_slice(rest);
    true
}
