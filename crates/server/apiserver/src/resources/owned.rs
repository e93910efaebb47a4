//! Who owns which field: the record of it is brought up to date with every write.

use std::sync::Arc;

use netloom_patch::managed::{self, ApplyError, Manager, NOT_STATUS, STATUS, Shape, Versions};
use netloom_schema::{Schema, Type};
use serde_json::{Value, json};

use super::{Api, clock, prepare::Part, write::Job};
use crate::{
    builtin::endpoints,
    catalogue::Resource,
    crds, events,
    status_error::{Outcome, Status, StatusCause},
};

/// Records the fields that a write other than an apply changes.
pub(crate) fn update(api: &Api, job: &Job<'_>, live: Option<&Value>, new: &mut Value) {
    let resource = &job.asked.resource;
    with(api, job, |manager, shape| {
        let manager = Manager { name: job.options.manager_or(&job.asked.caller.agent), ..*manager };
        managed::update(live, new, &manager, shape);
    });
    // Where nobody owns anything there is no record.
    debug_assert!(new.is_object(), "{} are objects", resource.plural);
}

/// Lays a configuration over what is stored.
pub(crate) fn apply(api: &Api, job: &Job<'_>, live: Option<&Value>, config: &Value) -> Outcome<Value> {
    with(api, job, |manager, shape| managed::apply(live, config, manager, job.options.force, shape).map_err(refusal))
}

fn with<T>(api: &Api, job: &Job<'_>, work: impl FnOnce(&Manager<'_>, &Shape<'_>) -> T) -> T {
    let resource = &job.asked.resource;
    let (time, api_version) = (clock::seconds(api.source.now()), resource.api_version());
    let manager = Manager {
        name: &job.options.manager,
        api_version: &api_version,
        subresource: job.part.subresource(),
        time: &time,
    };
    let schema = resource.schema();
    let siblings = Siblings::of(api, resource);
    let blank = blank(resource, &schema);
    let shape = Shape::new(&schema, &resource.kind)
        .ignoring(ignored(resource, job.part))
        .builtin(resource.builtin.is_some())
        .blank(&blank)
        .versions(&siblings);
    work(&manager, &shape)
}

/// Records what the server itself changes in an object.
pub(crate) fn by_server(resource: &Resource, part: Part, name: &str, time: &str, old: &Value, new: &mut Value) {
    let api_version = resource.api_version();
    let schema = resource.schema();
    let manager = Manager { name, api_version: &api_version, subresource: part.subresource(), time };
    let blank = blank(resource, &schema);
    let shape = Shape::new(&schema, &resource.kind).ignoring(ignored(resource, part)).blank(&blank);
    managed::update(Some(old), new, &manager, &shape);
}

/// What cannot be owned through one part of an object.
fn ignored(resource: &Resource, part: Part) -> &'static [&'static str] {
    match (part, resource.builtin) {
        (Part::Main, _) if resource.status => STATUS,
        (Part::Main, _) => &[],
        (Part::Status, None) => NOT_STATUS,
        (Part::Status, Some(_)) => &["spec"],
        (Part::Finalize, _) => STATUS,
    }
}

/// Built-in kinds begin with the fields that they always have, empty.
fn blank(resource: &Resource, schema: &Schema) -> Value {
    if resource.builtin.is_none() {
        return json!({});
    }
    let mut blank = json!({});
    for part in ["spec", "status"] {
        if let Some(below) = schema.property(part) {
            blank[part] = zero(below);
        }
    }
    events::fill(resource, &mut blank);
    if resource.is("discovery.k8s.io", "endpointslices") {
        endpoints::fill_slice(&mut blank);
    }
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        crds::fresh_status(&mut blank);
    }
    blank
}

/// What a required value is before anybody sets it.
fn zero(schema: &Schema) -> Value {
    match schema.kind() {
        Some(Type::Object) if schema.additional().is_none() => {
            let fields = schema.required().iter().filter_map(|name| Some((name.clone(), zero(schema.property(name)?))));
            Value::Object(fields.collect())
        }
        Some(Type::String) => json!(""),
        Some(Type::Integer | Type::Number) => json!(0),
        Some(Type::Boolean) => json!(false),
        Some(Type::Object | Type::Array) | None => Value::Null,
    }
}

pub(crate) fn refusal(error: ApplyError) -> Status {
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.causes().into_iter().map(|conflict| StatusCause {
                reason: "FieldManagerConflict".into(),
                message: conflict.message,
                field: conflict.field,
            });
            Status::apply_conflict(conflicts.to_string(), causes.collect())
        }
        ApplyError::BadRequest(why) | ApplyError::Typed(why) => Status::bad_request(why),
    }
}

/// The versions of a resource, for managers that wrote in another one.
struct Siblings {
    versions: Vec<(String, Arc<Schema>)>,
}

impl Siblings {
    fn of(api: &Api, resource: &Resource) -> Self {
        let catalogue = api.catalogue();
        let same = |other: &&Arc<Resource>| other.group == resource.group && other.plural == resource.plural;
        let versions = catalogue.iter().filter(same).map(|other| (other.api_version(), other.schema())).collect();
        Self { versions }
    }
}

impl Versions for Siblings {
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        Some(object)
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        self.versions.iter().find(|(known, _)| known == api_version).map(|(_, schema)| &**schema)
    }
}
