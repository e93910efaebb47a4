//! Which objects of a resource a list, a watch or a removal of many is about.

use netloom_schema::selector::{FieldSelector, LabelSelector};
use netloom_store::Range;
use serde_json::Value;

use super::asked::Asked;
use crate::{
    catalogue::Resource,
    status_error::{Outcome, Status},
};

/// Labels and fields that objects must have.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Reads the selectors of a request.
    pub(crate) fn parse(asked: &Asked<'_>) -> Outcome<Self> {
        let text = |key: &str| asked.info.query.get(key).unwrap_or_default();
        let labels =
            LabelSelector::parse(text("labelSelector")).map_err(|error| Status::bad_request(error.to_string()))?;
        let fields =
            FieldSelector::parse(text("fieldSelector")).map_err(|error| Status::bad_request(error.to_string()))?;
        let refused = fields.terms().iter().find_map(|term| asked.resource.field_refusal(&term.field));
        if let Some(why) = refused {
            return Err(Status::bad_request(why));
        }
        Ok(Self { labels, fields })
    }

    /// Whether every object is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether everything in [`Self::range`] is meant, so that no object need be looked into.
    pub(crate) fn is_range(&self, asked: &Asked<'_>) -> bool {
        let inside = !asked.resource.namespaced
            || asked.namespace().is_some()
            || self.fields.exact("metadata.namespace").is_some();
        let kept = |field: &str, value: &str| match field {
            "metadata.name" => inside && self.fields.exact(field) == Some(value),
            "metadata.namespace" => {
                asked.resource.namespaced && asked.namespace().or_else(|| self.fields.exact(field)) == Some(value)
            }
            _ => false,
        };
        self.labels.is_empty() && self.fields.terms().iter().all(|term| !term.negated && kept(&term.field, &term.value))
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, resource: &Resource, object: &Value) -> bool {
        (self.labels.is_empty() || self.labels.matches_object(object))
            && self.fields.matches(|field| Some(resource.field_value(object, field)))
    }

    /// The part of the store that holds everything that is meant.
    pub(crate) fn range(&self, asked: &Asked<'_>) -> Range {
        let range = Range::resource(&asked.resource.store_name());
        let namespace = if asked.resource.namespaced {
            asked.namespace().or_else(|| self.fields.exact("metadata.namespace"))
        } else {
            Some("")
        };
        match (namespace, self.fields.exact("metadata.name")) {
            (Some(namespace), Some(name)) => range.in_namespace(namespace).named(name),
            (Some(namespace), None) => range.in_namespace(namespace),
            (None, _) => range,
        }
    }
}
