//! `metadata`, which all kinds share: its types, its unknown fields, and its rules on create and update.
//!
//! The messages name no index for finalizers and owner references: so it is in Kubernetes.

mod rules;
mod types;

pub use self::{
    rules::{NameRule, check_create, check_embedded, check_field_manager, check_standard_finalizers, check_update},
    types::type_error,
};

use serde_json::Value;

use crate::{Schema, field_error::FieldError, paths::child};

/// Checks the types of `apiVersion`, `kind` and `metadata` of embedded objects and, with `is_object`,
/// of the value itself. The server refuses a request that fails here before it looks at anything else.
pub fn coerce(schema: &Schema, value: &mut Value, path: &str, is_object: bool) -> Option<FieldError> {
    match value {
        Value::Object(fields) => {
            let object = is_object || schema.is_embedded();
            for (name, value) in fields.iter_mut() {
                match name.as_str() {
                    "apiVersion" | "kind" if object && !value.is_string() => {
                        return Some(FieldError::invalid(child(path, name), value, "must be a string"));
                    }
                    "metadata" if object => {
                        if let Some(why) = type_error(value) {
                            return Some(FieldError::invalid(child(path, name), value, why));
                        }
                        types::tidy(value);
                    }
                    _ => {}
                }
                let error = if let Some(property) = schema.properties().get(name) {
                    coerce(property, value, &child(path, name), false)
                } else if let Some(additional) = schema.additional_schema() {
                    coerce(additional, value, &format!("{path}[{name}]"), false)
                } else {
                    None
                };
                if error.is_some() {
                    return error;
                }
            }
            None
        }
        Value::Array(items) => {
            let below = schema.items()?;
            items.iter_mut().enumerate().find_map(|(i, item)| coerce(below, item, &format!("{path}[{i}]"), false))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Takes unknown fields out of the metadata of an object and of all embedded ones, and names them.
pub(crate) fn prune(schema: &Schema, object: &mut Value, unknown: &mut Vec<String>) {
    node(schema, object, "", true, unknown);
}

fn node(schema: &Schema, value: &mut Value, path: &str, is_object: bool, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if (is_object || schema.is_embedded())
                && let Some(metadata) = fields.get_mut("metadata")
            {
                types::prune(metadata, &child(path, "metadata"), unknown);
            }
            if !schema.has_embedded {
                return;
            }
            for (name, value) in fields.iter_mut() {
                if let Some(property) = schema.property(name) {
                    node(property, value, &child(path, name), false, unknown);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            for (i, item) in items.iter_mut().enumerate() {
                node(below, item, &format!("{path}[{i}]"), false, unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
