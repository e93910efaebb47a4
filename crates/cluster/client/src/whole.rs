//! Objects as the rest of the program has them.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

/// An object that was read as one of any kind.
pub fn read(object: DynamicObject, resource: &ApiResource) -> Arc<Value> {
    let DynamicObject { types: _, metadata, data: mut value } = object;
    value["metadata"] = serde_json::to_value(metadata).unwrap_or_default();
    whole(value, resource)
}

/// An object with the names of its kind, which items of a list may come without. Who manages which field is of no
/// interest and half of the size.
pub(crate) fn whole(mut object: Value, resource: &ApiResource) -> Arc<Value> {
    object["apiVersion"] = resource.api_version.as_str().into();
    object["kind"] = resource.kind.as_str().into();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Arc::new(object)
}
