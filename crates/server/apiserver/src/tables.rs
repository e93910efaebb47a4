//! What is made of objects before they are sent: nothing, rows of a table, or only their metadata.

use std::sync::Arc;

use jiff::Timestamp;
use netloom_schema::{FieldError, table};
use serde_json::{Value, json};

use crate::{
    catalogue::Resource,
    negotiate::{Form, MetaVersion, Output},
    request::Query,
    status_error::{Outcome, Status},
};

/// The annotation that marks the end of what was there when a watch began.
pub(crate) const INITIAL_END: &str = "k8s.io/initial-events-end";

/// How much of the object a row of a table carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    Metadata,
    Object,
    Nothing,
}

/// Turns objects into what a client asked for.
#[derive(Debug)]
pub(crate) struct Shaper {
    resource: Arc<Resource>,
    form: Form,
    include: Include,
    now: Timestamp,
    /// Whether the columns were announced; a watch does so only once.
    announced: bool,
}

impl Shaper {
    /// For the answer to a request about one object.
    pub(crate) fn single(resource: &Arc<Resource>, output: Output, query: &Query, now: Timestamp) -> Outcome<Self> {
        if matches!(output.form, Form::PartialList(_)) {
            let shown = go_type(resource, "");
            return Err(Status::not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({shown})"
            )));
        }
        Self::new(resource, output, query, now)
    }

    /// For the answer to a request about many.
    pub(crate) fn list(asked: &crate::resources::asked::Asked<'_>, now: Timestamp) -> Outcome<Self> {
        if matches!(asked.output.form, Form::Partial(_)) {
            let shown = go_type(&asked.resource, "List");
            return Err(Status::not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({shown})"
            )));
        }
        Self::new(&asked.resource, asked.output, &asked.info.query, now)
    }

    /// For a watch, whose events carry one object each.
    pub(crate) fn watch(asked: &crate::resources::asked::Asked<'_>, now: Timestamp) -> Outcome<Self> {
        let form = match asked.output.form {
            Form::PartialList(version) => Form::Partial(version),
            other @ (Form::Object | Form::Table(_) | Form::Partial(_)) => other,
        };
        Self::new(&asked.resource, Output { form, ..asked.output }, &asked.info.query, now)
    }

    fn new(resource: &Arc<Resource>, output: Output, query: &Query, now: Timestamp) -> Outcome<Self> {
        let include = match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Include::Metadata,
            "Object" => Include::Object,
            "None" => Include::Nothing,
            other if matches!(output.form, Form::Table(_)) => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid_text("includeObject", other, why);
                return Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")));
            }
            _ => Include::Metadata,
        };
        Ok(Self { resource: resource.clone(), form: output.form, include, now, announced: false })
    }

    /// Whether objects go as they are.
    pub(crate) fn is_object(&self) -> bool {
        self.form == Form::Object
    }

    /// The beginning of a list, up to its first item.
    pub(crate) fn head(&self, metadata: &Value) -> Vec<u8> {
        let open = |kind: &str, api_version: &str, rest: &str, items: &str| {
            format!(
                r#"{{"kind":{},"apiVersion":{},"metadata":{metadata},{rest}"{items}":["#,
                json!(kind),
                json!(api_version)
            )
        };
        let text = match self.form {
            Form::Object => open(&self.resource.list_kind, &self.resource.api_version(), "", "items"),
            Form::Partial(version) | Form::PartialList(version) => {
                open("PartialObjectMetadataList", version.api_version(), "", "items")
            }
            Form::Table(version) => {
                let columns = format!("\"columnDefinitions\":{},", self.columns());
                open("Table", version.api_version(), &columns, "rows")
            }
        };
        text.into_bytes()
    }

    /// One item of a list, as text.
    pub(crate) fn item(&mut self, object: Value, text: &mut Vec<u8>) -> Outcome<()> {
        let item = match self.form {
            Form::Object => {
                let mut object = object;
                // Lists of built-in kinds tell the kind once for all.
                if self.resource.builtin.is_some()
                    && let Some(map) = object.as_object_mut()
                {
                    map.remove("kind");
                    map.remove("apiVersion");
                }
                object
            }
            Form::Partial(version) | Form::PartialList(version) => partial(version, &object),
            Form::Table(version) => self.row(version, object),
        };
        serde_json::to_writer(text, &item).map_err(|error| Status::internal(&error.to_string()))
    }

    /// The end of a list.
    pub(crate) const TAIL: &'static [u8] = b"]}\n";

    /// One object, for an answer of its own or an event.
    pub(crate) fn object(&mut self, object: Value) -> Value {
        match self.form {
            Form::Object => object,
            Form::Partial(version) | Form::PartialList(version) => partial(version, &object),
            Form::Table(version) => {
                let metadata = object.get("metadata").and_then(|metadata| metadata.get("resourceVersion"));
                let metadata = metadata.map_or_else(|| json!({}), |revision| json!({"resourceVersion": revision}));
                let columns = if self.announced { Value::Null } else { self.columns() };
                self.announced = true;
                let row = self.row(version, object);
                json!({"kind": "Table", "apiVersion": version.api_version(), "metadata": metadata,
                    "columnDefinitions": columns, "rows": [row]})
            }
        }
    }

    fn columns(&self) -> Value {
        match self.resource.builtin {
            Some(row) => json!(row.column_definitions()),
            None => json!(table::definitions(&self.resource.columns)),
        }
    }

    fn row(&self, version: MetaVersion, object: Value) -> Value {
        let cells = match self.resource.builtin {
            Some(row) => (row.cells)(&object, self.now),
            None => table::cells(&self.resource.columns, &object, self.now),
        };
        let marked = object.pointer("/metadata/annotations").is_some_and(|all| all.get(INITIAL_END).is_some());
        let shown = match self.include {
            Include::Object => object,
            Include::Metadata => partial(version, &object),
            Include::Nothing if marked => partial(version, &object),
            Include::Nothing => Value::Null,
        };
        json!({"cells": cells, "object": shown})
    }
}

/// Only the metadata of an object.
fn partial(version: MetaVersion, object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
}

/// What an object is in the words of refusals.
fn go_type(resource: &Resource, suffix: &str) -> String {
    if resource.builtin.is_none() {
        return format!("*unstructured.Unstructured{suffix}");
    }
    let package = resource.group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core");
    format!("*{package}.{}{suffix}", resource.kind)
}
