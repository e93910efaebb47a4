//! The annotation of client-side apply.
//!
//! `kubectl apply` without `--server-side` keeps what it applied in an annotation. When `kubectl` comes back to apply
//! on the server, fields that still have the value of the annotation are its own, whoever is recorded for them, and
//! the annotation is kept current so that a client can go back.

use super::Manager;
use super::shape::Shape;
use crate::fields::Set;
use crate::typed::{Strictness, check, compare, field_set};
use netloom_schema::go_text;
use serde_json::Value;

/// The one manager these rules are for.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The annotations of an object may not be larger than this in all.
const LARGEST_ANNOTATIONS: usize = 256 * 1024;

/// The fields `kubectl` may take without force: those of the annotation that still have their value.
pub(super) fn allowed(live: &Value, manager: &Manager<'_>, shape: &Shape<'_>) -> Set {
    let Some(last) = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return Set::new();
    };
    let fits = last["apiVersion"].as_str() == Some(manager.api_version)
        && check(shape.ty(), &last, Strictness::Applied).is_ok();
    if !fits {
        return Set::new();
    }
    let changed = compare(shape.ty(), &last, live);
    field_set(shape.ty(), &last).difference(&changed.modified).difference(&changed.added).difference(&changed.removed)
}

/// Brings the annotation up to date, if the object has it.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", go_text::json(&config));
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > LARGEST_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object.pointer("/metadata/annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
